"""The Connect schema that ProtobufConverter gives a message type, and the Avro schema of that.

Names, parameters and their order are Confluent's. Each message type is said once, and named after that.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kafka_s3.avro.model import Schema
from kafka_s3.protobuf.options import Options
from kafka_s3.protobuf.shapes import (
    Choice,
    Clock,
    Day,
    Enumerated,
    Instant,
    Leaf,
    MapOf,
    Number,
    Shape,
    Slot,
    Struct,
    Wrapped,
)
from kafka_s3.shown import named
from kafka_s3.values.converters.connect_avro import avro_schema
from kafka_s3.values.converters.connect_schema import (
    DATE,
    DECIMAL,
    NESTING_MAX,
    PRECISION,
    TIME,
    TIMESTAMP,
    ConnectField,
    ConnectSchema,
    InvalidSchema,
)

NAMESPACE: Final = "io.confluent.connect.protobuf"
TAG: Final = f"{NAMESPACE}.Tag"
TYPE: Final = f"{NAMESPACE}.Type"
ENUM: Final = f"{NAMESPACE}.Enum"
UNION: Final = f"{NAMESPACE}.Union"
#: With `generalized.sum.type.support`.
ANY_ENUM: Final = "org.apache.kafka.connect.data.Enum"
ANY_UNION: Final = "org.apache.kafka.connect.data.Union"
_TYPES: Final = {
    **dict.fromkeys(("int32", "sint32", "sfixed32"), "int32"),
    **dict.fromkeys(("uint32", "fixed32", "int64", "uint64", "sint64", "fixed64", "sfixed64"), "int64"),
    "bool": "boolean",
}
#: What Connect's type says as it is; the others are told by a parameter.
_PLAIN: Final = frozenset({"int32", "int64", "float", "double", "bool", "string", "bytes"})


def protobuf_schema(shape: Shape, version: int | None) -> Schema:
    """The Avro schema of the shape's values; `InvalidSchema` if Avro has none."""
    return avro_schema(connect_schema(shape, version))


def connect_schema(shape: Shape, version: int | None) -> ConnectSchema:
    """The Connect schema that the shape's values have; `InvalidSchema` if Connect could not make it."""
    try:
        match shape.root:
            case Wrapped(leaf):
                made = ConnectSchema(_TYPES.get(leaf.word, leaf.word))
            case root:
                made = _Schemas(shape.options).struct(root)
    except RecursionError:
        raise InvalidSchema("the schema is nested too deeply") from None
    return replace(made, version=version)


class _Schemas:
    def __init__(self, options: Options) -> None:
        self._options = options
        self._said: set[str] = set()
        self._level = 0

    def struct(self, struct: Struct) -> ConnectSchema:
        if struct.full in self._said:
            return ConnectSchema("struct", name=struct.name, again=struct.full)
        self._said.add(struct.full)
        self._level += 1
        if self._level > NESTING_MAX:  # Avro's types have the same limit; what makes them recurses
            raise InvalidSchema(f"its messages are nested more than {NESTING_MAX} levels deep")
        fields: list[ConnectField] = []
        for each in struct.slots:
            if isinstance(each, Slot):
                fields.append(self._field(each))
            elif each.flat:
                fields += map(self._field, each.members)
            else:
                fields.append(ConnectField(each.name, each.name, self._union(each)))
        names = [each.name for each in fields]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise InvalidSchema(
                f"{named(struct.full)} has two fields {named(twice)}, one of them a oneof: set"
                " generate.index.for.unions=false or flatten.unions=true"
            )
        self._level -= 1
        return ConnectSchema("struct", name=struct.name, fields=tuple(fields), key=struct.full)

    def _union(self, choice: Choice) -> ConnectSchema:
        fields = tuple(map(self._field, choice.members))
        if self._options.generalized_sum_type_support:
            name, parameters = choice.plain, {ANY_UNION: choice.plain}
        else:
            full = choice.full if self._options.enhanced_protobuf_schema_support else choice.plain
            name, parameters = f"{UNION}.{full}", {}
        return ConnectSchema("struct", optional=True, name=name, parameters=parameters, fields=fields)

    def _field(self, slot: Slot) -> ConnectField:
        return ConnectField(slot.name, slot.name, self._slot(slot))

    def _slot(self, slot: Slot) -> ConnectSchema:
        made = self._value(slot)
        if slot.repeated and made.type != "map":
            made = ConnectSchema("array", items=replace(made, optional=True))
        return replace(
            made,
            optional=slot.optional,
            parameters={**made.parameters, TAG: str(slot.number)},
            memo={},
        )

    def _value(self, slot: Slot) -> ConnectSchema:
        match slot.value:
            case Leaf(word, bits):
                kind = f"int{bits}" if bits else _TYPES.get(word, word)
                return ConnectSchema(kind, parameters={} if word in _PLAIN or bits else {TYPE: word})
            case Enumerated() as enum:
                return self._enum(enum)
            case Instant():
                return ConnectSchema("int64", name=TIMESTAMP, version=1)
            case Day():
                return ConnectSchema("int32", name=DATE, version=1)
            case Clock():
                return ConnectSchema("int32", name=TIME, version=1)
            case Number(scale, precision):
                told = {} if precision is None else {PRECISION: str(precision)}
                return ConnectSchema("bytes", name=DECIMAL, version=1, parameters={"scale": str(scale), **told})
            case Wrapped(leaf):
                return ConnectSchema(_TYPES.get(leaf.word, leaf.word))
            case MapOf() as found:
                return ConnectSchema("map", name=found.name, keys=self._slot(found.key), items=self._slot(found.value))
            case Struct() as struct:
                return self.struct(struct)

    def _enum(self, enum: Enumerated) -> ConnectSchema:
        word = ANY_ENUM if self._options.generalized_sum_type_support else ENUM
        symbols = {f"{word}.{symbol}": str(number) for symbol, number in enum.symbols}
        kind = "int32" if enum.numbers else "string"
        return ConnectSchema(kind, name=enum.name, parameters={word: enum.plain, **symbols})
