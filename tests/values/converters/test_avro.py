"""Avro values of a schema registry into rows: what is taken, what is refused, and the forms of what is taken."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from kafka_s3.adapters.memory.registry import MemoryRegistry
from kafka_s3.avro.arrow import ColumnsError, arrow_type, from_values
from kafka_s3.avro.datums import codec
from kafka_s3.avro.model import Branch, Schema, schema_of
from kafka_s3.errors import RegistryUnavailable
from kafka_s3.ports import RegisteredSchema, Registries
from kafka_s3.records import Record
from kafka_s3.settings.registry import SubjectNames
from kafka_s3.shown import plain
from kafka_s3.values.converters import registry_head
from kafka_s3.values.converters.avro import AvroRows, AvroValues
from kafka_s3.values.converters.structs import ValueRows
from kafka_s3.values.rows import Missing, Stage, Tombstone, Unwritable
from tests.avro.strategies import avro_schemas, values_of
from tests.write.members import TOLERANT, settings_with, write

calm = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much], deadline=None)


def record(_name: str = "n.R", /, **fields: Any) -> Schema:
    listed = [{"name": field, "type": kind} for field, kind in fields.items()]
    return schema_of({"type": "record", "name": _name, "fields": listed})


ORDER = record("shop.Order", id="long", name="string", note=["null", "string"])
POINT = record("shop.Point", x="double")
PATH = {"partition.field.name": "a"}
VALUES = [{"id": row, "name": f"größe {row}", "note": None if row % 2 else "x" * row} for row in range(40)]


def _fields(schema: Schema) -> list[Any]:
    avro: Any = schema.avro
    return list(avro["fields"])


def head(id: int) -> bytes:
    return b"\0" + id.to_bytes(4, "big")


def encoded(schema: Schema, values: Sequence[Any], id: int = 1) -> list[bytes]:
    return [head(id) + datum for datum in codec(schema).encode(values)]


def registry(*schemas: Schema) -> MemoryRegistry:
    """Ids 1, 2, …"""
    return MemoryRegistry({id: RegisteredSchema(id, schema.text) for id, schema in enumerate(schemas, 1)})


def convert(values: Sequence[bytes | None], *schemas: Schema, **options: Any) -> AvroRows:
    return AvroValues(registry(*schemas), SubjectNames.TOPIC, "orders", key=False, **options)(values)


def test_a_batch_of_one_schema() -> None:
    """Datums are the bytes behind the head, values what was encoded, and the schema the registry's with its id."""
    rows = convert(encoded(ORDER, VALUES), ORDER)
    assert rows.excluded == {}
    assert rows.schemas == ORDER
    assert isinstance(rows.schemas, Schema)
    assert rows.schemas.id == 1
    assert list(rows.datums(ORDER)) == codec(ORDER).encode(VALUES)
    assert rows.values(ORDER) == VALUES
    assert rows.arrow(ORDER).to_pylist() == VALUES
    assert rows.column(("name",)) == [value["name"] for value in VALUES]
    assert list(rows.sizes()) == [len(datum) for datum in rows.datums(ORDER)]


NO_HEAD = "not Avro of a schema registry: "
REFUSED = [
    (b"", NO_HEAD + "0 bytes, where a zero byte and a schema's id take 5 (the value is empty)"),
    (b"\0\0\0\1", NO_HEAD + "4 bytes, where a zero byte and a schema's id take 5 (it is 00 00 00 01)"),
    (b'{"id": 1}', NO_HEAD + "the first byte is 7b, not 00 (it is 7b 22 69 64 22 3a 20 31 7d)"),
    (b"x" * 99, NO_HEAD + "the first byte is 78, not 00 (it begins with" + 16 * " 78" + ")"),
    (head(9) + b"\0", "the schema registry has no schema of the id 9 (it is 00 00 00 00 09 00)"),
    (head(2**32 - 1), "the schema registry has no schema of the id 4294967295 (it is 00 ff ff ff ff)"),
    (head(3) + b"\0", "the schema of the id 3 is of the type PROTOBUF, not AVRO (it is 00 00 00 00 03 00)"),
    (head(4), "the schema of the id 4 cannot be used: the schema is of type 'Gone', which is not defined"),
    (head(1) + b"\2\4a", "not a value of the schema of the id 1: ends within a string at byte 2: 2 bytes expected"),
]


@pytest.mark.parametrize("key", [False, True])
@pytest.mark.parametrize(("value", "reason"), REFUSED)
def test_what_is_no_value_is_refused_for_a_reason(value: bytes, reason: str, key: bool) -> None:
    """The reason names what was found; neighbours are taken, in a batch large or small."""
    known = MemoryRegistry(
        {
            1: RegisteredSchema(1, ORDER.text),
            3: RegisteredSchema(3, 'syntax = "proto3";', "PROTOBUF"),
            4: RegisteredSchema(4, '"Gone"'),
        }
    )
    converter = AvroValues(known, SubjectNames.TOPIC, "orders", key=key)
    good = encoded(ORDER, VALUES)
    for batch in ([good[0], value, good[1]], [*good, value, *good]):
        rows = converter(batch)
        place = batch.index(value)
        assert list(rows.excluded) == [place]
        refused = rows.excluded[place]
        assert isinstance(refused, Unwritable)
        assert plain(refused.reason, content=True).startswith(reason)
        assert refused.stage is (Stage.KEY_CONVERTER if key else Stage.VALUE_CONVERTER)
        kept = rows.pick([row for row in range(len(batch)) if row != place])
        assert kept.excluded == {}
        assert list(kept.datums(ORDER)) == [each[5:] for each in batch if each is not value]


def test_tombstones_are_no_values() -> None:
    """No value is a tombstone; a batch of nothing else has no schema."""
    rows = convert([None, *encoded(ORDER, VALUES), None], ORDER)
    assert rows.excluded == {0: Tombstone(), 41: Tombstone()}
    assert rows.part(1, 41).values(ORDER) == VALUES
    assert convert([None, None], ORDER).schemas is None
    assert convert([], ORDER).excluded == {}


OPTIONAL = schema_of(["null", ORDER.avro])
NULLABLE = [
    (OPTIONAL, b"\0", VALUES[0]),
    (schema_of([ORDER.avro, "null"]), b"\2", VALUES[0]),
    (schema_of([{"type": "null", "doc": "x"}, "long", "string"]), b"\0", Branch("string", "a")),
    (schema_of(["null", "int"]), b"\x80\0", 7),  # the number of the branch in more bytes than it needs
]


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize(("schema", "null", "value"), NULLABLE)
def test_a_value_that_is_just_null_is_a_tombstone(schema: Schema, null: bytes, value: Any, columns: bool) -> None:
    """Connect's AvroConverter makes the same null of it as of no value, in a batch large or small."""
    for around in ([value], [value] * 20):
        batch = [*encoded(schema, around), head(1) + null, *encoded(schema, around)]
        rows = convert(batch, schema, columns=columns)
        assert rows.excluded == {len(around): Tombstone()}
        kept = rows.pick([row for row in range(len(batch)) if row != len(around)])
        assert kept.values(schema) == around * 2
        assert kept.arrow(schema).equals(from_values(around * 2, schema))
    assert convert([head(1)] * 9, schema_of("null"), columns=columns).excluded == dict.fromkeys(range(9), Tombstone())


def test_rows_of_several_schemas() -> None:
    """Each row has its own schema until rows of one are picked; columns are of whatever each row has."""
    points = [{"x": float(number)} for number in range(40)]
    batch = [each for pair in zip(encoded(ORDER, VALUES), encoded(POINT, points, 2), strict=True) for each in pair]
    rows = convert([*batch, b"?"], ORDER, POINT)
    assert rows.schemas == [ORDER, POINT] * 40 + [None]
    assert set(rows.excluded) == {80}
    kept = rows.part(0, 80)
    assert list(kept.sizes()) == [len(value) - 5 for value in batch]
    orders, others = kept.pick(range(0, 80, 2)), kept.pick(range(1, 80, 2))
    assert (orders.schemas, others.schemas) == (ORDER, POINT)
    assert orders.values(ORDER) == VALUES
    assert others.arrow(POINT).to_pylist() == points
    column = kept.column(("x",))
    assert column[1::2] == [point["x"] for point in points]
    assert all(isinstance(value, Missing) for value in column[0::2])
    assert column[0] == "field x is missing; there are id (long), name (string), note (string)"


def test_two_ids_of_the_same_schema_are_one() -> None:
    """A schema registered under two ids, in no version that the subject knows, is one schema; each row has its id."""
    batch = [*encoded(ORDER, VALUES[:10]), *encoded(ORDER, VALUES[10:], 2)]
    batch[0], batch[15] = batch[15], batch[0]
    rows = convert(batch, ORDER, ORDER)
    schemas = rows.schemas
    assert isinstance(schemas, list)
    assert schemas == [ORDER] * 40
    assert [each.id for each in schemas] == [value[4] for value in batch]
    assert rows.part(0, 40).schemas == rows.pick(range(40)).schemas == ORDER
    assert list(rows.datums(ORDER)) == [value[5:] for value in batch]
    broken = convert([*batch[:12], head(2) + b"\1", *batch[12:]], ORDER, ORDER)
    [(place, refused)] = broken.excluded.items()
    assert place == 12
    assert isinstance(refused, Unwritable)
    assert "the schema of the id 2" in refused.reason
    assert broken.part(13, 41).values(ORDER) == codec(ORDER).decode([value[5:] for value in batch[12:]])


@pytest.mark.parametrize("envelope", [{}, {"export.envelope": "offset"}])
@pytest.mark.parametrize("cuts", [[], [1], [2], [1, 2, 3]])
def test_an_object_has_the_id_of_its_first_record(envelope: dict[str, str], cuts: list[int]) -> None:
    """Of two ids of one schema it is that of the first record that is written, however the range is cut."""
    one = record(a="int")
    avro = {"value.converter": "AvroConverter", "value.converter.schema.registry.url": "http://none:1"}
    settings = settings_with(avro, TOLERANT, envelope, {"partitioner.class": "FieldPartitioner"}, PATH)
    values = [head(1), head(2) + b"\2", head(1) + b"\2", head(1) + b"\4", head(2) + b"\4"]  # the first is refused
    given = [Record(offset, value, timestamp_ms=0) for offset, value in enumerate(values)]
    made = write(settings, given, cuts, registries=Registries(registry(one, one)))
    assert [(each.holds.first_offset, each.schema_id, each.holds.records) for each in made.written.objects] == [
        (1, 2, 2),
        (3, 1, 2),
    ]


def test_keys_need_not_be_records() -> None:
    """A text, a number, an optional number: rows like any other."""
    for avro, values in (("string", ["a", "ü"] * 20), ("long", [1, 2**40] * 20), (["null", "int"], [3, 7] * 20)):
        schema = schema_of(avro)
        rows = convert(encoded(schema, values), schema)
        assert rows.values(schema) == values
        assert rows.arrow(schema).to_pylist() == values
        assert all(isinstance(value, Missing) for value in rows.column(("x",)))


@pytest.mark.parametrize(
    ("names", "key", "schema", "subject"),
    [
        (SubjectNames.TOPIC, False, ORDER, "orders-value"),
        (SubjectNames.TOPIC, True, ORDER, "orders-key"),
        (SubjectNames.RECORD, False, ORDER, "shop.Order"),
        (SubjectNames.TOPIC_RECORD, True, ORDER, "orders-shop.Order"),
        (SubjectNames.RECORD, False, schema_of("string"), "string"),
        (SubjectNames.RECORD, False, schema_of({"type": "array", "items": "int", "connect.name": "x"}), "array"),
        (SubjectNames.TOPIC_RECORD, False, schema_of(["null", "int"]), "orders-union"),
    ],
)
def test_the_version_is_that_of_the_subject(names: SubjectNames, key: bool, schema: Schema, subject: str) -> None:
    """Which subject says the version is the strategy's; an id that the subject does not know has none."""
    known = MemoryRegistry()
    other = known.register("another", schema.text if schema is not ORDER else POINT.text)
    id = known.register(subject, '"boolean"')
    id = known.register(subject, schema.text)
    convert = AvroValues(known, names, "orders", key=key)
    found = convert._known[head(id)]
    assert isinstance(found, Schema)
    assert (found.text, found.id, found.version) == (schema.text, id, 2)
    assert f"versions {subject}" in known.requests
    if other != id:
        foreign = convert._known[head(other)]
        assert isinstance(foreign, Schema)
        assert foreign.version is None


def test_references_are_part_of_the_schema() -> None:
    """A schema that refers to another subject's is complete in the rows."""
    known = MemoryRegistry()
    known.register("points", POINT.text)
    text = json.dumps({"type": "record", "name": "Line", "fields": [{"name": "a", "type": "shop.Point"}]})
    id = known.register("orders-value", text, references=[("points", 1)])
    whole = record("Line", a=POINT.avro)
    rows = AvroValues(known, SubjectNames.TOPIC, "orders", key=False)(encoded(whole, [{"a": {"x": 1.0}}], id))
    assert isinstance(rows.schemas, Schema)
    assert rows.schemas.text == whole.text
    assert rows.schemas.version == 1


def test_a_registry_that_is_gone_ends_the_batch() -> None:
    """It is nobody's record that is to blame: the error goes on, and the next batch asks again."""
    known = registry(ORDER)
    known.fail_next(RegistryUnavailable("gone"))
    converter = AvroValues(known, SubjectNames.TOPIC, "orders", key=False)
    with pytest.raises(RegistryUnavailable):
        converter(encoded(ORDER, VALUES))
    assert converter(encoded(ORDER, VALUES)).values(ORDER) == VALUES


def test_each_schema_is_asked_for_once() -> None:
    """However many batches and rows there are."""
    known = registry(ORDER)
    converter = AvroValues(known, SubjectNames.TOPIC, "orders", key=False)
    for _ in range(3):
        converter([*encoded(ORDER, VALUES), head(9)])
    assert sorted(known.requests) == ["schema 1", "schema 9", "versions orders-value"]


def test_schemas_that_records_name_take_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many large schemas so many are kept as fit, and all are read, whatever came before them."""
    monkeypatch.setattr(registry_head, "_CHARS_MAX", 1_000)
    schemas = [record(f"n.R{number}", **{"x" * 200: "int"}) for number in range(20)]
    values = [head(number) + b"\2" for number in (*range(1, 21), 1, 20)]
    converter = AvroValues(registry(*schemas), SubjectNames.TOPIC, "orders", key=False)
    rows = converter(values)
    assert rows.excluded == {}
    assert isinstance(rows.schemas, list)
    assert rows.schemas == [*schemas, schemas[0], schemas[19]]
    assert 0 < sum(len(each.text) for each in converter._known.values() if isinstance(each, Schema)) <= 1_000


def test_another_schema_that_rows_fit_into() -> None:
    """Under a newer schema a field is added with its default, in every form."""
    newer = schema_of(
        {"type": "record", "name": "shop.Order", "fields": [*_fields(ORDER), {**_fields(POINT)[0], "default": 7.5}]}
    )
    rows = convert(encoded(ORDER, VALUES), ORDER)
    expected = [{**value, "x": 7.5} for value in VALUES]
    assert rows.values(newer) == expected
    assert rows.arrow(newer).to_pylist() == expected
    assert list(rows.datums(newer)) == codec(newer).encode(expected)


SMALL = record(a={"type": "int", "connect.type": "int8"}, d={"type": "bytes", "logicalType": "decimal", "precision": 2})


def test_what_columns_cannot_hold_is_refused() -> None:
    """Where rows go into Parquet, a number beyond its column, and a schema that has none, make a bad record."""
    values = [{"a": number, "d": b"\x07"} for number in range(90, 135)] + [{"a": 0, "d": b"\x7f\xff"}]
    batch = encoded(SMALL, values)
    assert convert(batch, SMALL).excluded == {}
    rows = convert(batch, SMALL, columns=True)
    assert sorted(rows.excluded) == [*range(38, 46)]
    refused = rows.excluded[38]
    assert isinstance(refused, Unwritable)
    assert refused.stage is Stage.TASK_PUT
    assert "128" in refused.reason
    assert rows.part(0, 38).arrow(SMALL).equals(from_values(values[:38], SMALL))
    chain = record("C", c=["null", "C"])
    assert set(convert(encoded(chain, [{"c": None}] * 9), chain, columns=True).excluded) == set(range(9))


@settings(calm, max_examples=50)
@given(st.data())
def test_rows_are_those_of_their_values(data: st.DataObject) -> None:
    """However a batch is mixed, parted and picked, each form is that of the same rows made of plain values."""
    schemas = [data.draw(avro_schemas(record=True, logical=True, recursive=True)) for _ in range(2)]
    assume(schemas[0] != schemas[1])
    values: list[Any] = []
    batch: list[bytes | None] = []
    chosen: list[int] = data.draw(st.lists(st.integers(-2, 1), min_size=1, max_size=24))
    for which in chosen:
        value = data.draw(values_of(schemas[which])) if which >= 0 else None
        values.append(value)
        batch.append(encoded(schemas[which], [value], which + 1)[0] if which >= 0 else None if which == -1 else b"\0")
    turns = data.draw(st.sampled_from([1, 10]))  # few rows are read one by one, many at once
    chosen, values, batch = chosen * turns, values * turns, batch * turns
    rows = convert(batch, *schemas)
    expected = ValueRows(values, [schemas[which] if which >= 0 else None for which in chosen], rows.excluded)
    assert set(rows.excluded) == {row for row, which in enumerate(chosen) if which < 0}
    names = {field["name"] for schema in schemas for field in _fields(schema)}
    kept = [row for row, which in enumerate(chosen) if which >= 0]
    for name in names:
        left, right = rows.column((name,)), expected.column((name,))
        assert repr([left[row] for row in kept]) == repr([right[row] for row in kept])
    for which, schema in enumerate(schemas):
        mine = [row for row in kept if chosen[row] == which]
        mine = [row for row in mine if data.draw(st.booleans())] if data.draw(st.booleans()) else mine
        if mine:
            plain = ValueRows([values[row] for row in mine], schema)
            _same_forms(rows.pick(mine), plain, schema, data.draw(st.integers(1, len(mine))))


def _same_forms(rows: AvroRows, expected: ValueRows, schema: Schema, cut: int) -> None:
    assert rows.excluded == {}
    assert rows.schemas == schema
    for left, right in ((rows, expected), (rows.part(0, cut), expected.part(0, cut))):
        assert list(left.datums(schema)) == list(right.datums(schema))
        assert repr(list(left.values(schema))) == repr(list(right.values(schema)))
        assert list(left.sizes()) == list(right.sizes())
        try:
            arrow_type(schema)
        except ColumnsError:
            continue
        assert left.arrow(schema).equals(right.arrow(schema))


@calm
@given(st.lists(st.binary(max_size=30) | st.binary(max_size=20).map(lambda more: head(1) + more), max_size=60))
def test_any_bytes_are_rows_or_refused(batch: list[bytes]) -> None:
    """Whatever bytes come: each is refused, or a value that is written back to what was read."""
    rows = convert(batch, ORDER)
    kept: Mapping[int, bytes] = {row: value for row, value in enumerate(batch) if row not in rows.excluded}
    if kept:
        picked = rows.pick(list(kept))
        assert list(picked.datums(ORDER)) == [value[5:] for value in kept.values()]
        again = codec(ORDER).encode(picked.values(ORDER))
        assert codec(ORDER).decode(again) == picked.values(ORDER)


def test_importing_the_converter_loads_no_library() -> None:
    """Whoever describes an export, and never reads a value, pays for neither Arrow nor numpy."""
    code = "import sys, kafka_s3.values.converters.avro; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert not {"pyarrow", "numpy", "fastavro"} & set(done.stdout.split())
