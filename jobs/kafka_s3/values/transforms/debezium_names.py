"""How Debezium names schemas."""

from __future__ import annotations

import re
from typing import Final

from kafka_s3.avro.nodes import Node, Record

#: How the name of a change event's schema ends.
EVENT: Final = ".Envelope"
_OTHER: Final = re.compile(r"[^A-Za-z0-9_.]")


def is_event(node: Node) -> bool:
    """Whether values of a type are change events."""
    record = node.required
    return isinstance(record, Record) and shown_name(record).endswith(EVENT)


def shown_name(record: Record) -> str:
    """What Connect calls a struct; Avro may have had to call it otherwise."""
    name = record.properties.get("connect.name", record.name)
    return name if isinstance(name, str) else record.name


def adjusted(name: str, mode: str) -> str:
    """A name as `schema.name.adjustment.mode` wants it. `mode`: none, avro or avro_unicode.

    >>> adjusted("1a-b_c", "avro"), adjusted("1a-b_c", "avro_unicode")
    ('_1a_b_c', '_u0031a_u002db_u005fc')
    """
    match mode:
        case "avro":
            return _OTHER.sub("_", f"_{name}" if name[:1].isdigit() else name)
        case "avro_unicode":
            return "".join(
                each
                if each.isascii() and (each.isalpha() or (at and (each.isdigit() or each == ".")))
                else _coded(each)
                for at, each in enumerate(name)
            )
    return name


def _coded(character: str) -> str:
    return f"_u{ord(character):04x}"
