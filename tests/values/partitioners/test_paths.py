"""From records to paths: fields, times, classes of the user's own, and what keeps a path a path."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_s3.joda.zones import zone
from kafka_s3.naming import KeyLayout, format_data_key, parse_data_key
from kafka_s3.ranges import TopicPartition
from kafka_s3.records import ColumnBatch, Record, RecordBatch
from kafka_s3.settings.paths import (
    DefaultPartitioner,
    Extractor,
    FieldPartitioner,
    Partitioner,
    RecordTime,
    RunTime,
    SchemaAffix,
    TimePartitioner,
)
from kafka_s3.shown import plain
from kafka_s3.values.partitioners.build import partitioner_for
from kafka_s3.values.partitioners.fields import FieldReader
from kafka_s3.values.partitioners.paths import Paths, escape_for
from kafka_s3.values.partitioners.times import FieldTimes
from kafka_s3.values.rows import Lines, Missing
from tests.support import make_settings

TP = TopicPartition("orders", 3)
AT_MS = 1_699_999_200_000  # 2023-11-14T22:00:00Z
HOURLY = "'year='YYYY'/month='MM'/day='dd'/hour='HH"


def batch_of(*values: object, times: Sequence[int | None] = ()) -> ColumnBatch:
    """Records with these values as JSON (bytes go as they are), and these timestamps."""
    raw = [value if isinstance(value, bytes) or value is None else json.dumps(value).encode() for value in values]
    stamps = dict(enumerate(times))
    return ColumnBatch(TP, [Record(n, value, timestamp_ms=stamps.get(n)) for n, value in enumerate(raw)])


def paths_of(partitioner: Partitioner, batch: RecordBatch, **more: Any) -> Paths:
    return partitioner_for(make_settings(partitioner=partitioner, **more), AT_MS, ".json")(batch, Lines(batch.values()))


def each_of(partitioner: Partitioner, *values: object, **more: Any) -> list[str]:
    """The path of each record, or `!` and why it has none."""
    paths = paths_of(partitioner, batch_of(*values), **more)
    each = [paths.each] * len(values) if isinstance(paths.each, str) else paths.each
    return [
        f"!{plain(paths.bad[index], content=True)}" if index in paths.bad else path for index, path in enumerate(each)
    ]


# Default and affix.


def test_the_default_partitioner_names_kafkas_partition() -> None:
    assert paths_of(DefaultPartitioner(), batch_of({}, {})).each == "partition=3"


@pytest.mark.parametrize(
    ("affix", "path"),
    [(SchemaAffix.PREFIX, "schema_name=null/partition=3"), (SchemaAffix.SUFFIX, "partition=3/schema_name=null")],
)
def test_a_value_without_a_schema_has_the_schema_name_null(affix: SchemaAffix, path: str) -> None:
    """As the sink writes it, around whatever the partitioner makes."""
    assert paths_of(DefaultPartitioner(), batch_of({}), schema_affix=affix).each == path
    by_field = each_of(FieldPartitioner(("a",)), {"a": 1}, {"a": 2}, schema_affix=affix)
    assert by_field == [path.replace("partition=3", "a=1"), path.replace("partition=3", "a=2")]


# Fields.


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ("NYC", "f=NYC"),
        ("", "f="),
        (7, "f=7"),
        (-1, "f=-1"),
        (10**20, f"f={10**20}"),
        (True, "f=true"),
        (False, "f=false"),
        (None, "f=null"),
        ("null", "f=null"),
        ("test/with\\special:chars=and+spaces ü", "f=test%2Fwith\\special:chars=and+spaces ü"),
        ("100%", "f=100%25"),
        ("a\nb\x00\x85", "f=a%0Ab%00%C2%85"),
        ("..", "f=.."),
        ("../../etc", "f=..%2F..%2Fetc"),
    ],
)
def test_the_part_that_a_field_makes(value: object, part: str) -> None:
    """Text, whole numbers, booleans and null; only what would break the key's structure is encoded."""
    assert each_of(FieldPartitioner(("f",)), {"f": value}) == [part]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"f": 1.5}, "field f is a number with a fraction"),
        ({"f": [1]}, "field f is a list"),
        ({"f": {}}, "field f is an object"),
        ({"g": 1, "h": "x"}, "field f is missing; there are g (a whole number), h (text)"),
        ({}, "field f is missing; there are no fields"),
        ("text", "field f: the value is text, which has no fields"),
        ([1], "field f: the value is a list, which has no fields"),
        (b'{"f":"\\ud800"}', "field f holds half a surrogate pair"),
    ],
)
def test_a_field_that_makes_no_path_is_a_bad_records(value: object, reason: str) -> None:
    """The reason names the field and the types found; the records beside it have their paths."""
    found = each_of(FieldPartitioner(("f",)), {"f": 1}, value, {"f": 2})
    assert (found[0], found[2]) == ("f=1", "f=2")
    assert found[1].startswith(f"!{reason}")


def test_several_fields_stand_in_the_order_configured() -> None:
    """Nested ones with their whole dotted name; below a null is null, as in the sink."""
    partitioner = FieldPartitioner(("user.address.city", "kind"))
    assert each_of(
        partitioner,
        {"kind": 1, "user": {"address": {"city": "NYC", "zip": 1}}},
        {"kind": True, "user": {"address": None}},
        {"kind": "x", "user": None},
    ) == ["user.address.city=NYC/kind=1", "user.address.city=null/kind=true", "user.address.city=null/kind=x"]
    assert each_of(partitioner, {"kind": 1, "user": {"address": "text"}}) == [
        "!field user.address.city: user.address is text, which has no fields"
    ]
    assert each_of(FieldPartitioner(("a", "a.b")), {"a": {"b": 1}})[0].startswith("!field a is an object")


def test_true_and_1_are_two_values() -> None:
    """They are the same key to a Python dictionary."""
    assert each_of(FieldPartitioner(("f",)), *({"f": value} for value in (1, True, 0, False, 1))) == [
        "f=1",
        "f=true",
        "f=0",
        "f=false",
        "f=1",
    ]


def test_what_the_converter_takes_the_fields_are_read_from() -> None:
    """A byte order mark, a break inside, a duplicate name (the last one counts), a name that no struct can have."""
    values = [b'\xef\xbb\xbf{"f":1}', b'{"f":\n2}', b'{"f":1,"f":3}', b'{"x":"\\ud800","f":4}']
    assert each_of(FieldPartitioner(("f",)), *values) == ["f=1", "f=2", "f=3", "f=4"]
    assert each_of(FieldPartitioner(('"a"',)), {'"a"': "quoted"}) == ['"a"=quoted']


NAMES = st.sampled_from(["a", "b", "a.b", "a.b.c", "c.a"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)


def walked(value: Any, name: str) -> Any:
    for depth, part in enumerate(name.split(".")):
        if value is None and depth:
            return None
        if not isinstance(value, dict) or part not in value:
            return Missing
        value = value[part]
    return value


@given(st.lists(JSON, min_size=1, max_size=6), st.lists(NAMES, min_size=1, max_size=4, unique=True))
def test_fields_are_what_a_walk_through_the_parsed_value_finds(values: list[Any], names: list[str]) -> None:
    """Whatever the values are and whichever fields are asked for together."""
    columns = FieldReader(names)([json.dumps(value).encode() for value in values], {})
    for name, column in zip(names, columns, strict=True):
        found = [Missing if isinstance(each, Missing) else (type(each), each) for each in column]
        wanted = [walked(value, name) for value in values]
        assert found == [each if each is Missing else (type(each), each) for each in wanted]


@given(st.text(min_size=1), st.sampled_from(["/", "-", "--"]))
def test_an_escaped_text_is_one_part_and_can_be_read_back(text: str, delim: str) -> None:
    """No delimiter and no control character is left, and nothing else changed."""
    from urllib.parse import unquote

    escaped = escape_for(delim)(text)
    assert delim not in escaped
    assert all(character.isprintable() or ord(character) > 0x9F for character in escaped)
    assert unquote(escaped, errors="strict") == text


# Times.


def by_hour(extractor: Extractor, timezone: str = "UTC") -> TimePartitioner:
    return TimePartitioner(3_600_000, HOURLY, timezone, "en", extractor)


def test_wallclock_is_the_runs_logical_time() -> None:
    """One path for all, whatever the records' timestamps are."""
    paths = paths_of(by_hour(RunTime()), batch_of({}, {}, times=[0, 1]))
    assert (paths.each, paths.times, paths.bad) == ("year=2023/month=11/day=14/hour=22", AT_MS, {})


def test_record_is_kafkas_timestamp() -> None:
    """A record without one is a bad record."""
    paths = paths_of(by_hour(RecordTime(), "Europe/Berlin"), batch_of(1, 2, 3, times=[0, None, -1]))
    assert [path for index, path in enumerate(paths.each) if index != 1] == [
        "year=1970/month=01/day=01/hour=01",
        "year=1970/month=01/day=01/hour=00",
    ]
    assert paths.bad == {1: "the record has no timestamp"}


@pytest.mark.parametrize(
    ("value", "at_ms"),
    [
        (AT_MS, AT_MS),
        (1.9e12, 1_900_000_000_000),
        (1.5, 1),
        (-1.5, -1),
        ("2015", 2015),
        ("2023-11-14T22:00:00Z", AT_MS),
        ("2023-11-14T23:00:00", AT_MS),  # no offset: the zone's own, here Berlin's
        ("2023-11-14T23:00+0100", AT_MS),
    ],
)
def test_a_field_tells_the_time(value: object, at_ms: int) -> None:
    """Numbers are milliseconds, their fraction dropped; text is digits or ISO 8601."""
    batch = batch_of({"at": {"ms": value}})
    times = FieldTimes("at.ms", zone("Europe/Berlin"))(batch, Lines(batch.values()))
    assert (times.each, times.bad) == ([at_ms], {})


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"at": None}, "field at is null, which is not a time"),
        ({"at": True}, "field at is a boolean"),
        ({"at": [1]}, "field at is a list"),
        ({"at": "yesterday"}, "field at is 'yesterday', which is not a time"),
        ({"at": 2**63}, "out of range"),
        ({"at": 1e300}, "out of range"),
        (b'{"at":1e999}', "field at is inf, which is not a time"),
        ({"when": 1}, "field at is missing; there are when (a whole number)"),
        ([1], "the value is a list"),
    ],
)
def test_what_is_no_time_is_a_bad_records(value: object, reason: str) -> None:
    """Never a crash; the records beside it keep their times."""
    batch = batch_of({"at": 5}, value)
    times = FieldTimes("at", zone("UTC"))(batch, Lines(batch.values()))
    assert isinstance(times.each, Sequence)
    assert times.each[0] == 5
    assert list(times.bad) == [1]
    assert reason in plain(times.bad[1], content=True)


@pytest.mark.parametrize("at_ms", [2**63 - 1, -(2**63) + 1, 253_402_300_800_000, -62_135_596_800_001])
def test_times_at_the_end_of_the_calendar_make_paths(at_ms: int) -> None:
    """A far-off timestamp, microseconds read as milliseconds say, is put where it says, and stops nothing."""
    paths = paths_of(by_hour(RecordTime(), "America/New_York"), batch_of({}, times=[at_ms]))
    assert paths.bad == {}
    assert str(paths.each).startswith("year=")  # one for all


# Keys.


@given(st.integers(850, 1100))
def test_a_key_that_s3_cannot_take_is_a_bad_records(length: int) -> None:
    """Whether a record is taken depends on its path alone, so no key that comes of it is over 1,024 bytes."""
    paths = paths_of(FieldPartitioner(("f",)), batch_of({"f": "é" * (length // 2)}, {"f": 1}))
    assert not isinstance(paths.each, str)
    if 0 in paths.bad:
        assert "and S3 takes 1024" in paths.bad[0]
        assert length > 900
    else:
        key = f"topics/orders/{paths.each[0]}/orders+3+{2**63 - 1}+g999999+100.json"
        assert len(key.encode()) <= 1024
    assert list(paths.bad) in ([], [0])


def test_values_that_are_too_long_for_a_key_are_not_kept() -> None:
    """Megabytes of text in a field, each time others, are refused each time and take no memory."""
    partitioner = partitioner_for(make_settings(partitioner=FieldPartitioner(("f",))), AT_MS, ".json")
    tracemalloc.start()
    try:
        for number in range(40):
            batch = batch_of({"f": f"{number}{'x' * 1_000_000}"}, {"f": number})
            assert list(partitioner(batch, Lines(batch.values())).bad) == [0]
            if number == 4:
                before, _ = tracemalloc.get_traced_memory()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 3_000_000


@given(st.text(max_size=30))
def test_no_value_leads_out_of_its_place(text: str) -> None:
    """Whatever a field holds, its key stays in the topic's folder and says the same path when it is read back."""
    from kafka_s3.naming import DataName

    paths = paths_of(FieldPartitioner(("f", "g")), batch_of({"f": text, "g": 1}))
    assert paths.bad == {}
    key = format_data_key(KeyLayout(), DataName("orders", paths.each[0], 3, 7, ".json"))
    assert key.startswith("topics/orders/f=")
    assert key.count("/") == 4
    name = parse_data_key(KeyLayout(), "orders", key)
    assert name is not None
    assert (name.encoded_partition, name.start_offset) == (paths.each[0], 7)
