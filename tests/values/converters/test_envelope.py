"""Connect's envelopes to plain values and Avro schemas: what is taken, what is refused, and what it costs."""

from __future__ import annotations

import io
import json
from random import Random
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_s3.avro.datums import codec
from kafka_s3.avro.model import Schema
from kafka_s3.avro.parse import parse_avro
from kafka_s3.settings.converters import Converter, ConverterSettings
from kafka_s3.settings.formats import DecimalFormat
from kafka_s3.shown import plain
from kafka_s3.values.converters.connect_anything import ANYTHING, anything
from kafka_s3.values.converters.connect_avro import avro_schema
from kafka_s3.values.converters.connect_fast import decoder
from kafka_s3.values.converters.connect_schema import NESTING_MAX, read_schema
from kafka_s3.values.converters.connect_values import parse, reader
from kafka_s3.values.converters.envelope import SCHEMAS_MAX, EnvelopeJson
from kafka_s3.values.formats.json_text import writer_for
from kafka_s3.values.rows import Tombstone, Unwritable
from tests.values.converters.envelopes import DATA, EnvelopeCase, compact, envelope, random_case

randoms = st.integers(0, 2**64).map(Random)
HALF = "not JSON that can be written: half a surrogate pair, or a number beyond all limits"
UNUSABLE = "the envelope's schema cannot be used: "
DECIMAL = {"type": "bytes", "name": f"{DATA}Decimal", "parameters": {"scale": "2"}}


def converter(fill: bool = True) -> EnvelopeJson:
    return EnvelopeJson(ConverterSettings(Converter.JSON, schemas_enable=True, replace_null_with_default=fill))


def struct(*fields: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields), **more}


def field(name: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"field": name, "type": kind, **more}


def one(schema: Any, payload: str, fill: bool = True) -> Any:
    """The plain value of an envelope, or why there is none."""
    rows = converter(fill)([envelope(schema, payload)])
    return rows.excluded.get(0, rows.values(None)[0])


def avro(schema: Any) -> Any:
    return avro_schema(read_schema(schema)).avro


@settings(max_examples=300, deadline=None)
@given(randoms)
def test_an_envelope_becomes_the_json_that_went_into_it(random: Random) -> None:
    """Random schema, random value: its text, read and written again, is what JsonConverter would have written."""
    case = random_case(random)
    rows = converter()([case.envelope])
    assert not rows.excluded, rows.excluded
    assert isinstance(rows.schemas, Schema)
    write = writer_for(rows.schemas, DecimalFormat.BASE64)
    assert write(rows.values(rows.schemas))[0].decode() == case.written


@settings(max_examples=300, deadline=None)
@given(randoms)
def test_the_avro_schema_is_one_and_the_value_is_of_it(random: Random) -> None:
    """fastavro takes every schema that comes out, writes the value by it, and reads the same value back."""
    rows = converter()([random_case(random).envelope])
    assert isinstance(rows.schemas, Schema)
    assert fastavro.parse_schema(rows.schemas.avro, _write_hint=False)
    parsed = fastavro.parse_schema(_without_logical_types(rows.schemas.avro))
    value = rows.values(rows.schemas)[0]
    data = io.BytesIO()
    fastavro.schemaless_writer(data, parsed, value, strict=True)
    data.seek(0)
    assert fastavro.schemaless_reader(data, parsed, None) == value


def _without_logical_types(avro: Any) -> Any:
    """Plain values are what logical types stand on."""
    if isinstance(avro, list):
        return [_without_logical_types(each) for each in avro]
    if not isinstance(avro, dict):
        return avro
    return {name: _without_logical_types(each) for name, each in avro.items() if name != "logicalType"}


@settings(max_examples=200, deadline=None)
@given(randoms)
def test_the_rows_have_every_form(random: Random) -> None:
    """Avro's binary form and Arrow's columns are made of them by what makes those of every other value."""
    rows = converter()([random_case(random).envelope] * 3)
    assert isinstance(rows.schemas, Schema)
    value = rows.values(rows.schemas)[1]
    assert parse_avro(rows.schemas.text) == Schema(rows.schemas.text)
    assert codec(rows.schemas).decode(rows.datums(rows.schemas))[1] == value
    assert len(rows.sizes()) == 3
    if '"fields":[]' not in rows.schemas.text:  # Parquet has no groups without columns
        assert len(rows.arrow(rows.schemas)) == 3


@settings(max_examples=300, deadline=None)
@given(randoms, st.booleans())
def test_the_fast_way_and_the_slow_way_agree(random: Random, fill: bool) -> None:
    """The fast decoder takes what is fine; what it takes, of whatever damaged payload, is what the reader takes."""
    case = random_case(random, plain_names=True)
    schema = read_schema(parse(compact(case.schema).encode()))
    fast, slow = decoder(schema, fill), reader(schema, fill)
    if fast is not None and fill and case.payload != "null":
        assert repr(fast(case.payload.encode())) == repr(slow(parse(case.payload.encode())))
    for payload in [case.payload, *(_damaged(random, case.payload) for _ in range(10))]:
        try:
            made = None if fast is None else fast(payload.encode())
        except (ValueError, KeyError):
            continue
        if made is not None:
            assert repr(made) == repr(slow(parse(payload.encode())))


def _damaged(random: Random, text: str) -> str:
    if not text:
        return text
    at = random.randrange(len(text))
    cut = text[at : at + random.randint(0, 3)]
    return (
        text[:at] + random.choice(["", "0", "null", "9" * 20, "-", ".5", '"', "[1]", cut * 2]) + text[at + len(cut) :]
    )


@settings(max_examples=200, deadline=None)
@given(st.lists(randoms, min_size=1, max_size=5), randoms)
def test_neighbours_do_not_change_a_record(cases: list[Random], random: Random) -> None:
    """An envelope means the same alone and in a batch with others, damaged ones and other spellings among them."""
    texts = [_spelled(each, random_case(each, 1)) for each in cases]
    batch: list[bytes | None] = [text for text in texts for _ in range(2)]
    batch += [_flipped(random, text) for text in texts] + [None]
    random.shuffle(batch)
    rows = converter()(batch)
    schemas = rows.schemas if isinstance(rows.schemas, list) else [rows.schemas] * len(batch)
    for index, value in enumerate(batch):
        alone = converter()([value])
        assert rows.excluded.get(index) == alone.excluded.get(0)
        if index not in rows.excluded:
            assert repr(rows.values(None)[index]) == repr(alone.values(None)[0])
            assert schemas[index] == alone.schemas


def _spelled(random: Random, case: EnvelopeCase) -> bytes:
    schema, payload = compact(case.schema), case.payload
    return random.choice(
        [
            f'{{"schema":{schema},"payload":{payload}}}',
            f' {{"schema" : {schema} , "payload" : {payload} }} ',
            f'{{"payload":{payload},"schema":{schema}}}',
            f'{{"payload":1,"schema":{schema},"payload":{payload}}}',
            f'{{"schema":{schema},"p\\u0061yload":{payload}}}',
            f'{{"schema":{schema},"payload":{payload},"more":1}}',
            f'{{"schema":null,"payload":{payload}}}',
        ]
    ).encode()


def _flipped(random: Random, text: bytes) -> bytes:
    at = random.randrange(len(text))
    return text[:at] + random.choice([b"", b"\xff", b"\xed\xa0\x80", b"1", b"}", b",", b'"x']) + text[at + 1 :]


@given(st.binary(max_size=60) | st.text(max_size=40).map(str.encode))
def test_no_bytes_are_too_odd(value: bytes) -> None:
    """Whatever arrives, it is refused with a reason, or is an envelope."""
    rows = converter()(
        [value, b'{"schema":' + value + b',"payload":1}', b'{"schema":{"type":"int8"},"payload":' + value]
    )
    assert isinstance(rows.excluded[0], Unwritable)
    assert all(isinstance(each, Unwritable | Tombstone) for each in rows.excluded.values())


def told(found: Any) -> str:
    """Why a value is refused, with what the reason quotes."""
    assert isinstance(found, Unwritable)
    return plain(found.reason, content=True)


@pytest.mark.parametrize("bracket", ["[", '{"a":', '{"type":"array","items":', '["', '{"fields":['])
def test_nesting_has_a_limit(bracket: str) -> None:
    """However deep schema, payload or the envelope itself are nested, the answer is a reason."""
    deep = bracket * 100_000
    for text in (deep, f'{{"schema":{deep},"payload":1}}', f'{{"schema":{{"type":"int8"}},"payload":{deep}}}'):
        assert isinstance(converter()([text.encode()]).excluded[0], Unwritable)


def test_schemas_are_nested_to_a_limit() -> None:
    """64 levels of schema pass, 65 do not."""

    def nested(levels: int) -> Any:
        return {"type": "array", "items": nested(levels - 1)} if levels > 1 else {"type": "int32"}

    depth = NESTING_MAX - 1
    assert one(nested(NESTING_MAX), "[" * depth + "]" * depth) is not None
    assert "nested too deeply" in one(nested(NESTING_MAX + 1), "[]").reason


def test_schemas_that_never_repeat_are_forgotten() -> None:
    """A topic of ever new schemas costs no more memory than the newest of them."""
    convert = converter()
    for number in range(SCHEMAS_MAX + 50):
        convert([envelope({"type": "int32", "name": f"n{number}"}, "1")])
    assert len(convert._known) == SCHEMAS_MAX
    assert convert._bytes == sum(len(text) for text in convert._known)


def test_few_bytes_do_not_become_many_values() -> None:
    """Objects of nothing but missing fields, and nulls with a long default, are refused beyond a limit."""
    wide = struct(*(field(f"f{number}", "int8", optional=True) for number in range(1000)))
    many = {"type": "array", "items": wide}
    assert len(one(many, f"[{'{},' * 999}{{}}]")) == 1000
    assert "of fields and defaults" in one(many, f"[{'{},' * 1999}{{}}]").reason
    long = {"type": "array", "items": {"type": "string", "default": "x" * 100_000}}
    assert "of fields and defaults" in one(long, f"[{'null,' * 9999}null]").reason
    named = {"type": "array", "items": struct(field("n" * 100_000, "int8", optional=True))}
    assert "of fields and defaults" in one(named, f"[{'{},' * 999}{{}}]").reason
    assert one({"type": "array", "items": {"type": "int8"}}, f"[{'1,' * 999_999}1]") == [1] * 1_000_000


def test_what_is_wide_may_hold_much_that_is_not() -> None:
    """A struct of many fields with a long list of small ones is weighed by what it is, not by what it could be."""
    items = {"field": "items", "type": "array", "items": struct(field("n", "int8"))}
    wide = struct(*(field(f"f{number}", "int8", optional=True) for number in range(1000)), items)
    taken = one(wide, json.dumps({"items": [{"n": 1}] * 10_000}))
    assert taken["f999"] is None
    assert len(taken["items"]) == 10_000


def test_schemas_made_to_hurt_are_read_in_passing() -> None:
    """Defaults in defaults, and thousands of structs and names that only look alike: each is looked at once."""
    deep = struct(field("x", "int8", default=1), default={})
    for _ in range(60):
        deep = struct({**deep, "field": "a"}, default={})
    assert isinstance(avro_schema(read_schema(deep)), Schema)
    wide = struct(*(struct(field(f"{chr(0x4E00 + number)}", "int8"), field=f"f{number}") for number in range(5000)))
    assert len(avro(wide)["fields"]) == 5000
    odd = struct(*(field(chr(0x4E00 + number), "int8") for number in range(5000)))
    assert avro(odd)["fields"][4999]["name"] == "__5000"


# Null, missing and default.


@pytest.mark.parametrize("value", [None, envelope(None, "null"), envelope({"type": "int8", "optional": True}, "null")])
def test_null_is_a_tombstone(value: bytes | None) -> None:
    """No value at all, a null without a schema, and a null that its schema allows."""
    assert converter()([value]).excluded[0] == Tombstone()


def test_a_null_becomes_the_default_unless_it_is_to_stay() -> None:
    """replace.null.with.default, for nulls and for fields that are missing, at the top and below."""
    schema = struct(field("a", "int32", default=3), field("b", "string", optional=True, default="x"))
    assert one(schema, "{}") == one(schema, '{"a":null,"b":null}') == {"a": 3, "b": "x"}
    assert one(schema, '{"a":1}', fill=False) == {"a": 1, "b": None}
    assert one(schema, "{}", fill=False) == Unwritable("a: null or missing, but required")
    assert one({"type": "int8", "default": 5}, "null") == 5
    assert one({"type": "array", "items": {"type": "int8", "default": 5}}, "[null]") == [5]


@pytest.mark.parametrize(
    ("schema", "payload", "reason"),
    [
        (struct(field("a", "int32")), "{}", "a: null or missing, but required"),
        (struct(field("a", "int32")), '{"a":"x"}', 'a: "x" is not an int32'),
        (struct(field("a", "int32")), '{"a":5.7}', "a: 5.7 is not an int32"),
        (struct(field("a", "int8")), '{"a":128}', "a: 128 does not fit into int8 (-128 to 127)"),
        ({"type": "int64"}, "1e400000000000000000000", "1e400000000000000000000 has an exponent that is too large"),
        ({"type": "int64"}, "9" * 5000, f"{'9' * 60}... does not fit into int64 ({-(2**63)} to {2**63 - 1})"),
        ({"type": "double"}, "1e999", "1e999 does not fit into double"),
        ({"type": "float"}, "1e300", "1e+300 does not fit into float"),
        ({"type": "boolean"}, "1", "1 is not a boolean"),
        ({"type": "string"}, "{}", "an object is not a string"),
        ({"type": "string"}, r'"\ud800"', HALF),
        ({"type": "bytes"}, '"AQ"', '"AQ" is not base64'),
        (DECIMAL, '""', "a decimal without a byte"),
        (DECIMAL, "1.255", "1.255 has more digits behind the point than its scale, 2"),
        (DECIMAL, "1e1000000", "1e1000000 has more than 1000 digits"),
        (DECIMAL, "1e63", "a decimal of more than 64 digits"),
        ({"type": "int32", "name": f"{DATA}Time"}, "-1", f"-1 does not fit into {DATA}Time (0 to 86400000)"),
        ({"type": "array", "items": {"type": "int8"}}, '{"a":1}', "an object is not an array"),
        (
            {"type": "map", "keys": {"type": "int8"}, "values": {"type": "int8"}},
            "[[1]]",
            "an array is not a pair of a key and a value",
        ),
        ({"type": "date"}, "1", f"{UNUSABLE}there is no schema of type 'date'"),
        (
            struct(field("a", "int8"), field("a", "int8")),
            "{}",
            f"{UNUSABLE}a field of a struct has no name ('field'), or that of another field",
        ),
        (struct(field("a", "int8", default="x")), "{}", f'{UNUSABLE}a.default: "x" is not an int8'),
        ({"type": "int32"}, "", "not JSON: Expecting value: line 1 column 38 (char 37)"),
    ],
)
def test_a_refusal_says_what_is_wrong_and_where(schema: Any, payload: str, reason: str) -> None:
    """The field, its value, and what it should have been."""
    assert told(one(schema, payload)) == reason


@pytest.mark.parametrize(
    "value", [b"1", b"[]", b"{}", b'{"schema":null}', b'{"schema":null,"payload":1,"x":1}', b"null"]
)
def test_json_that_is_no_envelope_says_so(value: bytes) -> None:
    """Exactly the two fields; the reason names the property to change."""
    assert "schemas.enable" in converter()([value]).excluded[0].reason  # type: ignore[union-attr]


def test_numbers_that_keep_their_value_are_taken() -> None:
    """5.0 is an integer, 5 is a double, a decimal may be a number, NaN has a name."""
    assert one({"type": "int32"}, "5.0") == 5
    assert one({"type": "int64"}, "1e3") == 1000
    assert one({"type": "double"}, "5") == 5.0
    assert repr(one({"type": "double"}, '"NaN"')) == "nan"
    assert one({"type": "double"}, '"-Infinity"') == float("-inf")
    assert one({"type": "float"}, "0.1") == 0.10000000149011612
    assert one(DECIMAL, "1.5") == (150).to_bytes(2)
    assert one(DECIMAL, '"AAE="') == b"\x01"


def test_a_value_without_a_schema_is_json() -> None:
    """schema null: the JSON's own types, and `None` among the schemas."""
    rows = converter()([envelope(None, '{"b":[1,2.5,null,1e10],"a":"é"}'), envelope({"type": "int8"}, "1")])
    assert rows.schemas == [None, Schema('{"type":"int","connect.type":"int8"}')]
    assert writer_for(None, DecimalFormat.BASE64)(rows.values(None)[:1]) == [
        '{"b":[1,2.5,null,1.0E10],"a":"é"}'.encode()
    ]


def test_a_value_without_a_schema_is_nested_to_a_limit() -> None:
    """200 levels are taken and written, 201 refused, whichever brackets they are."""
    for begin, end in ("[]", ('{"a":', "}")):
        deep = begin * 199 + "[1]" + end * 199
        rows = converter()(
            [envelope(None, deep), envelope(None, begin + deep + end), envelope(None, begin * 790 + end * 790)]
        )
        assert writer_for(None, DecimalFormat.BASE64)(rows.values(None)[:1]) == [deep.encode()]
        assert rows.excluded.keys() == {1, 2}


def test_a_value_without_a_schema_gets_one_where_it_needs_it() -> None:
    """For Avro and Parquet it is Anything; its null is a tombstone all the same, and depth has a limit."""
    convert = EnvelopeJson(ConverterSettings(Converter.JSON, schemas_enable=True), schema_needed=True)
    rows = convert([envelope(None, text) for text in ('{"a":[1]}', "null", "[" * 101 + "]" * 101)])
    assert rows.schemas == ANYTHING
    assert rows.values(ANYTHING)[0] == anything({"a": [1]})
    assert rows.excluded[1] == Tombstone()
    assert "nested too deeply (more than 100 levels)" in rows.excluded[2].reason  # type: ignore[union-attr]
    assert codec(ANYTHING).decode(rows.part(0, 1).datums(ANYTHING)) == [anything({"a": [1]})]
