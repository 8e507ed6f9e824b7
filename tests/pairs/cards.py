"""A card's number as values, keys, headers and names of fields of every kind, and all that is said of such records."""

from __future__ import annotations

import json
import logging
import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

import msgspec

from kafka_s3.adapters.memory import MemoryBroker, MemoryRegistry, MemoryStore
from kafka_s3.bucket.dead_letter_objects import read_letters
from kafka_s3.dead_letter import context_headers
from kafka_s3.export.task import RangeTask, export_range
from kafka_s3.log.entries import PlannedRange
from kafka_s3.log.store import Log
from kafka_s3.naming import LogLayout
from kafka_s3.plan.results import RangeResult
from kafka_s3.ports import RegisteredSchema, Registries, SchemaId
from kafka_s3.records import Record
from kafka_s3.settings.model import Settings
from tests.pairs.exported import AT_MS
from tests.pairs.hostile import TP
from tests.pairs.kinds import ENVELOPE, GLUE, GLUE_JSON, GLUE_VERSION, TYPED, glue_bytes, zigzag

#: As text, as a number, and as others would show its bytes.
CARD = "4111222233334444"
NUMBER = int(CARD)
_PARTS = [CARD[at : at + 6] for at in range(len(CARD) - 5)]
_SHOWN = [*_PARTS, CARD.encode().hex()[:12], CARD.encode().hex(" ")[:18], f"{NUMBER:x}"[:8]]
_CLASS = "io.confluent.connect.s3.S3SinkTask"
_FIELD_TYPES = ("int", "long", "string", "boolean", {"type": "bytes", "logicalType": "decimal", "precision": 4})

JSON: Sequence[bytes] = [
    CARD.encode(),
    f'"{CARD}"'.encode(),
    f'{{"f":"{CARD}","id":"{CARD}","a":{{"b":{CARD}}}}}'.encode(),
    f'{{"{CARD}":"{CARD}"}}'.encode(),
    f'{{"f":{CARD},"id":{CARD}.5}}'.encode(),
    f'{{"f":{{"{CARD}":1}},"a":["{CARD}"]}}'.encode(),
    f'{{"f":"{CARD}/../x","id":"/../{CARD}"}}'.encode(),
    f'{{"f":"2026-13-{CARD}","f":"{CARD}T"}}'.encode(),
    f'{{"f":"\\u0000{CARD}"}}'.encode(),
    f'{{"f": {CARD}x'.encode(),
    f'{{"f": NaN{CARD}'.encode(),
    f'{{"f": "\\{CARD}"}}'.encode(),
    f'{{"f":{CARD * 400}}}'.encode(),
    f'{{"f":"{CARD * 100}"}}'.encode(),
]
_AVRO = [
    zigzag(NUMBER),
    b"\2" + CARD.encode(),
    zigzag(16) + CARD.encode() + zigzag(1),
    CARD.encode(),
]
_PROTOS = (
    "message M { int32 f = 1; string id = 2; repeated int64 a = 3; map<string, int32> by = 4; M.I m = 5; message I {}}",
    "enum E { NONE = 0; } message M { E f = 1; google.protobuf.Timestamp id = 2; google.type.Date a = 3; }",
    "message M { string f = 1; oneof id { bool b = 2; int64 m = 5; } google.protobuf.StringValue a = 3; }",
)
_FILES = ("google/protobuf/timestamp.proto", "google/protobuf/wrappers.proto", "google/type/date.proto")
_IMPORTS = " ".join(f'import "{each}";' for each in _FILES)


def avro_schema(number: int) -> str:
    fields = [{"name": "f", "type": _FIELD_TYPES[number % 5]}, {"name": "id", "type": {"type": "map", "values": "int"}}]
    return json.dumps({"type": "record", "name": "R", "fields": fields})


def _json_schema(number: int) -> Any:
    of_f: Sequence[Any] = (
        {"type": "integer", "connect.type": "int8"},
        {"type": "string", "maxLength": 3, "pattern": "^[a-z]*$"},
        {"enum": ["A", "B"]},
        {"oneOf": [{"type": "string", "pattern": "x"}, {"type": "integer", "maximum": 5}]},
        {"type": "object", "propertyNames": {"maxLength": 2}, "additionalProperties": {"type": "number"}}
        | {"connect.type": "map"},
        {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        {"title": "org.apache.kafka.connect.data.Decimal", "type": "number", "connect.type": "bytes"}
        | {"connect.parameters": {"scale": "2"}},
        {"title": "org.apache.kafka.connect.data.Date", "type": "integer", "connect.type": "int32"},
    )  # fmt: skip
    within = {"type": "object", "properties": {"b": {"type": "boolean"}}, "additionalProperties": False}
    return {
        "type": "object",
        "properties": {"f": of_f[number % 8], "id": {"type": "string", "format": "date"}, "a": within},
        "required": ["id"],
        "patternProperties": {"^4": {"type": "null"}},
    }


def _unsigned(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def _messages() -> Iterator[bytes]:
    """Fields 1 to 6 of every wire type, whole and cut off, with the number as a number, as text and as a message."""
    card = CARD.encode()
    for field in range(1, 7):
        yield bytes([field << 3]) + _unsigned(NUMBER)
        yield bytes([field << 3 | 1]) + struct.pack("<q", NUMBER)
        yield bytes([field << 3 | 2, len(card)]) + card
        yield bytes([field << 3 | 2, len(card) + 1]) + card + b"\xff"
        yield bytes([field << 3 | 2, 100]) + card
        inner = b"\x08" + _unsigned(NUMBER) + b"\x12" + bytes([len(card)]) + card
        yield bytes([field << 3 | 2, len(inner)]) + inner
    yield card


def values_of(kind: str, number: int) -> Iterator[bytes]:
    """Values, or keys, of a kind that hold the number wherever something can."""
    yield from JSON
    glued = {GLUE: _AVRO, GLUE_JSON: JSON, "ProtobufSchemaConverter": [b"\0" + each for each in _messages()]}
    for body in glued.get(kind, ()):
        yield glue_bytes(body, compressed=False)
        yield glue_bytes(body, compressed=True)
        yield bytes((3, 5)) + GLUE_VERSION.bytes + zlib.compress(body)[:-2] + CARD.encode()
        yield bytes((3, 0)) + CARD.encode() + body
        yield bytes((4, 0)) + CARD.encode() + body
    framed = {
        "AvroConverter": _AVRO,
        "JsonSchemaConverter": JSON,
        "ProtobufConverter": [b"\0" + each for each in _messages()],
    }
    for body in framed.get(kind, ()):
        yield b"\0\0\0\0\1" + body
        yield b"\0\0\0\0\2" + body
        yield b"\0" + body
    if kind == "AvroConverter":
        for body in _AVRO:
            yield b"\0\0\0\0\1" + body + zigzag(1) + zigzag(16) + CARD.encode() + zigzag(1) + b"\0"
    if kind == "ProtobufConverter":
        yield b"\0\0\0\0\1" + zigzag(2) + zigzag(NUMBER) + zigzag(1)
        yield b"\0\0\0\0\1" + CARD.encode()
    if kind == ENVELOPE:
        types = ["int8", "string", "boolean", "bytes", "double", CARD]
        schema = {"type": "struct", "fields": [{"field": "f", "type": types[number % 6], "default": CARD}]}
        for payload in (CARD, f'"{CARD}"', f'{{"f":{CARD}}}', f'{{"f":"{CARD}"}}', f'{{"f":{{"{CARD}":1}}}}'):
            yield f'{{"schema":{json.dumps(schema)},"payload":{payload}}}'.encode()
            yield f'{{"schema":null,"payload":{payload}}}'.encode()


def records_of(kind: str, side: str, number: int) -> list[Record]:
    headers = [((CARD, CARD.encode()),), ((CARD, None),), ((CARD, b"\xff"), ("h", CARD.encode())), ()]
    made = []
    for offset, harm in enumerate(values_of(kind, number)):
        value, key = (harm, CARD.encode()) if side == "value" else (b'{"f":1}', harm)
        made.append(Record(offset, value, key, [AT_MS, None, 2**62][offset % 3], headers[offset % 4]))
    return made


def own_properties(kind: str, number: int) -> dict[str, str]:
    """What a kind needs to have reasons."""
    if kind == TYPED:
        return {"export.value.schema": avro_schema(number)}
    if kind == "JsonSchemaConverter":
        valid = str(number % 2 == 0).lower()
        return {f"{side}.converter.json.fail.invalid.schema": valid for side in ("value", "key")}
    return {}


def registries_of(kind: str, number: int) -> Registries:
    """Ids 1 and 2, of which the second is no schema that can be used; Glue's only version."""
    first, second, type = (
        avro_schema(number),
        json.dumps({"type": "record", "name": "R", "fields": [{"name": CARD[0], "type": 1}]}),
        "AVRO",
    )
    if "Protobuf" in kind:
        first, type = f'syntax = "proto3"; {_IMPORTS} {_PROTOS[number % 3]}', "PROTOBUF"
    elif "JsonSchema" in kind:
        first, second, type = json.dumps(_json_schema(number)), '{"type": 1}', "JSON"
    ids: Sequence[tuple[SchemaId, str]] = [
        (1, first),
        (2, second),
        (str(GLUE_VERSION), first),
        (str(UUID(int=2)), second),
    ]
    known = {id: RegisteredSchema(id, text, type) for id, text in ids}
    registry = MemoryRegistry(known)
    return Registries(registry, registry)


class Heard(logging.Handler):
    """All that is logged."""

    def __init__(self) -> None:
        super().__init__(0)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(logging.Formatter().format(record))


def exported(settings: Settings, records: Sequence[Record], registries: Registries) -> tuple[str, RangeResult]:
    """A range through the task, and all that is said of it: results, letters, their headers, log lines."""
    broker, store, heard = MemoryBroker(), MemoryStore(), Heard()
    broker.create_topic("orders")
    broker.append("orders", 0, *records)
    task = RangeTask(PlannedRange("orders", 0, 0, len(records)), AT_MS, 0, broker.offsets([TP])[TP])
    root = logging.getLogger()
    level = root.level
    root.addHandler(heard)
    root.setLevel(1)
    try:
        result = export_range(settings, task, store, broker, registries)
    finally:
        root.setLevel(level)
        root.removeHandler(heard)
    return "\n".join([*_said(result, Log(store, LogLayout("_kafka_s3", "orders"))), *heard.lines]), result


def _said(result: RangeResult, log: Log) -> Iterator[str]:
    yield from result.refused
    yield result.trace
    if result.failure is not None:
        yield result.failure.reason
    if result.entry is not None:
        yield msgspec.json.encode([each.dead_letters for each in [result.entry]]).decode()
        if result.entry.dead_letters is not None:
            for letter in read_letters(log, result.entry):
                yield letter.error
                added = context_headers(letter, _CLASS)[len(letter.headers) :]
                yield from (f"{name} {value!r}" for name, value in added)


def refused(result: RangeResult) -> int:
    return (0 if result.entry is None else result.entry.rejected) + (result.failure is not None)


def told(said: str) -> list[tuple[str, str]]:
    """Six digits of the number, and the line that has them."""
    return [(part, line) for line in said.splitlines() for part in _SHOWN if part in line]
