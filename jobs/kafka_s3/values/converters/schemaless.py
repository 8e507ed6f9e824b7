"""JSON without a schema as Python values, as JsonConverter sees it: integers of 64 bits, doubles, text, lists, maps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from kafka_s3.avro.model import Schema
from kafka_s3.values.converters.connect_schema import InvalidSchema, as_text
from kafka_s3.values.converters.connect_values import INTS, Number, parse, shown
from kafka_s3.values.converters.json_limits import NESTING_MAX as JSON_NESTING_MAX
from kafka_s3.values.converters.json_limits import TOO_MANY, VALUES_MAX, has_too_many, is_too_deep
from kafka_s3.values.converters.structs import ValueRows
from kafka_s3.values.rows import Excluded, Tombstone, Unwritable

_DECODE: Final = msgspec.json.Decoder().decode
#: As many digits as the largest number of 64 bits has.
_MANY_DIGITS: Final = b"0" * 19
_DIGITS: Final = bytes.maketrans(b"123456789", b"0" * 9)
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


def schemaless_json(values: Sequence[bytes | None]) -> ValueRows:
    """JsonConverter with schemas.enable=false, for whoever looks into the values.

    The hot path parses at C speed what both parsers read alike, each value for itself.
    """
    try:
        sizes = list(map(len, values))  # type: ignore[arg-type]  # None raises TypeError
        joined = b"".join(values)  # type: ignore[arg-type]
        longest = max(sizes, default=0)
        is_flat = longest < 2 * NESTING_MAX or not any(map(_is_deep, values))  # type: ignore[arg-type]
        if is_flat and longest <= VALUES_MAX and _is_simple(joined):
            made = list(map(_DECODE, values))  # type: ignore[arg-type]
            if None not in made:
                return ValueRows(made, None, {}, sizes)
    except (msgspec.DecodeError, TypeError, UnicodeDecodeError, RecursionError):
        pass
    return rows_of_json(values, _simply, None)


def _simply(text: bytes) -> Any:
    if not _is_deep(text) and _is_simple(text):
        try:
            return _DECODE(text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass  # the other parser says what is wrong, or takes it after all
    return plain_json(parse(text))


def _is_deep(text: bytes) -> bool:
    return is_too_deep(text, NESTING_MAX)


def _is_simple(text: bytes) -> bool:
    """Whether the text is UTF-8 and no number in it might not fit into 64 bits."""
    return _MANY_DIGITS not in text.translate(_DIGITS) and (text.isascii() or _is_utf8(text))


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def rows_of_json(values: Sequence[bytes | None], made_of: Callable[[bytes], Any], schema: Schema | None) -> ValueRows:
    """Rows of what is made of each JSON text: `None` is a tombstone, and `InvalidSchema` a bad record."""
    made = [Tombstone() if value is None else _one(value, made_of) for value in values]
    excluded: dict[int, Excluded] = {
        index: one for index, one in enumerate(made) if isinstance(one, Tombstone | Unwritable)
    }
    return ValueRows(made, schema, excluded, [0 if value is None else len(value) for value in values])


def _one(value: bytes, made_of: Callable[[Any], Any]) -> Any:
    text = value.removeprefix(b"\xef\xbb\xbf")
    if is_too_deep(text):
        return Unwritable(f"not JSON: nested too deeply (more than {JSON_NESTING_MAX} levels)")
    if has_too_many(text):
        return Unwritable(TOO_MANY)
    try:
        made = made_of(text)
    except InvalidSchema as refused:
        return Unwritable(str(refused))
    return Tombstone() if made is None else made
