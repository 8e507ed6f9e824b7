"""Redriving: the wanted letters, once to each target, and a record of what went where."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_s3.adapters.memory import MemoryDeadLetters, MemoryStore
from kafka_s3.dead_letters.redrive import Redriven, Wanted, redrive
from kafka_s3.errors import KafkaUnavailable, LogDamaged, StoreUnavailable
from kafka_s3.log.entries import ObjectEntry
from kafka_s3.log.store import Log
from kafka_s3.naming import LogLayout
from kafka_s3.ranges import TopicPartition
from tests.dead_letters.letters import TIME_MS, commit, commit_letters, letter, put_letters, replace_range

OTHER = TopicPartition("clicks", 1)
NOW_MS = 1_800_000_000_000


class RedrivenExport:
    """A log and a sink."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.log = Log(self.store, LogLayout("_kafka_s3", "orders"))
        self.sink = MemoryDeadLetters()

    def redrive(self, *, to: str | None = None, again: bool = False, dry: bool = False, **wanted: Any) -> Redriven:
        sink = None if dry else self.sink
        return redrive(
            self.log,
            Wanted(**wanted),
            exports={"orders", "clicks"}.__contains__,
            to=to,
            again=again,
            sink=sink,
            at_ms=NOW_MS,
            tell=lambda _: None,
        )

    def sent(self) -> list[tuple[str, int]]:
        """Topic and offset of what was sent since the last call."""
        found = [(each.topic, each.offset) for each in self.sink.sent]
        self.sink.sent.clear()
        return found

    def records(self) -> dict[str, Any]:
        home = "_kafka_s3/orders/redriven/"
        found = self.store.contents()
        return {key.removeprefix(home): json.loads(found[key]) for key in found if key.startswith(home)}


@pytest.fixture
def world() -> RedrivenExport:
    made = RedrivenExport()
    commit(made.log)
    commit_letters(
        made.log, letter(0), letter(2), letter(3, error="No field 'Country'", stage="TASK_PUT"), letter(9, OTHER)
    )
    commit_letters(made.log, letter(12))
    return made


ALL = [("clicks", 9), ("orders", 0), ("orders", 2), ("orders", 3), ("orders", 12)]


def test_everything_once(world: RedrivenExport) -> None:
    """Without a filter every letter goes back to its own topic, oldest commit first; the second time none does."""
    assert world.redrive() == Redriven(5, 0, {"clicks": 1, "orders": 4})
    assert world.sent() == ALL
    assert world.redrive() == Redriven(5, 5, {})
    assert world.sent() == []


def test_the_record_of_it(world: RedrivenExport) -> None:
    """What was sent is written down: which letters of which object, to which topic, when, how many."""
    world.redrive(topic="orders", offsets=(2, 4))
    key = "_kafka_s3/orders/rejected/orders/partition=0/orders+0+0000000000.jsonl.gz"
    [(name, record)] = world.records().items()
    assert name == "orders/orders/partition=0/orders+0+0000000000.jsonl.gz/000000.json"
    assert len(record.pop("sha256")) == 64
    assert record == {
        "format_version": 1,
        "to": "orders",
        "object": key,
        "offsets": [[2, 3]],
        "letters": 2,
        "at_ms": NOW_MS,
    }


def test_each_target_has_its_own_record(world: RedrivenExport) -> None:
    """What went to one topic may still go to another; its own topic by name is its own topic."""
    world.redrive(topic="orders")
    assert world.redrive(topic="orders", to="fixed").sent == {"fixed": 4}
    assert world.redrive(to="orders").sent == {"orders": 1}
    world.sent()
    assert world.redrive(to="fixed") == Redriven(5, 4, {"fixed": 1})
    assert world.sent() == [("clicks", 9)]


def test_again(world: RedrivenExport) -> None:
    """--again sends what was sent before, and writes that down beside it."""
    world.redrive(topic="clicks")
    assert world.redrive(topic="clicks", again=True) == Redriven(1, 0, {"clicks": 1})
    assert world.sent() == [("clicks", 9)] * 2
    assert len(world.records()) == 2


def test_a_dry_run(world: RedrivenExport) -> None:
    """It counts what would be sent, sends nothing and writes nothing."""
    world.redrive(offsets=(0, 1))
    before = world.store.contents()
    world.sent()
    assert world.redrive(dry=True) == Redriven(5, 1, {"clicks": 1, "orders": 3})
    assert (world.sent(), world.store.contents()) == ([], before)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"topic": "clicks"}, [9]),
        ({"topic": "none"}, []),
        ({"partition": 0}, [0, 2, 3, 12]),
        ({"offsets": (2, 10)}, [9, 2, 3]),
        ({"offsets": (1, 2)}, []),
        ({"stage": "TASK_PUT"}, [3]),
        ({"error": "country"}, [3]),
        ({"since_ms": TIME_MS + 3 * 60_000}, [9, 3, 12]),
        ({"until_ms": TIME_MS + 3 * 60_000}, [0, 2]),
        ({"since_ms": TIME_MS + 60_000, "until_ms": TIME_MS + 3 * 60_000}, [2]),
        (
            {"topic": "orders", "partition": 0, "offsets": (0, 13), "error": "JSON", "stage": "VALUE_CONVERTER"},
            [0, 2, 12],
        ),
    ],
)
def test_filters(world: RedrivenExport, wanted: dict[str, Any], found: list[int]) -> None:
    """Each filter by itself, and all of them together: what is left has to meet every one."""
    assert world.redrive(**wanted).matched == len(found)
    assert [offset for _, offset in world.sent()] == found


def test_a_letter_without_a_timestamp(world: RedrivenExport) -> None:
    """It lies in no interval, and is found without one."""
    commit_letters(world.log, replace(letter(20), timestamp_ms=None))
    assert world.redrive(offsets=(20, 21), since_ms=0).matched == 0
    assert world.redrive(offsets=(20, 21)).matched == 1


def test_objects_that_cannot_matter_are_not_read(world: RedrivenExport) -> None:
    """A filter by topic, partition or offset reads the objects that may hold such letters, no others."""
    world.store.requests.clear()
    world.redrive(topic="clicks", dry=True)
    read = [key for operation, key in world.store.requests if operation == "GetObject" and "/rejected/" in key]
    assert read == ["_kafka_s3/orders/rejected/clicks/partition=1/clicks+1+0000000009.jsonl.gz"]


def test_a_topic_that_fails(world: RedrivenExport) -> None:
    """Letters that were not all acknowledged are not written down: the next time they are sent, possibly again."""
    world.sink.fail_next(KafkaUnavailable("down"), after=1)
    with pytest.raises(KafkaUnavailable):
        world.redrive(topic="orders")
    assert world.records() == {}
    assert world.redrive(topic="orders").sent == {"orders": 4}


def test_a_store_that_fails(world: RedrivenExport) -> None:
    """A record that cannot be written is an error, and those letters are sent again: at least once."""
    world.store.fail_next("PutObject", StoreUnavailable("down"))
    with pytest.raises(StoreUnavailable):
        world.redrive(topic="clicks")
    assert world.redrive(topic="clicks").sent == {"clicks": 1}


def test_two_at_once(world: RedrivenExport) -> None:
    """Two that send the same letters at the same moment both write down theirs; nothing is overwritten."""

    class Racing(MemoryDeadLetters):
        def send(self, letters: Any) -> None:
            super().send(letters)
            world.redrive(topic="clicks", error="JSON")

    wanted = Wanted(topic="clicks")
    racing, exports = Racing(), {"clicks"}.__contains__
    redrive(
        world.log, wanted, exports=exports, to=None, again=False, sink=racing, at_ms=NOW_MS + 1, tell=lambda _: None
    )
    assert [record["at_ms"] - NOW_MS for record in world.records().values()] == [0, 1]


@pytest.mark.parametrize("body", [b"", b"{}", b'{"to":1}', b"\xff", b"[" * 10_000])
def test_a_record_that_is_none(world: RedrivenExport, body: bytes) -> None:
    """A damaged record is named and nothing of its object is sent, except with --again."""
    world.redrive(topic="clicks")
    world.sent()
    [key] = [key for key in world.store.contents() if "/redriven/" in key]
    world.store.overwrite(key, body)
    with pytest.raises(LogDamaged, match="000000.json"):
        world.redrive(topic="clicks")
    assert world.sent() == []
    assert world.redrive(topic="clicks", again=True).sent == {"clicks": 1}


def test_a_record_of_something_else(world: RedrivenExport) -> None:
    """A record that was moved to another object's place does not count there."""
    world.redrive(topic="clicks")
    [(key, body)] = [(key, body) for key, body in world.store.contents().items() if "/redriven/" in key]
    world.store.put_if_absent(key.replace("/clicks/clicks/", "/fixed/clicks/"), body)
    with pytest.raises(LogDamaged, match="sent to clicks"):
        world.redrive(topic="clicks", to="fixed")


def test_a_key_of_something_else(world: RedrivenExport) -> None:
    """An entry that names other objects as dead letters is refused before anything is read or sent."""
    made: ObjectEntry = ObjectEntry(
        key="topics/orders/partition=0/orders+0+0000000030.json",
        size=1,
        sha256="00" * 32,
        records=1,
        first_offset=30,
        last_offset=30,
        closed_by="end_of_range",
    )
    commit(world.log, replace_range(TopicPartition("orders", 0), 30, 31, 1, made))
    with pytest.raises(LogDamaged, match="is not the key of dead letters"):
        world.redrive(offsets=(30, 31))


@settings(max_examples=50, deadline=None)
@given(
    offsets=st.sets(st.integers(0, 30), min_size=1),
    asked=st.lists(st.tuples(st.integers(0, 30), st.integers(1, 30)), max_size=6),
)
def test_however_it_is_cut(offsets: set[int], asked: list[tuple[int, int]]) -> None:
    """Whatever pieces are asked for, in whatever order, each letter goes once, and in the end all have gone."""
    world = RedrivenExport()
    commit(world.log, put_letters(world.log, [letter(offset) for offset in sorted(offsets)]))
    for start, size in asked:
        world.redrive(offsets=(start, start + size))
    world.redrive()
    assert sorted(world.sent()) == [("orders", offset) for offset in sorted(offsets)]
    written = [tuple(run) for record in world.records().values() for run in record["offsets"]]
    assert {offset for first, last in written for offset in offsets if first <= offset <= last} == offsets
    assert sum(record["letters"] for record in world.records().values()) == len(offsets)
