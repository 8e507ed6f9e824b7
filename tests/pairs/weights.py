"""Records of a MB or more that are made to weigh much: what each takes of memory and CPU, by converter and format.

`python -m tests.pairs.weights [--mb 1] [NAME ...]` prints a line for each. A record is exported in a process of its
own, after a small one of the same kind, so what is measured is what the record takes and nothing else.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import re
import resource
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from pathlib import Path
from typing import Any

from kafka_s3.avro.model import Schema, schema_of
from kafka_s3.ports import Registries
from kafka_s3.records import Record
from kafka_s3.settings.formats import Format
from kafka_s3.settings.properties import UserDefined
from tests.pairs.exported import export, is_allowed, registries_of, settings_of
from tests.pairs.kinds import ENVELOPE, PLAIN, TYPED, kinds, zigzag

Text = Callable[[int], bytes]  # of about so many bytes
#: What a child may have at all: a record that is not bounded ends with MemoryError, and not the machine.
ADDRESS_SPACE = 2 << 30
CPU_S_MAX = 30
SMALL = 1_000


def _list_of(*items: bytes) -> Text:
    each = b",".join(items)
    return lambda size: b"[" + b",".join([each] * (size // (len(each) + 1))) + b"]"


def _names(value: bytes) -> Text:
    def made(size: int) -> bytes:
        return b"{" + b",".join(b'"%x":%b' % (n, value) for n in range(size // (9 + len(value)))) + b"}"

    return made


def _of(begin: bytes, unit: bytes, end: bytes) -> Text:
    return lambda size: begin + unit * (size // len(unit)) + end


#: JSON of many values, or of few that are hard.
JSON: Mapping[str, Text] = {
    "lists": _list_of(b"[]"),
    "objects": _list_of(b"{}"),
    "numbers": _list_of(b"0"),
    "large numbers": _list_of(b"123456789012345678"),
    "fractions": _list_of(b".5".rjust(3, b"0")),
    "nulls": _list_of(b"null"),
    "booleans": _list_of(b"true"),
    "empty texts": _list_of(b'""'),
    "short texts": _list_of(b'"\\u00e9a"', b'"bc"'),
    "names": _names(b"0"),
    "names of objects": _names(b"{}"),
    "objects of a name": _list_of(b'{"a":0}'),
    "objects of no text": _list_of(b'{"":{}}'),
    "deep lists": _list_of(b"[" * 90 + b"]" * 90),
    "deep objects": _list_of(b'{"a":' * 45 + b"1" + b"}" * 45),
    "deep pairs": _list_of(b'[{"":' * 40 + b"1" + b"}]" * 40),
    "a long number": _of(b"", b"9", b""),
    "a long fraction": _of(b"0.", b"1", b""),
    "long numbers": _list_of(b"9" * 900),
    "long fractions": _list_of(b"0." + b"3" * 900),
    "exponents": _list_of(b"1e999"),
    "escapes": _of(b'"', b"\\u0001", b'"'),
    "half pairs": _of(b'"', b"\\ud800", b'"'),
    "quotes": _of(b'"', b'\\"', b'"'),
    "one wide letter": _of(b'"\xf0\x9f\x98\x80', b"a", b'"'),
    "control letters": _of(b'"', b"\\n", b'"'),
}


@dataclass(frozen=True)
class Shape:
    """A record: its bytes, what the registry holds, and a small one of the same schema."""

    name: str
    raw: bytes
    schema: Schema | None = None
    properties: Mapping[str, str] | None = None


def _avro(avro: Any) -> Schema:
    return schema_of({"type": "record", "name": "Row", "fields": [{"name": "x", "type": avro}]})


def _array(item: Any) -> Any:
    return {"type": "array", "items": item}


def _record(name: str, **fields: Any) -> Any:
    return {"type": "record", "name": name, "fields": [{"name": each, "type": of} for each, of in fields.items()]}


def _many(item: bytes) -> Text:
    def made(size: int) -> bytes:
        count = max(size // len(item), 1)
        return zigzag(count) + item * count + b"\0"

    return made


def _nothings(per_byte: int) -> Text:
    """Items without bytes, as many as there may be for the bytes of a text beside them."""
    return lambda size: zigzag(per_byte * size) + b"\0"


def _deep(levels: int, inner: Any) -> Any:
    made = inner
    for level in range(levels):
        made = _record(f"D{level}", a=made)
    return made


_EMPTY = _record("Empty")
_NULLABLE = ["null", "int"]
_WIDE = _record("Wide", **{f"f{n}": _NULLABLE for n in range(200)})
_LONG_NAME = "n" * 20_000
_MAP_ENTRY = _record("MapEntry", key="int", value="int") | {"connect.internal.type": "MapEntry"}
_TREE = _record("Tree", all=_array("Tree"))
_LIST = _record("List", next=["null", "List"])
_UNION = ["null", *(_record(f"U{n}", a="int") for n in range(60))]
_PAIR = _record("Pair", a=["null", "Pair"], b=["null", "Pair"])
_DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 900, "scale": 2}

#: Avro: the type of a field, and its bytes.
AVRO: Mapping[str, tuple[Any, Text]] = {
    "longs": (_array("long"), _many(b"\2")),
    "ints": (_array("int"), _many(b"\x80\1")),
    "booleans": (_array("boolean"), _many(b"\1")),
    "texts": (_array("string"), _many(b"\0")),
    "letters": (_array("string"), _many(b"\4\xc3\xa9")),
    "bytes": (_array("bytes"), _many(b"\0")),
    "doubles": (_array("double"), _many(b"\x18-DT\xfb!\t@")),
    "decimals": (_array(_DECIMAL), _many(b"\0")),
    "long decimals": (_array(_DECIMAL), _many(zigzag(370) + b"\x55" * 370)),
    "dates": (_array({"type": "int", "logicalType": "date"}), _many(b"\2")),
    "timestamps": (_array({"type": "long", "logicalType": "timestamp-millis"}), _many(b"\2")),
    "nullables": (_array(_NULLABLE), _many(b"\0")),
    "lists": (_array(_array("int")), _many(b"\0")),
    "maps": (_array({"type": "map", "values": "int"}), _many(b"\0")),
    "names": (
        {"type": "map", "values": "null"},
        lambda size: zigzag(size // 7) + b"".join(b"\x0c%06x" % n for n in range(size // 7)) + b"\0",
    ),
    "records": (_array(_record("One", a="int")), _many(b"\0")),
    "records of two bytes": (_array(_deep(3, "int")), _many(b"\x80\1")),
    "pairs of pairs": (
        _PAIR,
        lambda size: reduce(lambda below, _: (b"\2" + below) * 2, range((size // 4).bit_length()), b"\0\0"),
    ),
    "names of records": (
        {"type": "map", "values": _deep(14, "int")},
        lambda size: zigzag(size // 8) + b"".join(b"\x0c%06x\0" % n for n in range(size // 8)) + b"\0",
    ),
    "wide records": (_array(_WIDE), _many(b"\0" * 200)),
    "deep records": (_array(_deep(8, "int")), _many(b"\0")),
    "deeper records": (_array(_deep(60, "int")), _many(b"\0")),
    "unions": (_array(_UNION), _many(b"\0")),
    "branches": (_array(_UNION), _many(b"\2\0")),
    "nulls of wide records": (_array(["null", _WIDE]), _many(b"\0")),
    "nulls of long fixed": (_array(["null", {"type": "fixed", "name": "L", "size": 256}]), _many(b"\0")),
    "names of before": (
        _array({**_record("R"), "fields": [{"name": "a", "type": "int", "connect.name": _LONG_NAME}]}),
        _many(b"\0"),
    ),
    "trees": (_TREE, lambda size: zigzag(size) + b"\0" * size + b"\0"),
    "deep trees": (_TREE, lambda size: zigzag(size // 90) + (b"\2" * 88 + b"\0" * 89) * (size // 90) + b"\0"),
    "long lists": (_array(_LIST), lambda size: zigzag(size // 91) + (b"\2" * 90 + b"\0") * (size // 91) + b"\0"),
    "entries": (_array(_MAP_ENTRY), _many(b"\2\2")),
    "symbols": (_array({"type": "enum", "name": "E", "symbols": [_LONG_NAME]}), _many(b"\0")),
    "long names": (_array(_record("Named", **{_LONG_NAME: "int"})), _many(b"\0")),
    "nothing, beside bytes": (
        _record("Beside", a="bytes", b=_array("null")),
        lambda size: zigzag(size) + b"x" * size + _nothings(3)(size),
    ),
    "empty records, beside bytes": (
        _record("Beside", a="bytes", b=_array(_EMPTY)),
        lambda size: zigzag(size) + b"x" * size + _nothings(3)(size),
    ),
    "fixed of no size, beside bytes": (
        _record("Beside", a="bytes", b=_array({"type": "fixed", "name": "F", "size": 0})),
        lambda size: zigzag(size) + b"x" * size + _nothings(3)(size),
    ),
}


def _struct(*fields: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields), **more}


def _opt(field: str, type: str = "int32", **more: Any) -> dict[str, Any]:
    return {"field": field, "type": type, "optional": True, **more}


def _connect_array(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


#: Envelopes: the schema of a field, and its JSON.
CONNECT: Mapping[str, tuple[Any, Text]] = {
    "numbers": (_connect_array({"type": "int32"}), JSON["numbers"]),
    "lists": (_connect_array(_connect_array({"type": "int32"})), JSON["lists"]),
    "texts": (_connect_array({"type": "string"}), JSON["empty texts"]),
    "bytes": (_connect_array({"type": "bytes"}), JSON["empty texts"]),
    "fractions": (_connect_array({"type": "double"}), JSON["fractions"]),
    "decimals": (
        _connect_array(
            {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}}
        ),
        _list_of(b'"AA=="'),
    ),
    "empty structs": (_connect_array(_struct()), JSON["objects"]),
    "missing fields": (_connect_array(_struct(*(_opt(f"f{n}") for n in range(20)))), JSON["objects"]),
    "long names": (_connect_array(_struct(_opt(_LONG_NAME))), JSON["objects"]),
    "defaults": (
        _connect_array(_struct(_opt("s", "string", default="d" * 5_000))),
        JSON["objects"],
    ),
    "lists by default": (
        _connect_array({**_connect_array({"type": "int32"}), "optional": True, "default": [1] * 20}),
        JSON["nulls"],
    ),
    "nulls of wide structs": (
        _connect_array(_struct(*(_opt(f"f{n}") for n in range(200)), optional=True)),
        JSON["nulls"],
    ),
    "maps": ({"type": "map", "keys": {"type": "string"}, "values": {"type": "int32"}}, JSON["names"]),
    "entries": ({"type": "map", "keys": {"type": "int32"}, "values": {"type": "int32"}}, _list_of(b"[1,2]")),
    "escapes": ({"type": "string"}, JSON["escapes"]),
    "one wide letter": ({"type": "string"}, JSON["one wide letter"]),
    "long numbers": (_connect_array({"type": "int64"}), JSON["long numbers"]),
}
#: The same under a schema that the user gives.
TYPED_AVRO: Mapping[str, tuple[Any, Text]] = {
    "numbers": (_array("int"), JSON["numbers"]),
    "lists": (_array(_array("int")), JSON["lists"]),
    "texts": (_array("string"), JSON["empty texts"]),
    "fractions": (_array("double"), JSON["fractions"]),
    "maps": ({"type": "map", "values": "int"}, JSON["names"]),
    "nulls": (_array(_NULLABLE), JSON["nulls"]),
    "missing fields": (
        _array({**_record("M"), "fields": [{"name": f"f{n}", "type": _NULLABLE, "default": None} for n in range(20)]}),
        JSON["objects"],
    ),
    "defaults": (
        _array({**_record("M"), "fields": [{"name": "s", "type": "string", "default": "d" * 5_000}]}),
        JSON["objects"],
    ),
    "nulls of wide records": (_array(["null", _WIDE]), JSON["nulls"]),
    "decimals": (_array(_DECIMAL), _list_of(b'"0.01"')),
    "elsewhere": (["null", "int"], lambda size: b'null,"y":' + JSON["lists"](size)),
    "escapes": ("string", JSON["escapes"]),
}


def shapes(kind: str, size: int) -> Iterator[Shape]:
    """Records of about `size` bytes."""
    match kind:
        case "AvroConverter":
            for name, (avro, text) in AVRO.items():
                yield Shape(name, b"\0\0\0\0\1" + text(size), _avro(avro))
        case _ if kind == ENVELOPE:
            for name, text in JSON.items():
                yield Shape(f"no schema, {name}", b'{"schema":null,"payload":' + text(size) + b"}")
            for name, (connect, text) in CONNECT.items():
                schema = _struct({"field": "x", **connect})
                head = b'{"schema":' + json.dumps(schema).encode() + b',"payload":{"x":'
                yield Shape(name, head + text(size) + b"}}")
            huge = _struct(*(_opt(f"f{n}") for n in range(size // 55)))
            yield Shape("a huge schema", b'{"schema":' + json.dumps(huge).encode() + b',"payload":{}}')
        case _ if kind == TYPED:
            for name, (avro, text) in TYPED_AVRO.items():
                schema = _avro(avro)
                yield Shape(name, b'{"x":' + text(size) + b"}", schema, {"export.value.schema": schema.text})
        case _ if kind == PLAIN:
            for name, text in JSON.items():
                yield Shape(name, text(size))
        case "StringConverter" | "ByteArrayConverter":
            yield Shape("letters", b"a" * size)
            yield Shape("no UTF-8", b"\xff" * size)
            yield Shape("control letters", b"\1" * size)
            yield Shape("one wide letter", "😀".encode() + b"a" * size)
        case _:
            yield Shape("bytes", b"\0" * size)


@dataclass(frozen=True)
class Weight:
    """What one record took. `times`: of its bytes and its schema's."""

    kind: str
    format: str
    shape: str
    size: int
    peak: int
    cpu_s: float
    times: float
    said: Sequence[str]


def weighed(
    kind: str, format: Format | UserDefined, shape: Shape, small: Shape, options: Mapping[str, str]
) -> Weight | None:
    """One record's weight, in a child of this process; `None` if the settings are not allowed."""
    own = "tests.pairs.framed:Framed" if isinstance(format, UserDefined) else format.value
    properties = {**kinds()[kind].properties("value"), "format.class": own, "errors.tolerance": "all", **options}
    properties |= shape.properties or {}
    if not is_allowed(properties):
        return None
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(reads)
            os.write(writes, json.dumps(_weigh(properties, shape, small)).encode())
        finally:
            os._exit(0)
    os.close(writes)
    with os.fdopen(reads, "rb") as pipe:
        told = json.loads(pipe.read() or b'{"peak": 1e12, "cpu_s": 0, "said": ["the process died"]}')
    os.waitpid(child, 0)
    size = len(shape.raw) + (len(shape.schema.text) if shape.schema else 0)
    return Weight(
        kind, own.rpartition(".")[2], shape.name, len(shape.raw), told["peak"], told["cpu_s"], told["peak"] / size,
        told["said"],
    )  # fmt: skip


def _weigh(properties: Mapping[str, str], shape: Shape, small: Shape) -> dict[str, Any]:
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S_MAX, CPU_S_MAX))
    settings = settings_of(properties)
    registries = registries_of(shape.schema) if shape.schema else Registries()
    export(settings, [Record(0, small.raw), Record(1, b"1")], registries=registries)  # loads what is loaded once
    ctypes.CDLL(None).malloc_trim(0)  # else what making the record took, and gave back, is there for it
    Path("/proc/self/clear_refs").write_text("5")
    before = high_water()
    began = time.process_time()
    found = export(settings, [Record(0, shape.raw)], registries=registries)
    cpu_s = time.process_time() - began
    said = [why.reason for why in found.refused.values()]
    return {"peak": high_water() - before, "cpu_s": cpu_s, "said": said}


def high_water() -> int:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) << 10


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--mb", type=float, default=1.0)
    parser.add_argument("--kind", default="")
    parser.add_argument("--format", default="")
    parser.add_argument("--shape", default="")
    parser.add_argument("--option", action="append", default=[])
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    options = dict(each.split("=", 1) for each in args.option)
    for kind in kinds():
        if args.kind and args.kind != kind:
            continue
        for shape, small in zip(shapes(kind, int(args.mb * 1_000_000)), shapes(kind, SMALL), strict=True):
            for format in Format:
                if args.format in format.value and args.shape in shape.name:
                    found = weighed(kind, format, shape, small, options)
                    if found is not None:
                        sys.stdout.write(said(found) if not args.json else json.dumps(asdict(found)) + "\n")
                        sys.stdout.flush()


def said(weight: Weight) -> str:
    refused = f"  {weight.said[0][:90]}" if weight.said else ""
    return (
        f"{weight.times:8.1f}x {weight.peak / 2**20:8.0f} MiB {weight.cpu_s:7.2f} s {weight.size / 1e6:5.1f} MB  "
        f"{weight.kind} {weight.format} {weight.shape}{refused}\n"
    )


if __name__ == "__main__":
    main()
