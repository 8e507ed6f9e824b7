"""Records and transforms for Kafka's own classes, and both outcomes in one form, so that they can be compared."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from kafka_s3.avro.graph import graph
from kafka_s3.avro.model import Schema
from kafka_s3.avro.nodes import Array, Field, Node, Record
from kafka_s3.ports import Registries
from kafka_s3.ranges import TopicPartition
from kafka_s3.records import ColumnBatch
from kafka_s3.records import Record as KafkaRecord
from kafka_s3.settings.converters import Converter, ConverterSettings
from kafka_s3.values.converters.envelope import EnvelopeJson
from kafka_s3.values.rows import Filtered, Tombstone, Unwritable
from kafka_s3.values.transforms import java
from kafka_s3.values.transforms.cast import float32
from kafka_s3.values.transforms.chain import Chain
from kafka_s3.values.transforms.connect import default_of, logical_of, name_of, type_of
from tests.values.transforms.chains import KAFKA, configured
from tools.connect.transform_oracle import Question

DATA = "org.apache.kafka.connect.data."
PRIMITIVES: dict[str, list[Any]] = {
    "int8": [0, 1, -1, 127, -128],
    "int16": [300, -32768, 7],
    "int32": [70_000, -1, 2**31 - 1],
    "int64": [2**40 + 5, -(2**63), 1_456_300_800_123, 0],
    "float": [1.5, -0.25, 300.0],
    "double": [0.1, 1e20, -2.75, 123456789.125],
    "boolean": [True, False],
    "string": ["12", "-7", "x", "", "true", "1.5", "2016-02-24T08:00:00", "é"],
    "bytes": ["AQI=", ""],
}
#: More digits than a number of 64 bits has, and than Python keeps unless told so.
LONG = (10**35 + 7, -(10**29) - 5, 2**100 + 5, -(10**38) + 1)


def _in_base64(number: int) -> str:
    return base64.b64encode(number.to_bytes(17, "big", signed=True)).decode("ascii")


LOGICAL: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "Decimal": ({"type": "bytes", "parameters": {"scale": "2"}}, ["MDk=", "AA==", *map(_in_base64, LONG)]),
    "Date": ({"type": "int32"}, [0, 16855]),
    "Time": ({"type": "int32"}, [0, 3_600_001]),
    "Timestamp": ({"type": "int64"}, [0, 1_456_300_800_123, 1_456_272_000_000]),
}
TARGETS = ("int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string")


def schema_and_value(random: Random, depth: int = 0) -> tuple[dict[str, Any], Any]:
    """A schema of JsonConverter's envelopes, and a value of it."""
    kinds = [*PRIMITIVES, *LOGICAL]
    kind = random.choice([*kinds, *kinds, "array", "map", "struct", "struct"] if depth < 2 else kinds)
    schema: dict[str, Any]
    if kind in PRIMITIVES:
        schema, value = {"type": kind}, random.choice(PRIMITIVES[kind])
        if random.random() < 0.2 and kind not in ("bytes",):
            schema["default"] = random.choice(PRIMITIVES[kind])
    elif kind in LOGICAL:
        base, values = LOGICAL[kind]
        schema, value = {**base, "name": f"{DATA}{kind}", "version": 1}, random.choice(values)
    elif kind == "array":
        inner, one = schema_and_value(random, 9)
        schema, value = {"type": "array", "items": inner}, [one]
    elif kind == "map":
        inner, one = schema_and_value(random, 9)
        schema, value = {"type": "map", "keys": {"type": "string"}, "values": inner}, {"k": one}
    else:
        schema, value = struct(random, depth + 1)
    if random.random() < 0.35:
        schema["optional"] = True
        value = None if random.random() < 0.4 else value
    return schema, value


def struct(random: Random, depth: int = 0) -> tuple[dict[str, Any], Any]:
    fields, value = [], {}
    for name in ("a", "b", "c", "d")[: random.randint(1, 4)]:
        schema, one = schema_and_value(random, depth)
        fields.append({"field": name, **schema})
        value[name] = one
    schema = {"type": "struct", "fields": fields}
    if random.random() < 0.5:
        schema |= {"name": f"n.S{depth}{random.randint(0, 99999)}", "version": random.randint(1, 3)}
    return schema, value


def plain(random: Random, depth: int = 0) -> Any:
    """JSON without a schema."""
    choices: list[Any] = [1, -5, 2.5, "12", "x", True, None, 1_456_300_800_123, "2016-02-24T08:00:00"]
    if depth < 2 and random.random() < 0.3:
        return {name: plain(random, depth + 1) for name in ("a", "b", "c")[: random.randint(1, 3)]}
    return random.choice(choices)


def envelope(schema: Any, value: Any) -> bytes:
    return json.dumps({"schema": schema, "payload": value}).encode()


def transforms(random: Random) -> tuple[str, dict[str, str]]:
    """A class and its options."""
    fill = {"replace.null.with.default": random.choice(("true", "false"))}
    names = ["a", "b", "c", "d"]
    one, some = random.choice(names), random.sample(names, random.randint(1, 3))
    made: list[tuple[str, dict[str, str]]] = [
        ("Cast", {"spec": ",".join(f"{name}:{random.choice(TARGETS)}" for name in some), **fill}),
        ("Cast", {"spec": random.choice(TARGETS), **fill}),
        ("ExtractField", {"field": one, **fill}),
        ("ExtractField", {"field": f"{one}.a", "field.syntax.version": "V2", **fill}),
        ("Flatten", {"delimiter": random.choice((".", "_"))}),
        ("HoistField", {"field": "whole"}),
        ("InsertField", {"static.field": "s?", "static.value": "v", **fill}),
        (
            "InsertField",
            {"topic.field": "t", "partition.field": "p!", "offset.field": "o", "timestamp.field": "ts", **fill},
        ),
        ("MaskField", {"fields": ",".join(some), **fill}),
        ("MaskField", {"fields": one, "replacement": random.choice(("7", "300", "x", "1.5")), **fill}),
        ("ReplaceField", {"exclude": ",".join(some), **fill}),
        ("ReplaceField", {"include": ",".join(some), "renames": f"{one}:z", **fill}),
        ("SetSchemaMetadata", {"schema.name": "my.Name", **fill}),
        ("SetSchemaMetadata", {"schema.version": "9", **fill}),
        (
            "TimestampConverter",
            {
                "field": random.choice(("", one)),
                "target.type": random.choice(("string", "unix", "Date", "Time", "Timestamp")),
                "format": "yyyy-MM-dd'T'HH:mm:ss",
                "unix.precision": random.choice(("seconds", "milliseconds", "microseconds", "nanoseconds")),
                **fill,
            },
        ),
        ("HeaderFrom", {"fields": one, "headers": "h", "operation": random.choice(("move", "copy")), **fill}),
        ("ValueToKey", {"fields": ",".join(some), **fill}),
    ]
    name, options = random.choice(made)
    return name if name == "ValueToKey" else f"{name}$Value", options


def cases(seed: int, count: int) -> Iterator[Question]:
    for number in range(count):
        random = Random(f"{seed} {number}")
        kind = random.random()
        if kind < 0.6:
            value: bytes | None = envelope(*struct(random))
        elif kind < 0.7:
            value = envelope(*schema_and_value(random))
        elif kind < 0.97:
            value = envelope(None, {name: plain(random) for name in ("a", "b", "c", "d")[: random.randint(1, 4)]})
        else:
            value = None
        type, options = transforms(random)
        yield Question(f"{KAFKA}.{type}", options, value)


def conditions(seed: int, count: int) -> Iterator[Question]:
    """Predicates and records of their own."""
    for number in range(count):
        random = Random(f"{seed} {number}")
        type, options = random.choice(
            [
                ("HasHeaderKey", {"name": random.choice("abc")}),
                ("RecordIsTombstone", {}),
                ("TopicNameMatches", {"pattern": random.choice(PATTERNS)}),
            ]
        )
        headers = tuple((random.choice("abcA"), "x") for _ in range(random.randint(0, 3)))
        value = random.choice([None, envelope(None, {"n": 0}), envelope(*struct(random))])
        topic = random.choice(["orders", "order", "orders.eu", "Orders", "o-1", "x_orders"])
        yield Question(f"{KAFKA}.predicates.{type}", options, value, topic=topic, headers=headers)


PATTERNS = (
    "orders",
    "ord.*",
    ".*",
    "(?i)ORDERS",
    "orders\\.(eu|us)",
    "[a-z]+",
    "o[-0-9]+",
    "[^x]*",
    "order|x_.*",
    "\\w+",
)


# Both outcomes in one form.

_READER = EnvelopeJson(ConverterSettings(Converter.JSON, schemas_enable=True, replace_null_with_default=False))


def ours(question: Question) -> Any:
    """What our chain makes of a question."""
    options = {f"transforms.it.{name}": text for name, text in question.options.items()}
    settings = configured(
        {
            "transforms": "it",
            "transforms.it.type": question.type,
            **options,
            "value.converter.schemas.enable": "true",
            "value.converter.replace.null.with.default": "false",
            "key.converter": Converter.JSON.value,
            "key.converter.schemas.enable": "true",
            "key.converter.replace.null.with.default": "false",
        }
    )
    headers = tuple((name, text.encode()) for name, text in question.headers)
    record = KafkaRecord(question.offset, question.value, question.key, question.timestamp_ms, headers)
    made = Chain(settings, Registries())(ColumnBatch(TopicPartition(question.topic, 3), [record]))
    if made.left:
        why = made.left[0]
        return "dropped" if isinstance(why, Filtered) else f"error: {why.reason if isinstance(why, Unwritable) else ''}"
    key = None if made.key is None else form(made.key.schemas, made.key.values[0])
    (texts,) = made.headers()
    return {
        "topic": made.topics if isinstance(made.topics, str) else made.topics[0],
        "key": key,
        "value": None if made.value is None else form(made.value.schemas, made.value.values[0]),
        "headers": [[name, None if value is None else value.decode()] for name, value in texts],
    }


def theirs(answer: Mapping[str, Any]) -> Any:
    """What Kafka's class made, in the same form."""
    if "error" in answer:
        return f"error: {answer['error']}"
    if "dropped" in answer:
        return "dropped"
    return {
        "topic": answer["topic"],
        "key": _answered(answer["key"]),
        "value": _answered(answer["value"]),
        "headers": answer["headers"],
    }


def _answered(said: Any) -> Any:
    if said is None:
        return None
    if "envelope" not in said:
        return _typed(said)
    body = base64.b64decode(said["envelope"])
    rows = _READER([body])
    if rows.excluded and not isinstance(rows.excluded[0], Tombstone):
        return f"unread: {rows.excluded[0]}"
    schema = rows.schemas if isinstance(rows.schemas, Schema | None) else rows.schemas[0]
    if rows.excluded:  # null, under whatever schema
        return "null"
    return form(schema, rows.values(schema)[0])


def form(schemas: Any, value: Any) -> Any:
    schema = schemas if isinstance(schemas, Schema | None) else schemas[0]
    if value is None:
        return None if schema is None else "null"
    return _schemaless(value) if schema is None else [said(graph(schema)), repr(_named(graph(schema), value))]


def _typed(said: Mapping[str, Any]) -> Any:
    if said is None:
        return None
    ((kind, value),) = said.items()
    if kind == "map":
        return {name: _typed(each) for name, each in value.items()}
    if kind in ("Float", "Double"):  # Java before 19 writes more digits than a number has
        return [kind, float32(float(value)) if kind == "Float" else float(value)]
    return [_typed(each) for each in value] if kind == "list" else [kind, value]


_JAVA = {
    bool: "Boolean",
    int: "Long",
    float: "Double",
    str: "String",
    java.Int8: "Byte",
    java.Int16: "Short",
    java.Int32: "Integer",
    java.Float32: "Float",
    java.Moment: "Date",
}


def _schemaless(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, dict):
        return {name: _schemaless(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_schemaless(each) for each in value]
    kind = _JAVA[type(value)]
    if isinstance(value, bool):
        return [kind, str(value).lower()]
    if isinstance(value, float):
        return [kind, float(value)]
    return [kind, str(value) if isinstance(value, str) else str(int(value))]


def _named(node: Node, value: Any) -> Any:
    """A value with the names that Connect's fields have."""
    one = node.required
    if value is None:
        return None
    if isinstance(one, Record):
        return {name_of(each): _named(each.node, value[each.name]) for each in one.fields}
    return [_named(one.item, each) for each in value] if isinstance(one, Array) else value


def said(node: Node, field: Field | None = None) -> Any:
    """What Connect would say of a schema."""
    one = node.required
    words = one.properties
    named = words.get("connect.name")
    inner: Any = None
    if isinstance(one, Record):
        inner = [[name_of(each), said(each.node, each)] for each in one.fields]
    elif isinstance(one, Array) or hasattr(one, "item"):
        inner = said(one.item)
    default = default_of(field) if field is not None else words.get("connect.default")
    return [
        type_of(node),
        node.nullable,
        named or logical_of(node),
        words.get("connect.version"),
        words.get("connect.parameters"),
        repr(default),
        inner,
    ]
