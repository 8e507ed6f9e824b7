"""What Kafka's bytes may be, by converter: random ones, and what they mean."""

from __future__ import annotations

import base64
import json
import math
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from random import Random
from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from kafka_s3.avro.graph import graph
from kafka_s3.avro.model import Branch, Schema, schema_of
from kafka_s3.avro.nodes import Node
from kafka_s3.ports import RegisteredSchema
from kafka_s3.settings.converters import Converter
from kafka_s3.values.converters.connect_avro import avro_schema
from kafka_s3.values.converters.connect_schema import read_schema
from kafka_s3.values.converters.connect_values import parse
from tests.avro.strategies import avro_schemas, values_of
from tests.json_schema.written import glue_written_schema, without_defaults, written_schema, written_value
from tests.protobuf.messages import TEXTS, expected, fill, glue_schema, source
from tests.values.converters.envelopes import compact, envelope, random_schema, random_value


@dataclass(frozen=True)
class Case:
    """One record's bytes, and the value that they are: as `schemas.model` has it, or JSON's own, text, bytes.

    `written`: the JSON that Connect makes of it, where that is known letter by letter.
    """

    raw: bytes
    value: Any
    written: str | None = None


@dataclass(frozen=True)
class Batch:
    """Records of one schema. `registered`: what the registry has to hold, under the id 1."""

    cases: Sequence[Case]
    schema: Schema | None = None
    registered: Schema | RegisteredSchema | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Kind:
    """What a converter and its options take. `batches(columns)`: at random; ones that columns can hold."""

    name: str
    converter: Converter
    batches: Callable[[bool], st.SearchStrategy[Batch]]
    options: Mapping[str, str] = field(default_factory=dict)
    sides: Sequence[str] = ("value", "key")

    def properties(self, side: str) -> dict[str, str]:
        options = {f"{side}.converter.{name}": text for name, text in self.options.items() if "." in name}
        return {f"{side}.converter": self.converter.value, **options, **({} if side == "key" else self._own())}

    def _own(self) -> dict[str, str]:
        """What is not an option of the converter."""
        return {"export.value.schema": self.options["schema"]} if "schema" in self.options else {}


# Avro.


@st.composite
def _avro(draw: st.DrawFn, columns: bool) -> Batch:
    schema = draw(avro_schemas(logical=True, recursive=not columns, record=columns, zero_size=not columns))
    values = [value for value in draw(st.lists(values_of(schema), min_size=1, max_size=6)) if value is not None]
    cases = [Case(b"\0\0\0\0\1" + avro_bytes(value, graph(schema)), value) for value in values]
    return Batch(cases, schema, schema)


def _glue(columns: bool) -> st.SearchStrategy[Batch]:
    """The same behind the header of AWS Glue's serializers, every other value compressed."""
    return _avro(columns).map(
        lambda batch: replace(
            batch,
            cases=[
                replace(case, raw=glue_bytes(case.raw[5:], compressed=bool(number % 2)))
                for number, case in enumerate(batch.cases)
            ],
        )
    )


def glue_bytes(datum: bytes, *, compressed: bool) -> bytes:
    return bytes((3, 5 * compressed)) + GLUE_VERSION.bytes + (zlib.compress(datum) if compressed else datum)


def avro_bytes(value: Any, node: Node) -> bytes:
    """A value in Avro's binary form, as its specification has it."""
    match node.kind:
        case "union":
            branch = _branch_of(value, node)
            inner = value.value if isinstance(value, Branch) else value
            return zigzag(node.branches.index(branch)) + avro_bytes(inner, branch)
        case "null":
            return b""
        case "boolean":
            return bytes([value])
        case "int" | "long":
            return zigzag(value)
        case "float" | "double":
            return struct.pack("<f" if node.kind == "float" else "<d", value)
        case "fixed":
            return bytes(value)
        case "enum":
            return zigzag(node.symbols.index(value))
        case "bytes" | "string":
            data = value if isinstance(value, bytes) else value.encode()
            return zigzag(len(data)) + data
        case "array":
            items = [avro_bytes(each, node.item) for each in value]
            return b"".join([zigzag(len(items)) * bool(items), *items, b"\0"])
        case "map":
            entries = [zigzag(len(key.encode())) + key.encode() + avro_bytes(value[key], node.item) for key in value]
            return b"".join([zigzag(len(entries)) * bool(entries), *entries, b"\0"])
    return b"".join(avro_bytes(value[each.name], each.node) for each in node.fields)


def _branch_of(value: Any, node: Node) -> Node:
    if isinstance(value, Branch):
        return next(each for each in node.branches if each.name == value.name)
    return next(each for each in node.branches if (each.kind == "null") == (value is None))


def zigzag(number: int) -> bytes:
    rest = number << 1 if number >= 0 else (-number << 1) - 1
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*out, rest])


# Protobuf.


@st.composite
def _protobuf(draw: st.DrawFn, columns: bool) -> Batch:
    chosen = source(draw(st.sampled_from([name for name in TEXTS if not (columns and source(name).recursive)])))
    cases = []
    for _ in range(draw(st.integers(1, 6))):
        message = chosen.type()
        fill(draw, message, depth=2, entries=1)  # more have an order of the runtime's own
        raw = message.SerializeToString()
        cases.append(Case(b"\0\0\0\0\1\0" + raw, expected(message)))
    return Batch(cases, chosen.schema, chosen.registered)


@st.composite
def _glue_protobuf(draw: st.DrawFn, columns: bool) -> Batch:
    """Behind the header of AWS Glue's serializers, every other one compressed; types that hold themselves are none."""
    name = draw(st.sampled_from([name for name in TEXTS if not source(name).recursive]))
    chosen = source(name)
    # Which message it is: M is behind the others of its file, and before what is in it.
    others = [each for each in ("I", "J", "Colour") if f"message {each} " in TEXTS[name]]
    cases = []
    for number in range(draw(st.integers(1, 6))):
        message = chosen.type()
        fill(draw, message, depth=2, entries=1)
        raw = bytes([len(others)]) + message.SerializeToString()
        cases.append(Case(glue_bytes(raw, compressed=bool(number % 2)), expected(message, glue=True)))
    return Batch(cases, glue_schema(name), chosen.registered)


# JSON of a registry.


@st.composite
def _json_schemas(draw: st.DrawFn, columns: bool) -> Batch:
    """What Connect writes under a JSON Schema."""
    random = Random(draw(st.integers(0, 2**64)))
    while True:
        connect = random_schema(random, 3, plain_names=True)
        if not (columns and _has_empty_struct(connect)):
            break
    cases = []
    for _ in range(draw(st.integers(1, 6))):
        payload, written = random_value(random, {**connect, "optional": False})
        if payload != "null":
            raw = b"\0\0\0\0\1" + written_value(connect, payload).encode()
            cases.append(Case(raw, _of_connect(connect, json.loads(written)), written))
    registered = RegisteredSchema(1, json.dumps(written_schema(connect)), "JSON")
    return Batch(cases, avro_schema(read_schema(parse(compact(connect).encode()))), registered)


@st.composite
def _glue_json(draw: st.DrawFn, columns: bool) -> Batch:
    """What Glue's converter writes, every other one compressed."""
    random = Random(draw(st.integers(0, 2**64)))
    while True:
        connect = without_defaults(random_schema(random, 3, plain_names=True))
        if not (columns and _has_empty_struct(connect)):
            break
    cases = []
    for number in range(draw(st.integers(1, 6))):
        payload, written = random_value(random, {**connect, "optional": False})
        if payload != "null":
            raw = glue_bytes(written_value(connect, payload).encode(), compressed=bool(number % 2))
            cases.append(Case(raw, _of_connect(connect, json.loads(written)), written))
    registered = RegisteredSchema(1, json.dumps(glue_written_schema(connect)), "JSON")
    return Batch(cases, avro_schema(read_schema(parse(compact(connect).encode()))), registered)


# Connect's envelope.


@st.composite
def _envelopes(draw: st.DrawFn, columns: bool) -> Batch:
    random = Random(draw(st.integers(0, 2**64)))
    while True:
        connect = random_schema(random, 3, plain_names=True)
        if not (columns and _has_empty_struct(connect)):
            break
    cases = []
    for _ in range(draw(st.integers(1, 6))):
        payload, written = random_value(random, {**connect, "optional": False})
        if payload != "null":
            value = _of_connect(connect, json.loads(written))
            cases.append(Case(envelope(connect, payload), value, written))
    return Batch(cases, avro_schema(read_schema(parse(compact(connect).encode()))))


def _has_empty_struct(connect: Mapping[str, Any]) -> bool:
    inner = [*connect.get("fields", ()), *(connect[name] for name in ("items", "keys", "values") if name in connect)]
    return connect.get("fields") == [] or any(map(_has_empty_struct, inner))


def _of_connect(connect: Mapping[str, Any], value: Any) -> Any:
    """The value under AvroData's schema that JSON without the envelope stands for."""
    if value is None:
        return None
    match connect["type"]:
        case "bytes":
            return base64.b64decode(value)
        case "float":
            return struct.unpack("<f", struct.pack("<f", value))[0]
        case "array":
            return [_of_connect(connect["items"], each) for each in value]
        case "map" if connect["keys"]["type"] == "string":
            return {key: _of_connect(connect["values"], each) for key, each in value.items()}
        case "map":
            return [{"key": key, "value": _of_connect(connect["values"], each)} for key, each in value]
        case "struct":
            return {each["field"]: _of_connect(each, value[each["field"]]) for each in connect["fields"]}
    return value


# JSON without an envelope.

_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@st.composite
def _plain_json(draw: st.DrawFn, columns: bool) -> Batch:
    values = draw(st.lists(_JSON.filter(lambda value: value is not None), min_size=1, max_size=6))
    spelling: dict[str, Any] = draw(
        st.sampled_from([{}, {"separators": (",", ":")}, {"ensure_ascii": False}, {"indent": 1}])
    )
    return Batch([Case(json.dumps(value, **spelling).encode(), value) for value in values])


@st.composite
def _typed_json(draw: st.DrawFn, columns: bool) -> Batch:
    schema = draw(avro_schemas(logical=True, record=True, branches=False, zero_size=not columns))
    values = [_finite(value) for value in draw(st.lists(values_of(schema), min_size=1, max_size=6))]
    node = graph(schema)
    cases = [Case(json.dumps(_to_json(value, node)).encode(), value) for value in values]
    return Batch(cases, schema, properties={"export.value.schema": schema.text})


def _finite(value: Any) -> Any:
    """JSON has no numbers for infinity."""
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return 0.5 if isinstance(value, float) and math.isinf(value) else value


def _to_json(value: Any, node: Node) -> Any:
    """A plain value as JSON that is read as it again; decimals as text."""
    match node.kind:
        case "union":
            return None if value is None else _to_json(value, node.required)
        case "bytes" | "fixed" if node.logical:
            digits = f"{int.from_bytes(value, signed=True):+022d}"
            return f"{digits[: -node.logical.scale]}.{digits[-node.logical.scale :]}"
        case "bytes" | "fixed":
            return base64.b64encode(value).decode()
        case "array":
            return [_to_json(each, node.item) for each in value]
        case "map":
            return {key: _to_json(each, node.item) for key, each in value.items()}
        case "record":
            return {each.name: _to_json(value[each.name], each.node) for each in node.fields}
    return value


# Text, bytes, single numbers.

_TEXTS = st.text(max_size=20).map(lambda text: (text.encode(), text)) | st.sampled_from(
    [(b"a\xffb", "a\ufffdb"), (b"\xed\xa0\x80", "\ufffd"), (b"", ""), ("😀\u2028".encode(), "😀\u2028")]
)
_BYTES = st.binary(max_size=40).map(lambda data: (data, data))


def _packed(code: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[bytes, Any]]:
    return values.map(lambda value: (struct.pack(code, value), struct.unpack(code, struct.pack(code, value))[0]))


def _listed(pairs: st.SearchStrategy[tuple[bytes, Any]], avro: Any) -> Callable[[bool], st.SearchStrategy[Batch]]:
    schema = schema_of(["null", avro])

    def batches(columns: bool) -> st.SearchStrategy[Batch]:
        some = st.lists(pairs, min_size=1, max_size=6)
        return some.map(lambda each: Batch([Case(raw, value) for raw, value in each], schema))

    return batches


#: The id of the only version in Glue.
GLUE_VERSION = UUID(int=1)
_REGISTRY = {"schema.registry.url": "http://registry:8081"}
_SHORT = {"type": "int", "connect.type": "int16"}
_ONE = json.dumps({"type": "record", "name": "One", "fields": [{"name": "x", "type": "int"}]})
GLUE = "AWSKafkaAvroConverter"
GLUE_JSON = "JsonSchemaConverter of AWS Glue"
ENVELOPE, TYPED, PLAIN = "JsonConverter", "JsonConverter and a schema file", "JsonConverter without schemas"

#: Every choice of a converter and what changes what it takes; a converter that is not here fails the tests.
_KINDS: Mapping[Converter, Sequence[Kind]] = {
    Converter.AVRO: (Kind("AvroConverter", Converter.AVRO, _avro, _REGISTRY),),
    Converter.GLUE_AVRO: (Kind(GLUE, Converter.GLUE_AVRO, _glue, {"registry.name": "shop"}),),
    Converter.GLUE_PROTOBUF: (
        Kind("ProtobufSchemaConverter", Converter.GLUE_PROTOBUF, _glue_protobuf, {"registry.name": "shop"}),
    ),
    Converter.GLUE_JSON_SCHEMA: (Kind(GLUE_JSON, Converter.GLUE_JSON_SCHEMA, _glue_json, {"registry.name": "shop"}),),
    Converter.PROTOBUF: (Kind("ProtobufConverter", Converter.PROTOBUF, _protobuf, _REGISTRY),),
    Converter.JSON_SCHEMA: (Kind("JsonSchemaConverter", Converter.JSON_SCHEMA, _json_schemas, _REGISTRY),),
    Converter.JSON: (
        Kind(ENVELOPE, Converter.JSON, _envelopes, {"schemas.enable": "true"}),
        Kind(TYPED, Converter.JSON, _typed_json, {"schemas.enable": "false", "schema": _ONE}, ("value",)),
        Kind(PLAIN, Converter.JSON, _plain_json, {"schemas.enable": "false"}),
    ),
    Converter.STRING: (Kind("StringConverter", Converter.STRING, _listed(_TEXTS, "string")),),
    Converter.BYTE_ARRAY: (Kind("ByteArrayConverter", Converter.BYTE_ARRAY, _listed(_BYTES, "bytes")),),
    **{
        converter: (Kind(f"{converter.name.title()}Converter", converter, _listed(pairs, avro)),)
        for converter, pairs, avro in (
            (Converter.BOOLEAN, _packed(">?", st.booleans()), "boolean"),
            (
                Converter.SHORT,
                _packed(">h", st.integers(-(2**15), 2**15 - 1)),
                {"type": "int", "connect.type": "int16"},
            ),
            (Converter.INTEGER, _packed(">i", st.integers(-(2**31), 2**31 - 1)), "int"),
            (Converter.LONG, _packed(">q", st.integers(-(2**63), 2**63 - 1)), "long"),
            (Converter.FLOAT, _packed(">f", st.floats(width=32)), "float"),
            (Converter.DOUBLE, _packed(">d", st.floats()), "double"),
        )
    },
}


@cache
def kinds() -> Mapping[str, Kind]:
    return {kind.name: kind for converter in Converter for kind in _KINDS[converter]}
