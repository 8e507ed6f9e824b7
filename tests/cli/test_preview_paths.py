"""`kafka-s3 preview` of field and time partitioners: a dozen records, the objects in the order of closing, and why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result

from tests.cli.command import PLAIN, call, write_properties

_HOURLY = {
    "partitioner.class": "HourlyPartitioner",
    "locale": "en",
    "timezone": "Europe/Berlin",
    "timestamp.extractor": "RecordField",
    "timestamp.field": "meta.at",
}
_BY_FIELD = {"partitioner.class": "FieldPartitioner", "partition.field.name": "region,user.kind"}


def _preview(folder: Path, properties: dict[str, str], records: list[dict[str, object]], *more: str) -> Result:
    config = write_properties(folder / "orders.properties", PLAIN | properties)
    lines = folder / "records.jsonl"
    lines.write_text("".join(json.dumps(record) + "\n" for record in records))
    return call("preview", config, "--records", lines, *more)


def _at(offset: int, at: object, partition: int = 0, payload: str = "") -> dict[str, object]:
    return {"offset": offset, "partition": partition, "value": {"meta": {"at": at}, "payload": payload}}


def _objects(result: Result) -> list[tuple[str, int, int, int, str]]:
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    return [
        (each["key"], each["records"], each["first_offset"], each["last_offset"], each["closed_by"])
        for each in lines
        if "key" in each
    ]


def _rejected(result: Result) -> list[tuple[int, int, str]]:
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    found = [each["rejected"] for each in lines if "rejected" in each]
    return [(each["partition"], each["offset"], each["error"]) for each in found]


def test_a_dozen_records_by_hours(tmp_path: Path) -> None:
    """Every reason to close is met once and said, a late record joins its hour, a bad one ends its partition."""
    more = {"rotate.interval.ms": "600000", "export.object.bytes.max": "200", "partitioner.max.open.files": "2"}
    records = [
        _at(0, "2024-07-01T10:00:00Z"),
        _at(1, "2024-07-01T12:01:00"),  # without an offset it is Berlin's, two hours ahead
        _at(2, 1719828120000),  # 10:02Z, the third
        _at(3, "2024-07-01T10:03:00Z"),
        _at(4, "2024-07-01T11:00:00Z"),
        _at(5, "2024-07-01T10:13:00Z"),  # ten minutes after the first one of its object
        _at(6, "2024-07-01T12:00:00Z"),  # a third path
        _at(7, "2024-07-01T12:05:00Z", payload="x" * 200),
        _at(8, "2024-07-01T10:05:00Z"),  # late
        _at(0, "2024-07-01T10:30:00Z", partition=1),
        _at(9, True),
        _at(1, "1719829860000", partition=1),  # 10:31Z
        _at(10, "2024-07-01T10:06:00Z"),  # its partition has ended
    ]
    result = _preview(tmp_path, {**_HOURLY, **more}, records)
    assert result.exit_code == 1
    folder = "topics/orders/year=2024/month=07/day=01"
    assert _objects(result) == [
        (f"{folder}/hour=12/orders+0+0000000000.json", 3, 0, 2, "flush.size"),
        (f"{folder}/hour=12/orders+0+0000000003.json", 1, 3, 3, "rotate.interval.ms"),
        (f"{folder}/hour=13/orders+0+0000000004.json", 1, 4, 4, "open.objects"),
        (f"{folder}/hour=14/orders+0+0000000006.json", 2, 6, 7, "export.object.bytes.max"),
        (f"{folder}/hour=12/orders+0+0000000005.json", 2, 5, 8, "end_of_range"),
        (f"{folder}/hour=12/orders+1+0000000000.json", 2, 0, 1, "end_of_range"),
    ]
    assert _rejected(result) == [(0, 9, "field meta.at is a boolean, which is not a time")]
    assert result.stderr == (
        "A bad record at topic orders partition 0 offset 9: field meta.at is a boolean, which is not a time;"
        " its partition ends in front of it (errors.tolerance=none).\n"
    )


def test_a_dozen_records_by_fields(tmp_path: Path) -> None:
    """Typed values, null, text that looks like a path; what makes none is named with the fields that are there."""
    values: list[tuple[int, object]] = [
        (0, {"region": "eu", "user": {"kind": 1}}),
        (0, {"region": "us", "user": {"kind": True}}),
        (0, {"region": "eu", "user": {"kind": 1}, "more": [1]}),
        (0, {"region": "../..", "user": {"kind": "a/b 100%"}}),
        (0, {"region": "", "user": None}),
        (0, {"region": "eu", "user": {"kind": 1}}),
        (0, {"region": None, "user": {"kind": "é"}}),
        (1, {"region": 1.5, "user": {"kind": 1}}),
        (2, {"user": {"kind": 1}, "Region": "eu"}),
        (3, {"region": "eu", "user": {"kind": []}}),
        (4, {"region": "eu", "user": 3}),
        (5, "text"),
    ]
    records: list[dict[str, object]] = [
        {"offset": offset, "partition": partition, "value": value} for offset, (partition, value) in enumerate(values)
    ]
    result = _preview(tmp_path, {**_BY_FIELD, "flush.size": "2"}, records)
    assert result.exit_code == 1
    assert _objects(result) == [
        ("topics/orders/region=eu/user.kind=1/orders+0+0000000000.json", 2, 0, 2, "flush.size"),
        ("topics/orders/region=us/user.kind=true/orders+0+0000000001.json", 1, 1, 1, "end_of_range"),
        ("topics/orders/region=..%2F../user.kind=a%2Fb 100%25/orders+0+0000000003.json", 1, 3, 3, "end_of_range"),
        ("topics/orders/region=/user.kind=null/orders+0+0000000004.json", 1, 4, 4, "end_of_range"),
        ("topics/orders/region=eu/user.kind=1/orders+0+0000000005.json", 1, 5, 5, "end_of_range"),
        ("topics/orders/region=null/user.kind=é/orders+0+0000000006.json", 1, 6, 6, "end_of_range"),
    ]
    no_path = "a path is made of text, whole numbers, booleans and null"
    assert _rejected(result) == [
        (1, 7, f"field region is a number with a fraction: {no_path}"),
        (2, 8, "field region is missing; there are others (2)"),
        (3, 9, f"field user.kind is a list: {no_path}"),
        (4, 10, "field user.kind: user is a whole number, which has no fields"),
        (5, 11, "field region: the value is text, which has no fields"),
    ]
    assert len(result.stderr.splitlines()) == 1
    assert "topic orders partition 1 offset 7" in result.stderr
    assert "So do 4 other partitions." in result.stderr


@pytest.mark.parametrize(
    ("at", "said"),
    [
        (None, "field meta.at is null, which is not a time"),
        ({"ms": 1}, "field meta.at is an object, which is not a time"),
        (1e300, "field meta.at is a number with a fraction, which is out of range"),
        ("yesterday", "field meta.at is text of 9 characters, which is not a time"),
        ("2024-07-01 10:00:00", "field meta.at is text of 19 characters, which is not a time"),
        ("2026-03-29T02:30:00", "The clocks of Europe/Berlin skip that time, and the text has no offset"),
    ],
)
def test_what_is_no_time_is_said_in_one_sentence(tmp_path: Path, at: object, said: str) -> None:
    """The field, what it holds, and why that is not a time; exit status 1 and no traceback."""
    result = _preview(tmp_path, _HOURLY, [_at(0, at)])
    assert result.exit_code == 1
    assert said in result.stderr
    assert ".;" not in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_wallclock_is_the_time_of_at(tmp_path: Path) -> None:
    """--at is what Wallclock tells, in the configured zone; the records' own timestamps do not count."""
    properties = {**_HOURLY, "timestamp.extractor": "Wallclock"}
    records: list[dict[str, object]] = [{"offset": 0, "timestamp": 1719828000000, "value": 1}]
    result = _preview(tmp_path, properties, records, "--at", "2024-02-29T23:30:00Z")
    assert [key for key, *_ in _objects(result)] == [
        "topics/orders/year=2024/month=03/day=01/hour=00/orders+0+0000000000.json"
    ]


def test_a_file_without_records_is_said(tmp_path: Path) -> None:
    """Nothing is printed, and why not is said."""
    result = _preview(tmp_path, _HOURLY, [])
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.endswith("records.jsonl holds no records.\n")
