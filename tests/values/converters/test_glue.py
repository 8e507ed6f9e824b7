"""Avro as AWS Glue's serializers write it: bytes made by hand, over a registry in memory."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest

from kafka_s3.adapters.memory import MemoryRegistry
from kafka_s3.avro.datums import codec
from kafka_s3.avro.model import Schema, schema_of
from kafka_s3.errors import RegistryUnavailable
from kafka_s3.ports import RegisteredSchema, Registries, SchemaId
from kafka_s3.shown import plain
from kafka_s3.values.converters.avro import AvroRows
from kafka_s3.values.converters.glue import GlueAvro
from kafka_s3.values.rows import Stage, Tombstone, Unwritable
from kafka_s3.write.object_group import Member
from tests.pairs.kinds import zigzag
from tests.write.members import TOLERANT, record, settings_with, write

ONE = schema_of({"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]})
TWO = schema_of(
    {
        "type": "record",
        "name": "Order",
        "fields": [{"name": "id", "type": "int"}, {"name": "note", "type": "string", "default": "-"}],
    }
)
IDS = [str(UUID(int=number << 120 | number)) for number in range(1, 7)]
GLUE = {"value.converter": "com.amazonaws.services.schemaregistry.kafkaconnect.AWSKafkaAvroConverter"}
ROWS: list[dict[str, Any]] = [{"id": number} for number in range(40)]


def framed(datum: bytes, id: str = IDS[0], *, compressed: bool = False, version: int = 3) -> bytes:
    head = bytes((version, 5 if compressed else 0)) + UUID(id).bytes
    return head + (zlib.compress(datum) if compressed else datum)


def registry() -> MemoryRegistry:
    schemas: dict[SchemaId, RegisteredSchema] = {
        IDS[0]: RegisteredSchema(IDS[0], ONE.text, version=1),
        IDS[1]: RegisteredSchema(IDS[1], TWO.text, version=2),
        IDS[2]: RegisteredSchema(IDS[2], ONE.text, version=3, status="DELETING"),
        IDS[3]: RegisteredSchema(IDS[3], "{}", "JSON", version=1),
        IDS[4]: RegisteredSchema(IDS[4], '"Gone"', version=1),
    }
    return MemoryRegistry(schemas)


def convert(values: Sequence[bytes | None], *, key: bool = False, binary: bool = True) -> AvroRows:
    return GlueAvro(registry(), key=key, columns=False, binary=binary)(values)


@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "zlib"])
@pytest.mark.parametrize("count", [1, 40])
def test_values_of_one_version(count: int, compressed: bool) -> None:
    """The header is 18 bytes, and what is behind it is the datum, compressed or not; the version is Glue's number."""
    rows = convert([framed(datum, compressed=compressed) for datum in codec(ONE).encode(ROWS[:count])])
    assert rows.excluded == {}
    assert isinstance(rows.schemas, Schema)
    assert (rows.schemas.text, rows.schemas.id, rows.schemas.version) == (ONE.text, None, 1)
    assert rows.values(rows.schemas) == ROWS[:count]
    assert list(rows.datums(rows.schemas)) == codec(ONE).encode(ROWS[:count])
    assert list(rows.sizes()) == [len(each) for each in codec(ONE).encode(ROWS[:count])]
    assert rows.arrow(rows.schemas).to_pylist() == ROWS[:count]


def test_versions_and_compression_may_be_mixed() -> None:
    """Each value says its version and whether it is compressed; a null value is a tombstone."""
    [one], [two] = codec(ONE).encode([{"id": 7}]), codec(TWO).encode([{"id": 8, "note": "x"}])
    rows = convert([framed(one, compressed=True), None, framed(two, IDS[1]), framed(one)])
    assert dict(rows.excluded) == {1: Tombstone()}
    schemas = rows.schemas
    assert isinstance(schemas, Sequence)
    assert [None if each is None else each.version for each in schemas] == [1, None, 2, 1]
    assert rows.pick([0, 3]).values(ONE) == [{"id": 7}] * 2
    assert rows.column(("id",))[2] == 8


NOT_GLUE = "not a value of AWS Glue's registry: "
#: By the offset of the value that is bad, what is said of it.
BAD = [
    (b"", f"{NOT_GLUE}0 bytes, where its header takes 18 "),
    (framed(b"")[:17], f"{NOT_GLUE}17 bytes, where its header takes 18 "),
    (framed(b"\2", version=0), f"{NOT_GLUE}the first byte is 00, not 03 "),
    (b"\3\1" + framed(b"\2")[2:], f"{NOT_GLUE}the byte for its compression is 01, neither 00 nor 05 "),
    (framed(b"\2", IDS[5]), f"AWS Glue has no schema version {IDS[5]} "),
    (framed(b"\2", IDS[2]), f"the schema version {IDS[2]} of AWS Glue is DELETING, not AVAILABLE "),
    (framed(b"\2", IDS[3]), f"the schema version {IDS[3]} of AWS Glue is of the type JSON, not AVRO "),
    (framed(b"\2", IDS[4]), f"the schema version {IDS[4]} of AWS Glue cannot be used: "),
    (framed(b"\x80"), f"not a value of the schema of the version {IDS[0]}: "),
    (framed(b"\2\2"), f"not a value of the schema of the version {IDS[0]}: "),
    (framed(b"\2", compressed=True)[:-4], "its zlib data cannot be used: it ends too early "),
    (b"\3\5" + framed(b"\2\2\2")[2:], "its zlib data cannot be used: not zlib "),
]


@pytest.mark.parametrize("key", [False, True])
@pytest.mark.parametrize(("value", "reason"), BAD, ids=range(len(BAD)))
def test_what_is_no_value_of_glues_says_why(value: bytes, reason: str, key: bool) -> None:
    """A bad record, of the converter that read it; its neighbours are taken."""
    good = framed(codec(ONE).encode([{"id": 7}])[0])
    rows = convert([good, value, good], key=key)
    assert list(rows.excluded) == [1]
    refused = rows.excluded[1]
    assert isinstance(refused, Unwritable)
    assert plain(refused.reason, content=True).startswith(reason)
    assert refused.stage is (Stage.KEY_CONVERTER if key else Stage.VALUE_CONVERTER)
    assert rows.pick([0, 2]).values(ONE) == [{"id": 7}] * 2


def test_a_compressed_value_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a few bytes would become beyond it is never made."""
    monkeypatch.setattr("kafka_s3.values.converters.glue._ROOM", 1000)
    bomb = framed(bytes(1_000_000), compressed=True)
    refused = convert([bomb]).excluded[0]
    assert isinstance(refused, Unwritable)
    assert "bytes expand to more than the" in refused.reason


def test_a_compressed_value_holds_a_million_values() -> None:
    """zlib makes a thousand items of a byte: more of them than that are refused, and megabytes of text are not."""
    many = schema_of({"type": "array", "items": "int"})
    text = schema_of("string")
    schemas: dict[SchemaId, RegisteredSchema] = {
        id: RegisteredSchema(id, schema.text, version=1) for id, schema in zip(IDS, (many, text), strict=False)
    }
    convert = GlueAvro(MemoryRegistry(schemas), key=False, columns=False, binary=True)
    items = {count: zigzag(count) + bytes(count) + b"\0" for count in (900_000, 1_100_000)}
    letters = zigzag(7 << 20) + b"a" * (7 << 20)
    rows = convert(
        [
            framed(items[900_000], compressed=True),
            framed(items[1_100_000], compressed=True),
            framed(items[1_100_000]),
            framed(letters, IDS[1], compressed=True),
        ]
    )
    assert list(rows.excluded) == [1]
    refused = rows.excluded[1]
    assert isinstance(refused, Unwritable)
    assert "more values than the 4195304 that it may hold" in refused.reason


@pytest.mark.parametrize("format", ["JsonFormat", "AvroFormat", "ParquetFormat"])
def test_glues_values_in_every_format(format: str) -> None:
    """Values and keys; two versions are two objects, as schema.compatibility says of AvroConverter's."""
    keys = {name.replace("value", "key"): each for name, each in GLUE.items()}
    stored = {"store.kafka.keys": "true", "keys.format.class": "JsonFormat", "flush.size": "10"}
    datums = [codec(ONE).encode([{"id": 7}])[0], codec(TWO).encode([{"id": 8, "note": "x"}])[0]]
    records = [
        record(0, framed(datums[0], compressed=True), key=framed(datums[0])),
        record(1, framed(datums[1], IDS[1]), key=framed(datums[0])),
        record(2, framed(b"", IDS[5]), key=framed(datums[0])),
    ]
    settings = settings_with(GLUE, keys, stored, TOLERANT, {"format.class": format})
    made = write(settings, records, registries=Registries(registry(), registry()))
    rows = [made.members(each) for each in made.written.objects]
    assert [each[Member.VALUES] for each in rows] == [[{"id": 7}], [{"id": 8, "note": "x"}]]
    assert [each[Member.KEYS] for each in rows] == [[{"id": 7}], [{"id": 7}]]
    assert list(made.why) == [2]
    assert [each.schema_id for each in made.written.objects] == [None, None]


def test_versions_of_glue_order_as_its_numbers() -> None:
    """`schema.compatibility=BACKWARD`: records of an older version go into the object of the newer one."""
    more = {"format.class": "JsonFormat", "schema.compatibility": "BACKWARD", "flush.size": "10"}
    new, old = codec(TWO).encode([{"id": 8, "note": "x"}])[0], codec(ONE).encode([{"id": 7}])[0]
    records = [record(0, framed(new, IDS[1])), record(1, framed(old))]
    made = write(settings_with(GLUE, more), records, registries=Registries(registry()))
    [written] = made.written.objects
    assert made.members(written)[Member.VALUES] == [{"id": 8, "note": "x"}, {"id": 7, "note": "-"}]


def test_a_glue_that_is_down_makes_no_record_bad() -> None:
    """The batch ends, and the run is tried again."""
    down = registry()
    down.fail_next(RegistryUnavailable("AWS Glue does not answer."))
    with pytest.raises(RegistryUnavailable):
        GlueAvro(down, key=False, columns=False, binary=True)([framed(b"\2")])
