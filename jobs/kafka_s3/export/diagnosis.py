"""What is wrong with an export, and the way out: one answer, which `run`, `status`, `verify`, the page and the metrics
give alike.

| problem | what a run does about it |
|---|---|
| `RunBlocked` | it ends at once, with this error, and writes nothing |
| `ExcludedPartition` | it exports the other partitions, and ends as failed |
| `RangeFailed` | it tries the range again, and ends as failed where that fails again |
| `TopicRejected` | its commit left out most records of a topic: it ended as failed, and the commit stands |
| `DeadLettersUnsent` | it sends them after its last commit, and ends as failed where that fails |

Nothing here writes. What a run would find out only by reading records, or by writing, is not known before it did.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from shlex import quote
from typing import Final, assert_never

import msgspec

from kafka_s3.bucket import owners
from kafka_s3.bucket.dead_letter_marks import reported
from kafka_s3.errors import EXIT_DATA, ConfigurationError, DataError, ExporterError, Fenced, TemporaryError
from kafka_s3.log.entries import Entry, FailedRange, RangeEntry, Refusal, Stop, TopicState
from kafka_s3.log.store import Committed, Log
from kafka_s3.plan.anomalies import Anomaly, ExcludedPartition
from kafka_s3.plan.planner import KafkaSnapshot, accepted, observe
from kafka_s3.ports import Broker
from kafka_s3.ranges import TopicPartition
from kafka_s3.settings.model import Settings

#: Entries that are looked at for rejected records, whatever else of the log is shown.
JUDGED_ENTRIES: Final = 10
#: Entries that are looked through for dead letters which were not sent: a GET each, only where a report was missed.
_UNSENT_ENTRIES: Final = 200
#: Topics with waiting records whose owner is asked for although the log says that it is this connector: a GET each.
_OWNERS_ASKED: Final = 32
_PARTITIONS_NAMED: Final = 3
#: What errors that stop a run tell to do, as their texts have it. A text may quote the bucket: only these are commands.
_COMMANDS_OF_ERRORS: Final = ("kafka-s3 adopt CONFIG", "kafka-s3 sign CONFIG")


@dataclass(frozen=True, slots=True)
class RunBlocked:
    """A run ends with this error before it has done anything."""

    error: ExporterError


@dataclass(frozen=True, slots=True)
class RangeFailed:
    """The first range of a partition that the newest entry names as failed."""

    failed: FailedRange


@dataclass(frozen=True, slots=True)
class TopicRejected:
    """Of a topic's records in one commit, how many were rejected, and why most of them.

    `ranges`: where they are, by partition the first range with one.
    """

    topic: str
    seq: int
    records: int
    rejected: int
    refusals: tuple[Refusal, ...]
    ranges: tuple[tuple[TopicPartition, int], ...]

    @property
    def fraction(self) -> float:
        return self.rejected / self.records


@dataclass(frozen=True, slots=True)
class DeadLettersUnsent:
    """Dead letters of commits that are not in their topic."""

    to: str
    letters: int
    first_seq: int


Problem = RunBlocked | ExcludedPartition | RangeFailed | TopicRejected | DeadLettersUnsent


@dataclass(frozen=True, slots=True)
class Said:
    """A problem in words: what it is, and what to do. `commands`: those of `next`, as a shell takes them."""

    what: str
    next: str
    commands: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.what} {self.next}".strip()


# What is wrong.


def of_log(settings: Settings, log: Log, committed: Sequence[Committed]) -> list[Problem]:
    """What the log alone says. `committed`: its newest entries, newest first, JUDGED_ENTRIES of them if there are."""
    entries = [each.entry for each in committed]
    if not entries:
        unseen = {topic: TopicState(topic_id="") for topic in settings.topics}
        asks = [partial(owners.check_no_traces, log, settings, unseen)]
        return list(_refused(asks))
    found: list[Problem] = [*failed_ranges(settings, entries[0])]
    most = settings.dead_letters.fraction_attention
    found += [each for each in rejections(entries[:JUDGED_ENTRIES]) if each.fraction > most]
    unsent = _unsent(settings, log, entries)
    return [*found, unsent] if unsent is not None else found


def of_snapshot(settings: Settings, log: Log, head: Committed | None, snapshot: KafkaSnapshot) -> list[Problem]:
    """What Kafka says beside the log: partitions that are left out, topics that are not this connector's."""
    asks: list[Callable[[], object]] = []
    if head is None:
        asks.append(partial(owners.check_no_traces, log, settings, snapshot.topics))
    has_log = head is not None
    asks += [
        partial(owners.check_no_data, log, settings, topic, has_log=has_log) for topic in sorted(snapshot.first_seen)
    ]
    asks += [partial(owners.is_ours, log, settings, topic) for topic in _to_claim(snapshot)]
    excluded = [left for left in snapshot.excluded if not left.is_allowed(settings.policies)]
    return [*_refused(asks), *excluded]


def snapshot_ahead(
    settings: Settings, broker: Broker, head: Committed | None, snapshot: KafkaSnapshot
) -> KafkaSnapshot:
    """What a run finds once it has written down all that the user allows: a topic that was created again may have lost
    records already."""
    while head is not None:
        allowed = snapshot.allowed(settings.policies)
        if not allowed:
            break
        made = accepted(settings, head.entry, snapshot, allowed)
        head = replace(head, entry=msgspec.structs.replace(head.entry, topics=made.topics, failed=made.failed))
        snapshot = observe(settings, broker, head)
    return snapshot


def failed_ranges(settings: Settings, head: Entry) -> list[RangeFailed]:
    """The first failed range of each partition that the connector still asks for: the others wait for it."""
    first: dict[TopicPartition, FailedRange] = {}
    for failed in sorted(head.failed, key=lambda failed: (failed.tp, failed.start)):
        if settings.exports(failed.topic):
            first.setdefault(failed.tp, failed)
    return [RangeFailed(failed) for failed in first.values()]


def rejections(entries: Sequence[Entry]) -> list[TopicRejected]:
    """Of each topic, the newest commit that read records of it, if any of them was rejected. Newest entries first.

    A rewind of the topic ends the search: what was committed before it is exported again.
    """
    found: dict[str, TopicRejected | None] = {}
    for entry in entries:
        by_topic: dict[str, list[RangeEntry]] = {}
        for done in entry.ranges:
            by_topic.setdefault(done.topic, []).append(done)
        for topic, ranges in by_topic.items():
            if topic not in found and any(done.records + done.rejected for done in ranges):
                found[topic] = _rejected(topic, entry.seq, ranges)
        for restart in entry.restarts:
            if restart.withdrawn:
                found.setdefault(restart.topic, None)
    return [each for each in found.values() if each is not None]


def _rejected(topic: str, seq: int, ranges: Sequence[RangeEntry]) -> TopicRejected | None:
    rejected = sum(done.rejected for done in ranges)
    if not rejected:
        return None
    reasons: Counter[tuple[str, str]] = Counter()
    starts: dict[TopicPartition, int] = {}
    for done in ranges:
        for refusal in done.refusals:
            reasons[refusal.stage, refusal.reason] += refusal.records
        if done.rejected:
            starts[done.tp] = min(done.start, starts.get(done.tp, done.start))
    return TopicRejected(
        topic,
        seq,
        rejected + sum(done.records for done in ranges),
        rejected,
        tuple(Refusal(*kind, records) for kind, records in reasons.most_common()),
        tuple(sorted(starts.items())),
    )


def _unsent(settings: Settings, log: Log, entries: Sequence[Entry]) -> DeadLettersUnsent | None:
    """One LIST where everything was sent."""
    to = settings.dead_letters.topic
    if to is None:
        return None
    before = reported(log)
    if before >= entries[0].seq:
        return None
    if before < entries[-1].seq - 1:  # entries that nobody has looked at
        newer = itertools.islice(log.entries(after_seq=before), _UNSENT_ENTRIES)
        entries = [each.entry for each in newer]
    with_letters = [
        (entry.seq, done.dead_letters.records)
        for entry in entries
        if entry.seq > before
        for done in entry.ranges
        if done.dead_letters is not None
    ]
    if not with_letters:
        return None
    return DeadLettersUnsent(to, sum(letters for _, letters in with_letters), min(seq for seq, _ in with_letters))


def _to_claim(snapshot: KafkaSnapshot) -> list[str]:
    """Topics whose owner the next plan asks for; of those that the log calls our own, a few."""
    waiting = {tp.topic for tp in snapshot.exportable() if snapshot.offsets[tp].last_stable > snapshot.position(tp)}
    waiting -= snapshot.first_seen
    own = sorted(topic for topic in waiting if snapshot.topics[topic].owned)
    return sorted(waiting - set(own)) + own[:_OWNERS_ASKED]


def _refused(asks: Sequence[Callable[[], object]]) -> Iterator[RunBlocked]:
    """The errors of questions that a run asks too, each once."""
    said = set()
    for ask in asks:
        try:
            ask()
        except Fenced:
            continue  # a run wrote what was missing at the same moment
        except (DataError, ConfigurationError) as error:
            if str(error) not in said:
                said.add(str(error))
                yield RunBlocked(error)


def exit_status(problem: Problem) -> int:
    """What a run ends with because of a problem, as far as it knows by itself."""
    match problem:
        case RunBlocked(error):
            return error.exit_status
        case ExcludedPartition():
            return problem.exit_status
        case RangeFailed() | TopicRejected() | DeadLettersUnsent():
            return EXIT_DATA
        case _ as never:
            assert_never(never)


def is_of_log(problem: Problem) -> bool:
    """Whether `of_log` finds it out."""
    return isinstance(problem, RangeFailed | TopicRejected | DeadLettersUnsent)


def is_silence(problem: Problem) -> bool:
    """Whether something did not answer, and nothing else is known to be wrong."""
    return isinstance(problem, RunBlocked) and isinstance(problem.error, TemporaryError)


# In words.


def said(problem: Problem, config: str = "CONFIG") -> Said:
    """A problem for people; `config`: the connector's file, as commands are given it."""
    match problem:
        case RunBlocked(error):
            named = [each for each in _COMMANDS_OF_ERRORS if f"`{each}`" in error.next]
            commands = tuple(each.replace("CONFIG", quote(config)) for each in named)
            return Said(error.what, error.next.replace("CONFIG", config), commands)
        case ExcludedPartition():
            return Said(str(problem), *_go_on(problem, config))
        case RangeFailed(failed):
            run = f"kafka-s3 run {quote(config)}"
            return Said(failed.reason, f"{_try_again(failed)}: {run}", (run,))
        case TopicRejected():
            text, commands = _get_back(problem, config)
            return Said(_rejected_text(problem), f"The commit stands. {text}", commands)
        case DeadLettersUnsent(to, letters, first_seq):
            run = f"kafka-s3 run {quote(config)}"
            return Said(
                f"{letters:,} dead letters were not sent to topic {to}, from commit {first_seq} on.",
                f"They are safe in the bucket, and the next run sends them. To see why it cannot: {run}",
                (run,),
            )
        case _ as never:
            assert_never(never)


def label(problem: Problem) -> str:
    """The kind of a problem in a word or two."""
    match problem:
        case RunBlocked():
            return "A run would stop"
        case ExcludedPartition():
            return "Left out"
        case RangeFailed(failed):
            return f"Failed: {failed.tp} [{failed.start}, {failed.end})"
        case TopicRejected():
            return "Rejected"
        case DeadLettersUnsent():
            return "Not sent"
        case _ as never:
            assert_never(never)


def noted(rejected: TopicRejected, config: str = "CONFIG") -> str:
    """Rejected records that are no problem: how many, why, and how to get them back."""
    return f"{_rejected_text(rejected)} {_get_back(rejected, config)[0]}"


def _rejected_text(rejected: TopicRejected) -> str:
    text = (
        f"{rejected.rejected:,} of {rejected.records:,} records of topic {rejected.topic} were rejected in commit"
        f" {rejected.seq}"
    )
    if not rejected.refusals:
        return f"{text}."
    commonest = rejected.refusals[0]
    return f"{text}, most of them at {commonest.stage} ({commonest.records:,}): {commonest.reason.rstrip('.')}."


def _get_back(rejected: TopicRejected, config: str) -> tuple[str, tuple[str, ...]]:
    """How rejected records become part of the export after all, and the commands."""
    file = quote(config)
    named = " ".join(f"--to {quote(f'{tp}={start}')}" for tp, start in rejected.ranges[:_PARTITIONS_NAMED])
    has_more = len(rejected.ranges) > _PARTITIONS_NAMED
    rewind, redrive = f"kafka-s3 rewind {file} {named}", f"kafka-s3 redrive {file}"
    text = (
        "Each is kept in full as a dead letter. If the configuration was wrong (value.converter, say), correct it and"
        f" export them again: {rewind}{' …' * has_more}. To send them to their topic again, or to another: {redrive}."
    )
    return text, (redrive,) if has_more else (rewind, redrive)


def _try_again(failed: FailedRange) -> str:
    match failed.stop:
        case Stop.BAD_RECORD:
            return (
                "Every run tries it again. If all records are like this one, correct value.converter; to leave bad"
                " records out and keep them as dead letters, set errors.tolerance=all. Then"
            )
        case Stop.TOO_MANY_BAD:
            return "Every run tries it again. Correct value.converter, or raise export.errors.fraction.max. Then"
        case Stop.OTHER:
            return "Every run tries it again. Once the cause is fixed"
        case _ as never:
            assert_never(never)


def _go_on(left: ExcludedPartition, config: str) -> tuple[str, tuple[str]]:
    """What resolves it, or shows it where nothing can, and the command."""
    file = quote(config)
    if left.anomaly is Anomaly.UNREACHABLE:
        lead, command = "When its broker is back", f"kafka-s3 run {file}"
    elif left.anomaly in (Anomaly.DELETED, Anomaly.MISSING):
        lead, command = "The other topics are still exported", f"kafka-s3 plan {file}"
    elif left.resume is None:
        lead = "Rewind to an offset before Kafka's log changed"
        command = f"kafka-s3 rewind {file} --to {quote(f'{left.tp}=OFFSET')}"
    else:
        is_new = left.anomaly is Anomaly.RECREATED
        command = f"kafka-s3 rewind {file} --accept {quote(left.tp.topic if is_new else str(left.tp))}"
        policy = "export.on.topic.recreated=restart" if is_new else "export.on.data.loss=record"
        return f"To accept this and continue: {command}, or {policy} for every run", (command,)
    return f"{lead}: {command}", (command,)
