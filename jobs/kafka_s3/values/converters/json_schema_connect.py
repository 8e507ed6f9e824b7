"""The Connect schema that JsonSchemaConverter gives a JSON Schema.

Names and parameters are Confluent's, and so is the order of a struct's fields where the schema gives none
(`connect.index`): that of a Java HashMap.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import count
from typing import Any, Final, assert_never

from kafka_s3.json_schema.load import Schemas
from kafka_s3.json_schema.options import Options
from kafka_s3.json_schema.shapes import ABSENT as NO_DEFAULT
from kafka_s3.json_schema.shapes import (
    ArrayOf,
    Boolean,
    Combined,
    Constant,
    JsonSchemaError,
    Null,
    Numeric,
    ObjectOf,
    OneOfValues,
    Reference,
    Shape,
    Text,
    Untyped,
    Words,
)
from kafka_s3.values.converters.connect_schema import (
    NESTING_MAX,
    ConnectField,
    ConnectSchema,
    InvalidSchema,
    Names,
    as_text,
    is_name,
    logical_checked,
    valid_name,
)
from kafka_s3.values.converters.connect_typed import in_java_order
from kafka_s3.values.converters.connect_values import INTS

ENUM: Final = "io.confluent.connect.json.Enum"
ONE_OF: Final = "io.confluent.connect.json.OneOf"
#: With `generalized.sum.type.support`.
ANY_ENUM: Final = "org.apache.kafka.connect.data.Enum"
ANY_UNION: Final = "org.apache.kafka.connect.data.Union"
_UNION: Final = "connect_union_"
_NULL: Final = "<NULL>"
#: Schemas that one may stand for, those that it refers to counted each time.
SCHEMAS_MAX: Final = 20_000
_TYPES: Final = {
    "int8": "int8",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
    "float32": "float",
    "float64": "double",
    "bytes": "bytes",
}


def connect_schema(schemas: Schemas, options: Options, version: int | None) -> ConnectSchema:
    """`InvalidSchema` where Connect has no schema for it."""
    try:
        return _Translation(schemas, options).of(schemas.root, version=version)
    except JsonSchemaError as error:
        raise InvalidSchema(str(error)) from None


class _Translation:
    """One schema in the making. Structs are made once, and known again where something refers to them."""

    def __init__(self, schemas: Schemas, options: Options) -> None:
        self._schemas = schemas
        self._options = options
        #: Structs by their shapes, and for how many schemas each stands; the same where they are optional.
        self._made: dict[int, tuple[ConnectSchema, int]] = {}
        self._optional: dict[int, ConnectSchema] = {}
        #: Structs that are not done: their keys, and who means them.
        self._open: dict[int, tuple[str, list[ConnectSchema]]] = {}
        self._keys = count()
        self._unions = 0
        self._depth = 0
        self._hops = 0
        self._count = 0

    def of(self, shape: Shape, *, version: int | None = None, optional: bool = False) -> ConnectSchema:
        self._depth += 1
        if self._depth > NESTING_MAX:
            raise InvalidSchema(
                f"the schema is nested more than {NESTING_MAX} levels deep, or refers to itself without an object"
                " between"
            )
        hops, self._hops = self._hops, 0
        made = self._of(shape, version, optional)
        self._hops = hops
        self._depth -= 1
        return made

    def _meant(self, shape: Shape, version: int | None, optional: bool) -> ConnectSchema:
        """What another schema stands for: no level of its own."""
        self._hops += 1
        if self._hops > NESTING_MAX:
            raise InvalidSchema("the schema refers to itself without an object between")
        return self._of(shape, version, optional)

    def _counted(self, schemas: int) -> None:
        self._count += schemas
        if self._count > SCHEMAS_MAX:
            raise InvalidSchema(f"the schema stands for more than {SCHEMAS_MAX} schemas")

    def _of(self, shape: Shape, version: int | None, optional: bool) -> ConnectSchema:
        self._counted(1)
        match shape:
            case Boolean():
                made = ConnectSchema("boolean")
            case Numeric():
                made = ConnectSchema(_number(shape))
            case Text():
                made = ConnectSchema("bytes" if _type(shape.words) == "bytes" else "string")
            case OneOfValues():
                made = ConnectSchema("string", parameters=self._symbols(shape))
            case ArrayOf():
                made = self._array(shape)
            case ObjectOf() if _type(shape.words) == "map":
                made = self._map(shape)
            case ObjectOf():
                return self._struct(shape, version, optional)
            case Reference():
                return self._reference(shape, version, optional)
            case Combined("allOf"):
                return self._all_of(shape, version, optional)
            case Combined():
                found = self._union(shape)
                if not isinstance(found, ConnectSchema):
                    return self._meant(found, version, optional=True)
                made = found
            case Null():
                raise InvalidSchema(_no_type("null"))
            case Constant():
                raise InvalidSchema(_no_type("const without a type"))
            case Untyped(what):
                raise InvalidSchema(_no_type(what))
            case other:
                assert_never(other)
        return _said(made, shape.words, version, optional)

    def _array(self, shape: ArrayOf) -> ConnectSchema:
        if shape.items is None:
            raise InvalidSchema("an array does not say the type of its items ('items')")
        items = self._schemas.of(shape.items)
        if _type(shape.words) != "map" or not isinstance(items, ObjectOf):
            return ConnectSchema("array", items=self.of(items))
        for name in ("key", "value"):
            if name not in items.properties:
                raise InvalidSchema(f"the entries of a map have no property {name!r}")
        keys, values = (self._at(name, self._schemas.of(items.properties[name])) for name in ("key", "value"))
        made = ConnectSchema("map", keys=keys, items=values)
        return made if made.has_text_keys else replace(made, entries=True, memo={})

    def _map(self, shape: ObjectOf) -> ConnectSchema:
        if shape.rest is None:
            raise InvalidSchema("a map does not say the type of its values ('additionalProperties')")
        return ConnectSchema("map", keys=ConnectSchema("string"), items=self.of(self._schemas.of(shape.rest)))

    def _symbols(self, shape: OneOfValues) -> dict[str, str]:
        generalized = self._options.generalized_sum_type_support
        word = ANY_ENUM if generalized else ENUM
        parameters = {word: ""}
        for number, value in enumerate(shape.values):
            symbol = as_text(_NULL if value is None else _java_text(value))
            parameters[f"{word}.{symbol}"] = str(number) if generalized else symbol
        return parameters

    # Structs.

    def _struct(self, shape: ObjectOf, version: int | None, optional: bool) -> ConnectSchema:
        if (known := self._known(shape, optional)) is not None:
            return known
        begun, key = self._begin(shape)
        properties = {name: self._schemas.of(place) for name, place in shape.properties.items()}
        fields = self._fields([(name, properties[name], name in shape.required) for name in _in_order(properties)])
        made = _said(ConnectSchema("struct", fields=fields, key=key), shape.words, version, optional=False)
        return self._end(shape, made, begun, optional)

    def _begin(self, shape: Shape) -> tuple[int, str]:
        key = f"struct {next(self._keys)}"
        self._open[id(shape)] = key, []
        return self._count, key

    def _end(self, shape: Shape, made: ConnectSchema, begun: int, optional: bool) -> ConnectSchema:
        _, again = self._open.pop(id(shape))
        for each in again:
            each.memo["again"] = made
        self._made[id(shape)] = made, self._count - begun
        return self._as_optional(shape, made) if optional else made

    def _known(self, shape: Shape, optional: bool) -> ConnectSchema | None:
        """The struct that was made of this shape, which counts as one that is made anew."""
        if id(shape) not in self._made:
            return None
        made, size = self._made[id(shape)]
        self._counted(size)
        return self._as_optional(shape, made) if optional else made

    def _as_optional(self, shape: Shape, made: ConnectSchema) -> ConnectSchema:
        if id(shape) not in self._optional:
            self._optional[id(shape)] = replace(made, optional=True, memo={})
        return self._optional[id(shape)]

    def _fields(self, properties: Iterable[tuple[str, Shape, bool]]) -> tuple[ConnectField, ...]:
        properties = list(properties)
        lenient = self._options.use_optional_for_nonrequired
        plain = Names(name for name, _, _ in properties if is_name(name))
        fields = []
        for name, shape, is_required in properties:
            made = self._at(name, shape, optional=lenient and not is_required)
            fields.append(ConnectField(name, name if is_name(name) else plain.unused(valid_name(as_text(name))), made))
        return tuple(fields)

    def _at(self, name: str, shape: Shape, *, optional: bool = False) -> ConnectSchema:
        try:
            return self.of(shape, optional=optional)
        except (InvalidSchema, JsonSchemaError) as error:
            refused = error if isinstance(error, InvalidSchema) else InvalidSchema(str(error))
            refused.at.insert(0, name)
            raise refused from None

    def _reference(self, shape: Reference, version: int | None, optional: bool) -> ConnectSchema:
        target = self._schemas.referred(shape)
        if id(target) in self._open:
            key, again = self._open[id(target)]
            again.append(ConnectSchema("struct", optional=optional, again=key))
            return again[-1]
        known = self._known(target, optional)
        return known if known is not None else self._meant(target, version, optional)

    # Combinations.

    def _union(self, shape: Combined) -> ConnectSchema | Shape:
        """A struct of the schemas; a single one beside null is that schema."""
        number, self._unions = self._unions, self._unions + 1
        inner = [each for each in shape.parts if not isinstance(each, Null)]
        if not inner:
            word = shape.criterion
            raise InvalidSchema(f"'{word}' has no schema but null")
        if len(inner) == 1 and len(shape.parts) == 2:
            return inner[0]
        generalized = self._options.generalized_sum_type_support
        name = f"{_UNION}{number}" if generalized else ONE_OF
        fields = []
        for index, each in enumerate(inner):
            field = f"{_UNION}field_{index}" if generalized else f"{ONE_OF}.field.{index}"
            fields.append(ConnectField(field, valid_name(field), self.of(each, optional=True)))
        return ConnectSchema(
            "struct",
            optional=len(inner) < len(shape.parts),
            name=name,
            parameters={ANY_UNION: name} if generalized else {},
            fields=tuple(fields),
            union=True,
        )

    def _all_of(self, shape: Combined, version: int | None, optional: bool) -> ConnectSchema:
        if (known := self._known(shape, optional)) is not None:
            return known
        if id(shape) in self._open:
            raise InvalidSchema("allOf holds itself: Connect cannot have it")
        properties: dict[str, tuple[Shape, bool]] = {}
        self._collect(shape, properties, set(), 1)
        if properties:
            begun, key = self._begin(shape)
            fields = self._fields([(name, each, is_required) for name, (each, is_required) in properties.items()])
            return self._end(shape, ConnectSchema("struct", fields=fields, key=key), begun, optional)
        last: dict[type[Any], Shape] = {type(each): each for each in shape.parts}
        chosen: Shape | None = None
        if Combined in last:
            chosen = last[Combined]
        elif Constant in last:
            chosen = last.get(Text, last.get(Numeric))
        elif OneOfValues in last:
            chosen = last[OneOfValues] if Text in last else last.get(Numeric)
        elif Text in last:
            chosen = last.get(Numeric, last[Text])
        else:
            chosen = last.get(Reference)
        if chosen is None:
            raise InvalidSchema(_no_type("'allOf', or words of several types,"))
        return self._meant(chosen, version, optional)

    def _collect(self, shape: Shape, properties: dict[str, tuple[Shape, bool]], seen: set[int], level: int) -> None:
        if id(shape) in seen:
            return
        if level > NESTING_MAX:
            raise InvalidSchema(f"'allOf' and what it refers to are nested more than {NESTING_MAX} levels deep")
        self._counted(1)
        seen.add(id(shape))
        match shape:
            case Combined("allOf", parts):
                for each in parts:
                    self._collect(each, properties, seen, level + 1)
            case ObjectOf():
                for name in _in_java_order(shape.properties):
                    properties[name] = self._schemas.of(shape.properties[name]), name in shape.required
            case Reference():
                self._collect(self._schemas.referred(shape), properties, seen, level + 1)


def _said(made: ConnectSchema, words: Words, version: int | None, optional: bool) -> ConnectSchema:
    """With what the schema says of itself. A default of null is none: only a schema beside null has one."""
    parameters = {**made.parameters, **_parameters(words)}
    name = made.name if made.name is not None or words.title is None else as_text(words.title)
    own = _int(words, "connect.version")
    return replace(
        made,
        optional=made.optional or optional,
        name=logical_checked(name, made.type, parameters),
        version=version if own is None else own,
        doc=None if words.description is None else as_text(words.description),
        parameters=parameters,
        default=made.default if words.default in (None, NO_DEFAULT) else words.default,
        memo={},
    )


def _number(shape: Numeric) -> str:
    kind = _type(shape.words)
    if kind is None:
        return "int64" if shape.integer else "double"
    if kind not in _TYPES:
        raise InvalidSchema("the connect.type of a number is none that numbers have")
    return _TYPES[kind]


def _type(words: Words) -> str | None:
    found = words.connect.get("connect.type")
    if found is not None and type(found) is not str:
        raise InvalidSchema("connect.type is not a string")
    return found


def _int(words: Words, name: str) -> int | None:
    found = words.connect.get(name)
    low, high = INTS["int32"]
    if found is not None and not (type(found) is int and low <= found <= high):
        raise InvalidSchema(f"{name} is not a 32-bit integer")
    return found


def _parameters(words: Words) -> Mapping[str, str]:
    found = words.connect.get("connect.parameters", {})
    if not isinstance(found, dict) or not all(type(each) is str for each in found.values()):
        raise InvalidSchema("connect.parameters is not an object of strings")
    return {as_text(name): as_text(text) for name, text in found.items()}


def _in_java_order(names: Iterable[str]) -> list[str]:
    return [name for name, _ in in_java_order([(name, None) for name in names])]


def _in_order(properties: Mapping[str, Shape]) -> list[str]:
    """By `connect.index`; one without it takes the number of those in front. Of one index several may be."""
    indexed: dict[int, list[str]] = {}
    for name in _in_java_order(properties):
        index = _int(properties[name].words, "connect.index")
        indexed.setdefault(len(indexed) if index is None else index, []).append(name)
    return [name for _, names in sorted(indexed.items()) for name in names]


def _java_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _no_type(what: str) -> str:
    return f"Connect has no type for {what}"
