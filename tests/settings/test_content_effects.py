"""The effect of every property of what goes into objects: in keys and bytes, beside the same without it."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow.parquet as pq
import pytest

from kafka_s3.errors import ConfigurationError
from kafka_s3.ranges import TopicPartition
from kafka_s3.records import Record
from kafka_s3.report.preview import preview
from kafka_s3.settings import Loaded
from tests.write.members import HEADERS, KEYS, WRITE, enveloped, rows_of

Load = Callable[..., Loaded]
Objects = dict[str, bytes]
Seen = tuple[Mapping[str, str], str, Sequence[Record], Callable[[Objects], object], object]

ENVELOPE = {"value.converter": "JsonConverter"}
AVRO = {"format.class": "AvroFormat"}
PARQUET = {"format.class": "ParquetFormat"}
BLOCKS = {"format.class": "BlockGzipFormat"}
JSON_KEYS = {**KEYS, "keys.format.class": "JsonFormat"}
A_NULL = b'{"schema":{"type":"array","items":{"type":"int8","default":3,"optional":true}},"payload":[null]}'
JSON_HEADERS = {**HEADERS, "headers.format.class": "JsonFormat"}


def made(load_with: Load, more: Mapping[str, str], records: Sequence[Record]) -> Objects:
    bodies: Objects = {}
    settings = load_with({"flush.size": "100", **more}).settings
    preview(settings, [(TopicPartition("orders", 3), each) for each in records], bodies.__setitem__)
    return bodies


def files(objects: Objects) -> list[str]:
    """The names of objects below the topic, what all have in common left out."""
    return sorted(key.removeprefix("topics/orders/").replace("orders+3+000000000", "") for key in objects)


def rows(objects: Objects) -> list[Any]:
    """The rows of every object of values, in their order."""
    return [
        row
        for key, body in objects.items()
        if ".keys." not in key and ".headers." not in key
        for row in rows_of(key, body)
    ]


def beside(objects: Objects) -> list[Any]:
    """The rows of every companion."""
    return [row for key, body in objects.items() if ".keys." in key or ".headers." in key for row in rows_of(key, body)]


def counts(objects: Objects) -> list[int]:
    return [len(rows_of(key, body)) for key, body in objects.items()]


def row_groups(objects: Objects) -> list[int]:
    return [pq.ParquetFile(io.BytesIO(body)).num_row_groups for body in objects.values()]


def blocks(objects: Objects) -> list[int]:
    """How many gzip members each object has."""
    return [len(json.loads(body)["chunks"]) for key, body in objects.items() if key.endswith(".index.json")]


def codecs(objects: Objects) -> list[bool]:
    return [b"avro.codec\x0edeflate" in body for body in objects.values()]


DECIMAL = {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}}
DEFAULTED = {"type": "int32", "optional": True, "default": 7}
KEY = enveloped({"id": None}, ("id", DEFAULTED), name="Key")
PLAIN_RECORDS = [
    Record(n, b'{"n":%d}' % n if n < 4 else None, b'{"k":%d}' % n, 1000 + n, (("h", b"%d" % n),)) for n in range(5)
]
ALIVE = PLAIN_RECORDS[:4]
IN_ENVELOPES = [
    Record(n, enveloped({"n": n, "d": "ANI=", "o": None}, ("n", "int32"), ("d", DECIMAL), ("o", DEFAULTED)), KEY)
    for n in range(3)
]
VERSIONS = [
    Record(
        n,
        enveloped({"n": n, "m": n}, ("n", "int32"), ("m", {"type": "int32", "optional": True}), version=2)
        if n % 2
        else enveloped({"n": n}, ("n", "int32"), version=1),
    )
    for n in range(4)
]
WIDE = [Record(n, enveloped({"t": f"{n:04d}" * 1000}, ("t", "string"))) for n in range(600)]
LONG_LINES = [Record(n, b'"%04d"' % n) for n in range(40)]
ONE_BAD = [*ALIVE[:2], Record(2, b"{oops"), ALIVE[3]]
SCHEMA = {"type": "record", "name": "Order", "fields": [{"name": "n", "type": ["null", "double"], "default": None}]}
NS = [{"n": n} for n in range(4)]

#: Property: the configuration around it, its value, the records, what is looked at, what is then seen.
SEEN: dict[str, Seen] = {
    "value.converter.schemas.enable": (
        ENVELOPE | AVRO,
        "false",
        [Record(0, b'{"n":0}')],
        lambda o: [row["map"][0]["value"]["long"] for row in rows(o)],
        [0],
    ),
    "value.converter.replace.null.with.default": (
        ENVELOPE,
        "false",
        IN_ENVELOPES,
        lambda o: [row["o"] for row in rows(o)],
        [None] * 3,
    ),
    "schema.compatibility": (ENVELOPE | AVRO, "BACKWARD", VERSIONS, counts, [1, 3]),
    "store.kafka.keys": ({}, "true", ALIVE, files, ["partition=3/0.json", "partition=3/0.keys.avro"]),
    "store.kafka.headers": ({}, "true", ALIVE, files, ["partition=3/0.headers.avro", "partition=3/0.json"]),
    "keys.format.class": (KEYS, "JsonFormat", ALIVE, files, ["partition=3/0.json", "partition=3/0.keys.json"]),
    "headers.format.class": (
        HEADERS,
        "ParquetFormat",
        ALIVE,
        files,
        ["partition=3/0.headers.snappy.parquet", "partition=3/0.json"],
    ),
    "key.converter": (JSON_KEYS, "ByteArrayConverter", ALIVE[:1], beside, ["eyJrIjowfQ=="]),
    "key.converter.schemas.enable": (
        JSON_KEYS | {"key.converter": "JsonConverter"},
        "false",
        ALIVE,
        beside,
        [{"k": n} for n in range(4)],
    ),
    "key.converter.replace.null.with.default": (
        ENVELOPE | JSON_KEYS | {"key.converter": "JsonConverter"},
        "false",
        IN_ENVELOPES,
        beside,
        [{"id": None}] * 3,
    ),
    "header.converter": (
        JSON_HEADERS,
        "org.apache.kafka.connect.converters.ByteArrayConverter",
        ALIVE[:1],
        beside,
        [{"headers": [{"key": "h", "value": "MA=="}]}],
    ),
    "header.converter.schemas.enable": (
        JSON_HEADERS | {"header.converter": "JsonConverter"},
        "false",
        ALIVE[:1],
        beside,
        [{"headers": [{"key": "h", "value": "0"}]}],
    ),
    "header.converter.replace.null.with.default": (
        JSON_HEADERS | {"header.converter": "JsonConverter"},
        "false",
        [replace(ALIVE[0], headers=(("h", A_NULL),))],
        beside,
        [{"headers": [{"key": "h", "value": "[null]"}]}],
    ),
    "tombstone.encoded.partition": (
        WRITE,
        "gone",
        PLAIN_RECORDS,
        files,
        ["gone/4.keys.avro", "partition=3/0.json", "partition=3/0.keys.avro"],
    ),
    "avro.codec": (ENVELOPE | AVRO, "deflate", IN_ENVELOPES, codecs, [True]),
    "parquet.codec": (ENVELOPE | PARQUET, "zstd", IN_ENVELOPES, files, ["partition=3/0.zstd.parquet"]),
    "export.parquet.row.group.bytes": (ENVELOPE | PARQUET | {"flush.size": "1000"}, "1048576", WIDE, row_groups, [3]),
    "json.decimal.format": (ENVELOPE, "NUMERIC", IN_ENVELOPES, lambda o: [row["d"] for row in rows(o)], [2.1] * 3),
    "export.json.array": ({}, "true", ALIVE, lambda o: [json.loads(b"".join(o.values()))], [NS]),
    "compressed_block_size": (BLOCKS, "70", LONG_LINES, blocks, [4]),
    "export.value.schema": (PARQUET, json.dumps(SCHEMA), ALIVE, rows, [{"n": float(n)} for n in range(4)]),
    "export.envelope": ({}, "offset", ALIVE, lambda o: [row["_kafka_offset"] for row in rows(o)], [0, 1, 2, 3]),
    "export.envelope.prefix": (
        {"export.envelope": "offset"},
        "my_",
        ALIVE,
        lambda o: [row["my_offset"] for row in rows(o)],
        [0, 1, 2, 3],
    ),
    "errors.tolerance": ({}, "all", ONE_BAD, rows, [{"n": 0}, {"n": 1}, {"n": 3}]),
}


@pytest.mark.parametrize("name", SEEN)
def test_the_effect_of_a_property_on_what_objects_hold(load_with: Load, name: str) -> None:
    """Seen in keys or bytes, and not seen without it."""
    around, value, records, look, wanted = SEEN[name]
    assert look(made(load_with, {**around, name: value}, records)) == wanted
    with contextlib.suppress(ConfigurationError, KeyError, ValueError):  # nothing like it is there to be looked at
        assert look(made(load_with, around, records)) != wanted
