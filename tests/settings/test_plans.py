"""What a plan holds of a configuration: all that shapes objects, loadable, and nothing that is not read."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_s3.errors import ConfigurationError
from kafka_s3.settings import Loaded, catalogue, from_mapping
from kafka_s3.settings.properties import Kind
from tests.settings.given import (
    ENVELOPE,
    INFER,
    INLINE,
    KEY_REGISTRY,
    PLAIN,
    REGISTRY,
    SCHEMA,
    TOLERANT,
    TOPIC,
    WITH_KEYS,
)
from tests.support import MINIMAL

Load = Callable[..., Loaded]


RELOADED = [
    {},
    {**REGISTRY, "format.class": "ParquetFormat", "export.envelope": "topic,headers"},
    {**REGISTRY, "value.converter.basic.auth.credentials.source": "USER_INFO"}
    | {"value.converter.basic.auth.user.info": "user:password"},
    {**REGISTRY, "value.converter.schema.registry.url": "http://user:password@a:1,http://b:1"},
    {**REGISTRY, "value.converter.bearer.auth.credentials.source": "STATIC_TOKEN"}
    | {"value.converter.bearer.auth.token": "token"},
    {**WITH_KEYS, **KEY_REGISTRY, "behavior.on.null.values": "write", "store.kafka.headers": "true"},
    {**INLINE, "format.class": "ParquetFormat"},
    {**ENVELOPE, **TOLERANT, TOPIC: "dlq", "schema.compatibility": "BACKWARD"},
    {"format.class": "BlockGzipFormat", "compressed_block_size": "1000"},
    {"format.class": "ByteArrayFormat", "s3.compression.type": "gzip"},
]


@pytest.mark.parametrize("more", RELOADED, ids=lambda more: ",".join(more) or "minimal")
def test_a_plan_holds_a_configuration_of_the_same_objects(load_with: Load, more: dict[str, str]) -> None:
    """`resolved` loads again, to the same hash and the same contents of objects: verify reads old plans so."""
    settings = load_with(more).settings
    again = from_mapping(settings.resolved, offline=True).settings
    assert again.configuration_sha256 == settings.configuration_sha256
    assert again.resolved == settings.resolved
    assert again.format == settings.format or any("auth" in name or "@" in text for name, text in more.items())


JSON_HEADERS = {"store.kafka.headers": "true", "header.converter": "JsonConverter"}
SHAPING = {
    "avro.codec": ({**REGISTRY, "format.class": "AvroFormat"}, "snappy"),
    "parquet.codec": ({**REGISTRY, "format.class": "ParquetFormat"}, "zstd"),
    "export.parquet.row.group.bytes": ({**REGISTRY, "format.class": "ParquetFormat"}, "1048576"),
    "json.decimal.format": (REGISTRY, "NUMERIC"),
    "export.json.array": ({}, "true"),
    "schema.compatibility": (REGISTRY, "FULL"),
    "value.converter.value.subject.name.strategy": (REGISTRY, "RecordNameStrategy"),
    "value.converter.replace.null.with.default": (ENVELOPE, "false"),
    "value.converter.schemas.enable": (ENVELOPE, "false"),
    "export.value.schema": (PLAIN, json.dumps(SCHEMA)),
    "export.value.schema.infer.misfit": (INFER, "reject"),
    "store.kafka.keys": ({}, "true"),
    "store.kafka.headers": ({}, "true"),
    "keys.format.class": (WITH_KEYS, "JsonFormat"),
    "headers.format.class": ({"store.kafka.headers": "true"}, "JsonFormat"),
    "key.converter": (WITH_KEYS, "LongConverter"),
    "header.converter": ({"store.kafka.headers": "true"}, "StringConverter"),
    "header.converter.schemas.enable": (JSON_HEADERS, "false"),
    "header.converter.replace.null.with.default": (JSON_HEADERS, "false"),
    "tombstone.encoded.partition": ({**WITH_KEYS, "behavior.on.null.values": "write"}, "gone"),
    "report.null.values.to.dlq": ({**TOLERANT, "behavior.on.null.values": "ignore"}, "false"),
    "errors.tolerance": ({}, "all"),
    "export.envelope": ({}, "topic"),
    "export.envelope.prefix": ({"export.envelope": "topic"}, "_"),
    "compressed_block_size": ({"format.class": "BlockGzipFormat"}, "5"),
}


@pytest.mark.parametrize("name", SHAPING)
def test_what_shapes_objects_makes_another_plan(load_with: Load, name: str) -> None:
    """A plan is not finished under another value of what its bytes, names or contents hang on."""
    around, value = SHAPING[name]
    ours, theirs = (load_with(each).settings for each in (around, {**around, name: value}))
    assert ours.configuration_sha256 != theirs.configuration_sha256


@pytest.mark.parametrize(
    "more",
    [
        {"avro.codec": "snappy", "parquet.codec": "zstd", "schema.compatibility": "FULL"},
        {"keys.format.class": "JsonFormat", "headers.format.class": "JsonFormat", "key.converter": "LongConverter"},
        {"export.parquet.row.group.bytes": "1048576", "export.envelope.prefix": "_", "compressed_block_size": "5"},
        {"tombstone.encoded.partition": "gone", "report.null.values.to.dlq": "false"},
        {TOPIC: "dlq", "errors.log.enable": "true", "export.errors.fraction.max": "0.5"},
    ],
)
def test_what_is_not_read_makes_no_other_plan(load_with: Load, more: dict[str, str]) -> None:
    """An option of another format, or of what is not stored, changes nothing, and validate says so."""
    loaded = load_with(more)
    assert loaded.settings.configuration_sha256 == load_with().settings.configuration_sha256
    rows = {row.name: row.meaning for row in loaded.report}
    assert all(rows[name].startswith("ignored") for name in more)


_OFFERED = {name: [each.name for each in prop.choices] for name, prop in catalogue.PROPERTIES.items() if prop.choices}
_PLAUSIBLE = {
    **{name: names for name, names in _OFFERED.items() if name != "s3.compression.type"},
    **{name: ["true"] for name, prop in catalogue.PROPERTIES.items() if prop.kind is Kind.BOOLEAN},
    "export.envelope": ["topic", "key,headers"],
    "export.value.schema": [json.dumps(SCHEMA, indent=1), "infer"],
}
_ONE = st.sampled_from([(name, text) for name, texts in _PLAUSIBLE.items() for text in texts])


@given(st.lists(_ONE, max_size=4), st.sampled_from([REGISTRY, ENVELOPE, PLAIN, {}]))
def test_whatever_loads_loads_again_from_its_plan(some: list[tuple[str, str]], around: dict[str, str]) -> None:
    """Of any configuration that is right, what its plan holds is right too, and shapes objects as it does."""
    whole = {**MINIMAL, **KEY_REGISTRY, **around, **dict(some)}
    try:
        settings = from_mapping(whole, offline=True).settings
    except ConfigurationError:
        return
    again = from_mapping(settings.resolved, offline=True).settings
    assert again.configuration_sha256 == settings.configuration_sha256
    assert (again.format, again.layout.naming) == (settings.format, settings.layout.naming)
