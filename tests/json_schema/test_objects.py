"""JSON of a registry into objects: every format, schemas that share one, paths by fields, keys, and what a schema may
add to a value."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import fastavro
import pyarrow.parquet as pq
import pytest

from kafka_s3.adapters.memory import MemoryRegistry
from kafka_s3.ports import Registries
from kafka_s3.records import Record
from tests.json_schema.topic import JsonTopic, framed, of
from tests.pairs.exported import Exported, export, is_allowed, settings_of

CONVERTER = "io.confluent.connect.json.JsonSchemaConverter"
JSON = {"value.converter": CONVERTER, "value.converter.schema.registry.url": "http://registry:8081"}
FORMATS = ["JsonFormat", "AvroFormat", "ParquetFormat"]
FIRST = {**of(n={"type": "integer"}), "title": "M"}
SECOND = {**of(n={"type": "integer"}, s={"type": ["string", "null"]}), "title": "M"}


def exported(schemas: Sequence[Any], values: Sequence[tuple[int, Any]], more: Mapping[str, str]) -> Exported:
    """A range of values, each of one of some schemas, the versions of one subject."""
    registry = MemoryRegistry()
    ids = [registry.register("orders-value", json.dumps(each), type="JSON") for each in schemas]
    records = [Record(offset, framed(ids[which], value)) for offset, (which, value) in enumerate(values)]
    return export(
        settings_of({**JSON, "flush.size": "1000", **more}), records, registries=Registries(registry, registry)
    )


def rows(body: bytes, format: str) -> list[Any]:
    match format:
        case "JsonFormat":
            return list(map(json.loads, body.splitlines()))
        case "AvroFormat":
            return list(fastavro.reader(io.BytesIO(body)))
        case _:
            return list(pq.read_table(io.BytesIO(body)).to_pylist())


def test_formats_of_values_with_schemas() -> None:
    """Values have schemas: formats of bytes and lines refuse the converter when the configuration is read."""
    for format in FORMATS:
        assert is_allowed({**JSON, "format.class": format})
    for format in ("ByteArrayFormat", "kafka_s3.formats.BlockGzipFormat"):
        assert not is_allowed({**JSON, "format.class": format})


@pytest.mark.parametrize("format", FORMATS[1:])
@pytest.mark.parametrize("count", [3, 50])
def test_two_versions_in_one_object(format: str, count: int) -> None:
    """schema.compatibility=BACKWARD: once the newer version came, older values get what they lack, in one object."""
    old, new = (0, {"n": 5}), (1, {"n": 6, "s": "x"})
    found = exported([FIRST, SECOND], [new, old] * count, {"format.class": format, "schema.compatibility": "BACKWARD"})
    assert not found.refused
    (body,) = found.objects.values()
    assert rows(body, format) == [{"n": 6, "s": "x"}, {"n": 5, "s": None}] * count
    apart = exported([FIRST, SECOND], [new, old] * 2, {"format.class": format})
    assert len(apart.objects) == 2  # one for each schema


@pytest.mark.parametrize("format", FORMATS)
def test_paths_by_fields(format: str) -> None:
    """Fields of values are paths, fields inside and those of a union as well."""
    union = {"oneOf": [{"type": "string"}, {"type": "integer"}]}
    schema = of(e={"enum": ["Q"]}, i=of(n={"type": "integer"}), k=union)
    by = {"partitioner.class": "FieldPartitioner", "partition.field.name": "e,i.n"}
    found = exported([schema], [(0, {"e": "Q", "i": {"n": 7}, "k": 5})] * 3, {"format.class": format, **by})
    assert not found.refused
    (key,) = found.objects
    assert "/e=Q/i.n=7/" in key or "/e=Q/n=7/" in key


def test_a_path_by_a_timestamp() -> None:
    """A Timestamp of Connect is the time of a path."""
    title = "org.apache.kafka.connect.data.Timestamp"
    schema = of(at={"type": "integer", "connect.type": "int64", "title": title, "connect.version": 1})
    by = {"partitioner.class": "DailyPartitioner", "locale": "en", "timezone": "UTC"}
    by |= {"timestamp.extractor": "RecordField", "timestamp.field": "at", "format.class": "ParquetFormat"}
    (key,) = exported([schema], [(0, {"at": 1_751_328_000_000})] * 3, by).objects
    assert "year=2025/month=07/day=01" in key


@pytest.mark.parametrize("format", FORMATS)
def test_structs_inside_themselves(format: str) -> None:
    """JSON and Avro hold a struct inside itself; Parquet cannot, and says which field it is."""
    schema = {**of(n={"type": "integer"}, next={"oneOf": [{"type": "null"}, {"$ref": "#"}]}), "title": "M"}
    value = {"n": 1, "next": {"n": 2, "next": None}}
    found = exported([schema], [(0, value)], {"format.class": format, "errors.tolerance": "all"})
    if format == "ParquetFormat":
        assert "the field next is M inside M: columns cannot nest without end" in found.refused[0].reason
        return
    (body,) = found.objects.values()
    assert rows(body, format) == [value]


def test_what_json_looks_like() -> None:
    """Names as the schema has them, unions with a field for each schema, maps of other keys as pairs."""
    entry = {"type": "object", "properties": {"key": {"type": "integer"}, "value": {"type": "string"}}}
    schema = {
        "type": "object",
        "properties": {
            "order-id": {"type": "integer", "connect.index": 0},
            "u": {"oneOf": [{"type": "string"}, {"type": "boolean"}], "connect.index": 1},
            "m": {"type": "array", "connect.type": "map", "items": entry, "connect.index": 2},
        },
    }
    value = {"order-id": 1, "u": True, "m": [{"key": 5, "value": "x"}]}
    (body,) = exported([schema], [(0, value)], {"format.class": "JsonFormat"}).objects.values()
    one_of = "io.confluent.connect.json.OneOf.field"
    assert body == f'{{"order-id":1,"u":{{"{one_of}.0":null,"{one_of}.1":true}},"m":[[5,"x"]]}}\n'.encode()


def test_keys_and_values() -> None:
    """JsonSchemaConverter reads keys too, under the subject of keys; a bad key makes its record bad."""
    topic = JsonTopic({"type": "integer"})
    more = {"key.converter": CONVERTER, "key.converter.schema.registry.url": "http://registry:8081"}
    more |= {"store.kafka.keys": "true", "keys.format.class": "AvroFormat", "format.class": "JsonFormat"}
    registry = topic.registry
    value = registry.register("orders-value", json.dumps(FIRST), type="JSON")
    records = [
        Record(0, framed(value, {"n": 1}), framed(topic.id, 7)),
        Record(1, framed(value, {"n": 2}), framed(topic.id, "x")),
    ]
    settings = settings_of({**JSON, **more, "errors.tolerance": "all"})
    found = export(settings, records, registries=Registries(registry, registry))
    keys = [body for name, body in found.objects.items() if ".keys." in name]
    assert rows(keys[0], "AvroFormat") == [7]
    assert "its key: not a value of the schema" in found.refused[1].reason


@pytest.mark.parametrize("format", FORMATS)
def test_few_bytes_of_wide_objects(format: str) -> None:
    """Empty objects of many fields would become gigabytes: such a record is bad, before anything of it is made."""
    names = [f"a_field_whose_name_is_long_{n}" for n in range(1000)]
    wide = {"type": "object", "properties": {name: {"type": ["string", "null"]} for name in names}}
    schema = of(w={"type": "array", "items": wide})
    good, bomb = (0, {"w": [{}]}), (0, {"w": [{}] * 50_000})
    found = exported([schema], [good, bomb, good], {"format.class": format, "errors.tolerance": "all"})
    assert list(found.refused) == [1]
    assert "bytes of fields and defaults" in found.refused[1].reason
    assert found.written.records == 2


def test_few_bytes_of_wide_unions() -> None:
    """Each value of a union is a struct of all its schemas: numbers in an array are weighed, too."""
    kinds = [{"type": "object", "title": f"T{n}", "properties": {"x": {"type": "string"}}} for n in range(500)]
    schema = of(w={"type": "array", "items": {"oneOf": [*kinds, {"type": "integer"}]}})
    found = exported([schema], [(0, {"w": [1] * 50_000})], {"format.class": "JsonFormat", "errors.tolerance": "all"})
    assert "bytes of fields and defaults" in found.refused[0].reason


@pytest.mark.parametrize("format", FORMATS)
def test_transforms_and_metadata(format: str) -> None:
    """Transforms and export.envelope take values as they take every record with a schema."""
    more = {
        "format.class": format,
        "transforms": "add,drop",
        "transforms.add.type": "org.apache.kafka.connect.transforms.InsertField$Value",
        "transforms.add.offset.field": "at",
        "transforms.drop.type": "org.apache.kafka.connect.transforms.ReplaceField$Value",
        "transforms.drop.exclude": "s",
        "export.envelope": "partition",
    }
    found = exported([SECOND], [(0, {"n": 5, "s": "x"})] * 40, more)
    assert not found.refused
    (body,) = found.objects.values()
    assert rows(body, format) == [{"n": 5, "at": offset, "_kafka_partition": 3} for offset in range(40)]


def test_tombstones() -> None:
    """No bytes at all, and a null where the schema takes one: both are records without a value."""
    registry = MemoryRegistry()
    id = registry.register("orders-value", json.dumps({"oneOf": [{"type": "null"}, FIRST]}), type="JSON")
    records = [Record(0, None), Record(1, framed(id, b"null")), Record(2, framed(id, {"n": 1}))]
    settings = settings_of({**JSON, "format.class": "JsonFormat", "behavior.on.null.values": "ignore"})
    found = export(settings, records, registries=Registries(registry, registry))
    assert list(found.objects.values()) == [b'{"n":1}\n']


def test_columns_that_cannot_be() -> None:
    """A struct without a field has no columns: into Parquet its records are refused, JSON writes them."""
    found = exported([of()], [(0, {"x": 1})], {"format.class": "ParquetFormat", "errors.tolerance": "all"})
    assert len(found.refused) == 1
    assert list(exported([of()], [(0, {})], {"format.class": "JsonFormat"}).objects.values()) == [b"{}\n"]
