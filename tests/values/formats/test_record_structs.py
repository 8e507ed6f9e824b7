"""`export.record.fields` in Avro and Parquet: records of the fields, the value nested with its own schema."""

from __future__ import annotations

import io
import json
from typing import Any

import fastavro
import pyarrow.parquet as pq
import pytest

from kafka_s3.adapters.memory import MemoryRegistry
from kafka_s3.errors import ConfigurationError
from kafka_s3.ports import Registries
from kafka_s3.records import Record
from tests.write.members import ENVELOPE, PLAIN, TOLERANT, Made, enveloped, record, settings_with, write
from tests.write.test_companions import REGISTRY, avro

ALL = {"export.record.fields": "key,value,offset,timestamp,headers,topic,partition", "flush.size": "100"}
FORMATS = ("AvroFormat", "ParquetFormat")
ROW = [("a", "int32"), ("b", "string")]


def made_of(format: str, *records: Record, **more: str) -> Made:
    return write(settings_with(ENVELOPE, ALL, TOLERANT, {"format.class": format, **more}), records)


def body(made: Made) -> bytes:
    [written] = made.written.objects
    return made.store.contents()[written.key]


def rows(made: Made) -> list[Any]:
    [written] = made.written.objects
    return [dict(row, headers=dict(row["headers"])) for row in made.rows(written.key)]


@pytest.mark.parametrize("format", FORMATS)
def test_each_record_is_one_of_its_fields(format: str) -> None:
    """In the order of the configuration; a key may be null, and so may a timestamp."""
    values = [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
    headers = (("h", b"1.5"), ("h", b"last"), ("n", None))
    records = [
        record(7, enveloped(values[0], *ROW), headers=headers),
        Record(9, enveloped(values[1], *ROW)),
    ]
    made = made_of(format, *records)
    assert made.why == {}
    assert rows(made) == [
        {"key": "k7", "value": values[0], "offset": 7, "timestamp": 7, "headers": {"h": "last", "n": None},
         "topic": "orders", "partition": 3},
        {"key": None, "value": values[1], "offset": 9, "timestamp": None, "headers": {}, "topic": "orders",
         "partition": 3},
    ]  # fmt: skip
    assert list(rows(made)[0]) == ALL["export.record.fields"].split(",")


def test_keys_may_be_bytes() -> None:
    """As ByteArrayConverter has them."""
    made = made_of(
        "AvroFormat", record(0, enveloped({"a": 1, "b": "x"}, *ROW)), **{"key.converter": "ByteArrayConverter"}
    )
    assert rows(made)[0]["key"] == b"k0"


def test_the_value_keeps_its_schema() -> None:
    """Under the name that its producer gave it, in both formats."""
    record_ = record(0, enveloped({"a": 1, "b": "x"}, *ROW))
    schema = fastavro.reader(io.BytesIO(body(made_of("AvroFormat", record_)))).writer_schema
    assert schema is not None
    assert [field["name"] for field in schema["fields"]] == ALL["export.record.fields"].split(",")
    assert schema["fields"][1]["type"]["name"] == "Order"
    columns = pq.read_schema(io.BytesIO(body(made_of("ParquetFormat", record_))))
    assert str(columns.field("offset").type) == "int64"
    assert str(columns.field("value").type) == "struct<a: int32 not null, b: string not null>"


@pytest.mark.parametrize("format", FORMATS)
def test_two_schemas_make_two_objects(format: str) -> None:
    """As they do without fields; values of one schema share an object."""
    registry = MemoryRegistry()
    first = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}
    second = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "string"}]}
    ids = [registry.register("orders-value", json.dumps(schema)) for schema in (first, second)]
    values = [avro(ids[0], b"\x02"), avro(ids[0], b"\x04"), avro(ids[1], b"\x02x")]
    converters = {"value.converter": "AvroConverter", "value.converter.schema.registry.url": "http://registry:8081"}
    settings = settings_with(ALL, converters, {"format.class": format})
    records = [record(offset, value) for offset, value in enumerate(values)]
    made = write(settings, records, registries=Registries(registry.again(), REGISTRY.again()))
    found = [[row["value"]["a"] for row in made.rows(each.key)] for each in made.written.objects]
    assert found == [[1, 2], ["x"]]


@pytest.mark.parametrize("format", FORMATS)
def test_bytes_do_not_show_how_records_came_in_batches(format: str) -> None:
    """One by one, or all at once."""
    records = [record(n, enveloped({"a": n, "b": str(n)}, *ROW)) for n in range(40)]
    settings = settings_with(ENVELOPE, ALL, {"format.class": format})
    assert body(write(settings, records)) == body(write(settings, records, tuple(range(1, 40))))


def test_a_tombstone_has_no_schema() -> None:
    """It is left out as it is without fields."""
    made = made_of("AvroFormat", record(0, None), record(1, enveloped({"a": 1, "b": "x"}, *ROW)))
    assert list(made.refused) == [0]
    assert [row["offset"] for row in rows(made)] == [1]


@pytest.mark.parametrize(
    ("more", "name", "said"),
    [
        ({"export.record.fields": "key,offset"}, "export.record.fields", "need value among them"),
        ({"key.converter": "LongConverter"}, "key.converter", "are text or bytes"),
        ({"behavior.on.null.values": "write"}, "behavior.on.null.values", "a null has no schema"),
        ({"export.record.fields": "value", "export.record.wrapped": "false"}, "export.record.wrapped", "remove both"),
        ({"export.envelope": "offset"}, "export.record.fields", "cannot be combined with export.envelope"),
    ],
)
def test_what_has_no_place_is_refused_by_name(more: dict[str, str], name: str, said: str) -> None:
    """With what to do."""
    with pytest.raises(ConfigurationError) as raised:
        settings_with(ENVELOPE, ALL, {"format.class": "AvroFormat", **more})
    found = {problem.name: problem.message for problem in raised.value.problems}
    assert said in found[name]


def test_json_without_a_schema_becomes_connects_anything() -> None:
    """Into Avro, as it does without fields."""
    made = write(settings_with(PLAIN, ALL, {"format.class": "AvroFormat"}), [record(0, b'{"a":1}')])
    assert made.why == {}
    assert rows(made)[0]["offset"] == 0
