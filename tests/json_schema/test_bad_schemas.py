"""Schemas that cannot be used, and values that are none: each record is refused in one sentence, and nothing raises."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_s3.shown import said
from kafka_s3.values.rows import Unwritable
from tests.json_schema.topic import JsonTopic, framed, of

TEXT = {"type": "string"}


def refusals(topic: JsonTopic, *values: bytes | None) -> list[str]:
    excluded = topic.converter()(values).excluded
    return [said(each.reason, content=False) for each in excluded.values() if isinstance(each, Unwritable)]


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "not JSON of a schema registry: 0 bytes"),
        (b"\0\0", "not JSON of a schema registry: 2 bytes"),
        (b'{"a":1}', "not JSON of a schema registry: the first byte is another, not 00"),
        (framed(99, {}), "the schema registry has no schema of the id 99"),
        (b"\0\xff\xff\xff\xff{}", "the schema registry has no schema of the id 4294967295"),
        (framed(1, b""), "not a value of the schema of the id 1: not JSON: the value is empty"),
        (framed(1, b"{"), "not a value of the schema of the id 1: not JSON: "),
        (framed(1, b'{"a":"\xff"}'), "not JSON: not UTF-8 at byte 6"),
        (framed(1, b'{"a":"\\ud800"}'), "half a surrogate pair"),
        (framed(1, b'{"a":NaN}'), "NaN is not a JSON number"),
        (framed(1, []), "an array is not an object, as a struct is"),
        (framed(1, {"a": 5}), "a: "),
        (framed(1, b"[" * 150), "nested more than 100 levels deep"),
    ],
)
def test_values_that_are_none(raw: bytes, why: str) -> None:
    """Each is refused with its reason, without what it holds; the records around it are kept."""
    topic = JsonTopic(of(a=TEXT))
    good = framed(1, {"a": "x"})
    rows = topic.converter()([good, raw, good])
    assert list(rows.excluded) == [1]
    assert why in refusals(topic, raw)[0]
    assert rows.pick([0, 2]).values(topic.schema()) == [{"a": "x"}] * 2


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ("{", "not JSON: "),
        ("[]", "a schema is neither an object nor true or false"),
        ({"type": "wrong"}, "'type' is not a JSON Schema type"),
        ({"type": 5}, "'type' is not a JSON Schema type"),
        ({"type": [["string"]]}, "'type' is not a JSON Schema type"),
        ({"properties": []}, "'properties' is not an object"),
        ({"required": "a"}, "'required' is not an array of names"),
        ({"items": 5, "type": "array"}, "'items' is not a schema"),
        ({"oneOf": {}}, "'oneOf' is not an array"),
        ({"oneOf": []}, "'oneOf' has no schema but null"),
        ({"oneOf": [{"type": "null"}, {"type": "null"}]}, "'oneOf' has no schema but null"),
        ({"enum": 5}, "'enum' is not an array"),
        ({"title": 5, "type": "string"}, "'title' is not a string"),
        (of(a={"$ref": "gone.json"}), "a: it refers to gone.json, which the registry does not have under that name"),
        (of(a={"$ref": "#/definitions/Gone"}), "a: it refers to #/definitions/Gone, which does not exist"),
        (of(a={"$ref": "#/properties/0"}), "which does not exist"),
        (of(a={"$ref": "http://[x"}), "is not a valid address"),
        ({"$id": "http://[", "type": "string"}, "http://[ is not a valid address"),
        (of(a={"$id": "http://[", "type": "string"}), "http://[ is not a valid address"),
        (of(a={"$ref": 5}), "'$ref' is not a string"),
        ({"$ref": "#"}, "refers to itself without an object between"),
        ({"type": "array", "items": {"$ref": "#"}}, "refers to itself without an object between"),
        ({"oneOf": [{"$ref": "#"}, {"$ref": "#"}]}, "refers to itself without an object between"),
        ({"allOf": [{"$ref": "#"}]}, "refers to itself without an object between"),
        (of(a={"$ref": "#" + "x" * 2048}), "xxx… is an address of more than 2048 characters"),
        (of(a={**TEXT, "$id": "x" * 2049}), "xxx… is an address of more than 2048 characters"),
        ({"$id": "http://x/" + "x" * 2030 + "/", **of(a={**TEXT, "$id": "y" * 20})}, "an address of more than 2048"),
        (of(a={"allOf": [{"$ref": "#"}]}), "used: a.a: allOf holds itself: Connect cannot have it"),
        (of(a={"oneOf": [{"type": "null"}, {"allOf": [{"$ref": "#"}]}]}), "used: a.a: allOf holds itself"),
        ({"$ref": "#/definitions/A", "definitions": {"A": {"$ref": "#/definitions/A"}}}, "refers to itself"),
        (of(a={"type": "integer", "connect.type": "map"}), "the connect.type of a number is not one that numbers have"),
        (of(a={"type": "integer", "connect.type": 5}), "a: connect.type is not a string"),
        ({"type": "object", "connect.type": "map"}, "a map does not say the type of its values"),
        (
            {"type": "array", "connect.type": "map", "items": {"type": "object", "properties": {}}},
            "the entries of a map have no property 'key'",
        ),
        (of(a={**TEXT, "connect.version": "1"}), "connect.version is not a 32-bit integer"),
        (of(a={**TEXT, "connect.parameters": {"a": 1}}), "connect.parameters is not an object of strings"),
        (of(a={**TEXT, "title": "org.apache.kafka.connect.data.Decimal"}), "is a name of bytes, not of string"),
        (
            of(a={**TEXT, "connect.type": "bytes", "title": "org.apache.kafka.connect.data.Decimal"}),
            "a Decimal's parameter 'scale' is not a number",
        ),
        (of(a={"type": "integer", "default": 1.5}), "default: a number with a fraction"),
        ({"title": "\ud800", **of(a=TEXT)}, "half a surrogate pair"),
    ],
)
def test_schemas_that_cannot_be_used(schema: Any, why: str) -> None:
    """Each is said once for each record that names it, with the place in the schema."""
    topic = JsonTopic(schema)
    found = refusals(topic, framed(topic.id, {"a": 1}), framed(topic.id, b""))
    assert len(found) == 2
    assert all(f"the schema of the id {topic.id} cannot be used: " in each for each in found)
    assert all(why in each for each in found)


@pytest.mark.parametrize("name", ["http://[", "//[", "http://\u2100/"])
def test_names_of_references_that_are_none(name: str) -> None:
    """A registry takes any name for a reference."""
    assert f"{name} is not a valid address" in JsonTopic(of(a=TEXT), {name: TEXT}).refusal({"a": "x"})


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"b":', b"}")])
def test_depth_beside_other_records(opening: bytes, closing: bytes) -> None:
    """A property that the schema ignores may be as deep as others, whichever records stand before it."""
    topic = JsonTopic(of(a=TEXT))
    good = framed(topic.id, {"a": "x"})
    most, deep = (
        framed(topic.id, b'{"a":"x","b":' + opening * levels + b"1" + closing * levels + b"}") for levels in (99, 100)
    )
    for before in ([], [good], [deep], [good, deep]):
        rows = topic.converter()([*before, deep, most])
        assert list(rows.excluded) == [index for index, each in enumerate([*before, deep]) if each is deep]
    assert "nested more than 100 levels deep" in refusals(topic, good, deep)[0]


@pytest.mark.parametrize("index", ["1", 1.0, 2**31, True, None, [], {}])
def test_an_index_that_is_none(index: Any) -> None:
    """connect.index is an integer of 32 bits, or null, which says nothing."""
    topic = JsonTopic({"type": "object", "properties": {"a": {**TEXT, "connect.index": index}}})
    if index is None:
        assert topic.value({"a": "x"}) == {"a": "x"}
    else:
        assert "connect.index is not a 32-bit integer" in topic.refusal({"a": "x"})


@pytest.mark.parametrize("index", [-(2**31), -1, 0, 2**31 - 1])
def test_an_index_of_any_size(index: int) -> None:
    """Whatever the numbers are, no property is lost."""
    properties = {name: {**TEXT, "connect.index": index} for name in "abc"}
    topic = JsonTopic({"type": "object", "properties": {**properties, "d": TEXT}})
    assert set(topic.value(dict.fromkeys("abcd", "x"))) == set("abcd")


def test_schemas_of_another_type() -> None:
    """An id of Avro or Protobuf is refused by its type."""
    topic = JsonTopic(of(a=TEXT))
    avro = topic.registry.register("other", '"string"')
    proto = topic.registry.register("third", 'syntax = "proto3"; message M { }', type="PROTOBUF")
    found = refusals(topic, framed(avro, {}), framed(proto, {}))
    assert [each.partition(" (")[0] for each in found] == [
        f"the schema of the id {avro} is of the type AVRO, not JSON",
        f"the schema of the id {proto} is of the type PROTOBUF, not JSON",
    ]


def test_schemas_that_stand_for_more_and_more() -> None:
    """Each refers to the next twice, 20 times over: it is refused before it is made."""
    definitions = {
        f"D{n}": of(a={"$ref": f"#/definitions/D{n + 1}"}, b={"$ref": f"#/definitions/D{n + 1}"}) for n in range(20)
    }
    definitions["D20"] = of(a=TEXT)
    assert "stands for more than 20000 schemas" in JsonTopic(
        {"$ref": "#/definitions/D0", "definitions": definitions}
    ).refusal({})
    lists = {f"D{n}": {"oneOf": [{"$ref": f"#/definitions/D{n + 1}"}] * 2} for n in range(20)}
    lists["D20"] = TEXT
    assert "stands for more than 20000 schemas" in JsonTopic(
        {"$ref": "#/definitions/D0", "definitions": lists}
    ).refusal({})


def test_allof_of_more_and_more() -> None:
    """What an allOf collects counts as often as it is collected."""
    struct = {"allOf": [{"$ref": "#/definitions/Last"}] * 200}
    properties = {f"a{number}": {"allOf": [{"$ref": "#/definitions/All"}]} for number in range(200)}
    definitions = {"All": struct, "Last": of(a=TEXT)}
    schema = {"type": "object", "properties": properties, "definitions": definitions}
    assert "stands for more than 20000 schemas" in JsonTopic(schema).refusal({})


@pytest.mark.parametrize(("links", "is_known"), [(31, True), (32, False), (200, False)])
def test_allof_of_references_to_others(links: int, is_known: bool) -> None:
    """Each refers to the next: 64 levels are the most."""
    definitions = {f"D{n}": {"allOf": [{"$ref": f"#/definitions/D{n + 1}"}]} for n in range(links)}
    definitions[f"D{links}"] = of(a=TEXT)
    topic = JsonTopic({**definitions["D0"], "definitions": definitions})
    if is_known:
        assert topic.value({"a": "x"}) == {"a": "x"}
    else:
        assert "'allOf' and what it refers to are nested more than 64 levels deep" in topic.refusal({})


def test_schemas_that_are_deep() -> None:
    """64 levels are the most, in properties as in combinations."""
    deep: Any = TEXT
    for _ in range(70):
        deep = of(a=deep)
    assert "nested more than 64 levels deep" in JsonTopic(deep).refusal({})
    deep = TEXT
    for _ in range(70):
        deep = {"allOf": [deep]}
    assert "more than 64 levels deep" in JsonTopic(deep).refusal({})
    deep = "[" * 100_000
    assert "nested too deeply" in JsonTopic(deep).refusal({})


def test_an_enum_of_many_values() -> None:
    """Ten thousand values are as many parameters of a string."""
    topic = JsonTopic(of(a={"enum": [f"symbol {n}" for n in range(10_000)]}))
    assert topic.value({"a": "x"}) == {"a": "x"}
