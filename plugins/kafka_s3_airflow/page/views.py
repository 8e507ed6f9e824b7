"""What was found in buckets, Kafka and Airflow, as the plain values that the browser gets. Pure.

Times are milliseconds since the epoch, sizes bytes; `None` is not known. Every list has a limit, and says what it
left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypedDict

from kafka_s3.dead_letter import DeadLetter
from kafka_s3.export.diagnosis import Said, is_of_log, is_silence, said
from kafka_s3.log.entries import Entry, FailedRange, Interval, ObjectEntry, Plan, RangeEntry
from kafka_s3.ranges import TopicPartition
from kafka_s3.reexport import ReexportedWindow
from kafka_s3.report.health import Health, State
from kafka_s3_airflow.page.background_answers import Answer
from kafka_s3_airflow.page.entry_schemas import schemas_of
from kafka_s3_airflow.page.inside_views import refusals_of, schemas_inferred
from kafka_s3_airflow.page.model import AirflowFacts, Connector, LogView
from kafka_s3_airflow.page.remedies import late, remedies

SAID_MAX: Final = 20  # gaps, restarts, failures and problems named one by one in a row
RANGES_MAX: Final = 500
OBJECTS_MAX: Final = 500
PARTITIONS_MAX: Final = 2_000
#: A broker that takes longer is shown as one that does not answer.
KAFKA_LIMIT_MS: Final = 15_000
#: An answer of Kafka's that is older is shown as stale.
STALE_MS: Final = 60_000


class CommitRow(TypedDict):
    """One log entry in the timeline. `duration_ms`: from its plan to the entry itself, by the store's clock."""

    seq: int
    kind: str
    run_id: str
    try_number: int
    interval_ms: list[int] | None
    planned_ms: int | None
    at_ms: int | None
    duration_ms: int | None
    records: int
    records_per_s: float | None
    bytes: int
    objects: int
    rejected: int
    tombstones: int
    filtered: int
    skipped: int
    topics: list[str]
    schemas: dict[str, str]
    failed: list[str]
    gaps: list[str]
    restarts: list[str]
    omitted: int
    reason: str | None
    error: str | None


def commit_row(entry: Entry, planned_ms: int | None, at_ms: int | None) -> CommitRow:
    """An entry without its objects. Failed ranges are carried over until they are exported, so they show again."""
    ranges = entry.ranges
    records = sum(done.records for done in ranges)
    duration_ms = None if planned_ms is None or at_ms is None or at_ms <= planned_ms else at_ms - planned_ms
    failed = [_failed_text(each) for each in entry.failed]
    gaps = [f"{each.tp} [{each.start}, {each.end}): {each.reason}" for each in entry.gaps]
    restarts = [
        f"{each.tp} goes on at {each.position} as generation {each.generation}"
        f"{', what was exported from there on is withdrawn' if each.withdrawn else ''}: {each.reason}"
        for each in entry.restarts
    ]
    return {
        "seq": entry.seq,
        "kind": entry.kind.value,
        "run_id": entry.run_id,
        "try_number": entry.try_number,
        "interval_ms": _interval(entry.interval) if ranges else None,
        "planned_ms": planned_ms,
        "at_ms": at_ms,
        "duration_ms": duration_ms,
        "records": records,
        "records_per_s": records * 1000 / duration_ms if duration_ms and records else None,
        "bytes": sum(made.size for done in ranges for made in done.objects),
        "objects": sum(len(done.objects) for done in ranges),
        "rejected": sum(done.rejected for done in ranges),
        "tombstones": sum(done.tombstones for done in ranges),
        "filtered": sum(done.filtered for done in ranges),
        "skipped": sum(done.skipped_offsets for done in ranges),
        "topics": sorted({done.topic for done in ranges})[:SAID_MAX],
        "schemas": schemas_of(entry),
        "failed": failed[:SAID_MAX],
        "gaps": gaps[:SAID_MAX],
        "restarts": restarts[:SAID_MAX],
        "omitted": sum(max(0, len(each) - SAID_MAX) for each in (failed, gaps, restarts)),
        "reason": entry.reason,
        "error": None,
    }


def damaged_row(seq: int, at_ms: int | None, error: str) -> CommitRow:
    """An entry that cannot be read."""
    return {
        "seq": seq,
        "kind": "damaged",
        "run_id": "",
        "try_number": 0,
        "interval_ms": None,
        "planned_ms": None,
        "at_ms": at_ms,
        "duration_ms": None,
        "records": 0,
        "records_per_s": None,
        "bytes": 0,
        "objects": 0,
        "rejected": 0,
        "tombstones": 0,
        "filtered": 0,
        "skipped": 0,
        "topics": [],
        "schemas": {},
        "failed": [],
        "gaps": [],
        "restarts": [],
        "omitted": 0,
        "reason": None,
        "error": error,
    }


def commit_detail(entry: Entry, bucket: str) -> dict[str, object]:
    """The ranges of an entry and the objects they became, the largest limits first."""
    objects = [_object(done, made) for done in entry.ranges for made in done.objects]
    ranges = [_range(done) for done in entry.ranges]
    return {
        "seq": entry.seq,
        "bucket": bucket,
        "engine": entry.engine,
        "isolation_level": entry.isolation_level,
        "spark_application": entry.spark_application,
        "ranges": ranges[:RANGES_MAX],
        "ranges_omitted": max(0, len(ranges) - RANGES_MAX),
        "objects": objects[:OBJECTS_MAX],
        "objects_omitted": max(0, len(objects) - OBJECTS_MAX),
        "dead_letters": sum(done.dead_letters is not None for done in entry.ranges),
        "refusals": refusals_of(entry),
        "schemas": schemas_inferred(entry),
    }


def letter_view(letter: DeadLetter) -> dict[str, object]:
    """Why a record was refused; neither its key nor its value."""
    return {
        "topic": letter.topic,
        "partition": letter.partition,
        "offset": letter.offset,
        "timestamp_ms": letter.timestamp_ms,
        "stage": letter.stage,
        "error": letter.error,
    }


def window_view(window: ReexportedWindow) -> dict[str, object]:
    """An interval that was exported again."""
    return {
        "interval_ms": [window.start_ms, window.end_ms],
        "is_committed": window.is_committed,
        "records": window.records,
        "objects": window.objects,
        "bytes": window.bytes,
        "prefix": window.prefix,
        "run_id": window.run_id,
    }


def overview(
    connector: Connector, log: Answer[LogView], kafka: Answer[Health], facts: AirflowFacts, now_ms: int
) -> dict[str, object]:
    """One line of the list: the state, the numbers, and what is wrong."""
    state, why = _state(connector, log, kafka, facts, now_ms)
    head = log.value.head if log.value is not None else None
    health = kafka.value
    newest = next((row for row in log.value.rows if row["records"]), None) if log.value is not None else None
    return {
        "dag_id": connector.dag_id,
        "runs_in": connector.runs_in,
        "name": connector.name,
        "file": connector.file,
        "topics": list(connector.topics[:SAID_MAX]),
        "topics_regex": connector.topics_regex,
        "schedule": connector.schedule,
        "group": connector.group,
        "owner": connector.owner,
        "tags": list(connector.tags),
        "bucket": connector.bucket,
        "is_paused": facts.is_paused,
        "state": state,
        "why": why[:SAID_MAX],
        "runs": [each.run_id for each in (facts.at_work, facts.run) if each is not None],
        "lag_records": _lag_records(log, health),
        "lag_ms": health.lag_ms if health is not None else None,
        "loss_in_ms": health.loss_in_ms if health is not None else None,
        "overdue_ms": health.overdue_ms if health is not None else None,
        "rejected_fraction": health.rejected_fraction if health is not None else None,
        "kafka_at_ms": kafka.at_ms,
        "kafka_is_stale": is_stale(kafka, now_ms),
        "kafka_error": kafka_error(kafka, now_ms),
        "log_at_ms": log.at_ms,
        "log_error": log.error,
        "last_commit_ms": newest["at_ms"] if newest is not None else None,
        "last_records": newest["records"] if newest is not None else None,
        "records_per_s": newest["records_per_s"] if newest is not None else None,
        "entries": None if head is None else head.seq + 1,
        "silences": [{"kind": each.kind, "until_ms": each.until_ms} for each in facts.silences],
        "last_run": None if facts.run is None else {"run_id": facts.run.run_id, "state": facts.run.state},
    }


def detail(
    connector: Connector, log: Answer[LogView], kafka: Answer[Health], facts: AirflowFacts, now_ms: int
) -> dict[str, object]:
    """One connector: its line, and where each partition stands."""
    view, health = log.value, kafka.value
    shown: dict[str, Any] = overview(connector, log, kafka, facts, now_ms)
    partitions = _partitions(view, health)
    return {
        **shown,
        "bucket": view.bucket if view is not None else connector.bucket,
        "log": view.where if view is not None else None,
        "remedies": remedies(connector, str(shown["state"]), _commands(connector, log, kafka), facts),
        "notes": list(health.notes) if health is not None else [],
        "partitions": partitions[:PARTITIONS_MAX],
        "partitions_omitted": max(0, len(partitions) - PARTITIONS_MAX),
        "open_plan": _plan(view.open_plan) if view is not None else None,
        "verify": None
        if facts.verify is None
        else {"dag_id": facts.verify_id, "run_id": facts.verify.run_id, "state": facts.verify.state},
    }


def _state(
    connector: Connector, log: Answer[LogView], kafka: Answer[Health], facts: AirflowFacts, now_ms: int
) -> tuple[str, list[str]]:
    """The state in one word, the worst first, and the sentences that say why."""
    if connector.problems:
        return "broken", list(connector.problems)
    if log.error is not None:
        return "broken" if log.is_final else "failed", [log.error]
    if log.value is None:
        return "asking", []
    why = list(dict.fromkeys(map(str, _problems(connector, log.value, kafka.value))))
    if facts.run is not None and facts.run.state == "failed":
        why.append(f"The newest run of its DAG failed: {facts.run.run_id}.")
    if facts.verify is not None and facts.verify.state == "failed":
        why.append(f"Its last verification failed: {facts.verify.run_id}.")
    error = kafka_error(kafka, now_ms)
    if why:
        return State.FAILED.value, [*why, error] if error is not None else why
    if error is not None:
        return "kafka_down", [error]
    if log.value.head is None:
        return "never_ran", ["Nothing exported yet: unpause the DAG, or trigger it."]
    if kafka.value is None:
        return "asking", []
    if kafka.value.state is State.LATE:
        held = [str(each) for each in kafka.value.held]
        return State.LATE.value, held or [late(facts)]
    return State.OK.value, []


def _commands(connector: Connector, log: Answer[LogView], kafka: Answer[Health]) -> dict[str, None]:
    """What to copy: only what the engine made as a command. A sentence may quote the bucket."""
    if connector.problems or log.value is None or log.error is not None:
        return {}
    found = [*_problems(connector, log.value, kafka.value), *(kafka.value.held if kafka.value is not None else ())]
    return dict.fromkeys(command for each in found for command in each.commands)


def _problems(connector: Connector, log: LogView, health: Health | None) -> list[Said]:
    """What needs attention, as `kafka-s3 status` says it; the log's part is of the log that is shown, which may be
    newer than Kafka's answer."""
    others = [each for each in health.status.problems if not is_of_log(each)] if health is not None else []
    found = [*log.problems, *(each for each in others if not is_silence(each))]
    return [said(each, str(connector.path)) for each in found]


def kafka_error(kafka: Answer[Health], now_ms: int) -> str | None:
    """Why there is no newer answer of Kafka's."""
    if kafka.error is not None:
        return kafka.error
    if kafka.asked_ms is not None and now_ms - kafka.asked_ms > KAFKA_LIMIT_MS:
        return f"Kafka has not answered for {(now_ms - kafka.asked_ms) // 1000} s."
    return None


def is_stale(kafka: Answer[Health], now_ms: int) -> bool:
    """Whether what is shown of Kafka is of another time than now."""
    if kafka.at_ms is None:
        return False
    return kafka_error(kafka, now_ms) is not None or now_ms - kafka.at_ms > STALE_MS


def _positions(log: LogView | None, health: Health | None) -> Mapping[TopicPartition, tuple[int, int]]:
    """Position and generation by partition: the log's, which may be newer than Kafka's answer, else as Kafka begins."""
    found: dict[TopicPartition, tuple[int, int]] = {}
    for each in health.status.partitions if health is not None else ():
        found[each.tp] = (each.position, each.generation)
    for topic, state in (log.head.topics if log is not None and log.head is not None else {}).items():
        for partition, position in state.positions.items():
            found[TopicPartition(topic, partition)] = (position, state.generation)
    return found


def _lag_records(log: Answer[LogView], health: Health | None) -> int | None:
    if health is None:
        return None
    positions = _positions(log.value, health)
    ends = {each.tp: each.offsets.last_stable for each in health.status.partitions if each.offsets is not None}
    return sum(max(0, end - positions[tp][0]) for tp, end in ends.items())


def _partitions(log: LogView | None, health: Health | None) -> list[dict[str, object]]:
    known = {each.tp: each.offsets for each in health.status.partitions} if health is not None else {}
    excluded = health.status.excluded if health is not None else ()
    rows = []
    for tp, (position, generation) in sorted(_positions(log, health).items()):
        offsets = known.get(tp)
        rows.append(
            {
                "topic": tp.topic,
                "partition": tp.partition,
                "position": position,
                "generation": generation,
                "log_start": offsets.log_start if offsets is not None else None,
                "last_stable": offsets.last_stable if offsets is not None else None,
                "high_watermark": offsets.high_watermark if offsets is not None else None,
                "lag": max(0, offsets.last_stable - position) if offsets is not None else None,
                "trouble": next((each.reason for each in excluded if each.covers(tp)), None),
            }
        )
    return rows


def _plan(plan: Plan | None) -> dict[str, object] | None:
    if plan is None:
        return None
    return {
        "seq": plan.seq,
        "run_id": plan.run.run_id,
        "interval_ms": _interval(plan.interval),
        "offsets": sum(planned.end - planned.start for planned in plan.ranges),
        "ranges": len(plan.ranges),
        "notes": list(plan.notes[:SAID_MAX]),
    }


def _interval(interval: Interval | None) -> list[int] | None:
    return None if interval is None else [interval.start_ms, interval.end_ms]


def _failed_text(failed: FailedRange) -> str:
    return f"{failed.tp} [{failed.start}, {failed.end}): {failed.reason}"


def _range(done: RangeEntry) -> dict[str, object]:
    return {
        "topic": done.topic,
        "partition": done.partition,
        "start": done.start,
        "next_offset": done.next_offset,
        "records": done.records,
        "rejected": done.rejected,
        "tombstones": done.tombstones,
        "filtered": done.filtered,
        "skipped": done.skipped_offsets,
        "objects": len(done.objects),
    }


def _object(done: RangeEntry, made: ObjectEntry) -> dict[str, object]:
    return {
        "key": made.key,
        "size": made.size,
        "records": made.records,
        "first_offset": made.first_offset,
        "last_offset": made.last_offset,
        "topic": done.topic,
        "partition": done.partition,
        "closed_by": made.closed_by,
        "schema_id": made.schema_id,
        "companions": [companion.key for companion in made.companions],
    }
