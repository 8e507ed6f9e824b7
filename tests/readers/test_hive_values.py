"""Values with `=` and `/` in folders `name=value`, as readers of Hive's partitions take them.

Connect's sink leaves `=` as it is, and so do we: keys stay those of its exports. `/` is `%2F`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import duckdb
import polars
import pyarrow.dataset
import pytest
from pyspark.sql import SparkSession

from tests.write.members import ENVELOPE, enveloped, record, settings_with, write

FIELD = {
    "format.class": "ParquetFormat",
    "partitioner.class": "FieldPartitioner",
    "partition.field.name": "country",
    "flush.size": "100",
}
#: The path under the topic, decoded by nobody.
VALUES: Mapping[str, str] = {"x=y/z": "country=x=y%2Fz", "plain": "country=plain", "a%": "country=a%25"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An export of a record for each value, as files. The column stands in the path alone, as readers expect."""
    fields = ("country", "string"), ("n", "int32")
    records = [
        record(number, enveloped({"country": value, "n": number}, *fields)) for number, value in enumerate(VALUES)
    ]
    made = write(settings_with(ENVELOPE, FIELD), records)
    for key, body in made.store.contents().items():
        path = tmp_path / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
    topic = tmp_path / "topics" / "orders"
    assert {each.name for each in topic.iterdir()} == set(VALUES.values())
    return topic


def rows(folder: Path, columns: str, options: str) -> list[tuple[object, ...]]:
    query = f"SELECT {columns} FROM read_parquet('{folder}/*/*.parquet', {options}) ORDER BY n"
    with duckdb.connect() as connection:
        return connection.sql(query).fetchall()


def test_duckdb_takes_no_second_equals_sign(folder: Path) -> None:
    """It splits folders at each `=`, and refuses all of the files; without such a value it reads them."""
    with pytest.raises(duckdb.BinderException, match="Hive partition mismatch"):
        rows(folder, "n", "hive_partitioning=true")


def test_duckdb_reads_the_folder_out_of_the_files_name(folder: Path) -> None:
    """The way out, beside `hive_partitioning=false`; values are those that were written."""
    country = "url_decode(regexp_extract(filename, '/country=([^/]*)/', 1))"
    found = rows(folder, country, "hive_partitioning=false, filename=true")
    assert [value for (value,) in found] == list(VALUES)


def test_duckdb_reads_the_column_of_the_file(folder: Path) -> None:
    """The field stays in the record, so that no path is needed at all."""
    found = rows(folder, "country", "hive_partitioning=false")
    assert [value for (value,) in found] == list(VALUES)


def test_pyarrow_and_spark_read_every_value(folder: Path, spark: SparkSession) -> None:
    """They split a folder at its first `=`."""
    schema = pyarrow.schema([("country", pyarrow.string()), ("n", pyarrow.int32())])
    table = pyarrow.dataset.dataset(folder, schema=schema, partitioning="hive").to_table().sort_by("n")
    assert table["country"].to_pylist() == list(VALUES)
    found = spark.read.option("basePath", str(folder)).parquet(str(folder)).orderBy("n").collect()
    assert [row.country for row in found] == list(VALUES)


def test_polars_reads_the_column_of_the_file(folder: Path) -> None:
    """Without Hive's partitions: it takes no second `=` either."""
    found = polars.read_parquet(f"{folder}/*/*.parquet", hive_partitioning=False).sort("n")
    assert found["country"].to_list() == list(VALUES)
