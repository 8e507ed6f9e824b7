"""A record's fields as JSON: an object of them, or one alone."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

import msgspec

_ERA_S: Final = 146_097 * 86_400  # a calendar comes again every 400 years
_EPOCH: Final = dt.datetime(1970, 1, 1)  # noqa: DTZ001  # of UTC, and nothing is asked of a zone
_BOTTOM: Final = -62_135_596_800  # the first second of the year 1
_TOP: Final = 253_402_300_800  # the first second of the year 10000
_encode: Final = msgspec.json.Encoder().encode


def json_objects(names: Sequence[str], columns: Sequence[Sequence[bytes]]) -> list[bytes]:
    """One object a record. `columns` are JSON texts, one for each name and record.

    >>> json_objects(["key", "offset"], [[b'"a"', b"null"], [b"1", b"2"]])
    [b'{"key":"a","offset":1}', b'{"key":null,"offset":2}']
    """
    members = [_encode(name).replace(b"%", b"%%") + b":%b" for name in names]
    shape = b"{" + b",".join(members) + b"}"
    return list(map(shape.__mod__, zip(*columns, strict=True)))


#: Python refuses to make an int of more than 4,300.
_DIGITS_AT_ONCE: Final = 2_000


def json_numbers(numbers: Sequence[int]) -> list[bytes]:
    return list(map(b"%d".__mod__, numbers))


def json_moments(stamps: Sequence[int | None]) -> list[bytes]:
    """Milliseconds of UTC as Java's ISO_INSTANT writes them, without a fraction that is none.

    >>> json_moments([0, 1_577_836_801_020, None])
    [b'"1970-01-01T00:00:00Z"', b'"2020-01-01T00:00:01.020Z"', b'null']
    """
    return [b"null" if each is None else _moment(each) for each in stamps]


def _moment(at_ms: int) -> bytes:
    seconds, rest = divmod(at_ms, 1000)
    fraction = b".%03d" % rest if rest else b""
    return b'"%b%bZ"' % (_second(seconds), fraction)


@lru_cache(4096)
def _second(seconds: int) -> bytes:
    eras = min(0, (seconds - _BOTTOM) // _ERA_S) or max(0, (seconds - _TOP) // _ERA_S + 1)
    at = _EPOCH + dt.timedelta(seconds=seconds - eras * _ERA_S)
    year = at.year + 400 * eras
    sign = "+" if year > 9999 else "-" if year < 0 else ""
    return f"{sign}{abs(year):04d}-{at:%m-%dT%H:%M:%S}".encode()


def unscaled_bytes(number: Decimal) -> bytes:
    """The digits of a decimal as Connect's Decimal has them: two's complement, the highest byte first.

    >>> unscaled_bytes(Decimal("-1.28"))
    b'\\x80'
    """
    sign, digits, _ = number.as_tuple()
    whole = _whole("".join(map(str, digits)))
    whole = -whole if sign else whole
    return whole.to_bytes((whole if whole >= 0 else ~whole).bit_length() // 8 + 1, signed=True)


def _whole(digits: str) -> int:
    """The number that some digits are; of more than Python takes at once by halves, which is also quicker.

    >>> _whole("1" * 5000) == (10**5000 - 1) // 9
    True
    """
    if len(digits) <= _DIGITS_AT_ONCE:
        return int(digits)
    half = len(digits) // 2
    shifted: int = _whole(digits[:-half]) * 10**half
    return shifted + _whole(digits[-half:])


def json_of(value: Any) -> bytes:
    return _encode(value)
