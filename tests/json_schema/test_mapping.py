"""Every row of the table of types in docs/json-schema.md: what a schema becomes, and a value under it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.json_schema.topic import LATEST, JsonTopic, of

ONE_OF = "io_confluent_connect_json_OneOf_field_"
DECIMAL = "org.apache.kafka.connect.data.Decimal"


def optional(avro: Any) -> Any:
    """The type beside null."""
    assert isinstance(avro, list)
    assert avro[0] == "null"
    return avro[1]


@pytest.mark.parametrize(
    ("schema", "avro", "json", "value"),
    [
        ({"type": "boolean"}, "boolean", True, True),
        ({"type": "integer"}, "long", 2**63 - 1, 2**63 - 1),
        ({"type": "integer"}, "long", 1.0, 1),
        ({"type": "number"}, "double", 1.5, 1.5),
        ({"type": "number"}, "double", 7, 7.0),
        ({"type": "string"}, "string", "é", "é"),
        ({"type": "integer", "connect.type": "int32"}, "int", -(2**31), -(2**31)),
        ({"type": "integer", "connect.type": "int64"}, "long", 5, 5),
        ({"type": "number", "connect.type": "float32"}, "float", 0.5, 0.5),
        ({"type": "number", "connect.type": "float64"}, "double", 0.1, 0.1),
        ({"type": "string", "connect.type": "bytes"}, "bytes", "AQI=", b"\1\2"),
    ],
)
def test_single_values(schema: Any, avro: str, json: Any, value: Any) -> None:
    """Types of JSON Schema, and the narrower ones that connect.type says."""
    topic = JsonTopic(of(a=schema))
    assert topic.field("a") == avro
    assert topic.value({"a": json}) == {"a": value}


@pytest.mark.parametrize(("kind", "high"), [("int8", 127), ("int16", 32767)])
def test_small_integers(kind: str, high: int) -> None:
    """connect.type says int8 or int16; a number without room is refused, not cut."""
    topic = JsonTopic(of(a={"type": "integer", "connect.type": kind}))
    assert topic.field("a") == {"type": "int", "connect.type": kind}
    assert topic.value({"a": high}) == {"a": high}
    assert "does not fit into" in topic.refusal({"a": high + 1})


@pytest.mark.parametrize(("json", "unscaled"), [(b"1.5", 150), (b"-2", -200), (b'"Aw=="', 3), (b"1.20", 120)])
def test_decimals(json: bytes, unscaled: int) -> None:
    """A Decimal is a number or base64, whichever decimal.format wrote it; no digit is lost."""
    schema = {"type": "number", "title": DECIMAL, "connect.version": 1, "connect.type": "bytes"}
    topic = JsonTopic(of(a={**schema, "connect.parameters": {"scale": "2"}}))
    assert topic.field("a")["logicalType"] == "decimal"
    value = topic.value(b'{"a":' + json + b"}")["a"]
    assert int.from_bytes(value, signed=True) == unscaled
    assert "more digits behind the point than its scale" in topic.refusal(b'{"a":1.234}')


@pytest.mark.parametrize(
    ("name", "kind", "logical", "value"),
    [
        ("Date", "int32", "date", 20000),
        ("Time", "int32", "time-millis", 1),
        ("Timestamp", "int64", "timestamp-millis", 5),
    ],
)
def test_dates_and_times(name: str, kind: str, logical: str, value: int) -> None:
    """Connect's own types of time are integers with their names as titles."""
    title = f"org.apache.kafka.connect.data.{name}"
    topic = JsonTopic(of(a={"type": "integer", "title": title, "connect.type": kind, "connect.version": 1}))
    assert topic.field("a")["logicalType"] == logical
    assert topic.value({"a": value}) == {"a": value}


@pytest.mark.parametrize("format", ["date", "date-time", "uuid", "none of the known"])
def test_formats_change_nothing(format: str) -> None:
    """`format` says nothing of a type: a date as text is text."""
    topic = JsonTopic(of(a={"type": "string", "format": format}))
    assert topic.field("a") == "string"
    assert topic.value({"a": "x"}) == {"a": "x"}


def test_a_format_beside_integer() -> None:
    """Draft 7: words of texts make an integer two types, of which the integer stays, and connect.type is lost."""
    schema = {"type": "integer", "format": "int32", "connect.type": "int32", "title": "N"}
    assert JsonTopic(of(a=schema)).field("a") == "long"
    assert JsonTopic({**of(a=schema), "$schema": LATEST}).field("a") == {"type": "int", "connect.name": "N"}


def test_objects_are_structs() -> None:
    """The title is the struct's name, the description its documentation; unknown properties are left out."""
    inner = {
        "type": "object",
        "title": "shop.Address",
        "description": "where",
        "properties": {"city": {"type": "string"}},
    }
    topic = JsonTopic({**of(to=inner), "title": "Order"})
    assert topic.schema().name == "Order"
    assert topic.field("to") == {
        "type": "record",
        "name": "Address",
        "namespace": "shop",
        "fields": [{"name": "city", "type": "string"}],
        "connect.doc": "where",
        "connect.name": "shop.Address",
    }
    assert topic.value({"to": {"city": "Bonn", "zip": 5}, "more": 1}) == {"to": {"city": "Bonn"}}


def test_the_order_of_fields() -> None:
    """connect.index orders fields; without it they come as Java's HashMap has their names."""
    names = ["id", "name", "amount", "zeta"]
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}}
    assert [each["name"] for each in JsonTopic(schema).avro()["fields"]] == ["zeta", "amount", "name", "id"]
    indexed = {name: {"type": "string", "connect.index": 10 - at} for at, name in enumerate(names)}
    found = JsonTopic({"type": "object", "properties": indexed}).avro()["fields"]
    assert [each["name"] for each in found] == ["zeta", "amount", "name", "id"]
    both = {"a": {"type": "string", "connect.index": 0}, "b": {"type": "string", "connect.index": 0}}
    assert {each["name"] for each in JsonTopic({"type": "object", "properties": both}).avro()["fields"]} == {"a", "b"}


def test_names_that_avro_does_not_take() -> None:
    """A name with other characters is changed for Avro, and kept beside it; JSON has the name itself."""
    topic = JsonTopic({"type": "object", "properties": {"order-id": {"type": "integer"}}})
    assert topic.avro()["fields"] == [{"name": "order_id", "type": "long", "connect.name": "order-id"}]
    assert topic.value({"order-id": 3}) == {"order_id": 3}


@pytest.mark.parametrize("draft", [None, LATEST])
@pytest.mark.parametrize(
    "schema",
    [
        {"type": ["string", "null"]},
        {"oneOf": [{"type": "null"}, {"type": "string"}]},
        {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None, "title": "Name"},
    ],
)
def test_optional_values(draft: str | None, schema: dict[str, Any]) -> None:
    """A type beside null is optional; what stands beside the two says nothing."""
    topic = JsonTopic({**of(a=schema), **({"$schema": draft} if draft else {})})
    assert topic.field("a") == ["null", "string"]
    assert topic.value({"a": None}) == topic.value({}) == {"a": None}


def test_required_is_what_is_not_optional() -> None:
    """A property that is missing is refused, `required` or not, unless it is optional or has a default."""
    topic = JsonTopic({**of(a={"type": "string"}), "required": []})
    assert "a: null or missing, but required" in topic.refusal({})
    assert "a: null or missing, but required" in topic.refusal({"a": None})
    assert topic.value({}, use_optional_for_nonrequired=True) == {"a": None}


def test_defaults() -> None:
    """A default stands for what is missing, and for null; one of null is none."""
    topic = JsonTopic(of(a={"type": "integer", "default": 7}, b={"type": "string", "default": None}))
    assert topic.value({"b": "x"}) == topic.value({"a": None, "b": "x"}) == {"a": 7, "b": "x"}
    assert "b: null or missing" in topic.refusal({"a": 1})
    assert "default" in JsonTopic(of(a={"type": "integer", "default": "x"})).refusal({"a": 1})


@pytest.mark.parametrize("schema", [{"enum": ["a", 1, None]}, {"type": "string", "enum": ["a", 1, None]}])
def test_enums_are_texts(schema: dict[str, Any]) -> None:
    """An enum is a string with its values as parameters; only validation would look for the value among them."""
    word = "io.confluent.connect.json.Enum"
    topic = JsonTopic(of(a=schema))
    parameters = {word: "", f"{word}.a": "a", f"{word}.1": "1", f"{word}.<NULL>": "<NULL>"}
    assert topic.field("a") == {"type": "string", "connect.parameters": parameters}
    assert topic.value({"a": "other"}) == {"a": "other"}
    assert "is not a string" in topic.refusal({"a": 1})


def test_enums_and_constants_of_numbers() -> None:
    """Beside a number's type `enum` and `const` say nothing; without a type `const` has none."""
    topic = JsonTopic(of(a={"type": "integer", "enum": [1, 2]}, b={"type": "string", "const": "x"}))
    assert [topic.field("a"), topic.field("b")] == ["long", "string"]
    assert "Connect has no type for const" in JsonTopic(of(a={"const": "x"})).refusal({"a": "x"})


def test_arrays() -> None:
    """Arrays have one type of items; one that says none is refused."""
    topic = JsonTopic(of(a={"type": "array", "items": {"type": ["integer", "null"]}}))
    assert topic.field("a") == {"type": "array", "items": ["null", "long"]}
    assert topic.value({"a": [1, None]}) == {"a": [1, None]}
    assert "does not say the type of its items" in JsonTopic(of(a={"type": "array"})).refusal({"a": []})


def test_maps_of_texts() -> None:
    """connect.type map: an object is a map of additionalProperties, whose keys are texts."""
    topic = JsonTopic(of(a={"type": "object", "connect.type": "map", "additionalProperties": {"type": "integer"}}))
    assert topic.field("a") == {"type": "map", "values": "long"}
    assert topic.value({"a": {"x": 1}}) == {"a": {"x": 1}}
    assert "is not an object" in topic.refusal({"a": []})


@pytest.mark.parametrize("key", [{"type": "integer"}, {"type": ["string", "null"]}])
def test_maps_of_other_keys(key: dict[str, Any]) -> None:
    """connect.type map: an array of objects of `key` and `value` is a map, a list of them in Avro and Parquet."""
    entry = {"type": "object", "properties": {"key": key, "value": {"type": "string"}}}
    topic = JsonTopic(of(a={"type": "array", "connect.type": "map", "items": entry}))
    given = 1 if key["type"] == "integer" else "k"
    assert topic.field("a")["items"]["name"] == "MapEntry"
    assert topic.value({"a": [{"key": given, "value": "x"}]}) == {"a": [{"key": given, "value": "x"}]}
    twice = [{"key": given, "value": "x"}, {"value": "y", "key": given}]
    assert topic.value({"a": twice}) == {"a": [{"key": given, "value": "y"}]}
    assert "exactly 'key' and 'value'" in topic.refusal({"a": [{"key": given}]})


@pytest.mark.parametrize("word", ["oneOf", "anyOf"])
def test_unions(word: str) -> None:
    """oneOf and anyOf are a struct with a field for each schema, of which a value has one."""
    inner = {"type": "object", "title": "P", "properties": {"x": {"type": "integer"}}}
    topic = JsonTopic(of(a={word: [{"type": "string"}, {"type": "integer"}, inner, {"type": "null"}]}))
    union = optional(topic.field("a"))
    assert union["connect.name"] == "io.confluent.connect.json.OneOf"
    assert [each["connect.name"] for each in union["fields"]] == [
        f"io.confluent.connect.json.OneOf.field.{number}" for number in range(3)
    ]
    nothing = {f"{ONE_OF}{number}": None for number in range(3)}
    assert topic.value({"a": "t"})["a"] == {**nothing, f"{ONE_OF}0": "t"}
    assert topic.value({"a": 5})["a"] == {**nothing, f"{ONE_OF}1": 5}
    assert topic.value({"a": {"x": 5}})["a"] == {**nothing, f"{ONE_OF}2": {"x": 5}}
    assert topic.value({"a": None}) == {"a": None}
    assert "fits none of the union's schemas" in topic.refusal({"a": True})


def test_which_schema_of_a_union() -> None:
    """The first whose kind of JSON fits; of structs the one that knows most properties, the first of several."""
    structs = [
        {"type": "object", "title": t, "properties": {n: {"type": "integer"} for n in t}} for t in ("a", "ab", "ac")
    ]
    topic = JsonTopic({"oneOf": [*structs, {"type": "number"}, {"type": "integer"}]}, None)

    def chosen(value: Any) -> int:
        (number,) = [at for at, each in enumerate(topic.value(value).values()) if each is not None]
        return number

    assert [chosen(each) for each in ({"a": 1}, {"a": 1, "b": 1}, {"a": 1, "c": 1}, 5, 5.5)] == [0, 1, 2, 3, 3]
    assert "fits none" in topic.refusal("x")
    assert "c: null or missing" in topic.refusal({"c": None, "a": 1})


def test_all_of() -> None:
    """allOf is a struct of all properties, those of what it refers to as well; it has no name."""
    base = {"type": "object", "title": "B", "properties": {"id": {"type": "integer"}, "x": {"type": "string"}}}
    more = {"properties": {"x": {"type": "integer"}, "z": {"type": "boolean"}}}
    topic = JsonTopic({"allOf": [{"$ref": "#/definitions/B"}, more], "title": "T", "definitions": {"B": base}})
    assert [(each["name"], each["type"]) for each in topic.avro()["fields"]] == [
        *(("x", "long"), ("id", "long"), ("z", "boolean")),
    ]
    assert topic.value({"id": 1, "x": 2, "z": True}) == {"x": 2, "id": 1, "z": True}


@pytest.mark.parametrize(
    "schema", [True, {}, {"not": {}}, {"if": {}}, {"type": "null"}, {"allOf": [{"type": "boolean"}]}]
)
def test_what_connect_has_no_type_for(schema: Any) -> None:
    """A schema of anything, and what says no type: its records are refused, and the place is named."""
    assert "a: Connect has no type for" in JsonTopic({"type": "object", "properties": {"a": schema}}).refusal({"a": 1})


@pytest.mark.parametrize("word", ["definitions", "$defs"])
def test_references_within_a_schema(word: str) -> None:
    """A $ref is what it names; a struct that is meant twice is one type."""
    inner = {"type": "object", "title": "P", "properties": {"x": {"type": "integer"}}}
    to = {"$ref": f"#/{word}/P"}
    topic = JsonTopic({**of(a=to, b={"oneOf": [{"type": "null"}, to]}), word: {"P": inner}})
    assert topic.field("a")["name"] == "P"
    assert topic.field("b") == ["null", "io.confluent.connect.avro.P"]
    assert topic.value({"a": {"x": 1}, "b": {"x": 2}}) == {"a": {"x": 1}, "b": {"x": 2}}
    for struct in ({**of(p=inner), "title": "S"}, {"allOf": [of(p=inner)]}):
        for properties in (
            {"a": struct, "b": {"$ref": "#/properties/a"}},
            {"a": {"$ref": "#/properties/b"}, "b": struct},
        ):
            topic = JsonTopic(of(**properties))
            assert topic.field("b").rpartition(".")[2] == topic.field("a")["name"]
            assert topic.field("b", use_optional_for_nonrequired=True)[0] == "null"


@pytest.mark.parametrize("base", [None, "http://shop/order.json"])
def test_references_to_other_schemas(base: str | None) -> None:
    """The names of a schema's references are addresses, relative to its own; so are those of what they refer to."""
    city = {"type": "object", "properties": {"to": {"$ref": "city.json#/definitions/C"}}}
    parts = {"city.json": {"definitions": {"C": {"type": "string"}}}, "address.json": city}
    topic = JsonTopic({**of(a={"$ref": "address.json"}), **({"$id": base} if base else {})}, parts)
    assert topic.value({"a": {"to": "Bonn"}}) == {"a": {"to": "Bonn"}}


@pytest.mark.parametrize("draft", [None, LATEST, "http://json-schema.org/draft-04/schema#"])
def test_structs_inside_themselves(draft: str | None) -> None:
    """A struct may hold itself: beside null, in arrays, maps and unions."""
    me = {"$ref": "#/definitions/T"}
    inside = of(
        n={"type": "integer"},
        next={"oneOf": [{"type": "null"}, me]},
        all={"type": "array", "items": me},
        by={"type": "object", "connect.type": "map", "additionalProperties": me},
        one={"oneOf": [me, {"type": "string"}]},
    )
    schema = {"$ref": "#/definitions/T", "definitions": {"T": {**inside, "title": "T"}}}
    topic = JsonTopic({**schema, **({"$schema": draft} if draft else {})})
    leaf = {"n": 1, "next": None, "all": [], "by": {}, "one": "x"}
    value = {"n": 0, "next": leaf, "all": [leaf], "by": {"k": leaf}, "one": leaf}
    plain = {**leaf, "one": {f"{ONE_OF}0": None, f"{ONE_OF}1": "x"}}
    assert topic.value(value) == {
        "n": 0,
        "next": plain,
        "all": [plain],
        "by": {"k": plain},
        "one": {f"{ONE_OF}0": plain, f"{ONE_OF}1": None},
    }


@pytest.mark.parametrize("year", ["2019-09", "2020-12"])
def test_modern_dialects(year: str) -> None:
    """Keywords of one type are merged, `format` says nothing, several types are only these, $ref is not alone."""
    draft = f"https://json-schema.org/draft/{year}/schema"
    schema = {
        **of(
            a={"type": "integer", "minimum": 1, "connect.type": "int32"},
            b={"$ref": "#/$defs/B", "description": "beside"},
            c={"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "string"}},
        ),
        "$defs": {"B": {"$anchor": "b", "type": "string"}},
        "$schema": draft,
    }
    assert "c: an array does not say the type of its items" in JsonTopic(schema).refusal({})
    del schema["properties"]["c"]
    topic = JsonTopic(schema)
    assert [topic.field("a"), topic.field("b")] == ["int", "string"]
    several = {"type": ["object", "null"], "properties": {"x": {"type": "string"}}}
    assert optional(JsonTopic(of(a=several)).field("a"))["type"] == "record"
    assert JsonTopic({**of(a=several), "$schema": draft}).field("a")["type"] == "record"  # not optional


def test_metadata_of_connect() -> None:
    """connect.version counts before the registry's, connect.parameters are parameters, description is doc."""
    words = {"description": "d", "connect.version": 9, "connect.parameters": {"p": "q"}, "title": "N"}
    topic = JsonTopic(of(a={"type": "string", **words}))
    found = {"connect.doc": "d", "connect.version": 9, "connect.parameters": {"p": "q"}, "connect.name": "N"}
    assert topic.field("a") == {"type": "string", **found}
    assert topic.schema().version == 1


@pytest.mark.parametrize(
    ("schema", "json", "value"),
    [
        ({"type": "integer"}, 5, 5),
        ({"type": "string"}, "x", "x"),
        ({"type": "array", "items": {"type": "string"}}, ["x"], ["x"]),
        ({"type": "object", "connect.type": "map", "additionalProperties": {"type": "string"}}, {"a": "b"}, {"a": "b"}),
    ],
)
def test_values_that_are_no_objects(schema: dict[str, Any], json: Any, value: Any) -> None:
    """A value may be of any type, as keys often are; null is a tombstone where the schema takes it."""
    assert JsonTopic(schema).value(json) == value
    assert "null or missing, but required" in JsonTopic(schema).refusal(None)
    rows = JsonTopic({"oneOf": [schema, {"type": "null"}]}).rows(None)
    assert "Tombstone" in repr(rows.excluded[0])
