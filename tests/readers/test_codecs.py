"""Objects of lines under every `s3.compression.type`, read by what chooses the codec by the extension."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import duckdb
import polars
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from bench.records import values
from kafka_s3.settings.formats import Bzip2, Compression, Gzip, Lz4, NoCompression, Snappy, Zstd
from kafka_s3.values.formats.compression import extension_suffix, name_of
from kafka_s3.values.formats.lines import LineFormat
from kafka_s3.values.rows import Lines

CODECS: tuple[Compression, ...] = (NoCompression(), Gzip(), Zstd(), Snappy(), Lz4(), Bzip2())
#: Others than the default, the last ones of each codec.
LEVELS: tuple[Compression, ...] = (Gzip(9), Zstd(19), Lz4(12), Bzip2(1))
LINES = list(values(12_000))  # some 2.5 MB: many frames, and several blocks of bzip2
WORDS = [json.loads(line)["words"] for line in LINES]


def written(folder: Path, codec: Compression, lines: list[bytes] | None = None) -> Path:
    """One object of lines, as the exporter names it."""
    lines = LINES if lines is None else lines
    made = LineFormat(f".json{extension_suffix(codec)}", b"\n", codec)
    encoder = made.open(None)
    path = folder / f"orders+0+0000000000{made.extension}"
    path.write_bytes(encoder.encode(Lines(lines), 0, len(lines))[0] + encoder.finish())
    return path


@pytest.mark.parametrize("codec", [*CODECS, *LEVELS], ids=str)
def test_spark_reads_every_codec(spark: SparkSession, codec: Compression, tmp_path: Path) -> None:
    """Every line once and as it was, as text and as JSON."""
    path = written(tmp_path, codec)
    assert [row.value.encode() for row in spark.read.text(str(path)).collect()] == LINES
    assert [row.words for row in spark.read.json(str(path)).select("words").collect()] == WORDS


@pytest.mark.parametrize("size", [20_000, 65_536, 131_072, 260_001])
def test_spark_may_split_bzip2_anywhere(spark: SparkSession, size: int, tmp_path: Path) -> None:
    """bzip2 is what Spark cuts into splits: wherever these begin, each line is in one of them."""
    path = written(tmp_path, Bzip2())
    spark.conf.set("spark.sql.files.maxPartitionBytes", str(size))
    try:
        rows = spark.read.text(str(path))
        assert rows.rdd.getNumPartitions() >= path.stat().st_size // size
        assert [row.value.encode() for row in rows.collect()] == LINES
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")


def _duckdb(path: Path) -> list[str]:
    return [words for (words,) in duckdb.sql(f"select words from read_json('{path}')").fetchall()]


def _polars(path: Path) -> list[str]:
    return polars.read_ndjson(path)["words"].to_list()


def _pyarrow(path: Path) -> list[str]:
    with pa.input_stream(str(path), compression="detect") as stream:
        return [json.loads(line)["words"] for line in stream.read().splitlines()]


_THREE = (_duckdb, _polars, _pyarrow)
_READ = [(read, codec) for read in _THREE for codec in (NoCompression(), Gzip(), Zstd(), Zstd(19))]


@pytest.mark.parametrize(
    ("read", "codec"), [*_READ, (_pyarrow, Bzip2())], ids=lambda given: getattr(given, "__name__", str(given))
)
def test_others_read_what_they_have(read: Callable[[Path], list[str]], codec: Compression, tmp_path: Path) -> None:
    """DuckDB and polars have gzip and zstd, pyarrow also bzip2: they find them by the extension."""
    assert read(written(tmp_path, codec)) == WORDS


@pytest.mark.parametrize("codec", [Snappy(), Lz4(), Bzip2()], ids=name_of)
def test_what_others_do_not_have_fails_there(codec: Compression, tmp_path: Path) -> None:
    """DuckDB and polars have none of these around a file of JSON: they fail instead of reading something."""
    path = written(tmp_path, codec)
    for read in (_duckdb, _polars):
        with pytest.raises((duckdb.Error, polars.exceptions.PolarsError)):
            read(path)
