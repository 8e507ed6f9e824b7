"""Rows over Python values: other forms, parts, several schemas."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kafka_s3.avro.arrow import from_values
from kafka_s3.avro.compatibility import Keep, compare
from kafka_s3.avro.datums import codec
from kafka_s3.avro.model import Branch, Compatibility, Schema, schema_of
from kafka_s3.values.converters.structs import ValueRows
from kafka_s3.values.rows import Missing, Tombstone
from tests.avro.evolution import evolved
from tests.avro.strategies import avro_schemas, values_of


def record(*fields: tuple[str, Any], version: int = 1) -> Schema:
    made = [{"name": name, "type": kind} for name, kind in fields]
    return schema_of({"type": "record", "name": "n.R", "fields": made}, version=version)


ONE = record(("a", "int"))
TWO = record(("a", "long"), ("b", ["null", "string"]), version=2)


def test_rows_of_two_schemas_are_picked_apart() -> None:
    """Each row keeps its schema, and those of one schema take the forms of a target."""
    rows = ValueRows(
        [{"a": 1}, {"a": 2, "b": "x"}, None, {"a": 3}], [ONE, TWO, None, ONE], {2: Tombstone()}, [5, 6, 0, 7]
    )
    assert rows.sizes() == [5, 6, 0, 7]
    assert rows.part(0, 2).schemas == [ONE, TWO]
    ones = rows.pick([0, 3])
    assert ones.schemas == ONE
    assert ones.sizes() == [5, 7]
    assert ones.values(ONE) == [{"a": 1}, {"a": 3}]
    assert ones.values(TWO) == [{"a": 1, "b": None}, {"a": 3, "b": None}]
    assert ones.datums(TWO) == [b"\x02\x00", b"\x06\x00"]
    assert ones.arrow(TWO).equals(from_values(ones.values(TWO), TWO))


def test_sizes_are_those_of_datums() -> None:
    """Where nobody says how large a row is, its Avro form does; a row without a schema counts as its text."""
    rows = ValueRows([{"a": 1}, {"a": 2, "b": "xyz"}, {"k": 1}, None], [ONE, TWO, None, None], {3: Tombstone()})
    assert rows.sizes() == [1, 6, 8, 0]


def test_values_without_a_schema_are_as_they_came() -> None:
    """They are asked for without a target."""
    rows = ValueRows([{"a": 1}, [2]], None)
    assert rows.values(None) == [{"a": 1}, [2]]
    assert rows.part(1, 2).values(None) == [[2]]
    assert isinstance(rows.column(("a",))[0], Missing)


def test_columns_are_of_each_rows_schema() -> None:
    """A field that one version lacks is missing in its rows only; a branch's value comes without its name."""
    union = record(
        ("u", ["int", "string", {"type": "record", "name": "n.I", "fields": [{"name": "y", "type": "int"}]}])
    )
    rows = ValueRows(
        [{"a": 1}, {"a": 2, "b": "x"}, {"u": Branch("string", "t")}, {"u": Branch("n.I", {"y": 4})}],
        [ONE, TWO, union, union],
    )
    missing, there, *_ = rows.column(("b",))
    assert missing == "field b is missing; there are a (int)"
    assert isinstance(missing, Missing)
    assert there == "x"
    assert rows.column(("u",))[2:] == ["t", {"y": 4}]
    assert rows.column(("u", "y"))[2:] == ["field u.y: u is string, which has no fields", 4]


@given(st.data())
def test_every_form_says_the_same(data: st.DataObject) -> None:
    """Datums and columns of a target are those of its projected values."""
    source = data.draw(avro_schemas(record=True, logical=True, zero_size=False))
    target = data.draw(evolved(source))
    if compare(Schema(source.text, version=1), Schema(target.text, version=1), Compatibility.FULL) != Keep():
        target = source
    rows = ValueRows(data.draw(st.lists(values_of(source), min_size=1, max_size=3)), source)
    values = rows.values(target)
    assert codec(target).decode(rows.datums(target)) == list(values)
    if graph_has_columns(target):
        assert rows.arrow(target).equals(from_values(values, target))


def graph_has_columns(schema: Schema) -> bool:
    """Records that lost all their fields have none."""
    return '"fields":[]' not in schema.text
