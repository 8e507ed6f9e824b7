"""What a schema's values are decoded into: types for msgspec, and the ways from there to other forms.

Decoded values are plain ones, except that records are structs with an attribute for each field, which cost a tenth of
a dictionary. What msgspec has no type for (unions of several types, schemas that hold themselves) is kept as text, and
read by `typed_values` when the batch is settled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

import msgspec

from kafka_s3.avro.defaults import plain_default
from kafka_s3.avro.graph import avro_of
from kafka_s3.avro.model import schema_of
from kafka_s3.avro.nodes import (
    NO_DEFAULT,
    Array,
    Decimal,
    Enum,
    Field,
    Fixed,
    Kind,
    Map,
    Node,
    Primitive,
    Record,
    Union,
    holds_itself,
)
from kafka_s3.values.converters.typed_values import Reader, bounds, parse, settler

Turn = Callable[[Any], Any]


@dataclass(eq=False, slots=True)
class Form:
    """One type. `None` for a way means that there is nothing to do.

    `settle` finishes what msgspec decoded, or raises `NotTyped`; values of the types in `settled` need none.
    `plain` makes plain values, and `of_plain` goes back. `fields`: a record's attributes, by field.
    `direct`: pyarrow takes the values as they are. `sub`: the type's own schema, for those it does not.
    """

    node: Node
    type: Any
    settle: Turn | None = None
    settled: frozenset[type] = frozenset()
    plain: Turn | None = None
    of_plain: Turn | None = None
    fields: Mapping[str, tuple[str, Form]] | None = None
    direct: bool = False

    def settle_all(self, found: list[Any]) -> None:
        """Settles decoded values where they stand."""
        if self.settle is None:
            return
        if self.fields is None or isinstance(self.node, Union):
            found[:] = map(self.settle, found)
            return
        for attribute, form in self.fields.values():
            if form.settle is None:
                continue
            column = [getattr(each, attribute) for each in found]
            if form.settled and form.settled.issuperset(map(type, column)):
                continue
            for each, value in zip(found, column, strict=True):
                setattr(each, attribute, form.settle(value))

    def plain_all(self, found: Sequence[Any]) -> Sequence[Any]:
        plain = self.plain
        return found if plain is None else [None if each is None else plain(each) for each in found]

    def array(self, found: Sequence[Any], kind: Any) -> Any:
        """A `pyarrow.Array` of the type that `avro.arrow.arrow_type` gives for the schema."""
        import pyarrow as pa

        if self.direct:
            return pa.array(found, kind)
        if self.fields:
            there = [each for each in found if each is not None] if None in found else found
            children = []
            for index, (attribute, form) in enumerate(self.fields.values()):
                column = [getattr(each, attribute) for each in there]
                children.append(form.array(column, kind.field(index).type))
            array = pa.StructArray.from_arrays(children, fields=list(kind))
            if len(there) == len(found):
                return array
            from kafka_s3.avro.vectors import among_nulls

            return among_nulls(array, [each is not None for each in found])
        from kafka_s3.avro.arrow import from_values

        return from_values(self.plain_all(found), schema_of(avro_of(self.node)))


class Forms:
    """Makes the forms of one schema. `_ANY_FIELDS`: what a record's schema does not have is passed over."""

    _ANY_FIELDS = True

    def of(self, node: Node, path: str) -> Form:
        """`SchemaError` for a default that is none of its type."""
        match node:
            case Union():
                return self._union(node, path)
            case Record():
                return self._record(node, path)
            case Array(item):
                form = self.of(item, f"{path}[]")
                kind: Any = list[form.type]  # type: ignore[name-defined]
                return _with_items(node, kind, form, _each_item)
            case Map(item):
                form = self.of(item, f"{path}{{}}")
                return _with_items(node, dict[str, form.type], form, _each_value)  # type: ignore[name-defined]
            case Enum():
                return Form(node, Literal[node.symbols], direct=True)
            case Primitive() | Fixed():
                return self._simple(node, path)

    def _simple(self, node: Primitive | Fixed, path: str) -> Form:
        return _simple(node, path)

    def _union(self, node: Union, path: str) -> Form:
        one = node.optional
        if one is None or holds_itself(one):
            return _raw(node)
        form = self.of(one, path)
        if form.type is msgspec.Raw:
            return self._nullable_text(node, form)
        return Form(
            node,
            form.type | None if form.type is not None and node.nullable else form.type,
            _unless_null(form.settle),
            form.settled | {type(None)} if form.settled else form.settled,
            _unless_null(form.plain),
            _unless_null(form.of_plain),
            form.fields,
            form.direct,
        )

    def _nullable_text(self, node: Union, form: Form) -> Form:  # noqa: ARG002  # of subclasses
        """What is kept as text, and may be null."""
        return _raw(node)

    def _record(self, node: Record, path: str) -> Form:
        if holds_itself(node):
            return _raw(node)
        forms = {each.name: self.of(each.node, f"{path}.{each.name}" if path else each.name) for each in node.fields}
        attributes = {each.name: f"f{index}" for index, each in enumerate(node.fields)}
        kind = msgspec.defstruct(
            "Record",
            [_slot(attributes[each.name], each, forms[each.name], path) for each in node.fields],
            rename={attribute: name for name, attribute in attributes.items()},
            kw_only=True,
            gc=False,
            forbid_unknown_fields=not self._ANY_FIELDS,
        )
        names = tuple(attributes)
        settles = [(attributes[name], form.settle) for name, form in forms.items() if form.settle is not None]
        plains = [(name, form.plain) for name, form in forms.items() if form.plain is not None]
        backs = [(name, attributes[name], form.of_plain) for name, form in forms.items()]
        astuple = msgspec.structs.astuple

        def settle(found: Any) -> Any:
            for attribute, convert in settles:
                setattr(found, attribute, convert(getattr(found, attribute)))
            return found

        def plain(found: Any) -> Any:
            made = dict(zip(names, astuple(found), strict=True))
            for name, convert in plains:
                made[name] = convert(made[name])
            return made

        def of_plain(value: Any) -> Any:
            return kind(
                **{attribute: value[name] if back is None else back(value[name]) for name, attribute, back in backs}
            )

        fields = {name: (attributes[name], form) for name, form in forms.items()}
        return Form(node, kind, settle if settles else None, frozenset(), plain, of_plain, fields)


def _slot(attribute: str, field: Field, form: Form, path: str) -> tuple[Any, ...]:
    """A field as msgspec defines one, with its default."""
    if field.default is NO_DEFAULT:
        return (attribute, form.type, None) if field.node.nullable else (attribute, form.type)
    default = plain_default(field.node, field.default, f"{path}.{field.name}" if path else field.name)
    if form.of_plain is None and isinstance(default, None | bool | int | float | str | bytes):
        return attribute, form.type, default

    def make() -> Any:
        fresh = plain_default(field.node, field.default, "")
        return fresh if form.of_plain is None else form.of_plain(fresh)

    return attribute, form.type, msgspec.field(default_factory=make)


def _with_items(node: Node, kind: Any, form: Form, each: Callable[[Turn | None], Turn | None]) -> Form:
    return Form(node, kind, each(form.settle), frozenset(), each(form.plain), each(form.of_plain))


def _simple(node: Primitive | Fixed, path: str) -> Form:
    """A type that is neither list nor object. Defaults go through `settle` as well, which leaves values alone."""
    settle = settler(node, path)
    if isinstance(node.logical, Decimal):
        from decimal import Decimal as Number

        return Form(node, Number, _but(bytes, settle))
    if isinstance(node, Fixed):
        return Form(node, Annotated[bytes, msgspec.Meta(min_length=node.size, max_length=node.size)], direct=True)
    match node.kind:
        case Kind.INT | Kind.LONG:
            return _integer(node, settle)
        case Kind.FLOAT:
            return Form(node, float, settle, direct=True)
    return Form(node, _TYPES[node.kind], direct=True)


_TYPES: Final[Mapping[Kind, Any]] = {
    Kind.NULL: None,
    Kind.BOOLEAN: bool,
    Kind.STRING: str,
    Kind.DOUBLE: float,
    Kind.BYTES: bytes,
}


def _integer(node: Primitive, settle: Turn | None) -> Form:
    """Connect's smaller ones may misfit their column, which says so only of plain values."""
    direct = node.bits >= 32
    logical = node.logical
    if logical is None or isinstance(logical, Decimal):
        low, high = node.bounds
        return Form(node, Annotated[int, msgspec.Meta(ge=low, le=high - 1)], direct=direct)
    low, high = bounds(logical)
    whole = Annotated[int, msgspec.Meta(ge=low, le=high - 1)]
    return Form(node, whole | str, _but(int, settle), frozenset({int}), direct=direct)


def _raw(node: Node) -> Form:
    reader = Reader(node)

    def settle(found: Any) -> Any:
        return reader.read(parse(bytes(found))) if type(found) is msgspec.Raw else found

    return Form(node, msgspec.Raw, settle)


def _but(kind: type, settle: Turn | None) -> Turn:
    assert settle is not None
    return lambda found: found if type(found) is kind else settle(found)


def _unless_null(turn: Turn | None) -> Turn | None:
    return None if turn is None else lambda value: None if value is None else turn(value)


def _each_item(turn: Turn | None) -> Turn | None:
    return None if turn is None else lambda values: [turn(each) for each in values]


def _each_value(turn: Turn | None) -> Turn | None:
    return None if turn is None else lambda values: {key: turn(each) for key, each in values.items()}
