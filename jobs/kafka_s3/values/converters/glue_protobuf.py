"""Protobuf as the serializers of AWS Glue's schema registry write it.

Their header (`glue`), then a varint: the place of the message among all messages of the file, in the order of their
full names, those of maps' entries and those within others too; then the message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kafka_s3.avro.model import Schema
from kafka_s3.ports import SchemaRegistry
from kafka_s3.protobuf.compile import ProtoError, schemas
from kafka_s3.protobuf.options import Options
from kafka_s3.protobuf.shapes import shape_of
from kafka_s3.values.converters.avro import AvroRows
from kafka_s3.values.converters.connect_schema import InvalidSchema
from kafka_s3.values.converters.glue import HEAD, converted, version_in
from kafka_s3.values.converters.protobuf import FramedProtobuf, MessageType
from kafka_s3.values.converters.protobuf_schema import protobuf_schema
from kafka_s3.values.rows import Stage

#: Of Confluent's mapping, what is nearest to that of Amazon's converter.
OPTIONS: Final = Options(
    generate_index_for_unions=False, generate_struct_for_nulls=True, wrapper_for_raw_primitives=False
)
_PLACE_BYTES_MAX: Final = 5


class GlueProtobuf:
    """ProtobufSchemaConverter of AWS Glue: the values or keys of one topic."""

    def __init__(self, registry: SchemaRegistry, *, key: bool, columns: bool = False) -> None:
        self._messages = FramedProtobuf(GlueMessages(registry), "ProtobufSchemaConverter", key=key, columns=columns)
        self._stage = Stage.KEY_CONVERTER if key else Stage.VALUE_CONVERTER

    def __call__(self, values: Sequence[bytes | None]) -> AvroRows:
        return converted(self._messages, values, self._stage)


class GlueMessages:
    """What stands in front of a message, and the type that it names."""

    def __init__(self, registry: SchemaRegistry) -> None:
        self._registry = registry

    def by_head(self, values: Sequence[bytes | None]) -> Mapping[bytes | None, Sequence[int]]:
        rows: dict[bytes | None, list[int]] = {}
        for row, value in enumerate(values):
            rows.setdefault(None if value is None else value[: _end(value)], []).append(row)
        return rows

    def look_up(self, head: bytes) -> MessageType | str:
        registered = version_in(head, self._registry, "PROTOBUF")
        if isinstance(registered, str):
            return registered
        place = _place(head[HEAD:])
        if place is None:
            return "not Protobuf of AWS Glue's registry: the value ends within its message index, or that is too long"
        what = f"the schema version {registered.id} of AWS Glue"
        try:
            compiled = schemas(registered.text, registered.names, registered.references)
            indexes = compiled.by_name
            if place >= len(indexes):
                return f"{what} has {len(indexes)} messages, and the value is of another one behind these"
            shape = shape_of(compiled, indexes[place], OPTIONS)
            schema = protobuf_schema(shape, registered.version)
        except (ProtoError, InvalidSchema) as error:
            return f"{what} cannot be used: {error}"
        found = Schema(schema.text, None, registered.version)
        return MessageType(shape, found, len(head), f"the version {registered.id}")


def _end(value: bytes) -> int:
    """Where the message begins; of what has no message index, where that would have ended at most."""
    for at in range(HEAD, min(len(value), HEAD + _PLACE_BYTES_MAX)):
        if value[at] < 0x80:
            return at + 1
    return HEAD + _PLACE_BYTES_MAX


def _place(data: bytes) -> int | None:
    """The number that a varint of 32 bits stands for.

    >>> _place(bytes([3])), _place(bytes([0x96, 1])), _place(b"")
    (3, 150, None)
    """
    if not data or data[-1] >= 0x80:
        return None
    return sum((byte & 0x7F) << (7 * place) for place, byte in enumerate(data))
