"""`export.object.bytes.of=object`: objects end by their own size."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence

import pytest

from bench.records import values
from kafka_s3.records import Record
from kafka_s3.settings.formats import Format
from kafka_s3.write import writer
from kafka_s3.write.writer import Written
from tests.pairs.exported import settings_of
from tests.write.test_writer import write

SCHEMA = {
    "type": "record",
    "name": "Event",
    "fields": [
        {"name": name, "type": kind} for name, kind in (("id", "long"), ("user", "string"), ("words", "string"))
    ],
}
TYPED = {
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
    "export.value.schema": json.dumps(SCHEMA),
}
FORMATS: Mapping[str, Mapping[str, str]] = {
    **{
        f"json {codec}": {"format.class": Format.JSON.value, "s3.compression.type": codec}
        for codec in ("none", "gzip", "zstd", "snappy", "lz4", "bzip2")
    },
    "json array": {"format.class": Format.JSON.value, "export.json.array": "true"},
    "bytes": {"format.class": Format.BYTE_ARRAY.value, "s3.compression.type": "zstd"},
    **{
        f"avro {codec}": {**TYPED, "format.class": Format.AVRO.value, "avro.codec": codec}
        for codec in ("null", "snappy")
    },
    "parquet": {**TYPED, "format.class": Format.PARQUET.value, "export.parquet.row.group.bytes": "1048576"},
}


@functools.cache
def all_records() -> Sequence[Record]:
    """Small ones, and now and then a large one."""
    return [
        Record(offset, value if offset % 1_900 else value[:-1] + b',"more":"%s"}' % (b"x" * 300_000))
        for offset, value in enumerate(values(16_000), 1)
    ]


def bounds(written: Written) -> list[tuple[int, int, str]]:
    return [(each.holds.first_offset, each.stored.size, each.closed_by.value) for each in written.objects]


@pytest.mark.parametrize("name", FORMATS)
def test_an_object_ends_when_it_is_as_large_as_that(name: str) -> None:
    """At the first place where it is looked at and has that many bytes; records that came in other batches end the same
    objects, byte for byte."""
    settings = settings_of(
        {
            **FORMATS[name],
            "flush.size": "1000000",
            "export.object.bytes.max": "90000",
            "export.object.bytes.of": "object",
        }
    )
    written, uploads = write(settings, all_records())
    assert written.records == len(all_records())
    *full, last = bounds(written)
    assert full
    assert {closed_by for _, _, closed_by in full} == {"export.object.bytes.max"}
    assert last[2] == "end_of_range"
    assert all(size >= 90_000 for _, size, _ in full)
    for cuts in (range(1, 16_000, 97), (1,), (2_500, 2_501), range(0, 16_000, 1_000)):
        again, others = write(settings, all_records(), list(cuts))
        assert bounds(again) == bounds(written)
        assert [upload.body for upload in others] == [upload.body for upload in uploads]


def test_how_much_larger_it_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """By what the records between two looks become, and one block that the compressor kept back."""
    monkeypatch.setattr(writer, "LOOK_EVERY", 64 * 1024)
    limit = {"export.object.bytes.max": "200000", "export.object.bytes.of": "object", "flush.size": "1000000"}
    small = [Record(offset, value) for offset, value in enumerate(values(9_000))]
    written, _ = write(settings_of({**FORMATS["json snappy"], **limit}), small)
    full = [size for _, size, closed_by in bounds(written) if closed_by == "export.object.bytes.max"]
    assert full
    assert all(200_000 <= size < 200_000 + 2 * 64 * 1024 for size in full)


def test_other_limits_come_first_where_they_are_reached() -> None:
    """flush.size, and without `of` the records' own bytes."""
    records = all_records()[:30]
    settings = settings_of({"flush.size": "10", "export.object.bytes.max": "50000", "export.object.bytes.of": "object"})
    assert [closed_by for *_, closed_by in bounds(write(settings, records)[0])] == ["flush.size"] * 3
    plain = settings_of({"flush.size": "100", "export.object.bytes.max": "4000"})
    assert {closed_by for *_, closed_by in bounds(write(plain, records)[0])} == {
        "export.object.bytes.max",
        "end_of_range",
    }
