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
from decimal import Context, Decimal
from functools import lru_cache, partial
from typing import Any, Final

import pyarrow as pa

from kafka_s3.avro.model import Avro, Schema, full_name
from kafka_s3.shown import named, quoted

#: Types in a schema but for unions, counted wherever they are used: a few hundred bytes can unfold to billions.
TYPES_MAX: Final = 10_000
#: Types inside each other. A list or a map takes two levels of Parquet, and readers stop at a hundred (pyarrow's do).
DEPTH_MAX: Final = 48
#: Bytes of a fixed whose column has that width: there a null takes as many, so that those beyond are binary.
FIXED_MAX: Final = 256

_PRIMITIVE: Final[Mapping[str, pa.DataType]] = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
    "enum": pa.string(),
}
_LOGICAL: Final[Mapping[tuple[str, str], pa.DataType]] = {
    ("int", "date"): pa.date32(),
    ("int", "time-millis"): pa.time32("ms"),
    ("long", "time-micros"): pa.time64("us"),
    **{
        ("long", f"{local}timestamp-{unit}"): pa.timestamp(short, zone)
        for local, zone in (("", "UTC"), ("local-", None))
        for unit, short in (("millis", "ms"), ("micros", "us"), ("nanos", "ns"))
    },
}
_SMALL: Final[Mapping[str, pa.DataType]] = {"int8": pa.int8(), "int16": pa.int16()}
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
    """Values as `schemas.model` has them, `None` among them where the schema allows it.

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
            column.convert(value)
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
    return _Columns().of(Schema(text).avro, "", ())


class _Columns:
    """One schema's columns: knows the named types met so far, and those that are being defined."""

    def __init__(self) -> None:
        self._named: dict[str, tuple[Mapping[str, Any], str]] = {}  # with the namespace around each
        self._count = 0

    def of(
        self, avro: Avro, space: str, path: tuple[str, ...], inside: tuple[str, ...] = (), depth: int = 0
    ) -> _Column:
        """The column of a type in the namespace `space`, at `path`, within the named types `inside`."""
        self._count += not isinstance(avro, list)
        if self._count > TYPES_MAX:
            raise ColumnsError(f"the schema has more than {TYPES_MAX} fields, nested ones counted: {_OTHER_FORMATS}")
        if depth > DEPTH_MAX:
            raise ColumnsError(f"{_at(path)} lies more than {DEPTH_MAX} types deep: {_OTHER_FORMATS}")
        below = partial(self.of, inside=inside, depth=depth + 1)
        match avro:
            case list():
                return self._union(avro, space, path, below)
            case str() if avro in _PRIMITIVE and avro != "enum":
                return _Column(_PRIMITIVE[avro], nullable=avro == "null")
            case str():
                definition, around = self._find(avro, space, path)
                return self._named_type(definition, around, path, inside, depth)
            case {"type": "record" | "enum" | "fixed"}:
                self._named[full_name(avro, space)] = (avro, space)
                return self._named_type(avro, space, path, inside, depth)
            case {"type": "array", "items": items}:
                return _list(below(items, space, (*path, "[]")))
            case {"type": "map", "values": values}:
                return _map(below(values, space, (*path, "{}")))
            case {"type": str() as name}:
                return _logical(avro, name, path) if name in _PRIMITIVE else below(name, space, path)
            case {"type": list() | dict() as nested}:
                return below(nested, space, path)
        raise ColumnsError(f"{_at(path)} has a type that Avro does not know: {quoted(avro, str(avro)[:100])}")

    def _find(self, name: str, space: str, path: tuple[str, ...]) -> tuple[Mapping[str, Any], str]:
        for each in (name, f"{space}.{name}"):
            if each in self._named:
                return self._named[each]
        raise ColumnsError(f"{_at(path)} has the type {named(name)}, which is not defined before it")

    def _named_type(
        self, avro: Mapping[str, Any], space: str, path: tuple[str, ...], inside: tuple[str, ...], depth: int
    ) -> _Column:
        name = full_name(avro, space)
        if avro["type"] == "enum":
            return _Column(pa.string())
        if avro["type"] == "fixed":
            return _decimal(avro, path) or _Column(pa.binary(avro["size"] if 0 < avro["size"] <= FIXED_MAX else -1))
        if name in inside:
            raise ColumnsError(
                f"{_at(path)} is {name} inside {name}: columns cannot nest without end; {_OTHER_FORMATS}"
            )
        if not avro["fields"]:
            raise ColumnsError(f"{_at(path)} is {name}, a record without fields: Parquet has none; {_OTHER_FORMATS}")
        space = name.rpartition(".")[0]
        fields = {
            field["name"]: self.of(field["type"], space, (*path, field["name"]), (*inside, name), depth + 1)
            for field in avro["fields"]
        }
        return _record(fields)

    def _union(self, avro: list[Any], space: str, path: tuple[str, ...], below: Callable[..., _Column]) -> _Column:
        others = [each for each in avro if self._branch_name(each, space) != "null"]
        nullable = len(others) < len(avro)
        if len(others) == 1:
            column: _Column = below(others[0], space, path)
            return _Column(column.type, _unless_null(column.convert), column.narrow, nullable)
        if not others:
            return _Column(pa.null(), nullable=True)
        names = [self._branch_name(each, space) for each in others]
        branches = {name: below(each, space, (*path, name)) for name, each in zip(names, others, strict=True)}
        struct = pa.struct([pa.field(name, column.type) for name, column in branches.items()])
        converts = {name: column.convert for name, column in branches.items()}

        def convert(branch: Any) -> Any:
            inner = converts[branch.name]
            return {branch.name: branch.value if inner is None else inner(branch.value)}

        narrow = any(column.narrow for column in branches.values())
        return _Column(struct, _unless_null(convert), narrow, nullable)

    def _branch_name(self, avro: Avro, space: str) -> str:
        if isinstance(avro, dict):
            return full_name(avro, space) if avro["type"] in ("record", "enum", "fixed") else str(avro["type"])
        nested = f"{space}.{avro}"
        return nested if avro not in self._named and nested in self._named else str(avro)


_OTHER_FORMATS: Final = "AvroFormat and JsonFormat can hold it"


def _at(path: tuple[str, ...]) -> str:
    if len(path) > 10:
        path = (*path[:5], "…", *path[-4:])
    return f"the field {'.'.join(map(named, path))}" if path else "the value"


def _unless_null(convert: Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
    return convert and (lambda value: None if value is None else convert(value))


def _list(items: _Column) -> _Column:
    convert = items.convert
    return _Column(
        pa.list_(pa.field("element", items.type, items.nullable)),
        convert and (lambda values: [convert(value) for value in values]),
        items.narrow,
    )


def _map(values: _Column) -> _Column:
    convert = values.convert
    return _Column(
        pa.map_(pa.string(), pa.field("value", values.type, values.nullable)),
        convert and (lambda entries: {key: convert(value) for key, value in entries.items()}),
        values.narrow,
    )


def _record(fields: Mapping[str, _Column]) -> _Column:
    struct = pa.struct([pa.field(name, column.type, column.nullable) for name, column in fields.items()])
    converts = [(name, column.convert) for name, column in fields.items() if column.convert is not None]

    def convert(record: dict[str, Any]) -> dict[str, Any]:
        return {**record, **{name: each(record[name]) for name, each in converts}}

    narrow = any(column.narrow for column in fields.values())
    return _Column(struct, convert if converts else None, narrow)


def _logical(avro: Mapping[str, Any], name: str, path: tuple[str, ...]) -> _Column:
    """A primitive type with attributes."""
    if name == "bytes":
        return _decimal(avro, path) or _Column(pa.binary())
    if name == "int" and avro.get("connect.type") in _SMALL:
        kind: str = avro["connect.type"]
        return _Column(_SMALL[kind], partial(_small, path=path, kind=kind, bound=1 << int(kind[3:]) - 1), narrow=True)
    logical = avro.get("logicalType")
    kind_known = isinstance(logical, str) and (name, logical) in _LOGICAL
    return _Column(_LOGICAL[name, str(logical)] if kind_known else _PRIMITIVE[name], nullable=name == "null")


def _small(value: int, path: tuple[str, ...], kind: str, bound: int) -> int:
    if not -bound <= value < bound:
        raise ColumnsError(f"{_at(path)} is {quoted(value)}, which is no {kind}, its connect.type")
    return value


def _decimal(avro: Mapping[str, Any], path: tuple[str, ...]) -> _Column | None:
    """The column of a decimal, or `None` if it is none, or none that Arrow has a type for."""
    precision, scale = avro.get("precision"), avro.get("scale", 0)
    if avro.get("logicalType") != "decimal" or not isinstance(precision, int) or not isinstance(scale, int):
        return None
    if not (1 <= precision <= _DIGITS_256 and 0 <= scale <= precision):
        return None
    if avro["type"] == "fixed" and 10**precision > (1 << 8 * min(avro["size"], 64)) // 2:
        return None  # more digits than its bytes can hold
    kind = pa.decimal128 if precision <= _DIGITS_128 else pa.decimal256
    return _Column(kind(precision, scale), _DecimalConvert(path, precision, scale), narrow=True)


class _DecimalConvert:
    """From an unscaled value's bytes to a decimal."""

    def __init__(self, path: tuple[str, ...], precision: int, scale: int) -> None:
        self._path, self._precision, self._scale = path, precision, scale
        self._bound = 10**precision
        self._context = Context(prec=_DIGITS_256 + 1)

    def __call__(self, unscaled: bytes) -> Decimal:
        number = int.from_bytes(unscaled, "big", signed=True)
        # Before it is a Decimal: that takes quadratic time, and a message may be all one number.
        if not -self._bound < number < self._bound:
            raise ColumnsError(self._too_large(unscaled))
        return Decimal(number).scaleb(-self._scale, self._context)

    def _too_large(self, unscaled: bytes) -> str:
        size = f"{len(unscaled)} bytes"
        return f"{_at(self._path)} is a decimal of {size} with more than the {self._precision} digits of its schema"
