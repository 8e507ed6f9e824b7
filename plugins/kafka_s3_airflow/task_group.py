"""plan -> export -> complete as a task group: in the factory's DAGs, and in anybody's own."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from airflow.sdk import CronDataIntervalTimetable, Param, TaskGroup, TriggerRule, task

from kafka_s3.naming import LogLayout
from kafka_s3.settings import Outline, outline
from kafka_s3_airflow import assets, tasks
from kafka_s3_airflow.dag_docs import broken_document, document, listed
from kafka_s3_airflow.operators import ExportOperator
from kafka_s3_airflow.pools import pool_of
from kafka_s3_airflow.schedules import schedule_of

#: The factory's group: its tasks are called plan, export and complete, which leaves any other name.
GROUP_ID: Final = "kafka_to_s3"

_UNTIL: Final = (
    "interval: the records before the end of the run's data interval. A run that is triggered has the last interval"
    " that ends at or before its logical date; of a scheduled run the logical date is where its interval begins. "
    "now: whatever can be read when the run is planned, the current interval's records included."
)


def kafka_to_s3(
    connector: str | os.PathLike[str],
    *,
    group_id: str | None = None,
    prefix_group_id: bool = True,
    default_args: Mapping[str, Any] | None = None,
) -> TaskGroup:
    """The task group that exports as a connector file says, for the DAG around it.

    `connector`: the absolute path of the file. `group_id`: the connector's name unless given.
    `default_args`: of the three tasks, before the exporter's own retries and the DAG's `default_args`.

    A run with a data interval exports the records before its end, one without all that can be read. A connector that
    is wrong leaves the DAG as it is: then the group's `plan` fails at once, with every problem.
    """
    path = Path(connector)
    known, problems = look_at(path)
    name = known.name if known is not None else path.stem
    retries: Mapping[str, Any] = {}
    try:
        retries = retries_of(os.environ)
    except ValueError as error:
        problems = (*problems, str(error))
    return export_group(
        path,
        name,
        problems,
        group_id=group_id or re.sub(r"[^A-Za-z0-9_-]", "_", name)[:200] or GROUP_ID,
        prefix_group_id=prefix_group_id,
        topics=() if known is None else known.topics,
        default_args={**retries, **(default_args or {})},
        doc_md=document_of(path, known, problems),
    )


def export_params() -> dict[str, Param]:
    """The trigger form's fields, for `DAG(params=…)`. Airflow refuses a run whose values are wrong."""
    return {
        tasks.UNTIL: Param(
            tasks.UNTIL_VALUES[0],
            type="string",
            enum=list(tasks.UNTIL_VALUES),
            title="Export records until",
            description=_UNTIL,
        )
    }


def export_schedule(connector: str | os.PathLike[str]) -> Any:
    """A connector's schedule, for `DAG(schedule=…)`; hourly if the connector is wrong, so that its group can say so."""
    known, problems = look_at(Path(connector))
    return HOURLY if known is None or problems else schedule_of(known)


def export_docs(connector: str | os.PathLike[str]) -> str:
    """What a connector exports, when and to where, or what is wrong with it, as Markdown for `DAG(doc_md=…)`."""
    known, problems = look_at(Path(connector))
    return document_of(Path(connector), known, problems)


#: The schedule of what cannot run, so that it shows.
HOURLY: Final = CronDataIntervalTimetable("0 * * * *", "UTC")


def look_at(path: Path) -> tuple[Outline | None, tuple[str, ...]]:
    """What is known of a connector file, and everything that is wrong with it; never an exception."""
    if not path.is_absolute():
        way_out = "a relative one means another file in every process. Path(__file__).parent helps"
        return None, (f"The path of a connector must be absolute, and {path} is not: {way_out}.",)
    try:
        known = outline(path)
    # One connector's accident, whatever it is, must not take the other DAGs of the file with it.
    except Exception as error:
        return None, (f"{type(error).__name__}: {error}",)
    return known, tuple(str(problem) for problem in known.problems)


def export_group(
    path: Path,
    name: str,
    problems: Sequence[str],
    *,
    group_id: str = GROUP_ID,
    prefix_group_id: bool = False,
    topics: Sequence[str] = (),
    default_args: Mapping[str, Any],
    doc_md: str | None = None,
) -> TaskGroup:
    """As `kafka_to_s3`, of a connector that was looked at already. `topics`: those that it names."""
    with TaskGroup(
        group_id,
        prefix_group_id=prefix_group_id,
        default_args={**default_args, "retries": 0} if problems else dict(default_args),  # type: ignore[arg-type]
        tooltip=f"{path.name}: from Kafka to S3",
        doc_md=doc_md,
    ) as group:
        around = group.dag.default_args
        announced = assets.after_success(assets.mark_announced, default_args, around)
        # Only `export` is skipped when nothing is new; `complete` has a trigger rule of its own. Scheduled, manual and
        # backfill runs are kept apart by `max_active_tis_per_dag`: a backfill has its own max_active_runs.
        if problems:
            message = f"{path} is not a connector that can run:\n{listed(problems)}"
            plan = task(task_id="plan", doc_md=doc_md)(tasks.refuse)(message)
        else:
            plan = task.short_circuit(
                task_id="plan",
                ignore_downstream_trigger_rules=False,
                outlets=assets.outlets_of(name, topics, "plan"),
                max_active_tis_per_dag=1,
                on_success_callback=announced,
            )(tasks.plan)(str(path))
        export = ExportOperator(
            task_id="export", connector=str(path), max_active_tis_per_dag=1, pool=pool_of(default_args, around)
        )
        complete = task(
            task_id="complete",
            trigger_rule=TriggerRule.ALL_DONE,
            outlets=assets.outlets_of(name, topics, "complete"),
            max_active_tis_per_dag=1,
            on_success_callback=announced,
        )(tasks.complete)(str(path))
        plan >> export >> complete
    return group


def retries_of(environment: Mapping[str, str]) -> dict[str, Any]:
    """Minutes apart, since an outage lasts minutes; the job's own retries are seconds apart."""
    return {
        "retries": _number(environment, "KAFKA_S3_RETRIES", 5),
        "retry_delay": timedelta(seconds=_number(environment, "KAFKA_S3_RETRY_DELAY_S", 120)),
        "retry_exponential_backoff": 2.0,  # a factor: True would be 1.0, a constant delay
        "max_retry_delay": timedelta(hours=1),
    }


def _number(environment: Mapping[str, str], name: str, default: int) -> int:
    text = environment.get(name, str(default))
    if not re.fullmatch(r"[0-9]{1,6}", text):
        raise ValueError(f"The environment variable {name}={text} is not a whole number from 0 to 999999.")
    return int(text)


def document_of(path: Path, known: Outline | None, problems: Sequence[str]) -> str:
    """What a connector's DAG says about itself."""
    if known is None or problems:
        return broken_document(path, problems)
    log = LogLayout(known.log_root, known.name).name
    return document(path, known, f"s3://{known.bucket}/{log}")
