"""Values under one schema to values under another.

The meaning is that of Connect's SchemaProjector: fields by name, those that are missing get their default, those that
are too many are dropped, numbers are promoted. Beyond it, Avro's aliases of the target are names too.

Whether there is a way is decided from the schemas alone: a projector that was built takes every value.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import lru_cache
from operator import itemgetter
from typing import Any, Final

from kafka_s3.avro.defaults import plain_default
from kafka_s3.avro.graph import graph
from kafka_s3.avro.model import Branch, Schema
from kafka_s3.avro.nodes import (
    NO_DEFAULT,
    NUMBERS,
    Array,
    Enum,
    Field,
    Fixed,
    Kind,
    Map,
    Named,
    Node,
    Primitive,
    Record,
    Union,
    is_null,
)
from kafka_s3.avro.parse import SchemaError

Project = Callable[[Any], Any]

_STEPS_MAX: Final = 100_000
_FLOAT: Final = struct.Struct("<f")


def projector(source: Schema, target: Schema) -> Project:
    """A function from values under `source` to values under `target`; kept for pairs seen before.

    Nothing is copied that stays as it is, so a result shares parts with its value. `SchemaError` says where the
    schemas do not go together.
    """
    return _projector(source.text, target.text)


@lru_cache(maxsize=256)
def _projector(source: str, target: str) -> Project:
    if source == target:
        return unchanged
    try:
        return _Builder().build(graph(Schema(source)), graph(Schema(target)), "") or unchanged
    except RecursionError:
        raise SchemaError("the schemas are nested too deeply") from None


def unchanged(value: Any) -> Any:
    """The projector between schemas whose values are the same."""
    return value


class _Builder:
    """Builds one projector; `None` stands for one that changes nothing."""

    def __init__(self) -> None:
        # What was made of pairs of records: a recursive schema meets itself again before that is known, and one that
        # names a type often has it built once.
        self._made: dict[tuple[Record, Record], list[Project | None]] = {}
        self._steps = 0

    def build(self, source: Node, target: Node, path: str) -> Project | None:
        self._steps += 1
        if self._steps > _STEPS_MAX:  # unions of records that nearly fit are tried branch by branch
            raise SchemaError(f"{path}: the schemas are too large to find a way between them")
        if source is target:
            return None
        if isinstance(source, Union) or isinstance(target, Union):
            return self._union(source, target, path)
        return self._plain(source, target, path)

    def _plain(self, source: Node, target: Node, path: str) -> Project | None:
        match source, target:
            case Primitive(), Primitive():
                return _promotion(source, target, path)
            case Array(one), Array(other):
                return _each_item(self.build(one, other, f"{path}[]"))
            case Map(one), Map(other):
                return _each_value(self.build(one, other, f"{path}{{}}"))
            case Record(), Record():
                _check_names(source, target, path)
                return self._record(source, target, path)
            case Enum(), Enum():
                _check_names(source, target, path)
                if more := [symbol for symbol in source.symbols if symbol not in target.symbols]:
                    raise _no_way(source, target, path, f"it lacks the symbol {more[0]}")
                return None
            case Fixed(), Fixed():
                if source.logical != target.logical:
                    raise _no_way(source, target, path, "their logical types differ")
                _check_names(source, target, path)
                if source.size != target.size:
                    raise _no_way(source, target, path, f"it has {source.size} bytes there, {target.size} here")
                return None
        raise _no_way(source, target, path, "")

    def _record(self, source: Record, target: Record, path: str) -> Project | None:
        pair = source, target
        if pair in self._made:
            known = self._made[pair]
            return known[0] if known else lambda value: (known[0] or unchanged)(value)
        before = len(self._made)
        self._made[pair] = made = []
        try:
            made.append(self._fields(source, target, path))
        except SchemaError:
            # What was made meanwhile may lead back to this pair.
            for late in list(self._made)[before:]:
                del self._made[late]
            raise
        return made[0]

    def _fields(self, source: Record, target: Record, path: str) -> Project | None:
        constants: list[tuple[str, Any]] = []
        taken: list[tuple[str, str]] = []
        changed: list[tuple[str, Project]] = []
        for each in target.fields:
            here = f"{path}.{each.name}" if path else each.name
            origin = origin_of(source, each)
            if origin is None:
                constants.append((each.name, _default(each, here)))
                continue
            taken.append((each.name, origin.name))
            if (project := self._field(origin.node, each, here)) is not None:
                changed.append((each.name, project))
        if not constants and not changed and taken == [(each.name, each.name) for each in source.fields]:
            return None
        return _rebuild(target, taken, constants, changed)

    def _field(self, source: Node, target: Field, path: str) -> Project | None:
        """Connect gives a null its target's default, where the target takes no null."""
        if source.nullable and not target.node.nullable and target.default is not NO_DEFAULT:
            return _or_default(source, target, path, self)
        return self.build(source, target.node, path)

    def _union(self, source: Node, target: Node, path: str) -> Project | None:
        if source.nullable and not target.nullable:
            raise _no_way(source, target, path, "it takes no null, and has no default")
        if is_null(source):
            return None
        if not isinstance(source, Union):
            return self._into(source, target, path)
        if (one := source.optional) is not None:
            return _unless_null(self._into(one, target, path))
        if (several := _several(target)) is None:
            return _out_of_branch({each.name: self.build(each, target.required, path) for each in source.others})
        ways = {each.name: self._branch(each, several, path) for each in source.others}
        if all(way == (name, None) for name, way in ways.items()):
            return None
        return _by_branch({name: _as_branch(*way) for name, way in ways.items()})

    def _into(self, source: Node, target: Node, path: str) -> Project | None:
        """A type that is not a union into anything."""
        if (several := _several(target)) is not None:
            return _as_branch(*self._branch(source, several, path))
        return self.build(source, target.required, path)

    def _branch(self, source: Node, target: Union, path: str) -> tuple[str, Project | None]:
        """The branch that a type is read as: the one of the same name goes first, promotions after it."""
        same = target.branch(source.name)
        problem: SchemaError | None = None
        for branch in sorted(target.others, key=lambda each: each is not same):
            try:
                return branch.name, self.build(source, branch, path)
            except SchemaError as error:
                problem = problem or error
        raise problem or _no_way(source, target, path, "")


def _several(target: Node) -> Union | None:
    """The target, if its values say which branch they have."""
    return target if isinstance(target, Union) and target.optional is None else None


def _check_names(source: Named, target: Named, path: str) -> None:
    if source.name != target.name and source.name not in target.aliases:
        raise _no_way(source, target, path, "their names differ")


def origin_of(source: Record, target: Field) -> Field | None:
    """The field that a target's field is read from: by its name, else by its aliases."""
    for name in (target.name, *target.aliases):
        if (found := source.field(name)) is not None:
            return found
    return None


def _promotion(source: Primitive, target: Primitive, path: str) -> Project | None:
    alike = source.kind is target.kind
    if not alike and not (source.kind in NUMBERS and target.kind in NUMBERS):
        raise _no_way(source, target, path, "")
    if source.logical != target.logical:
        raise _no_way(source, target, path, "their logical types differ")
    if alike and source.bits <= target.bits:
        return None
    if alike or NUMBERS.index(source.kind) > NUMBERS.index(target.kind):
        raise _no_way(source, target, path, "its numbers are too large")
    if target.kind is Kind.FLOAT:
        return float32
    return float if target.kind is Kind.DOUBLE and source.kind is not Kind.FLOAT else None


def float32(number: int) -> float:
    """The float (of 32 bits) nearest to a long, as Java's `(float)` has it.

    >>> float32(16777217), float32(2**63 - 1)
    (16777216.0, 9.223372036854776e+18)
    """
    excess = number.bit_length() - 53
    if excess > 0:  # a double would round first: keep 53 bits, with the last one set where anything is lost
        kept = abs(number) >> excess
        kept |= (kept << excess) != abs(number)
        number = (kept << excess) * (1 if number > 0 else -1)
    rounded: float = _FLOAT.unpack(_FLOAT.pack(number))[0]
    return rounded


def _default(target: Field, path: str) -> Any:
    if target.default is NO_DEFAULT:
        if target.node.nullable:
            return None
        raise SchemaError(f"{path}: the field is not there, and has no default")
    return plain_default(target.node, target.default, path)


def _or_default(source: Node, target: Field, path: str, builder: _Builder) -> Project:
    default = plain_default(target.node, target.default, path)
    if not isinstance(source, Union):  # null itself
        return lambda _: _fresh(default)
    below = source.optional or Union(source.others)
    project = builder.build(below, target.node, path) or unchanged
    return lambda value: _fresh(default) if value is None else project(value)


def _rebuild(
    target: Record,
    taken: list[tuple[str, str]],
    constants: list[tuple[str, Any]],
    changed: list[tuple[str, Project]],
) -> Project:
    names = [name for name, _ in taken]
    get = _getter([origin for _, origin in taken])
    fixed = dict(constants)
    template = {each.name: fixed.get(each.name) for each in target.fields}
    shared = [name for name, value in constants if isinstance(value, list | dict | Branch)]

    def project(value: Any) -> Any:
        made = dict(template)
        made.update(zip(names, get(value), strict=True))
        for name, convert in changed:
            made[name] = convert(made[name])
        for name in shared:  # so that two values never share a list
            made[name] = _fresh(made[name])
        return made

    return project


def _fresh(value: Any) -> Any:
    """A default of its own for each value."""
    if isinstance(value, Branch):
        return Branch(value.name, _fresh(value.value))
    if isinstance(value, list):
        return [_fresh(each) for each in value]
    return {key: _fresh(each) for key, each in value.items()} if isinstance(value, dict) else value


def _getter(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return itemgetter(*names)
    return (lambda value: (value[names[0]],)) if names else lambda _: ()


def _each_item(project: Project | None) -> Project | None:
    return None if project is None else lambda value: [project(each) for each in value]


def _each_value(project: Project | None) -> Project | None:
    return None if project is None else lambda value: {key: project(each) for key, each in value.items()}


def _unless_null(project: Project | None) -> Project | None:
    return None if project is None else lambda value: None if value is None else project(value)


def _as_branch(name: str, project: Project | None) -> Project:
    if project is None:
        return lambda value: Branch(name, value)
    return lambda value: Branch(name, project(value))


def _by_branch(ways: dict[str, Project]) -> Project:
    return lambda value: None if value is None else ways[value.name](value.value)


def _out_of_branch(ways: dict[str, Project | None]) -> Project:
    return _by_branch({name: project or unchanged for name, project in ways.items()})


def _no_way(source: Node, target: Node, path: str, why: str) -> SchemaError:
    return SchemaError(
        f"{path or 'the value'}: {_said(source)} cannot be read as {_said(target)}{f', {why}' if why else ''}"
    )


def _said(node: Node) -> str:
    if isinstance(node, Union):
        return f"[{', '.join(map(_said, node.branches))}]"
    logical = node.logical if isinstance(node, Primitive | Fixed) else None
    return f"{node.described} ({logical})" if logical else node.described
