"""Values without a schema that Java has more types of than Python: what a transform made, until it is written."""

from __future__ import annotations

from typing import Any, Final

from kafka_s3.values.converters.connect_types import Float32 as Float32
from kafka_s3.values.converters.connect_types import Moment as Moment

#: Connect's words for the types of values without a schema.
_TYPES: Final = {
    bool: "BOOLEAN", int: "INT64", float: "FLOAT64", str: "STRING", bytes: "BYTES", list: "ARRAY", dict: "MAP",
    Float32: "FLOAT32",
}  # fmt: skip


class Small(int):
    """An integer of less than 64 bits."""

    __slots__ = ()
    type = ""


class Int8(Small):
    __slots__ = ()
    type = "INT8"


class Int16(Small):
    __slots__ = ()
    type = "INT16"


class Int32(Small):
    __slots__ = ()
    type = "INT32"


def type_of(value: Any) -> str | None:
    """Connect's type of a value without a schema; `None` for what its data API does not have: a `Moment`."""
    return value.type if isinstance(value, Small) else _TYPES.get(type(value))
