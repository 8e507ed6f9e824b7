"""What a schema registry's serializers put in front of a value of any format: a zero byte, a schema's id in four bytes.

What values begin with is looked up once, and kept (`KnownHeads`); AWS Glue's header is in `glue`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeVar

from kafka_s3.ports import RegisteredSchema, SchemaRegistry
from kafka_s3.settings.registry import SubjectNames
from kafka_s3.shown import named, quoted

T = TypeVar("T")

HEAD: Final = 5
_ID_MAX: Final = 2**31 - 1  # a registry's ids are Java's int
_HEADS_MAX: Final = 10_000
_CHARS_MAX: Final = 32 * 1024 * 1024
#: The registry's words for types of schemas, and what their values are called.
_FORMATS: Final = {"AVRO": "Avro", "PROTOBUF": "Protobuf", "JSON": "JSON"}


@dataclass(frozen=True, slots=True)
class RegistryHead:
    """Reads the head of the values, or keys, of one topic."""

    registry: SchemaRegistry
    subject_names: SubjectNames
    topic: str
    type: Literal["AVRO", "PROTOBUF", "JSON"]
    key: bool

    def look_up(self, head: bytes) -> tuple[int, RegisteredSchema] | str:
        """The id and the schema that a value names, or why there is none. Registry errors.

        `head`: how a value begins: `HEAD` bytes, more of them, or all that a shorter value has.
        """
        if len(head) < HEAD:
            return self.refused(f"{len(head)} bytes, where a zero byte and a schema's id take {HEAD}")
        if head[0] != 0:
            return self.refused(f"the first byte is {quoted(head[:1], f'{head[0]:02x}', kind='another')}, not 00")
        id = int.from_bytes(head[1:HEAD], "big")
        registered = self.registry.schema(id) if id <= _ID_MAX else None
        if registered is None:
            return f"the schema registry has no schema of the id {id}"
        if registered.type != self.type:
            return f"the schema of the id {id} is of the type {named(registered.type)}, not {self.type}"
        return id, registered

    def refused(self, why: str) -> str:
        """The reason where the bytes themselves are wrong."""
        return f"not {_FORMATS[self.type]} of a schema registry: {why}"

    def version(self, id: int, record_name: Callable[[], str]) -> int | None:
        """A schema's version in its subject; `record_name` is asked where that is called by the record's name."""
        return self.registry.versions(self._subject(record_name)).get(id)

    def _subject(self, record_name: Callable[[], str]) -> str:
        match self.subject_names:
            case SubjectNames.TOPIC:
                return f"{self.topic}-{'key' if self.key else 'value'}"
            case SubjectNames.RECORD:
                return record_name()
            case SubjectNames.TOPIC_RECORD:
                return f"{self.topic}-{record_name()}"


class KnownHeads(dict[bytes, T | str]):
    """What values' heads stand for, or why for nothing: looked up once, and then found as fast as a dictionary can.

    Memory: 10,000 of them, of at most 32 Mi characters together (`chars_of` is asked for those, and counts what is kept
    beside a text as characters); beyond either all are looked up anew.
    """

    def __init__(self, look_up: Callable[[bytes], T | str], chars_of: Callable[[T], int]) -> None:
        super().__init__()
        self._look_up = look_up
        self._chars_of = chars_of
        self._chars = 0

    def __missing__(self, head: bytes) -> T | str:
        found = self._look_up(head)
        chars = len(found) if isinstance(found, str) else self._chars_of(found)
        if len(self) >= _HEADS_MAX or self._chars + chars > _CHARS_MAX:
            self.clear()
            self._chars = 0
        self[head] = found
        self._chars += chars
        return found
