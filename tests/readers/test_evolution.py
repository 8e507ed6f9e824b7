"""Versions of a schema in one topic, and what a reader finds of them in each mode of `schema.compatibility`."""

from __future__ import annotations

import io
import itertools
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import fastavro
import polars
import pyarrow.parquet as pq
import pytest

from kafka_s3.adapters.memory import MemoryRegistry
from kafka_s3.avro.datums import codec
from kafka_s3.avro.model import Schema, schema_of
from kafka_s3.naming import DataName, KeyLayout, format_data_key
from kafka_s3.ports import RegisteredSchema, Registries
from kafka_s3.ranges import TopicPartition
from kafka_s3.records import ColumnBatch, Record
from kafka_s3.settings import from_mapping
from kafka_s3.settings.model import Settings
from kafka_s3.write.object_group import Body, FinishedUpload, OffsetSpan
from kafka_s3.write.writer import RangeWriter, Written
from tests.readers.place import AVRO, JSON, PARQUET, Place
from tests.support import MINIMAL

ID = {"name": "id", "type": "int"}
LONG_ID = {"name": "id", "type": "long"}
NAME = {"name": "name", "type": "string", "doc": "In full."}
NOTE = {"name": "note", "type": "string", "default": "none"}


def version(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": "Order", "namespace": "shop", "fields": list(fields)}


#: A field is added with a default; then a number is promoted and a field removed.
VERSIONS = [version(ID, NAME), version(ID, NAME, NOTE), version(LONG_ID, NOTE)]
#: What a record of each version holds, by the schema that it was written with.
SENT = [
    {"id": 0, "name": "n0"},
    {"id": 1, "name": "n1", "note": "a"},
    {"id": 2**40, "note": "b"},
]
#: The same under the other versions.
FIRST_UNDER_THIRD = {"id": 0, "note": "none"}
SECOND_UNDER_THIRD = {"id": 1, "note": "a"}
SECOND_UNDER_FIRST = {"id": 1, "name": "n1"}
TURNS = 4

Found = list[tuple[int, int, list[dict[str, Any]]]]  # start offset, version, rows


def newest_wins() -> Found:
    rest = [[FIRST_UNDER_THIRD, SECOND_UNDER_THIRD, SENT[2]]] * (TURNS - 1)
    return [(0, 0, [SENT[0]]), (1, 1, [SENT[1]]), (2, 2, [SENT[2], *itertools.chain(*rest)])]


EXPECTED: dict[str, Found] = {
    "NONE": [(number, number, [SENT[number]] * TURNS) for number in range(3)],
    "BACKWARD": newest_wins(),
    "FORWARD": [(0, 0, [SENT[0], SECOND_UNDER_FIRST] * TURNS), (2, 2, [SENT[2]] * TURNS)],
    "FULL": newest_wins(),
}


@pytest.fixture(scope="module")
def interleaved(make_place: Any) -> Place:
    """Records of the three versions in turns, registered and encoded by Confluent's own serializer."""
    place: Place = make_place()
    texts = [json.dumps(each) for each in VERSIONS]
    place.send_each(list(zip(texts, SENT, strict=True)) * TURNS)
    return place


def _in_avro(body: bytes) -> tuple[Any, list[Any]]:
    reader = fastavro.reader(io.BytesIO(body))
    return json.loads(reader.metadata["avro.schema"]), list(reader)


def _in_parquet(body: bytes) -> tuple[Any, list[Any]]:
    table = pq.read_table(io.BytesIO(body))
    schema = json.loads(pq.read_metadata(io.BytesIO(body)).metadata[b"parquet.avro.schema"])
    assert table.column_names == [each["name"] for each in schema["fields"]]
    assert str(table.schema.field("id").type) == {"int": "int32", "long": "int64"}[schema["fields"][0]["type"]]
    assert polars.read_parquet(io.BytesIO(body)).to_dicts() == table.to_pylist()
    return schema, table.to_pylist()


@pytest.mark.parametrize("mode", EXPECTED)
@pytest.mark.parametrize(("format", "read"), [(AVRO, _in_avro), (PARQUET, _in_parquet)], ids=["avro", "parquet"])
def test_what_a_reader_finds(interleaved: Place, mode: str, format: str, read: Any) -> None:
    """Three versions in turns, v1 v2 v3 v1 …, in one range:

    | mode | objects | a reader of them finds |
    |---|---|---|
    | NONE | one per version | each record as it was written |
    | BACKWARD, FULL | v1 with the first record, v2 with the second, v3 with all others | v3: ids are long, older |
    | | | records have the default note and no name |
    | FORWARD | one of v1, with all of v1 and v2; one of v3 | v1: no notes; v3 does not fit into it (its ids are long) |
    """
    connector = interleaved.connector(f"{read.__name__.strip('_')}-{mode.lower()}", format, schema_compatibility=mode)
    objects = connector.exported().objects()
    found = []
    for key, body in objects.items():
        schema, rows = read(body)
        found.append((int(key.rsplit("+", 1)[1].partition(".")[0]), VERSIONS.index(schema), rows))
    assert found == EXPECTED[mode]
    assert connector.verified().findings == ()


def test_json_follows_the_versions_too(interleaved: Place) -> None:
    """JSON lines of projected records, in the objects that Avro would have."""
    connector = interleaved.connector("json", JSON, schema_compatibility="BACKWARD").exported()
    found = [[json.loads(line) for line in body.splitlines()] for body in connector.objects().values()]
    assert found == [rows for _, _, rows in EXPECTED["BACKWARD"]]


@pytest.mark.parametrize("subject_names", ["TopicNameStrategy", "RecordNameStrategy", "TopicRecordNameStrategy"])
def test_versions_are_those_of_the_configured_subject(place: Place, subject_names: str) -> None:
    """A subject of another name has no versions: only NONE does without, and the refusal says so."""
    schema = json.dumps(VERSIONS[0])
    place.send_bytes([place.encoded(schema, SENT[0], subject="record")])
    connector = place.connector(
        "subjects",
        AVRO,
        schema_compatibility="BACKWARD",
        value_converter_value_subject_name_strategy=f"io.confluent.kafka.serializers.subject.{subject_names}",
    )
    report = connector.run()
    if subject_names == "RecordNameStrategy":
        assert report.exit_status == 0
        return
    assert report.exit_status == 65
    assert "Schema version required for BACKWARD compatibility: shop.Order has none" in report.problems()[0]


# Many records, in memory.

TP = TopicPartition("orders", 0)
BATCH = 2_000
FLUSH = 10_000


@dataclass
class _Nowhere:
    """An upload that is forgotten."""

    names: Sequence[DataName]

    def part(self, member: int, body: bytes) -> None:
        pass

    def finish(self, bodies: Sequence[Body], holds: OffsetSpan) -> FinishedUpload:
        return FinishedUpload.of([format_data_key(KeyLayout(), name) for name in self.names], bodies)

    def abort(self) -> None:
        pass


def _settings(mode: str, format: str) -> Settings:
    properties = {
        **MINIMAL,
        "format.class": format,
        "flush.size": str(FLUSH),
        "schema.compatibility": mode,
        "value.converter": "io.confluent.connect.avro.AvroConverter",
        "value.converter.schema.registry.url": "http://registry.invalid",
    }
    return from_mapping(properties, worker={"bootstrap.servers": "kafka.invalid:9092"}).settings


def _versions_of(ids: Sequence[int]) -> Iterator[list[bytes]]:
    """Batches of values, each of the version that its id says: 1 or 2."""
    schemas = [schema_of(each) for each in VERSIONS[:2]]
    one, two = (b"\0" + id.to_bytes(4, "big") + _datum(schemas[id - 1], SENT[id - 1]) for id in (1, 2))
    for start in range(0, len(ids), BATCH):
        yield [one if id == 1 else two for id in ids[start : start + BATCH]]


def _datum(schema: Schema, value: Any) -> bytes:
    (datum,) = codec(schema).encode([value])
    return datum


def _written(settings: Settings, ids: Sequence[int]) -> Written:
    schemas = {id: RegisteredSchema(id, json.dumps(each)) for id, each in enumerate(VERSIONS[:2], 1)}
    registries = Registries(values=MemoryRegistry(schemas, every_subject={1: 1, 2: 2}))
    writer = RangeWriter(settings, 0, 0, _Nowhere, registries=registries)
    offset = 0
    for values in _versions_of(ids):
        assert writer.write(ColumnBatch(TP, [Record(at, value) for at, value in enumerate(values, offset)]))
        offset += len(values)
    written = writer.finish()
    assert written.records == len(ids)
    return written


def _orders(count: int) -> dict[str, list[int]]:
    """Half of each version: one after the other, by chance, and in long runs."""
    chance = [1, 2] * (count // 2)
    random.Random(7).shuffle(chance)
    return {
        "in turns": [1, 2] * (count // 2),
        "by chance": chance,
        "in runs": [1 + number // 777 % 2 for number in range(count)],
    }


@pytest.mark.parametrize("order", ["in turns", "by chance", "in runs"])
@pytest.mark.parametrize("mode", EXPECTED)
def test_two_versions_at_once_cost_no_flood_of_objects(mode: str, order: str) -> None:
    """30,000 records of two versions, half of each: at most twice the objects that one version makes.

    With every version in an object of its own, or all in one group, none is closed because the schema changed.
    """
    count = 30_000
    one_version = len(_written(_settings(mode, AVRO), [2] * count).objects)
    assert one_version == count // FLUSH
    objects = _written(_settings(mode, AVRO), _orders(count)[order]).objects
    assert len(objects) <= 2 * one_version
    assert sum(made.holds.records for made in objects) == count
    assert {made.closed_by.value for made in objects} <= {"flush.size", "end_of_range"}


@pytest.mark.trial
@pytest.mark.parametrize("format", [AVRO, PARQUET], ids=["avro", "parquet"])
@pytest.mark.parametrize("mode", EXPECTED)
def test_a_million_records_of_two_versions(mode: str, format: str) -> None:
    """The same with a million records, in both formats."""
    count = 1_000_000
    for ids in _orders(count).values():
        assert len(_written(_settings(mode, format), ids).objects) <= 2 * count // FLUSH
