"""JSON under a Connect schema to plain values: one record at a time, with a reason where it cannot be.

These are JsonConverter's rules where they keep the value. Where it would change one in silence (text or a fraction in
an integer field, a number that does not fit, an object in the place of an array), the value is refused; the names of
NaN and the infinities, which it writes itself, are what they say.
"""

from __future__ import annotations

import binascii
import json
import struct
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from kafka_s3.avro.decimals import DIGITS_MAX as DIGITS_MAX
from kafka_s3.shown import NoJsonNumber, json_problem, quoted
from kafka_s3.values.converters.connect_schema import ABSENT, TIME, ConnectField, ConnectSchema, InvalidSchema, as_text
from kafka_s3.values.converters.connect_unions import branch_of

Read = Callable[[Any], Any]
INTS: Final = {f"int{bits + 1}": (-(2**bits), 2**bits - 1) for bits in (7, 15, 31, 63)}
#: Up to it no other integer becomes the same double.
EXACT_MAX: Final = 2**53 - 1
DAY_MS: Final = 86_400_000
_NOT_FINITE = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


class Number(str):
    """A number of JSON with a fraction or an exponent, as it is written."""

    __slots__ = ()


def parse(text: bytes) -> Any:
    """JSON text as Python values, numbers exact; `InvalidSchema` with what is wrong if it is none."""
    try:
        return json.loads(
            text.decode("utf-8"), parse_float=Number, parse_int=_int_or_number, parse_constant=_refuse_constant
        )
    except RecursionError:
        raise InvalidSchema("not JSON: nested too deeply") from None
    except UnicodeDecodeError as error:
        raise InvalidSchema(f"not JSON: not UTF-8 at byte {error.start}") from None
    except ValueError as error:
        raise InvalidSchema(
            f"not JSON: {json_problem(error)}" if text.strip() else "not JSON: the value is empty"
        ) from None


def _int_or_number(text: str) -> int | Number:
    # Python refuses to make an int of thousands of digits, and no type of ours has room for one.
    return int(text) if len(text) <= DIGITS_MAX else Number(text)


def _refuse_constant(name: str) -> float:
    raise NoJsonNumber(name)


def reader(schema: ConnectSchema, fill: bool) -> Read:
    """What makes plain values of JSON values; `fill`: a null becomes the default of its schema."""
    known = "fills" if fill else "keeps"
    if known not in schema.memo:
        schema.memo[known] = _reader(schema, fill)
    made: Read = schema.memo[known]
    return made


def _reader(schema: ConnectSchema, fill: bool) -> Read:
    read = _present(schema, fill)
    default = default_of(schema) if fill else None
    optional = schema.optional

    def maybe(value: Any) -> Any:
        if value is not None:
            return read(value)
        if default is not None:
            return default
        if not optional:
            raise InvalidSchema("null or missing, but required")
        return None

    return maybe


def default_of(schema: ConnectSchema) -> Any:
    """The schema's default as a plain value, or `None`."""
    if schema.default is ABSENT:
        return None
    if "default" not in schema.memo:
        schema.memo["default"] = _default(schema)
    return schema.memo["default"]


def _default(schema: ConnectSchema) -> Any:
    if schema.default is None:
        if schema.optional:
            return None
        raise InvalidSchema("the default of its schema is null, but it is required")
    try:
        return _present(schema, fill=True)(schema.default)
    except InvalidSchema as refused:
        refused.at.insert(0, "default")
        raise


def _present(schema: ConnectSchema, fill: bool) -> Read:
    known = "reads, fills" if fill else "reads, keeps"
    if known not in schema.memo:
        schema.memo[known] = _read(schema, fill)
    made: Read = schema.memo[known]
    return made


def _read(schema: ConnectSchema, fill: bool) -> Read:
    if schema.logical:
        return _decimal(schema) if schema.type == "bytes" else _integer(schema)
    match schema.type:
        case "boolean":
            return _boolean
        case "float":
            return lambda value: float32(_double(value))
        case "double":
            return _exact_double if schema.exact else _double
        case "bytes":
            return _base64
        case "string":
            return _symbol(schema.symbols) if schema.symbols else _string
        case "array":
            assert schema.items
            return _array(reader(schema.items, fill))
        case "map":
            return _map(schema, fill)
        case "struct" if schema.again is not None:
            return lambda value: _present(schema.memo["again"], fill)(value)
        case "struct" if schema.union:
            return _union(schema, fill)
        case "struct":
            return _struct(schema.fields, fill)
        case _:
            return _integer(schema)


def shown(value: Any) -> str:
    """A value in a message: its kind; its beginning, where content is shown."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    text = json.dumps(str(value)) if type(value) is str else str(value).lower() if type(value) is bool else str(value)
    kind = "a number with a fraction or an exponent" if isinstance(value, Number) else None
    return quoted(value, text if len(text) <= 60 else f"{text[:60]}...", kind=kind)


def _boolean(value: Any) -> bool:
    if type(value) is not bool:
        raise InvalidSchema(f"{shown(value)} is not a boolean")
    return value


def _integer(schema: ConnectSchema) -> Read:
    low, high = (0, DAY_MS) if schema.logical == TIME else INTS[schema.type]
    which = schema.logical or schema.type
    what = f"an {which}"  # both begin with a vowel: int8, org.apache…

    def read(value: Any) -> int:
        number = value if type(value) is int else _whole(value) if type(value) is Number else None
        if number is None:
            raise InvalidSchema(f"{shown(value)} is not {what}")
        if not low <= number <= high:
            raise InvalidSchema(f"{shown(value)} does not fit into {which} ({low} to {high})")
        return number

    return read


def _whole(number: Number) -> int | None:
    """The integer that it is; too large a one for any of our types is cut off, and still too large."""
    exact = _exact(number)
    if not exact:
        return 0
    if exact.adjusted() > 20:
        return 2**64 if exact > 0 else -(2**64)
    return int(exact) if exact.adjusted() >= 0 and exact == int(exact) else None


def _exact(number: Number) -> Decimal:
    try:
        return Decimal(number)
    except InvalidOperation:
        raise InvalidSchema(f"{shown(number)} has an exponent that is too large") from None


def _double(value: Any) -> float:
    if type(value) is int or type(value) is Number:
        try:
            number = float(value)
        except OverflowError:
            number = float("inf")
        if number in (float("inf"), float("-inf")):
            raise InvalidSchema(f"{shown(value)} does not fit into double")
        return number
    if type(value) is str and value in _NOT_FINITE:
        return _NOT_FINITE[value]
    raise InvalidSchema(f"{shown(value)} is not a number")


def _exact_double(value: Any) -> float:
    number = _double(value)
    if abs(number) > EXACT_MAX and number != value:
        raise InvalidSchema(f"{shown(value)} does not fit into double without rounding: give it connect.type int64")
    return number


def float32(number: float) -> float:
    """The nearest float of 32 bits."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", number))[0])
    except OverflowError:
        raise InvalidSchema(f"{shown(number)} does not fit into float") from None


def _base64(value: Any) -> bytes:
    if type(value) is str:
        try:
            return binascii.a2b_base64(value, strict_mode=True)
        except ValueError:  # not ASCII, and binascii.Error
            pass
    raise InvalidSchema(f"{shown(value)} is not base64")


def _decimal(schema: ConnectSchema) -> Read:
    scale, digits_max = schema.scale, digits_of(schema)

    def read(value: Any) -> bytes:
        if type(value) is int or type(value) is Number:
            return unscaled_bytes(_unscaled(value, scale), digits_max)
        return minimal(_base64(value), digits_max)

    return read


def digits_of(schema: ConnectSchema) -> int:
    """How many digits a decimal may have; a precision that Avro cannot have says nothing."""
    return min(schema.precision, DIGITS_MAX) if 0 <= schema.scale <= schema.precision else DIGITS_MAX


def minimal(data: bytes, digits_max: int) -> bytes:
    """A decimal's unscaled value in as few bytes as it needs, as Java's BigInteger gives it."""
    if not data:
        raise InvalidSchema("a decimal without a byte")
    if len(data) == 1 or (len(data) <= digits_max // 3 and not (data[0] == 0 or data[0] == 255)):
        return data  # cannot be shorter, nor have too many digits: a byte is less than 2.41 of them
    if len(data) > digits_max:
        raise InvalidSchema(f"a decimal of {len(data)} bytes, with room for {digits_max} digits")
    return unscaled_bytes(int.from_bytes(data, signed=True), digits_max)


def unscaled_bytes(number: int, digits_max: int) -> bytes:
    """An unscaled value, big-endian, in as few bytes as it needs."""
    if abs(number) >= 10**digits_max:
        raise InvalidSchema(f"a decimal of more than {digits_max} digits")
    return number.to_bytes((number if number >= 0 else ~number).bit_length() // 8 + 1, signed=True)


def _unscaled(value: int | Number, scale: int) -> int:
    """The number times ten to the power of the scale."""
    if isinstance(value, Number):
        sign, figures, power = _exact(value).as_tuple()
        assert isinstance(power, int)
        digits, exponent = "".join(map(str, figures)), power
    else:
        sign, digits, exponent = int(value < 0), str(abs(value)), 0
    shift = exponent + scale
    if len(digits) > DIGITS_MAX or (shift > DIGITS_MAX and digits.strip("0")):
        raise InvalidSchema(f"{shown(value)} has more than {DIGITS_MAX} digits")
    whole, rest = (digits, "") if shift >= 0 else (digits[:shift], digits[shift:])
    if rest.strip("0"):
        raise InvalidSchema(f"{shown(value)} has more digits behind the point than its scale, {scale}")
    number = int(whole or "0") * (10**shift if 0 < shift <= DIGITS_MAX else 1)
    return -number if sign else number


def _string(value: Any) -> str:
    if type(value) is not str:
        raise InvalidSchema(f"{shown(value)} is not a string")
    return as_text(value)


def _symbol(symbols: tuple[str, ...]) -> Read:
    def read(value: Any) -> str:
        if type(value) is not str or value not in symbols:
            raise InvalidSchema(f"{shown(value)} is not one of the enum's symbols")
        return value

    return read


def _array(read: Read) -> Read:
    def of(value: Any) -> list[Any]:
        if type(value) is not list:
            raise InvalidSchema(f"{shown(value)} is not an array")
        return [read(each) for each in value]

    return of


def _map(schema: ConnectSchema, fill: bool) -> Read:
    assert schema.items
    assert schema.keys
    read_key, read = reader(schema.keys, fill), reader(schema.items, fill)
    if schema.entries:
        return _entries(read_key, read)
    if schema.keys.type != "string":
        return _pairs(read_key, read)

    def of(value: Any) -> dict[str, Any]:
        if type(value) is not dict:
            raise InvalidSchema(f"{shown(value)} is not an object, as a map with keys of text is")
        return {as_text(key): read(each) for key, each in value.items()}

    if schema.has_text_keys:
        return of
    return lambda value: [{"key": key, "value": each} for key, each in of(value).items()]


def _pairs(read_key: Read, read: Read) -> Read:
    """A map with other keys: a list of pairs, of which the last with a key counts."""

    def of(value: Any) -> list[dict[str, Any]]:
        if type(value) is not list:
            raise InvalidSchema(f"{shown(value)} is not an array, as a map with keys other than text is")
        found: dict[str, dict[str, Any]] = {}
        for pair in value:
            if type(pair) is not list or len(pair) != 2:
                raise InvalidSchema(f"{shown(pair)} is not a pair of a key and a value")
            key = read_key(pair[0])
            found[repr(key)] = {"key": key, "value": read(pair[1])}
        return list(found.values())

    return of


def _entries(read_key: Read, read: Read) -> Read:
    """A map that is an array of objects, of which the last with a key counts."""

    def of(value: Any) -> list[dict[str, Any]]:
        if type(value) is not list:
            raise InvalidSchema(f"{shown(value)} is not an array, as a map with keys other than text is")
        found: dict[str, dict[str, Any]] = {}
        for entry in value:
            if type(entry) is not dict or entry.keys() != {"key", "value"}:
                raise InvalidSchema(f"{shown(entry)} is not an object of exactly 'key' and 'value'")
            key = read_key(entry["key"])
            found[repr(key)] = {"key": key, "value": read(entry["value"])}
        return list(found.values())

    return of


def _union(schema: ConnectSchema, fill: bool) -> Read:
    names = [field.plain for field in schema.fields]
    readers = [reader(field.schema, fill) for field in schema.fields]

    def of(value: Any) -> dict[str, Any]:
        place = branch_of(schema, value)
        if place is None:
            raise InvalidSchema(f"{shown(value)} fits none of the union's schemas")
        made = dict.fromkeys(names)
        made[names[place]] = readers[place](value)
        return made

    return of


def _struct(fields: tuple[ConnectField, ...], fill: bool) -> Read:
    readers = []
    for field in fields:
        try:
            readers.append((field.name, field.plain, reader(field.schema, fill)))
        except InvalidSchema as refused:
            refused.at.insert(0, field.name)
            raise

    def of(value: Any) -> dict[str, Any]:
        if type(value) is not dict:
            raise InvalidSchema(f"{shown(value)} is not an object, as a struct is")
        made = {}
        name = ""
        try:
            for name, plain, read in readers:
                made[plain] = read(value.get(name))
        except InvalidSchema as refused:
            refused.at.insert(0, name)
            raise
        return made

    return of
