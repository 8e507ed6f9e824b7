"""`verify --against-kafka` where another library, or another version, compresses the same records to other bytes."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from kafka_s3.ranges import TopicPartition
from kafka_s3.records import Record
from kafka_s3.settings.formats import Compression, Format, Gzip
from kafka_s3.values.formats import avro, block_gzip, compression, json_lines, lines, parquet
from kafka_s3.values.formats.compression import open_stream
from kafka_s3.verify.verify import Kafka, Verified, verify
from tests.export.harness import MemoryExport
from tests.pairs.exported import settings_of
from tests.pairs.kinds import TYPED, kinds

TP = TopicPartition("orders", 0)
Patch = pytest.MonkeyPatch
FIELDS = [
    {"name": "n", "type": "int"},
    {"name": "text", "type": ["null", "string"], "default": None},
    {"name": "list", "type": {"type": "array", "items": ["null", "double"]}},
    {"name": "map", "type": {"type": "map", "values": {"type": "long", "logicalType": "timestamp-millis"}}},
    {"name": "inner", "type": ["null", {"type": "record", "name": "I", "fields": [{"name": "b", "type": "boolean"}]}]},
]
STRING = "org.apache.kafka.connect.storage.StringConverter"


def _row(number: int) -> bytes:
    row = {
        "n": number,
        "text": f"{number * 7}é" if number % 3 else None,
        "list": [[number + 0.5, None], [None], []][number % 3],
        "map": {f"a{each}": each for each in range(number % 4)},
        "inner": {"b": number % 5 == 0} if number % 4 else None,
    }
    return json.dumps(row, separators=(",", ":")).encode()


def _deflate(patch: Patch) -> None:
    patch.setattr(avro, "_ISAL_LEVEL", 3)
    patch.setattr(avro, "BLOCK", 500)


def _blocks(patch: Patch) -> None:
    patch.setattr(avro, "BLOCK", 300)


def _bzip2(patch: Patch) -> None:
    patch.setattr(avro, "_BZIP2_LEVEL", 1)


def _zstandard(patch: Patch) -> None:
    patch.setattr(avro, "_ZSTD_LEVEL", 9)
    patch.setattr(avro, "BLOCK", 2_000)


def _parquet(patch: Patch) -> None:
    made = partial(parquet.pq.ParquetWriter, data_page_version="2.0", use_dictionary=False, write_statistics=False)

    def writer(sink: Any, schema: Any, **options: Any) -> Any:
        return made(sink, schema, **{**options, "compression": "gzip", "compression_level": 9})

    patch.setattr(parquet.pq, "ParquetWriter", writer)


def _row_groups(patch: Patch) -> None:
    patch.setattr(parquet, "ROW_GROUP_BYTES_MAX", 700)


def _gzip(patch: Patch) -> None:
    def other(compression: Compression) -> Any:
        return open_stream(Gzip(9) if isinstance(compression, Gzip) else compression)

    for module in (block_gzip, json_lines, lines):
        patch.setattr(module, "open_stream", other)


def _levels(patch: Patch) -> None:
    def other(compression: Compression) -> Any:
        return open_stream(replace(compression, level=7) if hasattr(compression, "level") else compression)

    patch.setattr(compression, "FRAME", 500)
    for module in (json_lines, lines):
        patch.setattr(module, "open_stream", other)


#: What objects are, and how another library would have made them.
CASES: Mapping[str, tuple[Format, Mapping[str, str], Callable[[Patch], None]]] = {
    "avro, deflate": (Format.AVRO, {"avro.codec": "deflate"}, _deflate),
    "avro, blocks": (Format.AVRO, {}, _blocks),
    "avro, bzip2": (Format.AVRO, {"avro.codec": "bzip2"}, _bzip2),
    "avro, snappy": (Format.AVRO, {"avro.codec": "snappy"}, _blocks),
    "avro, zstandard": (Format.AVRO, {"avro.codec": "zstandard"}, _zstandard),
    "parquet": (Format.PARQUET, {}, _parquet),
    "parquet, row groups": (Format.PARQUET, {}, _row_groups),
    "json, gzip": (Format.JSON, {"s3.compression.type": "gzip"}, _gzip),
    **{
        f"json, {codec}": (Format.JSON, {"s3.compression.type": codec}, _levels)
        for codec in ("zstd", "snappy", "lz4", "bzip2")
    },
    "block-gzip": (Format.BLOCK_GZIP, {"compressed_block_size": "300"}, _gzip),
}


def _exported(format: Format, more: Mapping[str, str]) -> MemoryExport:
    """40 records in 2 objects, with keys beside them."""
    properties = {"format.class": format.value, "flush.size": "20", "store.kafka.keys": "true", **more}
    properties |= {"keys.format.class": Format.JSON.value if format is Format.BLOCK_GZIP else format.value}
    properties |= {"key.converter": STRING, "value.converter": "org.apache.kafka.connect.json.JsonConverter"}
    properties |= {"value.converter.schemas.enable": "false"}
    if format in (Format.AVRO, Format.PARQUET):
        schema = json.dumps({"type": "record", "name": "R", "fields": FIELDS})
        properties |= {**kinds()[TYPED].properties("value"), "export.value.schema": schema}
    world = MemoryExport(settings_of(properties))
    for offset in range(40):
        world.broker.append("orders", 0, Record(offset, _row(offset), b"key %d" % (offset // 7)))
    report = world.run()
    assert report.exit_status == 0
    return world


def _verified(world: MemoryExport) -> Verified:
    return verify(world.settings, world.exporter.log, Kafka(world.broker, world.broker), tell=lambda _: None)


@pytest.mark.parametrize("case", CASES)
def test_the_same_records_in_other_bytes_are_a_note(case: str, monkeypatch: Patch) -> None:
    """Another level, other blocks, pages or row groups: nothing is wrong, and how many objects it is about is said."""
    format, more, other = CASES[case]
    world = _exported(format, more)
    assert _verified(world).notes == ()
    other(monkeypatch)
    verified = _verified(world)
    assert verified.findings == ()
    assert [note.partition(" ")[2] for note in verified.notes] == [
        "objects hold the same records in other bytes: another library wrote them, or another version"
    ]
    assert verified.ranges_compared == 1


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("what", ["value", "key"])
def test_another_record_is_found_whatever_the_bytes(case: str, what: str, monkeypatch: Patch) -> None:
    """One value, or one key, that is not Kafka's: that object is named, and no other."""
    format, more, other = CASES[case]
    world = _exported(format, more)
    records = world.broker._partition(TP).records
    at = next(place for place, record in enumerate(records) if record.offset == 25)
    changed = {"value": _row(25).replace(b'"n":25', b'"n":26')} if what == "value" else {"key": b"other"}
    records[at] = dataclasses.replace(records[at], **changed)  # type: ignore[arg-type]
    for patched in (False, True):
        if patched:
            other(monkeypatch)
        findings = _verified(world).findings
        wrong = {"0000000020.keys" if what == "key" else "0000000020."}
        if format is Format.BLOCK_GZIP and what == "value":
            wrong.add("0000000020.index")
        assert len(findings) == len(wrong)
        assert all(any(each in finding.where for finding in findings) for each in wrong)
        assert all("sha256" in finding.expected for finding in findings)
