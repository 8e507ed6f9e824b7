"""What readers find in an object: fastavro, pyarrow, json, gzip, bz2 and cramjam, none of which is ours."""

from __future__ import annotations

import bz2
import gzip
import io
import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import cramjam
import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

from kafka_s3.avro.model import full_name


def plain(body: bytes, key: str) -> bytes:
    """What an object of lines holds, by its extension."""
    match key.rpartition(".")[2]:
        case "gz":
            return gzip.decompress(body)
        case "bz2":
            return bz2.decompress(body)
        case "zst":
            return pa.CompressedInputStream(io.BytesIO(body), "zstd").read()
        case "snappy":
            return b"".join(bytes(cramjam.snappy.decompress_raw(block)) for block, _ in _hadoop(body))
        case "lz4":
            return b"".join(
                bytes(cramjam.lz4.decompress_block(block, output_len=size)) for block, size in _hadoop(body)
            )
    return body


def _hadoop(body: bytes) -> Iterator[tuple[bytes, int]]:
    """Blocks in Hadoop's framing, and their sizes before compression."""
    at = 0
    while at < len(body):
        size, packed = (int.from_bytes(body[start : start + 4], "big") for start in (at, at + 4))
        yield body[at + 8 : at + 8 + packed], size
        at += 8 + packed


def json_of(text: bytes) -> Any:
    """JSON whose numbers lose nothing: ints, and decimals for the others."""
    return json.loads(text, parse_float=Decimal)


def avro_values(body: bytes) -> list[Any]:
    """A container file's values as what they are stored as: a decimal is bytes, a timestamp a number.

    A branch of a union is its value.
    """
    blocks = fastavro.block_reader(io.BytesIO(body))
    assert isinstance(blocks.metadata, dict)
    schema = fastavro.parse_schema(_without_logic(json.loads(blocks.metadata["avro.schema"])))
    values: list[Any] = []
    for block in blocks:
        data = block.bytes_  # type: ignore[attr-defined]  # it has
        values += [fastavro.schemaless_reader(data, schema, None) for _ in range(block.num_records)]
        assert not data.read()
    return values


def _without_logic(avro: Any, namespace: str = "") -> Any:
    if isinstance(avro, list):
        return [_without_logic(each, namespace) for each in avro]
    if not isinstance(avro, dict):
        return avro
    if "name" in avro and avro.get("type") in ("record", "enum", "fixed"):
        namespace = full_name(avro, namespace).rpartition(".")[0]
    kept = {key: each for key, each in avro.items() if key not in ("logicalType", "default")}
    return {key: _without_logic(each, namespace) for key, each in kept.items()}


def parquet_rows(body: bytes) -> list[dict[str, Any]]:
    """A file's rows as what they are stored as: decimals are little-endian bytes, dates and times numbers."""
    table = pq.read_table(io.BytesIO(body))
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        array = column.combine_chunks()
        columns[name] = array.view(_stored(array.type)).to_pylist(maps_as_pydicts="strict")
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _stored(kind: pa.DataType) -> pa.DataType:
    types = pa.types
    if types.is_timestamp(kind) or types.is_time64(kind):
        return pa.int64()
    if types.is_date32(kind) or types.is_time32(kind):
        return pa.int32()
    if types.is_decimal(kind):
        return pa.binary(kind.bit_width // 8)
    if types.is_struct(kind):
        return pa.struct([each.with_type(_stored(each.type)) for each in kind])
    if types.is_map(kind):
        return pa.map_(kind.key_field, kind.item_field.with_type(_stored(kind.item_type)))
    if types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_stored(kind.value_type)))
    return kind
