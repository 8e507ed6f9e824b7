"""Cases of data: what one run writes of each kind of records under each setting that shapes objects.

A case is the keys and bytes of its data objects and companions; `letters` are the dead letters of the same run, in
cases of their own, since reasons are sentences. A configuration that is refused is a case too: its exit status.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import fastavro

from tests.golden.harness import Documents, GoldenExport
from tests.golden.records import RecordKind, kinds

Properties = Mapping[str, str]
Case = Callable[[Path], Documents]
_CLASSES = "tests.golden.user_defined"

FILES: Mapping[str, Properties] = {
    "json": {"format.class": "JsonFormat"},
    "json gzip": {"format.class": "JsonFormat", "s3.compression.type": "gzip"},
    "json gzip 0": {"format.class": "JsonFormat", "s3.compression.type": "gzip", "s3.compression.level": "0"},
    "json gzip 6": {"format.class": "JsonFormat", "s3.compression.type": "gzip", "s3.compression.level": "6"},
    **{
        f"json {codec}": {"format.class": "JsonFormat", "s3.compression.type": codec}
        for codec in ("zstd", "snappy", "lz4", "bzip2")
    },
    "json numeric": {"format.class": "JsonFormat", "json.decimal.format": "NUMERIC"},
    "json array": {"format.class": "JsonFormat", "export.json.array": "true"},
    "json array gzip": {"format.class": "JsonFormat", "export.json.array": "true", "s3.compression.type": "gzip"},
    "bytes": {"format.class": "ByteArrayFormat"},
    "bytes gzip": {"format.class": "ByteArrayFormat", "s3.compression.type": "gzip"},
    "bytes zstd 9": {"format.class": "ByteArrayFormat", "s3.compression.type": "zstd", "s3.compression.level": "9"},
    "bytes named": {
        "format.class": "ByteArrayFormat",
        "format.bytearray.extension": ".raw",
        "format.bytearray.separator": "|",
    },
    "block gzip": {"format.class": "kafka_s3.formats.BlockGzipFormat"},
    "block gzip small": {"format.class": "kafka_s3.formats.BlockGzipFormat", "compressed_block_size": "100"},
    "framed": {"format.class": f"{_CLASSES}:FramedFormat"},
    "framed gzip": {"format.class": f"{_CLASSES}:FramedFormat", "s3.compression.type": "gzip"},
    **{
        f"avro {codec}": {"format.class": "AvroFormat", "avro.codec": codec}
        for codec in ("null", "deflate", "snappy", "bzip2", "zstandard")
    },
    **{
        f"parquet {codec}": {"format.class": "ParquetFormat", "parquet.codec": codec}
        for codec in ("none", "gzip", "snappy", "lz4_raw", "brotli", "zstd")
    },
}
#: One of each format, for settings that have nothing to do with codecs.
PLAIN_FILES = ("json", "bytes", "block gzip", "framed", "avro null", "parquet none")

_UTC = {"locale": "en", "timezone": "UTC"}
_TIME = {**_UTC, "partitioner.class": "TimeBasedPartitioner", "partition.duration.ms": "900000"}
_FIELD = {"timestamp.extractor": "RecordField", "timestamp.field": "at"}
PARTITIONERS: Mapping[str, Properties] = {
    "field": {"partitioner.class": "FieldPartitioner", "partition.field.name": "hue"},
    "fields": {"partitioner.class": "FieldPartitioner", "partition.field.name": "inner.kind,id"},
    "hourly": {**_UTC, "partitioner.class": "HourlyPartitioner", "timestamp.extractor": "Record"},
    "daily by field": {**_UTC, **_FIELD, "partitioner.class": "DailyPartitioner"},
    "time by wallclock": {**_TIME, "path.format": "'at'=YYYY-MM-dd/HH-mm"},
    "time by record": {**_TIME, "timestamp.extractor": "Record", "path.format": "YYYY/'w'=ww/EEE/HH.mm"},
    "time by text": {
        **_TIME,
        "timestamp.extractor": "RecordField",
        "timestamp.field": "said",
        "path.format": "YYYY-MM-dd'T'HHmm",
    },
    "time by its class": {**_TIME, "timestamp.extractor": f"{_CLASSES}:ByOffset", "path.format": "HH/mm"},
    "by template": {
        **_UTC,
        "partitioner.class": "FieldAndTimePartitioner",
        "export.path.template": "h={hue}/{timestamp:YYYY-MM-dd}/{topic}-{partition}-{id}",
        "timestamp.extractor": "Record",
    },
    "its class": {"partitioner.class": f"{_CLASSES}:BySize"},
}

_TIMED = {**_TIME, "timestamp.extractor": "Record", "path.format": "YYYY-MM-dd/HH-mm"}
_STORED = {"store.kafka.keys": "true", "store.kafka.headers": "true"}
_WRITE = {**_STORED, "behavior.on.null.values": "write"}
_ENVELOPE = "topic,partition,offset,timestamp,key,headers"
#: Settings that shape keys or bytes by themselves, each with every plain file that allows it.
OPTIONS: Mapping[str, Properties] = {
    "delimiters": {"directory.delim": "_", "file.delim": "-", "partitioner.class": "FieldPartitioner",
                   "partition.field.name": "hue"},
    "topics.dir": {"topics.dir": "other/place"},
    "no topics.dir": {"topics.dir": ""},
    "file names": {"file.name.template": "{{topic}}-{{start_offset:padding=true}}-{{partition}}"},
    "pad width": {"filename.offset.zero.pad.width": "3"},
    "flush.size 1": {"flush.size": "1"},
    "flush.size 1000": {"flush.size": "1000"},
    "few open": {"partitioner.class": "FieldPartitioner", "partition.field.name": "hue",
                 "partitioner.max.open.files": "2"},
    "object bytes": {"export.object.bytes.max": "5242880"},
    "object bytes of object": {"export.object.bytes.max": "1000", "export.object.bytes.of": "object"},
    "ranges": {"export.range.records.max": "10000"},
    "batches": {"export.batch.records.max": "13", "tasks.max": "1"},
    "rotate": {**_TIMED, "rotate.interval.ms": "1800000"},
    "zone": {**_TIMED, "timezone": "Europe/Berlin", "locale": "de", "path.format": "EEEE/MMMM/ZZ/HH"},
    "zone by name": {**_TIMED, "timezone": "America/New_York", "locale": "fr", "path.format": "zzzz/a/hh"},
    "affix prefix": {"s3.schema.partition.affix.type": "PREFIX"},
    "affix suffix": {"s3.schema.partition.affix.type": "SUFFIX"},
    "backward": {"schema.compatibility": "BACKWARD"},
    "forward": {"schema.compatibility": "FORWARD"},
    "full": {"schema.compatibility": "FULL"},
    "nulls written": _WRITE,
    "tombstone path": {**_WRITE, "tombstone.encoded.partition": "gone"},
    "nulls by time": {**_WRITE, **_TIMED},
    "tags": {"s3.object.tagging": "true", "s3.object.tagging.key.value.pairs": "team:a,cost:b"},
    "defaults not replaced": {"value.converter.replace.null.with.default": "false"},
    "small row groups": {"export.parquet.row.group.bytes": "1048576"},
    "envelope": {"export.envelope": _ENVELOPE},
    "envelope prefix": {"export.envelope": _ENVELOPE, "export.envelope.prefix": "meta_"},
    "envelope and nulls": {**_WRITE, "export.envelope": _ENVELOPE},
    **{f"envelope {name}": {"export.envelope": name} for name in _ENVELOPE.split(",")},
}  # fmt: skip


def _export(folder: Path, kind: RecordKind, properties: Properties) -> tuple[int, GoldenExport]:
    tolerant = {
        "behavior.on.null.values": "ignore",
        "errors.tolerance": "all",
        "export.errors.fraction.attention": "1",
    }
    world = GoldenExport(folder, {**tolerant, **kind.properties, **properties}, **kind.known)
    world.produce(*kind.records(), holes=2)
    status, _ = world.call("run", "--until-now", "--run-id", "golden", "--json")
    return status, world


def _case(kind: RecordKind, properties: Properties, *prefixes: str) -> Case:
    def make(folder: Path) -> Documents:
        status, world = _export(folder, kind, properties)
        if status == 78:
            return [("refused", b"")]
        found = [(key, body) for key, body in world.bucket() if ("/rejected/" in key) == bool(prefixes)]
        kept = found if prefixes else [(key, body) for key, body in found if not key.startswith("_kafka_s3/")]
        if properties.get("avro.codec") == "deflate":
            kept = [(key, _inflated(body)) for key, body in kept]
        return [("exit status", str(status).encode()), *kept]

    return make


def _inflated(body: bytes) -> bytes:
    """An Avro object whose blocks are inflated: `isal_zlib.compress`, called in a thread, now and then gives the same
    small block other bytes of deflate, which mean the same."""
    if not body.startswith(b"Obj\1"):
        return body
    header = body[: body.index(body[-16:]) + 16]  # it ends with the sync marker, as every block does
    blocks = [(each.num_records, each.bytes_.getvalue()) for each in fastavro.block_reader(io.BytesIO(body))]
    return header + b"".join(b"%d:%d:" % (records, len(data)) + data for records, data in blocks)


def cases() -> Iterator[tuple[str, Case]]:
    """`data/`: kinds by files, and by partitioners; `options/`; `letters/`; `beside/`."""
    for (name, kind), (file, format) in itertools.product(kinds().items(), FILES.items()):
        yield f"data/{name}/{file}", _case(kind, format)
    for name, file, (by, partitioner) in itertools.product(_PARTED, PLAIN_FILES, PARTITIONERS.items()):
        yield f"paths/{name}/{file}/{by}", _case(kinds()[name], {**FILES[file], **partitioner})
    for name, file, (what, option) in itertools.product(_RICH, PLAIN_FILES, OPTIONS.items()):
        if name in _WHOLLY or what in _FOR_ALL:
            yield f"options/{name}/{file}/{what}", _case(kinds()[name], {**FILES[file], **option})
    for name, kind in kinds().items():
        yield f"letters/{name}", _case(kind, {"format.class": "AvroFormat"}, "rejected")
    for name, (by, partitioner) in itertools.product(_WHOLLY, PARTITIONERS.items()):
        properties = {"format.class": "AvroFormat", **partitioner}
        yield f"letters/{name}/{by}", _case(kinds()[name], properties, "rejected")
    yield from _beside()


_RICH = ("Avro", "Json envelope", "Json plain", "Json typed", "String", "ByteArray", "Protobuf", "Json schema")
_PARTED = (*_RICH[:5], "Long", "Protobuf", "Json schema")
_WHOLLY = ("Avro", "Json plain")  # with every option
_FOR_ALL = ("envelope", "envelope and nulls", "nulls written", "backward")


def _beside() -> Iterator[tuple[str, Case]]:
    """Companions: every format beside every other, every codec, every converter of keys and headers."""
    avro = kinds()["Avro"]
    for value, keys, headers in itertools.product(("json", "avro null", "parquet none"), PLAIN_FILES, PLAIN_FILES):
        formats = {
            "keys.format.class": FILES[keys]["format.class"],
            "headers.format.class": FILES[headers]["format.class"],
        }
        yield f"beside/{value}/{keys}/{headers}", _case(avro, {**FILES[value], **_WRITE, **formats})
    for file, format in FILES.items():
        both = {"keys.format.class": format["format.class"], "headers.format.class": format["format.class"]}
        yield f"beside/codec/{file}", _case(avro, {**format, **_STORED, **both, "format.class": "JsonFormat"})
    for (name, kind), file in itertools.product(kinds().items(), PLAIN_FILES):
        keys = {"store.kafka.keys": "true", "keys.format.class": FILES[file]["format.class"], **kind.side}
        turned = RecordKind(
            {**kinds()["Json plain"].properties, **keys},
            kind.values,
            [("orders-key", text) for _, text in kind.schemas],
            schema_type=kind.schema_type,
            versions=kind.versions,
        )
        yield f"beside/keys/{name}/{file}", _keys_case(turned)
        enveloped = {**FILES[file], **kind.side, "export.envelope": "key"}
        yield f"beside/key in values/{name}/{file}", _keys_case(turned, enveloped)
    converters = ("storage.SimpleHeaderConverter", "storage.StringConverter", "converters.ByteArrayConverter")
    for converter, file in itertools.product(converters, PLAIN_FILES):
        headers = {
            "header.converter": f"org.apache.kafka.connect.{converter}",
            "store.kafka.headers": "true",
            "headers.format.class": FILES[file]["format.class"],
        }
        yield f"beside/headers/{converter}/{file}", _case(kinds()["Json plain"], headers)
    for name, kind in kinds().items():
        fields = {"export.record.fields": "headers,offset,value,key,timestamp", "behavior.on.null.values": "write"}
        yield f"record fields/json/{name}", _case(kind, {**FILES["json"], **fields})
        for file in ("avro null", "parquet none"):
            with_schema = {**FILES[file], **fields, "behavior.on.null.values": "ignore"}
            yield f"record fields/{file}/{name}", _case(kind, with_schema)
        if name in ("ByteArray", "String"):
            csv = {"format.class": "CsvFormat", "key.converter": "ByteArrayConverter", **fields}
            yield f"record fields/csv/{name}", _case(kind, csv)
    for name, options, values in _HEADERS:
        beside = {"store.kafka.headers": "true", "headers.format.class": "JsonFormat"}
        yield f"beside/header values/{name}", _headers_case(name, options, values, beside)
        yield f"beside/headers in values/{name}", _headers_case(name, options, values, {"export.envelope": "headers"})


#: Converters of headers, and headers that each of them reads.
_HEADERS: list[tuple[str, Properties, tuple[bytes, ...]]] = [
    (
        "SimpleHeaderConverter",
        {},
        (b"1.50", b"1,2", b"007", b" true ", b'{"b": [1, 300], "a": null}', b"2020-01-02", b"x"),
    ),
    ("SimpleHeaderConverter null", {}, (b"null",)),
    ("JsonConverter", {"schemas.enable": "false"}, (b"1.50", b'{"b": 1, "a": [null, "x"]}', b'"v"')),
    ("JsonConverter envelope", {}, (b'{"schema":{"type":"float"},"payload":0.1}',)),
    ("LongConverter", {}, (bytes(7) + b"\7",)),
    ("DoubleConverter", {}, (bytes(8),)),
]


def _headers_case(name: str, options: Properties, values: tuple[bytes, ...], more: Properties) -> Case:
    kind = kinds()["Json plain"]
    options = {f"header.converter.{option}": value for option, value in options.items()}

    def make(folder: Path) -> Documents:
        headers = tuple((f"h{number}", value) for number, value in enumerate(values))
        properties = {**kind.properties, **more, **options, "header.converter": name.split()[0]}
        world = GoldenExport(folder, {"errors.tolerance": "all", "export.errors.fraction.attention": "1", **properties})
        world.produce(*(replace(given, headers=headers) for given in kind.records()))
        status, _ = world.call("run", "--until-now", "--run-id", "golden", "--json")
        return [("exit status", str(status).encode()), *world.bucket("topics/")]

    return make


def _keys_case(kind: RecordKind, properties: Properties | None = None) -> Case:
    """The kind's values stand in the keys of JSON values."""

    def make(folder: Path) -> Documents:
        records = [
            replace(given, value=b'{"id": %d}' % number, key=given.value) for number, given in enumerate(kind.records())
        ]
        tolerant = {"errors.tolerance": "all", "export.errors.fraction.attention": "1"}
        world = GoldenExport(folder, {**tolerant, **kind.properties, **(properties or {})}, **kind.known)
        world.produce(*records)
        status, _ = world.call("run", "--until-now", "--run-id", "golden", "--json")
        if status == 78:
            return [("refused", b"")]
        return [("exit status", str(status).encode()), *world.bucket("topics/")]

    return make
