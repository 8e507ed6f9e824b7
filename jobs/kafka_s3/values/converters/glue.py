"""Avro as the serializers of AWS Glue's schema registry write it, and the header that all of these write.

A byte 3, a byte that says how the rest is compressed (0: not at all, 5: zlib), the id of the schema's version in 16
bytes; then the datum.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol, TypeVar
from uuid import UUID

from kafka_s3.avro.datum_reader import VALUES_MAX, VALUES_PER_BYTE_MAX
from kafka_s3.avro.model import Schema
from kafka_s3.avro.parse import SchemaError, parse_avro
from kafka_s3.ports import RegisteredSchema, SchemaRegistry
from kafka_s3.shown import named, quoted
from kafka_s3.values.converters.avro import AvroRows, FramedAvro
from kafka_s3.values.converters.avro_group import shown
from kafka_s3.values.rows import Excluded, Stage, Unwritable

R = TypeVar("R", bound="Converted")

HEAD: Final = 18
_VERSION: Final = 3
_PLAIN, _ZLIB = 0, 5
_ZLIB_HEAD: Final = bytes((_VERSION, _ZLIB))
_AVAILABLE: Final = "AVAILABLE"
#: What compressed data may stand for: these bytes, and so many for each of its own.
_ROOM: Final = 8 * 1024 * 1024
_TIMES_MAX: Final = 8
#: The same of text and of messages: those of a MiB take their time.
_SMALL_ROOM: Final = 1024 * 1024
#: It may hold the values of so many bytes, or of its own if these are more: zlib makes a thousand bytes of one, and
#: each may be a value that takes most of a microsecond.
_VALUES_OF: Final = 1024 * 1024


class GlueFraming:
    """What stands in front of a datum, and the schema that it names."""

    head = HEAD

    def __init__(self, registry: SchemaRegistry) -> None:
        self._registry = registry

    def look_up(self, head: bytes) -> Schema | str:
        registered = version_in(head, self._registry, "AVRO")
        if isinstance(registered, str):
            return registered
        try:
            schema = parse_avro(registered.text, registered.references)
        except SchemaError as error:
            return f"the schema version {registered.id} of AWS Glue cannot be used: {error}"
        return Schema(schema.text, None, registered.version)

    @staticmethod
    def named(head: bytes) -> str:
        return f"the version {UUID(bytes=head[2:])}"


def version_in(head: bytes, registry: SchemaRegistry, type: str) -> RegisteredSchema | str:
    """The schema of the version that a header names, or why there is none of the type."""
    if len(head) < HEAD:
        return f"not a value of AWS Glue's registry: {len(head)} bytes, where its header takes {HEAD}"
    if head[0] != _VERSION:
        first = quoted(head[:1], f"{head[0]:02x}", kind="another")
        return f"not a value of AWS Glue's registry: the first byte is {first}, not 03"
    if head[1] not in (_PLAIN, _ZLIB):
        second = quoted(head[1:2], f"{head[1]:02x}", kind="another")
        return f"not a value of AWS Glue's registry: the byte for its compression is {second}, neither 00 nor 05"
    id = str(UUID(bytes=head[2:HEAD]))
    registered = registry.schema(id)
    if registered is None:
        return f"AWS Glue has no schema version {id}"
    if registered.status != _AVAILABLE:
        return f"the schema version {id} of AWS Glue is {named(registered.status)}, not {_AVAILABLE}"
    if registered.type != type:
        return f"the schema version {id} of AWS Glue is of the type {named(registered.type)}, not {type}"
    return registered


class GlueAvro:
    """AWSKafkaAvroConverter: the values or keys of one topic."""

    def __init__(self, registry: SchemaRegistry, *, key: bool, columns: bool, binary: bool) -> None:
        self._avro = FramedAvro(GlueFraming(registry), key=key, columns=columns, binary=binary)
        self._stage = Stage.KEY_CONVERTER if key else Stage.VALUE_CONVERTER

    def __call__(self, values: Sequence[bytes | None]) -> AvroRows:
        refused: dict[int, Excluded] = {}
        values_max: dict[int, int] = {}
        if is_compressed(values):
            values_max = {
                index: VALUES_MAX + VALUES_PER_BYTE_MAX * max(_VALUES_OF, len(value))
                for index, value in enumerate(values)
                if value is not None and value.startswith(_ZLIB_HEAD)
            }
            values = inflated(values, refused, self._stage)
        return _without(refused, self._avro(values, values_max))


class Converted(Protocol):
    """What a converter makes of values."""

    excluded: Mapping[int, Excluded]


def converted(convert: Callable[[Sequence[bytes | None]], R], values: Sequence[bytes | None], stage: Stage) -> R:
    """Rows of values whose payload is text or a message: compressed, it may be 1 MiB and eight times its bytes."""
    refused: dict[int, Excluded] = {}
    if is_compressed(values):
        values = inflated(values, refused, stage, _SMALL_ROOM)
    return _without(refused, convert(values))


def _without(refused: Mapping[int, Excluded], rows: R) -> R:
    if refused:
        rows.excluded = {**rows.excluded, **refused}
    return rows


def is_compressed(values: Sequence[bytes | None]) -> bool:
    """Whether one of some values is."""
    return any(value is not None and value.startswith(_ZLIB_HEAD) for value in values)


def inflated(
    values: Sequence[bytes | None], refused: dict[int, Excluded], stage: Stage, room: int | None = None
) -> list[bytes | None]:
    """The values behind their headers as they were before compression; null for those that go into `refused`.

    `room`: the bytes that one may stand for beside eight times its own; 8 MiB unless given.
    """
    room = _ROOM if room is None else room
    return [_plain(index, value, refused, stage, room) for index, value in enumerate(values)]


def _plain(index: int, value: bytes | None, refused: dict[int, Excluded], stage: Stage, room: int) -> bytes | None:
    if value is None or not value.startswith(_ZLIB_HEAD) or len(value) < HEAD:
        return value
    try:
        return value[:HEAD] + _inflated(value[HEAD:], room)
    except _Broken as error:
        refused[index] = Unwritable(f"its zlib data cannot be used: {error} ({shown(value)})", stage)
        return None


class _Broken(ValueError):
    """Why compressed data is none."""


def _inflated(data: bytes, room: int) -> bytes:
    """Memory: twice what the data may stand for, and the data."""
    room += _TIMES_MAX * len(data)
    stream = zlib.decompressobj()
    try:
        made = stream.decompress(data, room)
    except zlib.error:
        raise _Broken("not zlib") from None
    if stream.unconsumed_tail and not stream.eof:
        raise _Broken(f"{len(data)} bytes expand to more than the {room} bytes that they may")
    if not stream.eof:
        raise _Broken("it ends too early")
    return made
