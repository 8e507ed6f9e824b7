"""Schemas inferred from samples of JSON: what becomes of which values, and that nothing is lost or changed."""

from __future__ import annotations

import io
import json
from decimal import Decimal
from typing import Any

import fastavro
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafka_s3.avro.graph import graph
from kafka_s3.avro.model import Schema
from kafka_s3.avro.nodes import Array, Node, Record
from kafka_s3.avro.parse import SchemaError
from kafka_s3.values.converters.inference import (
    FIELDS_MAX,
    NAMES_MAX,
    NESTING_MAX,
    REST,
    TEXT_MAX,
    Sample,
    check_inferred,
    is_json_text,
    widened,
)
from kafka_s3.values.converters.inferred import REST_MAX, InferredJson, json_text
from kafka_s3.values.converters.typed_values import Real, parse
from kafka_s3.values.rows import Tombstone, Unwritable


def sampled(*values: bytes) -> Sample:
    sample = Sample()
    for value in values:
        sample.add(value)
    return sample


def infer(*values: bytes, before: str | None = None, promote: bool = True, rest: bool = True) -> str:
    return widened(before, sampled(*values), longs_become_doubles=promote, rest=rest)


def types_in(text: str) -> dict[str, Any]:
    return {each["name"]: each["type"][1] for each in json.loads(text)["fields"] if each["name"] != REST}


def rows_under(text: str, *values: bytes | None) -> list[dict[str, Any] | None]:
    schema = Schema(text, version=1)
    return list(InferredJson(schema)(values).values(schema))


JSON_TEXT = {"type": "string", "logicalType": "json"}


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([b"true", b"null"], "boolean"),
        ([b"1", b"-9223372036854775808"], "long"),
        ([b"1", b"1.5"], "double"),
        ([b"1e400"], JSON_TEXT),
        ([b"9007199254740993"], "long"),
        ([b"9007199254740993", b"0.5"], JSON_TEXT),
        ([b"9223372036854775808"], JSON_TEXT),
        ([b"0.1", b"1.50"], "double"),
        ([b"0.12345678901234567890"], JSON_TEXT),
        ([b'"x"', b'"2024-01-01"'], "string"),
        ([b'"x"', b"1"], JSON_TEXT),
        ([b"[1, 2]", b"[null, 2.5]", b"[]"], {"type": "array", "items": ["null", "double"]}),
        ([b"[1]", b"{}"], JSON_TEXT),
        ([b'{"$oid": "1"}'], JSON_TEXT),
        ([b"[" * NESTING_MAX + b"1" + b"]" * NESTING_MAX], None),
    ],
)
def test_types_of_samples(values: list[bytes], kind: Any) -> None:
    """Each row of the table of `inference`, and its borders."""
    found = types_in(infer(*(b'{"x": %s}' % each for each in values)))["x"]
    if kind is None:
        for _ in range(NESTING_MAX - 1):
            found = found["items"][1]
        kind = JSON_TEXT
    assert found == kind


def test_fields_without_a_type_wait() -> None:
    """Nulls and what is empty say nothing of what will be there."""
    assert types_in(infer(b'{"a": null, "b": [], "c": {}, "d": [null, []], "e": [{}], "f": {"g": null}}')) == {}


def test_names_that_are_no_columns() -> None:
    """Names that Avro has none of, twins but for case, the rest's own name, and what is too long go to the rest."""
    text = infer(b'{"a-b": 1, "id": 2, "ID": 3, "_rest": 4, "%s": 5, "\xc3\xa9": 6}' % (b"n" * 257))
    assert types_in(text) == {"id": "long", "é": "long"}
    (row,) = rows_under(text, b'{"a-b": 1, "id": 2, "ID": 3, "_rest": 4, "a/b~c": null}')
    assert row == {"id": 2, "é": None, REST: {"/a-b": "1", "/ID": "3", "/_rest": "4"}}


def test_objects_of_many_names_are_text() -> None:
    """An inner object whose names are keys becomes one column; a value of so many fields has a limit of its own."""
    inner = {f"k{number}": number for number in range(NAMES_MAX + 1)}
    text = infer(json.dumps({"m": inner, **{f"f{number}": 1 for number in range(FIELDS_MAX)}}).encode())
    kinds = types_in(text)
    assert kinds["m"] == JSON_TEXT
    assert len(kinds) == FIELDS_MAX


def test_a_schema_has_a_size() -> None:
    """Long names end where a document of the log would be too large; what has no place is in the rest."""
    value = json.dumps({f"{'n' * 250}{number}": number for number in range(FIELDS_MAX)}).encode()
    text = infer(value)
    assert TEXT_MAX // 2 < len(text) <= TEXT_MAX
    check_inferred(text)
    (row,) = rows_under(text, value)
    assert row is not None
    assert len(types_in(text)) + len(row[REST]) == FIELDS_MAX


def test_what_widens_and_what_does_not() -> None:
    """Fields come behind those that are there, longs become doubles, and nothing else changes."""
    before = infer(b'{"n": 1, "s": "x", "o": {"a": 1}, "l": [1]}')
    after = infer(b'{"new": true, "n": 1.5, "s": 1, "o": {"b": 1}, "l": [0.5]}', before=before)
    assert list(types_in(after)) == ["n", "s", "o", "l", "new"]
    kinds = types_in(after)
    assert (kinds["n"], kinds["s"], kinds["l"]["items"][1]) == ("double", "string", "double")
    assert [each["name"] for each in kinds["o"]["fields"]] == ["a", "b"]
    assert types_in(infer(b'{"n": 1.5}', before=before, promote=False))["n"] == "long"
    assert types_in(infer(b'{"n": 1.5}', b'{"n": 9007199254740993}', before=before))["n"] == "long"


def test_the_rest_comes_and_goes() -> None:
    """The column is there as the configuration has it, always last."""
    before = infer(b'{"a": 1}')
    assert json.loads(before)["fields"][-1]["name"] == REST
    without = infer(before=before, rest=False)
    assert REST not in without
    assert infer(before=without) == before


def test_a_value_that_does_not_fit_is_kept() -> None:
    """Pointers to JSON text: unknown fields, other types, numbers that a double would change, values of no fields."""
    text = infer(b'{"d": 0.5, "n": 1, "s": "x", "o": {"l": [1]}}')
    kept = rows_under(
        text,
        b'{"d": 0.1000000000000000055, "n": 1.0, "s": 5, "new": {"a": 1.50}}',
        b'{"d": 9007199254740993, "o": {"l": [1, "2", null], "a/b~": 1}}',
        b"[1]",
        b'{"n": 1, "zero": null}',
    )
    assert kept == [
        {
            "d": None,
            "n": None,
            "s": None,
            "o": None,
            REST: {"/d": "0.1000000000000000055", "/n": "1.0", "/s": "5", "/new": '{"a":1.50}'},
        },
        {
            "d": None,
            "n": None,
            "s": None,
            "o": {"l": [1, None, None]},
            REST: {"/d": "9007199254740993", "/o/l/1": '"2"', "/o/a~1b~0": "1"},
        },
        {"d": None, "n": None, "s": None, "o": None, REST: {"": "[1]"}},
        {"d": None, "n": 1, "s": None, "o": None, REST: None},
    ]


def test_too_much_rest_is_one_text() -> None:
    """A record of very many misfits does not become many times its size."""
    value = json.dumps({"l": ["x"] * (REST_MAX + 1)}, separators=(",", ":")).encode()
    assert rows_under(infer(b'{"l": [1]}'), value) == [{"l": None, REST: {"": value.decode()}}]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (b'{"d": "secret"}', "/d is not a number that a double holds as it is written"),
        (b'{"new": "secret"}', "the value has a field that its schema does not have"),
        (b'{"l": [1, "secret"]}', "/l/1 is not a whole number of 64 bits"),
        (b'"secret"', "the value is not an object"),
    ],
)
def test_a_misfit_can_be_refused(value: bytes, why: str) -> None:
    """Without the column it is a bad record, and the reason says where, not what."""
    text = infer(b'{"d": 0.5, "l": [1]}', rest=False)
    rows = InferredJson(Schema(text, version=1))([value, b'{"d": 1}', None, b"null", b"{"])
    reasons = rows.excluded
    assert isinstance(reasons[0], Unwritable)
    assert reasons[0].reason == why
    assert "secret" not in reasons[0].reason
    assert isinstance(reasons[2], Tombstone)
    assert isinstance(reasons[4], Unwritable)
    assert sorted(reasons) == [0, 2, 3, 4]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        '"long"',
        '{"type":"record","name":"Record","namespace":"value","fields":[{"name":"a","type":"long"}]}',
        '{"type":"record","name":"R","fields":[{"name":"a","type":["null","bytes"],"default":null}]}',
        '{"type":"record","name":"R","fields":[{"name":"a","type":["null","R"],"default":null}]}',
        " " * (TEXT_MAX + 1),
    ],
)
def test_a_schema_of_somebody_else(text: str) -> None:
    """What lies in the bucket is looked at before anything is read by it."""
    with pytest.raises(SchemaError):
        check_inferred(text)


# What holds for any values.

NAMES = st.sampled_from(["a", "b", "c", "B", "a-b", "_rest", "é", "x/y~"])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-10, 10)
    | st.integers(-(2**66), 2**66)
    | st.floats(allow_nan=False, allow_infinity=False).map(lambda number: Real(repr(number)))
    | st.decimals(allow_nan=False, allow_infinity=False, places=20).map(lambda number: Real(format(number, "f")))
    | st.text(max_size=3)
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=12
)
RECORDS = st.dictionaries(NAMES, VALUES, max_size=5).map(lambda value: json_text(value).encode())
ANY_JSON = (VALUES.filter(lambda value: value is not None)).map(lambda value: json_text(value).encode())


def plain(parsed: Any) -> Any:
    """Numbers by what they are, and no fields that are null: a column does not tell them from missing ones."""
    match parsed:
        case dict():
            return {name: plain(each) for name, each in parsed.items() if each is not None}
        case list():
            return [plain(each) for each in parsed]
        case bool() | None:
            return parsed
        case int() | Real():
            return Decimal(parsed)
        case float():
            return Decimal(repr(parsed))
    return parsed


def restored(node: Node, value: Any) -> Any:
    """JSON values of what a column holds."""
    node = node.required
    if value is None:
        return None
    if isinstance(node, Record):
        return {each.name: restored(each.node, value[each.name]) for each in node.fields}
    if isinstance(node, Array):
        return [restored(node.item, each) for each in value]
    return parse(value.encode()) if is_json_text(node) else value


def whole(schema: Schema, row: dict[str, Any]) -> Any:
    """The value that a row was: its columns, and the rest put where its pointers say."""
    node = graph(schema)
    assert isinstance(node, Record)
    made: Any = {each.name: restored(each.node, row[each.name]) for each in node.fields if each.name != REST}
    for pointer, text in (row[REST] or {}).items():
        if pointer == "":
            return parse(text.encode())
        *path, last = (each.replace("~1", "/").replace("~0", "~") for each in pointer.split("/")[1:])
        at = made
        for step in path:
            at = at[int(step)] if isinstance(at, list) else at[step]
        at[int(last) if isinstance(at, list) else last] = parse(text.encode())
    return made


@given(st.lists(RECORDS, max_size=4), st.lists(ANY_JSON, max_size=4))
@example([b'{"a":[36028797018963968,0.0]}'], [])
@example([b'{"a": [0.5]}'], [b'{"a": [9007199254740993, 1e999, -0.0]}'])
def test_nothing_is_lost_or_changed(sample: list[bytes], values: list[bytes]) -> None:
    """Whatever was sampled, any JSON can be had back from its row."""
    schema = Schema(infer(*sample), version=1)
    check_inferred(schema.text)
    rows = InferredJson(schema)([*sample, *values])
    assert not rows.excluded
    for value, row in zip([*sample, *values], rows.values(schema), strict=True):
        assert plain(whole(schema, row)) == plain(parse(value))


@given(st.lists(RECORDS, max_size=3), st.lists(ANY_JSON, max_size=4))
def test_batches_are_read_as_records_are(sample: list[bytes], values: list[bytes]) -> None:
    """Which records are together does not change what becomes of one; and columns hold what rows hold."""
    schema = Schema(infer(*sample), version=1)
    convert = InferredJson(schema, columns=True)
    together = convert(values)
    alone = [convert([value]).values(schema)[0] for value in values]
    assert list(together.values(schema)) == alone
    for row, made in zip(together.arrow(schema).to_pylist(maps_as_pydicts="strict"), alone, strict=True):
        assert {REST: None, **row} == {REST: None, **made}


SIMPLE = st.recursive(
    st.booleans() | st.integers(-(2**62), 2**62) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, min_size=1, max_size=3)
    ),
    max_leaves=10,
)


@given(st.lists(st.dictionaries(st.sampled_from(["a", "b", "c"]), SIMPLE, max_size=3), min_size=1, max_size=4))
def test_what_was_sampled_fits(records: list[dict[str, Any]]) -> None:
    """Values whose names can be fields have columns, all of them."""
    values = [json.dumps(each).encode() for each in records]
    text = infer(*values, rest=False)
    assert not InferredJson(Schema(text, version=1))(values).excluded


def _sorted(kind: Any) -> Any:
    if isinstance(kind, list):
        return [_sorted(each) for each in kind]
    if isinstance(kind, dict):
        made = {name: _sorted(each) for name, each in kind.items()}
        if "fields" in made:
            made["fields"] = sorted(made["fields"], key=lambda each: each["name"])
        return made
    return kind


@given(st.lists(RECORDS, max_size=4).flatmap(lambda each: st.tuples(st.just(each), st.permutations(each))))
def test_the_order_of_a_sample(orders: tuple[list[bytes], list[bytes]]) -> None:
    """It decides about the order of fields, and which of two that differ only in case has a column; about no type."""
    one, other = (json.loads(infer(*each).replace('"B"', '"b"')) for each in orders)
    names = [{each["name"] for each in schema["fields"]} for schema in (one, other)]
    assert names[0] == names[1]
    if not any(b'"B"' in each for each in orders[0]):
        assert _sorted(one) == _sorted(other)


@given(st.lists(RECORDS, max_size=3), st.lists(RECORDS, max_size=3), st.booleans())
def test_a_schema_only_widens(first: list[bytes], later: list[bytes], promote: bool) -> None:
    """What was written under a schema is read under every later one, and the same sample changes nothing more."""
    before = infer(*first)
    after = infer(*later, before=before, promote=promote)
    check_inferred(after)
    assert infer(before=after) == after
    assert infer(*later, before=after, promote=promote) == after
    names = [each["name"] for each in json.loads(before)["fields"][:-1]]
    assert [each["name"] for each in json.loads(after)["fields"]][: len(names)] == names
    rows = rows_under(before, *first)
    file = io.BytesIO()
    fastavro.writer(file, json.loads(before), rows)
    file.seek(0)
    for row, read in zip(rows, fastavro.reader(file, json.loads(after)), strict=True):
        assert row is not None
        assert {name: read[name] for name in row if not _holds_record(row[name])} == {
            name: value for name, value in row.items() if not _holds_record(value)
        }


def _holds_record(value: Any) -> bool:
    """Whether a later schema may have given it more fields."""
    if isinstance(value, list):
        return any(map(_holds_record, value))
    return isinstance(value, dict)


NUMBERS = st.from_regex(r"-?(0|[1-9][0-9]{0,19})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?", fullmatch=True)


@given(NUMBERS)
@example("0.1234567890123456")
@example("0.12345678901234567")
@example("12345678.12345678")
@example("12345678901234567e3")
@example("9007199254740993")
@example("36028797018963968")
@example("36028797018963968.0")
@example("100000000000000000")
@example("1e-400")
@example("1e400")
@example("4.9e-324")
def test_a_double_is_the_number_that_was_written(text: str) -> None:
    """However a number is spelled: it is in the column if a double means the same, and otherwise in the rest."""
    (row,) = rows_under(infer(b'{"d": 0.5}'), b'{"d":%s}' % text.encode())
    assert row is not None
    if row["d"] is None:
        assert Decimal(parse(row[REST]["/d"].encode())) == Decimal(text)
        assert float(text) in (float("inf"), float("-inf")) or Decimal(repr(float(text))) != Decimal(text)
    else:
        assert Decimal(repr(row["d"])) == Decimal(text)
