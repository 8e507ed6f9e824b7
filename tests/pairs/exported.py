"""Records through the writer into memory: settings as a connector file gives them, objects as bytes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from kafka_s3.adapters.memory.registry import MemoryRegistry
from kafka_s3.avro.model import Schema
from kafka_s3.errors import ConfigurationError
from kafka_s3.naming import DataName, format_data_key
from kafka_s3.ports import RegisteredSchema, Registries, SchemaId
from kafka_s3.ranges import TopicPartition
from kafka_s3.records import ColumnBatch, Record, RecordBatch
from kafka_s3.settings import from_mapping
from kafka_s3.settings.model import Settings
from kafka_s3.write.object_group import Body, FinishedUpload, Member, OffsetSpan
from kafka_s3.write.rejections import Rejected
from kafka_s3.write.writer import RangeWriter, Written
from tests.support import MINIMAL

TP = TopicPartition("orders", 3)
AT_MS = 1_767_225_600_000  # 2026-01-01T00:00:00Z


def settings_of(properties: Mapping[str, str]) -> Settings:
    return from_mapping({**MINIMAL, **properties}, offline=True).settings


def is_allowed(properties: Mapping[str, str]) -> bool:
    try:
        settings_of(properties)
    except ConfigurationError:
        return False
    return True


def registries_of(*schemas: Schema | RegisteredSchema) -> Registries:
    """Ids 1, 2, …, for values and for keys; they are Glue's versions of such ids too."""
    known: dict[SchemaId, RegisteredSchema] = {}
    for id, schema in enumerate(schemas, 1):
        known[id] = schema if isinstance(schema, RegisteredSchema) else RegisteredSchema(id, schema.text)
        known[str(UUID(int=id))] = replace(known[id], id=str(UUID(int=id)), version=id)
    registry = MemoryRegistry(known)
    return Registries(registry, registry)


@dataclass
class Bucket:
    """Every object by its key, the parts of an upload put together."""

    settings: Settings
    objects: dict[str, bytes] = field(default_factory=dict)

    def open(self, names: Sequence[DataName]) -> _Upload:
        return _Upload(self, [format_data_key(self.settings.layout, name) for name in names])


@dataclass
class _Upload:
    bucket: Bucket
    keys: Sequence[str]
    parts: dict[int, bytes] = field(default_factory=dict)

    def part(self, member: int, body: bytes) -> None:
        self.parts[member] = self.parts.get(member, b"") + body

    def finish(self, bodies: Sequence[Body], holds: OffsetSpan) -> FinishedUpload:
        for number, (key, body) in enumerate(zip(self.keys, bodies, strict=True)):
            assert key not in self.bucket.objects
            self.bucket.objects[key] = self.parts.get(number, b"") + body.last
        return FinishedUpload.of(self.keys, bodies)

    def abort(self) -> None: ...


@dataclass
class Exported:
    """What a range became. `refused`: the records left out, by offset."""

    written: Written
    objects: Mapping[str, bytes]
    refused: Mapping[int, Rejected]

    def bodies(self, member: Member) -> list[bytes]:
        """The objects that hold the values, or the keys, in the order of the records."""
        if member is Member.VALUES:
            return [self.objects[made.key] for made in self.written.objects]
        beside = [each for made in self.written.objects for each in made.beside]
        return [self.objects[each.key] for beside_as, each in beside if beside_as is member]


def export(
    settings: Settings,
    records: Sequence[Record],
    *,
    registries: Registries = Registries(),
    cuts: Iterable[int] = (),
    careful: bool = False,
) -> Exported:
    """One range, its records given in batches that end at the cuts. `careful`: as it is read for the second time."""
    bucket, refused = Bucket(settings), dict[int, Rejected]()

    def refuse(rejected: Rejected, batch: RecordBatch, index: int) -> None:
        assert batch.offset_at(index) == rejected.offset
        assert rejected.offset not in refused
        refused[rejected.offset] = rejected

    writer = RangeWriter(settings, 0, AT_MS, bucket.open, registries=registries, refuse=refuse, careful=careful)
    edges = sorted({0, *(min(cut, len(records)) for cut in cuts), len(records)})
    for start, stop in itertools.pairwise(edges):
        if not writer.write(ColumnBatch(TP, records[start:stop])):
            break
    return Exported(writer.finish(), bucket.objects, refused)
