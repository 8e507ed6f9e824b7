"""What goes into objects: converters, formats, companions, the envelope, and what of them fits together."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_s3.avro.model import Compatibility
from kafka_s3.errors import ConfigurationError
from kafka_s3.settings import Loaded, Lookups, from_mapping, load, loading
from kafka_s3.settings.converters import Converter, ConverterSettings, Envelope, EnvelopeField
from kafka_s3.settings.formats import (
    AvroCodec,
    Bzip2,
    DecimalFormat,
    FileSettings,
    Format,
    Gzip,
    Lz4,
    ParquetCodec,
    Zstd,
)
from kafka_s3.settings.registry import SubjectNames
from kafka_s3.settings.values import FormatSettings, NullValues
from tests.settings.given import ENVELOPE, INFER, INLINE, KEY_REGISTRY, PLAIN, REGISTRY, SCHEMA, WITH_KEYS
from tests.support import MINIMAL

Load = Callable[..., Loaded]
Problems = Callable[..., dict[str, str]]


def test_every_property_of_formats_reaches_its_setting(load_with: Load) -> None:
    """Each option of Avro, Parquet and JSON files, of companions and of the envelope is in the settings."""
    found = load_with(
        {
            **REGISTRY,
            **WITH_KEYS,
            "value.converter.value.subject.name.strategy": "RecordNameStrategy",
            "format.class": "AvroFormat",
            "avro.codec": "zstandard",
            "parquet.codec": "zstd",
            "export.parquet.row.group.bytes": "1048576",
            "json.decimal.format": "numeric",
            "export.json.array": "true",
            "schema.compatibility": "FORWARD",
            "behavior.on.null.values": "write",
            "tombstone.encoded.partition": "gone/for/good",
            "key.converter": "LongConverter",
            "keys.format.class": "ParquetFormat",
            "store.kafka.headers": "true",
            "headers.format.class": "JsonFormat",
            "header.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
            "export.envelope": "offset, key",
            "export.envelope.prefix": "k_",
        }
    ).settings.format

    def file(written: Format) -> FileSettings:
        return FileSettings(
            written,
            avro_codec=AvroCodec.ZSTANDARD,
            parquet_codec=ParquetCodec.ZSTD,
            parquet_row_group_bytes=1_048_576,
            json_decimals=DecimalFormat.NUMERIC,
            json_array=True,
        )

    value = found.value
    assert (value.converter, value.subject_names) == (Converter.AVRO, SubjectNames.RECORD)
    assert value.registry is not None
    assert value.registry.client == {"url": "http://registry:8081"}
    assert found == FormatSettings(
        value,
        file(Format.AVRO),
        NullValues.WRITE,
        tombstone_path="gone/for/good",
        compatibility=Compatibility.FORWARD,
        key=ConverterSettings(Converter.LONG),
        keys=file(Format.PARQUET),
        header=ConverterSettings(Converter.BYTE_ARRAY),
        headers=file(Format.JSON),
        envelope=Envelope((EnvelopeField.OFFSET, EnvelopeField.KEY), "k_"),
    )


def test_companions_are_compressed_as_the_values_are(load_with: Load) -> None:
    """One s3.compression.type for all files of a record; Avro files beside gzip are refused, as by the sink."""
    both = {"s3.compression.type": "gzip", **WITH_KEYS, "keys.format.class": "JsonFormat"}
    keys = load_with(both).settings.format.keys
    assert keys is not None
    assert keys.compression == Gzip(None)


@pytest.mark.parametrize(
    ("codec", "wanted"),
    [("zstd", Zstd), ("lz4", Lz4), ("bzip2", Bzip2)],
)
def test_a_codec_has_its_level(load_with: Load, codec: str, wanted: type[Zstd | Lz4 | Bzip2]) -> None:
    """s3.compression.level is the codec's own; unset, or -1, it is the codec's default."""
    compressed = {"s3.compression.type": codec}
    assert load_with(compressed).settings.format.file.compression == wanted(None)
    leveled = load_with({**compressed, "s3.compression.level": "5"})
    assert leveled.settings.format.file.compression == wanted(5)


def test_json_converter_expects_an_envelope_unless_it_is_told(load_with: Load) -> None:
    """JsonConverter's own default is an envelope; no converter at all means JSON without one, or bytes."""
    assert load_with(ENVELOPE).settings.format.value.schemas_enable
    assert not load_with(PLAIN).settings.format.value.schemas_enable
    assert load_with().settings.format.value == ConverterSettings(Converter.JSON)
    assert load_with({"value.converter.schemas.enable": "true"}).settings.format.value.schemas_enable
    without = {**ENVELOPE, "value.converter.replace.null.with.default": "false"}
    assert not load_with(without).settings.format.value.replace_null_with_default


def test_keys_are_texts_unless_they_are_something_else(load_with: Load) -> None:
    """Without key.converter keys are text, or bytes where their format is bytes; the worker's converter holds too."""
    assert load_with(WITH_KEYS).settings.format.key.converter is Converter.STRING
    as_bytes = {**WITH_KEYS, "keys.format.class": "ByteArrayFormat"}
    assert load_with(as_bytes).settings.format.key.converter is Converter.BYTE_ARRAY
    assert load_with(WITH_KEYS, worker=KEY_REGISTRY).settings.format.key.converter is Converter.AVRO
    in_envelope = {"export.envelope": "key", "key.converter": "LongConverter"}
    assert load_with(in_envelope).settings.format.key.converter is Converter.LONG
    rows = {row.name: row for row in load_with(WITH_KEYS).report}
    assert (rows["key.converter"].value, rows["key.converter"].source) == (Converter.STRING.value, "default")


@pytest.mark.parametrize(
    "more",
    [
        {"key.converter": "io.confluent.connect.protobuf.ProtobufConverter"},
        {"key.converter": "AvroConverter"},
        {"key.converter": "com.example.Own", "key.converter.schemas.enabel": "x", "key.converter.schemas.enable": "?"},
        {"header.converter": "io.confluent.connect.avro.AvroConverter"},
        {"header.converter": "JsonConverter", "header.converter.schemas.enable": "maybe"},
        {"value.converter.schema.registry.url": "u", "value.converter.basic.auth.user.info": "x"},
        {"key.converter.schema.registry.ssl.keystore.location": "/x.jks"},
    ],
)
def test_what_nobody_reads_may_be_anything(load_with: Load, more: dict[str, str]) -> None:
    """Keys and headers that are not stored need no converter that is known here, as their options do not."""
    settings = load_with(more).settings
    assert settings.format == load_with().settings.format
    assert settings.configuration_sha256 == load_with().settings.configuration_sha256


JSON_AND_AVRO = ("JsonFormat", "AvroFormat")
HOLDS = {
    "plain": (PLAIN, (*JSON_AND_AVRO, "BlockGzipFormat", "json:JSONEncoder")),
    "read by a schema": (INLINE, (*JSON_AND_AVRO, "ParquetFormat", "BlockGzipFormat", "json:JSONEncoder")),
    "envelope": (ENVELOPE, (*JSON_AND_AVRO, "ParquetFormat")),
    "avro": (REGISTRY, (*JSON_AND_AVRO, "ParquetFormat")),
    "glue": ({"value.converter": "AWSKafkaAvroConverter"}, (*JSON_AND_AVRO, "ParquetFormat")),
    "string": ({"value.converter": "StringConverter"}, (*JSON_AND_AVRO, "BlockGzipFormat", "json:JSONEncoder")),
    "bytes": (
        {"value.converter": "ByteArrayConverter"},
        (*JSON_AND_AVRO, "ByteArrayFormat", "BlockGzipFormat", "json:JSONEncoder"),
    ),
    **{
        name: ({"value.converter": f"{name}Converter"}, JSON_AND_AVRO)
        for name in ("Boolean", "Short", "Integer", "Long", "Float", "Double")
    },
}
WRITTEN = (*JSON_AND_AVRO, "ParquetFormat", "ByteArrayFormat", "BlockGzipFormat", "json:JSONEncoder")


@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize("values", HOLDS)
def test_which_values_which_format_holds(
    load_with: Load, monkeypatch: pytest.MonkeyPatch, values: str, written: str
) -> None:
    """Each pair of converter and format loads, or is a problem of value.converter with a way out."""
    monkeypatch.setitem(loading.USER_DEFINED_METHODS, "format.class", ())  # any class is one here
    around, formats = HOLDS[values]
    if written in formats:
        assert load_with({**around, "format.class": written})
        return
    with pytest.raises(ConfigurationError) as raised:
        load_with({**around, "format.class": written})
    assert [problem.name for problem in raised.value.problems] == ["value.converter"]
    assert "set " in raised.value.problems[0].message


@pytest.mark.parametrize(
    ("more", "name", "said"),
    [
        ({"format.class": "ParquetFormat"}, "value.converter", "name one in export.value.schema.file"),
        ({"behavior.on.null.values": "write"}, "behavior.on.null.values", "write requires store.kafka.keys=true"),
        (
            {"s3.compression.type": "gzip", "format.class": "BlockGzipFormat"},
            "s3.compression.type",
            "Compression Type gzip not valid for data format class: ( kafka_s3.formats.BlockGzipFormat ).",
        ),
        (
            {"s3.compression.type": "zstd", **WITH_KEYS},
            "keys.format.class",
            f"Compression Type zstd not valid for keys format class: ( {Format.AVRO.value} ).",
        ),
        ({"file.name.template": "{{topic}}"}, "file.name.template", "needs {{partition}} once"),
        ({"export.object.bytes.of": "object"}, "export.object.bytes.of", "export.object.bytes.max, which is not set"),
        *(
            ({"s3.compression.type": codec, "s3.compression.level": level}, "s3.compression.level", said)
            for codec, level, said in (
                ("gzip", "10", "Value must be no more than 9 with gzip"),
                ("zstd", "0", "Value must be at least 1 with zstd, or -1"),
                ("zstd", "23", "Value must be no more than 22"),
                ("lz4", "13", "Value must be no more than 12 with lz4"),
                ("bzip2", "0", "Value must be at least 1 with bzip2, or -1"),
                ("snappy", "1", "snappy has no levels: remove it"),
            )
        ),
        (
            {**WITH_KEYS, "keys.format.class": "ParquetFormat", "key.converter": "JsonConverter"}
            | {"key.converter.schemas.enable": "false"},
            "key.converter",
            "a Parquet file needs a schema",
        ),
        (
            {**WITH_KEYS, "keys.format.class": "ByteArrayFormat", "key.converter": "StringConverter"},
            "key.converter",
            "set key.converter=org.apache.kafka.connect.converters.ByteArrayConverter",
        ),
        (
            {**WITH_KEYS, "behavior.on.null.values": "write", "tombstone.encoded.partition": "a|..|b"}
            | {"directory.delim": "|"},
            "tombstone.encoded.partition",
            "leave their folder",
        ),
        ({"export.envelope": "topic,topic"}, "export.envelope", "twice"),
        (
            {"export.envelope": "topic", "value.converter": "StringConverter"},
            "export.envelope",
            "values of StringConverter are not records",
        ),
        ({"export.envelope": "topic", "format.class": "ByteArrayFormat"}, "export.envelope", "cannot add fields"),
        ({"export.envelope": "topic", "format.class": "BlockGzipFormat"}, "export.envelope", "cannot add fields"),
        (
            {"partitioner.class": "FieldPartitioner", "partition.field.name": "a", "value.converter": "LongConverter"},
            "partitioner.class",
            "values of LongConverter have none",
        ),
        ({**REGISTRY, "value.converter.schema.registry.url": ""}, "value.converter.schema.registry.url", "is required"),
        ({**WITH_KEYS, "key.converter": "AvroConverter"}, "key.converter.schema.registry.url", "is required"),
        ({**INFER, "export.value.schema.file": "x.avsc"}, "export.value.schema.file", "set one of them"),
        ({**INFER, "format.class": "JsonFormat"}, "export.value.schema", "JsonFormat needs no schema"),
        ({**INFER, "export.value.schema.infer.records": "0"}, "export.value.schema.infer.records", "at least 1"),
        ({**INLINE, "export.value.schema.file": "x.avsc"}, "export.value.schema.file", "set one of them"),
        ({**PLAIN, "export.value.schema.file": "no/such.avsc"}, "export.value.schema.file", "cannot be read"),
        ({**PLAIN, "export.value.schema": "{"}, "export.value.schema", "at line 1, column 2"),
        ({**PLAIN, "export.value.schema": '"string"'}, "export.value.schema", 'an object with "type": "record"'),
        (
            {**PLAIN, "export.value.schema": '{"type": "record"}'},
            "export.value.schema",
            "a type 'record' has no name",
        ),
        ({**PLAIN, "export.value.schema": "[" * 5000 + "]" * 5000}, "export.value.schema", "nested too deeply"),
    ],
)
def test_what_does_not_fit_is_a_problem_with_a_way_out(
    problems_of: Problems, more: dict[str, str], name: str, said: str
) -> None:
    """What only several properties together have wrong is named after the one to change."""
    assert said in problems_of(more)[name]


def test_fields_are_read_out_of_avro_too(load_with: Load) -> None:
    """A path by field is fine for every converter that makes records."""
    by_field = {"partitioner.class": "FieldPartitioner", "partition.field.name": "a"}
    for around in (REGISTRY, ENVELOPE, PLAIN):
        assert load_with({**by_field, **around})


def test_a_schema_in_a_file_is_what_the_plan_holds(tmp_path: Path) -> None:
    """The file lies beside the connector file; its compact text shapes the plan, its name and layout do not."""
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "order.avsc").write_text(json.dumps(SCHEMA, indent=2))
    (tmp_path / "other.avsc").write_text(json.dumps(SCHEMA))

    def loaded(**more: str) -> Loaded:
        path = tmp_path / "orders.json"
        path.write_text(json.dumps({**MINIMAL, **PLAIN, "format.class": "ParquetFormat", **more}))
        return load(path, lookups=Lookups(), offline=True)

    first = loaded(**{"export.value.schema.file": "schemas/order.avsc"}).settings
    compact = json.dumps(SCHEMA, separators=(",", ":"))
    assert first.format.value.schema_text == compact
    assert first.resolved["export.value.schema"] == compact
    assert "export.value.schema.file" not in first.resolved
    second = loaded(**{"export.value.schema.file": "other.avsc"}).settings
    assert second.configuration_sha256 == first.configuration_sha256
    (tmp_path / "other.avsc").write_text(json.dumps({**SCHEMA, "name": "Other"}))
    assert loaded(**{"export.value.schema.file": "other.avsc"}).settings.configuration_sha256 != (
        first.configuration_sha256
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff\xfe", "is not UTF-8"),
        (b"x" * ((1 << 20) + 1), "is larger than 1048576 bytes"),
        (b"9" * 10_000, "a number that is too long"),
    ],
    ids=["bytes", "large", "digits"],
)
def test_a_schema_that_is_none_is_a_problem(tmp_path: Path, content: bytes, said: str) -> None:
    """Whatever lies in the file, the answer is a problem of the property that names it."""
    (tmp_path / "order.avsc").write_bytes(content)
    path = tmp_path / "orders.json"
    path.write_text(json.dumps({**MINIMAL, **PLAIN, "export.value.schema.file": "order.avsc"}))
    with pytest.raises(ConfigurationError) as raised:
        load(path, lookups=Lookups(), offline=True)
    assert [problem.name for problem in raised.value.problems] == ["export.value.schema.file"]
    assert said in raised.value.problems[0].message


@given(st.text(max_size=300))
def test_any_text_is_a_schema_or_a_problem(text: str) -> None:
    """No text in the place of a schema does more than be refused."""
    try:
        from_mapping({**MINIMAL, **PLAIN, "export.value.schema": text}, offline=True)
    except ConfigurationError as error:
        assert {problem.name for problem in error.problems} == {"export.value.schema"}  # noqa: PT017
