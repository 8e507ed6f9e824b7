"""FieldAndTimePartitioner: paths of fields, headers and times, in any order."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_s3.naming import DataName, KeyLayout, format_data_key, parse_data_key
from kafka_s3.ranges import TopicPartition
from kafka_s3.records import ColumnBatch, Record
from kafka_s3.settings.path_template import parse_template
from kafka_s3.settings.paths import Extractor, FieldPartitioner, FieldTime, RecordTime, RunTime, TemplatePartitioner
from kafka_s3.shown import plain
from kafka_s3.values.partitioners.build import partitioner_for
from kafka_s3.values.partitioners.paths import Paths, escape_for
from kafka_s3.values.rows import Lines
from tests.support import make_settings

TP = TopicPartition("orders", 3)
BY_RECORD = RecordTime()
AT_MS = 1_699_999_200_000  # 2023-11-14T22:00:00Z


def record(value: object, key: object = None, at_ms: int | None = AT_MS, **headers: bytes | None) -> Record:
    raw = value if isinstance(value, bytes) or value is None else json.dumps(value).encode()
    raw_key = key if isinstance(key, bytes) or key is None else json.dumps(key).encode()
    return Record(0, raw, raw_key, at_ms, tuple(headers.items()))


def paths_of(template: str, records: Sequence[Record], extractor: Extractor, zone: str = "UTC", **more: Any) -> Paths:
    partitioner = TemplatePartitioner(parse_template(template), zone, "en", extractor)
    batch = ColumnBatch(TP, list(records))
    return partitioner_for(make_settings(partitioner=partitioner, **more), AT_MS, ".json")(batch, Lines(batch.values()))


def each_of(template: str, *records: Record, extractor: Extractor = BY_RECORD, **more: Any) -> list[str]:
    """The path of each record, or `!` and why it has none."""
    paths = paths_of(template, records, extractor, **more)
    each = [paths.each] * len(records) if isinstance(paths.each, str) else paths.each
    return [
        f"!{plain(paths.bad[index], content=True)}" if index in paths.bad else path for index, path in enumerate(each)
    ]


def test_every_placeholder_has_its_text() -> None:
    """Fields of value and key, nested ones too, the whole key, headers, topic, partition and time, in any order."""
    template = "{header.tenant}/{timestamp:yyyy-MM-dd}/r={region}.{value.a.b}/{key.id}/{topic}-{partition}"
    given = record({"region": "eu", "a": {"b": 7}}, {"id": True}, tenant=b"t1")
    assert each_of(template, given) == ["t1/2023-11-14/r=eu.7/true/orders-3"]
    assert each_of("k={key}", record({}, b"some key")) == ["k=some key"]
    assert each_of("{value.key}/{value.timestamp}", record({"key": "k", "timestamp": 5})) == ["k/5"]
    assert each_of("100%/{n}%s", record({"n": 1}), record({"n": 2})) == ["100%/1%s", "100%/2%s"]


def test_the_time_is_the_extractors() -> None:
    """Of the record, of a field, or of the run; printed in the configured zone; several patterns at once."""
    records = [record({"at": "1970-01-01T23:30:00Z"}, at_ms=at) for at in (0, 3_600_000)]
    assert each_of("{timestamp:HH}", *records) == ["00", "01"]
    assert each_of("{timestamp:dd}/{timestamp:HH}", *records, extractor=FieldTime("at"), zone="Asia/Tokyo") == [
        "02/08",
        "02/08",
    ]
    assert paths_of("{timestamp:yyyy}", records, RunTime()).each == "2023"
    assert paths_of("{timestamp:yyyy}", records, RecordTime()).times == [0, 3_600_000]
    assert paths_of("{at}", records, RecordTime()).times is None


def test_the_last_header_of_a_name_counts() -> None:
    """As Connect's lastWithName; a header without a value is null, in FieldPartitioner's word."""
    twice = Record(0, b"{}", None, AT_MS, (("t", b"one"), ("u", b"x"), ("t", b"two")))
    assert each_of("{header.t}", twice, record({}, t=None)) == ["two", "null"]


@pytest.mark.parametrize(
    ("template", "given", "why"),
    [
        ("{n}", {"m": 1}, "field n is missing"),
        ("{n}", {"n": [1]}, "field n is a list"),
        ("{n}", {"n": 1.5}, "field n is a number with a fraction"),
        ("{n}", b"text", "the value is not JSON"),
        ("{n}/x", {"n": ""}, "its path has an empty part"),
        ("{n}", {"n": ".."}, "has a part '.' or '..'"),
        ("{n}.", {"n": "."}, "has a part '.' or '..'"),
        ("{n}", {"n": "\ud800"}, "field n holds half a surrogate pair"),
        ("{n}", {"n": "x" * 1100}, "S3 takes 1024"),
        ("{header.t}", {}, "header t is missing"),
        ("{key.n}", {}, "field n"),
        ("{key}", {}, None),
        ("{timestamp:HH}/{n}", {}, "field n is missing"),
    ],
)
def test_what_has_no_path_is_a_bad_record(template: str, given: object, why: str | None) -> None:
    """Alone: the records around it have theirs."""
    raw = json.dumps(given).encode() if not isinstance(given, bytes) else given
    good = record({"n": 1}, {"n": 1}, t=b"t")
    before, found, after = each_of(template, good, Record(1, raw, None, AT_MS), good)
    assert before == after
    assert not before.startswith("!")
    assert found == "null" if why is None else (found.startswith("!") and why in found)


def test_text_that_is_not_utf8_is_a_bad_record() -> None:
    """In keys and headers."""
    assert "the key is not UTF-8" in each_of("{key}", record({}, b"\xff"))[0]
    assert "header t is not UTF-8" in each_of("{header.t}", record({}, t=b"\xff"))[0]


def test_a_record_without_a_time_is_a_bad_record() -> None:
    """Where the path has a time; else nobody asks."""
    assert each_of("{timestamp:HH}", record({}, at_ms=None), record({})) == ["!the record has no timestamp", "22"]
    assert each_of("{n}", record({"n": 1}, at_ms=None)) == ["1"]


@given(st.lists(st.fixed_dictionaries({"a": st.text() | st.integers() | st.booleans() | st.none()}), min_size=1))
def test_fields_are_those_of_fieldpartitioner(values: list[Mapping[str, Any]]) -> None:
    """The same values make the same texts, and the same records are bad, but for a name that is written out."""
    batch = ColumnBatch(TP, [record(value) for value in values])
    settings = make_settings(partitioner=FieldPartitioner(("a",)))
    by_field = partitioner_for(settings, AT_MS, ".json")(batch, Lines(batch.values()))
    by_template = paths_of("a={a}", batch.records, RecordTime())
    assert by_template.bad.keys() == by_field.bad.keys()
    assert by_template.each == by_field.each


@given(st.lists(st.tuples(st.text(), st.binary(), st.text(min_size=1)), min_size=1, max_size=8))
def test_no_text_leads_out_of_its_place(given: list[tuple[str, bytes, str]]) -> None:
    """Whatever fields, keys and headers hold, a key stays in its topic's folder and is read back as it was made."""
    records = [record({"f": field}, key, h=header.encode("utf-8", "replace")) for field, key, header in given]
    layout = KeyLayout()
    for path, one in zip(each_of("{f}/{key}-{header.h}", *records), records, strict=True):
        if path.startswith("!"):
            continue
        name = DataName("orders", path, 3, 0, ".json")
        key = format_data_key(layout, name)
        assert key.startswith("topics/orders/")
        assert not {"", ".", ".."} & set(key.split("/"))
        assert parse_data_key(layout, "orders", key) == name
        assert one.value is not None


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.integers(1, 9))
def test_how_records_came_changes_no_path(numbers: list[int], count: int) -> None:
    """Batches of any size give each record the same path."""
    records = [record({"n": number}, at_ms=AT_MS + number * 3_600_000, h=b"%d" % number) for number in numbers]
    template = "{n}/{timestamp:HH}/{header.h}"
    cut = [each_of(template, *records[at : at + count]) for at in range(0, len(records), count)]
    assert [path for part in cut for path in part] == each_of(template, *records)


def test_the_delimiter_is_escaped_as_fieldpartitioner_does() -> None:
    """A value cannot begin a folder of its own."""
    assert each_of("{f}", record({"f": "a/b%"})) == [escape_for("/")("a/b%")] == ["a%2Fb%25"]
