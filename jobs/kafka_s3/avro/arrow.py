"""Schemas and values as Arrow columns.

| Avro | Arrow |
|---|---|
| null, boolean, int, long, float, double | null, bool, int32, int64, float32, float64 |
| int whose `connect.type` is int8 or int16 | int8, int16 |
| int: date, time-millis | date32, time32[ms] |
| long: time-micros | time64[us] |
| long: timestamp-millis, -micros, -nanos | timestamp[ms, us, ns] in UTC; those with local- in front: without a zone |
| bytes, fixed | binary, fixed_size_binary (binary beyond 256 bytes) |
| bytes or fixed: decimal | decimal128 up to 38 digits, decimal256 up to 76, beyond that as if it were no decimal |
| string (uuid too), enum | string |
| array, map | list of `element`, map of string |
| record | struct |
| union of one type and null | that type, nullable |
| any other union | struct of one nullable field per type, called as `Branch.name` |

A field may be null where its type is a union with null, or null, and nowhere else. A logical type that is unknown, or
whose attributes are wrong, means nothing, as Avro has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context
from decimal import Decimal as Number
from functools import lru_cache, partial
from typing import Any, Final

import pyarrow as pa

from kafka_s3.avro.graph import graph
from kafka_s3.avro.long_values import LongArray, LongMap
from kafka_s3.avro.model import Schema
from kafka_s3.avro.nodes import (
    Array,
    Date,
    Decimal,
    Enum,
    Fixed,
    Kind,
    Map,
    Node,
    Primitive,
    Record,
    TimeOfDay,
    Timestamp,
    Union,
    Unit,
)
from kafka_s3.avro.parse import SchemaError
from kafka_s3.shown import named, quoted

#: Types in a schema but for unions, counted wherever they are used: a few hundred bytes can unfold to billions.
TYPES_MAX: Final = 10_000
#: Types inside each other. A list or a map takes two levels of Parquet, and readers stop at a hundred (pyarrow's do).
DEPTH_MAX: Final = 48
#: Bytes of a fixed whose column has that width: there a null takes as many, so that those beyond are binary.
FIXED_MAX: Final = 256

_PRIMITIVE: Final[Mapping[Kind, pa.DataType]] = {
    Kind.NULL: pa.null(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.INT: pa.int32(),
    Kind.LONG: pa.int64(),
    Kind.FLOAT: pa.float32(),
    Kind.DOUBLE: pa.float64(),
    Kind.BYTES: pa.binary(),
    Kind.STRING: pa.string(),
}
_UNITS: Final = {Unit.MILLIS: "ms", Unit.MICROS: "us", Unit.NANOS: "ns"}
_SMALL: Final[Mapping[int, pa.DataType]] = {8: pa.int8(), 16: pa.int16()}
_DIGITS_128: Final = 38
_DIGITS_256: Final = 76


class ColumnsError(ValueError):
    """A schema that no columns can hold, or a value that its own column cannot; why, for people."""


def arrow_type(schema: Schema) -> pa.DataType:
    """The type of the schema's values; `ColumnsError` if columns cannot have it."""
    return _column(schema.text).type


def may_be_null(schema: Schema) -> bool:
    """Whether `None` is among the schema's values."""
    return _column(schema.text).nullable


def from_values(values: Sequence[Any], schema: Schema) -> pa.Array:
    """Values as `avro.model` has them, `None` among them where the schema allows it.

    `ColumnsError` for a value that `misfits` names; whoever has outside values asks that first.
    """
    column = _column(schema.text)
    if (convert := column.convert) is not None:
        values = [convert(value) for value in values]
    return pa.array(values, column.type, from_pandas=False)


def can_misfit(schema: Schema) -> bool:
    """Whether `misfits` has anything to look for."""
    return _column(schema.text).narrow


def misfits(values: Sequence[Any], schema: Schema) -> dict[int, str]:
    """Which values have no place in their column, by index, and why.

    These are decimals with more digits than the schema's precision and Connect's int8 and int16 out of their range:
    Avro's binary form holds any number there.
    """
    column = _column(schema.text)
    found: dict[int, str] = {}
    if column.convert is None or not column.narrow:
        return found
    for index, value in enumerate(values):
        try:
            from_values([value], schema)  # also converts what is long, which `convert` alone puts off
        except ColumnsError as error:
            found[index] = str(error)
    return found


@dataclass(frozen=True, slots=True)
class _Column:
    """A type, and what turns a plain value into one that pyarrow takes for it; `None`: nothing has to.

    `narrow`: `convert` may raise `ColumnsError`.
    """

    type: pa.DataType
    convert: Callable[[Any], Any] | None = None
    narrow: bool = False
    nullable: bool = False


@lru_cache(maxsize=256)
def _column(text: str) -> _Column:
    try:
        return _Columns().of(graph(Schema(text)), ())
    except SchemaError as error:
        raise ColumnsError(str(error)) from None


class _Columns:
    """One schema's columns, names replaced by what they stand for."""

    def __init__(self) -> None:
        self._count = 0

    def of(self, node: Node, path: tuple[str, ...], inside: tuple[Record, ...] = (), depth: int = 0) -> _Column:
        """The column of a type at `path`, within the records `inside`."""
        self._count += not isinstance(node, Union)
        if self._count > TYPES_MAX:
            raise ColumnsError(f"the schema has more than {TYPES_MAX} fields, nested ones counted: {_OTHER_FORMATS}")
        if depth > DEPTH_MAX:
            raise ColumnsError(f"{_at(path)} lies more than {DEPTH_MAX} types deep: {_OTHER_FORMATS}")
        below = partial(self.of, inside=inside, depth=depth + 1)
        match node:
            case Primitive():
                return _primitive(node, path)
            case Enum():
                return _Column(pa.string())
            case Fixed():
                binary = _Column(pa.binary(node.size if 0 < node.size <= FIXED_MAX else -1))
                return _decimal(node.logical, path, node.size) or binary
            case Union():
                return self._union(node, path, below)
            case Array(item):
                return _list(below(item, (*path, "[]")))
            case Map(item):
                return _map(below(item, (*path, "{}")))
            case Record():
                return self._record(node, path, inside, depth)

    def _record(self, node: Record, path: tuple[str, ...], inside: tuple[Record, ...], depth: int) -> _Column:
        name = node.name
        if node in inside:
            raise ColumnsError(
                f"{_at(path)} is {name} inside {name}: columns cannot nest without end; {_OTHER_FORMATS}"
            )
        if not node.fields:
            raise ColumnsError(f"{_at(path)} is {name}, a record without fields: Parquet has none; {_OTHER_FORMATS}")
        inside = (*inside, node)
        return _record({each.name: self.of(each.node, (*path, each.name), inside, depth + 1) for each in node.fields})

    def _union(self, node: Union, path: tuple[str, ...], below: Callable[..., _Column]) -> _Column:
        if (one := node.optional) is not None:
            column: _Column = below(one, path)
            return _Column(column.type, _unless_null(column.convert), column.narrow, node.nullable)
        if not node.others:
            return _Column(pa.null(), nullable=True)
        branches = {each.name: below(each, (*path, each.name)) for each in node.others}
        struct = pa.struct([pa.field(name, column.type) for name, column in branches.items()])
        converts = {name: column.convert for name, column in branches.items()}

        def convert(branch: Any) -> Any:
            inner = converts[branch.name]
            return {branch.name: branch.value if inner is None else inner(branch.value)}

        narrow = any(column.narrow for column in branches.values())
        return _Column(struct, _unless_null(convert), narrow, node.nullable)


_OTHER_FORMATS: Final = "AvroFormat and JsonFormat can hold it"


def _at(path: tuple[str, ...]) -> str:
    if len(path) > 10:
        path = (*path[:5], "…", *path[-4:])
    return f"the field {'.'.join(map(named, path))}" if path else "the value"


def _unless_null(convert: Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
    return convert and (lambda value: None if value is None else convert(value))


def _list(items: _Column) -> _Column:
    convert = items.convert

    def converted(values: Any) -> Any:
        assert convert is not None
        return values.converted(convert) if type(values) is LongArray else [convert(value) for value in values]

    kind = pa.list_(pa.field("element", items.type, items.nullable))
    return _Column(kind, convert and converted, items.narrow)


def _map(values: _Column) -> _Column:
    convert = values.convert

    def converted(entries: Any) -> Any:
        assert convert is not None
        if type(entries) is LongMap:
            return entries.converted(convert)
        return {key: convert(value) for key, value in entries.items()}

    kind = pa.map_(pa.string(), pa.field("value", values.type, values.nullable))
    return _Column(kind, convert and converted, values.narrow)


def _record(fields: Mapping[str, _Column]) -> _Column:
    struct = pa.struct([pa.field(name, column.type, column.nullable) for name, column in fields.items()])
    converts = [(name, column.convert) for name, column in fields.items() if column.convert is not None]

    def convert(record: dict[str, Any]) -> dict[str, Any]:
        return {**record, **{name: each(record[name]) for name, each in converts}}

    narrow = any(column.narrow for column in fields.values())
    return _Column(struct, convert if converts else None, narrow)


def _primitive(node: Primitive, path: tuple[str, ...]) -> _Column:
    if node.kind is Kind.INT and node.bits in _SMALL:
        return _Column(_SMALL[node.bits], partial(_small, path=path, bits=node.bits), narrow=True)
    match node.logical:
        case None:
            return _Column(_PRIMITIVE[node.kind], nullable=node.nullable)
        case Decimal():
            return _decimal(node.logical, path) or _Column(pa.binary())
        case Date():
            return _Column(pa.date32())
        case TimeOfDay(Unit.MILLIS):
            return _Column(pa.time32("ms"))
        case TimeOfDay():
            return _Column(pa.time64("us"))
        case Timestamp(unit, local):
            return _Column(pa.timestamp(_UNITS[unit], None if local else "UTC"))


def _small(value: int, path: tuple[str, ...], bits: int) -> int:
    bound = 1 << bits - 1
    if not -bound <= value < bound:
        raise ColumnsError(f"{_at(path)} is {quoted(value)}, which is not an int{bits}, its connect.type")
    return value


def _decimal(logical: Decimal | None, path: tuple[str, ...], size: int | None = None) -> _Column | None:
    """The column of a decimal, or `None` if it is none, or none that Arrow has a type for. `size`: of a fixed."""
    if logical is None or logical.precision > _DIGITS_256:
        return None
    precision, scale = logical.precision, logical.scale
    if size is not None and 10**precision > (1 << 8 * min(size, 64)) // 2:
        return None  # more digits than its bytes can hold
    kind = pa.decimal128 if precision <= _DIGITS_128 else pa.decimal256
    return _Column(kind(precision, scale), _DecimalConvert(path, precision, scale), narrow=True)


class _DecimalConvert:
    """From an unscaled value's bytes to a decimal."""

    def __init__(self, path: tuple[str, ...], precision: int, scale: int) -> None:
        self._path, self._precision, self._scale = path, precision, scale
        self._bound = 10**precision
        self._context = Context(prec=_DIGITS_256 + 1)

    def __call__(self, unscaled: bytes) -> Number:
        number = int.from_bytes(unscaled, "big", signed=True)
        # Before it is a Decimal: that takes quadratic time, and a message may be all one number.
        if not -self._bound < number < self._bound:
            raise ColumnsError(self._too_large(unscaled))
        return Number(number).scaleb(-self._scale, self._context)

    def _too_large(self, unscaled: bytes) -> str:
        size = f"{len(unscaled)} bytes"
        return f"{_at(self._path)} is a decimal of {size} with more than the {self._precision} digits of its schema"
