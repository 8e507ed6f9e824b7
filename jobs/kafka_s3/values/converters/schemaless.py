"""JSON without a schema as Python values, as JsonConverter sees it: integers of 64 bits, doubles, text, lists, maps."""

from __future__ import annotations

from typing import Any, Final

from kafka_s3.values.converters.connect_schema import InvalidSchema, as_text
from kafka_s3.values.converters.connect_values import INTS, Number, shown

#: Levels of brackets: Python recurses twice for each, here and in writing.
NESTING_MAX: Final = 200


def plain_json(value: Any, nesting_max: int = NESTING_MAX) -> Any:
    """What `connect_values.parse` made, with its numbers as ints and floats; `InvalidSchema` where they do not fit.

    Lists and dictionaries are changed as they are: a record of a MB may be half a million of them.
    """
    try:
        return _plain(value, nesting_max)
    except _TooDeep:
        raise InvalidSchema(f"JSON without a schema is nested too deeply (more than {nesting_max} levels)") from None


class _TooDeep(Exception):
    """There is no room for another level."""


def _plain(value: Any, room: int) -> Any:
    kind = type(value)
    if kind is dict or kind is list:
        if not room:
            raise _TooDeep
        if kind is dict:
            for key in value:
                as_text(key)
        for place, each in value.items() if kind is dict else enumerate(value):
            if (made := _plain(each, room - 1)) is not each:
                value[place] = made
        return value
    match value:
        case Number():
            number = float(value)
            if number - number != 0:
                raise InvalidSchema(f"{shown(value)} does not fit into double")
            return number
        case str():
            return as_text(value)
        case bool() | None:
            return value
        case _:
            low, high = INTS["int64"]
            if not low <= value <= high:
                raise InvalidSchema(f"{shown(value)} does not fit into 64 bits")
            return value
