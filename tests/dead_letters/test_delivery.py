"""Dead letters reach their topic once they are committed: at least once, in order, and none but those."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable
from dataclasses import replace

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_s3.adapters.memory import MemoryBroker, MemoryDeadLetters, MemoryStore
from kafka_s3.bucket import dead_letter_objects as letter_objects
from kafka_s3.bucket.dead_letter_objects import read_letters
from kafka_s3.dead_letter import DeadLetter, encode
from kafka_s3.dead_letters.delivery import report
from kafka_s3.errors import KafkaUnavailable, LogDamaged, StoreUnavailable
from kafka_s3.export.exporter import Exporter
from kafka_s3.log.entries import Kind, ObjectEntry, Restart
from kafka_s3.log.store import Log
from kafka_s3.ranges import TopicPartition
from kafka_s3.settings.connect import DeadLetters
from tests.dead_letters.letters import ORDERS, commit, commit_letters, letter, put_letters, replace_range
from tests.support import hear, make_settings

OTHER = TopicPartition("orders", 1)


class DeliveringExport:
    """A log, a topic of dead letters, and what was told."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.sink = MemoryDeadLetters()
        self.told: list[str] = []
        connector = replace(make_settings(tolerate=True), dead_letters=DeadLetters("dead"))
        self.exporter = Exporter(connector, self.store, MemoryBroker())

    @property
    def log(self) -> Log:
        return self.exporter.log

    def report(self) -> int:
        return report(self.exporter, self.sink, hear(self.told))

    def markers(self) -> list[str]:
        return [key.rpartition("/")[2] for key in self.store.contents() if "/reported/" in key]


@pytest.fixture
def world() -> DeliveringExport:
    return DeliveringExport()


def test_no_log(world: DeliveringExport) -> None:
    """Without a log there is nothing to report, and nothing is written."""
    assert world.report() == 0
    assert world.store.contents() == {}


def test_every_letter_in_order(world: DeliveringExport) -> None:
    """Oldest commit first, then by partition and offset; then nothing, until there is another commit."""
    commit(world.log, kind=Kind.CHECKPOINT)
    letters = [letter(0), letter(2), letter(0, OTHER), letter(5), letter(6)]
    commit_letters(world.log, letters[2], *letters[:2])
    commit(world.log)
    commit_letters(world.log, *letters[3:])
    assert world.report() == 5
    assert world.sink.sent == letters
    assert world.told == ["commit 1: 3 dead letters sent to dead", "commit 3: 2 dead letters sent to dead"]
    assert world.report() == 0
    commit_letters(world.log, letter(9))
    assert world.report() == 1
    assert world.sink.sent[5:] == [letter(9)]


def test_what_was_not_committed_is_not_reported(world: DeliveringExport) -> None:
    """Objects that no commit lists, and those of entries that are no commits, stay where they are."""
    put_letters(world.log, [letter(0)])
    commit(world.log, put_letters(world.log, [letter(7)]), kind=Kind.VOID)
    assert world.report() == 0
    assert world.sink.sent == []


def test_a_quiet_run_asks_little(world: DeliveringExport) -> None:
    """With nothing new it takes three LISTs and no GET of letters; without letters one marker stands for all."""
    for _ in range(5):
        commit(world.log)
    assert world.report() == 0
    assert world.markers() == ["9999999999999999995.json"]
    world.store.requests.clear()
    assert world.report() == 0
    assert [request.operation for request in world.store.requests].count("ListObjectsV2") == 3
    assert "PutObject" not in {request.operation for request in world.store.requests}


@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_topic_that_fails(world: DeliveringExport, after: int) -> None:
    """What was not acknowledged is not marked: the next run sends that commit again, and none before it."""
    commit_letters(world.log, letter(0))
    commit_letters(world.log, letter(1), letter(2))
    world.sink.fail_next(KafkaUnavailable("down"), after=after, skip=1)
    with pytest.raises(KafkaUnavailable):
        world.report()
    assert [each.offset for each in world.sink.sent] == [0, 1, 2][: after + 1]
    assert world.markers() == ["9999999999999999999.json"]
    world.sink.sent.clear()
    assert world.report() == 2
    assert world.sink.sent == [letter(1), letter(2)]


def test_a_crash_before_the_marker(world: DeliveringExport) -> None:
    """A marker that could not be written is a commit that is sent again: at least once."""
    commit_letters(world.log, letter(0))
    world.store.fail_next("PutObject", StoreUnavailable("down"))
    with pytest.raises(StoreUnavailable):
        world.report()
    assert world.report() == 1
    assert world.sink.sent == [letter(0)] * 2


def test_two_runs_at_once(world: DeliveringExport) -> None:
    """A marker that is there already is fine, and a marker written first by another run is not undone."""
    commit_letters(world.log, letter(0))

    class Racing(MemoryDeadLetters):
        def send(self, letters: object) -> None:
            super().send(letters)  # type: ignore[arg-type]
            assert report(world.exporter, world.sink, lambda _: None) == 1

    assert report(world.exporter, Racing(), lambda _: None) == 1
    assert world.markers() == ["9999999999999999999.json"]
    assert world.report() == 0


def test_a_commit_that_was_withdrawn(world: DeliveringExport) -> None:
    """It refused what it refused: its letters are reported like any other's, before the rewind or after it."""
    commit_letters(world.log, letter(0))
    restart = Restart(topic="orders", partition=0, generation=1, position=0, withdrawn=True, reason="rewound")
    commit(world.log, kind=Kind.REWIND, restarts=(restart,))
    assert world.report() == 1
    assert world.sink.sent == [letter(0)]


def test_what_does_not_belong_beside_the_markers(world: DeliveringExport) -> None:
    """A key beside the markers that is none is an error that names it."""
    commit_letters(world.log, letter(0))
    world.store.put_if_absent(f"{world.log.layout.folder('reported')}0-note", b"")
    with pytest.raises(LogDamaged, match="0-note"):
        world.report()
    assert world.sink.sent == []


# Nothing from the bucket is believed.


def _tampered(body: bytes) -> bytes:
    line = gzip.decompress(body).replace(b'"value_base64":"e29vcHM="', b'"value_base64":"RVZJTA=="')
    return gzip.compress(line, mtime=0)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda body: body[:4] + b"\x01" + body[5:], "sha256"),
        (_tampered, "its log entry says"),
        (lambda body: body[:-1], "its log entry says"),
        (lambda body: body + b"\n", "more than"),
        (lambda _: b"", "0 bytes"),
    ],
)
def test_a_damaged_object(world: DeliveringExport, damage: Callable[[bytes], bytes], said: str) -> None:
    """Other bytes than the commit's: nothing is sent, the key is named, and so it is until they are restored."""
    commit_letters(world.log, letter(0), letter(1))
    [key] = [key for key in world.store.contents() if "/rejected/" in key]
    body = world.store.contents()[key]
    world.store.overwrite(key, damage(body))
    with pytest.raises(LogDamaged, match=rf"{key.replace('+', '.')}.*{said}"):
        world.report()
    assert (world.sink.sent, world.markers()) == ([], [])
    world.store.overwrite(key, body)
    assert world.report() == 2


def test_an_object_that_is_gone(world: DeliveringExport) -> None:
    """A deleted object is named, with what to do."""
    commit_letters(world.log, letter(0))
    [key] = [key for key in world.store.contents() if "/rejected/" in key]
    world.store.delete(key)
    with pytest.raises(LogDamaged, match="are gone.*Restore"):
        world.report()


def _with_object(log: Log, body: bytes, **what: object) -> None:
    """Commit a body as the letters 0 and 1 of orders-0, its size and hash as they are."""
    right = put_letters(log, [letter(0), letter(1)])
    assert right.dead_letters is not None
    assert isinstance(log.store, MemoryStore)
    log.store.overwrite(right.dead_letters.key, body)
    listed = {"size": len(body), "sha256": hashlib.sha256(body).hexdigest(), **what}
    made: ObjectEntry = msgspec.structs.replace(right.dead_letters, **listed)
    commit(log, replace_range(ORDERS, 0, 2, 2, made))


def _gzipped(*letters: DeadLetter) -> bytes:
    return gzip.compress(b"".join(encode(each) + b"\n" for each in letters))


RIGHT = _gzipped(letter(0), letter(1))


@pytest.mark.parametrize(
    ("body", "what", "said"),
    [
        (b"no gzip", {}, "not gzip"),
        (RIGHT[:-9], {}, "does not end"),
        (RIGHT + RIGHT, {}, "does not end"),
        (gzip.compress(b"no letter\n", mtime=0), {}, "not a dead letter"),
        (gzip.compress(encode(letter(0)), mtime=0), {}, "within a line"),
        (_gzipped(letter(0)), {}, "holds 1 dead letters, its log entry says 2"),
        (_gzipped(letter(1), letter(0)), {}, "offset 0"),
        (_gzipped(letter(0), letter(2)), {}, "offset 2"),
        (_gzipped(letter(0, OTHER), letter(1, OTHER)), {}, "orders-1 offset 0"),
        (RIGHT, {"key": "topics/orders/partition=0/orders+0+0000000000.json"}, "not the key of dead letters"),
        (RIGHT, {"key": "_kafka_s3/other/rejected/orders/partition=0/orders+0+0000000000.jsonl.gz"}, "not the key of"),
        (RIGHT, {"key": "_kafka_s3/orders/rejected/orders/partition=0/orders+1+0000000000.jsonl.gz"}, "not the key of"),
        (RIGHT, {"first_offset": 1}, "not the key of"),
        (RIGHT, {"last_offset": 2}, "outside of their range"),
    ],
)
def test_an_entry_that_lies(world: DeliveringExport, body: bytes, what: dict[str, object], said: str) -> None:
    """Even with the right hash an object is read as dead letters of its own range, or not at all; nothing is marked."""
    _with_object(world.log, body, **what)
    with pytest.raises(LogDamaged, match=said):
        world.report()
    assert world.markers() == []


def test_a_line_without_an_end(world: DeliveringExport, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few bytes that become a line without end are given up at a limit, not held."""
    monkeypatch.setattr(letter_objects, "LINE_BYTES_MAX", 3 * 1024 * 1024)
    bomb = gzip.compress(b" " * 500_000_000, compresslevel=1, mtime=0)
    _with_object(world.log, bomb)
    with pytest.raises(LogDamaged, match="unpacks to a dead letter of more than 3145728 bytes"):
        world.report()


@settings(max_examples=25, deadline=None)
@given(sizes=st.lists(st.integers(0, 3_000_000), min_size=1, max_size=4), spool=st.sampled_from([100, 10**8]))
def test_lines_of_any_length(sizes: list[int], spool: int) -> None:
    """Letters come back whole wherever the pieces they are read in end, in memory or past it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(letter_objects, "SPOOL_BYTES", spool)
        world = DeliveringExport()
        letters = [replace(letter(offset), value=bytes(size)) for offset, size in enumerate(sizes)]
        assert list(read_letters(world.log, put_letters(world.log, letters))) == letters
