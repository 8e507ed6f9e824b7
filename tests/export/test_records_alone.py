"""A record can only fail itself, a range only itself: whatever is raised over one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from kafka_s3.errors import EXIT_DATA, EXIT_UNEXPECTED
from kafka_s3.export.task import RangeTask, export_range
from kafka_s3.ports import RecordSource
from kafka_s3.records import Record, RecordBatch
from tests.export.bad_records import AVRO, TEN, BadRecordExport, avro, in_a_row
from tests.support import hear, make_settings
from tests.support import request as run_request
from tests.write.members import ENVELOPE, KEYS, PLAIN, rows_of, settings_with

HERE = f"{__name__}:"
TOLERANT = {"errors.tolerance": "all", "export.errors.fraction.attention": "1"}
CONVERTED = {"partitioner.class": f"{HERE}Touchy"}


class Touchy:
    """A partitioner that raises over some records, whatever lies beside them."""

    def __init__(self, properties: Mapping[str, str]) -> None: ...

    def encode(self, batch: RecordBatch) -> Sequence[str | None]:
        for value in batch.values():
            if value is not None and b"bad" in value:
                raise LookupError(value)
        return ["p"] * len(batch)


class Tab:
    """A format that raises over some records, after it has written others."""

    extension = ".tsv"

    def begin(self) -> bytes:
        return b""

    def encode(self, values: Sequence[bytes]) -> bytes:
        made = b""
        for value in values:
            if b"bad" in value:
                raise LookupError(value)
            made += value + b"\n"
        return made

    def end(self) -> bytes:
        return b""


def world_with(*more: Mapping[str, str]) -> BadRecordExport:
    return BadRecordExport(settings_with(PLAIN, TEN, *more))


def values_of(world: BadRecordExport) -> list[Any]:
    """Every record that a committed object holds, in the order of offsets."""
    made = [each for entry in world.entries() for done in entry.ranges for each in done.objects]
    made.sort(key=lambda each: each.first_offset)
    return [row for each in made for row in rows_of(each.key, world.store.contents()[each.key])]


def given(*values: bytes) -> list[Record]:
    return in_a_row(*(Record(0, value, b"k") for value in values))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (CONVERTED, f"{HERE}Touchy.encode on orders-0 from offset 2 raised LookupError"),
        ({"format.class": f"{HERE}Tab"}, f"{HERE}Tab.encode raised LookupError"),
    ],
    ids=["partitioner", "format"],
)
def test_who_raises_is_a_bad_record(more: Mapping[str, str], said: str) -> None:
    """The record is in the dead letters with the reason; its neighbours are exported once, and so after a retry."""
    world = world_with(TOLERANT, more)
    world.produce(*given(b"0", b"1", b'"bad"', b"3", b'"bad"'))
    assert world.run().exit_status == 0
    assert [(each.offset, said[:20] in each.error) for each in world.found()] == [(2, True), (4, True)]
    assert said in world.found()[0].error
    assert "bad" not in world.found()[0].error
    assert [int(each) for each in values_of(world)] == [0, 1, 3]
    assert world.counts() == (3, 2, 0, 0)


@pytest.mark.parametrize("more", [CONVERTED, {"format.class": f"{HERE}Tab"}], ids=["partitioner", "format"])
def test_a_range_ends_in_front_of_who_raises(more: Mapping[str, str]) -> None:
    """Under errors.tolerance=none, as in front of any bad record; what precedes it is committed, and nothing twice."""
    world = world_with(more, {"flush.size": "1"})
    world.produce(*given(b"0", b"1", b'"bad"', b"3"))
    ended = world.run()
    assert ended.exit_status == EXIT_DATA
    [problem] = ended.problems()
    assert problem.startswith("A bad record at topic orders partition 0 offset 2: ")
    assert [int(each) for each in values_of(world)] == [0, 1]
    keys = [key for key in world.store.contents() if key.startswith("topics/")]
    assert len(keys) == 2


def test_a_converters_own_bug_is_one_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """An assertion, a KeyError or too deep a recursion within a converter: that record is bad, the others are not."""
    from kafka_s3.values.converters import text

    real = text.JsonLines.__call__

    def broken(self: text.JsonLines, values: Sequence[bytes | None]) -> Any:
        for value in values:
            assert value != b'"assert"', "4111"
            if value == b'"key"':
                raise KeyError("4111")
            if value == b'"deep"':
                raise RecursionError("4111")
        return real(self, values)

    monkeypatch.setattr(text.JsonLines, "__call__", broken)
    world = world_with(TOLERANT)
    world.produce(*given(b"0", b'"assert"', b"2", b'"key"', b'"deep"', b"5"))
    assert world.run().exit_status == 0
    errors = [each.error for each in world.found()]
    assert [each.offset for each in world.found()] == [1, 3, 4]
    assert [each.partition(" (")[0] for each in errors] == [
        f"the value's converter raised {name}" for name in ("AssertionError", "KeyError", "RecursionError")
    ]
    assert all("4111" not in each for each in errors)
    assert values_of(world) == [0, 2, 5]


class Failing(RecordSource):
    """A source that raises when a partition is read."""

    def __init__(self, real: RecordSource, partition: int, error: BaseException) -> None:
        self._real, self._partition, self._error = real, partition, error

    def open(self, offsets: Any) -> Any:
        if offsets.tp.partition == self._partition:
            raise self._error
        return self._real.open(offsets)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (RuntimeError("4111"), "orders-1 [0, 2): RuntimeError (text of 4 characters): a fault of the exporter"),
        (MemoryError(), "orders-1 [0, 2): no memory was left."),
    ],
    ids=["bug", "memory"],
)
def test_what_nobody_expected_is_one_ranges(error: Exception, said: str) -> None:
    """It is named with status 1 and its trace is told once, without its text; the other range is committed."""
    from kafka_s3.adapters.memory import MemoryBroker, MemoryStore
    from kafka_s3.export.exporter import Exporter
    from kafka_s3.export.run import run
    from tests.support import identified

    broker, store, settings, told = MemoryBroker(), MemoryStore(), make_settings(), list[str]()
    broker.create_topic("orders", 2)
    for partition in (0, 1):
        broker.append("orders", partition, identified(partition, 0), identified(partition, 1))

    def execute(tasks: Sequence[RangeTask]) -> list[Any]:
        return [export_range(settings, task, store, Failing(broker, 1, error)) for task in tasks]

    ended = run(Exporter(settings, store, broker), run_request(), execute, hear(told))
    assert ended.exit_status == EXIT_UNEXPECTED
    [problem] = ended.problems()
    assert problem.startswith(said)
    assert ended.committed[-1].entry.ranges[0].records == 2
    traces = [each for each in told if f"{type(error).__name__} at" in each]
    assert len(traces) == 1
    assert "test_records_alone.py" in traces[0]
    assert not [each for each in [*told, problem] if "4111" in each]


@pytest.mark.parametrize("order", [KeyboardInterrupt(), SystemExit(3)], ids=["interrupt", "exit"])
def test_an_order_to_stop_is_no_failure(order: BaseException) -> None:
    """It leaves the range, and is not a record's reason."""
    world = world_with()
    world.produce(*given(b"0"))

    def execute(tasks: Sequence[RangeTask]) -> list[Any]:
        return [export_range(world.settings, task, world.store, Failing(world.broker, 0, order)) for task in tasks]

    from kafka_s3.export.run import run

    with pytest.raises(type(order)):
        run(world.exporter, run_request(), execute, lambda _: None)


SPELLED = [
    b'{"schema":{"type":"struct","fields":[{"field":"n","type":"int32"}]},"payload":{"n":%d}}',
    b'{"schema":{"type":"struct","fields":[{"field":"n","type":"int32" }]},"payload":{"n":%d}}',
    b'{"schema":{"fields":[{"type":"int32","doc":null,"field":"n"}],"type":"struct"},"payload":{"n":%d}}',
]
PARAMETERS = (
    b'{"schema":{"type":"struct","version":1,"fields":[{"field":"n","type":"int32","parameters":%b}]},'
    b'"payload":{"n":%d}}'
)


@pytest.mark.parametrize("format", ["JsonFormat", "AvroFormat", "ParquetFormat"])
@pytest.mark.parametrize("compatibility", ["NONE", "BACKWARD", "FORWARD", "FULL"])
def test_schemas_that_mean_the_same_are_one(format: str, compatibility: str) -> None:
    """However an envelope's schema is spelled, its records go into one object, in every format."""
    version = b'"version":1,' if compatibility != "NONE" else b""
    values = [SPELLED[n % 3].replace(b'"fields"', version + b'"fields"', 1) % n for n in range(9)]
    for n, parameters in enumerate([b'{"a":"1","b":"2"}', b'{"b":"2","a":"1"}'] * 2):
        values.append(PARAMETERS % (parameters, n))
    more = {"format.class": format, "schema.compatibility": compatibility, "flush.size": "100"}
    world = BadRecordExport(settings_with(ENVELOPE, more))
    world.produce(*given(*values))
    assert world.run().exit_status == 0
    [done] = world.entries()[-1].ranges
    assert [each.records for each in done.objects] == [9, 4]
    assert sorted(each["n"] for each in values_of(world)) == sorted([*range(9), *range(4)])
    assert world.findings() == []


@pytest.mark.parametrize("format", ["JsonFormat", "AvroFormat", "ParquetFormat"])
def test_ids_whose_schemas_mean_the_same_are_one(format: str) -> None:
    """Two ids of a registry, the same record in other words: one object, that says the id of its first record."""
    world = BadRecordExport(settings_with(AVRO, TEN, {"format.class": format}))
    words = {"fields": [{"type": {"type": "int"}, "name": "n", "doc": None}], "name": "Row", "type": "record"}
    other = world.registry.register("other", json.dumps(words, indent=2))
    world.produce(*given(*(avro(1 if n % 2 else other, bytes([2 * n])) for n in range(6))))
    assert world.run().exit_status == 0
    versions = {each.schema_id for each in world.entries()[-1].ranges[0].objects}
    assert sorted(each["n"] for each in values_of(world)) == list(range(6))
    assert versions <= {1, other}


DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
LONG = {"type": "record", "name": "Long", "fields": [{"name": "d", "type": DECIMAL}]}


def test_a_decimal_of_a_megabyte_is_one_bad_record() -> None:
    """As a JSON number it would take the square of its length: that refuses it, and its neighbours are written."""
    from kafka_s3.avro.datum_writer import long_bytes

    world = BadRecordExport(settings_with(AVRO, TEN, TOLERANT, {"json.decimal.format": "NUMERIC"}))
    id = world.registry.register("long", json.dumps(LONG))
    values = [avro(id, long_bytes(size) + b"\x55" * size) for size in (1, 1_000_000, 2)]
    world.produce(*given(*values))
    assert world.run().exit_status == 0
    [letter] = world.found()
    assert (letter.offset, letter.error) == (
        1,
        "a decimal of 1000000 bytes has more than the 1000 digits that a number may have",
    )
    assert [each["d"] for each in values_of(world)] == [0.85, 218.45]


ODD = [10**19, "abc", None, [], {}, 1.5, True, -(10**19)]
WORDS = ["scale", "precision", "connect.type", "connect.version", "connect.parameters", "connect.name", "logicalType"]


@pytest.mark.parametrize("format", ["JsonFormat", "AvroFormat", "ParquetFormat"])
@pytest.mark.parametrize("word", WORDS)
def test_no_attribute_of_a_schema_raises(word: str, format: str) -> None:
    """Of any type and size: it means nothing, or the schema is refused when it is parsed, and the reason says so."""
    world = BadRecordExport(
        settings_with(AVRO, TEN, TOLERANT, {"format.class": format, "json.decimal.format": "NUMERIC"})
    )
    values = []
    for kind in ("bytes", "int"):
        for number, odd in enumerate(ODD):
            type = {"type": kind, "logicalType": "decimal", "precision": 4, "scale": 2, word: odd}
            schema = {"type": "record", "name": f"R{number}{kind}", "fields": [{"name": "f", "type": type}]}
            id = world.registry.register(f"s{number}{kind}", json.dumps(schema))
            values.append(avro(id, b"\2\1" if kind == "bytes" else b"\2"))
    world.produce(*given(*values))
    assert world.run().exit_status == 0
    assert all("cannot be used: R" in each.error for each in world.found())
    assert all(word in each.error for each in world.found())
    done = world.counts()
    assert done[0] + done[1] == len(values)
    if word in ("scale", "connect.type"):
        assert done[1] >= 6


def test_keys_are_written_with_what_raises_beside() -> None:
    """The families of keys and values hold the same records, without the bad one."""
    world = world_with(TOLERANT, KEYS, CONVERTED)
    world.produce(*given(b"0", b'"bad"', b"2"))
    assert world.run().exit_status == 0
    [made] = world.entries()[-1].ranges[0].objects
    beside = [each.key for each in made.companions]
    assert [len(rows_of(key, world.store.contents()[key])) for key in (made.key, *beside)] == [2, 2]
