"""Announcing: every entry, oldest first, at least once."""

import pytest

from kafka_s3.commit_log import Entry, Interval, Kind, ObjectEntry, RangeEntry
from kafka_s3.errors import LogDamaged
from kafka_s3.export.announce import describe, mark, pending
from kafka_s3.export.log import Committed, Log
from kafka_s3.memory import MemoryStore
from kafka_s3.naming import LogLayout


@pytest.fixture
def log() -> Log:
    return Log(MemoryStore(), LogLayout("_kafka_s3", "orders"))


def extend(log: Log, count: int = 1) -> list[Committed]:
    written: list[Committed] = []
    for _ in range(count):
        head = log.newest()
        entry = Entry(
            kind=Kind.CHECKPOINT,
            seq=0 if head is None else head.entry.seq + 1,
            connector="orders",
            previous_sha256=None if head is None else head.sha256,
            cluster_id="c",
            engine="0",
            configuration_sha256="",
            isolation_level="read_committed",
            run_id="r",
            try_number=1,
            topics={},
        )
        committed = log.put_entry(entry)
        assert isinstance(committed, Committed)
        written.append(committed)
    return written


def seqs(entries: list[Committed]) -> list[int]:
    return [committed.entry.seq for committed in entries]


def test_no_log(log: Log) -> None:
    """Without a log there is nothing to announce."""
    assert pending(log) == []


def test_every_entry_oldest_first(log: Log) -> None:
    """What was not marked is pending, in the order it was written; what was marked is not."""
    written = extend(log, 3)
    assert pending(log) == written
    mark(log, 0)
    assert seqs(pending(log)) == [1, 2]
    mark(log, 1)
    mark(log, 2)
    assert pending(log) == []
    extend(log)
    assert seqs(pending(log)) == [3]


def test_marked_twice(log: Log) -> None:
    """Two runs that announced the same entry do not disturb each other."""
    extend(log)
    mark(log, 0)
    mark(log, 0)
    assert pending(log) == []


def test_at_most_so_many(log: Log) -> None:
    """A long backlog is announced piece by piece, the oldest first."""
    extend(log, 5)
    assert seqs(pending(log, limit=2)) == [0, 1]
    mark(log, 0)
    mark(log, 1)
    assert seqs(pending(log, limit=2)) == [2, 3]


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
    assert pending(Log(counting, log.layout)) == []
    assert sorted(asked) == ["get", "list", "list"]


def test_a_gap_in_the_log(log: Log) -> None:
    """An entry that is gone is an error that names its key, not an announcement less."""
    extend(log, 3)
    store = MemoryStore()
    for info in log.store.list("_kafka_s3/"):
        if info.key != log.layout.log_key(1):
            store.put_if_absent(info.key, log.store.get(info.key) or b"")
    with pytest.raises(LogDamaged, match=log.layout.log_key(1)):
        pending(Log(store, log.layout))


def test_what_does_not_belong_there(log: Log) -> None:
    """A key beside the markers that is none is an error that names it."""
    extend(log)
    log.store.put_if_absent("_kafka_s3/orders/announced/0-note", b"")
    with pytest.raises(LogDamaged, match="0-note"):
        pending(log)


def done(partition: int, start: int, keys: int) -> RangeEntry:
    objects = tuple(
        ObjectEntry(
            key=f"topics/t/{partition}/{start + n}",
            size=7,
            sha256="",
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
    said = describe(Committed(entry, ""), "archive", keys_max=3)
    assert said == {
        "connector": "orders",
        "bucket": "archive",
        "seq": 0,
        "kind": "commit",
        "run_id": "r",
        "interval_ms": [10, 20],
        "records": 5,
        "bytes": 35,
        "rejected": 3,
        "objects": 5,
        "failed_ranges": 0,
        "offsets": {"t": {"0": [0, 6], "1": [0, 2]}},
        "keys": ["topics/t/1/0", "topics/t/0/0", "topics/t/0/1"],
        "keys_omitted": 2,
    }
