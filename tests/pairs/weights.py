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
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kafka_s3.avro.model import Schema, schema_of
from kafka_s3.ports import RegisteredSchema, Registries
from kafka_s3.records import Record
from kafka_s3.settings.formats import Format
from kafka_s3.settings.properties import UserDefined
from tests.json_schema.written import glue_written_schema, written_schema
from tests.pairs.avro_weights import AVRO, DECIMAL, LONG_NAME, NULLABLE, WIDE, Text, array, record
from tests.pairs.exported import export, is_allowed, registries_of, settings_of
from tests.pairs.kinds import ENVELOPE, GLUE, GLUE_JSON, PLAIN, TYPED, glue_bytes, kinds, zigzag
from tests.pairs.proto_weights import PROTOBUF, registered

#: What a child may have at all: a record that is not bounded ends with MemoryError, and not the machine.
ADDRESS_SPACE = 2 << 30
CPU_S_MAX = 30
SMALL = 1_000
#: The memory of a child that raised, or was ended: too much.
DIED = 10**12


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
    schema: Schema | RegisteredSchema | None = None
    properties: Mapping[str, str] | None = None


def _avro(avro: Any) -> Schema:
    return schema_of({"type": "record", "name": "Row", "fields": [{"name": "x", "type": avro}]})


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
    "long names": (_connect_array(_struct(_opt(LONG_NAME))), JSON["objects"]),
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
    "numbers": (array("int"), JSON["numbers"]),
    "lists": (array(array("int")), JSON["lists"]),
    "texts": (array("string"), JSON["empty texts"]),
    "fractions": (array("double"), JSON["fractions"]),
    "maps": ({"type": "map", "values": "int"}, JSON["names"]),
    "nulls": (array(NULLABLE), JSON["nulls"]),
    "missing fields": (
        array({**record("M"), "fields": [{"name": f"f{n}", "type": NULLABLE, "default": None} for n in range(20)]}),
        JSON["objects"],
    ),
    "defaults": (
        array({**record("M"), "fields": [{"name": "s", "type": "string", "default": "d" * 5_000}]}),
        JSON["objects"],
    ),
    "nulls of wide records": (array(["null", WIDE]), JSON["nulls"]),
    "decimals": (array(DECIMAL), _list_of(b'"0.01"')),
    "elsewhere": (["null", "int"], lambda size: b'null,"y":' + JSON["lists"](size)),
    "escapes": ("string", JSON["escapes"]),
}


#: What zlib makes least of.
_INFLATED: Sequence[str] = (
    *("a text", "longs", "texts", "doubles", "lists", "maps", "names", "records", "records of two bytes"),
    *("wide records", "long lists", "trees", "fixed of no size, beside bytes"),
)


def _a_text(size: int) -> bytes:
    return zigzag(size) + b"a" * size


def _inflates(text: Text, size: int) -> bytes:
    """Compressed data of at most `size` bytes, that stands for 8 times these or less."""
    made = glue_bytes(text(8 * size), compressed=True)
    return made if len(made) <= size else glue_bytes(text(8 * size * size // len(made)), compressed=True)


def shapes(kind: str, size: int) -> Iterator[Shape]:
    """Records of about `size` bytes."""
    match kind:
        case "AvroConverter":
            for name, (avro, text) in AVRO.items():
                yield Shape(name, b"\0\0\0\0\1" + text(size), _avro(avro))
        case _ if kind == GLUE:
            for name, (avro, text) in AVRO.items():
                yield Shape(name, glue_bytes(text(size), compressed=False), _avro(avro))
            for name in _INFLATED:
                avro, text = AVRO.get(name, ("string", _a_text))
                yield Shape(f"zlib, {name}", _inflates(text, size), _avro(avro))
                yield Shape(f"zlib, a MB of {name}", _inflates(text, size // 8), _avro(avro))
        case "ProtobufConverter":
            for name, (proto, text) in PROTOBUF.items():
                yield Shape(name, b"\0\0\0\0\1\0" + text(size), registered(proto))
        case "ProtobufSchemaConverter":
            for name, (proto, text) in PROTOBUF.items():
                # Which message it is: M is behind those that sort before it.
                index = len([each for each in re.findall(r"message (\w+)", proto) if each < "M"])
                raw = bytes([index]) + text(size)
                yield Shape(name, glue_bytes(raw, compressed=False), registered(proto))
        case "JsonSchemaConverter":
            for name, (connect, text) in CONNECT.items():
                schema = RegisteredSchema(1, json.dumps(written_schema(_struct({"field": "x", **connect}))), "JSON")
                yield Shape(name, b'\0\0\0\0\1{"x":' + text(size) + b"}", schema)
        case _ if kind == GLUE_JSON:
            for name, (connect, text) in CONNECT.items():
                schema = RegisteredSchema(
                    1, json.dumps(glue_written_schema(_struct({"field": "x", **connect}))), "JSON"
                )
                yield Shape(name, glue_bytes(b'{"x":' + text(size) + b"}", compressed=False), schema)
                yield Shape(f"zlib, {name}", glue_bytes(b'{"x":' + text(size) + b"}", compressed=True), schema)
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
        os.close(reads)
        try:
            told = _weigh(properties, shape, small)
        except BaseException:  # whatever it is, the parent says it
            told = {"peak": DIED, "cpu_s": 0, "said": [traceback.format_exc()]}
        finally:
            os.write(writes, json.dumps(told).encode())
            os._exit(0)
    os.close(writes)
    with os.fdopen(reads, "rb") as pipe:
        answer = pipe.read()
    _, status = os.waitpid(child, 0)
    told = json.loads(answer) if answer else {"peak": DIED, "cpu_s": 0, "said": [f"ended by {status}"]}
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
    why = weight.said[0].strip().splitlines()[-1] if weight.said else ""
    return (
        f"{weight.times:8.1f}x {weight.peak / 2**20:8.0f} MiB {weight.cpu_s:7.2f} s {weight.size / 1e6:5.1f} MB  "
        f"{weight.kind} {weight.format} {weight.shape}{why and '  '}{why[:90]}\n"
    )


if __name__ == "__main__":
    main()
