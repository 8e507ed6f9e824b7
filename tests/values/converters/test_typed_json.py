"""JSON read by a schema: what is taken, what is refused and why, and that the fast way and the slow one agree."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka_s3.avro.arrow import from_values
from kafka_s3.avro.datums import codec
from kafka_s3.avro.model import Avro, Branch, Schema, schema_of
from kafka_s3.avro.parse import SchemaError
from kafka_s3.errors import ConfigurationError
from kafka_s3.settings.converters import Converter, ConverterSettings
from kafka_s3.shown import plain
from kafka_s3.values.converters.typed import VALUE_NESTING_MAX, TypedJson, typed_json
from kafka_s3.values.converters.typed_values import TRIES_MAX
from kafka_s3.values.rows import Missing, Tombstone, Unwritable
from tests.avro.evolution import is_valid, same

DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2}
MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
LOCAL = {"type": "long", "logicalType": "local-timestamp-micros"}
DATE = {"type": "int", "logicalType": "date"}
TIME = {"type": "int", "logicalType": "time-millis"}
ENUM = {"type": "enum", "name": "n.E", "symbols": ["RED", "GREEN"]}
FIXED = {"type": "fixed", "name": "n.F", "size": 2}
INNER = {"type": "record", "name": "n.I", "fields": [{"name": "y", "type": "int"}]}
LIST = {
    "type": "record",
    "name": "n.L",
    "fields": [{"name": "v", "type": "int"}, {"name": "next", "type": ["null", "n.L"], "default": None}],
}


def of(kind: Avro, **more: Any) -> Schema:
    """A record whose field x has this type."""
    return schema_of({"type": "record", "name": "n.R", "fields": [{"name": "x", "type": kind, **more}]})


TAKEN: list[tuple[Avro, str, Any]] = [
    ("boolean", "true", True),
    ("int", "-2147483648", -(2**31)),
    ("long", "9223372036854775807", 2**63 - 1),
    ("double", "1", 1.0),
    ("double", "1e-400", 0.0),
    ("double", "123456789012345678901234567890", 1.2345678901234568e29),
    ("float", "0.1", 0.10000000149011612),
    ("float", "3.4028235e38", 3.4028234663852886e38),
    ("string", '"\\ud83d\\ude00é"', "😀é"),
    ("bytes", '"AQI="', b"\1\2"),
    (FIXED, '"AQI="', b"\1\2"),
    (DECIMAL, "1.1", b"\x6e"),
    (DECIMAL, '"-1.10"', b"\x92"),
    (DECIMAL, "1.100000000000000000000000000", b"\x6e"),
    (DECIMAL, "9.9999e2", b"\x01\x86\x9f"),
    (DECIMAL, "1e2", b"\x27\x10"),
    (DECIMAL, "0e999999999", b"\0"),
    (DECIMAL, "-1.28", b"\x80"),
    ({**DECIMAL, **FIXED, "type": "fixed"}, "-0.01", b"\xff\xff"),
    (DATE, "1", 1),
    (DATE, '"1970-01-02"', 1),
    (DATE, '"0001-01-01"', -719162),
    (TIME, "3600000", 3_600_000),
    (TIME, '"01:00:00.001"', 3_600_001),
    (TIME, '"23:59"', 86_340_000),
    (MILLIS, "1700000000123", 1700000000123),
    (MILLIS, '"2023-11-14T22:13:20.123Z"', 1700000000123),
    (MILLIS, '"2023-11-14 23:13:20.123000+01:00"', 1700000000123),
    (MILLIS, '"1969-12-31T23:59:59.999Z"', -1),
    (LOCAL, '"2023-11-14T22:13:20.000001"', 1700000000000001),
    (ENUM, '"GREEN"', "GREEN"),
    ({"type": "array", "items": "float"}, "[1, 0.1]", [1.0, 0.10000000149011612]),
    ({"type": "map", "values": ["null", "int"]}, '{"a": 1, "b": null}', {"a": 1, "b": None}),
    (INNER, '{"y": 1, "z": 2}', {"y": 1}),
    (["null", INNER], "null", None),
    (["int", "null"], "4", 4),
    (["null", "int", "string"], "null", None),
    (["int", "long"], "4000000000", Branch("long", 4_000_000_000)),
    (["string", DATE], '"1970-01-01"', Branch("string", "1970-01-01")),
    ([DECIMAL, "string"], "1.10", Branch("bytes", b"\x6e")),
    (["double", "int"], "1", Branch("double", 1.0)),
    (LIST, '{"v": 1, "next": {"v": 2}}', {"v": 1, "next": {"v": 2, "next": None}}),
    ({"type": "int", "connect.type": "int8"}, "-128", -128),
]

REFUSED: list[tuple[Avro, str, str]] = [
    ("boolean", "1", "x is a whole number, not boolean: 1"),
    ("int", "2147483648", "x is out of range for int: 2147483648"),
    ("int", "1.0", "x is a number with a fraction or an exponent, not int: 1.0"),
    ("int", "true", "x is a boolean, not int: true"),
    ("int", '"1"', 'x is text, not int: "1"'),
    ("int", "null", "x is null, not int: null"),
    ("long", "9" * 5000, "x is a number with a fraction or an exponent, not long"),
    ("long", "9" * 100, "x is out of range for long: a very long number"),
    ("double", "1e309", "x is out of range for double: 1e309"),
    ("double", "NaN", "not JSON: NaN is not a JSON number"),
    ("double", '"NaN"', "x is text, not double"),
    ("float", "3.5e38", "x is out of range for float"),
    ("float", "9" * 400, "x is out of range for float"),
    ("string", "1", "x is a whole number, not string"),
    ("string", '"\\ud800"', "x holds half of a surrogate pair"),
    ("bytes", '"AQI"', "x is not base64"),
    ("bytes", '"-_8="', "x is not base64"),
    (FIXED, '"AQ=="', "x has 1 bytes, and n.F has 2"),
    (DECIMAL, "1.111", "x has a finer fraction than its scale of 2: 1.111"),
    (DECIMAL, "1000", "x has more than 5 digits with a scale of 2: 1000"),
    (DECIMAL, "1e999999999", "x has more than 5 digits"),
    (DECIMAL, "1e-999999999", "x has a finer fraction"),
    (DECIMAL, '"NaN"', "x is not a decimal number"),
    (DECIMAL, '"one"', "x is not a decimal number"),
    (DECIMAL, "true", "x is a boolean, not decimal"),
    (DATE, '"1970-02-30"', "x is not a day of the calendar"),
    (DATE, '"19700201"', "x is not a day like"),
    (DATE, "2147483648", "x is out of range for date"),
    (TIME, "86400000", "x is out of range for time-millis"),
    (TIME, '"24:00"', "x is not a time of a day"),
    (TIME, '"01:00:00.0001"', "x has a finer fraction than its type: 1/1000 s"),
    (MILLIS, '"2023-11-14T22:13:20"', "x has no time zone"),
    (MILLIS, '"yesterday"', "x is not a moment like"),
    (MILLIS, "1.5", "x is a number with a fraction"),
    (LOCAL, '"2023-11-14T22:13:20Z"', "x has a time zone, which a local timestamp has not"),
    (ENUM, '"BLUE"', 'x is text, not enum n.E: "BLUE"'),
    ({"type": "array", "items": "int"}, '[1, "a"]', "x[1] is text, not int"),
    ({"type": "map", "values": INNER}, '{"a": {}}', "x{}.y is missing"),
    ({"type": "map", "values": "int"}, '{"\\ud800": 1}', "x{} holds half of a surrogate pair"),
    (INNER, "[]", "x is a list, not record n.I: []"),
    (["null", INNER], '{"y": "a"}', "x.y is text, not int"),
    (["null", "int", "string"], "1.5", "x is a number with a fraction or an exponent, not null or int or string"),
    (["int", "null"], '"a"', "x is text, not int"),
    (LIST, '{"v": 1, "next": {"v": "a"}}', "x.next.v is text, not int"),
    ({"type": "int", "connect.type": "int8"}, "128", "x is out of range for int: 128"),
]


def read(schema: Schema, *values: str | bytes | None) -> Any:
    return TypedJson(schema)([value.encode() if isinstance(value, str) else value for value in values])


@pytest.mark.parametrize(("kind", "text", "expected"), TAKEN)
def test_a_value_that_fits_is_taken(kind: Avro, text: str, expected: Any) -> None:
    """Each type takes what the table of `typed_values` says, exactly; alone, in a batch, and beside a bad record."""
    schema = of(kind)
    value = f'{{"x": {text}}}'
    for batch in ([value], [value] * 3, [value, '{"x": {"never": []}}', value]):
        rows = read(schema, *batch)
        assert set(rows.excluded) == ({1} if "never" in str(batch) else set())
        for index in (0, len(batch) - 1):
            (made,) = rows.pick([index]).values(schema)
            assert same(made, {"x": expected})
            assert is_valid(made, schema)


@pytest.mark.parametrize(("kind", "text", "said"), REFUSED)
def test_a_value_that_does_not_fit_says_why(kind: Avro, text: str, said: str) -> None:
    """No value is bent to fit; the record is refused with the field, what it holds, and what would fit."""
    good = read(of("int"), f'{{"x": {text}}}', None)
    rows = read(of(kind), f'{{"x": {text}}}', None)
    assert isinstance(rows.excluded[0], Unwritable)
    assert said in plain(rows.excluded[0].reason, content=True)
    assert rows.excluded[1] == Tombstone()
    assert good.excluded[1] == Tombstone()


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (b"", "not JSON: the value is empty"),
        (b"{", "not JSON"),
        (b'{"x": 1} 2', "not JSON"),
        (b"[1]", "the value is a list, not record n.R: [1]"),
        (b"{}", "x is missing"),
        (b'{"x": 1, "other": "\xff"}', "not JSON: not UTF-8 at byte 19"),
        (b"\xff", "not JSON: not UTF-8 at byte 0"),
        (b'{"x": 1, "other": ' + b"[" * 200 + b"]" * 200 + b"}", f"more than {VALUE_NESTING_MAX} levels"),
        (b"[" * 100_000, f"more than {VALUE_NESTING_MAX} levels"),
    ],
)
def test_what_is_no_such_json_is_refused(value: bytes, said: str) -> None:
    """Broken, deep and foreign values are one record's affair, whatever lies beside them."""
    for batch in ([value], [b'{"x": 1}', value, b'{"x": 2}']):
        rows = read(of("int"), *batch)
        bad = rows.excluded[len(batch) // 2]
        assert isinstance(bad, Unwritable)
        assert said in plain(bad.reason, content=True)
        assert len(rows.excluded) == 1


@pytest.mark.parametrize("value", [b'{"x": "\xe5"}', b'{"\xe5": 1, "x": "a"}', b'{"x": "a", "y": "\xed\xa0\x80"}'])
def test_text_that_is_no_utf_8_is_refused(value: bytes) -> None:
    """In a field of the schema, in the name of one, or elsewhere; the records beside it are taken."""
    rows = read(of("string"), '{"x": "a"}', value, '{"x": "b"}')
    [(place, refused)] = rows.excluded.items()
    assert place == 1
    assert isinstance(refused, Unwritable)
    assert refused.reason.startswith("not JSON: not UTF-8 at byte")


def test_null_is_a_tombstone() -> None:
    """No value and a value that is just null are the same null to Connect, whether the schema takes one or not."""
    optional = schema_of([of("float").avro, "null"])
    for schema in (of("int"), schema_of(["null", "int"]), schema_of("null"), optional):
        assert read(schema, "null").excluded == {0: Tombstone()}
        assert read(schema, None, " null ", b"\xef\xbb\xbfnull").excluded == dict.fromkeys(range(3), Tombstone())


def test_missing_fields_get_their_default() -> None:
    """The default first, then null where it is allowed; each record has a list of its own."""
    fields = [
        {"name": "a", "type": {"type": "array", "items": INNER}, "default": [{"y": 1}]},
        {"name": "b", "type": {**DECIMAL}, "default": "\u0001"},
        {"name": "c", "type": ["null", "int"]},
        {"name": "d", "type": ["int", "string"], "default": 4},
        {"name": "e", "type": "n.I", "default": {"y": 5}},
        {"name": "f", "type": "float", "default": 0.1},
        {"name": "g", "type": MILLIS, "default": 7},
    ]
    schema = schema_of({"type": "record", "name": "n.R", "fields": fields})
    expected = {
        "a": [{"y": 1}],
        "b": b"\1",
        "c": None,
        "d": Branch("int", 4),
        "e": {"y": 5},
        "f": 0.10000000149011612,
        "g": 7,
    }
    for values in (["{}", "{}"], ["{}", "?", "{}"]):
        rows = read(schema, *values)
        first, second = (rows.pick([index]).values(schema)[0] for index in (0, len(values) - 1))
        assert same(first, expected)
        assert same(second, expected)
        assert first["a"] is not second["a"]


def test_a_default_that_is_none_is_found_at_once() -> None:
    """A schema with a default of another type is refused before any record comes, wherever it hides."""
    with pytest.raises(SchemaError, match='x: the default .*"a".* is not a value of its type'):
        TypedJson(of("int", default="a"))
    with pytest.raises(SchemaError, match="x: the default"):
        TypedJson(of(DECIMAL, default="\u007f\u00ff\u00ff"))
    with pytest.raises(SchemaError, match="x: the default .*128"):
        TypedJson(of({"type": "int", "connect.type": "int8"}, default=128))
    broken = {**LIST, "fields": [*LIST["fields"], {"name": "w", "type": "int", "default": "a"}]}
    with pytest.raises(SchemaError, match="w: the default"):
        TypedJson(of(broken))


def test_the_schema_of_a_configuration() -> None:
    """It may be spelled in any way, and has a version, so that each `schema.compatibility` takes it."""
    settings = ConverterSettings(Converter.JSON, schema_text='{"type": {"type": "int"}}')
    assert typed_json(settings).schema == schema_of({"type": "int"}, version=1)
    assert typed_json(settings)([b"7"]).values(schema_of("long")) == [7]
    for text in ("{", '"n.Unknown"', of("int", default="a").text):
        with pytest.raises(ConfigurationError, match="export.value.schema.file: "):
            typed_json(ConverterSettings(Converter.JSON, schema_text=text))


def test_hopeless_unions_end() -> None:
    """Records that hold unions of such records have exponentially many ways to be tried; only so many are."""
    kinds = [
        {
            "type": "record",
            "name": f"n.{name}",
            "fields": [{"name": "u", "type": ["null", "n.A", "n.B"] if name == "B" else ["null", "n.A"]}],
        }
        for name in "AB"
    ]
    first: dict[str, Any] = kinds[0]
    first["fields"][0]["type"] = ["null", "n.A", kinds[1]]
    deep = '{"u":' * 50 + "1" + "}" * 50
    reason = read(of(first), f'{{"x": {deep}}}').excluded[0].reason
    assert f"more than {TRIES_MAX} branches of unions were tried" in reason


def test_the_deepest_value_is_read() -> None:
    """A list as long as nesting may be deep goes through every form, and through a projection."""
    tree: dict[str, Any] = {
        "type": "record",
        "name": "n.T",
        "fields": [
            {"name": "v", "type": "int"},
            {"name": "u", "type": ["null", "string", {"type": "array", "items": "n.T"}], "default": None},
        ],
    }
    wide = {**tree, "fields": [{"name": "v", "type": "double"}, tree["fields"][1]]}
    text = '{"v":1,"u":[' * (VALUE_NESTING_MAX // 2) + "]}" * (VALUE_NESTING_MAX // 2)
    rows = read(schema_of(tree), text)
    assert rows.excluded == {}
    (datum,) = rows.datums(schema_of(wide))
    assert codec(schema_of(wide)).check([datum]) == {}
    assert codec(schema_of(wide)).decode([datum]) == rows.values(schema_of(wide))
    assert 0 in read(schema_of(tree), f'{{"v":1,"u":[{text}]}}').excluded


def test_columns_of_fields() -> None:
    """A field of every row, for paths: nested, below a null, without one, and in a map."""
    schema = schema_of(
        {
            "type": "record",
            "name": "n.R",
            "fields": [
                {"name": "a", "type": ["null", INNER]},
                {"name": "m", "type": {"type": "map", "values": "int"}, "default": {}},
                {"name": "u", "type": ["int", "string"], "default": 1},
            ],
        }
    )
    rows = read(schema, '{"a": {"y": 1}, "m": {"k": 2}, "u": "t"}', '{"a": null}')
    assert list(rows.column(("a", "y"))) == [1, None]
    assert list(rows.column(("a",))) == [{"y": 1}, None]
    assert list(rows.column(("u",))) == ["t", 1]
    two, none = rows.column(("m", "k"))
    assert two == 2
    assert none == "field m.k is missing; there are no fields"
    missing, below = rows.column(("a", "z"))
    assert isinstance(missing, Missing)
    assert missing == "field a.z is missing; there are y (int)"
    assert below is None
    assert rows.column(("m", "k", "z"))[0] == "field m.k.z: m.k is int, which has no fields"
    assert rows.column(("b",))[0] == "field b is missing; there are a (record n.I), m (map), u (union)"


@pytest.mark.parametrize("texts", [["null"], ["null", '{"y": 1}', "null"]])
def test_below_a_null_record_there_are_no_nulls(texts: list[str]) -> None:
    """Parquet's writer takes none in a field that may not be null, also where nobody sees it."""
    inner = {**INNER, "fields": [*INNER["fields"], {"name": "z", "type": {"type": "array", "items": "string"}}]}
    schema = of(["null", inner])
    texts = [text.replace("}", ', "z": ["a"]}') for text in texts]
    rows = read(schema, *(f'{{"x": {text}}}' for text in texts))
    assert not rows.excluded
    array = rows.arrow(schema)
    assert array.equals(from_values(rows.values(schema), schema))
    assert array.field(0).field(0).null_count == array.field(0).field(1).null_count == 0
    file = io.BytesIO()
    pq.write_table(pa.Table.from_struct_array(array), file)
    assert pq.read_table(file).to_pylist() == rows.values(schema)


def test_rows_take_parts_and_other_schemas() -> None:
    """Parts keep sizes and values; datums and columns are those of the target, projected."""
    wide = of("double")
    rows = read(of("int"), '{"x": 1}', '{"x": 22}', '{"x": 333}')
    assert rows.sizes() == [8, 9, 10]
    assert rows.part(1, 3).sizes() == [9, 10]
    assert rows.pick([2, 0]).values(wide) == [{"x": 333.0}, {"x": 1.0}]
    assert rows.datums(wide) == codec(wide).encode([{"x": 1.0}, {"x": 22.0}, {"x": 333.0}])
    assert rows.part(0, 1).arrow(wide).to_pylist() == [{"x": 1.0}]
