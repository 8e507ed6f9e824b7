"""A schema with every type that Avro has, two values of it, and where its parts are registered."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from decimal import Decimal
from typing import Any

from confluent_kafka.schema_registry import Schema, SchemaReference

from tests.readers.place import Place, record


def logical(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": name, **more}


#: Registered under a subject of its own, and referred to.
ADDRESS = {
    "type": "record",
    "name": "Address",
    "namespace": "shop.places",
    "doc": "Where somebody lives.",
    "aliases": ["shop.Home"],
    "fields": [
        {"name": "street", "type": "string", "doc": "With the number."},
        {"name": "zip", "type": ["null", "string"], "default": None, "aliases": ["plz"]},
    ],
}
SUIT = {
    "type": "enum",
    "name": "Suit",
    "doc": "Of cards.",
    "symbols": ["SPADES", "HEARTS", "CLUBS"],
    "default": "SPADES",
    "aliases": ["Colour"],
}
FIELDS: dict[str, Any] = {
    "flag": "boolean",
    "small": "int",
    "big": "long",
    "ratio": "float",
    "amount": "double",
    "text": "string",
    "raw": "bytes",
    "hash": {"type": "fixed", "name": "Hash", "size": 4},
    "suit": SUIT,
    "price": logical("bytes", "decimal", precision=9, scale=2),
    "total": {"type": "fixed", "name": "Total", "size": 6, "logicalType": "decimal", "precision": 12, "scale": 3},
    "day": logical("int", "date"),
    "clock": logical("int", "time-millis"),
    "tick": logical("long", "time-micros"),
    "moment": logical("long", "timestamp-millis"),
    "instant": logical("long", "timestamp-micros"),
    "wall": logical("long", "local-timestamp-millis"),
    "exact": logical("long", "local-timestamp-micros"),
    "key": logical("string", "uuid"),
    "home": "shop.places.Address",
    "tags": {"type": "array", "items": "string"},
    "stops": {"type": "array", "items": "shop.places.Address"},
    "counts": {"type": "map", "values": "long"},
    "either": ["null", "int", "string", record("Point", {"x": "double", "y": "double"})],
}
MORE = [
    {"name": "note", "type": ["null", "string"], "default": None, "doc": "For people.", "aliases": ["remark"]},
    {"name": "level", "type": "int", "default": 7, "doc": "From 1 to 9."},
]
EVERYTHING = {
    "type": "record",
    "name": "Everything",
    "namespace": "shop",
    "doc": "All there is.",
    "aliases": ["shop.old.All"],
    "fields": [*({"name": name, "type": kind} for name, kind in FIELDS.items()), *MORE],
}

MOMENT = dt.datetime(2023, 11, 14, 22, 13, 20, 123_000, tzinfo=dt.UTC)
INSTANT = MOMENT.replace(microsecond=123_456)
HOME = {"street": "Größe 1", "zip": None}
SHOP = {"street": "High Street 2", "zip": "EC1"}
KEY = uuid.UUID("f81d4fae-7dec-11d0-a765-00a0c91e6bf6")

#: What is produced: Python's own types, as fastavro takes them.
FIRST: dict[str, Any] = {
    "flag": True,
    "small": -(2**31),
    "big": 2**62,
    "ratio": 0.5,
    "amount": -1.25,
    "text": "größe 😀\n",
    "raw": b"\x00\xff",
    "hash": b"\xde\xad\xbe\xef",
    "suit": "HEARTS",
    "price": Decimal("-123.45"),
    "total": Decimal("9876.543"),
    "day": dt.date(2023, 11, 14),
    "clock": dt.time(1, 0, 0, 1_000),
    "tick": dt.time(1, 0, 0, 1),
    "moment": MOMENT,
    "instant": INSTANT,
    "wall": MOMENT.replace(tzinfo=None),
    "exact": INSTANT.replace(tzinfo=None),
    "key": KEY,
    "home": HOME,
    "tags": ["a", "", "ü"],
    "stops": [SHOP, HOME],
    "counts": {"x": 1, "y": -1},
    "either": {"x": 1.5, "y": 2.5},
    "note": "first",
    "level": 1,
}
SECOND: dict[str, Any] = {
    **FIRST,
    "flag": False,
    "small": 2**31 - 1,
    "big": -(2**62),
    "text": "",
    "raw": b"",
    "suit": "CLUBS",
    "price": Decimal("0.01"),
    "total": Decimal("-0.001"),
    "day": dt.date(1969, 12, 31),
    "clock": dt.time(0),
    "tick": dt.time(23, 59, 59, 999_999),
    "moment": dt.datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=dt.UTC),
    "instant": dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=dt.UTC),
    "tags": [],
    "stops": [],
    "counts": {},
    "either": 5,
    "note": None,
    "level": 9,
}
ROWS = [FIRST, SECOND]


def registered(place: Place) -> Schema:
    """The schema as a producer has it: the address is another subject's."""
    client, subject = place.registry.client(), f"{place.topic}-address"
    client.register_schema(subject, Schema(json.dumps(ADDRESS), "AVRO"))
    reference = SchemaReference("shop.places.Address", subject, 1)
    return Schema(json.dumps(EVERYTHING), "AVRO", [reference])


def complete(schema: dict[str, Any]) -> Any:
    """The same with the address defined where it is first used."""
    text = json.dumps(schema)
    return json.loads(text.replace('"shop.places.Address"', json.dumps(ADDRESS), 1))
