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

from kafka_s3.json_schema.load import SCHEMAS_MAX, Schemas
from kafka_s3.json_schema.options import Options
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
    valid_name,
)
from kafka_s3.values.converters.json_schema_words import in_java_order, in_order, number_type, said, type_of

ENUM: Final = "io.confluent.connect.json.Enum"
ONE_OF: Final = "io.confluent.connect.json.OneOf"
#: With `generalized.sum.type.support`.
ANY_ENUM: Final = "org.apache.kafka.connect.data.Enum"
ANY_UNION: Final = "org.apache.kafka.connect.data.Union"
_UNION: Final = "connect_union_"
_NULL: Final = "<NULL>"


def connect_schema(schemas: Schemas, options: Options, version: int | None) -> ConnectSchema:
    """`InvalidSchema` where Connect has no schema for it."""
    return translated(Translation(schemas, options), schemas, version)


def translated(translation: Translation, schemas: Schemas, version: int | None) -> ConnectSchema:
    try:
        return translation.of(schemas.root, version=version)
    except JsonSchemaError as error:
        raise InvalidSchema(str(error)) from None


class Translation:
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
                made = self.number(shape)
            case Text():
                made = ConnectSchema("bytes" if type_of(shape.words) == "bytes" else "string")
            case OneOfValues():
                made = ConnectSchema("string", parameters=self.symbols(shape))
            case ArrayOf():
                made = self._array(shape)
            case ObjectOf() if type_of(shape.words) == "map":
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
        return self.said(made, shape.words, version, optional)

    def _array(self, shape: ArrayOf) -> ConnectSchema:
        if shape.items is None:
            raise InvalidSchema("an array does not say the type of its items ('items')")
        items = self._schemas.of(shape.items)
        if type_of(shape.words) != "map" or not isinstance(items, ObjectOf):
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

    # What another converter says otherwise.

    def number(self, shape: Numeric) -> ConnectSchema:
        return ConnectSchema(number_type(shape))

    def said(self, made: ConnectSchema, words: Words, _version: int | None, optional: bool) -> ConnectSchema:
        return said(made, words, _version, optional)

    def in_order(self, properties: Mapping[str, Shape]) -> list[str]:
        return in_order(properties)

    def union_names(self, _number: int) -> tuple[str, str, int]:
        """Of a struct, of its fields without their numbers, and the first number."""
        if self._options.generalized_sum_type_support:
            return f"{_UNION}{_number}", f"{_UNION}field_", 0
        return ONE_OF, f"{ONE_OF}.field.", 0

    def symbols(self, shape: OneOfValues) -> dict[str, str]:
        generalized = self._options.generalized_sum_type_support
        word = ANY_ENUM if generalized else ENUM
        parameters = {word: ""}
        for number, value in enumerate(shape.values):
            symbol = as_text(_NULL if value is None else java_text(value))
            parameters[f"{word}.{symbol}"] = str(number) if generalized else symbol
        return parameters

    # Structs.

    def _struct(self, shape: ObjectOf, version: int | None, optional: bool) -> ConnectSchema:
        if (known := self._known(shape, optional)) is not None:
            return known
        begun, key = self._begin(shape)
        properties = {name: self._schemas.of(place) for name, place in shape.properties.items()}
        fields = self._fields([(name, properties[name], name in shape.required) for name in self.in_order(properties)])
        made = self.said(ConnectSchema("struct", fields=fields, key=key), shape.words, version, False)
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
        name, prefix, first = self.union_names(number)
        fields = []
        for index, each in enumerate(inner, first):
            field = f"{prefix}{index}"
            fields.append(ConnectField(field, valid_name(field), self.of(each, optional=True)))
        return ConnectSchema(
            "struct",
            optional=len(inner) < len(shape.parts),
            name=name,
            parameters={ANY_UNION: name} if self._options.generalized_sum_type_support else {},
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
                for name in in_java_order(shape.properties):
                    properties[name] = self._schemas.of(shape.properties[name]), name in shape.required
            case Reference():
                self._collect(self._schemas.referred(shape), properties, seen, level + 1)


def java_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _no_type(what: str) -> str:
    return f"Connect has no type for {what}"
