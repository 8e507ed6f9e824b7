"""Keys, headers and tombstones: what is stored beside the values, of which records, and which are refused for it."""

from __future__ import annotations

import gzip
import json
import struct
from collections.abc import Mapping
from typing import Any

import pytest

from kafka_s3.adapters.memory import MemoryRegistry
from kafka_s3.errors import ConfigurationError
from kafka_s3.ports import Registries
from kafka_s3.ranges import TopicPartition
from kafka_s3.settings.model import Settings
from kafka_s3.values.rows import Stage
from kafka_s3.write.object_group import Member
from tests.write.members import (
    ENVELOPE,
    HEADERS,
    KEYS,
    PLAIN,
    TOLERANT,
    WRITE,
    Made,
    enveloped,
    record,
    settings_with,
    write,
)

WITH_ID = json.dumps({"type": "record", "name": "K", "fields": [{"name": "id", "type": "int"}]})
WITH_TWO = json.dumps(
    {"type": "record", "name": "K", "fields": [{"name": "id", "type": "int"}, {"name": "at", "type": "long"}]}
)
REGISTRY = MemoryRegistry()
IDS = [REGISTRY.register("orders-key", text) for text in (WITH_ID, WITH_TWO)]
TEN = {"flush.size": "10"}


def avro(id: int, datum: bytes) -> bytes:
    return b"\0" + struct.pack(">I", id) + datum


def of_keys(converter: str, **more: str) -> dict[str, str]:
    """A converter of keys with its own properties."""
    return {"key.converter": f"{converter}Converter", **{f"key.converter.{name}": text for name, text in more.items()}}


WITH_REGISTRY = {**of_keys("Avro"), "key.converter.schema.registry.url": "http://registry:8081"}
NO_ENVELOPE = {**of_keys("Json"), "key.converter.schemas.enable": "false"}
SEVEN = {"id": 7}
NOT_JSON = "its key: not JSON: Expecting value: line 1 column 1 (char 0)"
NO_AVRO = "its key: not Avro of a schema registry: 3 bytes, where a zero byte and a schema's id take 5 (it is 62 61 64)"

#: A converter, a key, what JSON has of it, what a schema says it is, and why the bytes `bad` are none.
CONVERTERS: dict[str, tuple[Mapping[str, str], bytes, Any, Any, str | None]] = {
    "bytes": (of_keys("ByteArray"), b"k\xff", "a/8=", b"k\xff", None),
    "string": (of_keys("String"), "ké".encode(), "ké", "ké", None),
    "json": (NO_ENVELOPE, b'{"id": 7}', SEVEN, None, NOT_JSON),
    "envelope": (of_keys("Json"), enveloped(SEVEN, ("id", "int32")), SEVEN, SEVEN, NOT_JSON),
    "avro": (WITH_REGISTRY, avro(IDS[0], b"\x0e"), SEVEN, SEVEN, NO_AVRO),
    "short": (of_keys("Short"), struct.pack(">h", -7), -7, -7, "its key: 3 bytes are not a short: it has 2"),
    "integer": (of_keys("Integer"), struct.pack(">i", 7), 7, 7, "its key: 3 bytes are not an integer: it has 4"),
    "long": (of_keys("Long"), struct.pack(">q", 2**40), 2**40, 2**40, "its key: 3 bytes are not a long: it has 8"),
    "float": (of_keys("Float"), struct.pack(">f", 1.5), 1.5, 1.5, "its key: 3 bytes are not a float: it has 4"),
    "double": (of_keys("Double"), struct.pack(">d", 0.1), 0.1, 0.1, "its key: 3 bytes are not a double: it has 8"),
    "boolean": (of_keys("Boolean"), b"\x01", True, True, "its key: no boolean: it is one byte, 0 or 1"),
}
NO_KEY = "the key is null, and store.kafka.keys=true wants one"
FORMATS = {"JsonFormat": "keys.json", "AvroFormat": "keys.avro", "ParquetFormat": "keys.snappy.parquet"}


def made_of(settings: Settings, *records: Any) -> Made:
    return write(settings, records, registries=Registries(keys=REGISTRY.again()))


PAIRS = [(each, format) for each in CONVERTERS for format in FORMATS if each != "json" or format == "JsonFormat"]


@pytest.mark.parametrize(("converter", "format"), PAIRS)
def test_keys(converter: str, format: str) -> None:
    """Every converter into every format: values that are records are its rows, others one column; a null is refused."""
    more, key, in_json, value, why_bad = CONVERTERS[converter]
    settings = settings_with(PLAIN, KEYS, TOLERANT, TEN, more, {"keys.format.class": format})
    made = made_of(settings, *(record(n, b"{}", key=each) for n, each in enumerate([key, None, b"bad", key])))
    [written] = made.written.objects
    assert made.keys[1] == f"partition=3/orders+3+0000000000.{FORMATS[format]}"
    expected = in_json if format == "JsonFormat" else value
    if format == "ParquetFormat" and not isinstance(value, dict):
        expected = {"key": value}
    good = [row for row in made.members(written)[Member.KEYS] if row == expected]
    assert len(good) == 2
    assert made.why == {1: NO_KEY, **({2: why_bad} if why_bad else {})}
    assert made.refused[1].stage is Stage.TASK_PUT
    assert not why_bad or made.refused[2].stage is Stage.KEY_CONVERTER
    assert written.holds.records == 4 - len(made.why)


def test_keys_that_are_bytes() -> None:
    """ByteArrayFormat writes them as they are, a separator after each; gzip packs them as the values."""
    more = {**of_keys("ByteArray"), "keys.format.class": "ByteArrayFormat", "s3.compression.type": "gzip"}
    made = made_of(settings_with(PLAIN, KEYS, TEN, more), *(record(n, b"{}", key=b"\xff%d" % n) for n in range(2)))
    assert made.keys[1] == "partition=3/orders+3+0000000000.keys.bin.gz"
    assert gzip.decompress(made.store.contents()[f"topics/orders/{made.keys[1]}"]) == b"\xff0\n\xff1\n"


def test_keys_without_a_schema_in_avro() -> None:
    """They are what AvroData makes of anything, as the sink writes them."""
    settings = settings_with(PLAIN, KEYS, TEN, NO_ENVELOPE, {"keys.format.class": "AvroFormat"})
    made = made_of(settings, record(0, b"{}", key=b"7"), record(1, b"{}", key=b'"seven"'))
    numbers = [(row["long"], row["string"]) for row in made.members(made.written.objects[0])[Member.KEYS]]
    assert numbers == [(7, None), (None, "seven")]


@pytest.mark.parametrize("format", ["ByteArrayFormat", "ParquetFormat"])
@pytest.mark.parametrize("converter", CONVERTERS)
def test_what_would_refuse_every_key_is_refused_beforehand(converter: str, format: str) -> None:
    """Keys that are not bytes do not go into ByteArrayFormat, those without a schema not into Parquet: said at once."""
    wrong = converter != "bytes" if format == "ByteArrayFormat" else converter == "json"
    more = (PLAIN, KEYS, CONVERTERS[converter][0], {"keys.format.class": format})
    if wrong:
        with pytest.raises(ConfigurationError, match="key.converter="):
            settings_with(*more)
    else:
        settings_with(*more)


def test_a_null_key_is_fine_where_keys_are_not_stored() -> None:
    """It is then nobody's business."""
    assert made_of(settings_with(PLAIN, TEN), record(0, b"{}", key=None)).written.records == 1


def test_without_tolerance_a_null_key_ends_the_range() -> None:
    """The record is named, and what precedes it is written with its keys."""
    made = made_of(settings_with(PLAIN, KEYS, TEN), record(5, b"{}"), record(6, b"{}", key=None), record(7, b"{}"))
    assert made.why == {6: NO_KEY}
    assert [each.holds.records for each in made.written.objects] == [1]


@pytest.mark.parametrize("format", FORMATS)
def test_keys_of_another_schema_have_a_family_of_their_own(format: str) -> None:
    """An object of keys has one schema; values, keys and headers of each family go together."""
    settings = settings_with(
        PLAIN, KEYS, HEADERS, TEN, WITH_REGISTRY, {"keys.format.class": format, "headers.format.class": "JsonFormat"}
    )
    one, two = avro(IDS[0], b"\x0e"), avro(IDS[1], b"\x0e\x02")
    made = made_of(settings, *(record(n, b'{"n":%d}' % n, key=(one, two)[n % 2]) for n in range(5)))
    found = [made.members(each) for each in made.written.objects]
    assert [[row["n"] for row in members[Member.VALUES]] for members in found] == [[0, 2, 4], [1, 3]]
    assert [members[Member.KEYS][0] for members in found] == [{"id": 7}, {"id": 7, "at": 1}]
    assert [[row["headers"][0]["value"] for row in members[Member.HEADERS]] for members in found] == [
        ["0", "2", "4"],
        ["1", "3"],
    ]


@pytest.mark.parametrize("fields", ["key", "offset,key"])
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("converter", [each for each in CONVERTERS if each != "json"])
def test_keys_beside_and_within(converter: str, format: str, fields: str) -> None:
    """Keys as a field of the record and in an object of their own: each as it should be."""
    more, key, in_json, value, _ = CONVERTERS[converter]
    settings = settings_with(PLAIN, KEYS, TEN, more, {"keys.format.class": format, "export.envelope": fields})
    made = made_of(settings, record(0, b"{}", key=key))
    [written] = made.written.objects
    members = made.members(written)
    text = members[Member.VALUES][0]["_kafka_key"]
    assert (text if converter in ("string", "bytes") else json.loads(text)) == in_json
    beside = in_json if format == "JsonFormat" else value
    assert members[Member.KEYS] == [{"key": value} if format == "ParquetFormat" and value != SEVEN else beside]


# Headers.

NO_HEADERS = "it has no headers, and store.kafka.headers=true wants some"
SIMPLE = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
STRING = "org.apache.kafka.connect.storage.StringConverter"
BYTE_ARRAY = "org.apache.kafka.connect.converters.ByteArrayConverter"
TWO = (("a", b"x"), ("a", "é\xff".encode("latin-1")))


@pytest.mark.parametrize(
    ("converter", "second"), [(SIMPLE, "\ufffd\ufffd"), (STRING, "\ufffd\ufffd"), (BYTE_ARRAY, "6f8=")]
)
@pytest.mark.parametrize("format", FORMATS)
def test_headers(format: str, converter: str, second: str) -> None:
    """Names as often as they come and in their order, values as text; bytes in base64; no headers are refused."""
    more = {"headers.format.class": format, "header.converter": converter}
    records = [record(0, b"{}", headers=TWO), record(1, b"{}", headers=()), record(2, b"{}", headers=(("n", None),))]
    made = made_of(settings_with(PLAIN, HEADERS, TOLERANT, TEN, more), *records)
    first = "eA==" if converter == BYTE_ARRAY else "x"
    pairs: Any = [{"key": "a", "value": first}, {"key": "a", "value": second}]
    [row] = made.members(made.written.objects[0])[Member.HEADERS]
    assert row == (pairs if format == "AvroFormat" else {"headers": pairs})
    assert made.keys[1] == f"partition=3/orders+3+0000000000.{FORMATS[format].replace('keys', 'headers')}"
    assert made.why == {1: NO_HEADERS, 2: "its header 'n' has no value"}
    assert (made.refused[1].stage, made.refused[2].stage) == (Stage.TASK_PUT, Stage.HEADER_CONVERTER)


def test_headers_in_json_are_the_sinks_line() -> None:
    """To the byte, with the escapes of JSON."""
    settings = settings_with(PLAIN, HEADERS, TEN, {"headers.format.class": "JsonFormat"})
    made = made_of(settings, record(0, b"{}", headers=(('"', b"\n"), ("", b""))))
    body = made.store.contents()[f"topics/orders/{made.keys[1]}"]
    assert body == b'{"headers":[{"key":"\\"","value":"\\n"},{"key":"","value":""}]}\n'


def test_headers_in_avro_are_of_the_sinks_schema() -> None:
    """An array of ConnectDefault, a record of two strings."""
    settings = settings_with(PLAIN, HEADERS, TEN)  # AvroFormat is the default
    made = made_of(settings, record(0, b"{}"))
    body = made.store.contents()[f"topics/orders/{made.keys[1]}"]
    assert b'"name":"ConnectDefault","namespace":"io.confluent.connect.avro"' in body


# Tombstones.

NULL = "the value is null and behavior.on.null.values is fail"
HOURLY = {
    "partitioner.class": "HourlyPartitioner",
    "locale": "en",
    "timezone": "UTC",
    "timestamp.extractor": "Record",
}
HOUR_MS = 3_600_000


@pytest.mark.parametrize("null", [(PLAIN, None), (PLAIN, b" null "), (ENVELOPE, None)], ids=["no value", "null", "env"])
def test_fail(null: tuple[Mapping[str, str], bytes | None]) -> None:
    """A null value, or the JSON `null`, is a bad record: it ends its range, or is left out and counted as one."""
    more, value = null
    good = b"{}" if more is PLAIN else enveloped({}, version=1)
    records = [record(0, good), record(1, value), record(2, good)]
    strict = made_of(settings_with(more, TEN), *records)
    assert strict.why == {1: NULL}
    assert (strict.written.records, strict.written.tombstones, strict.written.rejected) == (1, 0, 0)
    tolerant = made_of(settings_with(more, TEN, TOLERANT), *records)
    assert tolerant.why == {1: NULL}
    assert (tolerant.written.records, tolerant.written.tombstones, tolerant.written.rejected) == (2, 0, 1)


@pytest.mark.parametrize("reported", ["true", "false"])
def test_ignore(reported: str) -> None:
    """They are counted and passed over, even without a key or headers; reported only where dead letters are."""
    more = {"behavior.on.null.values": "ignore", "report.null.values.to.dlq": reported}
    records = [record(0, b"{}"), record(1, None, key=None, headers=()), record(2, b"{}")]
    for tolerance in (TOLERANT, {}):
        made = made_of(settings_with(PLAIN, TEN, KEYS, HEADERS, more, tolerance), *records)
        assert (made.written.records, made.written.tombstones, made.written.rejected) == (2, 1, 0)
        assert made.why == ({1: "the value is null"} if tolerance and reported == "true" else {})


def test_write() -> None:
    """A tombstone is its key and headers, in a folder of its own; there is no object of values, and it is a record."""
    more = {**HEADERS, "keys.format.class": "JsonFormat", "headers.format.class": "JsonFormat"}
    made = made_of(settings_with(PLAIN, WRITE, more, TEN), record(0, b"{}"), record(1, None), record(2, None))
    assert made.keys == [
        "partition=3/orders+3+0000000000.json",
        "partition=3/orders+3+0000000000.keys.json",
        "partition=3/orders+3+0000000000.headers.json",
        "tombstone/orders+3+0000000001.keys.json",
        "tombstone/orders+3+0000000001.headers.json",
    ]
    assert made.rows(f"topics/orders/{made.keys[3]}") == ["k1", "k2"]
    assert [row["headers"][0]["value"] for row in made.rows(f"topics/orders/{made.keys[4]}")] == ["1", "2"]
    assert (made.written.records, made.written.tombstones, made.written.rejected) == (3, 0, 0)


def test_write_needs_a_key() -> None:
    """A tombstone without one says nothing: a bad record."""
    made = made_of(settings_with(PLAIN, WRITE, TOLERANT, TEN), record(0, None, key=None), record(1, None))
    assert made.why == {0: NO_KEY}
    assert made.keys == ["tombstone/orders+3+0000000001.keys.avro"]


def test_tombstones_count_for_flush_size_by_themselves() -> None:
    """Their object is one like any other: flush.size records, then the next."""
    values = [None, b"{}", None, b"{}", None, b"{}"]
    settings = settings_with(PLAIN, WRITE, {"flush.size": "2", "tombstone.encoded.partition": "gone/for good"})
    made = made_of(settings, *(record(n, value) for n, value in enumerate(values)))
    bounds = [(each.holds.first_offset, each.holds.last_offset, each.closed_by.value) for each in made.written.objects]
    assert bounds == [(0, 2, "flush.size"), (1, 3, "flush.size"), (4, 4, "end_of_range"), (5, 5, "end_of_range")]
    assert made.keys[0] == "gone/for good/orders+3+0000000000.keys.avro"


@pytest.mark.parametrize("extractor", ["Record", "RecordField", "Wallclock"])
def test_a_tombstone_has_the_records_own_time(extractor: str) -> None:
    """Whatever the extractor reads, as in the sink: a tombstone has no field, and is not refused for that."""
    more = {**HOURLY, "timestamp.extractor": extractor, "timestamp.field": "at", "rotate.interval.ms": str(HOUR_MS)}
    times = [0, 10, HOUR_MS - 1, HOUR_MS, 2 * HOUR_MS + 5]
    records = [record(n, None, timestamp_ms=at) for n, at in enumerate(times)]
    records.append(record(5, b'{"at":0}', timestamp_ms=0))
    made = made_of(settings_with(PLAIN, WRITE, TEN, more), *records)
    assert made.why == {}
    tombstones = [
        (each.holds.first_offset, each.holds.last_offset) for each in made.written.objects if "tombstone" in each.key
    ]
    assert tombstones == ([(0, 4)] if extractor == "Wallclock" else [(0, 2), (3, 3), (4, 4)])


def test_a_tombstone_without_a_timestamp() -> None:
    """Its folder is not made of time, so it needs none; a record with a value does."""
    more = {**HOURLY, "rotate.interval.ms": str(HOUR_MS)}
    records = [record(0, None, timestamp_ms=None), record(1, b"{}", timestamp_ms=None)]
    made = made_of(settings_with(PLAIN, WRITE, TOLERANT, TEN, more), *records)
    assert made.why == {1: "the record has no timestamp"}
    assert made.keys == ["tombstone/orders+3+0000000000.keys.avro"]


@pytest.mark.parametrize(
    "more",
    [
        {"topics.dir": "tombstone"},
        {"partitioner.class": "FieldPartitioner", "partition.field.name": "tombstone"},
        {"tombstone.encoded.partition": "partition=3"},
    ],
    ids=["folder", "field", "the same path"],
)
def test_the_word_is_no_sign(more: dict[str, str]) -> None:
    """The sink takes every path with the configured word in it for one of tombstones, and writes no values there."""
    settings = settings_with(PLAIN, WRITE, TEN, more)
    records = [record(n, None if n == 1 else b'{"tombstone":"tombstone","n":%d}' % n) for n in range(3)]
    made = made_of(settings, *records)
    assert made.why == {}
    first = made.members(made.written.objects[0])
    assert [row["n"] for row in first[Member.VALUES]] == [0, 2]
    assert first[Member.KEYS] == ["k0", "k2"]
    assert made.members(made.written.objects[1]) == {Member.KEYS: ["k1"]}


def test_a_topic_of_that_name() -> None:
    """Its values are values."""
    settings = settings_with(PLAIN, WRITE, TEN, {"topics": "my-tombstones"})
    records = [record(0, b'{"n":0}'), record(1, None)]
    made = write(settings, records, tp=TopicPartition("my-tombstones", 0))
    assert [each.key.removeprefix("topics/my-tombstones/") for each in made.written.objects] == [
        "partition=0/my-tombstones+0+0000000000.json",
        "tombstone/my-tombstones+0+0000000001.keys.avro",
    ]


def test_tombstones_of_another_key_schema() -> None:
    """One object of keys for each schema of theirs, all in the folder of tombstones."""
    settings = settings_with(PLAIN, WRITE, TEN, WITH_REGISTRY)
    one, two = avro(IDS[0], b"\x0e"), avro(IDS[1], b"\x0e\x02")
    made = made_of(settings, *(record(n, None, key=key) for n, key in enumerate([one, two, one])))
    assert [each.holds.records for each in made.written.objects] == [2, 1]
    assert all("/tombstone/" in each.key for each in made.written.objects)
