"""Datums of one schema put together to those of another: the same bytes that the values would have."""

from __future__ import annotations

import gc
import json
import weakref
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from kafka_s3.adapters.memory.registry import MemoryRegistry
from kafka_s3.avro.batch_reader import columns_of
from kafka_s3.avro.datums import codec
from kafka_s3.avro.model import Schema, schema_of
from kafka_s3.avro.parse import SchemaError
from kafka_s3.avro.physical_schema import bare
from kafka_s3.avro.project import projector
from kafka_s3.avro.splice import Copied, splice
from kafka_s3.ports import RegisteredSchema
from kafka_s3.settings.registry import SubjectNames
from kafka_s3.values.converters.avro import AvroRows, AvroValues
from kafka_s3.values.rows import Tombstone
from tests.avro.evolution import evolved
from tests.avro.strategies import avro_schemas, values_of

calm = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much], deadline=None)


def record(*fields: dict[str, Any], name: str = "n.R") -> Schema:
    return schema_of({"type": "record", "name": name, "fields": list(fields)})


def field(name: str, type: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": type, **more}


A, B, C = field("a", "int"), field("b", "string"), field("c", {"type": "array", "items": "long"})
NOTE = field("note", ["null", "string"], default=None)

WITH = [
    pytest.param(record(A, B), record(A, B, NOTE), [Copied(0, 2), b"\0"], id="an optional field more"),
    pytest.param(record(A, B), record(NOTE, A, B), [b"\0", Copied(0, 2)], id="one in front"),
    pytest.param(record(A, B), record(A, field("x", "int", default=3), NOTE, B), None, id="two in between"),
    pytest.param(record(A, B, C), record(A, C), [Copied(0, 1), Copied(2, 3)], id="one less"),
    pytest.param(record(A, B), record(B, A), [Copied(1, 2), Copied(0, 1)], id="another order"),
    pytest.param(record(A, B), record(field("a", "long"), B), [Copied(0, 2)], id="a wider integer"),
    pytest.param(record(A, B), record(A, field("b", ["string", "null"])), [Copied(0, 1), b"\0", Copied(1, 2)], id="or"),
    pytest.param(record(A, B), record(A, field("d", "string", aliases=["b"])), [Copied(0, 2)], id="an alias"),
    pytest.param(record(A), record(field("x", "string", default="é")), [b"\4\xc3\xa9"], id="nothing stays"),
    pytest.param(record(A), record(), [], id="nothing at all"),
]
WITHOUT = [
    pytest.param(record(A), record(field("a", "double")), id="a number in another form"),
    pytest.param(record(field("a", ["null", "int"])), record(field("a", ["int", "null"])), id="branches the other way"),
    pytest.param(record(field("a", ["null", "int"])), record(field("a", "int", default=1)), id="a default for nulls"),
    pytest.param(
        record(field("a", json.loads(record(A, name="n.I").text))),
        record(field("a", json.loads(record(A, NOTE, name="n.I").text))),
        id="a field more inside",
    ),
    pytest.param(record(A), record(A, field("x", "string", default="x" * 5000)), id="a large default"),
    pytest.param(schema_of("int"), schema_of("long"), id="no record"),
    pytest.param(record(A), record(B), id="no way at all"),
]


@pytest.mark.parametrize(("source", "target", "pieces"), WITH)
def test_whole_fields_are_copied(source: Schema, target: Schema, pieces: list[Any] | None) -> None:
    """What stays is copied in one piece, what is new is a constant; the bytes are those of the projected values."""
    way = splice(source, target)
    assert way is not None
    assert pieces is None or way.pieces == pieces
    values = [{"a": row, "b": f"größe {row}", "c": list(range(row))} for row in range(20)]
    names = [each["name"] for each in json.loads(source.text)["fields"]]
    plain = [{name: value[name] for name in names} for value in values]
    datums = codec(source).encode(plain)
    expected = codec(target).encode(list(map(projector(source, target), plain)))
    assert list(map(way.one, datums)) == expected
    assert columns_of(source).scan(datums).spliced(way) == expected  # type: ignore[union-attr]


@pytest.mark.parametrize(("source", "target"), WITHOUT)
def test_what_needs_the_values_has_no_splice(source: Schema, target: Schema) -> None:
    """Numbers in another form, branches with other numbers, changes inside a field: those are not for bytes."""
    assert splice(source, target) is None


@calm
@given(st.data())
def test_spliced_datums_are_those_of_the_projected_values(data: st.DataObject) -> None:
    """Whatever two versions of a schema are like: where there is a splice, its bytes are the projected values'."""
    source = data.draw(avro_schemas(record=True, logical=True, recursive=True))
    target = data.draw(evolved(source, steps_max=2))
    way = splice(source, target)
    assume(way is not None)
    assert way is not None
    values = data.draw(st.lists(values_of(source), max_size=12))
    datums = codec(source).encode(values)
    expected = codec(target).encode(list(map(projector(source, target), values)))
    assert list(map(way.one, datums)) == expected
    if (columns := columns_of(source)) is not None:
        scan = columns.scan(datums)
        found = range(len(datums)) if scan.rows is None else scan.rows.tolist()
        assert scan.spliced(way) == [expected[row] for row in found]


def _rows(source: Schema, values: list[bytes | None]) -> AvroRows:
    registry = MemoryRegistry({1: RegisteredSchema(1, source.text)})
    return AvroValues(registry, SubjectNames.TOPIC, "orders", key=False)(values)


def test_rows_that_are_slow_or_refused_stand_where_they_stood() -> None:
    """Of a batch with a tombstone, a value that is none and an array too long for columns each form has its rows."""
    source, target = record(A, B, C), record(A, B, C, NOTE)
    plain = [{"a": row, "b": f"r{row}", "c": list(range(500 if row == 4 else row % 9))} for row in range(60)]
    values: list[bytes | None] = [b"\0\0\0\0\1" + datum for datum in codec(source).encode(plain)]
    values[2], values[7] = None, b"\0\0\0\0\1junk"
    rows = _rows(source, values)
    assert sorted(rows.excluded) == [2, 7]
    assert isinstance(rows.excluded[2], Tombstone)
    expected = [{**value, "note": None} for row, value in enumerate(plain) if row not in (2, 7)]
    picked = rows.pick([row for row in range(60) if row not in (2, 7)])
    assert picked.has_columns(target)
    assert picked.values(target) == expected
    assert list(picked.datums(target)) == codec(target).encode(expected)
    assert picked.arrow(target).to_pylist() == expected
    assert picked.part(3, 6).arrow(target).to_pylist() == expected[3:6]


@calm
@given(st.data())
def test_every_form_of_projected_rows_says_the_same(data: st.DataObject) -> None:
    """Values, datums and columns under another version, the last without logical types too, with a splice or not."""
    source = data.draw(avro_schemas(record=True, logical=True, zero_size=False, depth=2))
    target = data.draw(evolved(source, steps_max=2))
    values = data.draw(st.lists(values_of(source), min_size=8, max_size=12)) * 4
    try:
        project = projector(source, target)
    except SchemaError:
        return
    rows = _rows(source, [b"\0\0\0\0\1" + datum for datum in codec(source).encode(values)])
    expected = codec(target).encode(list(map(project, values)))
    assert list(rows.datums(target)) == expected
    if json.loads(target.text)["fields"] and rows.has_columns(target):
        plain = rows.arrow(bare(target)).to_pylist()
        assert plain == _rows(bare(target), [b"\0\0\0\0\1" + each for each in expected]).arrow(bare(target)).to_pylist()


def test_a_batch_is_freed_once_its_rows_are() -> None:
    """Nothing of it waits for Python to look for circles, which a task has it do seldom."""
    source, target = record(A, B), record(A, B, NOTE)
    values = codec(source).encode([{"a": row, "b": "x"} for row in range(60)])
    rows = _rows(source, [b"\0\0\0\0\1" + datum for datum in values])
    rows.datums(target)
    rows.arrow(target)
    rows.column(("a",))
    rows.values(target)
    group = weakref.ref(rows._groups[0])
    gc.disable()
    try:
        del rows
        assert group() is None
    finally:
        gc.enable()
