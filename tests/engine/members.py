"""What is in the objects of a family: every format read back to plain values."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import fastavro
import pyarrow.parquet as pq

from kafka_s3.records import Record
from kafka_s3.settings import from_mapping
from kafka_s3.settings.model import Settings
from tests.support import MINIMAL

ENVELOPE = {"value.converter": "JsonConverter"}
PLAIN = {"value.converter": "JsonConverter", "value.converter.schemas.enable": "false"}
BYTES = {"value.converter": "ByteArrayConverter", "format.class": "ByteArrayFormat"}
KEYS = {"store.kafka.keys": "true"}
HEADERS = {"store.kafka.headers": "true"}
WRITE = {**KEYS, "behavior.on.null.values": "write"}
TOLERANT = {"errors.tolerance": "all"}


def settings_with(*more: Mapping[str, str]) -> Settings:
    """Settings of the smallest configuration with some properties more, later ones first."""
    properties = dict(MINIMAL)
    for each in more:
        properties.update(each)
    return from_mapping(properties, offline=True).settings


def enveloped(payload: Any, *fields: tuple[str, Any], version: int | None = None, name: str = "Order") -> bytes:
    """A value as JsonConverter writes a struct; a type is a name, or a whole schema."""
    listed = [{"field": field, **({"type": type} if isinstance(type, str) else type)} for field, type in fields]
    schema: dict[str, Any] = {"type": "struct", "name": name, "fields": listed}
    if version is not None:
        schema["version"] = version
    return json.dumps({"schema": schema, "payload": payload}).encode()


def rows_of(key: str, body: bytes) -> list[Any]:
    """The values of an object, by the end of its key."""
    if key.endswith(".parquet"):
        return list(pq.read_table(io.BytesIO(body)).to_pylist())
    if key.endswith(".avro"):
        return list(fastavro.reader(io.BytesIO(body)))
    plain = gzip.decompress(body) if key.endswith(".gz") else body
    lines = plain.removesuffix(b"\n").split(b"\n")
    return [json.loads(line) for line in lines] if ".json" in key else lines


def suffixed(key: str) -> tuple[str, str]:
    """A key up to its extension, and that."""
    folder, _, name = key.rpartition("/")
    stem, dot, extension = name.partition(".")
    return f"{folder}/{stem}", dot + extension


def record(offset: int, value: bytes | None, **more: Any) -> Record:
    """A record whose key and header say its offset."""
    given = {"key": f"k{offset}".encode(), "timestamp_ms": offset, "headers": (("at", b"%d" % offset),), **more}
    return Record(offset, value, **given)


Reader = Callable[[Sequence[Any]], Sequence[int]]
