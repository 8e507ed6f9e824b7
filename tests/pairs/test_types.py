"""The table of types in docs/how-to/formats.md: each example is what its words say, in JSON and in Parquet."""

from __future__ import annotations

import io
from typing import Any

import pyarrow.parquet as pq
import pytest

from kafka_s3.avro.graph import graph
from kafka_s3.avro.model import Schema, schema_of
from kafka_s3.records import Record
from tests.avro.evolution import same
from tests.house.pages import page
from tests.pairs.exported import Exported, export, registries_of, settings_of
from tests.pairs.kinds import avro_bytes, kinds
from tests.pairs.readers import avro_values, parquet_rows
from tests.pairs.table import bare
from tests.pairs.types import TYPES, TypeExample, table_of_page

EXAMPLES = [
    pytest.param(example, id=f"{row.types}-{number}") for row in TYPES for number, example in enumerate(row.examples)
]


def exported(example: TypeExample, **more: str) -> tuple[Exported, Schema]:
    """A record of one field, and another one of the same value: many rows are read in another way than few."""
    fields = [{"name": "f", "type": example.avro}]
    schema = schema_of({"type": "record", "name": "n.Row", "fields": fields})
    raw = b"\0\0\0\0\1" + avro_bytes({"f": example.value}, graph(schema))
    given = {**kinds()["AvroConverter"].properties("value"), "errors.tolerance": "all", "flush.size": "100", **more}
    records = [Record(offset, raw) for offset in range(20)]
    return export(settings_of(given), records, registries=registries_of(schema)), schema


def body(found: Exported) -> bytes:
    [made] = found.objects.values()
    return made


def test_the_page_has_this_table() -> None:
    """The page says of every type what these examples are of."""
    assert table_of_page() in page("how-to/formats.md")


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_type_in_json(example: TypeExample) -> None:
    """The text of the field, letter by letter, with both ways of writing decimals."""
    for way, text in (("BASE64", example.text), ("NUMERIC", example.numeric or example.text)):
        found, _ = exported(example, **{"format.class": "JsonFormat", "json.decimal.format": way})
        assert body(found).decode() == f'{{"f":{text}}}\n' * 20


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_type_in_avro(example: TypeExample) -> None:
    """The same value under the same schema, whatever the type."""
    found, schema = exported(example, **{"format.class": "AvroFormat"})
    assert schema.text.encode() in body(found)
    for row in avro_values(body(found)):
        assert same(row, {"f": bare(example.value)})


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_type_in_columns(example: TypeExample) -> None:
    """The column's type, and the value in it; what has no column is refused, and says so."""
    found, _ = exported(example, **{"format.class": "ParquetFormat"})
    if not example.column:
        assert not found.objects
        assert len(found.refused) == 20
        assert all("AvroFormat and JsonFormat can hold it" in each.reason for each in found.refused.values())
        return
    column = pq.read_table(io.BytesIO(body(found))).schema.field("f")
    assert str(column.type).replace(" ('f')", "") == example.column
    rows: list[Any] = [row["f"] for row in parquet_rows(body(found))]
    if example.column.startswith("decimal"):
        rows = [int.from_bytes(row, "little", signed=True) for row in rows]
    assert len(rows) == 20
    assert all(same(row, example.stored) for row in rows)
