"""Values without a schema to lines.

The hot path is a batch in which every value is fine: it is checked as a whole, and only when that fails is each value
looked at by itself.
"""

from __future__ import annotations

import base64
import codecs
import json
import re
from collections import deque
from collections.abc import Callable, Sequence

import msgspec

from kafka_s3.shown import NoJsonNumber, json_problem
from kafka_s3.values.converters.json_limits import NESTING_MAX, TOO_MANY, has_too_many, is_too_deep
from kafka_s3.values.rows import Excluded, Lines, Tombstone, Unwritable

# Python refuses to make an int of more digits (sys.set_int_max_str_digits); Jackson stops at 1,000.
_INT_DIGITS_MAX = 4300
_LONG_NUMBER = re.compile(rb"\d{%d,}" % (_INT_DIGITS_MAX + 1))
_WHITE_SPACE = re.compile(rb'("[^"\\]*+(?:\\.[^"\\]*+)*+")|[ \t\r\n]+', re.DOTALL)
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")


def take_bytes(values: Sequence[bytes | None]) -> Lines:
    """Each value as it is (ByteArrayConverter into ByteArrayFormat)."""
    if None in values:
        return _each(values, lambda value: value)
    return Lines(values)  # type: ignore[arg-type]  # no None is left


def bytes_to_json(values: Sequence[bytes | None]) -> Lines:
    """Each value as a JSON string in base64, as Jackson writes bytes (ByteArrayConverter into JsonFormat)."""
    return _each(values, lambda value: b'"%b"' % base64.b64encode(value))


def strings_to_json(values: Sequence[bytes | None]) -> Lines:
    """Each value as a JSON string (StringConverter into JsonFormat).

    Bytes that are not UTF-8 become U+FFFD, as Java's own decoder has it.
    """
    encode = msgspec.json.encode
    return _each(values, lambda value: encode(java_string(value)))


def java_string(value: bytes) -> str:
    """`new String(value, UTF_8)`: Python's replacement, but one U+FFFD for the bytes of a surrogate, not three."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return _SURROGATE.sub("\ufffd".encode(), value).decode("utf-8", "replace")


class JsonLines:
    """JSON values, checked, one a line (JsonConverter with schemas.enable=false into JsonFormat).

    A value that is valid and stands on one line goes out as it came: numbers, key order, spaces and duplicate keys
    are its producer's. One with a line break is written again without white space, otherwise the same. What is not
    JSON is `Unwritable`, NaN and Infinity included (Jackson refuses them too), and a value that is just `null` is a
    tombstone (Connect's JsonConverter makes the same null of both).
    """

    def __init__(self) -> None:
        self._decode = msgspec.json.Decoder(msgspec.Raw).decode

    def __call__(self, values: Sequence[bytes | None]) -> Lines:
        try:
            # Runs at C speed: decoding to Raw checks the grammar and makes no objects. None raises TypeError.
            deque(map(self._decode, values), maxlen=0)  # type: ignore[arg-type]
            joined = b"\n".join(values)  # type: ignore[arg-type]
        except (msgspec.DecodeError, TypeError, RecursionError):
            return _each(values, self._line)
        if (
            joined.count(b"\n") != len(values) - 1
            or b"\r" in joined
            or (b"null" in joined and b"null" in map(bytes.strip, values))  # type: ignore[arg-type]
            or not _is_utf8(joined)
            or (longest := len(max(values, key=len))) > _INT_DIGITS_MAX  # type: ignore[arg-type]
            or (longest >= 2 * NESTING_MAX and any(map(_may_be_deep, values)))  # type: ignore[arg-type]
        ):
            return _each(values, self._line)
        return Lines(values, joined=joined)  # type: ignore[arg-type]

    def _line(self, value: bytes) -> bytes | Excluded:
        if is_too_deep(value):
            return Unwritable(f"not JSON: nested too deeply (more than {NESTING_MAX} levels)")
        problem = None
        try:
            self._decode(value)
        except (msgspec.DecodeError, RecursionError) as error:
            problem = error
        if problem is not None or not _is_utf8(value) or _LONG_NUMBER.search(value):
            return _line_by_json_loads(value)
        if value.strip() == b"null":
            return Tombstone()
        if b"\n" in value or b"\r" in value:
            return msgspec.json.format(value, indent=-1)
        return value


#: What the serializers of a schema registry begin with, before the schema's id: no JSON text can.
_MAGIC_BYTE = b"\0"
_FRAMED = (
    "not JSON: it begins with 00, the magic byte of a schema registry: AvroConverter reads Avro, ProtobufConverter"
    " Protobuf, JsonSchemaConverter JSON; or take the bytes with ByteArrayConverter"
)


def _line_by_json_loads(value: bytes) -> bytes | Excluded:
    """The last word on a value that the fast check refused: the standard library's.

    It takes what the fast check does not (lone surrogates as escapes, a byte order mark) and says what is wrong.
    """
    if has_too_many(value):
        return Unwritable(TOO_MANY)
    try:
        text = value.removeprefix(codecs.BOM_UTF8).decode("utf-8")
        parsed = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        return Unwritable("not JSON: nested too deeply")
    except UnicodeDecodeError as error:
        return Unwritable(_FRAMED if value.startswith(_MAGIC_BYTE) else f"not JSON: not UTF-8 at byte {error.start}")
    except ValueError as error:
        if value.startswith(_MAGIC_BYTE):
            return Unwritable(_FRAMED)
        return Unwritable(f"not JSON: {json_problem(error)}" if value.strip() else "not JSON: the value is empty")
    if parsed is None:
        return Tombstone()
    line = value.removeprefix(codecs.BOM_UTF8)
    # Not json.dumps: it would lose duplicate keys, and make an Infinity of 1e999.
    return _WHITE_SPACE.sub(rb"\1", line) if b"\n" in line or b"\r" in line else line


def _may_be_deep(value: bytes) -> bool:
    return value.count(b"[") + value.count(b"{") > NESTING_MAX


def _refuse_constant(name: str) -> float:
    raise NoJsonNumber(name)


def _is_utf8(data: bytes) -> bool:
    if data.isascii():
        return True
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _each(values: Sequence[bytes | None], line: Callable[[bytes], bytes | Excluded]) -> Lines:
    lines: list[bytes] = []
    excluded: dict[int, Excluded] = {}
    for index, value in enumerate(values):
        made = Tombstone() if value is None else line(value)
        if isinstance(made, bytes):
            lines.append(made)
        else:
            excluded[index] = made
            lines.append(b"")
    return Lines(lines, excluded)
