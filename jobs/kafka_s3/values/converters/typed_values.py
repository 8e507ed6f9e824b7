"""One JSON value read by a schema, with reasons. What is fast (`typed`) is held against it.

| schema | JSON |
|---|---|
| boolean, string, enum | the same |
| int, long | a whole number in range, written without a point or an exponent |
| float, double | any number in range |
| bytes, fixed | text in base64 |
| decimal | a number, or text that is one, that its scale and precision hold exactly |
| date, time-…, timestamp-…, local-timestamp-… | a whole number of their unit, or ISO 8601 text |
| array, map, record | the same; fields without a value get their default, or null where it is allowed |
| union | the first branch that fits |

Fields that the schema does not have are left out. Where a field comes twice, the last one counts.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
import struct
from collections.abc import Callable
from decimal import Decimal as Number
from decimal import InvalidOperation
from functools import partial
from typing import Any, Final

from kafka_s3.avro.defaults import plain_default
from kafka_s3.avro.model import Branch
from kafka_s3.avro.nodes import (
    NO_DEFAULT,
    Array,
    Date,
    Decimal,
    Enum,
    Field,
    Fixed,
    Kind,
    Map,
    Node,
    Primitive,
    Record,
    TimeOfDay,
    Timestamp,
    Union,
)
from kafka_s3.shown import NoJsonNumber, json_problem, quoted
from kafka_s3.values.converters import iso

#: Brackets of a value within each other; as deep as Avro values may be.
VALUE_NESTING_MAX: Final = 100
#: Tries of branches in one record: unions of records that hold unions have exponentially many ways.
TRIES_MAX: Final = 10_000
_SHOWN_MAX: Final = 60
_DIGITS_MAX: Final = 4_000
_FLOAT: Final = struct.Struct("<f")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_DAY: Final = 86_400


class NotTyped(ValueError):
    """The value is none of its schema, where and why."""


class Real(str):
    """A number with a point or an exponent, as it was written."""

    __slots__ = ()


def parse(text: bytes) -> Any:
    """JSON with numbers exact; -0 without a point is 0. `NotTyped` if it is none."""
    try:
        return json.loads(text.decode("utf-8-sig"), parse_float=Real, parse_int=_int, parse_constant=_refuse)
    except UnicodeDecodeError as error:
        raise NotTyped(f"not JSON: not UTF-8 at byte {error.start}") from None
    except RecursionError:
        raise NotTyped("not JSON: nested too deeply") from None
    except ValueError as error:
        raise NotTyped(f"not JSON: {json_problem(error)}" if text.strip() else "not JSON: the value is empty") from None


def _int(text: str) -> int | Real:
    """Python makes no int of more than 4,300 digits; no type has a place for one."""
    return Real(text) if len(text) > _DIGITS_MAX else int(text)


def _refuse(name: str) -> float:
    raise NoJsonNumber(name)


class Reader:
    """Reads what `parse` made, as one type of a schema."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._tries = 0

    def read(self, parsed: Any) -> Any:
        """The plain value; `NotTyped` says which field does not fit, and why."""
        self._tries = 0
        return self._read(self._node, parsed, "")

    def _read(self, node: Node, parsed: Any, path: str) -> Any:
        match node, parsed:
            case Union(), _:
                return self._union(node, parsed, path)
            case Record(), dict():
                return {
                    each.name: self._field(each, parsed, f"{path}.{each.name}" if path else each.name)
                    for each in node.fields
                }
            case Array(item), list():
                return [self._read(item, each, f"{path}[{index}]") for index, each in enumerate(parsed)]
            case Map(item), dict():
                for key in parsed:
                    _text(key, f"{path}{{}}")
                return {key: self._read(item, each, f"{path}{{}}") for key, each in parsed.items()}
            case (Primitive(Kind.NULL), None) | (Primitive(Kind.BOOLEAN), bool()):
                return parsed
            case Enum(), str() if not isinstance(parsed, Real) and parsed in node.symbols:
                return parsed
            case Primitive() | Fixed(), _:
                if (convert := settler(node, path)) is not None:
                    return _settled(convert, parsed, node, path)
        raise _misfit(node, parsed, path)

    def _field(self, field: Field, parsed: dict[str, Any], path: str) -> Any:
        if field.name in parsed:
            return self._read(field.node, parsed[field.name], path)
        return missing(field, path)

    def _union(self, node: Union, parsed: Any, path: str) -> Any:
        if (one := node.optional) is not None:
            return None if parsed is None and node.nullable else self._read(one, parsed, path)
        reasons = []
        for branch in node.branches:
            self._tries += 1
            if self._tries > TRIES_MAX:
                raise _TooMany(f"{path}: more than {TRIES_MAX} branches of unions were tried")
            try:
                value = self._read(branch, parsed, path)
            except _TooMany:
                raise
            except NotTyped as error:
                reasons.append(error)
                continue
            return None if branch.nullable else Branch(branch.name, value)
        raise reasons[0] if len(reasons) == 1 else _misfit(node, parsed, path)


class _TooMany(NotTyped):
    """No branch is tried any more."""


def missing(field: Field, path: str) -> Any:
    """What stands in the place of a field that is not there."""
    if field.default is not NO_DEFAULT:
        return plain_default(field.node, field.default, path)
    if field.node.nullable:
        return None
    raise NotTyped(f"{path} is missing")


def _settled(convert: Callable[[Any], Any], parsed: Any, node: Node, path: str) -> Any:
    try:
        return convert(parsed)
    except TypeError:
        raise _misfit(node, parsed, path) from None


def settler(node: Primitive | Fixed, path: str) -> Callable[[Any], Any] | None:
    """What turns a JSON value that is neither list nor object into a type's value; `TypeError` if it is of another
    kind, `NotTyped` if it does not fit. `None`: the type is none of those that have to be looked at."""
    parse_text: Callable[[str], int]
    match node.logical:
        case Decimal() as decimal:
            return partial(_decimal, decimal=decimal, size=node.size if isinstance(node, Fixed) else None, path=path)
        case None:
            return _plain_settler(node, path)
        case Date():
            parse_text = iso.days
        case TimeOfDay(unit):
            parse_text = partial(iso.time_of_day, unit=unit.value)
        case Timestamp(unit, local):
            parse_text = partial(iso.moment, unit=unit.value, local=local)
    return partial(_logical, name=node.logical.name, bounds=bounds(node.logical), path=path, parse_text=parse_text)


def bounds(logical: Date | TimeOfDay | Timestamp) -> tuple[int, int]:
    """The lowest number of a date or a time, and the one above the highest."""
    match logical:
        case Date():
            return -(1 << 31), 1 << 31
        case TimeOfDay(unit):
            return 0, _DAY * unit.value
        case Timestamp():
            return -(1 << 63), 1 << 63


def _plain_settler(node: Primitive | Fixed, path: str) -> Callable[[Any], Any] | None:
    if isinstance(node, Fixed):
        return partial(_bytes, node=node, path=path)
    match node.kind:
        case Kind.BYTES:
            return partial(_bytes, node=node, path=path)
        case Kind.INT | Kind.LONG:
            return partial(_whole, node=node, path=path)
        case Kind.FLOAT | Kind.DOUBLE:
            return partial(_real, node=node, path=path)
        case Kind.STRING:
            return partial(_text, path=path)
    return None


def _whole(parsed: Any, *, node: Primitive, path: str) -> int:
    if type(parsed) is not int:
        raise TypeError
    low, high = node.bounds
    if not low <= parsed < high:
        raise NotTyped(f"{path or 'the value'} is out of range for {node.kind}: {_shown(parsed)}")
    return parsed


def _real(parsed: Any, *, node: Primitive, path: str) -> float:
    if type(parsed) not in (int, float, Real):
        raise TypeError
    try:
        number = float(parsed)
        if node.kind is Kind.FLOAT:
            number = _FLOAT.unpack(_FLOAT.pack(number))[0]
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise NotTyped(f"{path or 'the value'} is out of range for {node.kind}: {_shown(parsed)}")
    return number


def _text(parsed: Any, path: str) -> str:
    if type(parsed) is not str:
        raise TypeError
    if _SURROGATE.search(parsed):
        raise NotTyped(f"{path or 'the value'} holds half of a surrogate pair")
    return parsed


def _bytes(parsed: Any, *, node: Primitive | Fixed, path: str) -> bytes:
    if type(parsed) is bytes:
        made = parsed
    elif type(parsed) is str:
        try:
            made = base64.b64decode(parsed, validate=True)
        except (binascii.Error, ValueError):
            raise NotTyped(f"{path or 'the value'} is not base64: {_shown(parsed)}") from None
    else:
        raise TypeError
    if isinstance(node, Fixed) and len(made) != node.size:
        raise NotTyped(f"{path or 'the value'} has {len(made)} bytes, and {node.name} has {node.size}")
    return made


def _decimal(parsed: Any, *, decimal: Decimal, size: int | None, path: str) -> bytes:
    if isinstance(parsed, bool) or not isinstance(parsed, int | str | Number):
        raise TypeError
    where = path or "the value"
    try:
        number = parsed if isinstance(parsed, Number) else Number(parsed)
    except InvalidOperation:
        raise NotTyped(f"{where} is not a decimal number: {_shown(parsed)}") from None
    if not number.is_finite():
        raise NotTyped(f"{where} is not a decimal number: {_shown(parsed)}")
    scale = decimal.scale
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    if not any(digits):
        digits, exponent = (0,), -scale
    # Before anything is computed: 1e999999999 is short to write.
    precision = min(decimal.precision, _DIGITS_MAX)
    if number and number.adjusted() + scale >= precision:
        raise NotTyped(f"{where} has more than {precision} digits with a scale of {scale}: {_shown(parsed)}")
    shift = exponent + scale
    if shift < 0 and any(digits[shift:]):
        raise NotTyped(f"{where} has a finer fraction than its scale of {scale}: {_shown(parsed)}")
    kept = digits[:shift] if shift < 0 else digits + (0,) * shift
    unscaled = int("".join(map(str, kept)) or "0") * (-1 if sign else 1)
    if size is None:
        return unscaled.to_bytes((unscaled + (unscaled < 0)).bit_length() // 8 + 1, "big", signed=True)
    try:
        return unscaled.to_bytes(size, "big", signed=True)
    except OverflowError:
        raise NotTyped(f"{where} does not fit into {size} bytes: {_shown(parsed)}") from None


def _logical(parsed: Any, *, name: str, bounds: tuple[int, int], path: str, parse_text: Callable[[str], int]) -> int:
    number = parsed
    if type(parsed) is str:
        try:
            number = parse_text(parsed)
        except ValueError as error:
            raise NotTyped(f"{path or 'the value'} {error}: {_shown(parsed)}") from None
    elif type(parsed) is not int:
        raise TypeError
    low, high = bounds
    if not low <= number < high:
        raise NotTyped(f"{path or 'the value'} is out of range for {name}: {_shown(parsed)}")
    return int(number)


def _misfit(node: Node, parsed: Any, path: str) -> NotTyped:
    wanted = " or ".join(map(_said, node.branches if isinstance(node, Union) else (node,)))
    return NotTyped(f"{path or 'the value'} is {_kind(parsed)}, not {wanted}: {_shown(parsed)}")


def _said(node: Node) -> str:
    if isinstance(node, Primitive | Fixed) and node.logical:
        return node.logical.name
    return node.described


def _kind(parsed: Any) -> str:
    match parsed:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int():
            return "a whole number"
        case Real():
            return "a number with a fraction or an exponent"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "an object"


def _shown(parsed: Any) -> str:
    if isinstance(parsed, int) and not -(10**_SHOWN_MAX) < parsed < 10**_SHOWN_MAX:
        return "a very long number"
    text = str(parsed) if isinstance(parsed, Real | Number) else json.dumps(parsed)
    kind = "a number" if isinstance(parsed, Real | Number) else None
    return quoted(parsed, text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}…", kind=kind)
