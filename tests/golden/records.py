"""What the cases export: for each kind of values a few dozen records with everything that such values can be.

The bytes are made by other libraries than the engine's, or by hand, so that they stay whatever moves.
"""

from __future__ import annotations

import io
import itertools
import json
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any
from uuid import UUID

import fastavro

from kafka_s3.ports import RegisteredSchema
from tests.golden import registered
from tests.golden.harness import NOON_MS, Given

COUNT = 40
_MINUTES = 7 * 60_000  # between two records


@dataclass(frozen=True)
class RecordKind:
    """Properties of a converter (of values), and values for it. `schemas`: subjects and texts, the ids 1, 2, …
    `versions`: of Glue's registry."""

    properties: Mapping[str, str]
    values: Sequence[bytes | None]
    schemas: Sequence[tuple[str, str]] = ()
    side: Mapping[str, str] = field(default_factory=dict)  # the same converter's properties for keys
    schema_type: str = "AVRO"
    versions: Sequence[RegisteredSchema] = ()

    @property
    def known(self) -> dict[str, Any]:
        """What its registry knows."""
        return {"schemas": self.schemas, "schema_type": self.schema_type, "versions": self.versions}

    def records(self) -> list[Given]:
        return around(self.values)


def around(values: Iterable[bytes | None]) -> list[Given]:
    """With keys, times that go back now and then, and headers; some lack each."""
    made = []
    for number, value in enumerate(values):
        at_ms = number * _MINUTES - (90 * 60_000 if number % 9 == 8 else 0)
        headers = ((), (("a", b"x"),), (("n", str(number).encode()), ("b", b"\xff\0"), ("n", None)))[number % 3]
        key = None if number % 5 == 4 else f"k{number % 7}".encode()
        made.append(Given(value, key, at_ms, headers))
    return made


# Avro.

_INNER = {"type": "record", "name": "n.Inner", "fields": [
    {"name": "kind", "type": {"type": "enum", "name": "n.Hue", "symbols": ["RED", "BLUE"]}, "doc": "a hue"},
    {"name": "depth", "type": ["null", "int"], "default": None},
]}  # fmt: skip


def _logical(type: str, logical: str, **more: object) -> dict[str, object]:
    return {"type": type, "logicalType": logical, **more}


_FIELDS: list[dict[str, Any]] = [
    {"name": "id", "type": "long"},
    {"name": "hue", "type": "string"},
    {"name": "at", "type": _logical("long", "timestamp-millis")},
    {"name": "said", "type": "string"},
    {"name": "inner", "type": _INNER},
    {"name": "name", "type": ["null", "string"], "default": None},
    {"name": "ok", "type": "boolean"},
    {"name": "small", "type": "int"},
    {"name": "f", "type": "float"},
    {"name": "d", "type": "double"},
    {"name": "raw", "type": "bytes"},
    {"name": "fix", "type": {"type": "fixed", "name": "n.Fix", "size": 4}},
    {"name": "price", "type": _logical("bytes", "decimal", precision=9, scale=2)},
    {"name": "cost", "type": ["null", {"type": "fixed", "name": "n.Cost", "size": 8, "logicalType": "decimal", "precision": 18, "scale": 4}]},  # noqa: E501
    {"name": "day", "type": _logical("int", "date")},
    {"name": "clock", "type": _logical("int", "time-millis")},
    {"name": "fine_clock", "type": _logical("long", "time-micros")},
    {"name": "fine", "type": _logical("long", "timestamp-micros")},
    {"name": "uuid", "type": _logical("string", "uuid")},
    {"name": "tags", "type": {"type": "map", "values": ["null", "double"]}},
    {"name": "lines", "type": {"type": "array", "items": "n.Inner"}},
    {"name": "either", "type": ["null", "int", "string", "n.Inner"]},
]  # fmt: skip
FIRST = {"type": "record", "name": "n.Row", "doc": "rows", "fields": _FIELDS}
SECOND = {**FIRST, "fields": [*_FIELDS, {"name": "more", "type": ["null", "int"], "default": None}]}
THIRD = {
    **FIRST,
    "fields": [
        *[each for each in _FIELDS if each["name"] != "ok"],
        {"name": "last", "type": "string", "default": "none"},
    ],
}
TREE = {"type": "record", "name": "n.Tree", "fields": [
    {"name": "id", "type": "long"},
    {"name": "hue", "type": "string"},
    {"name": "children", "type": {"type": "array", "items": "n.Tree"}},
]}  # fmt: skip


def row(number: int) -> dict[str, Any]:
    at = datetime.fromtimestamp(NOON_MS / 1000, UTC) + timedelta(minutes=13 * number, milliseconds=number)
    return {
        "id": number * 7919 % 1000 - 300,
        "hue": ("red", "blue/green", "größe", "", "a=b c")[number % 5],
        "at": at,
        "said": at.strftime("%Y-%m-%dT%H:%M:%S+02:00"),
        "inner": {"kind": "RED" if number % 3 else "BLUE", "depth": None if number % 2 else number},
        "name": None if number % 4 == 0 else f'größe "{number}" \u2028\U0001f600\n',
        "ok": number % 2 == 0,
        "small": (-(2**31), 0, 2**31 - 1)[number % 3],
        "f": (0.1, -0.0, float("inf"), 1e-10)[number % 4],
        "d": (0.1, 1e300, float("nan"), 123456789.125, -5e-324)[number % 5],
        "raw": bytes(range(number % 4)),
        "fix": number.to_bytes(4, "big"),
        "price": Decimal(number * 31 - 400).scaleb(-2),
        "cost": None if number % 3 == 0 else Decimal(-(10**17) + number).scaleb(-4),
        "day": date(1969, 12, 30) + timedelta(days=number * 300),
        "clock": timedelta(minutes=number, milliseconds=1),
        "fine_clock": timedelta(minutes=number, microseconds=1),
        "fine": at + timedelta(microseconds=number),
        "uuid": UUID(int=number * 2**64 + 1),
        "tags": {f"t{each}": None if each == 1 else each / 8 for each in range(number % 4)},
        "lines": [{"kind": "BLUE", "depth": each} for each in range(number % 3)],
        "either": (None, number, "text", ("n.Inner", {"kind": "RED", "depth": 1}))[number % 4],
        "more": number if number % 2 else None,
        "last": "end",
    }


def _time_of(value: dict[str, Any]) -> dict[str, Any]:
    """fastavro takes times of a day as `time`."""
    moved = {name: (datetime.fromtimestamp(0, UTC) + value[name]).time() for name in ("clock", "fine_clock")}
    return {**value, **moved}


def framed(id: int, schema: Mapping[str, Any], value: Mapping[str, Any]) -> bytes:
    """As producers write it: a zero, the schema's id, the value."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(dict(schema)), dict(value))
    return b"\0" + id.to_bytes(4, "big") + out.getvalue()


def _avro() -> Iterable[bytes | None]:
    for number in range(COUNT):
        which = (0, 0, 0, 1, 1, 0, 2, 2)[number // 2 % 8]
        schema, made = (
            (FIRST, SECOND, THIRD)[which],
            framed(which + 1, (FIRST, SECOND, THIRD)[which], _time_of(row(number))),
        )
        assert schema
        yield {11: None, 17: b"\0\0\0\0\1broken", 23: b"no magic", 29: b"\0\0\0\0\x63" + made[5:]}.get(number, made)


def _tree(number: int, depth: int) -> dict[str, Any]:
    children = [_tree(number + each, depth - 1) for each in range(number % 3)] if depth else []
    return {"id": number, "hue": f"h{number % 2}", "children": children}


# JSON.


def plain(number: int) -> dict[str, Any]:
    made = row(number)
    return {
        **{name: made[name] for name in ("id", "hue", "said", "name", "ok", "small", "tags")},
        "at": int(made["at"].timestamp() * 1000),
        "inner": {"kind": made["inner"]["kind"], "list": [1, 2.50, {"x": None}]},
        "d": (0.1, 1e300, -1.5e-7, 123456789.125)[number % 4],
    }


def _plain_json() -> Iterable[bytes | None]:
    spelling: Sequence[dict[str, Any]] = ({}, {"separators": (",", ":")}, {"ensure_ascii": False}, {"indent": 1})
    special = {
        11: None,
        17: b"{broken",
        19: b"[1, 2]",
        23: b"null",
        29: b'{"id": 1, "id": 2, "hue": "x"}',
        31: b'"text"',
    }
    for number in range(COUNT):
        yield special.get(number, json.dumps(plain(number), **spelling[number % 4]).encode())


TYPED = {"type": "record", "name": "n.Typed", "fields": [
    {"name": "id", "type": "long"},
    {"name": "hue", "type": "string"},
    {"name": "at", "type": _logical("long", "timestamp-millis")},
    {"name": "said", "type": "string"},
    {"name": "name", "type": ["null", "string"], "default": None},
    {"name": "ok", "type": "boolean", "default": True},
    {"name": "small", "type": "int"},
    {"name": "d", "type": "double"},
    {"name": "price", "type": _logical("bytes", "decimal", precision=9, scale=2), "default": "\0"},
    {"name": "inner", "type": {"type": "record", "name": "n.Of", "fields": [{"name": "kind", "type": "string"}]}},
    {"name": "tags", "type": {"type": "map", "values": ["null", "double"]}},
]}  # fmt: skip


def _typed_json() -> Iterable[bytes | None]:
    for number in range(COUNT):
        made = {**plain(number), "price": f"{number}.25", "inner": {"kind": row(number)["inner"]["kind"]}}
        if number % 6 == 5:
            del made["ok"], made["price"]
        special = {11: None, 17: b"{broken", 23: b'{"id": "text"}', 29: json.dumps({**made, "small": 2**31}).encode()}
        yield special.get(number, json.dumps(made).encode())


def _connect(type: str, name: str = "", **more: object) -> dict[str, Any]:
    return {"type": type, **({"name": name} if name else {}), **more}


_CONNECT = "org.apache.kafka.connect.data"
_ENVELOPE: list[dict[str, Any]] = [
    _connect("int64", field="id"),
    _connect("string", field="hue"),
    _connect("int64", f"{_CONNECT}.Timestamp", version=1, field="at"),
    _connect("string", field="said"),
    _connect("string", field="name", optional=True),
    _connect("boolean", field="ok", default=True),
    _connect("int8", field="tiny"),
    _connect("int16", field="short"),
    _connect("int32", field="small"),
    _connect("float", field="f"),
    _connect("double", field="d"),
    _connect("bytes", field="raw", optional=True),
    _connect("bytes", f"{_CONNECT}.Decimal", version=1, parameters={"scale": "2"}, field="price"),
    _connect("int32", f"{_CONNECT}.Date", version=1, field="day"),
    _connect("int32", f"{_CONNECT}.Time", version=1, field="clock", optional=True),
    _connect("map", keys=_connect("string"), values=_connect("double", optional=True), field="tags"),
    _connect("map", keys=_connect("int32"), values=_connect("string"), field="numbers"),
    _connect("array", items=_connect("int32"), field="list"),
    _connect("struct", "n.Inner", fields=[_connect("string", field="kind"), _connect("int32", field="depth", optional=True)], field="inner"),  # noqa: E501
]  # fmt: skip


def _envelope() -> Iterable[bytes | None]:
    first = _connect("struct", "n.Row", version=1, fields=_ENVELOPE)
    second = {**first, "version": 2, "fields": [*_ENVELOPE, _connect("string", field="more", optional=True)]}
    for number in range(COUNT):
        made = row(number)
        payload = {
            **{name: made[name] for name in ("id", "hue", "said", "name", "ok", "small", "tags", "inner")},
            "at": int(made["at"].timestamp() * 1000),
            "tiny": number - 20,
            "short": number * 100,
            "f": (0.1, -1.5, 3e10)[number % 3],
            "d": (0.1, 1e300, -5e-324)[number % 3],
            "raw": None if number % 3 else "AAH/",
            "price": ("AQ==", "/w==", "AAE=")[number % 3],
            "day": number * 300 - 1,
            "clock": None if number % 2 else number * 1000,
            "numbers": [[1, "a"], [number, "b"]],
            "list": list(range(number % 4)),
        }
        schema = second if number // 3 % 3 == 2 else first
        if schema is second:
            payload["more"] = None if number % 2 else "m"
        text = json.dumps({"schema": schema, "payload": payload}).encode()
        null = json.dumps({"schema": {**first, "optional": True}, "payload": None}).encode()
        wrong = json.dumps({"schema": first, "payload": {**payload, "id": "text"}}).encode()
        yield {11: None, 13: null, 17: b"{broken", 23: wrong, 29: b'{"payload": 1}'}.get(number, text)


# Text, bytes, numbers.

_TEXTS = (b"a", "größe \U0001f600\u2028".encode(), b"a\xffb", b"", b'"quoted"\\', b"two\nlines", b"\xed\xa0\x80", None)


def _packed(code: str, *values: float) -> Sequence[bytes | None]:
    made: list[bytes | None] = [struct.pack(f">{code}", value) for value in values]
    return list(itertools.islice(itertools.cycle([*made, None, b"\1\2\3"]), COUNT))


def _of(name: str, values: Sequence[bytes | None]) -> RecordKind:
    return RecordKind({"value.converter": f"{name}Converter"}, values, side={"key.converter": f"{name}Converter"})


_GLUE_JSON = "com.amazonaws.services.schemaregistry.kafkaconnect.jsonschema.JsonSchemaConverter"


def _rows() -> list[dict[str, Any]]:
    return [row(number) for number in range(COUNT)]


def _registered(
    converter: str,
    values: Callable[[Sequence[dict[str, Any]]], Iterable[bytes | None]],
    texts: Sequence[str],
    schema_type: str,
) -> RecordKind:
    sides = {
        side: {f"{side}.converter": converter, f"{side}.converter.schema.registry.url": "http://registry:8081"}
        for side in ("value", "key")
    }
    schemas = [("orders-value", text) for text in texts]
    return RecordKind(sides["value"], list(values(_rows())), schemas, sides["key"], schema_type)


@cache
def kinds() -> Mapping[str, RecordKind]:
    """By name: a converter and what changes what it takes."""
    numbers = (0, 1, -1, 127, -128, 32767)
    reals = (0.0, -0.0, 0.1, 1e30, float("inf"), float("nan"), 123456.75)
    texts = list(itertools.islice(itertools.cycle(_TEXTS), COUNT))
    url = {"schema.registry.url": "http://registry:8081"}
    avro = {"value.converter": "AvroConverter", **{f"value.converter.{name}": value for name, value in url.items()}}
    avro_key = {"key.converter": "AvroConverter", **{f"key.converter.{name}": value for name, value in url.items()}}
    avro_texts = [("orders-value", json.dumps(each)) for each in (FIRST, SECOND, THIRD)]
    trees = [framed(1, TREE, _tree(number, 3)) for number in range(20)]
    json_ = {"value.converter": "JsonConverter", "value.converter.schemas.enable": "false"}
    json_key = {"key.converter": "JsonConverter", "key.converter.schemas.enable": "false"}
    enveloped = {"value.converter": "JsonConverter", "value.converter.schemas.enable": "true"}
    enveloped_key = {"key.converter": "JsonConverter", "key.converter.schemas.enable": "true"}
    return {
        "Avro": RecordKind(avro, list(_avro()), avro_texts, avro_key),
        "Avro recursive": RecordKind(avro, trees, [("orders-value", json.dumps(TREE))], avro_key),
        "Json envelope": RecordKind(enveloped, list(_envelope()), side=enveloped_key),
        "Json plain": RecordKind(json_, list(_plain_json()), side=json_key),
        "Json typed": RecordKind(
            {**json_, "export.value.schema": json.dumps(TYPED)}, list(_typed_json()), side=json_key
        ),
        "Protobuf": _registered("ProtobufConverter", registered.protobuf, registered.PROTOS, "PROTOBUF"),
        "Json schema": _registered("JsonSchemaConverter", registered.json_schema, registered.JSON_SCHEMAS, "JSON"),
        "Glue json schema": RecordKind(
            {"value.converter": _GLUE_JSON},
            list(registered.glue_json_schema(_rows())),
            side={"key.converter": _GLUE_JSON},
            versions=registered.GLUE_VERSIONS,
        ),
        "String": _of("String", texts),
        "ByteArray": _of("ByteArray", texts),
        "Boolean": _of("Boolean", _packed("?", True, False)),
        "Short": _of("Short", _packed("h", *numbers)),
        "Integer": _of("Integer", _packed("i", *numbers, 2**31 - 1)),
        "Long": _of("Long", _packed("q", *numbers, -(2**63))),
        "Float": _of("Float", _packed("f", *reals)),
        "Double": _of("Double", _packed("d", *reals)),
    }
