"""A connector's DAG `<connector>__reexport`: a window of time exported again, by a backfill or by hand only.

Every run is one window, its data interval, with objects and a log of its own; so runs stand beside each other and
beside the live export, and a run over a window that is committed finds nothing to do.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from airflow.sdk import DAG, Asset, Param, TriggerRule, get_current_context, task
from airflow.sdk.exceptions import AirflowFailException

from kafka_s3.settings import Outline
from kafka_s3.settings.validators import REEXPORT_SUFFIX
from kafka_s3_airflow.assets import after_success, asset_of
from kafka_s3_airflow.operators import ExportOperator
from kafka_s3_airflow.pools import pool_of
from kafka_s3_airflow.schedules import OnRequestTimetable, is_known_to_airflow, spoken
from kafka_s3_airflow.tasks import failed_before, for_airflow, interval_of, tell_to

if TYPE_CHECKING:
    from airflow.sdk import Context

    from kafka_s3.log.store import Committed, Log

log = logging.getLogger(__name__)

ANEW: Final = "anew"
REEXPORT_TAG: Final = "kafka-s3-reexport"
_ANNOUNCED: Final = "kafka_s3_window_announced"  # in the task's context: the window's log, and the entry announced


def reexport_id(connector: str) -> str:
    """No connector's name may end like this, so that no two DAGs have one id."""
    return f"{connector}{REEXPORT_SUFFIX}"


def windows_asset_of(connector: str) -> Asset:
    """What the commits of a connector's windows are events of; apart from its live commits."""
    return asset_of(reexport_id(connector))  # not below the connector's: a topic may be called reexport


def reexport_dag(
    connector: str, path: Path, known: Outline, *, start: datetime, default_args: Mapping[str, Any]
) -> DAG | None:
    """The DAG, or `None`: the connector wants none, or Airflow has not loaded the plugin with its timetable."""
    # A connector that runs by hand or by assets alone has hourly windows.
    timetable = OnRequestTimetable(replace(known.schedule, timed=True))
    if known.reexports_max == 0 or not is_known_to_airflow(timetable):
        return None
    with DAG(
        reexport_id(connector),
        schedule=timetable,
        start_date=start,
        catchup=False,
        max_active_runs=known.reexports_max,
        allowed_run_types=["manual", "backfill", "operator_triggered"],  # type: ignore[list-item]  # by their values
        auto_register=False,
        tags=["kafka-s3", REEXPORT_TAG, *known.tags],
        description=f"Exports windows of time of {connector} again, on request.",
        params={
            ANEW: Param(
                False,
                type="boolean",
                title="Withdraw and export anew",
                description="If another run has committed the window, withdraw that, and export the window once more."
                f" The window is the last one that ends at or before the logical date ({spoken(known.schedule)}).",
            )
        },
        doc_md=_document(connector, known),
        default_args=dict(default_args),
    ) as dag:
        # Windows have nothing in common: unlike in the live export, each task may run in several of them at once.
        planned = task.short_circuit(task_id="plan", ignore_downstream_trigger_rules=False)(plan)(str(path))
        export = ExportOperator(task_id="export", connector=str(path), reexport=True, pool=pool_of(default_args))
        completed = task(
            task_id="complete",
            trigger_rule=TriggerRule.ALL_DONE,
            outlets=[windows_asset_of(connector)],
            on_success_callback=after_success(mark_announced, default_args),
        )(complete)(str(path))
        planned >> export >> completed
    dag.validate()  # type: ignore[no-untyped-call]
    return dag


def plan(connector: str) -> bool:
    """Write down what the run's window takes and from where; `False`, and `export` is skipped, if it is committed."""
    context = get_current_context()
    with for_airflow():
        from kafka_s3.plan.batch import RunRequest
        from kafka_s3.reexport.run import prepare
        from kafka_s3.wiring import make_exporter
        from kafka_s3_airflow.connections import check_spark, load_connector

        exporter = make_exporter(load_connector(Path(connector)).settings)
        check_spark(exporter.settings.spark.conn_id)  # as the live `plan` does
        at_ms = int(time.time() * 1000)
        request = RunRequest(context["run_id"], context["ti"].try_number, interval_of(context), at_ms)
        planned = prepare(exporter, request, tell_to(log.info), anew=context["params"].get(ANEW) is True)
    if planned is None:
        log.info("The window is committed: the export is skipped.")
        return False
    for each in planned.plan.ranges:
        log.info("%s [%s, %s): %s", each.tp, each.start, each.end, "copied" if each.is_copied else "from Kafka")
    for note in planned.plan.notes:
        log.info("%s", note)
    return True


def complete(connector: str) -> None:
    """Announce the window's commit, once it is there; fail if a task before did."""
    context = get_current_context()
    failed = failed_before(context)
    if failed:
        raise AirflowFailException(
            f"{' and '.join(failed)} failed: see the task's log. Nothing of the window is committed."
        )
    with for_airflow():
        from kafka_s3.bucket.window import check_window, log_layout
        from kafka_s3.bucket.window_state import CommittedWindow, window_state
        from kafka_s3.log.store import Log
        from kafka_s3.publish.announce import announcement
        from kafka_s3.wiring import make_store
        from kafka_s3_airflow.connections import load_connector

        settings = load_connector(Path(connector)).settings
        window = check_window(interval_of(context))
        entries = Log(make_store(settings), log_layout(settings, window), settings.log_key)
        bucket = settings.s3.bucket
        pending, state = announcement(entries, bucket, lambda _: False).seqs, window_state(entries.newest())
        events: Any = context["outlet_events"]
        is_new = bool(pending) and isinstance(state, CommittedWindow)
        if pending and isinstance(state, CommittedWindow):
            events[windows_asset_of(settings.name)].extra = _event(settings.name, bucket, entries, state.commit)
            cast("dict[str, Any]", context)[_ANNOUNCED] = (entries, state.commit.entry.seq)
        else:
            context["task"].outlets = []
    log.info("The window is announced." if is_new else "The window was announced before.")


def mark_announced(context: Context) -> None:
    """After Airflow stored the event: mark what it announced. If it does not come to that, it is announced again."""
    announced: tuple[Log, int] | None = cast("dict[str, Any]", context).get(_ANNOUNCED)
    if announced is not None:
        from kafka_s3.publish.announce import mark

        mark(*announced)


def _event(connector: str, bucket: str, entries: Log, committed: Committed) -> dict[str, Any]:
    """A window's commit as the live export's are told, beside what is a window's alone."""
    from kafka_s3.publish.announce import describe

    return {
        **describe(committed, entries.layout, bucket),
        "connector": connector,
        "window": committed.entry.connector,
        "outside": sum(done.outside for done in committed.entry.ranges),
    }


def _document(connector: str, known: Outline) -> str:
    return (
        f"Exports windows of time again that `{connector}` has exported: all its committed records of a window, by"
        " Kafka's timestamp, late ones too, under a prefix and into a log of the window's own. What the live export"
        " wrote is neither changed nor read by anybody else.\n\n"
        f"- Never runs by itself. Start a backfill over the windows ({spoken(known.schedule)}), or trigger it with a"
        " logical date: the window is the last one that ends at or before it.\n"
        f"- {known.reexports_max} windows at once; a backfill has a limit of its own. A window that is committed is"
        f" left as it is, unless the run's parameter `{ANEW}` is set: then it is withdrawn first.\n"
    )
