"""Quiet moments: what status, health, verify and the page say, against what is so; and how every history ends."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_s3.bucket.window import of_window
from kafka_s3.dead_letter import DeadLetter
from kafka_s3.dead_letters.delivery import report
from kafka_s3.errors import ExporterError
from kafka_s3.export.diagnosis import of_log
from kafka_s3.export.exporter import Exporter
from kafka_s3.export.run import run
from kafka_s3.export.task import export_range
from kafka_s3.gc.gc import collect, delete
from kafka_s3.log.entries import Entry, Interval
from kafka_s3.log.store import Committed
from kafka_s3.plan.batch import RunRequest
from kafka_s3.publish.announce import announcement, mark
from kafka_s3.ranges import TopicPartition
from kafka_s3.reexport.run import run as run_again
from kafka_s3.report.health import Health, State
from kafka_s3.report.health import look as look_at_health
from kafka_s3.verify.verify import Kafka as Against
from kafka_s3.verify.verify import verify
from kafka_s3_airflow.page.background_answers import Answer
from kafka_s3_airflow.page.model import AirflowFacts, Connector, LogView
from kafka_s3_airflow.page.views import commit_row, detail
from tests.interleavings.book import Violation
from tests.interleavings.bucket import Direct, SteppedBucket
from tests.interleavings.programs import redrive_to_parking
from tests.scenario.kafka import TOPICS, Gone

if TYPE_CHECKING:
    from tests.interleavings.harness import InterleavedExport


HOUR_MS = 3_600_000


def _silent(_: object) -> None:
    pass


def exporter_of(world: InterleavedExport, bucket: SteppedBucket | None = None) -> Exporter:
    return Exporter(world.settings(), Direct(bucket or world.bucket), world.truth.broker)


def run_all(world: InterleavedExport, exporter: Exporter, run_id: str) -> list[str]:
    """An undisturbed run of all there is now; what is wrong."""

    def execute(tasks):  # type: ignore[no-untyped-def]
        return [export_range(exporter.settings, task, exporter.store, exporter.broker) for task in tasks]  # type: ignore[arg-type]

    try:
        return run(exporter, RunRequest(run_id, 1, None, world.clock_ms), execute, _silent).problems()
    except ExporterError as error:
        return [str(error)]


def _require(is_so: bool, rule: str, what: str) -> None:
    if not is_so:
        raise Violation(rule, what)


def troubles(world: InterleavedExport) -> set[TopicPartition]:
    """The partitions that cannot be exported as things are, by what became of Kafka."""
    truth, head = world.truth, world.book.head
    found = set(truth.down)
    for topic, state in ({} if head is None else head.topics).items():
        later = {tp.partition: 0 for tp in truth.now if tp.topic == topic}
        for partition, position in {**later, **state.positions}.items():
            tp = TopicPartition(topic, partition)
            if truth.topic_ids.get(topic) != state.topic_id:
                found.add(tp)
                continue
            log = truth.broker._topics[topic].partitions[partition]
            exported = [truth.facts[each] for taken in world.book.taken.get(tp, []) for each in taken.numbers]
            is_cut = any(fact.gone is Gone.TRUNCATED and fact.topic_id == state.topic_id for fact in exported)
            if position < log.log_start or position > log.high_watermark or is_cut:
                found.add(tp)
    return found


def check_quiet(world: InterleavedExport) -> None:
    """Nobody is at work."""
    world.reached["a quiet moment"] += 1
    world.rules.check()
    exporter = exporter_of(world)
    health = look_at_health(
        exporter.settings, exporter.log, lambda: exporter.broker, at_ms=world.clock_ms, entries_max=5
    )
    _check_health(world, health)
    _check_page(world, exporter, health)
    _check_verify(world, exporter)


def _check_health(world: InterleavedExport, health: Health) -> None:
    truth, book, wrong = world.truth, world.book, troubles(world)
    excluded = health.status.excluded  # also what a policy lets the next run accept, which is no problem
    said = f"status says {health.state.value}, {[str(left) for left in excluded]}"
    world.scheduler.trace.say("(quiet)", said)
    if health.status.kafka_error is not None:
        return
    told = {left.tp for left in excluded}
    by_topic = {left.tp.topic for left in excluded if left.anomaly.value in ("recreated", "deleted")}
    overlooked = {tp for tp in wrong if tp not in told and tp.topic not in by_topic}
    _require(not overlooked, "status", f"{said}, and overlooks {sorted(overlooked)}")
    cut = {left.tp for left in excluded if left.anomaly.value == "truncated"}
    invented = {tp for tp in told - wrong - cut if tp.topic in truth.topic_ids and tp.topic not in by_topic}
    _require(not invented, "status", f"{said}: nothing is wrong with {sorted(invented)}")
    for each in health.status.partitions:
        if each.tp in book.taken and book.head is not None and each.tp.topic in truth.topic_ids:
            known = book.head.position(each.tp)
            _require(
                known in (None, each.position),
                "status",
                f"status puts {each.tp} at {each.position}, the log at {known}",
            )
    for each in health.status.partitions:
        if each.offsets is not None:
            end = truth.last_stable(each.tp)
            _require(
                each.lag == max(0, end - each.position), "status", f"{each.tp}: lag {each.lag}, and the LSO is {end}"
            )
    if health.state is State.OK and not world.truth.down and not _plans_what_is_cut(world, health):
        probe = copy.deepcopy(world.bucket.objects), copy.deepcopy(world.bucket.uploads)
        fork = SteppedBucket(lambda: world.clock_ms, objects=probe[0], uploads=probe[1])
        problems = run_all(world, exporter_of(world, fork), "probe")
        _require(not problems, "status", f"{said}, and an undisturbed run ends with {problems}")


def _plans_what_is_cut(world: InterleavedExport, health: Health) -> bool:
    """Whether a plan that is open goes on behind where a log ends by now: it is planned anew by the run after next."""
    open_plan = health.status.open_plan
    ranges = open_plan.ranges if open_plan is not None else ()
    return any(each.end > world.truth.last_stable(each.tp) for each in ranges)


def _check_page(world: InterleavedExport, exporter: Exporter, health: Health) -> None:
    entries: list[Entry] = [each.entry for each in exporter.log.entries()]
    committed = exporter.log.newest()
    assert (committed is None) == (not entries)
    open_plan = exporter.log.open_plan(committed) if isinstance(committed, Committed) else None
    view = LogView(
        "archive", "s3://archive", committed, open_plan.plan if open_plan else None,
        tuple(commit_row(entry, None, None) for entry in entries),
        tuple(of_log(exporter.settings, exporter.log, list(exporter.log.entries()))),
    )  # fmt: skip
    connector = Connector("orders", "orders", Path("orders.properties"), TOPICS, None, "@hourly", ())
    at = world.clock_ms
    page = detail(connector, Answer(view, at), Answer(health, at), AirflowFacts(), at)
    state = health.state.value
    _require(page["state"] == state, "page", f"the page says {page['state']}, status {state}")
    _require(
        page["entries"] == (len(entries) or None),
        "page",
        f"the page counts {page['entries']} entries of {len(entries)}",
    )
    if health.status.kafka_error is None:
        lag = sum(each.lag or 0 for each in health.status.partitions)
        _require(
            page["lag_records"] == lag, "page", f"the page says that {page['lag_records']} records wait, status {lag}"
        )
    rows = sum(row["records"] for row in view.rows)
    held = len(_in_objects(world)) + world.book.withdrawn_records
    _require(rows == held, "page", f"the page counts {rows} records, the objects hold {held}")


def _in_objects(world: InterleavedExport) -> list[int]:
    return [number for number, key in world.book.live.items() if not key.startswith("_")]


def _check_verify(world: InterleavedExport, exporter: Exporter) -> None:
    kafka = None
    if not (world.truth.compacted or world.truth.down or world.truth.topic_ids.keys() != set(TOPICS)):
        kafka = Against(exporter.broker, exporter.broker)  # type: ignore[arg-type]
    verified = verify(exporter.settings, exporter.log, kafka, parallel=1, tell=_silent)
    against = " --against-kafka" if kafka else ""
    _require(verified.findings == (), "verify", f"verify{against} found what is not so: {verified.findings}")
    held = len(_in_objects(world))
    _require(verified.records == held, "verify", f"verify counts {verified.records} records, a reader {held}")
    _spoil(world)


@dataclass
class _Letters:
    sent: list[int]

    def send(self, letters) -> None:  # type: ignore[no-untyped-def]
        found: list[DeadLetter] = list(letters)
        self.sent += [int(letter.key or b"") for letter in found]

    def close(self) -> None:
        pass


def _spoil(world: InterleavedExport) -> None:
    """In a copy of the bucket one object of the export is changed or taken away: `verify` says so."""
    keys = sorted(set(world.book.live.values()))
    if not keys or world.chance.random() < 0.7:
        return
    key = world.chance.choice(keys)
    objects = dict(world.bucket.objects)
    if world.chance.random() < 0.5:
        del objects[key]
    else:
        body = bytearray(objects[key].body)
        body[world.chance.randrange(len(body))] ^= 1
        objects[key] = replace(objects[key], body=bytes(body))
    fork = exporter_of(world, SteppedBucket(lambda: world.clock_ms, objects=objects))
    verified = verify(fork.settings, fork.log, None, parallel=1, tell=_silent)
    _require(not verified.ok, "verify", f"verify says ok, and {key} was spoilt")
    world.reached["a spoilt object found"] += 1


def finish(world: InterleavedExport) -> None:
    """Kafka is well again; a few undisturbed runs export all that it has, and nothing is left behind."""
    truth, book = world.truth, world.book
    for tp in sorted(truth.down):
        truth.lead(tp, up=True)
    truth.end_transactions()
    for topic in TOPICS:
        if not truth.exists(topic):
            truth.create(topic, 1)
    world.mapping |= {"export.on.data.loss": "record", "export.on.topic.recreated": "restart"}
    exporter = exporter_of(world)
    for number in range(2):
        problems = run_all(world, exporter, f"last {number}")
        world.rules.check()
    _require(not problems, "the end", f"an undisturbed run, Kafka being well, ends with {problems}")
    for tp in sorted(truth.now):
        at, end = book.position(tp), truth.view_end(tp)
        _require(at == end, "the end", f"{tp}: the position is {at}, and the log ends at {end}")
    _check_letters(world, exporter)
    _tell_all(world, exporter)
    _export_again(world, exporter)
    check_quiet(world)
    for with_lost in (False, True, True):
        garbage = collect(exporter.settings, exporter.log, with_lost=with_lost, parallel=1)
        if garbage is not None:
            delete(exporter.log, garbage, parallel=1)
        world.rules.changes.append(("", "DELETE", ""))
        world.rules.check()
    left = [key for key in world.bucket.contents() if book.is_collectable(key)]
    left += [each.key for each in world.bucket.uploads.values() if book.is_collectable(each.key)]
    _require(not left, "the end", f"gc leaves {left}")
    _require(not (garbage and garbage.objects), "the end", f"gc finds something twice: {garbage and garbage.objects}")


def _export_again(world: InterleavedExport, exporter: Exporter) -> None:
    """One window more, of an hour that is over: it is committed or refused, and right in either case."""
    first = min(world.truth.stamps.values()) // HOUR_MS
    start_ms = world.chance.randint(first, max(first, world.clock_ms // HOUR_MS - 1)) * HOUR_MS
    window = Interval(start_ms, start_ms + HOUR_MS)
    inside = of_window(exporter.settings, window)
    world.began["last window"] = world.truth.snapshot()

    def execute(tasks):  # type: ignore[no-untyped-def]
        return [export_range(inside, task, exporter.store, exporter.broker) for task in tasks]  # type: ignore[arg-type]

    request = RunRequest("last window", 1, window, world.clock_ms)
    try:
        done = run_again(exporter, request, execute, _silent).exit_status
    except ExporterError as error:
        done = error.exit_status
    world.rules.check()
    world.reached["the last window: exported" if done == 0 else "the last window: refused"] += 1


def _check_letters(world: InterleavedExport, exporter: Exporter) -> None:
    """Every letter was sent at least once; nothing is sent twice by whom nothing happens to."""
    if not world.truth.sides:
        return
    report(exporter, _Letters(world.reported), _silent)
    world.rules.check()
    everything = {number for letters in world.book.letters.values() for number in letters}
    unsent = everything - set(world.reported)
    _require(not unsent, "letters", f"letters that were never reported: {sorted(unsent)}")
    live = {number for number, key in world.book.live.items() if key.startswith("_")}
    for again in (False, True):
        sink = _Letters([])
        redrive_to_parking(exporter, sink, world.clock_ms)
        _require(not (again and sink.sent), "letters", f"a second redrive sends {sink.sent} again")
        world.redriven += sink.sent
        world.rules.check()
    _require(
        live <= set(world.redriven), "letters", f"letters that no redrive sends: {sorted(live - set(world.redriven))}"
    )


def _tell_all(world: InterleavedExport, exporter: Exporter) -> None:
    """Every entry is told, at least once."""
    told = announcement(exporter.log, "archive", exporter.settings.exports)
    world.entries_told |= {each["seq"] for event in told.events for each in event.extra["entries"]}
    for seq in told.seqs:
        mark(exporter.log, seq)
    head = world.book.head
    assert head is not None
    untold = set(range(head.seq + 1)) - world.entries_told
    _require(not untold, "entries told", f"entries that no event told: {sorted(untold)}")
