"""What each pair of converter and format keeps: the words of the table of docs/how-to/formats.md, and what proves them.

A row is a kind of values (`kinds`), a column a format. `same` looks at what a reader found and at the value that was
produced, and fails if the words are not true.
"""

from __future__ import annotations

import base64
import json
import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from kafka_s3.avro.graph import graph
from kafka_s3.avro.model import Branch, Schema
from kafka_s3.avro.nodes import Node
from kafka_s3.settings.formats import Format
from kafka_s3.settings.properties import UserDefined
from tests.avro.evolution import same
from tests.pairs.kinds import ENVELOPE, GLUE_JSON, PLAIN, TYPED, Case
from tests.pairs.readers import json_of

OWN = UserDefined("tests.pairs.framed:Framed")
FORMATS: Mapping[Format | UserDefined, str] = {
    **{each: each.value.rpartition(".")[2] for each in Format},
    OWN: "a class of your own",
}


@dataclass(frozen=True)
class Written:
    """How the values were written: under which schema, and with which options."""

    schema: Schema | None
    numeric: bool = False


@dataclass(frozen=True)
class Keeps:
    """`same(found, case, written)` fails where the words are not true of what a reader found.

    Formats of lines and JSON find bytes, the others values.
    """

    words: str
    same: Callable[[Any, Case, Written], None]


# Lines.


def _bytes_kept(found: bytes, case: Case, written: Written) -> None:
    assert found == case.raw


def _json_kept(found: bytes, case: Case, written: Written) -> None:
    if b"\n" not in case.raw:
        assert found == case.raw
    assert b"\n" not in found
    assert json.loads(found) == json.loads(case.raw)
    assert repr(json.loads(found)) == repr(json.loads(case.raw))  # names in their order, and 1 is not 1.0


def _in_base64(found: bytes, case: Case, written: Written) -> None:
    assert base64.b64decode(json.loads(found), validate=True) == case.value


def _in_csv(found: bytes, case: Case, written: Written) -> None:
    assert base64.b64decode(found, validate=True) == case.raw


def _as_text(found: bytes, case: Case, written: Written) -> None:
    assert json.loads(found) == case.value


def _as_json(found: bytes, case: Case, written: Written) -> None:
    """Also letter by letter, where it is known what Connect writes."""
    assert written.schema is not None
    same_json(json_of(found), case.value, graph(written.schema), written.numeric)
    if case.written is not None and not written.numeric:
        assert found.decode() == case.written


# Values.


def _value_kept(found: Any, case: Case, written: Written) -> None:
    assert same(found, bare(case.value)), (found, case.value)


def _anything(found: Any, case: Case, written: Written) -> None:
    assert same(found, _as_anything(case.value)), (found, case.value)


def _columns(found: Any, case: Case, written: Written) -> None:
    assert written.schema is not None
    same_column(found, case.value, graph(written.schema))


_LINES = Keeps("the bytes, a line each", _bytes_kept)
_CSV = Keeps("the bytes in base64, or as they are", _in_csv)
_FRAMES = Keeps("the bytes", _bytes_kept)
_NUMBER = {
    Format.JSON: Keeps("the number or boolean; NaN as text ¹", _as_json),
    Format.AVRO: Keeps("the number or boolean", _value_kept),
    Format.PARQUET: Keeps("keys only: a column", _columns),
}

KEEPS: Mapping[tuple[str, Format | UserDefined], Keeps] = {
    ("AvroConverter", Format.JSON): Keeps("JSON ¹", _as_json),
    ("AvroConverter", Format.AVRO): Keeps("everything, the writer's schema too", _value_kept),
    ("AvroConverter", Format.PARQUET): Keeps("columns ¹", _columns),
    ("AWSKafkaAvroConverter", Format.JSON): Keeps("JSON ¹", _as_json),
    ("AWSKafkaAvroConverter", Format.AVRO): Keeps("everything, the writer's schema too", _value_kept),
    ("AWSKafkaAvroConverter", Format.PARQUET): Keeps("columns ¹", _columns),
    ("ProtobufConverter", Format.JSON): Keeps("JSON ¹", _as_json),
    ("ProtobufConverter", Format.AVRO): Keeps("everything, under Connect's own Avro schema", _value_kept),
    ("ProtobufConverter", Format.PARQUET): Keeps("columns ¹", _columns),
    ("ProtobufSchemaConverter", Format.JSON): Keeps("JSON ¹", _as_json),
    ("ProtobufSchemaConverter", Format.AVRO): Keeps("everything, under Connect's own Avro schema", _value_kept),
    ("ProtobufSchemaConverter", Format.PARQUET): Keeps("columns ¹", _columns),
    ("JsonSchemaConverter", Format.JSON): Keeps("JSON ¹", _as_json),
    ("JsonSchemaConverter", Format.AVRO): Keeps("everything, under Connect's own Avro schema", _value_kept),
    ("JsonSchemaConverter", Format.PARQUET): Keeps("columns ¹", _columns),
    (GLUE_JSON, Format.JSON): Keeps("JSON ¹", _as_json),
    (GLUE_JSON, Format.AVRO): Keeps("everything, under Connect's own Avro schema", _value_kept),
    (GLUE_JSON, Format.PARQUET): Keeps("columns ¹", _columns),
    (ENVELOPE, Format.JSON): Keeps("the payload ¹, the schema left out", _as_json),
    (ENVELOPE, Format.AVRO): Keeps("everything, under Connect's own Avro schema", _value_kept),
    (ENVELOPE, Format.PARQUET): Keeps("columns ¹", _columns),
    (TYPED, Format.JSON): Keeps("the text as it came", _json_kept),
    (TYPED, Format.AVRO): Keeps("what is in the schema", _value_kept),
    (TYPED, Format.PARQUET): Keeps("what is in the schema, in columns ¹", _columns),
    (TYPED, Format.BLOCK_GZIP): _LINES,
    (TYPED, OWN): Keeps("the text as it came", _json_kept),
    (PLAIN, Format.JSON): Keeps("the text as it came", _json_kept),
    (PLAIN, Format.AVRO): Keeps("the value, as Connect's `Anything`", _anything),
    (PLAIN, Format.BLOCK_GZIP): _LINES,
    (PLAIN, OWN): Keeps("the text as it came", _json_kept),
    ("StringConverter", Format.JSON): Keeps("text; what is not UTF-8 becomes U+FFFD", _as_text),
    ("StringConverter", Format.AVRO): Keeps("text; what is not UTF-8 becomes U+FFFD", _value_kept),
    ("StringConverter", Format.PARQUET): _NUMBER[Format.PARQUET],
    ("StringConverter", Format.BLOCK_GZIP): _LINES,
    ("StringConverter", Format.CSV): _CSV,
    ("StringConverter", OWN): _FRAMES,
    ("ByteArrayConverter", Format.JSON): Keeps("text in base64", _in_base64),
    ("ByteArrayConverter", Format.AVRO): Keeps("the bytes", _value_kept),
    ("ByteArrayConverter", Format.PARQUET): _NUMBER[Format.PARQUET],
    ("ByteArrayConverter", Format.BYTE_ARRAY): Keeps("the bytes, with the separator behind each", _bytes_kept),
    ("ByteArrayConverter", Format.BLOCK_GZIP): _LINES,
    ("ByteArrayConverter", Format.CSV): _CSV,
    ("ByteArrayConverter", OWN): _FRAMES,
    **{
        (f"{name}Converter", format): keeps
        for name in ("Boolean", "Short", "Integer", "Long", "Float", "Double")
        for format, keeps in _NUMBER.items()
    },
}


def table_of_page() -> str:
    """the table of docs/how-to/formats.md; neighbours of which the same is true share a row."""
    head = f"| values of | {' | '.join(FORMATS.values())} |\n|{'---|' * (len(FORMATS) + 1)}\n"
    rows: dict[tuple[str, ...], list[str]] = {}
    for kind in dict.fromkeys(kind for kind, _ in KEEPS):
        cells = tuple(KEEPS[kind, each].words if (kind, each) in KEEPS else "" for each in FORMATS)
        rows.setdefault(cells, []).append(kind)
    return head + "".join(f"| {', '.join(names)} | {' | '.join(cells)} |\n" for cells, names in rows.items())


# How values are compared.


def bare(value: Any) -> Any:
    """Readers of Avro see a branch's value and not its name."""
    match value:
        case Branch():
            return bare(value.value)
        case dict():
            return {key: bare(each) for key, each in value.items()}
        case list():
            return [bare(each) for each in value]
    return value


_ANYTHING = ("boolean", "bytes", "double", "float", "int", "long", "string", "array", "map")


def _as_anything(value: Any) -> dict[str, Any]:
    made: dict[str, Any] = dict.fromkeys(_ANYTHING)
    match value:
        case bool():
            made["boolean"] = value
        case int():
            made["long"] = value
        case float():
            made["double"] = value
        case str():
            made["string"] = value
        case list():
            made["array"] = [_as_anything(each) for each in value]
        case dict():
            made["map"] = [{"key": _as_anything(key), "value": _as_anything(each)} for key, each in value.items()]
    return made


def same_json(found: Any, value: Any, node: Node, numeric: bool) -> None:
    """What is true of JSON made of a value with a schema, type by type."""
    match node.kind:
        case "union" if value is None:
            assert found is None
        case "union" if isinstance(value, Branch):
            _same_branch(found, value, node, numeric)
        case "union":
            same_json(found, value, node.required, numeric)
        case "bytes" | "fixed" if node.logical and numeric:
            assert isinstance(found, int | Decimal)
            assert Decimal(found) == Decimal(int.from_bytes(value, signed=True)).scaleb(-node.logical.scale)
        case "bytes" | "fixed" if node.logical:
            assert int.from_bytes(base64.b64decode(found, validate=True), signed=True) == int.from_bytes(
                value, signed=True
            )
        case "bytes" | "fixed":
            assert base64.b64decode(found, validate=True) == value
        case "float" | "double":
            same_number(found, value, node.kind)
        case "array" if isinstance(found, dict):  # entries of a map with optional texts for keys
            assert found.keys() == {each["key"] for each in value}
        case "array" if _is_map_entry(node.item):
            assert [key for key, _ in found] == [each["key"] for each in value]
            inner = {each.name: each.node for each in node.item.fields}
            for (_, one), each in zip(found, value, strict=True):
                same_json(one, each["value"], inner["value"], numeric)
        case "array":
            for one, each in zip(found, value, strict=True):
                same_json(one, each, node.item, numeric)
        case "map":
            assert list(found) == list(value)
            for key, each in value.items():
                same_json(found[key], each, node.item, numeric)
        case "record":
            assert list(found) == [each.name for each in node.fields]
            for each in node.fields:
                same_json(found[each.name], value[each.name], each.node, numeric)
        case _:
            assert same(found, value), (found, value)


def _is_map_entry(node: Node) -> bool:
    return node.properties.get("connect.internal.type") == "MapEntry" or node.name.endswith(".MapEntry")


def _same_branch(found: Any, value: Branch, node: Node, numeric: bool) -> None:
    """An object of one name for each type, of which one is not null; a single `fixed` is called by its type."""
    others = [each for each in node.branches if each.kind != "null"]
    fixed = sum(each.kind == "fixed" for each in others) == 1
    names = {each.name: "fixed" if fixed and each.kind == "fixed" else each.name for each in others}
    assert list(found) == list(names.values())
    branch = node.branch(value.name)
    assert branch is not None
    same_json(found[names[value.name]], value.value, branch, numeric)
    assert all(found[name] is None for own, name in names.items() if own != value.name)


def same_number(found: Any, value: float, kind: str) -> None:
    """As Java writes it: the fewest digits that mean it; what is not a number is text."""
    if not math.isfinite(value):
        assert found == {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
        return
    assert isinstance(found, Decimal), found
    read = float(found)
    assert same(struct.unpack("<f", struct.pack("<f", read))[0] if kind == "float" else read, value)


def same_column(found: Any, value: Any, node: Node) -> None:
    """What is true of a column's value, type by type."""
    match node.kind:
        case "union" if value is None:
            assert found is None
        case "union" if isinstance(value, Branch):
            others = [each for each in node.branches if each.kind != "null"]
            assert list(found) == [each.name for each in others]
            for branch in others:
                if branch.name == value.name:
                    same_column(found[branch.name], value.value, branch)
                else:
                    assert found[branch.name] is None
        case "union":
            same_column(found, value, node.required)
        case "bytes" | "fixed" if node.logical:
            assert int.from_bytes(found, "little", signed=True) == int.from_bytes(value, signed=True)
        case "array":
            for one, each in zip(found, value, strict=True):
                same_column(one, each, node.item)
        case "map":
            assert list(found) == list(value)
            for key, each in value.items():
                same_column(found[key], each, node.item)
        case "record":
            assert list(found) == [each.name for each in node.fields]
            for each in node.fields:
                same_column(found[each.name], value[each.name], each.node)
        case _:
            assert same(found, value), (found, value)
