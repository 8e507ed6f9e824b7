"""What AvroSerializer produced over the real registry is read back by everybody: the same rows, the same types.

`TYPES` says which type each reader gives each of Avro's. Two readers do not take everything:

* Spark 4 refuses a Parquet file with times of a day when it looks at its columns by itself; a schema of one's own
  that calls them bigint reads them.
* polars reads no Avro with maps, unions of several types, types that are only named, or defaults beside null; it
  reads all of them in Parquet.
"""

from __future__ import annotations

import datetime as dt
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

import duckdb
import fastavro
import polars
import pyarrow as pa
import pyarrow.json
import pyarrow.parquet as pq
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from kafka_s3.settings.formats import AvroCodec, ParquetCodec
from tests.readers.conftest import MakePlace
from tests.readers.everything import EVERYTHING, FIELDS, FIRST, KEY, ROWS, complete, registered
from tests.readers.place import AVRO, JSON, PARQUET, Connector, Place
from tests.values.formats.test_avro_objects import read as read_avro

MS, US = "Datetime(time_unit='ms', time_zone={})", "Datetime(time_unit='us', time_zone={})"
PLACE_POLARS = "Struct({'street': String, 'zip': String})"
PLACE_ARROW = "struct<street: string not null, zip: string>"
PLACE_DUCKDB = "STRUCT(street VARCHAR, zip VARCHAR)"
PLACE_SPARK = "struct<street:string,zip:string>"


class Types(NamedTuple):
    """Of one field. In Avro polars sees the same as in Parquet, but for enums."""

    arrow: str
    duckdb: str
    polars: str
    spark: str
    json: str  # what Spark takes JSON for


TYPES: dict[str, Types] = {
    "flag": Types("bool", "BOOLEAN", "Boolean", "boolean", "boolean"),
    "small": Types("int32", "INTEGER", "Int32", "int", "bigint"),
    "big": Types("int64", "BIGINT", "Int64", "bigint", "bigint"),
    "ratio": Types("float", "FLOAT", "Float32", "float", "double"),
    "amount": Types("double", "DOUBLE", "Float64", "double", "double"),
    "text": Types("string", "VARCHAR", "String", "string", "string"),
    "raw": Types("binary", "BLOB", "Binary", "binary", "string"),
    "hash": Types("fixed_size_binary[4]", "BLOB", "Binary", "binary", "string"),
    "suit": Types("string", "VARCHAR", "String", "string", "string"),
    "price": Types("decimal128(9, 2)", "DECIMAL(9,2)", "Decimal(precision=9, scale=2)", "decimal(9,2)", "string"),
    "total": Types("decimal128(12, 3)", "DECIMAL(12,3)", "Decimal(precision=12, scale=3)", "decimal(12,3)", "string"),
    "day": Types("date32[day]", "DATE", "Date", "date", "bigint"),
    "clock": Types("time32[ms]", "TIME", "Time", "bigint", "bigint"),
    "tick": Types("time64[us]", "TIME", "Time", "bigint", "bigint"),
    "moment": Types("timestamp[ms, tz=UTC]", "TIMESTAMP WITH TIME ZONE", MS.format("'UTC'"), "timestamp", "bigint"),
    "instant": Types("timestamp[us, tz=UTC]", "TIMESTAMP WITH TIME ZONE", US.format("'UTC'"), "timestamp", "bigint"),
    "wall": Types("timestamp[ms]", "TIMESTAMP", MS.format(None), "timestamp_ntz", "bigint"),
    "exact": Types("timestamp[us]", "TIMESTAMP", US.format(None), "timestamp_ntz", "bigint"),
    "key": Types("string", "VARCHAR", "String", "string", "string"),
    "home": Types(PLACE_ARROW, PLACE_DUCKDB, PLACE_POLARS, PLACE_SPARK, PLACE_SPARK),
    "tags": Types("list<element: string not null>", "VARCHAR[]", "List(String)", "array<string>", "array<string>"),
    "stops": Types(
        f"list<element: {PLACE_ARROW} not null>",
        f"{PLACE_DUCKDB}[]",
        f"List({PLACE_POLARS})",
        f"array<{PLACE_SPARK}>",
        f"array<{PLACE_SPARK}>",
    ),
    "counts": Types(
        "map<string, int64 ('counts')>",
        "MAP(VARCHAR, BIGINT)",
        "Map(String, Int64)",
        "map<string,bigint>",
        "struct<x:bigint,y:bigint>",
    ),
    "either": Types(
        "struct<int: int32, string: string, shop.Point: struct<x: double not null, y: double not null>>",
        'STRUCT("int" INTEGER, string VARCHAR, "shop.Point" STRUCT(x DOUBLE, y DOUBLE))',
        "Struct({'int': Int32, 'string': String, 'shop.Point': Struct({'x': Float64, 'y': Float64})})",
        "struct<int:int,string:string,shop.Point:struct<x:double,y:double>>",
        "struct<int:bigint,shop.Point:struct<x:double,y:double>,string:string>",
    ),
    "note": Types("string", "VARCHAR", "String", "string", "string"),
    "level": Types("int32", "INTEGER", "Int32", "int", "bigint"),
}

#: The rows as columns: a union of several types is a struct of them, and a UUID is text.
COLUMNS = [
    {**FIRST, "key": str(KEY), "either": {"int": None, "string": None, "shop.Point": {"x": 1.5, "y": 2.5}}},
    {**ROWS[1], "key": str(KEY), "either": {"int": 5, "string": None, "shop.Point": None}},
]
IN_JSON = [
    COLUMNS[0]
    | {"raw": "AP8=", "hash": "3q2+7w==", "price": "z8c=", "total": "AJa0Pw=="}
    | {"day": 19_675, "clock": 3_600_001, "tick": 3_600_000_001}
    | {"moment": 1_700_000_000_123, "instant": 1_700_000_000_123_456}
    | {"wall": 1_700_000_000_123, "exact": 1_700_000_000_123_456},
    COLUMNS[1]
    | {"raw": "", "hash": "3q2+7w==", "price": "AQ==", "total": "/w=="}
    | {"day": -1, "clock": 0, "tick": 86_399_999_999}
    | {"moment": -1, "instant": -1}
    | {"wall": 1_700_000_000_123, "exact": 1_700_000_000_123_456},
]
#: Readers that take objects for structs see every field in each of them.
AS_STRUCTS = [IN_JSON[0], {**IN_JSON[1], "counts": {"x": None, "y": None}}]
TIMES = ("clock", "tick")
ROW_TYPE = pa.schema([("n", pa.int64()), ("partition", pa.int64())])
NOT_FOR_POLARS = ("stops", "counts", "either", "level")


@dataclass(frozen=True)
class Exports:
    place: Place
    avro: Connector
    parquet: Connector
    json: Connector


@pytest.fixture(scope="module")
def exports(make_place: MakePlace) -> Exports:
    """One topic of two records with every type, exported in three formats."""
    place = make_place()
    place.send(registered(place), ROWS)
    return Exports(place, *(place.connector(f"as-{name}", format).exported() for name, format in FORMATS.items()))


FORMATS = {"avro": AVRO, "parquet": PARQUET, "json": JSON}


def partial(make_place: MakePlace, format: str, *without: str) -> Connector:
    """The same without some fields."""
    place = make_place()
    schema = complete({**EVERYTHING, "fields": [each for each in EVERYTHING["fields"] if each["name"] not in without]})
    place.send(json.dumps(schema), [_without(row, without) for row in ROWS])
    return place.connector("partial", format).exported()


def _without(row: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


def rows_of(frame: DataFrame) -> list[dict[str, Any]]:
    """Spark's rows, its timestamps in UTC: it collects them in this machine's zone."""
    moments = [each.name for each in frame.schema.fields if each.dataType.simpleString() == "timestamp"]
    rows = [row.asDict(recursive=True) for row in frame.collect()]
    return [row | {name: row[name].astimezone(dt.UTC) for name in moments} for row in rows]


def types_of(frame: DataFrame) -> dict[str, str]:
    return {each.name: each.dataType.simpleString() for each in frame.schema.fields}


def in_duckdb(query: str) -> tuple[dict[str, str], list[dict[str, Any]]]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone='UTC'")
        found = connection.sql(query)
        types = dict(zip(found.columns, map(str, found.types), strict=True))
        return types, [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]


# Avro.


def test_fastavro_reads_what_was_produced(exports: Exports) -> None:
    """Every value is the one that the producer had, with Python's own type: a date, a decimal, a UUID."""
    found = list(fastavro.reader(io.BytesIO(exports.avro.body())))
    assert found == ROWS
    for row, sent in zip(found, ROWS, strict=True):
        assert isinstance(row, dict)
        assert {name: type(value) for name, value in row.items()} == {name: type(each) for name, each in sent.items()}


def test_the_header_of_avro_is_the_producers_schema(exports: Exports) -> None:
    """Order, names, namespaces, documentation, defaults, aliases and symbols; the reference stands where it is used."""
    reader = fastavro.reader(io.BytesIO(exports.avro.body()))
    assert json.loads(reader.metadata["avro.schema"]) == complete(EVERYTHING)
    assert list(json.loads(reader.metadata["avro.schema"])["fields"][8]["type"]) == list(FIELDS["suit"])


def test_a_readers_own_schema_resolves(exports: Exports) -> None:
    """Aliases, promotions and defaults work for whoever reads with another schema, as Avro says."""
    wanted = {
        "type": "record",
        "name": "shop.Mine",
        "aliases": ["shop.Everything"],
        "fields": [
            {"name": "remark", "aliases": ["note"], "type": ["null", "string"]},
            {"name": "small", "type": "double"},
            {"name": "new", "type": "string", "default": "-"},
        ],
    }
    found = list(fastavro.reader(io.BytesIO(exports.avro.body()), reader_schema=wanted))
    assert found == [
        {"remark": "first", "small": -(2.0**31), "new": "-"},
        {"remark": None, "small": 2.0**31 - 1, "new": "-"},
    ]


def test_polars_reads_avro(make_place: MakePlace) -> None:
    """What it takes of Avro, as the same types that it sees in Parquet."""
    frame = polars.read_avro(io.BytesIO(partial(make_place, AVRO, *NOT_FOR_POLARS).body()))
    expected = {name: types.polars for name, types in TYPES.items() if name not in NOT_FOR_POLARS}
    assert {name: str(kind) for name, kind in frame.schema.items()} == {**expected, "suit": "Categorical"}
    assert frame.to_dicts() == [_without(row, NOT_FOR_POLARS) for row in COLUMNS]


# Parquet.


def test_pyarrow_reads_parquet(exports: Exports) -> None:
    """Columns of the type that each field means, in the schema's order; null only where the schema allows it."""
    found = pq.read_table(exports.parquet.file())
    assert {each.name: str(each.type) for each in found.schema} == {name: types.arrow for name, types in TYPES.items()}
    assert [each.name for each in found.schema if each.nullable] == ["either", "note"]
    rows = [row | {"counts": dict(row["counts"])} for row in found.to_pylist()]
    assert rows == COLUMNS
    assert list(rows[0]) == list(TYPES)


def test_the_metadata_of_parquet_holds_the_producers_schema(exports: Exports) -> None:
    """To the letter as in an Avro file of the same records."""
    kept = pq.read_metadata(exports.parquet.file()).metadata[b"parquet.avro.schema"]
    assert json.loads(kept) == complete(EVERYTHING)
    assert kept.decode() == fastavro.reader(io.BytesIO(exports.avro.body())).metadata["avro.schema"]


def test_polars_reads_parquet(exports: Exports) -> None:
    frame = polars.read_parquet(exports.parquet.file())
    assert {name: str(kind) for name, kind in frame.schema.items()} == {
        name: types.polars for name, types in TYPES.items()
    }
    assert frame.to_dicts() == COLUMNS


def test_duckdb_reads_parquet(exports: Exports) -> None:
    types, rows = in_duckdb(f"SELECT * FROM '{exports.parquet.file()}'")
    assert types == {name: each.duckdb for name, each in TYPES.items()}
    assert rows == COLUMNS


def test_spark_reads_parquet(make_place: MakePlace, spark: SparkSession) -> None:
    """By itself, all but times of a day."""
    frame = spark.read.parquet(partial(make_place, PARQUET, *TIMES).file())
    assert types_of(frame) == {name: types.spark for name, types in TYPES.items() if name not in TIMES}
    assert rows_of(frame) == [_without(row, TIMES) for row in COLUMNS]


def test_spark_reads_times_as_numbers(exports: Exports, spark: SparkSession) -> None:
    """Spark names what it does not take; told that they are bigint, it reads milliseconds and microseconds."""
    file = exports.parquet.file()
    with pytest.raises(AnalysisException, match=r"TIME\(MILLIS"):
        spark.read.parquet(file)
    columns = ", ".join(f"{name} {types.spark}" for name, types in TYPES.items())
    frame = spark.read.schema(columns.replace("shop.Point", "`shop.Point`")).parquet(file)
    numbers = [{name: row[name] for name in TIMES} for row in IN_JSON]
    assert rows_of(frame) == [row | more for row, more in zip(COLUMNS, numbers, strict=True)]


# JSON.


def test_json_lines_are_read(exports: Exports) -> None:
    """Python's own reader, in the schema's order: dates are numbers, bytes and decimals base64, as in Connect."""
    found = [json.loads(line) for line in exports.json.body().splitlines()]
    assert found == IN_JSON
    assert list(found[0]) == list(TYPES)


def test_pyarrow_reads_json(exports: Exports) -> None:
    """Types are those that it guesses: whole numbers, text, structs."""
    assert pyarrow.json.read_json(exports.json.file()).to_pylist() == AS_STRUCTS


def test_polars_reads_json(exports: Exports) -> None:
    assert polars.read_ndjson(exports.json.file()).to_dicts() == AS_STRUCTS


def test_duckdb_reads_json(exports: Exports) -> None:
    """A text that looks like a UUID is one."""
    types, rows = in_duckdb(f"SELECT * FROM read_json('{exports.json.file()}')")
    assert types["key"] == "UUID"
    assert rows == [row | {"key": KEY} for row in AS_STRUCTS]


def test_spark_reads_json(exports: Exports, spark: SparkSession) -> None:
    frame = spark.read.json(exports.json.file())
    assert types_of(frame) == {name: types.json for name, types in TYPES.items()}
    assert rows_of(frame) == AS_STRUCTS


def test_decimals_in_json_may_be_numbers(exports: Exports) -> None:
    """json.decimal.format=NUMERIC: to the last digit in the text, and numbers to readers of JSON."""
    connector = exports.place.connector("numeric", JSON, json_decimal_format="NUMERIC").exported()
    rows = [json.loads(line, parse_float=Decimal) for line in connector.body().splitlines()]
    assert [(row["price"], row["total"]) for row in rows] == [(row["price"], row["total"]) for row in ROWS]
    assert polars.read_ndjson(connector.file())["price"].to_list() == [-123.45, 0.01]
    assert in_duckdb(f"SELECT price FROM read_json('{connector.file()}')")[1] == [{"price": -123.45}, {"price": 0.01}]


# Values that are no records.


def test_plain_values_are_read(place: Place, spark: SparkSession) -> None:
    """Numbers are a file of numbers in Avro and JSON, and the column `value` in Parquet."""
    numbers = [1, -(2**40), 0]
    place.send('{"type": "long"}', numbers)
    assert list(fastavro.reader(io.BytesIO(place.connector("avro", AVRO).exported().body()))) == numbers
    assert [json.loads(line) for line in place.connector("json", JSON).exported().body().split()] == numbers
    file = place.connector("parquet", PARQUET).exported().file()
    assert pq.read_table(file)["value"].to_pylist() == numbers
    assert polars.read_parquet(file)["value"].to_list() == numbers
    assert [row["value"] for row in in_duckdb(f"SELECT value FROM '{file}'")[1]] == numbers
    assert [row["value"] for row in spark.read.parquet(file).collect()] == numbers


def test_a_tree_is_read_but_not_in_columns(place: Place) -> None:
    """A schema within itself is a file in Avro and in JSON; Parquet has no such columns, and the record is named."""
    tree = {"type": "record", "name": "shop.Tree", "fields": [{"name": "below", "type": ["null", "shop.Tree"]}]}
    value = {"below": {"below": {"below": None}}}
    place.send(json.dumps(tree), [value])
    assert list(fastavro.reader(io.BytesIO(place.connector("avro", AVRO).exported().body()))) == [value]
    assert json.loads(place.connector("json", JSON).exported().body()) == value
    report = place.connector("parquet", PARQUET).run()
    assert report.exit_status == 65
    assert f"topic {place.topic} partition 0 offset 0: " in report.problems()[0]
    assert "below" in report.problems()[0]


# Every codec.


@pytest.mark.parametrize("codec", [each.value for each in ParquetCodec])
def test_every_codec_of_parquet_is_read(exports: Exports, spark: SparkSession, codec: str) -> None:
    """By all four readers, whatever the name's extension is; Spark has no brotli of its own."""
    file = exports.place.connector(f"parquet-{codec.replace('_', '-')}", PARQUET, parquet_codec=codec).exported().file()
    texts = [row["text"] for row in ROWS]
    assert pq.read_table(file)["text"].to_pylist() == texts
    assert polars.read_parquet(file)["text"].to_list() == texts
    assert [row["text"] for row in in_duckdb(f"SELECT text FROM '{file}'")[1]] == texts
    if codec != "brotli":
        assert [row["text"] for row in spark.read.schema("text string").parquet(file).collect()] == texts


@pytest.mark.parametrize("codec", [each.value for each in AvroCodec])
def test_every_codec_of_avro_is_read(exports: Exports, codec: str) -> None:
    body = exports.place.connector(f"avro-{codec}", AVRO, avro_codec=codec).exported().body()
    assert fastavro.reader(io.BytesIO(body)).codec == codec
    assert read_avro(body) == ROWS


# Many files.


def test_a_folder_of_many_objects_is_one_table(make_place: MakePlace, spark: SparkSession) -> None:
    """Every reader sees every record once, and partition=0 in the paths as a column."""
    place = make_place(2)
    schema = json.dumps({"type": "record", "name": "shop.Row", "fields": [{"name": "n", "type": "long"}]})
    for partition in range(2):
        place.send(schema, [{"n": number} for number in range(partition, 500, 2)], partition=partition)
    folder = place.connector("many", PARQUET, flush_size="60").exported().folder() / "topics" / place.topic
    assert len(list(folder.glob("**/*.parquet"))) == 10
    everything = [{"n": number, "partition": number % 2} for number in range(500)]
    pattern = f"{folder}/**/*.parquet"
    assert pq.read_table(folder).sort_by("n").cast(ROW_TYPE).to_pylist() == everything
    assert polars.read_parquet(pattern, hive_partitioning=True).sort("n").to_dicts() == everything
    assert in_duckdb(f"SELECT * FROM read_parquet('{pattern}', hive_partitioning=true) ORDER BY n")[1] == everything
    assert [row.asDict() for row in spark.read.parquet(str(folder)).orderBy("n").collect()] == everything
