"""What the tasks `plan` and `complete` do. The engine is imported when they run, not when a DAG is built."""

from __future__ import annotations

import contextlib
import difflib
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from airflow.sdk import get_current_context
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

from kafka_s3.errors import EXIT_CONFIGURATION, EXIT_DATA, EXIT_TEMPORARY, ExporterError
from kafka_s3_airflow.assets import announce

if TYPE_CHECKING:
    from airflow.sdk import Context

    from kafka_s3.events import Tell
    from kafka_s3.export.exporter import Exporter
    from kafka_s3.log.entries import Interval
    from kafka_s3.log.plans import OpenPlan
    from kafka_s3.plan.planner import KafkaSnapshot
    from kafka_s3.settings.schedule import ScheduleSettings

log = logging.getLogger(__name__)

NO_RETRY: Final = (EXIT_DATA, EXIT_CONFIGURATION)
SPARK_CONNECTION: Final = "spark_default"
#: What `plan` tells `export`: whether the plan is this run's, or another driver may have done a part of it. A run id
#: does not say that: a connector that moves to another DAG has a run of the same id there.
PLAN_WRITTEN: Final = "written"
PLAN_FOUND: Final = "found"
UNTIL: Final = "until"
UNTIL_VALUES: Final = ("interval", "now")


def refuse(problems: str) -> None:
    """`plan` of a connector that is wrong."""
    raise AirflowFailException(problems)


def plan(connector: str) -> str | None:
    """Write down what this run exports; `None`, and `export` is skipped, if nothing is new."""
    with for_airflow():
        from kafka_s3.export.run import prepare
        from kafka_s3.log.plans import NewPlan
        from kafka_s3.plan.batch import RunRequest
        from kafka_s3.wiring import make_exporter
        from kafka_s3_airflow.connections import check_spark, load_connector

        context = get_current_context()
        interval = interval_of(context)
        exporter = make_exporter(load_connector(Path(connector)).settings)
        check_spark(exporter.settings.spark.conn_id)  # here already, or only `export` would say it
        _warn_of_logical_date(context, exporter.settings.schedule)
        # What a failed run committed: Airflow stores no event of a task that fails, so its `complete` could not.
        announce(context, exporter.log, exporter.settings)
        request = RunRequest(context["run_id"], _try_number(context), interval, int(time.time() * 1000))
        planned, snapshot = prepare(exporter, request, tell_to(log.warning))
        _say_what_is_planned(planned, snapshot)
    if planned is None and snapshot.excluded:
        from kafka_s3.export.diagnosis import said

        excluded = "\n".join(f"  {said(left, connector)}" for left in snapshot.excluded)
        text = f"Nothing else is new, and these partitions cannot be exported:\n{excluded}"
        waits = EXIT_TEMPORARY in {left.exit_status for left in snapshot.excluded}
        raise AirflowException(text) if waits else AirflowFailException(text)
    if planned is None:
        return None
    return PLAN_WRITTEN if isinstance(planned, NewPlan) else PLAN_FOUND


def complete(connector: str) -> None:
    """Announce what was committed; fail if a task before did, or Airflow would call the run a success.

    Dead letters that no driver could send to their topic are sent first: where nothing is new there is no driver, and
    this task runs all the same. In `plan` a topic that refuses them would keep back the events of what was committed.
    """
    context = get_current_context()
    failed = failed_before(context)
    if failed:
        # What is wrong here too was said by the task that failed, or is said by the next run.
        with contextlib.suppress(ExporterError, AirflowFailException):
            exporter = _exporter(connector)
            _mark_complete(exporter, interval_of(context))
            _report_letters(exporter)
        raise AirflowFailException(
            f"{' and '.join(failed)} failed: see the task's log. Whatever was committed is announced by the next run."
        )
    with for_airflow():
        interval, exporter = interval_of(context), _exporter(connector)
        _mark_complete(exporter, interval)
        _report_letters(exporter)
        announced = announce(context, exporter.log, exporter.settings, ended_ms=int(time.time() * 1000))
        log.info("%s events of assets: what was committed, and up to where all is complete.", announced)


def _warn_of_logical_date(context: Context, schedule: ScheduleSettings) -> None:
    from kafka_s3_airflow.schedules import takes_a_scheduled_run

    run = context["dag_run"]
    if takes_a_scheduled_run(schedule, run.run_type, run.logical_date, int(time.time() * 1000)):
        log.warning(
            "The logical date of this run by hand, %s, is that of a scheduled run, which Airflow will not start: the"
            " next one exports its records. A date a minute later has the same interval, and takes no run's place.",
            run.logical_date,
        )


def _exporter(connector: str) -> Exporter:
    from kafka_s3.wiring import make_exporter
    from kafka_s3_airflow.connections import load_connector

    return make_exporter(load_connector(Path(connector)).settings)


def _report_letters(exporter: Exporter) -> None:
    """Dead letters of commits that are not in their topic yet, where there is one; two LISTs where all are."""
    from kafka_s3.wiring import report_letters

    report_letters(exporter, tell_to(log.info))


def _mark_complete(exporter: Exporter, interval: Interval | None) -> None:
    """Markers of what is complete by the log, whatever became of the run, where the connector asks for markers."""
    if exporter.settings.completeness is not None:
        from kafka_s3.publish.completeness import Ran, mark_complete

        mark_complete(exporter, Ran(interval, int(time.time() * 1000)), tell_to(log.info))


def tell_to(write: Callable[[str, str], None]) -> Tell:
    """Writes the sentence of each event to the task's log."""
    from kafka_s3.sentences import sentence

    return lambda event: write("%s", sentence(event))


def interval_of(context: Context) -> Interval | None:
    """The run's data interval; `None` for one without (asset-triggered), and for `until: now`."""
    from kafka_s3.log.entries import Interval

    run = context["dag_run"]
    start, end = run.data_interval_start, run.data_interval_end
    until = context["params"].get(UNTIL, "interval")  # a DAG of somebody's own may lack the parameter
    if until not in UNTIL_VALUES:
        raise AirflowFailException(f"The run's parameter {UNTIL}={until} is not one of {', '.join(UNTIL_VALUES)}.")
    refuse_misspelt(context, UNTIL)
    if until == "now" or start is None or end is None or end <= start:
        return None
    return Interval(int(start.timestamp() * 1000), int(end.timestamp() * 1000))


def refuse_misspelt(context: Context, parameter: str, values: str = "") -> None:
    """Airflow takes any name in a run's configuration: refuse one that is almost a parameter's. `values`: a hint."""
    for name in context["dag_run"].conf or {}:
        if name not in context["dag"].params and difflib.get_close_matches(name.lower(), [parameter]):
            message = f"The run's configuration sets {name}, which is not a parameter: write {parameter}{values}."
            raise AirflowFailException(message)


def failed_before(context: Context) -> list[str]:
    """Which of its own group's `plan` and `export` did not end well in this run, or what kept `plan` from running."""
    run_id, ti = context["run_id"], context["ti"]
    group = "".join(ti.task_id.rpartition(".")[:2])
    ids = [f"{group}plan", f"{group}export"]
    found: Mapping[str, Mapping[str, Any]] = ti.get_task_states(dag_id=ti.dag_id, task_ids=ids, run_ids=[run_id])
    states = {task_id: str(found.get(run_id, {}).get(task_id)) for task_id in ids}
    if states[ids[0]] == "skipped":
        raise AirflowSkipException(f"{ids[0]} was skipped by an upstream task.")
    if states[ids[0]] == "upstream_failed":
        return [f"A task before {ids[0]}"]
    return [task_id for task_id, state in states.items() if state == "failed"]


def to_airflow(error: ExporterError) -> AirflowException:
    """An error of the engine as Airflow's: one that no retry can cure fails the task at once."""
    kind = AirflowFailException if error.exit_status in NO_RETRY else AirflowException
    return kind(str(error))


@contextmanager
def for_airflow() -> Iterator[None]:
    """Errors of the engine inside it are raised as Airflow's."""
    try:
        yield
    except ExporterError as error:
        raise to_airflow(error) from None


def _try_number(context: Context) -> int:
    number: int = context["ti"].try_number
    return number


def _say_what_is_planned(planned: OpenPlan | None, snapshot: KafkaSnapshot) -> None:
    if planned is None:
        log.info("Nothing is new: the export is skipped.")
    else:
        for each in planned.plan.ranges:
            log.info("Plan %s: %s [%s, %s)", planned.plan.seq, each.tp, each.start, each.end)
        for note in planned.plan.notes:
            log.info("Plan %s: %s", planned.plan.seq, note)
    for left in snapshot.excluded:
        log.warning("Left out: %s", left)
