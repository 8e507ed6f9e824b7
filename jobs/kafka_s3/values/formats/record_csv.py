"""A record's fields as a line of CSV: text of base64 and digits, which needs no quotes."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence


def csv_lines(columns: Sequence[Sequence[bytes]]) -> list[bytes]:
    """One line a record, without its end.

    >>> csv_lines([[b"YQ==", b""], [b"7", b"8"]])
    [b'YQ==,7', b',8']
    """
    return list(map(b",".join, zip(*columns, strict=True)))


def in_base64(values: Iterable[bytes | None]) -> list[bytes]:
    """Null is nothing at all, as it is in every column."""
    return [b"" if value is None else base64.b64encode(value) for value in values]


def csv_numbers(numbers: Iterable[int | None]) -> list[bytes]:
    return [b"" if number is None else b"%d" % number for number in numbers]


def csv_headers(headers: Iterable[Sequence[tuple[str, bytes | None]]]) -> list[bytes]:
    """`name:value;` for each header, both in base64.

    >>> csv_headers([(("a", b"1"), ("b", None)), ()])
    [b'YQ==:MQ==;Yg==:;', b'']
    """
    return [b"".join(map(_header, each)) for each in headers]


def _header(header: tuple[str, bytes | None]) -> bytes:
    name, value = header
    return b"%b:%b;" % (base64.b64encode(name.encode()), base64.b64encode(value or b""))
