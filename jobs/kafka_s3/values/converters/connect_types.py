"""Values with the types that Connect's have, and their text as `Values.convertToString` writes it.

| Connect, Java | Python |
|---|---|
| boolean, string, bytes | bool, str, bytes |
| int8 to int64 | int |
| float | `Float32` |
| double | float |
| Decimal (BigDecimal) | `decimal.Decimal` |
| Date, Time, Timestamp (java.util.Date) | `Moment` |
| array | list |
| map, struct | `Entries` |
"""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

from kafka_s3.values.formats.java_numbers import java_double, java_float

DAY_MS: Final = 86_400_000
_BACKSLASHES: Final = str.maketrans({"\\": "\\\\", '"': '\\"'})
_INT: Final = 2**32 - 1
_LONG: Final = 2**64 - 1
_ERA_DAYS: Final = 146_097  # 400 years


class Float32(float):
    """A float of 32 bits."""

    __slots__ = ()


class Moment(int):
    """Milliseconds since the epoch, in UTC."""

    __slots__ = ()


class Entries(list[tuple[Any, Any]]):
    """The entries of a map, or the fields of a struct, in their order."""

    __slots__ = ()


def in_java_order(entries: Sequence[tuple[Any, Any]], *, is_long: bool = False) -> Entries:
    """The entries of a map as Java's HashMap hands them out, which is what JsonConverter makes.

    Keys of eight and more in one of its buckets, and keys that are neither text nor integers, stay as they stood.
    `is_long`: integers among the keys have 64 bits.

    >>> in_java_order([("b", 1), ("a", 2)])
    [('a', 2), ('b', 1)]
    """
    size = 16
    while len(entries) > size * 3 // 4:
        size *= 2
    return Entries(sorted(entries, key=lambda entry: _bucket(entry[0], is_long) & (size - 1)))


def _bucket(key: Any, is_long: bool) -> int:
    if type(key) is str:
        hashed = 0
        units = key.encode("utf-16-le", "surrogatepass")
        for at in range(0, len(units), 2):
            hashed = (31 * hashed + units[at] + 256 * units[at + 1]) & _INT
    elif type(key) is bool:
        hashed = 1231 if key else 1237
    elif isinstance(key, int):
        bits = key & _LONG
        hashed = (bits ^ (bits >> 32)) & _INT if is_long or isinstance(key, Moment) else bits & _INT
    else:
        hashed = 0
    return hashed ^ (hashed >> 16)


def text_of(value: Any) -> str:
    """
    >>> text_of([1, Float32(1.5), "a", None]), text_of(Entries([("a", True)])), text_of(Moment(1_577_923_200_000))
    ('[1,1.5,"a",null]', '{"a":true}', '2020-01-02')
    """
    if type(value) is str:
        return value
    return base64_text(value) if type(value) is bytes else _text(value)


def _text(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return f'"{value.translate(_BACKSLASHES)}"'
        case Moment():
            return moment_text(value)
        case int() | Decimal():
            return str(value)
        case Float32():
            return java_float(float(value))
        case float():
            return java_double(value)
        case bytes():
            return f'"{base64_text(value)}"'
        case Entries():
            return f"{{{','.join(f'{_text(key)}:{_text(each)}' for key, each in value)}}}"
        case _:
            return f"[{','.join(map(_text, value))}]"


def base64_text(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")


def moment_text(ms: int) -> str:
    """A time of day before 1970-01-02, a date at midnight, else both.

    >>> moment_text(0), moment_text(86_400_000), moment_text(86_400_001), moment_text(-1)
    ('00:00:00.000Z', '1970-01-02', '1970-01-02T00:00:00.001Z', '23:59:59.999Z')
    """
    days, rest = divmod(ms, DAY_MS)
    seconds, milliseconds = divmod(rest, 1000)
    minutes, second = divmod(seconds, 60)
    time = f"{minutes // 60:02}:{minutes % 60:02}:{second:02}.{milliseconds:03}Z"
    if ms < DAY_MS:
        return time
    # Years beyond those of Python are the same days of a calendar that comes again every 400 years.
    eras = max(0, days // _ERA_DAYS - 15)
    date = dt.date(1970, 1, 1) + dt.timedelta(days=days - eras * _ERA_DAYS)
    day = f"{date.year + 400 * eras:04}-{date.month:02}-{date.day:02}"
    return f"{day}T{time}" if rest else day
