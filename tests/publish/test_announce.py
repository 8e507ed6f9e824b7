"""Announcing: every entry, oldest first, at least once."""

from collections.abc import Container
from typing import Any

import pytest

from kafka_s3.adapters.memory import MemoryStore
from kafka_s3.errors import LogDamaged
from kafka_s3.log.entries import (
    Entry,
    FailedRange,
    Interval,
    Kind,
    ObjectEntry,
    RangeEntry,
    RangeGap,
    Restart,
    TopicState,
    sha256_of,
)
from kafka_s3.log.store import Committed, Log
from kafka_s3.naming import LogLayout
from kafka_s3.publish.announce import Announcement, announcement, describe, mark
from tests.support import LATER_MS


@pytest.fixture
def log() -> Log:
    return Log(MemoryStore(), LogLayout("_kafka_s3", "orders"))


def extend(log: Log, count: int = 1, **what: Any) -> list[Committed]:
    written: list[Committed] = []
    for _ in range(count):
        head = log.newest()
        entry = Entry(
            **{"kind": Kind.CHECKPOINT, "topics": {}, **what},
            seq=0 if head is None else head.entry.seq + 1,
            connector="orders",
            previous_sha256=None if head is None else head.sha256,
            cluster_id="c",
            engine="0",
            configuration_sha256="",
            isolation_level="read_committed",
            run_id="r",
            try_number=1,
        )
        committed = log.put_entry(entry)
        assert isinstance(committed, Committed)
        written.append(committed)
    return written


def told(
    log: Log,
    *,
    ended_ms: int | None = None,
    exports: Container[str] = (),
    named: tuple[str, ...] = (),
    most: int = 100,
) -> Announcement:
    return announcement(log, "archive", exports.__contains__, ended_ms, named=named, told_max=most)


def seqs(log: Log, most: int = 100) -> list[int]:
    return list(told(log, most=most).seqs)


def test_no_log(log: Log) -> None:
    """Without a log there is nothing to announce, not even that an interval is complete."""
    assert told(log, ended_ms=LATER_MS) == Announcement()


def test_every_entry_oldest_first(log: Log) -> None:
    """What was not marked is pending, in the order it was written, with the key and checksum of its file; what was
    marked is not."""
    written = extend(log, 3)
    [event] = told(log).events
    assert event.topic is None
    keys = [log.layout.log_key(n) for n in range(3)]
    assert event.extra["entries"] == [
        {"seq": n, "key": key, "sha256": sha256_of(log.store.get(key) or b""), "interval_ms": None}
        for n, key in enumerate(keys)
    ]
    assert [each["sha256"] for each in event.extra["entries"]] == [each.sha256 for each in written]
    assert (event.extra["key"], event.extra["sha256"]) == (keys[2], written[2].sha256)
    mark(log, 0)
    assert seqs(log) == [1, 2]
    mark(log, 1)
    mark(log, 2)
    assert seqs(log) == []
    extend(log)
    assert seqs(log) == [3]


def test_marked_twice(log: Log) -> None:
    """Two runs that announced the same entry do not disturb each other."""
    extend(log)
    mark(log, 0)
    mark(log, 0)
    assert seqs(log) == []


def test_at_most_so_many(log: Log) -> None:
    """A long backlog is announced piece by piece, the oldest first; what is complete is said at its end, and not
    before: older entries do not know what was withdrawn since."""
    extend(log, 5, topics={"t": TopicState(topic_id="x", positions={0: 1}, reached={0: 10})})
    assert seqs(log, most=2) == [0, 1]
    assert [each.extra["complete_until_ms"] for each in told(log, ended_ms=LATER_MS, exports={"t"}, most=2).events] == [
        None
    ]
    mark(log, 0)
    mark(log, 1)
    assert seqs(log, most=2) == [2, 3]
    assert [each.extra["complete_until_ms"] for each in told(log, ended_ms=LATER_MS, exports={"t"}, most=3).events] == [
        10
    ]


def test_the_events_of_one_entry_are_told_together(log: Log) -> None:
    """An entry of more topics than events are told at once is told all the same, alone: it is marked as a whole."""
    topics = {f"t{n}": TopicState(topic_id="x", positions={0: n}) for n in range(5)}
    extend(log, 2, kind=Kind.COMMIT, topics=topics)
    made = told(log, exports=topics, most=2)
    assert made.seqs == (0,)
    assert [each.topic for each in made.events] == [None, *topics]


def test_requests_of_an_empty_hour(log: Log) -> None:
    """With nothing to announce it takes two LISTs of one key and one GET, whatever the history."""
    extend(log, 20)
    mark(log, 19)
    asked: list[str] = []

    class Counting(MemoryStore):
        def __getattribute__(self, name: str) -> object:
            if name in ("list", "get", "head", "put_if_absent"):
                asked.append(name)
            return object.__getattribute__(self, name)

    counting = Counting()
    counting.__dict__.update(vars(log.store))
    assert told(Log(counting, log.layout)) == Announcement()
    assert sorted(asked) == ["get", "list", "list"]


def test_a_gap_in_the_log(log: Log) -> None:
    """An entry that is gone is an error that names its key, not an announcement less."""
    extend(log, 3)
    store = MemoryStore()
    for info in log.store.list("_kafka_s3/"):
        if info.key != log.layout.log_key(1):
            store.put_if_absent(info.key, log.store.get(info.key) or b"")
    with pytest.raises(LogDamaged, match=log.layout.log_key(1)):
        told(Log(store, log.layout))


def test_what_does_not_belong_there(log: Log) -> None:
    """A key beside the markers that is none is an error that names it."""
    extend(log)
    log.store.put_if_absent("_kafka_s3/orders/announced/0-note", b"")
    with pytest.raises(LogDamaged, match="0-note"):
        told(log)


def two(of_a: dict[int, int] | None, of_b: dict[int, int] | None) -> dict[str, TopicState]:
    """Two topics, and what their partitions have reached."""
    return {
        "a": TopicState(topic_id="x", positions={0: 3, 1: 4}, reached=of_a),
        "b": TopicState(topic_id="y", positions={0: 7}, reached=of_b),
    }


TWO = two({0: 200, 1: 200}, {0: 200})


def until(made: Announcement) -> dict[str | None, int | None]:
    return {each.topic: each.extra["complete_until_ms"] for each in made.events}


def test_an_hour_with_nothing_in_it(log: Log) -> None:
    """A run that found nothing new wrote that down: it is announced, for the connector and each topic, with no records,
    where everything stands, and that file as proof."""
    extend(log, topics=two({0: 100, 1: 100}, {0: 100}))
    mark(log, 0)
    extend(log, topics=TWO, interval=Interval(100, 200), boundary_ms=200)
    made = told(log, ended_ms=LATER_MS, exports=TWO)
    assert made.seqs == (1,)
    assert [each.topic for each in made.events] == [None, "a", "b"]
    whole, of_a, of_b = (each.extra for each in made.events)
    assert (whole["kind"], whole["run_id"], whole["records"], whole["objects"]) == ("empty", "r", 0, 0)
    assert (whole["interval_ms"], whole["complete_until_ms"]) == ([100, 200], 200)
    assert whole["offsets"] == {"a": {"0": [3, 3], "1": [4, 4]}, "b": {"0": [7, 7]}}
    assert (of_a["topic"], of_a["offsets"]) == ("a", {"a": {"0": [3, 3], "1": [4, 4]}})
    assert (of_b["topic"], of_b["offsets"]) == ("b", {"b": {"0": [7, 7]}})
    assert whole["sha256"] == sha256_of(log.store.get(whole["key"]) or b"")
    assert whole["key"] == log.layout.log_key(1)
    mark(log, 1)
    assert told(log, ended_ms=LATER_MS, exports=TWO) == Announcement()


def test_a_topic_that_the_connector_has_left(log: Log) -> None:
    """It keeps its positions in the log, has no events any more, and keeps back nothing that is said of the others."""
    extend(log, kind=Kind.COMMIT, topics=two({}, {0: 200}))
    assert until(told(log, ended_ms=LATER_MS, exports={"b"})) == {None: 200, "b": 200}


def test_a_topic_is_as_complete_as_its_partitions(log: Log) -> None:
    """The connector is as complete as its last partition; a topic that has reached nothing lets it say nothing."""
    extend(log, kind=Kind.COMMIT, topics=two({0: 200, 1: 100}, {0: 150}))
    assert until(told(log, ended_ms=LATER_MS, exports=TWO)) == {None: 100, "a": 100, "b": 150}
    extend(log, kind=Kind.COMMIT, topics=two({0: 200, 1: 100}, {}))
    assert until(told(log, ended_ms=LATER_MS, exports=TWO)) == {None: None, "a": 100, "b": None}


def test_a_topic_that_no_entry_knows_is_not_complete(log: Log) -> None:
    """The connector asks for it by name, and nothing of it is exported: nothing is said of the whole connector."""
    extend(log, kind=Kind.COMMIT, topics=TWO)
    made = told(log, ended_ms=LATER_MS, exports={"a", "b", "added"}, named=("a", "b", "added"))
    assert until(made) == {None: None, "a": 200, "b": 200}


def test_what_was_rewound_since_is_not_complete(log: Log) -> None:
    """The newest entry says so, though older ones that are told with it said otherwise."""
    extend(log, kind=Kind.COMMIT, topics=TWO, interval=Interval(100, 200))
    extend(log, kind=Kind.REWIND, topics=two({0: 200}, {0: 200}))
    assert until(told(log, ended_ms=LATER_MS, exports=TWO)) == {None: None, "a": None, "b": 200}


def test_an_interval_in_the_future_is_not_complete(log: Log) -> None:
    """A clock was wrong when it was written."""
    extend(log, kind=Kind.COMMIT, topics=TWO)
    assert until(told(log, ended_ms=199, exports=TWO)) == {None: None, "a": None, "b": None}


def test_a_run_that_failed_claims_nothing(log: Log) -> None:
    """It announces what it committed and no more; what is announced is not announced again."""
    extend(log, topics=TWO, kind=Kind.COMMIT)
    assert set(until(told(log, exports=TWO)).values()) == {None}
    mark(log, 0)
    assert told(log, exports=TWO) == Announcement()
    assert told(log, ended_ms=LATER_MS, exports=TWO) == Announcement()


def test_a_failed_run_that_somebody_marked_as_a_success(log: Log) -> None:
    """Though somebody marked its run as a success by hand: its topic is complete up to where the failed range begins,
    other topics are what they are. Entries of a release that did not say what is reached claim nothing."""
    failed = FailedRange(topic="a", partition=0, start=3, end=9, reason="bad", interval=Interval(50, 100))
    extend(log, kind=Kind.COMMIT, topics=TWO, failed=(failed,))
    assert until(told(log, ended_ms=LATER_MS, exports=TWO)) == {None: 50, "a": 50, "b": 200}
    extend(log, kind=Kind.COMMIT, topics=two(None, {0: 200}), boundary_ms=200)
    assert until(told(log, ended_ms=LATER_MS, exports=TWO)) == {None: None, "a": None, "b": 200}


def test_offsets_are_named_up_to_a_limit() -> None:
    """An event names the offsets of so many partitions, and counts the rest."""
    log = Log(MemoryStore(), LogLayout("_kafka_s3", "orders"))
    [committed] = extend(log, topics={"t": TopicState(topic_id="x", positions=dict.fromkeys(range(9), 1))})
    said = describe(committed, log.layout, "archive", topic="t", offsets_max=4)
    assert said["offsets"] == {"t": {str(p): [1, 1] for p in range(4)}}
    assert said["offsets_omitted"] == 5


def done(partition: int, start: int, keys: int) -> RangeEntry:
    objects = tuple(
        ObjectEntry(
            key=f"topics/t/{partition}/{start + n}",
            size=7,
            sha256="00" * 32,
            records=1,
            first_offset=start + n,
            last_offset=start + n,
            closed_by="flush.size",
        )
        for n in range(keys)
    )
    return RangeEntry(
        topic="t",
        partition=partition,
        start=start,
        next_offset=start + keys + 1,
        records=keys,
        bytes=7 * keys,
        rejected=1,
        tombstones=0,
        skipped_offsets=0,
        leader_epoch=None,
        log_start=0,
        high_watermark=9,
        last_stable=9,
        objects=objects,
    )


def test_what_an_announcement_says(log: Log) -> None:
    """Counts, the offsets of each partition joined, and at most so many keys, the rest counted."""
    [committed] = extend(log)
    entry = Entry(
        **{name: getattr(committed.entry, name) for name in committed.entry.__struct_fields__}
        | {"ranges": (done(1, 0, 1), done(0, 0, 2), done(0, 3, 2)), "interval": Interval(10, 20), "kind": Kind.COMMIT}
    )
    layout = LogLayout("_kafka_s3", "orders")
    said = describe(Committed(entry, "5ha"), layout, "archive", keys_max=3)
    assert said == {
        "connector": "orders",
        "bucket": "archive",
        "seq": 0,
        "key": "_kafka_s3/orders/log/9999999999999999999.json",
        "sha256": "5ha",
        "kind": "commit",
        "run_id": "r",
        "interval_ms": [10, 20],
        "complete_until_ms": None,
        "records": 5,
        "bytes": 35,
        "rejected": 3,
        "filtered": 0,
        "objects": 5,
        "failed_ranges": 0,
        "offsets": {"t": {"0": [0, 6], "1": [0, 2]}},
        "offsets_omitted": 0,
        "keys": ["topics/t/1/0", "topics/t/0/0", "topics/t/0/1"],
        "keys_omitted": 2,
        "gaps": [],
        "restarts": [],
        "entries": [
            {
                "seq": 0,
                "key": "_kafka_s3/orders/log/9999999999999999999.json",
                "sha256": "5ha",
                "interval_ms": [10, 20],
            }
        ],
    }


def test_what_was_lost_or_withdrawn_is_announced(log: Log) -> None:
    """Who follows the announcements, of the connector or of the topic, learns of gaps, and of ranges to skip."""
    gap = RangeGap(topic="a", partition=0, start=5, end=7, reason="gone")
    restart = Restart(topic="b", partition=0, generation=2, position=3, withdrawn=True, reason="rewound")
    extend(log, topics=TWO, gaps=(gap,), restarts=(restart,))
    gaps, restarts = [["a-0", 5, 7, "gone"]], [["b-0", 3, 2, True]]
    assert [(each.topic, each.extra["gaps"], each.extra["restarts"]) for each in told(log, exports=TWO).events] == [
        (None, gaps, restarts),
        ("a", gaps, []),
        ("b", [], restarts),
    ]


def test_topics_of_one_commit_are_told_apart(log: Log) -> None:
    """Each topic's event has that topic's counts, offsets and keys; one without new records has zeros."""
    topics = {"t": TopicState(topic_id="x", positions={0: 3, 1: 2}), "idle": TopicState(topic_id="y", positions={0: 8})}
    extend(log, kind=Kind.COMMIT, topics=topics, ranges=(done(0, 0, 2), done(1, 0, 1)))
    whole, idle, busy = (each.extra for each in told(log, exports=topics).events)
    assert (whole["records"], whole["objects"]) == (3, 3)
    assert (busy["topic"], busy["records"], busy["keys"]) == ("t", 3, whole["keys"])
    assert busy["offsets"] == whole["offsets"] == {"t": {"0": [0, 3], "1": [0, 2]}}
    assert (idle["topic"], idle["records"], idle["keys"]) == ("idle", 0, [])
    assert idle["offsets"] == {"idle": {"0": [8, 8]}}


def test_an_asset_has_one_event_however_many_entries(log: Log) -> None:
    """Two commits with a checkpoint between, and an hour that came to nothing: one event of the connector and one of
    each topic, with the sums, the offsets joined and every entry named. Of several events of a task, Airflow's
    scheduler would give the run that they start only the first."""
    topics = {
        "t": TopicState(topic_id="x", positions={0: 6}, reached={0: 200}),
        "idle": TopicState(topic_id="y", positions={0: 8}, reached={0: 200}),
    }
    gap = RangeGap(topic="idle", partition=0, start=5, end=8, reason="gone")
    extend(log, kind=Kind.COMMIT, topics=topics, ranges=(done(0, 0, 2),), interval=Interval(50, 100), boundary_ms=100)
    extend(log, topics=topics, gaps=(gap,), boundary_ms=100)
    extend(log, kind=Kind.COMMIT, topics=topics, ranges=(done(0, 3, 2),), interval=Interval(50, 100), boundary_ms=100)
    extend(log, topics=topics, interval=Interval(100, 200), boundary_ms=200)
    made = told(log, ended_ms=LATER_MS, exports=topics)
    assert made.seqs == (0, 1, 2, 3)
    assert [each.topic for each in made.events] == [None, "idle", "t"]
    whole, idle, busy = (each.extra for each in made.events)
    for extra in (whole, busy):
        assert (extra["kind"], extra["records"], extra["objects"], len(extra["keys"])) == ("commit", 4, 4, 4)
        assert extra["offsets"]["t"] == {"0": [0, 6]}
    assert [each["seq"] for each in whole["entries"]] == [each["seq"] for each in idle["entries"]] == [0, 1, 2, 3]
    assert [each["seq"] for each in busy["entries"]] == [0, 2, 3]
    assert whole["gaps"] == idle["gaps"] == [["idle-0", 5, 8, "gone"]]
    assert (idle["records"], idle["offsets"]) == (0, {"idle": {"0": [8, 8]}})
    for extra in (whole, idle, busy):
        assert (extra["seq"], extra["interval_ms"], extra["complete_until_ms"]) == (3, [100, 200], 200)
