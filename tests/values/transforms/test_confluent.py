"""Confluent's transforms: each row of what its documentation says. Its classes are not free, and are not asked."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from kafka_s3.errors import ConfigurationError
from kafka_s3.ports import Registries
from kafka_s3.records import ColumnBatch
from kafka_s3.values.rows import Filtered, Stage
from kafka_s3.values.transforms.chain import Chain
from tests.values.transforms.chains import PARTITION, configured, one, record, written
from tests.values.transforms.test_keys import KEYS

CONFLUENT = "io.confluent.connect.transforms"
TOLERANT = {"errors.tolerance": "all"}
SCHEMAS = {"value.converter.schemas.enable": "true"}
CITY = {"type": "struct", "fields": [{"field": "city", "type": "string", "optional": True}]}


def outcomes(more: dict[str, str], *values: object, **parts: Any) -> list[str]:
    """Of each record: its topic, `dropped`, or why it is bad."""
    chain = Chain(configured({**TOLERANT, **more}), Registries())
    made = chain(ColumnBatch(PARTITION, [record(offset, value, **parts) for offset, value in enumerate(values)]))
    topics = [made.topics] * len(values) if isinstance(made.topics, str) else made.topics
    return [
        topic if (why := made.left.get(index)) is None else "dropped" if isinstance(why, Filtered) else str(why.reason)  # type: ignore[union-attr]
        for index, topic in enumerate(topics)
    ]


def after_drop(side: str, behavior: str | None, *, optional: bool) -> tuple[Any, Any, list[str]]:
    """The schema and the value after Drop, and the reasons of bad records."""
    schema = {**CITY, "optional": optional}
    body = json.dumps({"schema": schema, "payload": {"city": "Ulm"}}).encode()
    options = {} if behavior is None else {"schema_behavior": behavior}
    more = {**TOLERANT, **SCHEMAS, **KEYS, "key.converter.schemas.enable": "true"}
    chain = Chain(configured({**more, **one(f"{CONFLUENT}.Drop${side}", **options)}), Registries())
    made = chain(ColumnBatch(PARTITION, [record(0, body, key=body)]))
    part = made.key if side == "Key" else made.value
    assert part is not None
    found = part.schemas if not isinstance(part.schemas, list) else part.schemas[0]
    return found and found.avro, part.values[0], [str(why.reason) for why in made.left.values()]  # type: ignore[union-attr]


@pytest.mark.parametrize("side", ["Key", "Value"])
@pytest.mark.parametrize("behavior", [None, "nullify"])
def test_drop_makes_null_and_drops_the_schema(side: str, behavior: str | None) -> None:
    """`nullify`, the default."""
    assert after_drop(side, behavior, optional=False) == (None, None, [])


@pytest.mark.parametrize("side", ["Key", "Value"])
@pytest.mark.parametrize("optional", [False, True])
def test_drop_may_keep_the_schema(side: str, *, optional: bool) -> None:
    """`retain`: whether it is optional or not; the value is null either way."""
    schema, value, bad = after_drop(side, "retain", optional=optional)
    assert isinstance(schema, list) is optional
    assert (schema is None, value, bad) == (False, None, [])


@pytest.mark.parametrize("side", ["Key", "Value"])
def test_drop_may_want_an_optional_schema(side: str) -> None:
    """`validate`: a schema that is not optional makes a bad record; one that is stays."""
    schema, value, bad = after_drop(side, "validate", optional=True)
    assert (isinstance(schema, list), value, bad) == (True, None, [])
    _, _, bad = after_drop(side, "validate", optional=False)
    assert [f"the {side.lower()}'s schema is not optional" in each for each in bad] == [True]


@pytest.mark.parametrize("side", ["Key", "Value"])
@pytest.mark.parametrize("optional", [False, True])
def test_drop_may_make_the_schema_optional(side: str, *, optional: bool) -> None:
    """`force_optional`: null is allowed after it."""
    schema, value, bad = after_drop(side, "force_optional", optional=optional)
    assert (schema[0], value, bad) == ("null", None, [])


def test_a_dropped_value_is_a_tombstone_after_it() -> None:
    """`behavior.on.null.values` decides about it, and the key stays."""
    more = {**KEYS, **one(f"{CONFLUENT}.Drop$Value"), "behavior.on.null.values": "ignore"}
    outcome, objects = written(more, [record(0, {"a": 1}, key=b'{"k":1}')])
    assert (outcome.rejected, objects) == ((), {})


TOPIC = f"{CONFLUENT}.ExtractTopic"


@pytest.mark.parametrize("side", ["Key", "Value"])
@pytest.mark.parametrize(
    ("options", "value", "topic"),
    [
        ({"field": "f2"}, {"f2": "north"}, "north"),
        ({"field": "f1.f2"}, {"f1.f2": "north"}, "north"),
        ({"field": "f2", "field_format": "plain"}, {"f2": "north"}, "north"),
        ({"field": '$["f1"]["f3"]', "field_format": "JSON_PATH"}, {"f1": {"f3": "deep"}}, "deep"),
        ({"field": "$.f1[-1]", "field_format": "json_path"}, {"f1": ["x", "y"]}, "y"),
        ({}, "whole", "whole"),
        ({"field": "f2", "skip_missing_or_null": "true"}, {}, "orders"),
        ({"field": "f2", "skip_missing_or_null": "true"}, {"f2": None}, "orders"),
        ({"field": "$.f1.f3", "field_format": "JSON_PATH", "skip_missing_or_null": "true"}, {"f1": 1}, "orders"),
        ({"skip_missing_or_null": "true"}, None, "orders"),
        ({"field": "f2"}, {}, "transforms.it: f2 is missing or null, and becomes the topic"),
        ({"field": "f2"}, {"f2": None}, "transforms.it: f2 is missing or null, and becomes the topic"),
        ({"field": "f2"}, {"f2": 7}, "transforms.it: f2 must be text to become a topic: found a whole number"),
    ],
)
def test_the_topic_is_extracted(side: str, options: dict[str, str], value: object, topic: str) -> None:
    """From a field, by a path, or from the whole; what is missing or null keeps the topic only where it may."""
    body = None if value is None else json.dumps(value).encode()
    more = {**KEYS, **one(f"{TOPIC}${side}", **options)}
    made = outcomes(more, body) if side == "Value" else outcomes(more, {"v": 1}, key=body)
    assert made == [topic]


def test_the_topic_is_extracted_from_structs() -> None:
    """By Connect's name of the field, at the top or by a path; a missing field is missing."""
    body = json.dumps({"schema": CITY, "payload": {"city": "Ulm"}}).encode()
    assert outcomes({**SCHEMAS, **one(f"{TOPIC}$Value", field="city")}, body) == ["Ulm"]
    path = one(f"{TOPIC}$Value", field="$.city", field_format="JSON_PATH")
    assert outcomes({**SCHEMAS, **path}, body) == ["Ulm"]
    (why,) = outcomes({**SCHEMAS, **one(f"{TOPIC}$Value", field="country")}, body)
    assert why.endswith("country is missing or null, and becomes the topic")


@pytest.mark.parametrize(
    ("headers", "skips", "topic"),
    [
        ((("h", b"first"), ("h", b"last"), ("x", b"other")), "false", "last"),
        ((("x", b"other"),), "true", "orders"),
        ((("h", None),), "true", "orders"),
        ((("x", b"other"),), "false", "transforms.it: the header h is missing or null, and becomes the topic"),
        ((("h", b"\xff"),), "false", "transforms.it: the header h is not text in UTF-8"),
    ],
)
def test_the_topic_is_extracted_from_a_header(headers: Any, skips: str, topic: str) -> None:
    """From the last of that name, as text."""
    more = one(f"{TOPIC}$Header", field="h", skip_missing_or_null=skips)
    assert outcomes(more, {"v": 1}, headers=headers) == [topic]


def test_an_extracted_topic_has_to_be_a_topic() -> None:
    """What Kafka would not take for one makes a bad record."""
    (why,) = outcomes(one(f"{TOPIC}$Value", field="f"), {"f": "no/topic"})
    assert why.endswith("is not a valid topic name")


FILTER = f"{CONFLUENT}.Filter$Value"
NESTED = '$.key[?(@.nestedKey == "value1" || @.nestedKey == "value2")]'


@pytest.mark.parametrize(
    ("type", "kept"), [("include", ["orders", "dropped", "orders"]), ("exclude", ["dropped", "orders", "dropped"])]
)
def test_matches_are_included_or_excluded(type: str, kept: list[str]) -> None:
    """`filter.type`, with the condition of the documentation's example."""
    values = [{"key": {"nestedKey": each}} for each in ("value1", "other", "value2")]
    assert outcomes(one(FILTER, filter_condition=NESTED, filter_type=type), *values) == kept


@pytest.mark.parametrize("value", [{}, {"key": None}, None])
@pytest.mark.parametrize(
    ("missing", "outcome"),
    [("fail", "bad"), (None, "bad"), ("include", "orders"), ("exclude", "dropped")],
)
@pytest.mark.parametrize("type", ["include", "exclude"])
def test_what_lacks_the_fields_is_decided_apart(value: object, missing: str | None, outcome: str, type: str) -> None:
    """`missing.or.null.behavior` decides, whatever `filter.type` says; unset, it fails."""
    options = {} if missing is None else {"missing_or_null_behavior": missing}
    for condition in (NESTED, "$.key", "$.key.nestedKey"):
        (made,) = outcomes(one(FILTER, filter_condition=condition, filter_type=type, **options), value)
        assert (made if made in ("orders", "dropped") else "bad") == outcome
        if outcome == "bad":
            assert "is missing or null" in made


def test_what_a_condition_lacks_does_not_match() -> None:
    """Within `[?()]` a field that is missing or null is undefined, and `missing.or.null.behavior` is not asked."""
    for condition in ("$[?(@.a == 1)]", "$[?(@.a > 0)]", "$.list[?(@.a == 1)]"):
        values: list[object] = [{"list": []}, {"a": None, "list": [{"b": 1}]}]
        assert outcomes(one(FILTER, filter_condition=condition, filter_type="include"), *values) == ["dropped"] * 2


def test_keys_and_structs_are_filtered() -> None:
    """`$Key` looks at keys; a struct is looked into by the names of its fields. A text is neither."""
    condition = {"filter_condition": "$[?(@.city == 'Ulm')]", "filter_type": "include"}
    body = json.dumps({"schema": CITY, "payload": {"city": "Ulm"}}).encode()
    assert outcomes({**SCHEMAS, **one(FILTER, **condition)}, body) == ["orders"]
    keys = {**KEYS, **one(f"{CONFLUENT}.Filter$Key", **condition)}
    assert outcomes(keys, {"v": 1}, key=b'{"city": "Bonn"}') == ["dropped"]
    assert outcomes(keys, {"v": 1}, key=b'{"city": "Ulm"}') == ["orders"]
    (why,) = outcomes(one(FILTER, **condition), "text")
    assert "only a map can be taken" in why


TIMES = {
    "topic_format": "foo-${topic}-${timestamp}",
    "message_timestamp_format": "yyyy-MM-dd",
    "topic_timestamp_format": "yyyy.MM.dd",
    "message_timestamp_keys": "timestamp,time,ts",
}
BY_TIME = f"{CONFLUENT}.MessageTimestampRouter"


@pytest.mark.parametrize(
    ("value", "topic"),
    [
        ({"time": "2019-08-06"}, "foo-orders-2019.08.06"),
        ({"ts": "2019-08-06", "time": "2020-01-02"}, "foo-orders-2020.01.02"),
        ({"timestamp": None, "ts": "2019-08-06"}, "foo-orders-2019.08.06"),
        ({"at": "2019-08-06"}, "the value has none of the fields timestamp, time, ts"),
        ({"time": 7}, "the time must be text: found a whole number"),
        ({"time": "yesterday"}, "does not match message.timestamp.format"),
        ("2019-08-06", "only a map can be taken without a schema, for reading its time: found text of 10 characters"),
    ],
)
def test_topics_are_named_by_a_time_in_the_value(value: object, topic: str) -> None:
    """The first of the fields that is there, in the one format, written in the other."""
    (made,) = outcomes(one(BY_TIME, **TIMES), value)
    assert made == topic if topic.startswith("foo") else made.endswith(topic)


def test_structs_are_not_routed_by_their_time() -> None:
    """The documentation says maps alone."""
    body = json.dumps({"schema": CITY, "payload": {"city": "Ulm"}}).encode()
    (why,) = outcomes({**SCHEMAS, **one(BY_TIME, **TIMES)}, body)
    assert why.endswith("only a map is taken, and the value is of the type STRUCT")


@pytest.mark.parametrize(
    ("type", "options", "problem"),
    [
        ("Drop$Value", {"schema_behavior": "keep"}, "schema.behavior"),
        ("ExtractTopic$Header", {}, "field: is required: the name of the header"),
        ("ExtractTopic$Header", {"field": "h", "field_format": "JSON_PATH"}, "field.format: must be PLAIN"),
        ("ExtractTopic$Value", {"field": "$.a[*]", "field_format": "JSON_PATH"}, "field: leads to more than one place"),
        ("ExtractTopic$Value", {"field": "$..a", "field_format": "JSON_PATH"}, "field: .. is not known here"),
        ("Filter$Value", {"filter_type": "include"}, "filter.condition: is required"),
        ("Filter$Value", {"filter_condition": "$.a"}, "filter.type: is required"),
        ("Filter$Value", {"filter_condition": "$..a", "filter_type": "include"}, "filter.condition: .. is not known"),
        ("MessageTimestampRouter", {**TIMES, "message_timestamp_format": "YYYY"}, "its Y is written"),
        ("MessageTimestampRouter", {**TIMES, "topic_timestamp_format": "b"}, "topic.timestamp.format"),
        ("MessageTimestampRouter", {}, "message.timestamp.keys: is required"),
        ("ExtractTopic", {}, "ExtractTopic$Key or ExtractTopic$Value or ExtractTopic$Header"),
        ("ExtractTopics$Key", {}, "ExtractTopic$Key"),
    ],
)
def test_wrong_options_are_told(type: str, options: dict[str, str], problem: str) -> None:
    """By `validate`, with the option's name."""
    with pytest.raises(ConfigurationError) as refused:
        configured(one(f"{CONFLUENT}.{type}", **options))
    assert problem in str(refused.value)


def test_they_may_drop_or_route() -> None:
    """What other rules ask of a chain."""
    filters = configured(one(FILTER, filter_condition="$.a", filter_type="include")).chain
    routers = [configured(one(f"{TOPIC}$Value")).chain, configured(one(BY_TIME, **TIMES)).chain]
    assert (filters.drops, filters.routes) == (True, False)
    assert [(each.drops, each.routes) for each in routers] == [(False, True)] * 2


def test_a_key_in_paths_may_be_looked_at_and_not_changed() -> None:
    """`{key}` is Kafka's own: beside a filter of keys it is allowed, beside one that changes them it is not."""
    path = {"export.path.template": "k={key}", "partitioner.class": "kafka_s3.FieldAndTimePartitioner"}
    path |= {"key.converter": "org.apache.kafka.connect.json.JsonConverter", "key.converter.schemas.enable": "false"}
    filters = one(f"{CONFLUENT}.Filter$Key", filter_condition="$.a", filter_type="include")
    assert configured({**path, **filters}).chain.drops
    for type in ("io.confluent.connect.transforms.Drop$Key", "ValueToKey"):
        with pytest.raises(ConfigurationError, match="may change it"):
            configured({**path, **one(type, **({"fields": "a"} if type == "ValueToKey" else {}))})


def test_bad_records_of_them_are_the_transformations() -> None:
    """The stage says where it went wrong."""
    outcome, _ = written({**TOLERANT, **one(f"{TOPIC}$Value", field="f")}, [record(0, {})])
    assert [each.stage for each in outcome.rejected] == [Stage.TRANSFORMATION]


GUNZIP = f"{CONFLUENT}.GzipDecompress"
BYTES = {"value.converter": "org.apache.kafka.connect.converters.ByteArrayConverter"}
RAW = {**BYTES, "format.class": "io.confluent.connect.s3.format.bytearray.ByteArrayFormat"}


def unpacked(side: str, data: bytes | None, **more: str) -> tuple[list[bytes], list[str]]:
    """The objects of a record after GzipDecompress, and why it is bad."""
    given = {**TOLERANT, **(RAW if side == "Value" else KEY_BYTES), **one(f"{GUNZIP}${side}"), **more}
    rows = [record(0, data)] if side == "Value" else [record(0, {"v": 1}, key=data)]
    outcome, objects = written(given, rows)
    return list(objects.values()), [each.reason for each in outcome.rejected]


KEY_BYTES = {
    "store.kafka.keys": "true",
    "keys.format.class": "io.confluent.connect.s3.format.bytearray.ByteArrayFormat",
    "key.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
}


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (gzip.compress(b"Hello", mtime=0), b"Hello"),
        (gzip.compress(b"", mtime=0), b""),
        (gzip.compress(b"one,", mtime=0) + gzip.compress(b"two", mtime=0), b"one,two"),
        (gzip.compress(b"", mtime=0) + b"behind it", b""),
        (gzip.compress(b"a" * 100_000, mtime=0), b"a" * 100_000),
    ],
)
def test_gzip_is_decompressed(data: bytes, text: bytes) -> None:
    """Of keys and of values: the bytes that were compressed, of several members all."""
    assert unpacked("Value", data) == ([text + b"\n"], [])
    objects, bad = unpacked("Key", data)
    assert (text + b"\n" in objects, bad) == (True, [])


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"Hello", "the bytes are not gzip, or damaged"),
        (gzip.compress(b"Hello", mtime=0)[:-1], "the gzip data ends too early"),
        (gzip.compress(b"Hello", mtime=0)[:-5] + b"12345", "the bytes are not gzip, or damaged"),
        (gzip.compress(bytes(80_000_000), mtime=0), "bytes that they may"),
        (b"", "the gzip data ends too early"),
    ],
)
def test_what_is_not_gzip_is_bad(data: bytes, reason: str) -> None:
    """As is what is cut off, damaged, or becomes far more than its bytes."""
    objects, (why,) = unpacked("Value", data)
    assert objects == []
    assert why.endswith(reason)


def test_only_bytes_are_decompressed() -> None:
    """JSON and text are not bytes; a null stays a null."""
    (why,) = outcomes(one(f"{GUNZIP}$Value"), {"a": 1})
    assert why.endswith("only bytes can be decompressed: found an object of 1 field")
    body = json.dumps({"schema": CITY, "payload": {"city": "Ulm"}}).encode()
    (why,) = outcomes({**SCHEMAS, **one(f"{GUNZIP}$Value")}, body)
    assert why.endswith("only bytes can be decompressed, and this is of the type STRUCT")
    assert outcomes(one(f"{GUNZIP}$Value"), None) == ["orders"]
