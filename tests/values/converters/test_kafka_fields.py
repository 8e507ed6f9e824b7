"""`export.envelope`: what Kafka knows of a record as fields of its value, in every format of every kind of value."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from kafka_s3.adapters.memory import MemoryRegistry
from kafka_s3.ports import Registries
from kafka_s3.records import Record
from kafka_s3.values.converters import kafka_fields
from kafka_s3.values.rows import Stage
from tests.write.members import ENVELOPE, PLAIN, TOLERANT, Made, enveloped, record, settings_with, write
from tests.write.test_companions import CONVERTERS, NO_ENVELOPE, REGISTRY, avro, of_keys

ALL = {"export.envelope": "topic,partition,offset,timestamp,key,headers", "flush.size": "100"}
OFFSET = {"export.envelope": "offset", "flush.size": "100"}
AVRO = {"format.class": "AvroFormat"}
PARQUET = {"format.class": "ParquetFormat"}
VALUE_REGISTRY = {"value.converter": "AvroConverter", "value.converter.schema.registry.url": "http://registry:8081"}


def made_of(settings: Any, *records: Record, values: MemoryRegistry | None = None) -> Made:
    return write(settings, records, registries=Registries(values, REGISTRY.again()))


def only(made: Made) -> list[Any]:
    """The rows of the one object; nothing is refused."""
    assert made.why == {}
    [written] = made.written.objects
    return made.rows(written.key)


def lines(made: Made) -> list[bytes]:
    [written] = made.written.objects
    return made.store.contents()[written.key].splitlines()


# JSON without a schema: the text stays, the fields come behind it.


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (b'{"a":1}', b'{"a":1,"_kafka_offset":7}'),
        (b'{"a": 1.50 , "a":2}', b'{"a": 1.50 , "a":2,"_kafka_offset":7}'),
        (b" \t{ } ", b'{"_kafka_offset":7}'),
        (b"{}", b'{"_kafka_offset":7}'),
        (b'{\n "a": [\n1 ]\n}\n', b'{"a":[1],"_kafka_offset":7}'),
        (b'"text"', b'{"value":"text","_kafka_offset":7}'),
        (b" 1e400 ", b'{"value":1e400,"_kafka_offset":7}'),
        (b"[1,{}]", b'{"value":[1,{}],"_kafka_offset":7}'),
        (b"true", b'{"value":true,"_kafka_offset":7}'),
        (b'{"_kafka_":1,"nested":{"_kafka_offset":1}}', None),
        (b'{"\\ud800":1}', b'{"\\ud800":1,"_kafka_offset":7}'),
    ],
)
def test_a_json_value_keeps_its_text(value: bytes, line: bytes | None) -> None:
    """Objects get the fields behind their own, everything else becomes `value`; no digit and no duplicate is lost."""
    found = lines(made_of(settings_with(PLAIN, OFFSET), record(7, value)))
    assert found == [line or value[:-1] + b',"_kafka_offset":7}']


@pytest.mark.parametrize(
    "value", [b'{"_kafka_offset":0}', b'{"a":"\\ud800","_kafka_offset":0}', b'{"\\u005fkafka_off\\u0073et":0}']
)
def test_a_field_of_the_same_name(value: bytes) -> None:
    """It is never covered and never written twice, however it is spelt: a bad record, with the way out."""
    made = made_of(settings_with(PLAIN, OFFSET, TOLERANT), record(0, value), record(1, b"{}"))
    assert made.why == {
        0: "it has a field itself that export.envelope adds (_kafka_offset): set another export.envelope.prefix"
    }
    assert made.refused[0].stage is Stage.TASK_PUT
    other = made_of(settings_with(PLAIN, OFFSET, {"export.envelope.prefix": "k_"}), record(0, value))
    assert lines(other) == [value[:-1] + b',"k_offset":0}']


# What the fields hold.

PLAIN_VALUES: dict[str, tuple[Mapping[str, str], bytes]] = {
    "json": (PLAIN, b'{"n":1}'),
    "json to avro": ({**PLAIN, **AVRO}, b'{"n":1}'),
    "envelope": (ENVELOPE, enveloped({"n": 1}, ("n", "int32"))),
    "avro": ({**ENVELOPE, **AVRO}, enveloped({"n": 1}, ("n", "int32"))),
    "parquet": ({**ENVELOPE, **PARQUET}, enveloped({"n": 1}, ("n", "int32"))),
}


@pytest.mark.parametrize("values", PLAIN_VALUES)
@pytest.mark.parametrize("converter", CONVERTERS)
def test_every_field(converter: str, values: str) -> None:
    """In each format, with each kind of key: text as it is, any other as JSON; nulls where Kafka has nothing."""
    key_more, key, in_json, _, why_bad = CONVERTERS[converter]
    more, value = PLAIN_VALUES[values]
    records = [
        Record(10, value, key, 1_700_000_000_123, (("h", b"1"), ("h", None))),
        Record(12, value),
        Record(13, value, b"bad", 5),
    ]
    made = made_of(settings_with(more, ALL, TOLERANT, key_more), *records)
    assert made.why == ({13: why_bad} if why_bad else {})
    rows = made.rows(made.written.objects[0].key)
    fields = [{name.removeprefix("_kafka_"): row[name] for name in row if name.startswith("_kafka_")} for row in rows]
    for row in fields:
        if isinstance(row["timestamp"], datetime):
            row["timestamp"] = round(row["timestamp"].astimezone(UTC).timestamp() * 1000)
    text = fields[0].pop("key")
    assert (text if converter in ("string", "bytes") else json.loads(text)) == in_json
    tp = {"topic": "orders", "partition": 3}
    headers = [{"key": "h", "value": "1"}, {"key": "h", "value": None}]
    assert fields[0] == {**tp, "offset": 10, "timestamp": 1_700_000_000_123, "headers": headers}
    assert fields[1] == {**tp, "offset": 12, "timestamp": None, "key": None, "headers": []}
    if "n" in rows[0]:
        assert [row["n"] for row in rows] == [1] * len(rows)
        assert next(iter(rows[0])) == "n"


def test_a_bad_key_beside_a_tombstone() -> None:
    """A null value is a null value, whatever its key is."""
    settings = settings_with(PLAIN, ALL, TOLERANT, NO_ENVELOPE, {"behavior.on.null.values": "ignore"})
    made = made_of(settings, record(0, None, key=b"{"), record(1, b"{}", key=b"1"))
    assert (made.why, made.written.tombstones, made.written.rejected) == ({0: "the value is null"}, 1, 0)


# Values with a schema.

RECORD: dict[str, Any] = {"type": "record", "name": "R", "fields": [{"name": "n", "type": "int"}]}


@pytest.mark.parametrize(
    ("schema", "datum", "fields"),
    [
        (RECORD, b"\x0e", {"n": 7}),
        (["null", RECORD], b"\x02\x0e", {"n": 7}),
        ("string", b"\x02x", {"value": "x"}),
        ({"type": "array", "items": "int"}, b"\x02\x0e\x00", {"value": [7]}),
    ],
)
@pytest.mark.parametrize("format", ["JsonFormat", "AvroFormat", "ParquetFormat"])
def test_avro_of_a_registry(schema: Any, datum: bytes, fields: dict[str, Any], format: str) -> None:
    """Records keep their fields and get more, one that may be null too; any other value becomes `value`."""
    registry = MemoryRegistry()
    id = registry.register("orders-value", json.dumps(schema))
    more = {"format.class": format}
    made = made_of(settings_with(VALUE_REGISTRY, OFFSET, more), record(7, avro(id, datum)), values=registry)
    assert only(made) == [{**fields, "_kafka_offset": 7}]
    assert made.written.objects[0].schema_id == id


TREE = {
    "type": "record",
    "name": "Tree",
    "fields": [{"name": "n", "type": "int"}, {"name": "below", "type": {"type": "array", "items": "Tree"}}],
}


@pytest.mark.parametrize("format", ["JsonFormat", "AvroFormat"])
def test_a_record_that_holds_its_own_kind(format: str) -> None:
    """Fields of the outer one would be wanted of each within: it becomes `value`, and nothing is mixed up."""
    registry = MemoryRegistry()
    id = registry.register("orders-value", json.dumps(TREE))
    value = avro(id, b"\x02\x02\x04\x00\x00")
    more = {"format.class": format}
    made = made_of(settings_with(VALUE_REGISTRY, OFFSET, more), record(7, value), values=registry)
    assert only(made) == [{"value": {"n": 1, "below": [{"n": 2, "below": []}]}, "_kafka_offset": 7}]


def test_a_record_that_was_exported_before() -> None:
    """Headers among its fields already: their type is defined once in the file, which any reader takes."""
    inner = {**kafka_fields._HEADER, "fields": kafka_fields._HEADER["fields"]}
    before = {"name": "old_headers", "type": {"type": "array", "items": inner}}
    registry = MemoryRegistry()
    id = registry.register("orders-value", json.dumps({**RECORD, "fields": [*RECORD["fields"], before]}))
    settings = settings_with(VALUE_REGISTRY, AVRO, {"export.envelope": "headers,offset"})
    made = made_of(settings, record(7, avro(id, b"\x0e\x00")), values=registry)
    headers = [{"key": "at", "value": "7"}]
    assert only(made) == [{"n": 7, "old_headers": [], "_kafka_headers": headers, "_kafka_offset": 7}]


@pytest.mark.parametrize("format", ["JsonFormat", "AvroFormat", "ParquetFormat"])
def test_a_schema_with_a_field_of_the_same_name(format: str) -> None:
    """Its records are refused, and those of other schemas beside them are not."""
    clash = enveloped({"_kafka_offset": 1}, ("_kafka_offset", "int32"), name="Clash")
    fine = enveloped({"n": 1}, ("n", "int32"))
    for values in ([clash, clash], [clash, fine, clash, fine], [fine, clash]):
        records = [record(n, value) for n, value in enumerate(values)]
        made = made_of(settings_with(ENVELOPE, OFFSET, TOLERANT, {"format.class": format}), *records)
        assert list(made.why) == [n for n, value in enumerate(values) if value is clash]
        assert {why[:17] for why in made.why.values()} == {"it has a field it"}
        found = [row["_kafka_offset"] for each in made.written.objects for row in made.rows(each.key)]
        assert found == [n for n, value in enumerate(values) if value is fine]


def versions(count: int) -> list[bytes]:
    """Version v has the optional fields f1 to fv."""
    optional = {"type": "int64", "optional": True}
    return [
        enveloped(
            {"n": version, **{f"f{each}": each for each in range(1, version + 1)}},
            ("n", "int32"),
            *((f"f{each}", optional) for each in range(1, version + 1)),
            version=version,
        )
        for version in range(1, count + 1)
    ]


@profile(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(0, 2), min_size=1, max_size=12),
    st.lists(st.integers(1, 11), max_size=3),
    st.sampled_from(["JsonFormat", "AvroFormat", "ParquetFormat"]),
    st.sampled_from(["NONE", "BACKWARD", "FORWARD", "FULL"]),
)
def test_schemas_that_evolve(chosen: list[int], cuts: list[int], format: str, mode: str) -> None:
    """The fields change nothing about which records go together, and what is projected keeps its own fields' values."""
    records = [record(n, versions(3)[version]) for n, version in enumerate(chosen)]
    more = {"format.class": format, "schema.compatibility": mode}
    plain = write(settings_with(ENVELOPE, more, {"flush.size": "100"}), records, cuts)
    made = write(settings_with(ENVELOPE, more, OFFSET), records, cuts)
    assert [(each.key, each.holds.records) for each in made.written.objects] == [
        (each.key, each.holds.records) for each in plain.written.objects
    ]
    for each in made.written.objects:
        rows, without = made.rows(each.key), plain.rows(each.key)
        offsets = [row.pop("_kafka_offset") for row in rows]
        assert offsets == sorted(offsets)
        assert rows == without
        assert [row["n"] for row in rows] == [chosen[offset] + 1 for offset in offsets]


def test_any_number_of_schemas(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered of schemas is bounded, and forgetting one changes nothing."""
    monkeypatch.setattr(kafka_fields, "_KNOWN_MAX", 2)
    records = [record(n, enveloped({f"f{n % 7}": n}, (f"f{n % 7}", "int32"))) for n in range(28)]
    made = write(settings_with(ENVELOPE, AVRO, OFFSET), records, cuts=range(1, 28, 5))
    rows = [row for each in made.written.objects for row in made.rows(each.key)]
    assert sorted(row["_kafka_offset"] for row in rows) == list(range(28))
    assert len(made.written.objects) == 7


@pytest.mark.parametrize("field", ["_kafka_offset", "_kafka_key", "n"])
def test_the_fields_make_paths(field: str) -> None:
    """A partitioner reads them like fields of the value."""
    by_field = {"partitioner.class": "FieldPartitioner", "partition.field.name": field}
    settings = settings_with(ENVELOPE, AVRO, ALL, by_field, of_keys("String"))
    made = made_of(settings, record(4, enveloped({"n": 1}, ("n", "int32"))))
    value = {"_kafka_offset": "4", "_kafka_key": "k4", "n": "1"}[field]
    assert made.keys == [f"{field}={value}/orders+3+0000000004.avro"]
