"""The `$Key` variant of every class that has one, and ValueToKey: what becomes of keys, and that values stay."""

from __future__ import annotations

import json

import pytest

from kafka_s3.settings.transforms import catalogue
from tests.values.transforms.chains import AT_MS, one, record, written

JSON = "io.confluent.connect.s3.format.json.JsonFormat"
KEYS = {
    "store.kafka.keys": "true",
    "keys.format.class": JSON,
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "key.converter.schemas.enable": "false",
}
HEADERS = {"store.kafka.headers": "true", "headers.format.class": JSON}
VALUE = b'{ "v" : 1.50 }'  # no converter would write it like this

CASES: list[tuple[str, dict[str, str], object, object]] = [
    ("Cast", {"spec": "a:int32,b:string"}, {"a": "7", "b": True}, {"a": 7, "b": "true"}),
    ("Cast", {"spec": "string"}, 7, "7"),
    ("ExtractField", {"field": "a"}, {"a": 7, "b": 8}, 7),
    ("Flatten", {"delimiter": "_"}, {"a": {"b": 1}}, {"a_b": 1}),
    ("HoistField", {"field": "h"}, {"a": 1}, {"h": {"a": 1}}),
    (
        "InsertField",
        {"offset_field": "o", "static_field": "s", "static_value": "t"},
        {"a": 1},
        {"a": 1, "o": 5, "s": "t"},
    ),
    ("MaskField", {"fields": "a,b"}, {"a": 1, "b": "x", "c": 2}, {"a": 0, "b": "", "c": 2}),
    ("ReplaceField", {"exclude": "a", "renames": "b:c"}, {"a": 1, "b": 2}, {"c": 2}),
    (
        "TimestampConverter",
        {"field": "a", "target_type": "string", "format": "yyyy-MM-dd"},
        {"a": AT_MS},
        {"a": "2016-02-24"},
    ),
]


def beside(body: bytes, key: object, more: dict[str, str]) -> dict[str, bytes]:
    """The objects of one record, by the member of the family that they are."""
    outcome, objects = written({**KEYS, **more}, [record(5, body, key=json.dumps(key).encode())])
    assert not outcome.rejected, outcome.rejected
    return {key.split(".")[1]: made for key, made in objects.items()}


@pytest.mark.parametrize(("name", "options", "before", "after"), CASES)
def test_keys_are_changed_and_values_are_not(name: str, options: dict[str, str], before: object, after: object) -> None:
    """The class does to keys what it does to values; a value that nothing looks at keeps every byte."""
    made = beside(VALUE, before, one(f"{name}$Key", **options))
    assert json.loads(made["keys"]) == after
    assert made["json"] == VALUE + b"\n"


@pytest.mark.parametrize(("operation", "left"), [("copy", {"a": 1, "b": "z"}), ("move", {"b": "z"})])
def test_headers_are_made_of_keys(operation: str, left: object) -> None:
    """HeaderFrom$Key: fields of the key become headers; `move` takes them away."""
    chain = one("HeaderFrom$Key", fields="a", headers="x", operation=operation)
    made = beside(VALUE, {"a": 1, "b": "z"}, {**HEADERS, **chain})
    assert json.loads(made["headers"])["headers"] == [{"key": "x", "value": "1"}]
    assert json.loads(made["keys"]) == left
    assert made["json"] == VALUE + b"\n"


def test_a_keys_schema_is_renamed() -> None:
    """SetSchemaMetadata$Key: the keys' file has the name, that of the values does not."""
    schema = {"type": "struct", "name": "Before", "fields": [{"field": "a", "type": "int32"}]}
    more = {
        **one("SetSchemaMetadata$Key", schema_name="Renamed"),
        "keys.format.class": "io.confluent.connect.s3.format.avro.AvroFormat",
        "key.converter.schemas.enable": "true",
    }
    made = beside(VALUE, {"schema": schema, "payload": {"a": 1}}, more)
    assert b"Renamed" in made["keys"]
    assert b"Before" not in made["keys"]
    assert made["json"] == VALUE + b"\n"


def test_a_key_without_a_schema_is_said_to_be_one() -> None:
    """The reason speaks of the key, where the key has none."""
    more = {**KEYS, **one("SetSchemaMetadata$Key", schema_name="Renamed"), "errors.tolerance": "all"}
    outcome, _ = written(more, [record(0, {"v": 1}, key=b'{"a": 1}')])
    assert [each.reason for each in outcome.rejected] == [
        "transforms.it: the key has no schema, whose name or version could be set"
    ]


def test_fields_of_the_value_become_the_key() -> None:
    """ValueToKey: these fields alone, and the value keeps them."""
    made = beside(b'{"a":1,"b":2,"c":3}', {"old": 1}, one("ValueToKey", fields="c,a"))
    assert json.loads(made["keys"]) == {"c": 3, "a": 1}
    assert json.loads(made["json"]) == {"a": 1, "b": 2, "c": 3}


def test_every_class_with_sides_has_a_case_here() -> None:
    """Of Kafka's: a class that is added needs one for keys. Others' have tests of their own."""
    here = {case[0] for case in CASES} | {"HeaderFrom", "SetSchemaMetadata"}
    kafkas = (each for each in catalogue.TRANSFORMS if each.name.startswith("org.apache.kafka."))
    assert here == {each.short for each in kafkas if each.sides}
