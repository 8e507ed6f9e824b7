"""The older Block-GZIP connector's configuration, as its page describes it."""

from collections.abc import Callable

import pytest

from kafka_s3.errors import ConfigurationError
from kafka_s3.naming import KeyLayout, Naming
from kafka_s3.settings import Loaded, from_mapping
from kafka_s3.settings.converters import Converter
from kafka_s3.settings.formats import Format

Load = Callable[..., Loaded]

OLDER = {
    "name": "connect-s3",
    "connector.class": "com.deviantart.kafka_connect_s3.S3SinkConnector",
    "tasks.max": "1",
    "topics": "system-test",
    "s3.bucket": "connect-system-test",
    "local.buffer.dir": "/tmp/connect-system-test",
}


def problems_of(more: dict[str, str]) -> dict[str, str]:
    with pytest.raises(ConfigurationError) as raised:
        from_mapping({**OLDER, **more}, offline=True)
    return {problem.name: problem.message for problem in raised.value.problems}


def test_it_loads_as_it_is() -> None:
    """What the page requires is enough: no flush.size, no storage.class, no format; its defaults are its own."""
    settings = from_mapping(OLDER, offline=True).settings
    assert settings.layout.naming is Naming.BLOCK_GZIP
    assert settings.format.file.format is Format.BLOCK_GZIP
    assert settings.format.file.block_bytes == 67_108_864
    assert settings.format.value.converter is Converter.BYTE_ARRAY
    assert settings.layout == KeyLayout(topics_dir="", naming=Naming.BLOCK_GZIP)
    assert (settings.s3.bucket, settings.s3.endpoint_url, settings.s3.path_style) == (
        "connect-system-test",
        None,
        False,
    )
    # No limit of records: a range is one object, up to a size.
    assert settings.limits.flush_size == settings.limits.range_records_max == 1_000_000
    assert settings.limits.object_bytes_max == 1 << 30


def test_its_properties_reach_their_settings() -> None:
    """Prefix, endpoint, path style and block size are what they say; today's properties work beside them."""
    more = {
        "s3.prefix": "systest/",
        "s3.endpoint": "http://localhost:9090",
        "s3.path_style": "true",
        "compressed_block_size": "1000",
        "value.converter": "org.apache.kafka.connect.storage.StringConverter",
        "export.range.records.max": "5000",
        "flush.size": "100",
    }
    loaded = from_mapping({**OLDER, **more}, offline=True)
    settings = loaded.settings
    assert settings.layout.topics_dir == "systest"
    assert (settings.s3.endpoint_url, settings.s3.path_style) == ("http://localhost:9090", True)
    assert settings.format.file.block_bytes == 1000
    assert settings.format.value.converter is Converter.STRING
    assert (settings.limits.flush_size, settings.limits.range_records_max) == (100, 5000)
    rows = {row.name: row for row in loaded.report}
    assert rows["local.buffer.dir"].meaning == "ignored: nothing is buffered on disk"
    assert (rows["s3.prefix"].value, rows["s3.prefix"].source) == ("systest/", "connector file")


def test_a_worker_file_and_a_connection_fill_in_as_ever() -> None:
    """What the older connector's file names wins over them, by whichever name they say it."""
    aws = {"endpoint_url": "http://a:1", "region_name": "eu-central-1"}
    settings = from_mapping(OLDER, offline=True, aws_connection=aws, worker={"topics.dir": "w"}).settings
    assert (settings.s3.endpoint_url, settings.s3.region, settings.layout.topics_dir) == (
        "http://a:1",
        "eu-central-1",
        "w",
    )
    own = {**OLDER, "s3.endpoint": "http://b:1", "s3.prefix": "mine"}
    settings = from_mapping(own, offline=True, aws_connection=aws, worker={"topics.dir": "w"}).settings
    assert (settings.s3.endpoint_url, settings.layout.topics_dir) == ("http://b:1", "mine")


def test_what_a_plan_of_it_holds_is_the_same_configuration() -> None:
    """`resolved` holds today's names once, and says whose names objects have."""
    settings = from_mapping({**OLDER, "s3.prefix": "p"}, offline=True).settings
    again = from_mapping(settings.resolved, offline=True).settings
    assert again.layout.naming is Naming.BLOCK_GZIP
    assert (again.resolved, again.configuration_sha256) == (settings.resolved, settings.configuration_sha256)
    assert not settings.resolved.keys() & {"s3.bucket", "s3.prefix", "s3.endpoint", "s3.path_style"}
    named = {**settings.resolved, "connector.class": "io.confluent.connect.s3.S3SinkConnector"}
    assert from_mapping(named, offline=True).settings.configuration_sha256 != settings.configuration_sha256


@pytest.mark.parametrize(
    ("more", "name", "said"),
    [
        ({"s3.bucket": ""}, "s3.bucket", "must not be blank"),
        ({"s3.bucket.name": "other"}, "s3.bucket", "differs from s3.bucket.name"),
        ({"s3.path_style": "yes"}, "s3.path_style", "either true or false"),
        ({"partitioner.class": "HourlyPartitioner"}, "partitioner.class", "does not support it"),
        ({"store.kafka.keys": "true"}, "store.kafka.keys", "does not support it"),
        ({"format.class": "JsonFormat"}, "format.class", "does not support it"),
        ({"value.converter": "AvroConverter"}, "value.converter", "BlockGzipFormat holds lines"),
        (
            {"value.converter": "org.apache.kafka.connect.json.JsonConverter"},
            "value.converter",
            "value.converter.schemas.enable=false",
        ),
        ({"s3.endpoint": "http://u:canary@h"}, "s3.endpoint", "must not contain a user name or password"),
    ],
)
def test_what_it_cannot_be(more: dict[str, str], name: str, said: str) -> None:
    """What its names have no place for is refused, and two names of one thing that differ."""
    found = problems_of(more)
    assert said in found[name]
    assert "canary" not in str(found)


@pytest.mark.parametrize("name", ["s3.bucket", "s3.prefix", "s3.endpoint", "s3.path_style"])
def test_its_names_belong_to_it(load_with: Load, name: str) -> None:
    """In a configuration of today's sink they are refused with today's name: left out, nobody would notice."""
    with pytest.raises(ConfigurationError, match=rf"{name}=true: belongs to the Block-GZIP connector: use "):
        load_with({name: "true"})
