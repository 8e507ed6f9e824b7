"""Avro's container files: what readers find in them, and that their bytes follow from the records alone."""

from __future__ import annotations

import datetime
import hashlib
import io
import itertools
import json
import subprocess
import sys
import zlib
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import cramjam
import fastavro
import polars
import pytest
from fastavro._read import BLOCK_READERS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_s3.avro.model import schema_of
from kafka_s3.settings.formats import AvroCodec
from kafka_s3.values.formats.avro import BLOCK, AvroFormat
from tests.avro.strategies import avro_schemas, values_of
from tests.values.formats.structs import ROW, EncodedStructs, PlainStructs, datum, field_schema, file_of, row

COUNT = 3_000
ROWS = EncodedStructs([datum(row(number), ROW) for number in range(COUNT)], ROW)
assert sum(map(len, ROWS.rows)) > 2 * BLOCK


def _zstandard(file: Any) -> io.BytesIO:
    """A block as fastavro reads it where it finds the library it looks for, which Python has from 3.14 on."""
    size = fastavro.schemaless_reader(file, "long")
    return io.BytesIO(bytes(cramjam.zstd.decompress(file.read(size))))


BLOCK_READERS["zstandard"] = _zstandard


def read(body: bytes) -> list[Any]:
    return list(fastavro.reader(io.BytesIO(body)))


def blocks(body: bytes) -> Iterator[tuple[int, int]]:
    """How many records and bytes, compressed, each block has."""
    for block in fastavro.block_reader(io.BytesIO(body)):
        yield block.num_records, len(block.bytes_.getvalue())


@pytest.mark.parametrize("codec", AvroCodec)
def test_every_codec_holds_the_same_rows(codec: AvroCodec) -> None:
    """fastavro reads every record back, in order, and the header names the codec."""
    format = AvroFormat(codec)
    body = file_of(format, ROWS, COUNT)
    assert read(body) == [row(number) for number in range(COUNT)]
    assert fastavro.reader(io.BytesIO(body)).codec == codec.value
    assert format.extension == ".avro"
    plain = sum(map(len, ROWS.rows))
    assert (len(body) > plain) == (codec is AvroCodec.NULL)


def test_a_snappy_block_ends_with_its_checksum() -> None:
    """Java's reader refuses a block whose last four bytes are not the CRC-32 of what it holds; fastavro skips them."""
    body = file_of(AvroFormat(AvroCodec.SNAPPY), EncodedStructs([b"\x06abc"], schema_of("bytes")), 1)
    block = body[body.index(body[-16:]) + 16 : -16]
    assert block[:1] == b"\2"
    assert block[-4:] == zlib.crc32(b"\x06abc").to_bytes(4, "big")
    assert bytes(cramjam.snappy.decompress_raw(block[2:-4])) == b"\x06abc"


@pytest.mark.parametrize("codec", [AvroCodec.NULL, AvroCodec.DEFLATE, AvroCodec.SNAPPY])
def test_another_reader_agrees(codec: AvroCodec) -> None:
    """polars, whose reader is another one, finds the same rows; it knows no maps and no default texts."""
    assert isinstance(ROW.avro, dict)
    plain = [{"name": each["name"], "type": each["type"]} for each in ROW.avro["fields"] if each["name"] != "counts"]
    schema = schema_of({**ROW.avro, "fields": plain})
    values = [{key: value for key, value in row(number).items() if key != "counts"} for number in range(COUNT)]
    body = file_of(AvroFormat(codec), PlainStructs(values, schema), COUNT)
    assert polars.read_avro(io.BytesIO(body)).to_dicts() == values


def test_the_header_holds_the_schema_as_it_was_written() -> None:
    """Names, documentation, defaults, aliases, symbols and properties of anyone's own survive to the letter."""
    body = file_of(AvroFormat(AvroCodec.NULL), ROWS, 1)
    reader = fastavro.reader(io.BytesIO(body))
    assert reader.metadata["avro.schema"] == ROW.text
    assert json.loads(reader.metadata["avro.schema"]) == ROW.avro
    assert set(reader.metadata) == {"avro.schema", "avro.codec"}


@settings(max_examples=60)
@given(
    st.sampled_from(AvroCodec),
    st.integers(1, COUNT),
    st.lists(st.integers(0, COUNT), max_size=8),
)
def test_the_bytes_do_not_depend_on_the_cuts(codec: AvroCodec, count: int, cuts: list[int]) -> None:
    """However records are cut into calls, the object's SHA-256 is the same."""

    def sha256(*cuts: int) -> str:
        return hashlib.sha256(file_of(AvroFormat(codec), ROWS, count, cuts)).hexdigest()

    assert sha256(*cuts) == sha256()


def test_one_by_one_is_the_same_too() -> None:
    """Batches of one record fill the same blocks."""
    format = AvroFormat(AvroCodec.DEFLATE)
    assert file_of(format, ROWS, COUNT, range(COUNT)) == file_of(format, ROWS, COUNT)


def test_a_block_closes_with_the_record_that_fills_it() -> None:
    """64 KiB or the record that goes beyond; a record that is larger ends a block too; the rest is the last."""
    sizes = [40_000, 25_535, 1, 65_536, 65_534, 1, 200_000, 5, 6]
    schema = schema_of("bytes")
    rows = EncodedStructs([datum(bytes(size - (3 if size > 8192 else 1)), schema) for size in sizes], schema)
    assert [len(each) for each in rows.rows] == sizes
    found = list(blocks(file_of(AvroFormat(AvroCodec.NULL), rows, len(sizes))))
    assert found == [(3, 65_536), (1, 65_536), (3, 265_535), (2, 11)]


@pytest.mark.parametrize("avro", ["null", {"type": "record", "name": "Nothing", "fields": []}])
def test_records_of_no_bytes_fill_blocks_too(avro: Any) -> None:
    """A record that takes no bytes counts as one: no block has more than 64 Ki of them."""
    schema = schema_of(avro)
    rows = EncodedStructs([b""] * (BLOCK + 10), schema)
    body = file_of(AvroFormat(AvroCodec.NULL), rows, BLOCK + 10, range(0, BLOCK, 5_000))
    assert list(blocks(body)) == [(BLOCK, 0), (10, 0)]
    assert len(read(body)) == BLOCK + 10


def test_bytes_leave_as_blocks_close() -> None:
    """The header comes with the first records, a block as soon as it is full, and little stays behind."""
    encoder = AvroFormat(AvroCodec.NULL).open(ROW)
    ready, given = 0, 0
    for start in range(0, COUNT, 100):
        data, size = encoder.encode(ROWS, start, start + 100)
        assert size == sum(map(len, ROWS.rows[start : start + 100]))
        assert data or start
        ready, given = ready + len(data), given + size
        assert given - ready < BLOCK
    assert 0 < len(encoder.finish()) < BLOCK + 100


@given(st.integers(0, 50), st.integers(1, 60), st.integers(1, 9_000))
def test_rows_until_is_the_row_that_fills_the_room(start: int, count: int, room: int) -> None:
    """It is counted as `encode` counts, and asking changes nothing."""
    encoder = AvroFormat(AvroCodec.NULL).open(ROW)
    stop = start + count
    full = encoder.rows_until(ROWS, start, stop, room)
    ends = list(itertools.accumulate(len(each) for each in ROWS.rows[start:stop]))
    assert full == next((number for number, end in enumerate(ends, 1) if end >= room), None)
    taken = full or count
    data, size = encoder.encode(ROWS, start, start + taken)
    assert size == ends[taken - 1]
    assert read(data + encoder.finish()) == [row(number) for number in range(start, start + taken)]


@settings(suppress_health_check=[HealthCheck.too_slow])  # drawing text for the first time is
@given(st.data(), st.sampled_from(AvroCodec))
def test_any_schema_and_its_values_come_back(data: st.DataObject, codec: AvroCodec) -> None:
    """fastavro reads what it encoded: primitives, collections, named types, at the top and below."""
    schema = data.draw(avro_schemas(branches=False, recursive=True))
    values = data.draw(st.lists(values_of(schema), min_size=1, max_size=6))
    cuts = data.draw(st.lists(st.integers(0, 6), max_size=3))
    body = file_of(AvroFormat(codec), PlainStructs(values, schema), len(values), cuts)
    assert read(body) == values
    assert fastavro.reader(io.BytesIO(body)).metadata["avro.schema"] == schema.text


LOGICAL: list[tuple[Any, Any, Any]] = [
    ({"type": "int", "logicalType": "date"}, 1, datetime.date(1970, 1, 2)),
    ({"type": "int", "logicalType": "time-millis"}, 3_600_000, datetime.time(1)),
    (
        {"type": "long", "logicalType": "timestamp-millis"},
        1_700_000_000_123,
        datetime.datetime(2023, 11, 14, 22, 13, 20, 123_000, tzinfo=datetime.UTC),
    ),
    ({"type": "bytes", "logicalType": "decimal", "precision": 64, "scale": 2}, b"\x30\x39", Decimal("123.45")),
]


@pytest.mark.parametrize(("avro", "value", "meant"), LOGICAL, ids=[each[0]["logicalType"] for each in LOGICAL])
def test_logical_types_are_read_as_such(avro: Any, value: Any, meant: Any) -> None:
    """The header's schema says what the plain values mean."""
    schema = field_schema(avro)
    body = file_of(AvroFormat(AvroCodec.DEFLATE), PlainStructs([{"f": value}], schema), 1)
    assert read(body) == [{"f": meant}]


def test_another_schema_or_codec_has_another_marker() -> None:
    """The marker is repeatable, and not one for all files."""

    def marker(schema: Any, codec: AvroCodec) -> bytes:
        return file_of(AvroFormat(codec), EncodedStructs([b"\2"], schema_of(schema)), 1)[-16:]

    found = {marker("int", AvroCodec.NULL), marker("long", AvroCodec.NULL), marker("int", AvroCodec.DEFLATE)}
    assert len(found) == 3
    assert marker("int", AvroCodec.NULL) in found


def test_plain_and_deflated_files_need_no_arrow() -> None:
    """Of the codecs, only snappy and zstandard load pyarrow."""
    code = (
        "import sys; sys.path.insert(0, 'jobs')\n"
        "from kafka_s3.values.formats.avro import AvroFormat, AvroCodec\n"
        "from kafka_s3.avro.model import schema_of\n"
        "for codec in (AvroCodec.NULL, AvroCodec.DEFLATE, AvroCodec.BZIP2): AvroFormat(codec).open(schema_of('int'))\n"
        "assert 'pyarrow' not in sys.modules\n"
        "AvroFormat(AvroCodec.SNAPPY).open(schema_of('int'))\n"
        "assert 'pyarrow' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-I", "-c", code], check=True, timeout=60, cwd=Path(__file__).parents[3])
