"""Schemas of many objects within each other: a record's fate is the same however much of the stack its caller took."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from kafka_s3.ports import RegisteredSchema
from kafka_s3.records import Record
from tests.pairs.bombs import length, proto
from tests.pairs.exported import export, registries_of, settings_of
from tests.pairs.kinds import kinds

T = TypeVar("T")
HEAD = b"\0\0\0\0\1"
#: Around the limits: 48 types in a column, 64 in a schema (a message that may be missing is two), 100 in a value.
DEPTHS = (1, 20, 30, 46, 48, 61, 62, 63, 64, 65, 99, 101, 150, 200)
#: Frames of a caller: Airflow's and Spark's are fewer.
FRAMES = 200


def avro(depth: int) -> tuple[RegisteredSchema, bytes]:
    made: Any = "int"
    for level in range(depth):
        made = {"type": "record", "name": f"R{level}", "fields": [{"name": "a", "type": made}]}
    return RegisteredSchema(1, json.dumps(made)), HEAD + b"\2"


def avro_optional(depth: int) -> tuple[RegisteredSchema, bytes]:
    made: Any = "int"
    for level in range(depth):
        made = {"type": "record", "name": f"R{level}", "fields": [{"name": "a", "type": ["null", made]}]}
    return RegisteredSchema(1, json.dumps(made)), HEAD + b"\2" * (depth + 1)


def protobuf(depth: int) -> tuple[RegisteredSchema, bytes]:
    texts, body = [f"message M{depth} {{ int32 a = 1; }}"], b"\x08\1"
    for level in reversed(range(depth)):
        texts.append(f"message M{level} {{ M{level + 1} a = 1; }}")
        body = b"\x0a" + length(len(body)) + body
    return proto(" ".join(reversed(texts))), HEAD + b"\0" + body


def json_schema(depth: int) -> tuple[RegisteredSchema, bytes]:
    text = '{"type":"object","properties":{"a":' * depth + '{"type":"integer"}' + "}}" * depth
    return RegisteredSchema(1, text, "JSON"), HEAD + b'{"a":' * depth + b"1" + b"}" * depth


def further_down(frames: int, call: Callable[[], T]) -> T:
    return call() if not frames else further_down(frames - 1, call)


def fate(kind: str, format: str, schema: RegisteredSchema, raw: bytes) -> tuple[int, list[str]]:
    """How many of three records are written, and why the others are not."""
    validated = {"value.converter.json.fail.invalid.schema": "true"} if kind == "JsonSchemaConverter" else {}
    given = {**kinds()[kind].properties("value"), "format.class": format, "errors.tolerance": "all", **validated}
    found = export(settings_of(given), [Record(at, raw) for at in range(3)], registries=registries_of(schema))
    return found.written.records, [why.reason for why in found.refused.values()]


@pytest.mark.parametrize("format", ["JsonFormat", "AvroFormat", "ParquetFormat"])
@pytest.mark.parametrize(
    ("kind", "make"),
    [
        ("AvroConverter", avro),
        ("AvroConverter", avro_optional),
        ("ProtobufConverter", protobuf),
        ("JsonSchemaConverter", json_schema),
    ],
)
def test_depth_of_a_schema_has_one_limit(kind: str, make: Callable[[int], Any], format: str) -> None:
    """Up to it each record is written, beyond it each is refused with a reason; no depth raises."""
    written: list[int] = []
    for depth in DEPTHS:
        schema, raw = make(depth)
        records, why = fate(kind, format, schema, raw)
        assert further_down(FRAMES, lambda schema=schema, raw=raw: fate(kind, format, schema, raw)) == (records, why)
        assert records + len(why) == 3
        assert all("deep" in each for each in why), why
        written.append(records)
    assert written == sorted(written, reverse=True)
    assert written[1] == 3
    assert written[-1] == 0
