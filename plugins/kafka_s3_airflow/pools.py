"""The pool of exports, made where it is missing: a task of a missing pool stays scheduled for ever, without a word.

Tasks and DAG files cannot reach Airflow's database. The scheduler can, and tells its plugins of each run that starts:
before the run's tasks are scheduled, its exports' pools are there. So one that somebody deleted is back with the next
run of any connector. A pool that is there stays as it is.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from airflow.listeners import hookimpl

if TYPE_CHECKING:
    from airflow.models.dagrun import DagRun

log = logging.getLogger(__name__)

#: The pool of every `export` that names none.
POOL: Final = "kafka_s3"
#: How many drivers run at once: read by the scheduler when it makes the pool. Later, change the pool itself.
SLOTS_VARIABLE: Final = "KAFKA_S3_POOL_SLOTS"
SLOTS: Final = 8
#: The operators whose tasks start drivers.
_OPERATORS: Final = ("ExportOperator", "GroupExportOperator")


def pool_of(*default_args: Mapping[str, Any] | None) -> str:
    """The pool of an `export`: the first that is given, else ours."""
    return next((str(each["pool"]) for each in default_args if each and each.get("pool")), POOL)


class PoolListener:
    """What Airflow's scheduler calls."""

    @hookimpl
    def on_dag_run_running(self, dag_run: DagRun, msg: str) -> None:  # noqa: ARG002  # Airflow's names
        """Before the run's tasks are scheduled, in the scheduler's own transaction, which it commits itself."""
        dag = getattr(dag_run, "dag", None)
        pools = {task.pool for task in getattr(dag, "tasks", ()) if task.task_type in _OPERATORS}
        if pools:
            make_missing(dag_run, pools, os.environ)


def make_missing(dag_run: DagRun, pools: set[str], environment: Mapping[str, str]) -> None:
    """Make those pools that Airflow does not have. Of two schedulers that make one at once, one does."""
    from airflow.models.pool import Pool
    from sqlalchemy import select
    from sqlalchemy.orm import object_session

    session = object_session(dag_run)
    if session is None:
        return
    for name in sorted(pools - set(session.scalars(select(Pool.pool).where(Pool.pool.in_(pools))))):
        slots = slots_of(environment)
        why = f"Made by kafka-s3, where it was missing: how many exports run at once ({SLOTS_VARIABLE})."
        row = {"pool": name, "slots": slots, "description": why, "include_deferred": False}
        # An insert that failed would end the scheduler's own transaction, with all that is in it.
        done: Any = session.execute(insert_if_absent(Pool, row, session.get_bind().dialect.name))
        if done.rowcount:
            log.warning("The pool %s was missing: it is made, with %s slots. Change it as you like.", name, slots)


def insert_if_absent(table: Any, row: Mapping[str, Any], dialect: str) -> Any:
    """The statement that does nothing where the row is there, in the words of each database that Airflow runs on."""
    if dialect in ("mysql", "mariadb"):
        from sqlalchemy import insert

        return insert(table).values(row).prefix_with("IGNORE")
    if dialect == "sqlite":
        from sqlalchemy.dialects import sqlite

        return sqlite.insert(table).values(row).on_conflict_do_nothing()
    from sqlalchemy.dialects import postgresql

    return postgresql.insert(table).values(row).on_conflict_do_nothing()


def slots_of(environment: Mapping[str, str]) -> int:
    """As the environment says. What is not a number counts as unset: without a pool no export would run."""
    text = environment.get(SLOTS_VARIABLE, str(SLOTS))
    if text.isascii() and text.isdigit() and 0 < int(text[:9]) < 1_000_000:
        return int(text)
    log.error("%s=%s is not a number of slots from 1 to 999999: %s is used.", SLOTS_VARIABLE, text, SLOTS)
    return SLOTS
