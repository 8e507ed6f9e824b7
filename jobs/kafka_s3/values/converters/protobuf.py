"""Protobuf as a schema registry's serializers write it: a zero byte, a schema's id in four bytes, which message of the
schema it is (`protobuf.indexes`), the message.

A batch is looked at all at once, by schema and message; its rows are those that AvroConverter's are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from kafka_s3.avro.model import Schema
from kafka_s3.errors import ConfigurationError
from kafka_s3.ports import RegisteredSchema, SchemaRegistry
from kafka_s3.protobuf.compile import CompilerMissing, ProtoError, need_compiler, schemas
from kafka_s3.protobuf.indexes import NoIndexes, read_indexes
from kafka_s3.protobuf.options import Options
from kafka_s3.protobuf.shapes import Shape, shape_of
from kafka_s3.settings.registry import SubjectNames
from kafka_s3.values.converters.avro import AvroRows
from kafka_s3.values.converters.avro_group import Group, shown
from kafka_s3.values.converters.connect_schema import InvalidSchema
from kafka_s3.values.converters.protobuf_group import MessageGroup
from kafka_s3.values.converters.protobuf_schema import protobuf_schema
from kafka_s3.values.converters.registry_head import HEAD, KnownHeads, RegistryHead
from kafka_s3.values.rows import Excluded, Stage, Tombstone, Unwritable

_SHORT: Final = HEAD + 1  # with the index of the first message


@dataclass(frozen=True, slots=True, eq=False)
class MessageType:
    """The message type that values name: its shape, and the schema of what that becomes.

    `head`: bytes in front of each message; `called`: what the schema is called, for reasons.
    """

    shape: Shape
    schema: Schema
    head: int
    called: str


class Framing(Protocol):
    """What stands in front of a message, and the type that it names."""

    def by_head(self, values: Sequence[bytes | None]) -> Mapping[bytes | None, Sequence[int]]:
        """Rows by what stands before their messages."""

    def look_up(self, head: bytes) -> MessageType | str:
        """The type, or why there is none."""


class FramedProtobuf:
    """Messages behind what one framing puts in front of them.

    Registry errors end a batch; what a record alone is to blame for makes it `Unwritable`. `columns`: a record that
    Arrow's columns cannot hold is refused too, as Parquet needs it. `converter`: who needs the compiler:
    `ConfigurationError` without it.
    """

    def __init__(self, framing: Framing, converter: str, *, key: bool, columns: bool = False) -> None:
        try:
            need_compiler()
        except CompilerMissing:
            raise ConfigurationError(
                f"{converter} needs protoc, which is not installed where records are read.",
                next="Install the extra there: pip install 'kafka-s3[protobuf]'.",
            ) from None
        self._framing = framing
        self._columns = columns
        self._stage = Stage.KEY_CONVERTER if key else Stage.VALUE_CONVERTER
        self._known = KnownHeads(framing.look_up, lambda found: len(found.schema.text))

    def __call__(self, values: Sequence[bytes | None]) -> AvroRows:
        excluded: dict[int, Excluded] = {}
        groups: list[Group] = []
        group_of: list[int] = [0] * len(values)
        places: Sequence[int] = range(len(values))
        by_head = self._framing.by_head(values)
        if len(by_head) > 1 or None in by_head:
            places = [0] * len(values)
        for head, rows in by_head.items():
            found = Tombstone() if head is None else self._known[head]
            if not isinstance(found, MessageType):
                for row in rows:
                    excluded[row] = found if isinstance(found, Tombstone) else self._bad(found, values[row])
                continue
            everything = len(rows) == len(values)
            chosen: Sequence[Any] = values if everything else [values[row] for row in rows]
            group = MessageGroup(found.shape, found.schema, chosen, found.head, found.called)
            for place, refused in group.check(self._stage, self._columns).items():
                excluded[place if everything else rows[place]] = refused
            if isinstance(places, list):
                for place, row in enumerate(rows):
                    group_of[row], places[row] = len(groups), place
            groups.append(group)
        if excluded and not isinstance(places, list):
            places = list(places)
        return AvroRows(groups, group_of if len(groups) > 1 else None, places, excluded)

    def _bad(self, why: str, value: bytes | None) -> Unwritable:
        return Unwritable(f"{why} ({shown(value)})", self._stage)


class ProtobufValues(FramedProtobuf):
    """The values, or keys, of one topic (ProtobufConverter)."""

    def __init__(
        self,
        registry: SchemaRegistry,
        subject_names: SubjectNames,
        topic: str,
        options: Options,
        *,
        key: bool,
        columns: bool = False,
    ) -> None:
        framing = ConfluentFraming(RegistryHead(registry, subject_names, topic, "PROTOBUF", key), options)
        super().__init__(framing, "ProtobufConverter", key=key, columns=columns)


class ConfluentFraming:
    """A zero byte, a schema's id, and which message of the schema it is."""

    def __init__(self, registry_head: RegistryHead, options: Options) -> None:
        self._head = registry_head
        self._options = options

    def by_head(self, values: Sequence[bytes | None]) -> Mapping[bytes | None, Sequence[int]]:
        return _by_head(values)

    def look_up(self, head: bytes) -> MessageType | str:
        found = self._head.look_up(head)
        if isinstance(found, str):
            return found
        id, registered = found
        try:
            indexes, end = read_indexes(head, HEAD)
        except NoIndexes as error:
            return self._head.refused(str(error))
        return self._made(id, registered, indexes, end)

    def _made(self, id: int, registered: RegisteredSchema, indexes: tuple[int, ...], end: int) -> MessageType | str:
        try:
            compiled = schemas(registered.text, registered.names, registered.references)
            shape = shape_of(compiled, indexes, self._options)
            version = self._head.version(id, lambda: str(shape.descriptor.full_name))
            schema = protobuf_schema(shape, version)
        except (ProtoError, InvalidSchema) as error:
            return f"the schema of the id {id} cannot be used: {error}"
        return MessageType(shape, Schema(schema.text, id, version), end, f"the id {id}")


def _by_head(values: Sequence[bytes | None]) -> Mapping[bytes | None, Sequence[int]]:
    """Rows by what stands before their messages; one schema and its first message as a rule."""
    if None not in values:
        heads = {value[:_SHORT] for value in values}  # type: ignore[index]  # no None is left
        if len(heads) == 1 and (head := heads.pop())[HEAD:] == b"\0":
            return {head: range(len(values))}
    rows: dict[bytes | None, list[int]] = {}
    for row, value in enumerate(values):
        rows.setdefault(None if value is None else _head(value), []).append(row)
    return rows


def _head(value: bytes) -> bytes:
    """What stands before the message; of bytes that have no message indexes, as much as it takes to say so."""
    if value[HEAD:_SHORT] == b"\0":
        return value[:_SHORT]
    try:
        _, end = read_indexes(value, HEAD)
    except NoIndexes:
        end = HEAD if value[:1] != b"\0" else HEAD + _INDEX_BYTES_MAX
    return value[:end]


#: More of a value than its message indexes could take says nothing more of why they are none.
_INDEX_BYTES_MAX: Final = 400
