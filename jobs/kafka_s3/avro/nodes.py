"""The types that a schema's graph is made of, one class for each kind of Avro, and how they are walked.

What a type refers to by name is the node itself, so a recursive schema is a graph with a circle. Whoever needs
something of a schema walks its graph (`graph.graph`), by `match` or by a `Visitor`.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Final, Generic, TypeVar

NO_PROPERTIES: Final[Mapping[str, Any]] = MappingProxyType({})
T = TypeVar("T")


class Kind(enum.StrEnum):
    """Avro's primitive types."""

    NULL = "null"
    BOOLEAN = "boolean"
    INT = "int"
    LONG = "long"
    FLOAT = "float"
    DOUBLE = "double"
    BYTES = "bytes"
    STRING = "string"


#: In the order in which one can be read as the next.
NUMBERS: Final = (Kind.INT, Kind.LONG, Kind.FLOAT, Kind.DOUBLE)


class Unit(enum.Enum):
    """A part of a second; `value`: how many of it a second has."""

    MILLIS = 1_000
    MICROS = 1_000_000
    NANOS = 1_000_000_000

    @property
    def word(self) -> str:
        return self.name.lower()


# Logical types: those that change what a value means. Others (uuid, a user's own) say nothing that a column could not
# hold, and on a type that is not theirs they mean nothing.


@dataclass(frozen=True, slots=True)
class Decimal:
    """Bytes or a fixed; 0 <= scale <= precision, and precision > 0."""

    precision: int
    scale: int
    name: ClassVar[str] = "decimal"

    def __str__(self) -> str:
        return f"{self.name}, {self.precision}, {self.scale}"


@dataclass(frozen=True, slots=True)
class Date:
    """An int: days since 1970 began."""

    name: ClassVar[str] = "date"

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class TimeOfDay:
    """An int of milliseconds or a long of microseconds since midnight."""

    unit: Unit

    @property
    def name(self) -> str:
        return f"time-{self.unit.word}"

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Timestamp:
    """A long: units since 1970 began, in UTC, or on the wall's clock where it is local."""

    unit: Unit
    local: bool

    @property
    def name(self) -> str:
        return f"{'local-' if self.local else ''}timestamp-{self.unit.word}"

    def __str__(self) -> str:
        return self.name


Logical = Decimal | Date | TimeOfDay | Timestamp


class _NoDefault:
    """There is no default; `None` is one."""


NO_DEFAULT: Final = _NoDefault()


class _Type:
    """What any type can be asked."""

    __slots__ = ()

    @property
    def described(self) -> str:
        """The type in a sentence."""
        node: Any = self
        return f"{node.kind} {node.name}" if isinstance(node, Named) else str(node.name)

    @property
    def nullable(self) -> bool:
        """Whether null is among its values."""
        return False

    @property
    def optional(self) -> Node | None:
        """Of a union: its only type that is not null; there may be no null beside it."""
        return None

    @property
    def required(self) -> Node:
        """The type that values have which are not null, where a union has just one."""
        node: Any = self
        return self.optional or node


# `kind`: Avro's word. `name`: the full name of a named type, else the word; so branches of a union are told apart.
# `properties`: the type's JSON, whatever its author put there; what means something to us is in attributes.


@dataclass(frozen=True, slots=True, eq=False)
class Primitive(_Type):
    """A type without parts. `bits`: of an int or a long, or of Connect's smaller integers; 0 for all else."""

    kind: Kind
    properties: Mapping[str, Any]
    logical: Logical | None = None
    bits: int = 0

    @property
    def name(self) -> str:
        return self.kind.value

    @property
    def nullable(self) -> bool:
        return self.kind is Kind.NULL

    @property
    def bounds(self) -> tuple[int, int]:
        """The lowest number of an integer, and the one above the highest."""
        return -(1 << self.bits - 1), 1 << self.bits - 1


@dataclass(frozen=True, slots=True, eq=False)
class Fixed(_Type):
    name: str
    size: int
    properties: Mapping[str, Any]
    aliases: frozenset[str]
    logical: Decimal | None
    kind: ClassVar[str] = "fixed"


@dataclass(frozen=True, slots=True, eq=False)
class Enum(_Type):
    name: str
    symbols: tuple[str, ...]
    properties: Mapping[str, Any]
    aliases: frozenset[str]
    kind: ClassVar[str] = "enum"


@dataclass(frozen=True, slots=True, eq=False)
class Array(_Type):
    item: Node
    properties: Mapping[str, Any]
    kind: ClassVar[str] = "array"
    name: ClassVar[str] = "array"


@dataclass(frozen=True, slots=True, eq=False)
class Map(_Type):
    """`item`: the type of its values; keys are text."""

    item: Node
    properties: Mapping[str, Any]
    kind: ClassVar[str] = "map"
    name: ClassVar[str] = "map"


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """A record's field. `default`: JSON, as in the schema. `properties`: the field's JSON."""

    name: str
    node: Node
    properties: Mapping[str, Any]
    aliases: tuple[str, ...] = ()
    default: Any = NO_DEFAULT


@dataclass(frozen=True, slots=True, eq=False)
class Record(_Type):
    """`fields` are there once the whole graph is: they may lead back to the record."""

    name: str
    properties: Mapping[str, Any]
    aliases: frozenset[str] = frozenset()
    fields: tuple[Field, ...] = ()
    kind: ClassVar[str] = "record"

    def field(self, name: str) -> Field | None:
        return next((each for each in self.fields if each.name == name), None)

    def position(self, name: str) -> int | None:
        return next((number for number, each in enumerate(self.fields) if each.name == name), None)


@dataclass(frozen=True, slots=True, eq=False)
class Union(_Type):
    branches: tuple[Node, ...]
    properties: ClassVar[Mapping[str, Any]] = NO_PROPERTIES
    kind: ClassVar[str] = "union"
    name: ClassVar[str] = "union"

    @property
    def nullable(self) -> bool:
        return any(each.nullable for each in self.branches)

    @property
    def others(self) -> tuple[Node, ...]:
        """The branches that are not null."""
        return tuple(each for each in self.branches if not each.nullable)

    @property
    def optional(self) -> Node | None:
        return self.others[0] if len(self.others) == 1 else None

    @property
    def is_plain(self) -> bool:
        """Whether values say nothing of their branch, since there is one type beside null, or none."""
        return len(self.others) <= 1

    def branch(self, name: str) -> Node | None:
        return next((each for each in self.branches if each.name == name), None)


Node = Primitive | Fixed | Enum | Array | Map | Record | Union
Named = Fixed | Enum | Record


def is_null(node: Node) -> bool:
    return isinstance(node, Primitive) and node.kind is Kind.NULL


def parts(node: Node) -> Sequence[Node]:
    """The types right below a type."""
    match node:
        case Array(item) | Map(item):
            return (item,)
        case Union(branches):
            return branches
        case Record():
            return [each.node for each in node.fields]
    return ()


def held(node: Node) -> Iterator[Node]:
    """Every type within a type, itself too where it is met again."""
    seen: set[Node] = set()
    waiting = [node]
    while waiting:
        inner = parts(each := waiting.pop())
        yield from inner
        seen.add(each)
        waiting += [one for one in inner if one not in seen]


def holds_itself(node: Node) -> bool:
    return any(each is node for each in held(node))


class Visitor(ABC, Generic[T]):
    """Makes one thing of each type of a graph, of the inner ones first.

    A named type's is made once. Where a record is met inside itself there is no such thing yet: `again` stands for it.
    """

    def __init__(self) -> None:
        self.made: dict[Named, T] = {}
        self._open: set[Record] = set()

    def visit(self, node: Node) -> T:
        match node:
            case Primitive():
                return self.primitive(node)
            case Array(item):
                return self.array(node, self.visit(item))
            case Map(item):
                return self.map(node, self.visit(item))
            case Union(branches):
                return self.union(node, self.visit_all(branches))
        if node in self.made:
            return self.made[node]
        match node:
            case Enum():
                made = self.enum(node)
            case Fixed():
                made = self.fixed(node)
            case Record():
                if node in self._open:
                    return self.again(node)
                self._open.add(node)
                made = self.record(node, self.visit_all(each.node for each in node.fields))
        self.made[node] = made
        return made

    def visit_all(self, nodes: Iterable[Node]) -> list[T]:
        return [self.visit(each) for each in nodes]

    @abstractmethod
    def primitive(self, node: Primitive) -> T: ...
    @abstractmethod
    def fixed(self, node: Fixed) -> T: ...
    @abstractmethod
    def enum(self, node: Enum) -> T: ...
    @abstractmethod
    def array(self, node: Array, item: T) -> T: ...
    @abstractmethod
    def map(self, node: Map, item: T) -> T: ...
    @abstractmethod
    def union(self, node: Union, branches: list[T]) -> T: ...
    @abstractmethod
    def record(self, node: Record, fields: list[T]) -> T: ...
    @abstractmethod
    def again(self, node: Record) -> T: ...
