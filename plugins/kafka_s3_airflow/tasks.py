"""What the tasks `plan` and `complete` do. The engine is imported when they run, not when a DAG is built."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from airflow.sdk import Asset, AssetAlias, get_current_context
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from kafka_s3.errors import EXIT_CONFIGURATION, EXIT_DATA, ExporterError

if TYPE_CHECKING:
    from airflow.sdk import Context

    from kafka_s3.commit_log import Interval
    from kafka_s3.export.log import Log, Planned
    from kafka_s3.export.planner import World

log = logging.getLogger(__name__)

NO_RETRY: Final = (EXIT_DATA, EXIT_CONFIGURATION)
_ANNOUNCED: Final = "kafka_s3_announced"  # in the task's context: the log, and the entries of it that were announced


def asset_of(connector: str) -> Asset:
    """What a connector's commits are events of. A scheme with x- is no provider's, so none is loaded for it."""
    return Asset(name=f"kafka-s3/{connector}", uri=f"x-kafka-s3://{connector}")


def refuse(problems: str) -> None:
    """`plan` of a connector that is wrong."""
    raise AirflowFailException(problems)


def plan(connector: str) -> bool:
    """Write down what this run exports; `False`, and `export` is skipped, if nothing is new."""
    with _for_airflow():
        from kafka_s3.export.run import prepare
        from kafka_s3.planning import RunRequest
        from kafka_s3.wiring import make_exporter
        from kafka_s3_airflow.connections import load_connector

        context = get_current_context()
        exporter = make_exporter(load_connector(Path(connector)).settings)
        # What a failed run committed: Airflow stores no event of a task that fails, so its `complete` could not.
        _announce(context, exporter.log, exporter.settings.s3.bucket)
        request = RunRequest(context["run_id"], _try_number(context), interval_of(context), int(time.time() * 1000))
        planned, world = prepare(exporter, request)
        _say_what_is_planned(planned, world)
    if planned is None and world.left_out:
        left_out = "\n".join(f"  {left}" for left in world.left_out)
        raise AirflowFailException(f"Nothing else is new, and these partitions cannot be exported:\n{left_out}")
    return planned is not None


def complete(connector: str) -> None:
    """Announce what was committed; fail if a task before did, or Airflow would call the run a success."""
    context = get_current_context()
    failed = failed_before(context)
    if failed:
        raise AirflowFailException(
            f"{' and '.join(failed)} failed: see there. What was committed all the same is announced by the next run."
        )
    with _for_airflow():
        from kafka_s3.wiring import make_exporter
        from kafka_s3_airflow.connections import load_connector

        exporter = make_exporter(load_connector(Path(connector)).settings)
        announced = _announce(context, exporter.log, exporter.settings.s3.bucket)
        log.info("%s log entries announced.", announced)


def mark_announced(context: Context) -> None:
    """After a task succeeded, so after Airflow stored its events: mark what they announced.

    Airflow calls this in the task's process once the server has confirmed the success. If it does not come to that,
    the entries are announced again: at least once.
    """
    announced: tuple[Log, list[int]] | None = cast("dict[str, Any]", context).get(_ANNOUNCED)
    if announced is not None:
        from kafka_s3.export.announce import mark

        for seq in announced[1]:
            mark(announced[0], seq)


def interval_of(context: Context) -> Interval | None:
    """The run's data interval; `None` for one without (asset-triggered), and for `until: now`."""
    from kafka_s3.commit_log import Interval

    run = context["dag_run"]
    start, end = run.data_interval_start, run.data_interval_end
    if context["params"].get("until") == "now" or start is None or end is None or end <= start:
        return None
    return Interval(int(start.timestamp() * 1000), int(end.timestamp() * 1000))


def failed_before(context: Context) -> list[str]:
    """Which of `plan` and `export` did not end well in this run."""
    run_id, ti = context["run_id"], context["ti"]
    states: Mapping[str, Mapping[str, Any]] = ti.get_task_states(
        dag_id=ti.dag_id, task_ids=["plan", "export"], run_ids=[run_id]
    )
    of_run = states.get(run_id, {})
    return [task_id for task_id in ("plan", "export") if str(of_run.get(task_id)) == "failed"]


def to_airflow(error: ExporterError) -> AirflowException:
    """An error of the engine as Airflow's: one that no retry can cure fails the task at once."""
    kind = AirflowFailException if error.exit_status in NO_RETRY else AirflowException
    return kind(str(error))


@contextmanager
def _for_airflow() -> Iterator[None]:
    try:
        yield
    except ExporterError as error:
        raise to_airflow(error) from None


def _try_number(context: Context) -> int:
    number: int = context["ti"].try_number
    return number


def _announce(context: Context, entries_log: Log, bucket: str) -> int:
    """Make each entry not announced yet an event of the connector's asset; without one, no event at all.

    A task has one event for an outlet that is an asset, whatever it did. Several, or none, go through an alias that
    takes its place for this try.
    """
    from kafka_s3.export.announce import describe, pending

    context["task"].outlets = []
    entries = pending(entries_log)
    if entries:
        asset = asset_of(entries_log.layout.connector)
        alias = AssetAlias(asset.name)
        context["task"].outlets = [alias]
        for committed in entries:
            context["outlet_events"][alias].add(asset, extra=describe(committed, bucket))
    cast("dict[str, Any]", context)[_ANNOUNCED] = (entries_log, [committed.entry.seq for committed in entries])
    return len(entries)


def _say_what_is_planned(planned: Planned | None, world: World) -> None:
    if planned is None:
        log.info("Nothing is new: the export is skipped.")
    else:
        for each in planned.plan.ranges:
            log.info("Plan %s: %s [%s, %s)", planned.plan.seq, each.tp, each.start, each.end)
        for note in planned.plan.notes:
            log.info("Plan %s: %s", planned.plan.seq, note)
    for left in world.left_out:
        log.warning("Left out: %s", left)
