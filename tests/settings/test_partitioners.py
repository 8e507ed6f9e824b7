"""Partitioners, their times and rotation: from properties to settings, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafka_s3.settings import Loaded
from kafka_s3.settings.paths import (
    DefaultPartitioner,
    FieldPartitioner,
    FieldTime,
    RecordTime,
    RunTime,
    SchemaAffix,
    TimePartitioner,
)
from kafka_s3.settings.properties import UserDefined

Load = Callable[..., Loaded]
Problems = Callable[..., dict[str, str]]

STORAGE = "io.confluent.connect.storage.partitioner"
TIME_BASED = {
    "partitioner.class": f"{STORAGE}.TimeBasedPartitioner",
    "path.format": "'year'=YYYY/'month'=MM/",
    "partition.duration.ms": "3600000",
    "locale": "en",
    "timezone": "UTC",
}
HOURLY = {"partitioner.class": f"{STORAGE}.HourlyPartitioner", "locale": "fr-FR", "timezone": "Europe/Paris"}
BY_FIELD = {"partitioner.class": "FieldPartitioner", "partition.field.name": "user.id, kind"}


def test_partitioners_reach_their_settings(load_with: Load) -> None:
    """With their names in full, in short, or as they were called in an older package."""
    assert load_with().settings.partitioner == DefaultPartitioner()
    assert load_with(BY_FIELD).settings.partitioner == FieldPartitioner(("user.id", "kind"))
    assert load_with(TIME_BASED).settings.partitioner == TimePartitioner(
        3_600_000, "'year'=YYYY/'month'=MM", "UTC", "en", RunTime()
    )
    hourly = TimePartitioner(3_600_000, "'year='YYYY'/month='MM'/day='dd'/hour='HH", "Europe/Paris", "fr-FR", RunTime())
    assert load_with(HOURLY).settings.partitioner == hourly
    hdfs = {**HOURLY, "partitioner.class": "io.confluent.connect.hdfs.partitioner.HourlyPartitioner"}
    assert load_with(hdfs).settings.partitioner == hourly


@pytest.mark.parametrize(
    ("name", "pattern"),
    [("DailyPartitioner", "year=1970|month=01|day=01"), ("HourlyPartitioner", "year=1970|month=01|day=01|hour=00")],
)
def test_daily_and_hourly_have_patterns_of_their_own(load_with: Load, name: str, pattern: str) -> None:
    """With the configured delimiter between the parts, and whatever path.format says."""
    from kafka_s3.joda.buckets import Bucketer
    from kafka_s3.joda.zones import zone

    given = {**TIME_BASED, "partitioner.class": name, "path.format": "QQQ", "directory.delim": "|"}
    found = load_with(given).settings.partitioner
    assert isinstance(found, TimePartitioner)
    assert Bucketer(found.duration_ms, found.path_format, zone("UTC"), "en").path(0) == pattern


@pytest.mark.parametrize(
    ("text", "extractor"),
    [
        ("Wallclock", RunTime()),
        ("Record", RecordTime()),
        ("RecordField", FieldTime("at.ms")),
        (f"{STORAGE}.TimeBasedPartitioner$RecordFieldTimestampExtractor", FieldTime("at.ms")),
        (
            "tests.values.partitioners.test_user_defined:KeyTime",
            UserDefined("tests.values.partitioners.test_user_defined:KeyTime"),
        ),
    ],
)
def test_extractors(load_with: Load, text: str, extractor: object) -> None:
    found = load_with({**TIME_BASED, "timestamp.extractor": text, "timestamp.field": "at.ms"}).settings.partitioner
    assert isinstance(found, TimePartitioner)
    assert found.extractor == extractor


def test_classes_of_ones_own(load_with: Load) -> None:
    """A Python path in the place of a class, of a partitioner and of a format."""
    own = "tests.values.partitioners.test_user_defined:ByLength"
    assert load_with({"partitioner.class": own}).settings.partitioner == UserDefined(own)
    format = "tests.write.test_writer_paths:Bracketed"
    assert load_with({"format.class": format}).settings.format.file.format == UserDefined(format)


def test_rotation_and_limits(load_with: Load) -> None:
    """rotate.interval.ms counts with time-based partitioners only, as in the sink."""
    more = {"rotate.interval.ms": "60000", "export.object.bytes.max": "1000000", "partitioner.max.open.files": "7"}
    limits = load_with({**HOURLY, **more, "s3.schema.partition.affix.type": "SUFFIX"}).settings.limits
    assert (limits.rotate_interval_ms, limits.object_bytes_max, limits.open_objects_max) == (60_000, 1_000_000, 7)
    assert load_with(more).settings.limits.rotate_interval_ms is None
    unset = load_with().settings
    assert (unset.limits.object_bytes_max, unset.limits.open_objects_max) == (None, 300)
    assert unset.schema_affix is SchemaAffix.NONE


@pytest.mark.parametrize(
    ("more", "wrong"),
    [
        ({**TIME_BASED, "path.format": None}, {"path.format": "Path format cannot be empty."}),
        ({**TIME_BASED, "path.format": "/"}, {"path.format": "Path format cannot be empty."}),
        ({**TIME_BASED, "path.format": "'y'=YYYY/r"}, {"path.format": "Illegal pattern component: r"}),
        ({**TIME_BASED, "partition.duration.ms": None}, {"partition.duration.ms": "Partition duration needs to be"}),
        ({**TIME_BASED, "partition.duration.ms": "-1"}, {"partition.duration.ms": "Partition duration needs to be"}),
        ({**TIME_BASED, "locale": None}, {"locale": "Locale cannot be empty."}),
        ({**TIME_BASED, "path.format": "MMMM", "locale": "xx"}, {"locale": "The locale is not known, and path.format"}),
        ({**TIME_BASED, "path.format": "zzzz", "locale": "xx"}, {"locale": "path.format has names in it"}),
        ({**HOURLY, "timezone": " "}, {"timezone": "Timezone cannot be empty."}),
        ({**HOURLY, "timezone": "Mars/X"}, {"timezone": "The datetime zone id is not recognised"}),
        (
            {**TIME_BASED, "timestamp.extractor": "com.example.Own"},
            {"timestamp.extractor": "unknown class; known: Wallclock, Record, RecordField"},
        ),
        ({**TIME_BASED, "path.format": "'..'/YYYY"}, {"path.format": "no part of a path may be '.' or '..'"}),
        ({**TIME_BASED, "path.format": "YYYY/./"}, {"path.format": "no part of a path may be '.' or '..'"}),
        (
            {**TIME_BASED, "path.format": "b", "timezone": "Mars/X"},
            {"path.format": "component: b", "timezone": "not recognised"},
        ),
        (
            {"partitioner.class": f"{STORAGE}.TimeBasedPartitioner"},
            {
                "path.format": "Path format cannot be empty. Give one: for example 'year'=YYYY/'month'=MM/'day'=dd",
                "partition.duration.ms": "One hour is 3600000, a day 86400000.",
                "locale": "Locale cannot be empty. Time-based paths need it: for example locale=en",
                "timezone": "Timezone cannot be empty. Time-based paths need it: for example timezone=UTC",
            },
        ),
        ({"partitioner.class": "FieldPartitoner"}, {"partitioner.class": ". Did you mean FieldPartitioner?"}),
        ({"partitioner.class": " "}, {"partitioner.class": "must not be blank; known: "}),
        ({"partition.field.name": "a,,b"}, {"partition.field.name": "contains a blank field name"}),
        ({**BY_FIELD, "partition.field.name": None}, {"partition.field.name": "cannot be null or empty"}),
        ({**BY_FIELD, "partition.field.name": "a..b"}, {"partition.field.name": "contains a blank field name"}),
        (
            {**BY_FIELD, "value.converter": "org.apache.kafka.connect.storage.StringConverter"},
            {"partitioner.class": "requires values with fields, and values of StringConverter have none"},
        ),
        (
            {**HOURLY, "timestamp.extractor": "RecordField", "format.class": "ByteArrayFormat"},
            {"timestamp.extractor": "requires values with fields"},
        ),
        ({"partitioner.class": "no.such.module:Own"}, {"partitioner.class": "importing no.such.module raised"}),
        ({"format.class": "json:Nothing"}, {"format.class": "the module json has no class Nothing"}),
        (
            {"partitioner.class": "tests.write.test_writer_paths:Bracketed", "flush.size": "0"},
            {"flush.size": "at least 1"},
        ),
    ],
)
def test_what_is_wrong_is_named(problems_of: Problems, more: dict[str, str | None], wrong: dict[str, str]) -> None:
    """The property, and what is allowed; each problem once and no others."""
    found = problems_of(more)
    assert found.keys() == wrong.keys()
    for name, message in wrong.items():
        assert message in found[name]


def test_what_another_partitioner_reads_is_ignored(load_with: Load) -> None:
    """It is listed with the reason, shapes nothing, and is not in the plan."""
    loaded = load_with({**TIME_BASED, "partitioner.class": "DefaultPartitioner", "partition.field.name": "f"})
    meanings = {row.name: row.meaning for row in loaded.report}
    for name in ("path.format", "partition.duration.ms", "locale", "partition.field.name"):
        assert meanings[name].startswith("ignored unless ")
        assert name not in loaded.settings.resolved
    assert "timestamp.extractor" not in meanings
    assert loaded.settings.configuration_sha256 == load_with({"timezone": "UTC"}).settings.configuration_sha256


def test_what_hangs_on_a_ignored_property_is_ignored_too(load_with: Load) -> None:
    """timestamp.field hangs on timestamp.extractor, which the default partitioner does not read."""
    loaded = load_with({"timestamp.extractor": "RecordField", "timestamp.field": "at", "timezone": "UTC"})
    meanings = {row.name: row.meaning for row in loaded.report}
    assert meanings["timestamp.field"].startswith("ignored unless ")
    assert "timestamp.field" not in loaded.settings.resolved
    assert loaded.settings.configuration_sha256 == load_with({"timezone": "UTC"}).settings.configuration_sha256


@pytest.mark.parametrize(
    "more",
    [
        {"path.format": "'year'=YYYY"},
        {"partition.duration.ms": "7200000"},
        {"timezone": "Asia/Tokyo"},
        {"locale": "de"},
        {"timestamp.extractor": "Record"},
        {"rotate.interval.ms": "5"},
        {"export.object.bytes.max": "5"},
        {"partitioner.max.open.files": "5"},
        {"s3.schema.partition.affix.type": "PREFIX"},
    ],
)
def test_what_makes_other_objects_makes_another_plan(load_with: Load, more: dict[str, str]) -> None:
    """The hash of the configuration covers it."""
    before, after = load_with(TIME_BASED).settings, load_with({**TIME_BASED, **more}).settings
    assert before.configuration_sha256 != after.configuration_sha256
