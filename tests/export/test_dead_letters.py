"""Dead letters from the record to the commit: what a person finds of every kind of bad record, and that it is there
exactly once, whatever becomes of the run.

Broker, registry and bucket are in memory; the reasons are asserted to the letter, since they are for people.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from kafka_s3.adapters.memory import MemoryBroker, MemoryRegistry
from kafka_s3.errors import RegistryUnavailable, StoreUnavailable
from kafka_s3.export.run import run
from kafka_s3.export.task import RangeTask
from kafka_s3.plan.results import RangeResult
from tests.export.bad_records import (
    AVRO,
    BADS,
    BY_FIELD,
    QUOTING,
    ROW_1,
    TEN,
    BadRecordExport,
    given_record,
    in_a_row,
    world_of,
)
from tests.support import hear, request
from tests.write.members import HEADERS, KEYS, PLAIN, TOLERANT, WRITE, settings_with


class Died(BaseException):
    """The driver is gone."""


@pytest.mark.parametrize("kind", BADS)
def test_every_kind(kind: str) -> None:
    """The record is in the dead letters byte for byte, with a reason; what surrounds it is exported, and verified."""
    bad = BADS[kind]
    world = BadRecordExport(settings_with(PLAIN, TOLERANT, TEN, bad.more))
    world.produce(*in_a_row(bad.good, bad.bad, bad.good))
    assert world.run().exit_status == 0
    [letter] = world.found()
    assert (letter.offset, letter.key, letter.value, letter.timestamp_ms, letter.headers) == (
        1,
        bad.bad.key,
        bad.bad.value,
        bad.bad.timestamp_ms,
        bad.bad.headers,
    )
    assert (letter.error, letter.stage) == (bad.reason, bad.stage)
    assert world.counts() == (2, 1, 0, 0)
    assert world.findings() == []
    assert world.report() == [(1, bad.reason)]


@pytest.mark.parametrize("kind", BADS)
def test_none_is_tolerated_unless_that_is_said(kind: str) -> None:
    """errors.tolerance=none: the range ends in front of the record, which the run names with the same reason."""
    bad = BADS[kind]
    world = BadRecordExport(settings_with(PLAIN, TEN, QUOTING, bad.more))
    world.produce(*in_a_row(bad.good, bad.bad, bad.good))
    ended = world.run()
    assert ended.exit_status == 65
    assert ended.problems() == [f"A bad record at topic orders partition 0 offset 1: {bad.reason}"]
    assert world.counts() == (1, 0, 0, 0)
    assert world.found() == []


# Exactly once.

GOOD, BROKEN = given_record(b'{"n":1}'), given_record(b"{oops")
NOT_JSON = "not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"


def test_a_range_of_nothing_but_bad_records() -> None:
    """It is committed without an object of data: the offsets are passed, the letters are there."""
    world = world_of()
    world.produce(*in_a_row(BROKEN, BROKEN, BROKEN))
    assert world.run().exit_status == 0
    assert world.counts() == (0, 3, 0, 0)
    assert [each.offset for each in world.found()] == [0, 1, 2]
    assert world.entries()[-1].ranges[0].objects == ()
    assert world.findings() == []


def test_offsets_are_accounted_for() -> None:
    """Records, bad ones, tombstones and holes of one range each have their own count."""
    world = world_of({"behavior.on.null.values": "ignore"})
    world.produce(*in_a_row(GOOD, BROKEN, given_record(None), GOOD))
    world.broker.append_holes("orders", 0, 2)
    world.produce(replace(BROKEN, offset=6))
    assert world.run().exit_status == 0
    assert world.counts() == (2, 2, 1, 2)
    assert [(each.offset, each.error) for each in world.found()] == [
        (1, NOT_JSON),
        (2, "the value is null"),
        (6, NOT_JSON),
    ]
    assert world.findings() == []


def test_ignored_tombstones_that_nobody_wants_to_hear_of() -> None:
    """report.null.values.to.dlq=false: counted, and in no dead letter."""
    world = world_of({"behavior.on.null.values": "ignore", "report.null.values.to.dlq": "false"})
    world.produce(*in_a_row(GOOD, given_record(None), BROKEN))
    assert world.run().exit_status == 0
    assert world.counts() == (1, 1, 1, 0)
    assert [each.offset for each in world.found()] == [2]


def test_a_run_that_dies_before_its_commit() -> None:
    """Its dead letters lie there, and count for nothing: the next run finds the same ones, and commits them once."""
    world = world_of()
    world.produce(*in_a_row(GOOD, BROKEN, GOOD))
    with pytest.raises(Died):
        run(world.exporter, request("dead"), lambda tasks: _die(world.execute(tasks)), hear(world.told))
    before = [key for key in world.store.contents() if "/rejected/" in key]
    assert len(before) == 1
    assert world.report() == []
    assert world.run().exit_status == 0
    assert [key for key in world.store.contents() if "/rejected/" in key] == before
    assert world.report() == [(1, NOT_JSON)]
    assert world.run().exit_status == 0
    assert world.report() == [(1, NOT_JSON)]


def _die(_: object) -> list[RangeResult]:
    raise Died


def test_a_run_that_is_fenced() -> None:
    """Two runs export the same plan: the letters are committed, and reported, once."""
    world = world_of()
    world.produce(*in_a_row(GOOD, BROKEN, GOOD))

    def slow(tasks: Sequence[RangeTask]) -> list[RangeResult]:
        made = world.execute(tasks)
        assert world.run().exit_status == 0
        return made

    run(world.exporter, request("slow"), slow, hear(world.told))
    assert [each.offset for each in world.found()] == [1]
    assert world.report() == [(1, NOT_JSON)]


@pytest.mark.parametrize("after_apply", [True, False])
@pytest.mark.parametrize("skip", range(5))
def test_whichever_put_fails(skip: int, after_apply: bool) -> None:
    """Objects, dead letters, entries, whether they were written or not: in the end there is one letter."""
    world = world_of()
    world.produce(*in_a_row(GOOD, BROKEN, GOOD))
    world.store.fail_next("PutObject", StoreUnavailable("out"), skip=skip, after_apply=after_apply)
    for _ in range(3):
        with contextlib.suppress(StoreUnavailable):
            world.run()
    assert [each.offset for each in world.found()] == [1]
    assert world.counts() == (2, 1, 0, 0)
    assert world.report() == [(1, NOT_JSON)]
    assert len([key for key in world.store.contents() if "/rejected/" in key]) == 1


@profile(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.sampled_from("gbt"), max_size=8), max_size=4), st.integers(1, 5), st.integers(1, 4))
def test_every_record_is_in_one_place(runs: list[list[str]], range_records: int, batch_records: int) -> None:
    """Whatever comes, however ranges are cut: each offset is in an object or in a dead letter, never in both."""
    more = {"behavior.on.null.values": "ignore", "export.range.records.max": str(range_records), "flush.size": "2"}
    world = world_of(more)
    world.broker = MemoryBroker(batch_records=batch_records)
    world.broker.create_topic("orders")
    kinds = {"g": GOOD, "b": BROKEN, "t": given_record(None)}
    offset, expected = 0, []
    for one in runs:
        for kind in one:
            value = b'{"n":%d}' % offset if kind == "g" else kinds[kind].value
            world.produce(replace(kinds[kind], offset=offset, value=value))
            expected += [offset] if kind != "g" else []
            offset += 1
        assert world.run().exit_status == 0
    assert [each.offset for each in world.found()] == expected
    lines = [body.splitlines() for key, body in world.store.contents().items() if key.startswith("topics/")]
    exported = sorted(json.loads(line)["n"] for each in lines for line in each)
    assert sorted([*exported, *expected]) == list(range(offset))
    assert world.findings() == []


# What else a user sees.


@pytest.mark.parametrize(("most", "stops"), [("0.5", True), ("0.67", False), ("1", False), ("0", True)])
def test_more_bad_records_than_are_tolerated(most: str, stops: bool) -> None:
    """export.errors.fraction.max: such a range is not committed, with a reason; a better converter then takes it."""
    world = world_of({"export.errors.fraction.max": most})
    world.produce(*in_a_row(BROKEN, GOOD, BROKEN))
    ended = world.run()
    if not stops:
        assert (ended.exit_status, world.counts()) == (0, (1, 2, 0, 0))
        return
    assert ended.exit_status == 65
    [problem] = ended.problems()
    assert problem == (
        f"orders-0 [0, 3): 2 of 3 records are bad, more than export.errors.fraction.max={most} lets pass."
        " Is the converter the right one? Nothing of the range is committed"
    )
    assert world.found() == []
    assert world.entries()[-1].ranges == ()
    world.settings = settings_with(TOLERANT, TEN, {"value.converter": "StringConverter"})
    assert world.run().exit_status == 0
    assert world.counts() == (3, 0, 0, 0)


def test_the_log_names_them() -> None:
    """errors.log.enable: the first twenty of a range, and how many more there are; nothing without it."""
    told = []
    for enabled in ("true", "false"):
        world = world_of({"errors.log.enable": enabled})
        world.produce(*in_a_row(*[BROKEN] * 22))
        assert world.run().exit_status == 0
        told.append([line for line in world.told if line.startswith("bad record: ")])
    assert told[1] == []
    assert told[0][0] == f"bad record: topic orders partition 0 offset 0: {NOT_JSON}"
    assert told[0][20:] == ["bad record: and 2 more in this range: see its dead letters"]


@pytest.mark.parametrize("tolerance", [TOLERANT, {}])
def test_a_reason_has_an_end(tolerance: Mapping[str, str]) -> None:
    """What quotes a record of a megabyte is cut, in dead letters, messages and the log's entries."""
    world = BadRecordExport(settings_with(PLAIN, TEN, BY_FIELD, tolerance, QUOTING, {"errors.log.enable": "true"}))
    world.produce(given_record(b'{"%b":1}' % (b"x" * 1_000_000)))
    ended = world.run()
    said = [*world.told, *ended.problems(), *(each.error for each in world.found())]
    assert any("field n is missing; there are xxxx" in each for each in said)
    assert max(map(len, said)) < 2200
    log = [len(body) for key, body in world.store.contents().items() if "/log/" in key]
    assert max(log) < 10_000


def test_a_registry_that_is_down_makes_no_record_bad() -> None:
    """The run is to be tried again, and nothing is among the dead letters."""
    world = world_of(AVRO)
    world.produce(*in_a_row(ROW_1, given_record(b"\x01")))
    real = world.registry

    class Down(MemoryRegistry):
        def again(self) -> MemoryRegistry:
            made = real.again()
            made.fail_next(RegistryUnavailable("The registry does not answer."))
            return made

    world.registry = Down()
    assert world.run().exit_status == 75
    assert world.found() == []
    world.registry = real
    assert world.run().exit_status == 0
    assert [each.offset for each in world.found()] == [1]
    assert world.counts() == (1, 1, 0, 0)


def test_tombstones_in_files_of_keys_are_verified() -> None:
    """An object without values is counted by what it is: keys in Avro have no lines."""
    world = world_of(WRITE, HEADERS)
    good = replace(GOOD, headers=(("h", b"1"),))
    world.produce(*in_a_row(good, *[replace(good, value=None)] * 7))
    assert world.run().exit_status == 0
    assert world.counts() == (8, 0, 0, 0)
    assert world.findings() == []


@pytest.mark.parametrize("array", ["true", "false"])
def test_companions_are_verified(array: str) -> None:
    """A change in a file of keys is found by its name."""
    world = world_of(KEYS, {"export.json.array": array})
    world.produce(*in_a_row(GOOD, GOOD))
    assert world.run().exit_status == 0
    assert world.findings() == []
    [key] = [key for key in world.store.contents() if ".keys." in key]
    world.store.overwrite(key, world.store.contents()[key][::-1])
    assert any(key in each for each in world.findings())
