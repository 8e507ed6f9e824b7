"""Records made to take memory or time: `python -m tests.pairs.bombs KIND FORMAT` exports each in turn.

It prints a line of JSON for each: its name, its MiB, by how many MiB the process grew, and what became of it.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from kafka_s3.avro.model import Schema, schema_of
from kafka_s3.ports import RegisteredSchema, Registries
from kafka_s3.records import Record
from tests.json_schema.written import glue_written_schema, written_schema
from tests.pairs.exported import export, registries_of, settings_of
from tests.pairs.kinds import ENVELOPE, GLUE_JSON, TYPED, glue_bytes, kinds, zigzag

_MIB = 1 << 20
LARGE = 30 * _MIB
_MILLION = 1_000_000

#: JSON of LARGE bytes or more, and of a million values.
_JSON: Mapping[str, Callable[[], bytes]] = {
    "a long text": lambda: b'"' + b"x" * 100 * _MIB + b'"',
    "a long number": lambda: b"1" * LARGE,
    "a long fraction": lambda: b"0." + b"1" * LARGE,
    "a long exponent": lambda: b"1e" + b"1" * LARGE,
    "many brackets": lambda: b"[" * LARGE,
    "many objects": lambda: b'{"a":' * (LARGE // 5),
    "many quotes": lambda: b"[" * 1000 + b'"' + b'\\"' * (LARGE // 2),
    "many numbers": lambda: b"[" + b"0," * (LARGE // 2) + b"0]",
    "many lists": lambda: b"[" + b"[]," * (LARGE // 3) + b"0]",
    "a million numbers": lambda: b"[" + b"0," * _MILLION + b"0]",
    "a million names": lambda: b"{" + b",".join(b'"%d":0' % number for number in range(_MILLION)) + b"}",
}
_ARRAY = {"type": "array", "items": "int"}
_ROW = schema_of({"type": "record", "name": "Row", "fields": [{"name": "x", "type": _ARRAY}]})
_CONNECT = {"type": "struct", "fields": [{"field": "x", "type": "array", "items": {"type": "int32"}}]}


def _field(avro: object) -> Schema:
    return schema_of({"type": "record", "name": "Row", "fields": [{"name": "x", "type": avro}]})


_LIST = {"type": "record", "name": "List", "fields": [{"name": "next", "type": ["null", "List"]}]}
_TREE = {"type": "record", "name": "Tree", "fields": [{"name": "all", "type": {"type": "array", "items": "Tree"}}]}
_EMPTY = {"type": "record", "name": "Empty", "fields": []}
_WIDE = {"type": "record", "name": "Wide", "fields": [{"name": f"f{n}", "type": ["null", "int"]} for n in range(200)]}
_HUGE = zigzag(2**62)
#: Avro: a field's type, and its bytes.
_AVRO: Mapping[str, tuple[object, Callable[[], bytes]]] = {
    "a length": ("string", lambda: _HUGE + b"a"),
    "a length below zero": ("bytes", lambda: zigzag(-(2**62))),
    "a count": (_ARRAY, lambda: _HUGE + b"\0"),
    "a count below zero": (_ARRAY, lambda: zigzag(-(2**63)) + zigzag(2**62)),
    "a count of nulls": ({"type": "array", "items": "null"}, lambda: _HUGE + b"\0"),
    "a count of records without fields": ({"type": "array", "items": _EMPTY}, lambda: _HUGE + b"\0"),
    "a billion nulls": ({"type": "array", "items": "null"}, lambda: zigzag(10**9) + b"\0"),
    "a count of names": ({"type": "map", "values": "null"}, lambda: _HUGE + b"\2a"),
    "many blocks": ({"type": "array", "items": "null"}, lambda: (zigzag(10**6)) * 1000 + b"\0"),
    "a long number": ("long", lambda: b"\xff" * _MIB),
    "a deep list": (_LIST, lambda: b"\2" * _MILLION + b"\0"),
    "a deep tree": (_TREE, lambda: b"\2" * _MILLION),
    "a million numbers": (_ARRAY, lambda: zigzag(_MILLION) + b"\0" * _MILLION + b"\0"),
    "ten million nulls": ({"type": "array", "items": _WIDE}, lambda: zigzag(50_000) + b"\0" * 10 * _MILLION + b"\0"),
    "a long text": ("string", lambda: zigzag(100 * _MIB) + b"x" * 100 * _MIB),
    "a long decimal": (
        {"type": "bytes", "logicalType": "decimal", "precision": 9},
        lambda: zigzag(LARGE) + b"\x55" * LARGE,
    ),
}


def length(size: int) -> bytes:
    """A varint."""
    out = bytearray()
    while size > 0x7F:
        out.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([*out, size])


def proto(text: str) -> RegisteredSchema:
    return RegisteredSchema(1, f'syntax = "proto3"; {text}', "PROTOBUF")


_ALL = " ".join(f"repeated string a_field_of_a_long_name_{n} = {n};" for n in range(1, 1000))
_WIDE_LIST = f"message M {{ repeated W x = 1; }} message W {{ {_ALL} }}"
_TREE_PROTO = "message M { M x = 1; repeated M all = 2; map<string, M> by = 3; }"
#: Protobuf: a schema whose field 1 is meant, and the bytes of a message.
_PROTOBUF: Mapping[str, tuple[str, Callable[[], bytes]]] = {
    "a length": ("message M { string x = 1; }", lambda: b"\x0a" + b"\xff" * 9 + b"\1"),
    "a long number": ("message M { int64 x = 1; }", lambda: b"\x08" + b"\xff" * _MIB),
    "a deep message": (_TREE_PROTO, lambda: b"\x0a" * _MILLION),
    "a deep group": (_TREE_PROTO, lambda: b"\x2b" * _MILLION),
    "many groups": (_TREE_PROTO, lambda: b"\x2b\x2c" * _MILLION),
    "a million packed": ("message M { repeated int32 x = 1; }", lambda: b"\x0a" + length(_MILLION) + b"\0" * _MILLION),
    "a million names": (
        f"message M {{ repeated E x = 1; }} enum E {{ {'Z' * 2000} = 0; }}",
        lambda: b"\x0a" + length(_MILLION) + b"\0" * _MILLION,
    ),
    "a million messages": ("message M { repeated W x = 1; message W { int32 a = 1; } }", lambda: b"\x0a\0" * _MILLION),
    "a million wide messages": (_WIDE_LIST, lambda: b"\x0a\0" * _MILLION),
    "a million entries": ("message M { map<int32, int32> x = 1; }", lambda: b"\x0a\0" * _MILLION),
    "a million texts": ("message M { repeated string x = 1; }", lambda: b"\x0a\0" * _MILLION),
    "a long text": ("message M { string x = 1; }", lambda: b"\x0a" + length(100 * _MIB) + b"x" * 100 * _MIB),
    "unknown fields": ("message M { string x = 1; }", lambda: b"\x10\1" * _MILLION),
}


def _bombs(kind: str) -> Iterator[tuple[str, Schema | RegisteredSchema | None, bytes]]:
    if kind == "ProtobufConverter":
        for name, (text, make) in _PROTOBUF.items():
            yield name, proto(text), b"\0\0\0\0\1\0" + make()
        return
    if kind == "AvroConverter":
        for name, (avro, make) in _AVRO.items():
            yield name, _field(avro), b"\0\0\0\0\1" + make()
        return
    for name, text in _JSON.items():
        match kind:
            case "JsonSchemaConverter":
                yield (
                    name,
                    RegisteredSchema(1, json.dumps(written_schema(_CONNECT)), "JSON"),
                    b'\0\0\0\0\1{"x":' + text() + b"}",
                )
            case _ if kind == GLUE_JSON:
                glue = RegisteredSchema(1, json.dumps(glue_written_schema(_CONNECT)), "JSON")
                yield name, glue, glue_bytes(b'{"x":' + text() + b"}", compressed=True)
            case _ if kind == ENVELOPE:
                head = b'{"schema":' + json.dumps(_CONNECT).encode() + b',"payload":{"x":'
                yield name, None, head + text() + b"}}"
                if name in ("many lists", "a million names"):
                    yield f"{name}, no schema", None, b'{"schema":null,"payload":' + text() + b"}"
                    yield f"{name}, no envelope", None, text()
            case _ if kind == TYPED:
                yield name, _ROW, b'{"x":' + text() + b"}"
                if name.startswith("many"):
                    yield f"{name}, elsewhere", _ROW, b'{"x":[1],"y":' + text() + b"}"
            case _:
                yield name, None, text()


def _high_water() -> int:
    """The most memory that the process has had, in MiB; not ru_maxrss, which begins with its parent's."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) // 1024


def _forget() -> None:
    """The high water begins anew at what is in use."""
    Path("/proc/self/clear_refs").write_text("5")


def main(kind: str, format: str) -> None:
    properties = {**kinds()[kind].properties("value"), "format.class": format, "errors.tolerance": "all"}
    for name, schema, raw in _bombs(kind):
        more = {"export.value.schema": schema.text} if kind == TYPED and schema else {}
        registries = registries_of(schema) if schema else Registries()
        _forget()
        before = _high_water()
        found = export(settings_of({**properties, **more}), [Record(0, raw), Record(1, None)], registries=registries)
        said = [why.reason[:200] for offset, why in found.refused.items() if offset == 0]
        grown = _high_water() - before
        told = {"bomb": name, "mib": len(raw) // _MIB, "grown": grown, "records": found.written.records, "said": said}
        sys.stdout.write(f"{json.dumps(told)}\n")
        sys.stdout.flush()
        del raw, found


if __name__ == "__main__":
    main(*sys.argv[1:])
