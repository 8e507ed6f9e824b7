"""The format classes, and under which of them a property is read."""

from __future__ import annotations

from typing import Final

from kafka_s3.settings.content import Format
from kafka_s3.settings.properties import Choice, Only

AVRO: Final = Format.AVRO.value
PARQUET: Final = Format.PARQUET.value
JSON: Final = Format.JSON.value
BYTE_ARRAY: Final = Format.BYTE_ARRAY.value
BLOCK_GZIP: Final = Format.BLOCK_GZIP.value

FORMATS: Final = tuple(Choice(name) for name in (JSON, BYTE_ARRAY, AVRO, PARQUET, BLOCK_GZIP))
KEYS_FORMATS: Final = tuple(Choice(name) for name in (JSON, BYTE_ARRAY, AVRO, PARQUET))
HEADERS_FORMATS: Final = (
    *(Choice(name) for name in (JSON, AVRO, PARQUET)),
    Choice(BYTE_ARRAY, refused=f"the headers of a record are no bytes: set {AVRO}, {JSON} or {PARQUET}"),
)

PARQUET_CODECS: Final = (
    *(Choice(name) for name in ("none", "gzip", "snappy")),
    Choice("lz4", refused="lz4 is Hadoop's own framing, which is not written: set lz4_raw, which Parquet has instead"),
    *(Choice(name) for name in ("brotli", "lz4_raw", "zstd")),
    Choice("lzo", refused="lzo is not written: set snappy, which is as fast, or zstd, which packs better"),
)

_TRANSITIVE: Final = (
    "compares a schema with all before it, and here as in the sink only the schemas of one object meet: set {}"
)
COMPATIBILITIES: Final = (
    *(Choice(name) for name in ("NONE", "BACKWARD", "FORWARD", "FULL")),
    *(
        Choice(f"{name}_TRANSITIVE", refused=f"{name}_TRANSITIVE {_TRANSITIVE.format(name)}")
        for name in ("BACKWARD", "FORWARD", "FULL")
    ),
)


def _written_as(name: str) -> Only:
    short = name.rpartition(".")[2]
    headers = Only("headers.format.class", (name,), own=False)
    keys = Only("keys.format.class", (name,), own=False, either=headers)
    return Only("format.class", (name,), f"only {short} reads it", own=False, either=keys)


AS_AVRO: Final = _written_as(AVRO)
AS_PARQUET: Final = _written_as(PARQUET)
AS_JSON: Final = _written_as(JSON)
