"""Ranges whose objects' hashes are asked for twice: every format, every codec, and everything that lies beside values.

`python -m tests.pairs.plans CUT` prints the hashes, for processes that are to agree; batches have CUT records. With
`--last-first`, the process has written the second halves of the ranges before.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from kafka_s3.adapters.memory.registry import MemoryRegistry
from kafka_s3.avro.graph import graph
from kafka_s3.avro.model import Schema, schema_of
from kafka_s3.ports import RegisteredSchema, Registries
from kafka_s3.records import Record
from kafka_s3.settings.converters import Converter
from kafka_s3.settings.formats import AvroCodec, Format, ParquetCodec
from kafka_s3.settings.model import Settings
from tests.pairs.exported import export, settings_of
from tests.pairs.kinds import PLAIN, avro_bytes, kinds
from tests.pairs.table import OWN

COUNT = 300
_PARTS = 700  # bytes of a part: most objects have several
FIELDS = [
    {"name": "id", "type": "long"},
    {"name": "name", "type": ["null", "string"]},
    {"name": "tags", "type": {"type": "map", "values": "double"}},
    {"name": "hue", "type": {"type": "enum", "name": "n.Hue", "symbols": ["RED", "BLUE"]}},
    {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
]
FIRST = schema_of({"type": "record", "name": "n.Row", "fields": FIELDS})
SECOND = schema_of({"type": "record", "name": "n.Row", "fields": [*FIELDS, {"name": "more", "type": ["null", "int"]}]})


@dataclass(frozen=True)
class Plan:
    """A configuration, and the records of a range."""

    properties: Mapping[str, str]
    records: Sequence[Record]
    registries: Registries = Registries()

    def settings(self, flush_size: int, part_size: int = _PARTS) -> Settings:
        made = settings_of({**self.properties, "flush.size": str(flush_size), "errors.tolerance": "all"})
        return replace(made, limits=replace(made.limits, part_size_bytes=part_size))

    def hashes(
        self, cuts: Iterable[int], flush_size: int, part_size: int = _PARTS, *, careful: bool = False
    ) -> dict[str, str]:
        """The SHA-256 of every object by its key, and what was left out."""
        settings = self.settings(flush_size, part_size)
        found = export(settings, self.records, registries=self.registries, cuts=cuts, careful=careful)
        made = {key: hashlib.sha256(body).hexdigest() for key, body in found.objects.items()}
        said = {each.key: each.sha256 for written in found.written.objects for each in written.upload.objects}
        assert made == said
        return made | {f"refused {offset}": why.reason for offset, why in found.refused.items()}


def value(number: int) -> dict[str, object]:
    """Of FIRST."""
    return {
        "id": number * 7919 % 1000,
        "name": None if number % 7 == 0 else f"größe {number * 2654435761 % 2**20}",
        "tags": {f"t{each}": each / 8 for each in range(number % 4)},
        "hue": "RED" if number % 3 else "BLUE",
        "price": (number * 31 - 4000).to_bytes(4, "big", signed=True),
    }


def _around(values: Iterable[bytes | None]) -> list[Record]:
    """Records with keys, times and headers; offsets have holes."""
    return [
        Record(
            number + number // 50 * 3,
            raw,
            key=f"k{number % 17}".encode(),
            timestamp_ms=1_700_000_000_000 + number * 1000,
            headers=(("a", b"x"), ("n", str(number).encode())),
        )
        for number, raw in enumerate(values)
    ]


@cache
def avro_records() -> Sequence[Record]:
    """Two versions that take turns, tombstones, and values that are none."""
    made: list[bytes | None] = []
    for number in range(COUNT):
        turn = number % 40
        if turn in (11, 12):
            made.append(None)
        elif turn == 23:
            made.append(b"\0\0\0\0\1broken")
        elif number // 5 % 3:
            made.append(b"\0\0\0\0\1" + avro_bytes(value(number), graph(FIRST)))
        else:
            made.append(b"\0\0\0\0\2" + avro_bytes({**value(number), "more": number}, graph(SECOND)))
    return _around(made)


@cache
def json_records() -> Sequence[Record]:
    texts = [json.dumps({"id": number, "name": f"größe {number * 2654435761 % 2**20}"}) for number in range(COUNT)]
    return _around(b"{broken" if number % 31 == 30 else text.encode() for number, text in enumerate(texts))


def _avro(**properties: str) -> Plan:
    given = {**kinds()["AvroConverter"].properties("value"), "behavior.on.null.values": "ignore", **_dots(properties)}
    return Plan(given, avro_records(), _registered(FIRST, SECOND))


def _json(kind: str, **properties: str) -> Plan:
    return Plan({**kinds()[kind].properties("value"), **_dots(properties)}, json_records())


def _dots(properties: Mapping[str, str]) -> dict[str, str]:
    return {name if name == _BLOCK else name.replace("_", "."): text for name, text in properties.items()}


def _registered(*schemas: Schema) -> Registries:
    """With versions, which schema.compatibility asks for."""
    schemas_by_id = {id: RegisteredSchema(id, schema.text) for id, schema in enumerate(schemas, 1)}
    registry = MemoryRegistry(schemas_by_id, every_subject={id: id for id in schemas_by_id})
    return Registries(registry, registry)


_BESIDE = {
    "store_kafka_keys": "true",
    "store_kafka_headers": "true",
    "export_envelope": "topic,partition,offset,timestamp,key,headers",
}
_BLOCK = "compressed_block_size"
_CODECS = ("zstd", "snappy", "lz4", "bzip2")
_BYTES = Converter.BYTE_ARRAY.value.rpartition(".")[2]
_AVRO, _PARQUET, _JSON = Format.AVRO.value, Format.PARQUET.value, Format.JSON.value


@cache
def plans() -> Mapping[str, Plan]:
    made = {
        "json": _avro(format_class=_JSON),
        "json gzip": _avro(format_class=_JSON, s3_compression_type="gzip"),
        "json gzip 6": _avro(format_class=_JSON, s3_compression_type="gzip", s3_compression_level="6"),
        **{f"json {codec}": _avro(format_class=_JSON, s3_compression_type=codec) for codec in _CODECS},
        "json array": _avro(format_class=_JSON, export_json_array="true", json_decimal_format="NUMERIC"),
        "json text": _json(PLAIN, format_class=_JSON),
        "json text gzip": _json(PLAIN, format_class=_JSON, s3_compression_type="gzip"),
        "anything": _json(PLAIN, format_class=_AVRO),
        "bytes": _json(_BYTES, format_class=Format.BYTE_ARRAY.value),
        "bytes gzip": _json(_BYTES, format_class=Format.BYTE_ARRAY.value, s3_compression_type="gzip"),
        "csv": _json(_BYTES, format_class=Format.CSV.value),
        "block gzip": _json(PLAIN, format_class=Format.BLOCK_GZIP.value, compressed_block_size="500"),
        "own": _json(_BYTES, format_class=OWN.path),
        "own gzip": _json(_BYTES, format_class=OWN.path, s3_compression_type="gzip"),
        **{f"avro {codec.value}": _avro(format_class=_AVRO, avro_codec=codec.value) for codec in AvroCodec},
        **{f"parquet {codec.value}": _avro(format_class=_PARQUET, parquet_codec=codec.value) for codec in ParquetCodec},
        "backward": _avro(format_class=_PARQUET, schema_compatibility="BACKWARD"),
        "by field, backward": _avro(
            format_class=_AVRO,
            partitioner_class="FieldPartitioner",
            partition_field_name="hue",
            schema_compatibility="BACKWARD",
        ),
        "few open": _json(
            PLAIN,
            format_class=_JSON,
            s3_compression_type="gzip",
            partitioner_class="TimeBasedPartitioner",
            partition_duration_ms="60000",
            path_format="mm",
            locale="en",
            timezone="UTC",
            timestamp_extractor="Record",
            rotate_interval_ms="20000",
            partitioner_max_open_files="2",
        ),
        "by field": _avro(format_class=_AVRO, partitioner_class="FieldPartitioner", partition_field_name="hue,id"),
    }
    for format, keys, headers in itertools.product((_JSON, _AVRO, _PARQUET), repeat=3):
        names = " ".join(each.rpartition(".")[2].removesuffix("Format").lower() for each in (format, keys, headers))
        beside = {"keys_format_class": keys, "headers_format_class": headers, "behavior_on_null_values": "write"}
        made[f"beside {names}"] = _avro(format_class=format, **_BESIDE, **beside)
    return made


def every_hash(cut: int) -> dict[str, dict[str, str]]:
    cuts = range(0, COUNT, cut)
    return {name: plan.hashes(cuts, flush_size=64) for name, plan in plans().items()}


if __name__ == "__main__":
    if "--last-first" in sys.argv:
        for plan in plans().values():
            replace(plan, records=plan.records[COUNT // 2 :]).hashes((), flush_size=64)
    json.dump(every_hash(int(sys.argv[1])), sys.stdout)
