"""JSON without a schema as Python values, as JsonConverter sees it: integers of 64 bits, doubles, text, lists, maps."""

from __future__ import annotations

from typing import Any, Final

from kafka_s3.converters.connect_schema import Refused, as_text
from kafka_s3.converters.connect_values import INTS, Number, shown

#: Levels of brackets: Python recurses twice for each, here and in writing.
NESTING_MAX: Final = 200


def plain_json(value: Any) -> Any:
    """What `connect_values.parse` made, with its numbers as ints and floats; `Refused` where they do not fit."""
    return _plain(value, NESTING_MAX)


def _plain(value: Any, room: int) -> Any:
    if not room and isinstance(value, dict | list):
        raise Refused(f"JSON without a schema is nested too deeply (more than {NESTING_MAX} levels)")
    match value:
        case dict():
            return {as_text(key): _plain(each, room - 1) for key, each in value.items()}
        case list():
            return [_plain(each, room - 1) for each in value]
        case Number():
            number = float(value)
            if number - number != 0:
                raise Refused(f"{shown(value)} does not fit into double")
            return number
        case str():
            return as_text(value)
        case bool() | None:
            return value
        case _:
            low, high = INTS["int64"]
            if not low <= value <= high:
                raise Refused(f"{shown(value)} does not fit into 64 bits")
            return value
