"""Datums of a MB or more that are made to weigh much: the type of a field, and its bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

from tests.pairs.kinds import zigzag

Text = Callable[[int], bytes]  # of about so many bytes


def array(item: Any) -> Any:
    return {"type": "array", "items": item}


def record(name: str, **fields: Any) -> Any:
    return {"type": "record", "name": name, "fields": [{"name": each, "type": of} for each, of in fields.items()]}


def many(item: bytes) -> Text:
    def made(size: int) -> bytes:
        count = max(size // len(item), 1)
        return zigzag(count) + item * count + b"\0"

    return made


def nothings(per_byte: int) -> Text:
    """Items without bytes, as many as there may be for the bytes of a text beside them."""
    return lambda size: zigzag(per_byte * size) + b"\0"


def deep(levels: int, inner: Any) -> Any:
    made = inner
    for level in range(levels):
        made = record(f"D{level}", a=made)
    return made


_EMPTY = record("Empty")
NULLABLE = ["null", "int"]
WIDE = record("Wide", **{f"f{n}": NULLABLE for n in range(200)})
LONG_NAME = "n" * 20_000
_MAP_ENTRY = record("MapEntry", key="int", value="int") | {"connect.internal.type": "MapEntry"}
_TREE = record("Tree", all=array("Tree"))
_LIST = record("List", next=["null", "List"])
_UNION = ["null", *(record(f"U{n}", a="int") for n in range(60))]
_PAIR = record("Pair", a=["null", "Pair"], b=["null", "Pair"])
DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 900, "scale": 2}

#: Avro: the type of a field, and its bytes.
AVRO: Mapping[str, tuple[Any, Text]] = {
    "longs": (array("long"), many(b"\2")),
    "ints": (array("int"), many(b"\x80\1")),
    "booleans": (array("boolean"), many(b"\1")),
    "texts": (array("string"), many(b"\0")),
    "letters": (array("string"), many(b"\4\xc3\xa9")),
    "bytes": (array("bytes"), many(b"\0")),
    "doubles": (array("double"), many(b"\x18-DT\xfb!\t@")),
    "decimals": (array(DECIMAL), many(b"\0")),
    "long decimals": (array(DECIMAL), many(zigzag(370) + b"\x55" * 370)),
    "dates": (array({"type": "int", "logicalType": "date"}), many(b"\2")),
    "timestamps": (array({"type": "long", "logicalType": "timestamp-millis"}), many(b"\2")),
    "nullables": (array(NULLABLE), many(b"\0")),
    "lists": (array(array("int")), many(b"\0")),
    "maps": (array({"type": "map", "values": "int"}), many(b"\0")),
    "names": (
        {"type": "map", "values": "null"},
        lambda size: zigzag(size // 7) + b"".join(b"\x0c%06x" % n for n in range(size // 7)) + b"\0",
    ),
    "records": (array(record("One", a="int")), many(b"\0")),
    "records of two bytes": (array(deep(3, "int")), many(b"\x80\1")),
    "pairs of pairs": (
        _PAIR,
        lambda size: reduce(lambda below, _: (b"\2" + below) * 2, range((size // 4).bit_length()), b"\0\0"),
    ),
    "names of records": (
        {"type": "map", "values": deep(14, "int")},
        lambda size: zigzag(size // 8) + b"".join(b"\x0c%06x\0" % n for n in range(size // 8)) + b"\0",
    ),
    "wide records": (array(WIDE), many(b"\0" * 200)),
    "deep records": (array(deep(8, "int")), many(b"\0")),
    "deeper records": (array(deep(60, "int")), many(b"\0")),
    "unions": (array(_UNION), many(b"\0")),
    "branches": (array(_UNION), many(b"\2\0")),
    "nulls of wide records": (array(["null", WIDE]), many(b"\0")),
    "nulls of long fixed": (array(["null", {"type": "fixed", "name": "L", "size": 256}]), many(b"\0")),
    "names of before": (
        array({**record("R"), "fields": [{"name": "a", "type": "int", "connect.name": LONG_NAME}]}),
        many(b"\0"),
    ),
    "trees": (_TREE, lambda size: zigzag(size) + b"\0" * size + b"\0"),
    "deep trees": (_TREE, lambda size: zigzag(size // 90) + (b"\2" * 88 + b"\0" * 89) * (size // 90) + b"\0"),
    "long lists": (array(_LIST), lambda size: zigzag(size // 91) + (b"\2" * 90 + b"\0") * (size // 91) + b"\0"),
    "entries": (array(_MAP_ENTRY), many(b"\2\2")),
    "symbols": (array({"type": "enum", "name": "E", "symbols": [LONG_NAME]}), many(b"\0")),
    "long names": (array(record("Named", **{LONG_NAME: "int"})), many(b"\0")),
    "nothing, beside bytes": (
        record("Beside", a="bytes", b=array("null")),
        lambda size: zigzag(size) + b"x" * size + nothings(3)(size),
    ),
    "empty records, beside bytes": (
        record("Beside", a="bytes", b=array(_EMPTY)),
        lambda size: zigzag(size) + b"x" * size + nothings(3)(size),
    ),
    "fixed of no size, beside bytes": (
        record("Beside", a="bytes", b=array({"type": "fixed", "name": "F", "size": 0})),
        lambda size: zigzag(size) + b"x" * size + nothings(3)(size),
    ),
}
