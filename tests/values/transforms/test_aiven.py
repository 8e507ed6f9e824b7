"""Aiven's transforms: each row of what its documentation and its source say. Its jar is in no repository of Maven's."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from kafka_s3.errors import ConfigurationError
from kafka_s3.ports import Registries
from kafka_s3.records import ColumnBatch
from kafka_s3.values.transforms.chain import Chain
from tests.values.transforms.chains import AT_MS, PARTITION, configured, one, record, written
from tests.values.transforms.test_confluent import SCHEMAS, TOLERANT, outcomes
from tests.values.transforms.test_keys import KEYS

AIVEN = "io.aiven.kafka.connect.transforms"
TIMESTAMP = {"type": "int64", "name": "org.apache.kafka.connect.data.Timestamp", "version": 1}
DATE = {"type": "int32", "name": "org.apache.kafka.connect.data.Date", "version": 1}


def struct(schema: dict[str, Any], value: object) -> bytes:
    """An envelope of a struct with the field `at`, within the field `in`, too."""
    inner = {"type": "struct", "fields": [{"field": "at", **schema}]}
    outer = {"type": "struct", "fields": [*inner["fields"], {"field": "in", **inner}]}  # type: ignore[misc]
    return json.dumps({"schema": outer, "payload": {"at": value, "in": {"at": value}}}).encode()


def stamps(more: dict[str, str], value: object, **parts: Any) -> list[Any]:
    """The timestamp of a record after the chain, or why it is bad."""
    chain = Chain(configured({**TOLERANT, **more}), Registries())
    made = chain(ColumnBatch(PARTITION, [record(0, value, **parts)]))
    return [str(made.left[0].reason)] if made.left else list(made.timestamps())  # type: ignore[union-attr]


@pytest.mark.parametrize("side", ["Key", "Value"])
@pytest.mark.parametrize(
    ("options", "value", "stamp"),
    [
        ({"field_name": "at"}, {"at": 1234}, 1234),
        ({"field_name": "at", "timestamp_resolution": "seconds"}, {"at": 1234}, 1_234_000),
        ({"field_name": "at", "timestamp_resolution": "seconds"}, {"at": 2**62}, 2**63 - 1),
        ({"field_name": "in.at"}, {"in": {"at": -5}}, -5),
        ({"field_name": "at"}, {}, "at is missing or null, and becomes the timestamp"),
        ({"field_name": "at"}, {"at": None}, "at is missing or null, and becomes the timestamp"),
        ({"field_name": "in.at"}, {"in": 1}, "in.at is missing or null, and becomes the timestamp"),
        ({"field_name": "at"}, {"at": "1234"}, "at must be a whole number or a time: found text of 4 characters"),
        ({"field_name": "at"}, {"at": True}, "at must be a whole number or a time: found a boolean"),
        ({"field_name": "at"}, None, "is null"),
        ({"field_name": "at"}, "text", "only a map can be taken without a schema"),
    ],
)
def test_a_field_becomes_the_timestamp(side: str, options: dict[str, str], value: object, stamp: object) -> None:
    """A whole number in the unit that is said, by its name or a path with dots; all else is bad."""
    body = None if value is None else json.dumps(value).encode()
    more = {**KEYS, **one(f"{AIVEN}.ExtractTimestamp${side}", **options)}
    (made,) = stamps(more, body) if side == "Value" else stamps(more, {"v": 1}, key=body)
    assert made == stamp if isinstance(stamp, int) else stamp in made


@pytest.mark.parametrize(
    ("schema", "value", "stamp"),
    [
        ({"type": "int64"}, 1234, 1_234_000),
        (TIMESTAMP, AT_MS, AT_MS),
        (DATE, 2, 2 * 86_400_000),
        ({"type": "int32"}, 1234, "at must be INT64 or a Timestamp, and is of the type INT32"),
        ({"type": "string"}, "x", "at must be INT64 or a Timestamp, and is of the type STRING"),
        ({"type": "int64", "optional": True}, None, "at is missing or null"),
    ],
)
def test_a_typed_field_becomes_the_timestamp(schema: dict[str, Any], value: object, stamp: object) -> None:
    """`timestamp.resolution` is for numbers alone: a Timestamp has its own."""
    for name in ("at", "in.at"):
        more = one(f"{AIVEN}.ExtractTimestamp$Value", field_name=name, timestamp_resolution="seconds")
        (made,) = stamps({**SCHEMAS, **more}, struct(schema, value))
        assert made == stamp if isinstance(stamp, int) else str(stamp) in made


def test_paths_have_the_time_that_was_extracted() -> None:
    """A TimeBasedPartitioner by the record's timestamp goes by it."""
    more = {
        **one(f"{AIVEN}.ExtractTimestamp$Value", field_name="at"),
        "partitioner.class": "io.confluent.connect.storage.partitioner.TimeBasedPartitioner",
        "path.format": "'year'=YYYY",
        "partition.duration.ms": "3600000",
        "timestamp.extractor": "Record",
        "locale": "en-US",
        "timezone": "UTC",
    }
    _, objects = written(more, [record(0, {"at": 0}, timestamp_ms=AT_MS)])
    assert list(objects) == ["topics/orders/year=1970/orders+0+0000000000.json"]


@pytest.mark.parametrize("side", ["Key", "Value"])
@pytest.mark.parametrize(
    ("options", "value", "topic"),
    [
        ({"field_name": "f"}, {"f": "north"}, "north"),
        ({"field_name": "f.g"}, {"f": {"g": "deep"}}, "deep"),
        ({"field_name": "f"}, {"f": 7}, "7"),
        ({"field_name": "f"}, {"f": True}, "true"),
        ({"field_name": "f"}, {"f": 1.5}, "1.5"),
        ({}, "whole", "whole"),
        ({"field_name": "f", "skip_missing_or_null": "true"}, {}, "orders"),
        ({"field_name": "f", "skip_missing_or_null": "true"}, {"f": " "}, "orders"),
        ({"skip_missing_or_null": "true"}, None, "orders"),
        ({"field_name": "f"}, {"f": ""}, "f is missing or null, and becomes the topic"),
        ({"field_name": "f"}, {"f": [1]}, "only text, a number or a boolean becomes a topic: found a list of 1"),
        ({"field_name": "f", "skip_missing_or_null": "true"}, None, "is null"),
        ({}, None, "is missing or null, and becomes the topic"),
    ],
)
def test_the_topic_is_extracted(side: str, options: dict[str, str], value: object, topic: str) -> None:
    """As its text in Java; what is missing, null or blank keeps the topic only where it may."""
    body = None if value is None else json.dumps(value).encode()
    more = {**KEYS, **one(f"{AIVEN}.ExtractTopic${side}", **options)}
    (made,) = outcomes(more, body) if side == "Value" else outcomes(more, {"v": 1}, key=body)
    assert made == topic or made.endswith(topic)


@pytest.mark.parametrize(
    ("schema", "value", "topic"),
    [
        ({"type": "string"}, "north", "north"),
        ({"type": "int8"}, 7, "7"),
        ({"type": "float"}, 1.5, "1.5"),
        ({"type": "boolean"}, False, "false"),
        (TIMESTAMP, 0, "a value of the type INT64 does not become a topic"),
        ({"type": "bytes"}, "AQI=", "a value of the type BYTES does not become a topic"),
    ],
)
def test_the_topic_is_extracted_from_structs(schema: dict[str, Any], value: object, topic: str) -> None:
    """Numbers, booleans and text, at the top or by a path."""
    for name in ("at", "in.at"):
        more = {**SCHEMAS, **one(f"{AIVEN}.ExtractTopic$Value", field_name=name)}
        (made,) = outcomes(more, struct(schema, value))
        assert made.endswith(topic)


def hashed(options: dict[str, str], value: object, **parts: Any) -> tuple[list[Any], list[str]]:
    """The lines that Hash makes of a value, and the reasons of bad records."""
    more = {**TOLERANT, **SCHEMAS, **one(f"{AIVEN}.Hash$Value", **options)}
    outcome, objects = written(more, [record(0, value, **parts)])
    lines = [json.loads(line) for body in objects.values() for line in body.splitlines()]
    return lines, [each.reason for each in outcome.rejected]


@pytest.mark.parametrize("function", ["md5", "sha1", "sha256"])
def test_text_is_hashed(function: str) -> None:
    """A field of a struct, or the whole; in hexadecimal digits, of its UTF-8."""
    expected = hashlib.new(function, "é".encode(), usedforsecurity=False).hexdigest()
    lines, bad = hashed({"field_name": "at", "function": function}, struct({"type": "string"}, "é"))
    assert (lines, bad) == ([{"at": expected, "in": {"at": "é"}}], [])
    whole = json.dumps({"schema": {"type": "string"}, "payload": "é"}).encode()
    assert hashed({"function": function}, whole) == ([expected], [])


@pytest.mark.parametrize(
    ("options", "value", "reason"),
    [
        ({"field_name": "no"}, struct({"type": "string"}, "x"), "there is no field no to hash"),
        ({"field_name": "at"}, struct({"type": "int64"}, 1), "only text can be hashed, and this is of the type INT64"),
        (
            {"field_name": "at"},
            struct({"type": "string", "optional": True}, None),
            "at is null, and cannot be hashed",
        ),
        ({}, b'{"schema":null,"payload":{"a":1}}', "the value has no schema, which a hash needs"),
        ({}, struct({"type": "string"}, "x"), "only text can be hashed, and this is of the type STRUCT"),
    ],
)
def test_what_cannot_be_hashed_is_bad(options: dict[str, str], value: bytes, reason: str) -> None:
    """Without `skip.missing.or.null`; no text of the value is in the reason."""
    assert hashed({"function": "md5", **options}, value) == ([], [f"transforms.it: {reason}"])


def test_what_is_missing_may_stay_as_it_is() -> None:
    """`skip.missing.or.null`: a field that is not there, or is null."""
    skip = {"function": "md5", "skip_missing_or_null": "true"}
    body = struct({"type": "string", "optional": True}, None)
    for name in ("no", "at"):
        assert hashed({**skip, "field_name": name}, body) == ([{"at": None, "in": {"at": None}}], [])


def test_keys_are_hashed_and_values_stay() -> None:
    """`$Key`, of the text that StringConverter reads."""
    more = {"store.kafka.keys": "true", **one(f"{AIVEN}.Hash$Key", function="md5")}
    _, objects = written(more, [record(0, {"v": 1}, key=b"k")])
    assert hashlib.md5(b"k", usedforsecurity=False).hexdigest().encode() in b"".join(objects.values())


def test_values_become_tombstones() -> None:
    """MakeTombstone; `behavior.on.null.values` decides about them."""
    more = {**one(f"{AIVEN}.MakeTombstone"), "behavior.on.null.values": "ignore"}
    outcome, objects = written(more, [record(0, {"a": 1})])
    assert (outcome.rejected, objects) == ((), {})


@pytest.mark.parametrize(
    ("behavior", "outcome"),
    [("drop_silent", "dropped"), ("DROP_WARN", "dropped"), ("fail", "transforms.it: the value is null")],
)
def test_tombstones_are_dropped_or_bad(behavior: str, outcome: str) -> None:
    """Aiven's TombstoneHandler; the record beside it goes on."""
    assert outcomes(one(f"{AIVEN}.TombstoneHandler", behavior=behavior), {"a": 1}, None) == ["orders", outcome]


@pytest.mark.parametrize(
    ("type", "options", "problem"),
    [
        ("ExtractTimestamp$Value", {}, "field.name: is required"),
        ("ExtractTimestamp$Value", {"field_name": "a", "timestamp_resolution": "hours"}, "timestamp.resolution"),
        ("Hash$Value", {"field_name": "a"}, "function: is required"),
        ("Hash$Value", {"field_name": "a.b", "function": "md5"}, "field.name: is a path"),
        ("Hash$Value", {"function": "sha512"}, "function"),
        ("TombstoneHandler", {}, "behavior: is required"),
        ("ExtractTopics$Value", {}, "ExtractTopic$Value"),
        ("FilterByFieldValue$Value", {}, "this class is not built in"),
    ],
)
def test_wrong_options_are_told(type: str, options: dict[str, str], problem: str) -> None:
    """By `validate`, with the option's name; classes that are not here are unknown."""
    with pytest.raises(ConfigurationError) as refused:
        configured(one(f"{AIVEN}.{type}", **options))
    assert problem in str(refused.value)
