"""Long messages: their lists make their messages when they are read, and become what they would be at once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_s3.avro import long_values
from kafka_s3.avro.arrow import ColumnsError, from_values
from kafka_s3.avro.long_values import LongArray
from kafka_s3.avro.model import Schema
from kafka_s3.protobuf import reader
from kafka_s3.settings.formats import DecimalFormat
from kafka_s3.values.converters import protobuf_group
from kafka_s3.values.formats import json_text
from kafka_s3.values.formats.json_text import writer_for
from tests.protobuf.messages import TEXTS, fill, source
from tests.protobuf.proto import Topic, proto3

_MAPS = proto3(
    "message M { map<string, V> by = 1; repeated V all = 2; map<int32, V> of = 3; }"
    "message V { int32 n = 1; repeated V more = 2; map<string, V> by = 3; }"
)


@contextlib.contextmanager
def everything_is_long() -> Iterator[None]:
    """Lists of 3 messages, and any message."""
    with (
        mock.patch.object(protobuf_group, "LONG", 0),
        mock.patch.object(long_values, "ITEMS", 2),
        mock.patch.object(reader, "ITEMS", 2),
        mock.patch.object(json_text, "ITEMS", 2),
    ):
        reader_of = protobuf_group.reader_of
        reader_of.cache_clear()
        yield
        reader_of.cache_clear()


@settings(max_examples=30, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.data())
def test_long_messages_become_what_short_ones_do(data: st.DataObject) -> None:
    """As Avro, as JSON, as columns and as values, whatever the schema."""
    chosen = source(data.draw(st.sampled_from(list(TEXTS))))
    messages = []
    for _ in range(data.draw(st.integers(1, 3))):
        message = chosen.type()
        fill(data.draw, message, depth=2, entries=3)
        messages.append(message)
    topic = Topic(chosen.text)
    schema = topic.schema()
    short = topic.rows(*messages)
    with everything_is_long():
        long = topic.rows(*messages)
        assert long.excluded == short.excluded
        if long.excluded:
            return
        _same(long, list(short.values(schema)), schema)


def _same(long: Any, values: list[Any], schema: Schema) -> None:
    write = writer_for(schema, DecimalFormat.BASE64)
    text = write(long.long_values(schema))
    assert repr(list(long.values(schema))) == repr(values)
    with contextlib.suppress(ColumnsError):
        assert long.arrow(schema).equals(from_values(values, schema))
    with mock.patch.object(json_text, "ITEMS", 1 << 30):
        assert text == write(values)


def test_lists_and_maps_are_not_made_at_once() -> None:
    """Messages in lists, and in maps that Connect has as lists; of a key that is there twice the last entry counts."""
    topic = Topic(_MAPS)
    one = topic.type()
    for number in range(5):
        one.all.add(n=number)
        one.of.add(key=number % 4).value.n = number
    body = one.SerializeToString()
    schema = topic.schema()
    short = topic.rows(body).values(schema)
    with everything_is_long():
        long = topic.rows(body)
        [value] = long.long_values(schema)
        assert type(value["all"]) is LongArray
        assert list(value["all"]) == short[0]["all"]
        assert value["all"][1:3] == short[0]["all"][1:3]
        assert list(value["of"]) == short[0]["of"]
        assert [each["value"]["n"] for each in value["of"]] == [4, 1, 2, 3]
        assert long.datums(schema) == topic.rows(body).datums(schema)


def test_what_has_no_value_is_found_in_long_lists() -> None:
    """A date that there is none of, far down a list whose messages are not made yet: the message is bad, as any is."""
    topic = Topic(
        proto3("message M { repeated V all = 1; } message V { google.type.Date d = 1; }", "google/type/date.proto")
    )
    good, bad = b"\x0a\x09\x0a\x07\x08\xea\x0f\x10\x01\x18\x01", b"\x0a\x09\x0a\x07\x08\xea\x0f\x10\x0d\x18\x01"
    with everything_is_long():
        refused = topic.rows(good * 5 + bad).excluded
        assert "no such date" in refused[0].reason
        assert not topic.rows(good * 5).excluded
