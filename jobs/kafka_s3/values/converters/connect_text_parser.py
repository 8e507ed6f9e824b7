"""Text to a value with a type, as Connect's `Values.parseString` does it, which SimpleHeaderConverter is.

A number, `true`, a time, a list or a map is one; all other text is itself. Text after a number or a list is dropped
(`1,2` is 1): that is what Connect's parser does. Ours differs only in what nobody writes:
lists and maps of more than NESTING_MAX levels stay text (Connect takes a few thousand, and then bytes); a date or a
time whose numbers have exponents (`2E3-01-01`) is none; times are read in UTC (Connect's are in the worker's zone).
"""

from __future__ import annotations

import math
import re
import struct
from decimal import Decimal
from typing import Any, Final, NamedTuple

from kafka_s3.values.converters.connect_schema import DATE, DECIMAL, TIME, TIMESTAMP, ConnectSchema
from kafka_s3.values.converters.connect_time_parser import moment
from kafka_s3.values.converters.connect_types import DAY_MS, Entries, Float32, Moment
from kafka_s3.values.converters.connect_values import INTS

NESTING_MAX: Final = 100
_TOKEN = re.compile(r'[:,{}\[\]"]|(?:[^\\:,{}\[\]"]++|\\[\s\S]?)++')
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE]([+-]?\d+))?")
_INT32: Final = 2**31
_BIGGER_THAN_LONG: Final = Decimal("1e19")
#: What Java's trim removes.
_BLANKS: Final = "".join(map(chr, range(0x21)))
#: Numbers from narrow to wide: of two kinds the wider one has room for both, as Connect sees it.
_WIDER: Final = ("int8", "int16", "int32", "int64", "float", "double")
_FIRST: Final = "+-[{"


def float32_or_infinite(number: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", number))[0])
    except OverflowError:
        return math.copysign(math.inf, number)


class Parsed(NamedTuple):
    """A value and its schema; both `None` for a null."""

    schema: ConnectSchema | None
    value: Any


class _NoValue(Exception):
    """What was taken for a list or a map is none."""


_NULL: Final = Parsed(None, None)
_STRING: Final = ConnectSchema("string")
_BOOLEAN: Final = ConnectSchema("boolean")
_LITERALS: Final = {"null": _NULL, "true": Parsed(_BOOLEAN, True), "false": Parsed(_BOOLEAN, False)}
_MOMENTS: Final = {
    DATE: ConnectSchema("int32", name=DATE, version=1),
    TIME: ConnectSchema("int32", name=TIME, version=1),
    TIMESTAMP: ConnectSchema("int64", name=TIMESTAMP, version=1),
}


def parse_string(text: str) -> Parsed:
    """
    >>> parse_string("1.50").value, parse_string("true").value, parse_string("[1, 2]").value, parse_string("a").value
    (1.5, True, [1, 2], 'a')
    """
    if not text or is_plain(text):
        return Parsed(_STRING, text)
    return _Parser(text).parse(embedded=False)


def is_plain(text: str) -> bool:
    """Whether text is itself for certain, at its first look: it begins like nothing else."""
    first = text[0]
    if first in _BLANKS or first in _FIRST or first.isdecimal():
        return False
    return first not in "tfn" or text.rstrip(_BLANKS) not in _LITERALS


class _Tokens:
    """Delimiters and what is between them; a backslash takes along what follows it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._at = 0
        self._waiting: str | None = None
        self.previous: str | None = None

    def mark(self) -> int:
        return self._at - len(self._waiting or "")

    def rewind(self, mark: int) -> None:
        self._at = mark
        self._waiting = self.previous = None

    def more(self) -> bool:
        return self._waiting is not None or self._at < len(self.text)

    def next(self) -> str:
        token, self._waiting = self._waiting, None
        self.previous = self._read() if token is None else token
        return self.previous

    def next_few(self, count: int) -> str | None:
        start = self.mark()
        for _ in range(count):
            if not self.more():
                self.rewind(start)
                return None
            self.next()
        return self.text[start : self._at]

    def take(self, expected: str) -> bool:
        """Take the next token, and the blanks before it, if it is this one with blanks around it."""
        if self._waiting is None:
            if not self.more():
                return False
            self._waiting = self._read()
        while not self._waiting.strip(_BLANKS) and self._at < len(self.text):
            self._waiting = self._read()
        if self._waiting.strip(_BLANKS) != expected:
            return False
        self._waiting = None
        return True

    def _read(self) -> str:
        found = _TOKEN.match(self.text, self._at)
        if found is None:
            return ""
        self._at = found.end()
        return found[0]


class _Parser:
    """Step by step as Connect's: what a step leaves of the text decides what the next one sees."""

    def __init__(self, text: str) -> None:
        self._tokens = _Tokens(text)

    def parse(self, *, embedded: bool, room: int = NESTING_MAX) -> Parsed:
        tokens = self._tokens
        if not tokens.more():
            return _NULL
        if embedded and tokens.take('"'):
            return self._quoted()
        start = tokens.mark()
        for word, parsed in _LITERALS.items():
            if tokens.take(word) and (embedded or not tokens.more()):
                return parsed
            tokens.rewind(start)
        try:
            if tokens.take("["):
                return self._list(room)
            if tokens.take("{"):
                return self._map(room)
        except _NoValue:
            tokens.rewind(start)
        token = tokens.next()
        stripped = token.strip(_BLANKS)
        if not stripped:
            return Parsed(_STRING, token)
        made = self._scalar(stripped)
        if made is not None:
            return made
        if embedded:
            raise _NoValue
        return Parsed(_STRING, tokens.text)

    def _scalar(self, token: str) -> Parsed | None:
        is_digit = token[0].isdecimal() and token[0] <= "\uffff"
        if is_digit:
            # A colon is a delimiter: a time is five tokens.
            start = self._tokens.mark()
            rest = self._tokens.next_few(4)
            made = None if rest is None else _temporal(token + rest)
            if made is not None:
                return made
            self._tokens.rewind(start)
            made = _temporal(token)
            if made is not None:
                return made
        return _number(token) if is_digit or token[0] in "+-" else None

    def _quoted(self) -> Parsed:
        tokens = self._tokens
        parts = []
        while tokens.more():
            if tokens.take('"'):
                break
            parts.append(tokens.next())
        text = "".join(parts)
        return _temporal(text) or Parsed(_STRING, text)

    def _list(self, room: int) -> Parsed:
        if not room:
            raise _NoValue
        tokens = self._tokens
        values: list[Any] = []
        common = _Common()
        while tokens.more():
            if tokens.take("]"):
                if common.schema is not None:
                    values = [_aligned(common.schema, value) for value in values]
                return Parsed(ConnectSchema("array", items=common.schema), values)
            if tokens.take(","):
                raise _NoValue
            element = self.parse(embedded=True, room=room - 1)
            common.add(element.schema)
            values.append(element.value)
            mark = tokens.mark()
            if tokens.take("]"):
                tokens.rewind(mark)
            elif not tokens.take(","):
                raise _NoValue
        raise _NoValue

    def _map(self, room: int) -> Parsed:
        if not room:
            raise _NoValue
        tokens = self._tokens
        entries: dict[Any, tuple[Any, Any]] = {}
        keys, values = _Common(), _Common()
        while tokens.more():
            if tokens.take("}"):
                return _map_of(keys.schema, values.schema, entries)
            if tokens.take(","):
                raise _NoValue
            key = self.parse(embedded=True, room=room - 1)
            if key.value is None or not tokens.take(":"):
                raise _NoValue
            value = self.parse(embedded=True, room=room - 1)
            entries[_same(key.value)] = (entries.get(_same(key.value), (key.value,))[0], value.value)
            tokens.take(",")
            keys.add(key.schema)
            values.add(value.schema)
        raise _NoValue


class _Common:
    """The schema that all values of a list fit; none once two of them have none."""

    def __init__(self) -> None:
        self.schema: ConnectSchema | None = None
        self._is_there = True

    def add(self, schema: ConnectSchema | None) -> None:
        if schema is None or not self._is_there:
            return
        self.schema = schema if self.schema is None else _merged(self.schema, schema)
        self._is_there = self.schema is not None


def _merged(previous: ConnectSchema, new: ConnectSchema) -> ConnectSchema | None:
    if previous.type == new.type:
        return new
    if previous.type not in _WIDER or new.type not in _WIDER:
        return None
    return previous if _WIDER.index(previous.type) > _WIDER.index(new.type) else new


def _map_of(keys: ConnectSchema | None, values: ConnectSchema | None, entries: dict[Any, tuple[Any, Any]]) -> Parsed:
    if keys is None:
        values = None
    schema = ConnectSchema("map", keys=keys, items=values)
    if keys is None:
        return Parsed(schema, Entries(entries.values()))
    aligned: dict[Any, tuple[Any, Any]] = {}
    for key, value in entries.values():
        same = _aligned(keys, key)
        aligned[_same(same)] = (
            aligned.get(_same(same), (same,))[0],
            value if values is None else _aligned(values, value),
        )
    return Parsed(schema, Entries(aligned.values()))


def _same(value: Any) -> Any:
    """What two keys have in common that are equal in Java: their type and what they say."""
    if isinstance(value, Entries):
        return (Entries, frozenset((_same(key), _same(each)) for key, each in value))
    if isinstance(value, list):
        return (list, tuple(map(_same, value)))
    return (type(value), str(value))


def _aligned(schema: ConnectSchema, value: Any) -> Any:
    """A value as one of the schema that all of a list have in common."""
    if value is None:
        raise _NoValue
    match schema.type:
        case "float" | "double":
            if isinstance(value, Moment):
                raise _NoValue
            if schema.type == "double":
                return float(value)
            return Float32(float32_or_infinite(float(value)))
        case "int8" | "int16" | "int32" | "int64":
            if schema.name is None and isinstance(value, Moment):
                raise _NoValue
            if schema.name is None or isinstance(value, Moment):
                return value
            if schema.name == TIME and not 0 <= value <= DAY_MS:
                raise _NoValue
            return Moment(value * DAY_MS if schema.name == DATE else value)
    return value


def _temporal(token: str) -> Parsed | None:
    found = moment(token.replace("\\:", ":"))
    return None if found is None else Parsed(_MOMENTS[found[0]], Moment(found[1]))


def _number(token: str) -> Parsed | None:
    found = _NUMBER.fullmatch(token)
    if found is None or max(token) > "\uffff":
        return None
    if len(found[1] or "") > 40 and len(found[1].lstrip("+-0")) > 10:
        return None
    if found[1] and not -_INT32 <= int(found[1]) < _INT32:
        return None
    number = Decimal(token)
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int), "no NaN, no infinity"
    if not -_INT32 < exponent <= _INT32:
        return None
    size = number.copy_abs()
    if size <= _BIGGER_THAN_LONG and (size >= 1 or not size) and number == number.to_integral_value():
        whole = int(number)
        for kind, (low, high) in INTS.items():
            if low <= whole <= high:
                return Parsed(ConnectSchema(kind), whole)
    double = float(number)
    if exponent:
        single = float32_of(number)
        if abs(single) != float("inf"):
            return Parsed(ConnectSchema("float"), Float32(single))
        if abs(double) != float("inf"):
            return Parsed(ConnectSchema("double"), double)
    return Parsed(ConnectSchema("bytes", name=DECIMAL, version=1, parameters={"scale": str(-exponent)}), number)


def float32_of(number: Decimal) -> float:
    """The nearest float of 32 bits, or an infinity; a double on the way is rounded once too often."""
    double = float(number)
    single = float32_or_infinite(double)
    exact = Decimal(double)
    if abs(double) == float("inf") or exact == number:
        return single
    # The double stands for the number unless it lies just between two floats: then the number says which is nearer.
    nudged = float32_or_infinite(math.nextafter(double, math.inf if number > exact else -math.inf))
    other = float32_or_infinite(math.nextafter(double, -math.inf if number > exact else math.inf))
    return nudged if nudged != other else single
