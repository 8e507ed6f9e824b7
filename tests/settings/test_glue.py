"""AWSKafkaAvroConverter's properties."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafka_s3.errors import ConfigurationError
from kafka_s3.settings import Loaded
from kafka_s3.settings.converters import Converter
from kafka_s3.settings.glue import GlueSettings
from tests.settings.given import WITH_KEYS

Load = Callable[..., Loaded]
ROOM = "com.amazonaws.services.schemaregistry.kafkaconnect"
GLUE = {"value.converter": f"{ROOM}.AWSKafkaAvroConverter", "value.converter.region": "eu-central-1"}


def test_a_configuration_from_amazons_pages_loads(load_with: Load) -> None:
    """As it is: what says how schemas are registered and read is ignored with its reason."""
    given = {
        **GLUE,
        "value.converter.schemaAutoRegistrationEnabled": "true",
        "value.converter.avroRecordType": "GENERIC_RECORD",
        "value.converter.registry.name": "shop",
        "value.converter.compression": "ZLIB",
        "value.converter.endpoint": "https://glue.eu-central-1.amazonaws.com",
        **WITH_KEYS,
        "key.converter": "AWSKafkaAvroConverter",
    }
    loaded = load_with(given)
    value, key = loaded.settings.format.value, loaded.settings.format.key
    assert (value.converter, key.converter) == (Converter.GLUE_AVRO, Converter.GLUE_AVRO)
    assert value.registry == GlueSettings("eu-central-1", "https://glue.eu-central-1.amazonaws.com", "shop")
    assert key.registry == GlueSettings()
    ignored = {row.name.removeprefix("value.converter.") for row in loaded.report if row.ignored}
    assert {"schemaAutoRegistrationEnabled", "avroRecordType", "compression"} <= ignored


def test_protobuf_has_the_same_options(load_with: Load) -> None:
    """ProtobufSchemaConverter, by its full name or its last part, for values and keys."""
    given = {
        "value.converter": f"{ROOM}.protobuf.ProtobufSchemaConverter",
        "value.converter.region": "eu-central-1",
        "value.converter.protobufMessageType": "DYNAMIC_MESSAGE",
        **WITH_KEYS,
        "key.converter": "ProtobufSchemaConverter",
    }
    loaded = load_with(given)
    value, key = loaded.settings.format.value, loaded.settings.format.key
    assert (value.converter, key.converter) == (Converter.GLUE_PROTOBUF, Converter.GLUE_PROTOBUF)
    assert (value.registry, key.registry) == (GlueSettings("eu-central-1"), GlueSettings())
    assert "value.converter.protobufMessageType" in {row.name for row in loaded.report if row.ignored}


def test_json_has_the_same_options(load_with: Load) -> None:
    """JsonSchemaConverter by its full name; by its last part alone it is Confluent's, which needs a registry."""
    given = {
        "value.converter": f"{ROOM}.jsonschema.JsonSchemaConverter",
        "value.converter.region": "eu-central-1",
        "value.converter.jacksonSerializationFeatures": "INDENT_OUTPUT",
        **WITH_KEYS,
        "key.converter": f"{ROOM}.jsonschema.JsonSchemaConverter",
    }
    loaded = load_with(given)
    value, key = loaded.settings.format.value, loaded.settings.format.key
    assert (value.converter, key.converter) == (Converter.GLUE_JSON_SCHEMA, Converter.GLUE_JSON_SCHEMA)
    assert (value.registry, key.registry) == (GlueSettings("eu-central-1"), GlueSettings())
    assert "value.converter.jacksonSerializationFeatures" in {row.name for row in loaded.report if row.ignored}
    with pytest.raises(ConfigurationError, match="schema.registry.url"):
        load_with({"value.converter": "JsonSchemaConverter"})


def test_how_glue_is_reached_makes_no_other_plan(load_with: Load) -> None:
    """As for the other registry: a plan made elsewhere yields the same objects."""
    other = {"value.converter.endpoint": "glue:1", "value.converter.assumeRoleArn": "arn:aws:iam::1:role/r"}
    one, two = (load_with(each).settings for each in (GLUE, {**GLUE, **other}))
    assert one.configuration_sha256 == two.configuration_sha256
    assert isinstance(two.format.value.registry, GlueSettings)
    assert two.format.value.registry.endpoint == "https://glue:1"


@pytest.mark.parametrize(
    ("more", "name", "said"),
    [
        (
            {"store.kafka.headers": "true", "header.converter": f"{ROOM}.AWSKafkaAvroConverter"},
            "header.converter",
            "Connect does not take it for headers",
        ),
        ({"value.converter.secondaryDeserializer": "com.example.Own"}, "value.converter.secondaryDeserializer", "Java"),
        ({"value.converter.endpoint": "ftp://glue"}, "value.converter.endpoint", "must be"),
        ({"value.converter.endpoint": "https://me:mine@glue"}, "value.converter.endpoint", "must not contain"),
        ({"value.converter.registry.nam": "shop"}, "value.converter.registry.nam", "Did you mean"),
        ({"format.class": "ByteArrayFormat"}, "value.converter", "with ByteArrayFormat every record would fail"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(load_with: Load, more: dict[str, str], name: str, said: str) -> None:
    """One problem, of that property, with a way out."""
    with pytest.raises(ConfigurationError) as raised:
        load_with({**GLUE, **more})
    assert [problem.name for problem in raised.value.problems] == [name]
    assert said in raised.value.problems[0].message
