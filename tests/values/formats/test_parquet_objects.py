"""Parquet files: what readers find in them, and that their bytes follow from the records alone."""

from __future__ import annotations

import datetime
import hashlib
import io
import itertools
import json
import subprocess
import sys
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_s3.avro.arrow import DEPTH_MAX, ColumnsError, arrow_type, from_values
from kafka_s3.avro.model import Branch, schema_of
from kafka_s3.settings.formats import ParquetCodec
from kafka_s3.values.formats.parquet import ParquetFormat
from tests.avro.strategies import avro_schemas, values_of
from tests.values.formats.structs import ROW, PlainStructs, field_schema, file_of, row

COUNT = 2_000
ROWS = PlainStructs([row(number) for number in range(COUNT)], ROW)
LARGE = 128 << 20
SMALL = 20_000

CODECS: Mapping[ParquetCodec, tuple[str, str]] = {
    ParquetCodec.NONE: (".parquet", "UNCOMPRESSED"),
    ParquetCodec.GZIP: (".gz.parquet", "GZIP"),
    ParquetCodec.SNAPPY: (".snappy.parquet", "SNAPPY"),
    ParquetCodec.LZ4_RAW: (".lz4raw.parquet", "LZ4_RAW"),
    ParquetCodec.BROTLI: (".br.parquet", "BROTLI"),
    ParquetCodec.ZSTD: (".zstd.parquet", "ZSTD"),
}


def table(body: bytes) -> pa.Table:
    return pq.read_table(io.BytesIO(body))


def rows_of(body: bytes) -> list[Any]:
    return list(table(body).to_pylist(maps_as_pydicts="strict"))


def in_duckdb(body: bytes, tmp_path: Path, query: str = "SELECT * FROM file") -> list[Any]:
    path = tmp_path / "file.parquet"
    path.write_bytes(body)
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(f"CREATE VIEW file AS SELECT * FROM read_parquet('{path}')")
        answer = connection.execute(query.replace("PATH", f"'{path}'"))
        names = [each[0] for each in answer.description or ()]
        return [dict(zip(names, each, strict=True)) for each in answer.fetchall()]


@pytest.mark.parametrize("codec", ParquetCodec)
def test_every_codec_holds_the_same_rows(codec: ParquetCodec, tmp_path: Path) -> None:
    """pyarrow, duckdb and polars read every record back, in order, and the name says the codec."""
    format = ParquetFormat(codec, SMALL)
    extension, name = CODECS[codec]
    assert format.extension == extension
    body = file_of(format, ROWS, COUNT)
    assert rows_of(body) == list(ROWS.rows)
    assert in_duckdb(body, tmp_path) == list(ROWS.rows)
    found = in_duckdb(body, tmp_path, "SELECT DISTINCT compression FROM parquet_metadata(PATH)")
    assert found == [{"compression": name}]
    assert polars.read_parquet(io.BytesIO(body)).to_dicts() == ROWS.rows


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(ParquetCodec),
    st.integers(1, COUNT),
    st.sampled_from([1, 700, SMALL, LARGE]),
    st.lists(st.integers(0, COUNT), max_size=8),
)
def test_the_bytes_do_not_depend_on_the_cuts(codec: ParquetCodec, count: int, row_group: int, cuts: list[int]) -> None:
    """However records are cut into calls, the object's SHA-256 is the same."""
    count = min(count, 40) if row_group < SMALL else count

    def sha256(*cuts: int) -> str:
        return hashlib.sha256(file_of(ParquetFormat(codec, row_group), ROWS, count, cuts)).hexdigest()

    assert sha256(*cuts) == sha256()


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.data())
def test_any_schema_and_its_values_come_back(data: st.DataObject) -> None:
    """Whatever the schema, pyarrow reads the same columns, and the bytes are the same for all cuts and row groups."""
    schema = data.draw(avro_schemas(logical=True, record=True))
    values = data.draw(st.lists(values_of(schema), min_size=1, max_size=8))
    cuts = data.draw(st.lists(st.integers(0, 8), max_size=3))
    format = ParquetFormat(ParquetCodec.SNAPPY, data.draw(st.sampled_from([1, 50, 300, LARGE])))
    rows = PlainStructs(values, schema)
    try:
        type = arrow_type(schema)
    except ColumnsError:
        assert '"fields":[]' in schema.text
        return
    body = file_of(format, rows, len(values), cuts)
    assert body == file_of(format, rows, len(values))
    found = table(body)
    assert found.schema.remove_metadata() == pa.schema(list(type))
    assert pa.concat_arrays(found.to_struct_array().chunks).equals(from_values(values, schema))


def test_one_by_one_is_the_same_too() -> None:
    """Batches of one record make the same row groups, and are put together as they come."""
    format = ParquetFormat(ParquetCodec.ZSTD, 60_000)
    body = file_of(format, ROWS, COUNT)
    assert file_of(format, ROWS, COUNT, range(COUNT)) == body
    assert pq.read_metadata(io.BytesIO(body)).num_row_groups > 2


def test_a_row_group_closes_with_the_record_that_fills_it() -> None:
    """Row groups are as large as the limit asks, to the record, whatever the batches; the rest is the last."""
    schema = field_schema("bytes")
    rows = PlainStructs([{"f": bytes(size)} for size in [996, 1] * 50 + [5_000, 1]], schema)
    # A text of n bytes takes n, its offset and two bits: 1,000 and 5 bytes and a little.
    for cuts in ([], [7], range(102)):
        body = file_of(ParquetFormat(ParquetCodec.NONE, 10_000), rows, 102, cuts)
        groups = [pq.read_metadata(io.BytesIO(body)).row_group(index) for index in range(6)]
        assert [group.num_rows for group in groups] == [19, 20, 20, 20, 20, 3]


def test_bytes_leave_as_row_groups_close() -> None:
    """What an encoder holds back is one row group and the file's end."""
    encoder = ParquetFormat(ParquetCodec.NONE, 50_000).open(ROW)
    ready = []
    for start in range(0, COUNT, 100):
        data, size = encoder.encode(ROWS, start, start + 100)
        assert size == sum(ROWS.part(start, start + 100).sizes())
        ready.append(len(data))
    last = encoder.finish()
    groups = pq.read_metadata(io.BytesIO(b"".join([b"\0" * sum(ready), last]))).num_row_groups
    assert sum(size > 1_000 for size in ready) == groups - 1 > 2


@given(st.integers(0, 50), st.integers(1, 60), st.integers(1, 20_000))
def test_rows_until_is_the_row_that_fills_the_room(start: int, count: int, room: int) -> None:
    """It is counted as `encode` counts: by the sizes of the rows."""
    encoder = ParquetFormat(ParquetCodec.NONE, LARGE).open(ROW)
    ends = list(itertools.accumulate(ROWS.part(start, start + count).sizes()))
    full = encoder.rows_until(ROWS, start, start + count, room)
    assert full == next((number for number, end in enumerate(ends, 1) if end >= room), None)
    assert encoder.encode(ROWS, start, start + (full or count))[1] == ends[(full or count) - 1]


def logical(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": name, **more}


MOMENT = datetime.datetime(2023, 11, 14, 22, 13, 20, 123_000, tzinfo=datetime.UTC)
LOGICAL: list[tuple[Any, Any, Any, str]] = [
    (logical("int", "date"), 19_675, datetime.date(2023, 11, 14), "DATE"),
    (logical("int", "time-millis"), 3_600_001, datetime.time(1, 0, 0, 1_000), "TIME"),
    (logical("long", "time-micros"), 3_600_000_001, datetime.time(1, 0, 0, 1), "TIME"),
    (
        logical("long", "timestamp-millis"),
        1_700_000_000_123,
        MOMENT,
        "TIMESTAMP WITH TIME ZONE",
    ),
    (
        logical("long", "timestamp-micros"),
        1_700_000_000_123_000,
        MOMENT,
        "TIMESTAMP WITH TIME ZONE",
    ),
    (logical("long", "local-timestamp-millis"), 1_700_000_000_123, MOMENT.replace(tzinfo=None), "TIMESTAMP"),
    (logical("long", "local-timestamp-micros"), 1_700_000_000_123_000, MOMENT.replace(tzinfo=None), "TIMESTAMP"),
    (logical("bytes", "decimal", precision=9, scale=2), b"\xcf\xc7", Decimal("-123.45"), "DECIMAL(9,2)"),
    ({"type": "int", "connect.type": "int8"}, -128, -128, "TINYINT"),
    ({"type": "int", "connect.type": "int16"}, 300, 300, "SMALLINT"),
    (
        logical("string", "uuid"),
        "f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
        "f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
        "VARCHAR",
    ),
]


@pytest.mark.parametrize(("avro", "value", "meant", "type"), LOGICAL, ids=[str(each[0]) for each in LOGICAL])
def test_logical_types_are_columns_of_their_kind(avro: Any, value: Any, meant: Any, type: str, tmp_path: Path) -> None:
    """Three readers see dates, times, moments and decimals, not numbers; nulls stay nulls."""
    rows = PlainStructs([{"f": value}, {"f": None}], field_schema(["null", avro]))
    body = file_of(ParquetFormat(ParquetCodec.SNAPPY, LARGE), rows, 2)
    expected = [{"f": meant}, {"f": None}]
    assert rows_of(body) == expected
    assert polars.read_parquet(io.BytesIO(body)).to_dicts() == expected
    assert in_duckdb(body, tmp_path, "SELECT typeof(f) AS type FROM file LIMIT 1") == [{"type": type}]
    shown = in_duckdb(body, tmp_path, "SELECT CAST(f AS VARCHAR) AS f FROM file WHERE f IS NOT NULL")
    assert shown == [{"f": _shown(meant)}]


def _shown(meant: Any) -> str:
    """As duckdb shows it."""
    if isinstance(meant, datetime.datetime):
        return f"{meant:%Y-%m-%d %H:%M:%S}.123{'+00' if meant.tzinfo else ''}"
    return str(meant).rstrip("0") if isinstance(meant, datetime.time) else str(meant)


def test_connects_decimals_of_64_digits_are_columns() -> None:
    """AvroData writes every decimal with a precision of 64: pyarrow reads it exactly."""
    rows = PlainStructs([{"f": b"\x30\x39"}], field_schema(logical("bytes", "decimal", precision=64, scale=2)))
    found = table(file_of(ParquetFormat(ParquetCodec.SNAPPY, LARGE), rows, 1))
    assert found.schema.field("f").type == pa.decimal256(64, 2)
    assert found.to_pylist() == [{"f": Decimal("123.45")}]


def test_columns_say_what_may_be_null() -> None:
    """Parquet's own schema has required and optional fields as Avro has them, and lists as its specification says."""
    found = str(pq.ParquetFile(io.BytesIO(file_of(ParquetFormat(ParquetCodec.NONE, LARGE), ROWS, 1))).schema)
    for line in (
        "required int64 field_id=-1 id;",
        "required binary field_id=-1 name (String);",
        "optional binary field_id=-1 note (String);",
        "required fixed_len_byte_array(3) field_id=-1 raw;",
        "required group field_id=-1 tags (List) {\n    repeated group field_id=-1 list {\n      required group",
        "required group field_id=-1 counts (Map) {\n    repeated group field_id=-1 key_value {",
        "optional group field_id=-1 at {\n    required float field_id=-1 x;",
    ):
        assert line in found


def test_the_file_keeps_the_avro_schema_and_nothing_of_arrow() -> None:
    """Under the key of parquet-avro, to the letter; types are Parquet's alone; there are statistics."""
    metadata = pq.read_metadata(io.BytesIO(file_of(ParquetFormat(ParquetCodec.NONE, LARGE), ROWS, COUNT)))
    assert metadata.metadata == {b"parquet.avro.schema": ROW.text.encode()}
    ids = metadata.row_group(0).column(0)
    assert (ids.statistics.min, ids.statistics.max) == (0, (COUNT - 1) * 7919)


@pytest.mark.parametrize(
    ("avro", "values", "expected"),
    [
        ("string", ["", "k"], ["", "k"]),
        (["null", "long"], [1, None], [1, None]),
        ({"type": "array", "items": "int"}, [[1], []], [[1], []]),
        (
            ["int", "string"],
            [Branch("int", 1), Branch("string", "")],
            [{"int": 1, "string": None}, {"int": None, "string": ""}],
        ),
        ({"type": "enum", "name": "n.E", "symbols": ["A", "B"]}, ["B", "A"], ["B", "A"]),
    ],
    ids=str,
)
def test_what_is_no_record_is_one_column(avro: Any, values: list[Any], expected: list[Any]) -> None:
    """A key that is text, or a list, is the column of the given name, and the Avro schema says so too."""
    rows = PlainStructs(values, schema_of(avro))
    for cuts in ([], [1]):
        body = file_of(ParquetFormat(ParquetCodec.NONE, LARGE, wrap="key"), rows, len(values), cuts)
        assert rows_of(body) == [{"key": value} for value in expected]
    kept = json.loads(pq.read_metadata(io.BytesIO(body)).metadata[b"parquet.avro.schema"])
    assert kept == {"type": "record", "name": "RecordKey", "fields": [{"name": "key", "type": avro}]}
    assert pq.read_schema(io.BytesIO(body)).field("key").nullable is (avro == ["null", "long"])


@pytest.mark.parametrize("avro", [ROW.avro, ["null", ROW.avro], [ROW.avro, "null"]])
def test_a_record_that_might_be_missing_has_columns_of_its_own(avro: Any) -> None:
    """A union of a record and null is the record: a null at the top is a tombstone, which is not a row."""
    rows = PlainStructs(ROWS.rows[:20], schema_of(avro))
    assert rows_of(file_of(ParquetFormat(ParquetCodec.NONE, LARGE, wrap="key"), rows, 20)) == list(ROWS.rows[:20])


@pytest.mark.parametrize("kind", [("array", "items"), ("map", "values")])
def test_what_is_as_deep_as_it_may_be_can_be_read(kind: tuple[str, str]) -> None:
    """Readers have limits too: pyarrow and polars read the deepest columns that are written.

    duckdb 2.0 takes twice the time for each level, half a second at 20, so that it is not asked.
    """
    avro: Any = "int"
    value: Any = 7
    for _ in range(DEPTH_MAX - 1):
        avro = {"type": kind[0], kind[1]: avro}
        value = [value] if kind[0] == "array" else {"a": value}
    body = file_of(ParquetFormat(ParquetCodec.NONE, LARGE), PlainStructs([{"f": value}], field_schema(avro)), 1)
    assert rows_of(body) == [{"f": value}]
    assert polars.read_parquet(io.BytesIO(body)).to_dicts() == [{"f": value}]


def test_a_recursive_schema_is_refused_when_an_object_opens() -> None:
    """Before any record, with a reason for people."""
    schema = schema_of({"type": "record", "name": "n.T", "fields": [{"name": "again", "type": ["null", "n.T"]}]})
    with pytest.raises(ColumnsError, match="the field again is n.T inside n.T"):
        ParquetFormat(ParquetCodec.SNAPPY, LARGE).open(schema)


MEMORY = """
import random, re, sys
sys.path[:0] = ["jobs", "."]
from kafka_s3.values.formats.parquet import ParquetFormat
from kafka_s3.settings.formats import ParquetCodec
from tests.values.formats.structs import ROW, PlainStructs, field_schema, row

if sys.argv[1] == "rows":
    rows = PlainStructs([row(number) for number in range(20_000)], ROW)
else:
    chance = random.Random(7)
    rows = PlainStructs([{"f": chance.randbytes(200)} for _ in range(20_000)], field_schema("bytes"))
encoder = ParquetFormat(ParquetCodec.SNAPPY, 128 << 20).open(rows.schemas)
size = 0
for _ in range(150):
    for start in range(0, 20_000, 2_000):
        size += len(encoder.encode(rows, start, start + 2_000)[0])
assert size > 0
encoder.finish()
print(int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) // 1024)
"""


@pytest.mark.trial
@pytest.mark.parametrize("kind", ["rows", "noise"])
def test_row_groups_of_128_mib_fit_into_a_gigabyte(kind: str) -> None:
    """Some row groups of the default size, of small fields or of noise: the whole process stays below 1 GiB."""
    command = [sys.executable, "-c", MEMORY, kind]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[3])
    peak_mib = int(done.stdout)
    assert peak_mib < 1024, f"{peak_mib} MiB at most"
