"""What `formats` measures: what is read, and the properties that say what becomes of it."""

from typing import Final

_JSON: Final = (
    "value.converter=org.apache.kafka.connect.json.JsonConverter\nvalue.converter.schemas.enable=false\n"
    "format.class=io.confluent.connect.s3.format."
)
_AVRO: Final = (
    "value.converter=io.confluent.connect.avro.AvroConverter\nvalue.converter.schema.registry.url={registry}\n"
    "format.class=io.confluent.connect.s3.format."
)
_PROTOBUF: Final = _AVRO.replace("avro.AvroConverter", "protobuf.ProtobufConverter")
_JSON_SCHEMA: Final = _AVRO.replace("avro.AvroConverter", "json.JsonSchemaConverter")
_ZSTD: Final = "parquet.ParquetFormat\nparquet.codec=zstd\n"
_PARQUET: Final = "parquet.ParquetFormat\nparquet.codec=snappy\n"
_BYTES: Final = "value.converter=org.apache.kafka.connect.converters.ByteArrayConverter\nformat.class="
#: The topic, and the properties; `{registry}` and `{schema}` are put in before they are read.
_WITHOUT: Final = {
    "Avro to Avro": ("avro", f"{_AVRO}avro.AvroFormat\n"),
    "Avro to Avro, projected": ("avro", f"{_AVRO}avro.AvroFormat\nschema.compatibility=BACKWARD\n"),
    "Avro to Avro, made anew": ("avro-promoted", f"{_AVRO}avro.AvroFormat\nschema.compatibility=BACKWARD\n"),
    "Avro to Parquet, snappy": ("avro", f"{_AVRO}{_PARQUET}"),
    "Avro to Parquet, projected": ("avro", f"{_AVRO}{_PARQUET}schema.compatibility=BACKWARD\n"),
    "Avro to Parquet, zstd": ("avro", f"{_AVRO}{_ZSTD}"),
    "Protobuf to Parquet, zstd": ("protobuf", f"{_PROTOBUF}{_ZSTD}"),
    "Protobuf to JSON": ("protobuf", f"{_PROTOBUF}json.JsonFormat\n"),
    "Avro to JSON": ("avro", f"{_AVRO}json.JsonFormat\n"),
    "JSON to Parquet by a schema": ("json", f"{_JSON}{_PARQUET}export.value.schema.file={{schema}}\n"),
    "inferred JSON to Parquet": ("json", f"{_JSON}{_PARQUET}export.value.schema=infer\n"),
    "JSON to Parquet, zstd": ("json", f"{_JSON}{_ZSTD}export.value.schema.file={{schema}}\n"),
    "JSON Schema to Parquet, zstd": ("schema-json", f"{_JSON_SCHEMA}{_ZSTD}"),
    "JSON to JSON": ("json", f"{_JSON}json.JsonFormat\n"),
    "JSON to JSON, gzip": ("json", f"{_JSON}json.JsonFormat\ns3.compression.type=gzip\n"),
    "bytes": ("json", f"{_BYTES}io.confluent.connect.s3.format.bytearray.ByteArrayFormat\n"),
    "bytes, gzip": (
        "json",
        f"{_BYTES}io.confluent.connect.s3.format.bytearray.ByteArrayFormat\ns3.compression.type=gzip\n",
    ),
    "bytes, Block-GZIP": ("json", f"{_BYTES}kafka_s3.formats.BlockGzipFormat\n"),
}
_INSERT: Final = (
    "transforms=insert,replace\ntransforms.insert.type=org.apache.kafka.connect.transforms.InsertField$Value\n"
    "transforms.insert.topic.field=_topic\ntransforms.insert.partition.field=_partition\n"
    "transforms.insert.offset.field=_offset\ntransforms.insert.timestamp.field=_at\n"
    "transforms.insert.static.field=_source\ntransforms.insert.static.value=bench\n"
    "transforms.replace.type=org.apache.kafka.connect.transforms.ReplaceField$Value\n"
    "transforms.replace.exclude=session\ntransforms.replace.renames=user:customer,at:created\n"
)
_BY_TIME: Final = (
    "transforms=day\ntransforms.day.type=org.apache.kafka.connect.transforms.TimestampRouter\n"
    "transforms.day.topic.format=${topic}-${timestamp}\n"
)
_BY_NAME: Final = (
    "transforms=all\ntransforms.all.type=org.apache.kafka.connect.transforms.RegexRouter\n"
    "transforms.all.regex=(.*)\ntransforms.all.replacement=all-$1\n"
)
#: The same with transforms, by the path without.
CHAINS: Final = {
    f"{path} + {name}": path
    for name, paths in {
        "TimestampRouter": ("bytes", "Avro to Avro"),
        "RegexRouter": ("bytes", "Avro to Avro"),
        "InsertField, ReplaceField": (
            "Avro to Avro",
            "Avro to Parquet, zstd",
            "Avro to JSON",
            "JSON to JSON",
            "JSON to Parquet, zstd",
        ),
    }.items()
    for path in paths
}
_TRANSFORMS: Final = {"TimestampRouter": _BY_TIME, "RegexRouter": _BY_NAME, "InsertField, ReplaceField": _INSERT}


def _with_transforms(name: str, without: str) -> tuple[str, str]:
    topic, properties = _WITHOUT[without]
    return topic, properties + _TRANSFORMS[name.removeprefix(f"{without} + ")]


PATHS: Final = {**_WITHOUT, **{name: _with_transforms(name, without) for name, without in CHAINS.items()}}
#: Whose row groups are filled to 128 MiB, the default.
LARGE: Final = ("Avro to Parquet, snappy", "JSON to Parquet by a schema")
