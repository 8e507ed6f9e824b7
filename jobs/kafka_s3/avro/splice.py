"""From datums of one schema to those of another by their bytes, where whole fields stay as they are.

Fields that were added get their default's bytes, those that were dropped are left out; a type becomes one branch of a
union by that branch's number in front. Bytes that are copied stay as their producer wrote them, as they do where
nothing is projected. What needs more than that has no splice, and goes through its values (`project`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from kafka_s3.avro.datum_checker import Bounds, bounds_reader
from kafka_s3.avro.datum_writer import long_bytes, writer
from kafka_s3.avro.defaults import plain_default
from kafka_s3.avro.graph import graph
from kafka_s3.avro.model import Schema
from kafka_s3.avro.nodes import NO_DEFAULT, Array, Enum, Field, Fixed, Kind, Map, Node, Primitive, Record, Union
from kafka_s3.avro.parse import SchemaError
from kafka_s3.avro.physical_schema import bare
from kafka_s3.avro.project import origin_of, projector

#: Bytes of defaults in each datum. More go through the values.
_CONSTANTS_MAX: Final = 4096
_STEPS_MAX: Final = 20_000


@dataclass(frozen=True, slots=True)
class Copied:
    """The bytes of the source's fields `[first, last)`."""

    first: int
    last: int


Piece = bytes | Copied


class Splice:
    """What a target's datum is put together of. `origins`: the source's field for each of the target's, if any."""

    def __init__(self, pieces: Sequence[Piece], origins: Sequence[int | None], bounds: Bounds) -> None:
        self.pieces = pieces
        self.origins = origins
        #: Fields without an origin as columns of one row, by number; by the target's text, its own or the bare one's.
        self.constants: dict[str, Mapping[int, Any]] = {}
        self._bounds = bounds

    def one(self, datum: bytes) -> bytes:
        """A datum of the source, which is known to be one, as one of the target."""
        ends = [0, *self._bounds(datum)]
        return b"".join(
            each if isinstance(each, bytes) else datum[ends[each.first] : ends[each.last]] for each in self.pieces
        )

    def many(self, data: bytes, mark: Callable[[int], Sequence[int]], count: int) -> list[bytes]:
        """Rows of a buffer. `mark(i)`: where field i begins in each; with the number of fields, where the row ends."""
        columns: list[list[bytes]] = []
        for each in self.pieces:
            if isinstance(each, bytes):
                columns.append([each] * count)
            else:
                edges = zip(mark(each.first), mark(each.last), strict=True)
                columns.append([data[start:end] for start, end in edges])
        if len(columns) == 1:
            return columns[0]
        if len(columns) == 2:
            return [first + second for first, second in zip(*columns, strict=True)]
        return list(map(b"".join, zip(*columns, strict=True))) if columns else [b""] * count


@lru_cache(maxsize=256)
def cutter(text: str) -> Callable[[bytes, Sequence[Copied]], list[bytes]]:
    """How a datum of a record's schema, known to be one, gives the bytes of runs of its fields."""
    record = graph(Schema(text))
    assert isinstance(record, Record), "only a record has fields"
    bounds = bounds_reader(record)

    def cut(datum: bytes, runs: Sequence[Copied]) -> list[bytes]:
        ends = [0, *bounds(datum)]
        return [datum[ends[each.first] : ends[each.last]] for each in runs]

    return cut


def splice(source: Schema, target: Schema) -> Splice | None:
    """How datums become those of another schema that `project` takes them to; `None`: not by their bytes alone.

    Follows from the schemas, so that a datum always becomes the same bytes. Logical types make no difference.
    """
    return _splice(bare(source).text, bare(target).text)


@lru_cache(maxsize=256)
def _splice(source: str, target: str) -> Splice | None:
    old, new = graph(Schema(source)), graph(Schema(target))
    if not isinstance(old, Record) or not isinstance(new, Record):
        return None
    try:
        projector(Schema(source), Schema(target))
        pieces = _Pieces().of(old, new)
        origins = [origin_of(old, field) for field in new.fields]
    except (SchemaError, _Otherwise, RecursionError):
        return None
    places = [None if each is None else old.fields.index(each) for each in origins]
    return Splice(pieces, places, bounds_reader(old))


class _Otherwise(Exception):
    """There is no splice."""


class _Pieces:
    def __init__(self) -> None:
        self._same: set[tuple[Record, Record]] = set()
        self._steps = 0

    def of(self, old: Record, new: Record) -> list[Piece]:
        made: list[Piece] = []
        numbers = {each.name: number for number, each in enumerate(old.fields)}
        for field in new.fields:
            origin = origin_of(old, field)
            if origin is None:
                made.append(self._constant(field))
            else:
                at = numbers[origin.name]
                made += [self._branch(origin.node, field.node), Copied(at, at + 1)]
        if sum(len(each) for each in made if isinstance(each, bytes)) > _CONSTANTS_MAX:
            raise _Otherwise
        return _merged(made)

    def _constant(self, field: Field) -> bytes:
        value = None
        if field.default is not NO_DEFAULT:
            value = plain_default(field.node, field.default, field.name)
        elif not field.node.nullable:
            raise _Otherwise
        out = bytearray()
        writer(field.node)(value, out)
        return bytes(out)

    def _branch(self, old: Node, new: Node) -> bytes:
        """What stands in front of a field's bytes in the target."""
        if isinstance(new, Union) and not isinstance(old, Union):
            one = new.optional
            if one is not None and self._stays(old, one):
                return long_bytes(new.branches.index(one))
        if not self._stays(old, new):
            raise _Otherwise
        return b""

    def _stays(self, old: Node, new: Node) -> bool:
        """Whether every value has the same bytes under both, and means what `project` makes of it."""
        self._steps += 1
        if self._steps > _STEPS_MAX:
            raise _Otherwise
        if old is new:
            return True
        match old, new:
            case Primitive(), Primitive():
                return old.kind is new.kind or (old.kind is Kind.INT and new.kind is Kind.LONG)
            case Enum(), Enum():
                return old.symbols == new.symbols[: len(old.symbols)]
            case Fixed(), Fixed():
                return old.size == new.size
            case Array(one), Array(other):
                return self._stays(one, other)
            case Map(one), Map(other):
                return self._stays(one, other)
            case Union(ours), Union(theirs):
                pairs = list(zip(ours, theirs, strict=False))
                return len(pairs) == len(ours) and all(
                    one.name == other.name and self._stays(one, other) for one, other in pairs
                )
            case Record(), Record():
                return self._record(old, new)
        return False

    def _record(self, old: Record, new: Record) -> bool:
        if (old, new) in self._same:
            return True
        self._same.add((old, new))  # until it is found otherwise, which ends it all
        if len(old.fields) != len(new.fields):
            raise _Otherwise
        for one, other in zip(old.fields, new.fields, strict=True):
            if origin_of(old, other) is not one or not self._stays(one.node, other.node):
                raise _Otherwise
        return True


def _merged(pieces: Sequence[Piece]) -> list[Piece]:
    """The same with neighbours together."""
    made: list[Piece] = []
    for each in pieces:
        last = made[-1] if made else None
        if isinstance(each, bytes) and isinstance(last, bytes):
            made[-1] = last + each
        elif isinstance(each, Copied) and isinstance(last, Copied) and last.last == each.first:
            made[-1] = Copied(last.first, each.last)
        elif each != b"":
            made.append(each)
    return made
