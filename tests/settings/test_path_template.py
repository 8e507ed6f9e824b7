"""`export.path.template`: from a property to settings, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafka_s3.settings import Loaded
from kafka_s3.settings.path_template import HeaderText, Text, TimeText, ValueField
from kafka_s3.settings.paths import RecordTime, RunTime, TemplatePartitioner

Load = Callable[..., Loaded]
Problems = Callable[..., dict[str, str]]
TEMPLATE = "export.path.template"
BASE = {"partitioner.class": "FieldAndTimePartitioner", "locale": "en", "timezone": "UTC"}


def test_a_template_reaches_its_settings(load_with: Load) -> None:
    """With times as TimeBasedPartitioner has them; one delimiter at the end is left out."""
    template = "r={region}/{timestamp:'day='yyyy}/{header.tenant}/"
    given = {**BASE, TEMPLATE: template, "timestamp.extractor": "Record", "rotate.interval.ms": "60000"}
    settings = load_with(given).settings
    parts = (
        Text("r="),
        ValueField("region"),
        Text("/"),
        TimeText("'day='yyyy"),
        Text("/"),
        HeaderText("tenant"),
    )
    assert settings.partitioner == TemplatePartitioner(parts, "UTC", "en", RecordTime())
    assert settings.notes_timestamps
    assert settings.limits.rotate_interval_ms == 60_000
    assert load_with({**given, "partitioner.class": "kafka_s3.FieldAndTimePartitioner"}).settings == settings


def test_without_a_time_no_zone_is_needed(load_with: Load) -> None:
    """Nor a language."""
    given = {"partitioner.class": "FieldAndTimePartitioner", TEMPLATE: "{region}"}
    assert load_with(given).settings.partitioner == TemplatePartitioner((ValueField("region"),), "UTC", "", RunTime())


@pytest.mark.parametrize(
    ("more", "name", "said"),
    [
        ({TEMPLATE: ""}, TEMPLATE, "must not be blank"),
        ({TEMPLATE: "/"}, TEMPLATE, "must not be blank"),
        ({TEMPLATE: "a//{b}"}, TEMPLATE, "no part of a path may be empty"),
        ({TEMPLATE: "/a"}, TEMPLATE, "no part of a path may be empty"),
        ({TEMPLATE: "{b}/../c"}, TEMPLATE, "no part of a path may be '.' or '..'"),
        ({TEMPLATE: "{timestamp:'..'}/a"}, TEMPLATE, "no part of a path may be '.' or '..'"),
        ({TEMPLATE: "{b"}, TEMPLATE, "{b has no closing '}'"),
        ({TEMPLATE: "b}"}, TEMPLATE, "a '}' without a '{'"),
        ({TEMPLATE: "{}"}, TEMPLATE, "{} is not a placeholder"),
        ({TEMPLATE: "{header.}"}, TEMPLATE, "{header.} is not a placeholder"),
        ({TEMPLATE: "{offset:x}"}, TEMPLATE, "is not a placeholder; known placeholders: {field}"),
        (
            {TEMPLATE: "{timestamp}"},
            TEMPLATE,
            "needs a pattern, as {timestamp:yyyy-MM-dd}; a field is {value.timestamp}",
        ),
        ({TEMPLATE: "{timestamp:rr}"}, TEMPLATE, "Illegal pattern component: rr"),
        ({TEMPLATE: "a\tb"}, TEMPLATE, "control character"),
        ({TEMPLATE: "x" * 1025}, TEMPLATE, "the limit is 1024"),
        ({TEMPLATE: "{a}" * 33}, TEMPLATE, "more than 32 placeholders"),
        ({TEMPLATE: "{timestamp:HH}", "locale": ""}, "locale", "Locale cannot be empty"),
        ({TEMPLATE: "{a}", "rotate.interval.ms": "60000"}, "rotate.interval.ms", "needs a time of each record"),
        ({TEMPLATE: "{a}", "format.class": "ByteArrayFormat"}, TEMPLATE, "requires values with fields"),
        ({TEMPLATE: "{key.a}", "key.converter": "AvroConverter"}, TEMPLATE, "key.converter is AvroConverter"),
        (
            {TEMPLATE: "{timestamp:HH}", "export.completeness.marker.enable": "true"},
            "export.completeness.marker.enable",
            "paths of FieldAndTimePartitioner do not follow from the time alone",
        ),
    ],
)
def test_what_is_wrong_is_refused_by_name(problems_of: Problems, more: dict[str, str], name: str, said: str) -> None:
    """At validate, before any record is read."""
    problems = problems_of({**BASE, **more})
    assert said in problems[name]
