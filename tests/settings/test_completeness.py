"""Which connectors may ask for markers of completeness."""

import pytest

from kafka_s3.settings.completeness import Completeness
from tests.settings.conftest import Load, Problems

ENABLE = "export.completeness.marker.enable"
LATENESS = "export.completeness.lateness.ms"
HOURLY = {
    ENABLE: "true",
    "partitioner.class": "HourlyPartitioner",
    "locale": "en",
    "timezone": "UTC",
    "timestamp.extractor": "Record",
}
BY_PATTERN = {**HOURLY, "partitioner.class": "TimeBasedPartitioner", "partition.duration.ms": "3600000"}


def test_markers_are_off_unless_asked_for(load_with: Load) -> None:
    """Neither property has an effect by itself: lateness alone asks for nothing."""
    assert load_with({}).settings.completeness is None
    assert load_with({LATENESS: "5"}).settings.completeness is None
    assert load_with({**HOURLY}).settings.completeness == Completeness(0)
    assert load_with({**HOURLY, LATENESS: "60000"}).settings.completeness == Completeness(60_000)


@pytest.mark.parametrize(
    "path_format",
    [
        "YYYY",
        "YYYY-MM",
        "YYYYMMdd",
        "yyyy/MM/dd/HH/mm",
        "'year'=YYYY/'month'=MM/'day'=dd/'hour'=HH",
        "yyyy-DDD",
        "xxxx-'W'ww",
        "yyyy/MM/dd/hh-a",
        "EEEE-yyyy-MM-dd",
    ],
)
def test_paths_that_come_once(load_with: Load, path_format: str) -> None:
    """A pattern that tells all times apart, as coarsely as it may, is taken."""
    assert load_with({**BY_PATTERN, "path.format": path_format}).settings.completeness is not None


@pytest.mark.parametrize("path_format", ["HH", "dd", "MM-dd", "EEEE", "yyyy/MM/dd/hh", "yyyy/dd", "YYYY/ww", "mm"])
def test_paths_that_come_again(problems_of: Problems, path_format: str) -> None:
    """A path that a later time has too would be marked too early: refused, with the path."""
    more = {"partition.duration.ms": "60000"} if path_format == "mm" else {}
    problems = problems_of({**BY_PATTERN, "path.format": path_format, **more})
    assert list(problems) == [ENABLE]
    assert "comes again at a later time" in problems[ENABLE]


def test_a_path_that_never_changes(problems_of: Problems) -> None:
    """It is never complete."""
    assert "never change" in problems_of({**BY_PATTERN, "path.format": "'all'"})[ENABLE]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"partitioner.class": "DefaultPartitioner"}, "paths of DefaultPartitioner have no time"),
        ({"partitioner.class": "FieldPartitioner", "partition.field.name": "f"}, "FieldPartitioner have no time"),
        ({"partitioner.class": "mine:ByCustomer"}, "paths of mine:ByCustomer have no time"),
        ({"timestamp.extractor": "RecordField"}, "use timestamp.extractor=Record or Wallclock"),
        ({"timestamp.extractor": "mine:OrderTime"}, "use timestamp.extractor=Record or Wallclock"),
        ({"s3.schema.partition.affix.type": "SUFFIX"}, "use s3.schema.partition.affix.type=NONE"),
    ],
)
def test_what_is_never_known_to_be_complete(problems_of: Problems, more: dict[str, str], said: str) -> None:
    """Partitioners and extractors without an order that Kafka knows are refused by name, with the way out."""
    assert said in problems_of({**HOURLY, **more})[ENABLE]


@pytest.mark.parametrize("value", ["-1", "soon", "99999999999999"])
def test_a_lateness_that_is_none(problems_of: Problems, value: str) -> None:
    """It is a number of milliseconds, from none to ten years."""
    assert LATENESS in problems_of({**HOURLY, LATENESS: value})
