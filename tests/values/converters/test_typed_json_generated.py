"""JSON read by a schema, generated: the fast way and the slow one agree, and nothing crashes them."""

from __future__ import annotations

import base64
import json
from decimal import Decimal
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from kafka_s3.avro.arrow import ColumnsError, arrow_type, from_values
from kafka_s3.avro.datums import codec
from kafka_s3.avro.graph import graph
from kafka_s3.avro.model import Branch
from kafka_s3.avro.nodes import Node
from kafka_s3.values.converters import typed
from kafka_s3.values.converters.typed import TypedJson
from kafka_s3.values.rows import Tombstone, Unwritable
from tests.avro.evolution import is_valid, same
from tests.avro.strategies import avro_schemas, values_of
from tests.values.converters.test_typed_json import ENUM, of, read


def to_json(value: Any, node: Node) -> Any:
    """A plain value as the JSON that is read as it again."""
    match node.kind:
        case "union":
            if value is None:
                return None
            if isinstance(value, Branch):
                branch = node.branch(value.name)
                assert branch is not None
                return to_json(value.value, branch)
            return to_json(value, node.required)
        case "bytes" | "fixed" if node.logical:
            return float(Decimal(int.from_bytes(value, "big", signed=True)).scaleb(-node.logical.scale))
        case "bytes" | "fixed":
            return base64.b64encode(value).decode()
        case "array":
            return [to_json(each, node.item) for each in value]
        case "map":
            return {key: to_json(each, node.item) for key, each in value.items()}
        case "record":
            return {each.name: to_json(value[each.name], each.node) for each in node.fields}
    return value


def mangled(data: st.DataObject, parsed: Any) -> Any:
    """Somewhere in a value, something else."""
    other = st.sampled_from([None, 1, 1.5, "a", [], {}, True, 2**40, 2**70, "1970-01-01", "AQI=", 1e300])
    if isinstance(parsed, dict) and parsed and data.draw(st.integers(0, 3)):
        key = data.draw(st.sampled_from(sorted(parsed)))
        if not data.draw(st.integers(0, 4)):
            return {name: each for name, each in parsed.items() if name != key}
        return {**parsed, key: mangled(data, parsed[key])}
    if isinstance(parsed, list) and parsed and data.draw(st.integers(0, 3)):
        return [mangled(data, parsed[0]), *parsed[1:]]
    return data.draw(other)


def slowly(convert: TypedJson, text: bytes) -> Any:
    """What a value is without anything that makes it fast."""
    try:
        parsed = typed.parse(text)
        return Tombstone() if parsed is None else convert._reader.read(parsed)
    except typed.NotTyped as error:
        return Unwritable(str(error))


@given(st.data())
def test_the_fast_way_is_the_slow_one(data: st.DataObject) -> None:
    """Whatever the schema and the values, right or wrong: a batch reads as each value does by itself, slowly; and
    columns made of attributes are those made of values."""
    schema = data.draw(avro_schemas(logical=True, recursive=True))
    node = graph(schema)
    values = data.draw(st.lists(values_of(schema), min_size=1, max_size=3))
    parsed = [to_json(value, node) for value in values]
    if data.draw(st.booleans()):
        parsed[0] = mangled(data, parsed[0])
    batch = [json.dumps(each).encode() for each in parsed]
    convert = TypedJson(schema)
    rows = convert(batch)
    slow = [slowly(convert, text) for text in batch]
    for index, expected in enumerate(slow):
        found = rows.excluded.get(index)
        assert found == (expected if isinstance(expected, Tombstone | Unwritable) else None)
    kept = [index for index in range(len(batch)) if index not in rows.excluded]
    picked = rows.pick(kept)
    made = picked.values(schema)
    assert same(list(made), [slow[index] for index in kept])
    assert all(is_valid(each, schema) for each in made)
    assert list(picked.datums(schema)) == codec(schema).encode(made)
    try:
        kind = arrow_type(schema)
    except ColumnsError:
        return
    array = picked.arrow(schema)
    array.validate(full=True)
    assert array.type == kind
    assert array.equals(from_values(made, schema))


@given(st.binary(max_size=60))
@example(b'{"x":-0}')
@example(b'{"x":\xed\xa0\x80}')
@example(b'{"x":"\xed\xa0\x80"}')
@example(b'{"x":"a\xff"}')
def test_no_bytes_crash_it(value: bytes) -> None:
    """Any bytes are a row, a tombstone, or a record that says what is wrong."""
    for kind, good in (("double", b'{"x": 1}'), ("string", b'{"x": "a"}'), (["null", ENUM], b'{"x": "RED"}')):
        rows = read(of(kind), value, good)
        assert 1 not in rows.excluded
        assert isinstance(rows.excluded.get(0), Tombstone | Unwritable | None)
