"""ProtobufConverter's options: how they reach the converter, and what is said of those that do not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, fields

import pytest

from kafka_s3.errors import ConfigurationError
from kafka_s3.protobuf.options import Options
from kafka_s3.settings import Loaded
from kafka_s3.settings.converters import Converter

Load = Callable[..., Loaded]
PROTOBUF = "io.confluent.connect.protobuf.ProtobufConverter"
KEYS = {"store.kafka.keys": "true"}


def given(side: str, **options: str) -> dict[str, str]:
    url = {"schema.registry.url": "http://registry:8081"}
    named = {f"{side}.converter.{name.replace('_', '.')}": text for name, text in {**url, **options}.items()}
    return {f"{side}.converter": PROTOBUF, **named, **(KEYS if side == "key" else {})}


@pytest.mark.parametrize("side", ["value", "key"])
def test_defaults_are_confluents(load_with: Load, side: str) -> None:
    """Without options the converter has Confluent's defaults, and a registry."""
    converter = getattr(load_with(given(side)).settings.format, side)
    assert (converter.converter, converter.protobuf) == (Converter.PROTOBUF, Options())
    assert converter.registry.client["url"] == "http://registry:8081"
    assert [name for name, value in asdict(Options()).items() if value] == [
        "generate_index_for_unions",
        "optional_for_proto2",
        "wrapper_for_raw_primitives",
    ]


@pytest.mark.parametrize("side", ["value", "key"])
@pytest.mark.parametrize("name", [each.name for each in fields(Options)])
def test_an_option_reaches_the_converter(load_with: Load, side: str, name: str) -> None:
    """Each option changes its own setting alone, and with it what a plan is made by (tests/protobuf: what it does)."""
    other = not getattr(Options(), name)
    plain, loaded = load_with(given(side)), load_with(given(side, **{name: str(other).lower()}))
    converter = getattr(loaded.settings.format, side)
    assert converter.protobuf == Options(**{name: other})
    assert loaded.settings.configuration_sha256 != plain.settings.configuration_sha256


def test_options_of_another_converter_are_ignored(load_with: Load) -> None:
    """Beside AvroConverter the options of Protobuf are ignored, and it is said under which condition they are not."""
    avro = {**given("value", flatten_unions="true", int_for_enums="true"), "value.converter": "AvroConverter"}
    loaded = load_with(avro)
    assert loaded.settings.format.value.protobuf == Options()
    said = {row.name: row.meaning for row in loaded.report if row.name.endswith(("flatten.unions", "int.for.enums"))}
    assert set(said) == {"value.converter.flatten.unions", "value.converter.int.for.enums"}
    assert all("gnored unless value.converter=ProtobufConverter" in each for each in said.values())


def test_a_registry_is_required(load_with: Load) -> None:
    """Without a registry's address the configuration is refused, in the name of the converter that needs it."""
    with pytest.raises(ConfigurationError) as error:
        load_with({"value.converter": PROTOBUF})
    (problem,) = error.value.problems
    assert (problem.name, problem.message) == (
        "value.converter.schema.registry.url",
        "is required by ProtobufConverter",
    )


@pytest.mark.parametrize("format", ["JsonFormat", "AvroFormat", "ParquetFormat"])
def test_messages_are_records(load_with: Load, format: str) -> None:
    """Fields of messages can be paths, and metadata can be added to them, in every format of records."""
    more = {"format.class": format, "partitioner.class": "FieldPartitioner", "partition.field.name": "country"}
    assert load_with({**given("value"), **more, "export.envelope": "offset", "schema.compatibility": "BACKWARD"})
