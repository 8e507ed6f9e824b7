"""A connector's second DAG, where `export.verify.schedule` asks for it: `kafka-s3 verify`, again and again."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pendulum
from airflow.sdk import DAG, CronTriggerTimetable, task
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from kafka_s3.joda.zones import zone as find_zone
from kafka_s3.settings import Outline
from kafka_s3.settings.validators import VERIFY_SUFFIX
from kafka_s3.shown import printable
from kafka_s3_airflow.schedules import HALF_HOUR_CHANGES
from kafka_s3_airflow.tasks import for_airflow

log = logging.getLogger(__name__)

SAID_MAX: Final = 100  # findings and notes in the task's log; the command prints all
TOLD_EVERY: Final = 500  # log entries


def verify_id(connector: str) -> str:
    """No connector's name may end like this, so that no two DAGs have one id."""
    return f"{connector}{VERIFY_SUFFIX}"


def verify_dag(connector: str, path: Path, known: Outline, *, start: datetime, default_args: Mapping[str, Any]) -> DAG:
    """One task, which fails with what it finds. Its retries are for a store that is out: wrong data stays wrong."""
    schedule = known.verify_schedule
    assert schedule is not None, f"{connector} asks for no verification"
    zone = find_zone(known.schedule.timezone)
    # What Airflow cannot store, or cannot count in, is UTC.
    where = "UTC" if zone.fixed or zone.key in HALF_HOUR_CHANGES else zone.key
    with DAG(
        verify_id(connector),
        schedule=CronTriggerTimetable(schedule, pendulum.timezone(where)),
        start_date=start,
        catchup=False,
        max_active_runs=1,
        auto_register=False,
        tags=["kafka-s3", *known.tags],
        description=f"Proves what {connector} has exported: its log, and the bytes of every object.",
        doc_md=(
            f"Proves what the connector `{connector}` has exported, as `kafka-s3 verify` does: its whole log, and the"
            f" bytes of every object. Runs by `{schedule}` ({where}). A finding fails the task at once, and its log"
            " says what was expected, what was found and what to do.\n"
        ),
        default_args=dict(default_args),
    ) as dag:
        task(task_id="verify", max_active_tis_per_dag=1)(verify)(str(path))
    dag.validate()  # type: ignore[no-untyped-call]
    return dag


def verify(connector: str) -> dict[str, int]:
    """Check the log and every object; the counts. Fails at once with what is wrong, later tries are for the store.

    Skipped where there is nothing to check: a success would say that something was proved.
    """
    from kafka_s3.export.diagnosis import said
    from kafka_s3.report.status import problems
    from kafka_s3.verify.verify import Progress, Verified
    from kafka_s3.verify.verify import verify as check
    from kafka_s3.wiring import make_log
    from kafka_s3_airflow.connections import load_connector

    def tell(at: Progress) -> None:
        if at.entries % TOLD_EVERY == 0:
            log.info("%s of %s log entries, %s objects, %s bytes", at.entries, at.entries_total, at.objects, at.bytes)

    with for_airflow():
        settings = load_connector(Path(connector)).settings
        verified: Verified = check(settings, make_log(settings), None, tell=tell)
        found = [str(said(each, connector)) for each in problems(settings, make_log(settings), None)]
    _say(verified)
    for problem in found:
        log.error("%s", printable(str(problem)))
    counts = _counts(verified)
    if verified.findings_count:
        first = verified.findings[0]
        raise AirflowFailException(f"{verified.findings_count} problems found, all listed above. The first: {first}")
    if found:
        raise AirflowFailException("The objects match the log, but this needs attention:\n" + "\n".join(found))
    if not verified.entries:
        raise AirflowSkipException("Nothing was verified: the connector has no log entry yet.")
    log.info("No problems found: %s", counts)
    return counts


def _say(verified: Any) -> None:
    for finding in verified.findings[:SAID_MAX]:
        log.error("WRONG %s", printable(str(finding)))
    if verified.findings_count > SAID_MAX:
        log.error("and %s more: kafka-s3 verify prints them", verified.findings_count - SAID_MAX)
    for note in verified.notes[:SAID_MAX]:
        log.info("Note: %s", printable(note))


def _counts(verified: Any) -> dict[str, int]:
    names = ("entries", "objects", "records", "bytes", "withdrawn", "gaps")
    return {name: getattr(verified, name) for name in names} | {
        "findings": verified.findings_count,
        "orphans": len(verified.orphans or ()),
    }
