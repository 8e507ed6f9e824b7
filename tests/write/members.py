"""What is in the objects of a family: every format read back to plain values."""

from __future__ import annotations

import gzip
import io
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import fastavro
import pyarrow.parquet as pq

from kafka_s3.adapters.memory import MemoryStore
from kafka_s3.ports import Registries
from kafka_s3.ranges import TopicPartition
from kafka_s3.records import ColumnBatch, Record, RecordBatch
from kafka_s3.settings import from_mapping
from kafka_s3.settings.model import Settings
from kafka_s3.write.object_group import Member, WrittenObject
from kafka_s3.write.rejections import Rejected
from kafka_s3.write.uploads import ObjectGroupUpload
from kafka_s3.write.writer import RangeWriter, Written
from tests.support import MINIMAL

ENVELOPE = {"value.converter": "JsonConverter", "value.converter.schemas.enable": "true"}
PLAIN = {"value.converter": "JsonConverter", "value.converter.schemas.enable": "false"}
BYTES = {"value.converter": "ByteArrayConverter", "format.class": "ByteArrayFormat"}
KEYS = {"store.kafka.keys": "true"}
HEADERS = {"store.kafka.headers": "true"}
WRITE = {**KEYS, "behavior.on.null.values": "write"}
TP = TopicPartition("orders", 3)
TOLERANT = {"errors.tolerance": "all", "errors.log.include.messages": "true"}


def settings_with(*more: Mapping[str, str]) -> Settings:
    """Settings of the smallest configuration with some properties more, later ones first."""
    properties = dict(MINIMAL)
    for each in more:
        properties.update(each)
    return from_mapping(properties, offline=True).settings


def enveloped(payload: Any, *fields: tuple[str, Any], version: int | None = None, name: str = "Order") -> bytes:
    """A value as JsonConverter writes a struct; a type is a name, or a whole schema."""
    listed = [{"field": field, **({"type": type} if isinstance(type, str) else type)} for field, type in fields]
    schema: dict[str, Any] = {"type": "struct", "name": name, "fields": listed}
    if version is not None:
        schema["version"] = version
    return json.dumps({"schema": schema, "payload": payload}).encode()


def rows_of(key: str, body: bytes) -> list[Any]:
    """The values of an object, by the end of its key."""
    if key.endswith(".parquet"):
        return list(pq.read_table(io.BytesIO(body)).to_pylist())
    if key.endswith(".avro"):
        return list(fastavro.reader(io.BytesIO(body)))
    plain = gzip.decompress(body) if key.endswith(".gz") else body
    lines = plain.removesuffix(b"\n").split(b"\n")
    return [json.loads(line) for line in lines] if ".json" in key else lines


def suffixed(key: str) -> tuple[str, str]:
    """A key up to its extension, and that."""
    folder, _, name = key.rpartition("/")
    stem, dot, extension = name.partition(".")
    return f"{folder}/{stem}", dot + extension


def record(offset: int, value: bytes | None, **more: Any) -> Record:
    """A record whose key and header say its offset."""
    given = {"key": f"k{offset}".encode(), "timestamp_ms": offset, "headers": (("at", b"%d" % offset),), **more}
    return Record(offset, value, **given)


@dataclass
class Made:
    """What came of some records: the objects that are listed, and the store."""

    written: Written
    store: MemoryStore
    refused: dict[int, Rejected] = field(default_factory=dict)

    @property
    def why(self) -> dict[int, str]:
        """The reasons by offset, that of the record at which the range stopped among them."""
        stopped = self.written.stopped_at
        found = {offset: each.reason for offset, each in self.refused.items()}
        return found if stopped is None else {**found, stopped.offset: stopped.reason}

    @property
    def keys(self) -> list[str]:
        """The keys of every object and its companions, below the topic."""
        found = [key for each in self.written.objects for key in (other.key for other in each.upload.objects)]
        return [key.removeprefix("topics/orders/") for key in found]

    def rows(self, key: str) -> list[Any]:
        return rows_of(key, self.store.contents()[key])

    def members(self, made: WrittenObject) -> dict[Member, list[Any]]:
        """The rows of every member but the index, by what it holds; the first is the one that has no name there."""
        beside = {member: each.key for member, each in made.beside}
        first = Member.VALUES if Member.VALUES not in beside and ".keys" not in made.key else Member.KEYS
        return {
            member: self.rows(key) for member, key in {first: made.key, **beside}.items() if member is not Member.INDEX
        }


def write(
    settings: Settings,
    records: Sequence[Record],
    cuts: Sequence[int] = (),
    store: MemoryStore | None = None,
    registries: Registries = Registries(),
    tp: TopicPartition = TP,
) -> Made:
    """Records of one range through the writer, in batches that end at `cuts`."""
    made = Made(Written(), MemoryStore(part_bytes_min=1) if store is None else store)

    def refuse(rejected: Rejected, batch: RecordBatch, index: int) -> None:
        assert batch.offset_at(index) == rejected.offset
        made.refused[rejected.offset] = rejected

    open_upload = partial(ObjectGroupUpload, made.store, settings.layout)
    writer = RangeWriter(settings, 0, 0, open_upload, registries=registries, refuse=refuse)
    edges = sorted({0, len(records), *(cut for cut in cuts if cut < len(records))})
    for start, end in itertools.pairwise(edges):
        if not writer.write(ColumnBatch(tp, records[start:end])):
            break
    made.written = writer.finish()
    return made
