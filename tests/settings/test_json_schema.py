"""JsonSchemaConverter's options: how they reach the converter, and what is said of those that do not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, fields

import pytest

from kafka_s3.errors import ConfigurationError
from kafka_s3.json_schema.options import Options
from kafka_s3.settings import Loaded
from kafka_s3.settings.converters import Converter

Load = Callable[..., Loaded]
JSON_SCHEMA = "io.confluent.connect.json.JsonSchemaConverter"
KEYS = {"store.kafka.keys": "true"}


def given(side: str, **options: str) -> dict[str, str]:
    url = {"schema.registry.url": "http://registry:8081"}
    named = {f"{side}.converter.{name.replace('_', '.')}": text for name, text in {**url, **options}.items()}
    return {f"{side}.converter": JSON_SCHEMA, **named, **(KEYS if side == "key" else {})}


@pytest.mark.parametrize("side", ["value", "key"])
def test_defaults_are_confluents(load_with: Load, side: str) -> None:
    """Without options the converter has Confluent's defaults, and a registry."""
    converter = getattr(load_with(given(side)).settings.format, side)
    assert (converter.converter, converter.json_schema) == (Converter.JSON_SCHEMA, Options())
    assert converter.registry.client["url"] == "http://registry:8081"
    assert not any(asdict(Options()).values())


@pytest.mark.parametrize("side", ["value", "key"])
@pytest.mark.parametrize("name", [each.name for each in fields(Options)])
def test_an_option_reaches_the_converter(load_with: Load, side: str, name: str) -> None:
    """Each option changes its own setting alone, and what a plan is made by (tests/json_schema: what it does)."""
    other = not getattr(Options(), name)
    plain, loaded = load_with(given(side)), load_with(given(side, **{name: str(other).lower()}))
    converter = getattr(loaded.settings.format, side)
    assert converter.json_schema == Options(**{name: other})
    assert loaded.settings.configuration_sha256 != plain.settings.configuration_sha256


def test_options_of_another_converter_are_ignored(load_with: Load) -> None:
    """Beside AvroConverter the options of JSON Schema are ignored, and it is said when they are not."""
    avro = {**given("value", use_optional_for_nonrequired="true"), "value.converter": "AvroConverter"}
    loaded = load_with(avro)
    assert loaded.settings.format.value.json_schema == Options()
    (said,) = [row.meaning for row in loaded.report if row.name.endswith("use.optional.for.nonrequired")]
    assert "gnored unless value.converter=JsonSchemaConverter" in said


@pytest.mark.parametrize("side", ["value", "key"])
def test_an_option_of_two_converters(load_with: Load, side: str) -> None:
    """generalized.sum.type.support is ProtobufConverter's as well, and changes the one that is set."""
    converter = getattr(load_with(given(side, generalized_sum_type_support="true")).settings.format, side)
    assert converter.json_schema.generalized_sum_type_support


@pytest.mark.parametrize(
    "name",
    ["object.additional.properties", "json.fail.unknown.properties", "json.oneof.for.nullables", "decimal.format"],
)
def test_options_that_change_nothing(load_with: Load, name: str) -> None:
    """What only writers need, or what has no effect on what Connect reads, is ignored by its name."""
    text = "NUMERIC" if name == "decimal.format" else "true"
    loaded = load_with({**given("value"), f"value.converter.{name}": text})
    (row,) = [row for row in loaded.report if row.name == f"value.converter.{name}"]
    assert row.ignored
    assert loaded.settings.format == load_with(given("value")).settings.format


def test_validation_is_quiet_unless_it_is_asked_for(load_with: Load) -> None:
    """Plans made before there was such an option are as they were."""
    plain, off = load_with(given("value")), load_with(given("value", json_fail_invalid_schema="false"))
    assert plain.settings.configuration_sha256 == off.settings.configuration_sha256


def test_a_registry_is_required(load_with: Load) -> None:
    """Without a registry's address the configuration is refused, in the name of the converter that needs it."""
    with pytest.raises(ConfigurationError) as error:
        load_with({"value.converter": JSON_SCHEMA})
    (problem,) = error.value.problems
    assert (problem.name, problem.message) == (
        "value.converter.schema.registry.url",
        "is required by JsonSchemaConverter",
    )


@pytest.mark.parametrize("format", ["JsonFormat", "AvroFormat", "ParquetFormat"])
def test_values_are_records(load_with: Load, format: str) -> None:
    """Fields of values can be paths, and metadata can be added to them, in every format of records."""
    more = {"format.class": format, "partitioner.class": "FieldPartitioner", "partition.field.name": "country"}
    assert load_with({**given("value"), **more, "export.envelope": "offset", "schema.compatibility": "BACKWARD"})
