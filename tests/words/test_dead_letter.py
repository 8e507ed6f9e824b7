"""Dead letters: a line says all of a refused record, and nothing that a retry would say otherwise."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_s3.dead_letter import (
    ERROR_CHARS_MAX,
    DeadLetter,
    context_headers,
    decode,
    encode,
    letter_of,
    letters_layout,
    letters_name,
    redriven_key,
    redriven_prefix,
    reported_key,
)
from kafka_s3.errors import LogDamaged
from kafka_s3.naming import LogLayout, format_data_key, parse_data_key, parse_seq
from kafka_s3.ranges import TopicPartition
from kafka_s3.records import Record

LETTER = DeadLetter(
    "orders", 0, 7, None, None, b"{oops", (("trace", b"\x01"), ("trace", None)), "VALUE_CONVERTER", "not JSON", "c"
)
LINE = (
    b'{"topic":"orders","partition":0,"offset":7,"timestamp":null,"key_base64":null,"value_base64":"e29vcHM=",'
    b'"headers":[["trace","AQ=="],["trace",null]],"stage":"VALUE_CONVERTER","error":"not JSON","connector":"c"}'
)

texts = st.text(st.characters(exclude_categories=["Cs"]))
blobs = st.none() | st.binary()
offsets = st.integers(0, 2**63 - 1)
letters = st.builds(
    DeadLetter,
    topic=texts,
    partition=st.integers(0, 2**31 - 1),
    offset=offsets,
    timestamp_ms=st.none() | st.integers(-(2**63), 2**63 - 1),
    key=blobs,
    value=blobs,
    headers=st.lists(st.tuples(texts, blobs)).map(tuple),
    stage=texts,
    error=texts,
    connector=texts,
)
topics = st.text("abc.-_0", min_size=1)


def test_a_line() -> None:
    """The form that people and other tools read: compact JSON, bytes in base64, null where Kafka has null."""
    assert encode(LETTER) == LINE
    assert decode(LINE) == LETTER


@given(letters)
def test_decode_is_the_inverse(letter: DeadLetter) -> None:
    """Whatever Kafka holds comes back as it was: empty is not null, and a line feed never splits a line."""
    line = encode(letter)
    assert decode(line) == letter
    assert b"\n" not in line
    assert list(json.loads(line))[:3] == ["topic", "partition", "offset"]


@given(st.binary() | st.text().map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_what_is_no_letter_is_refused(data: bytes) -> None:
    """Foreign bytes are an error of ours, whatever they are."""
    with pytest.raises(LogDamaged):
        decode(data)


@given(letters, st.data())
def test_an_edited_line_is_another_letter_or_none(letter: DeadLetter, data: st.DataObject) -> None:
    """No two lines are the same letter: one byte changed is refused, or it says something else."""
    line = bytearray(encode(letter))
    at = data.draw(st.integers(0, len(line) - 1))
    line[at] ^= data.draw(st.integers(1, 255))
    with contextlib.suppress(LogDamaged):
        assert decode(bytes(line)) != letter


@pytest.mark.parametrize(
    "line",
    [
        LINE + b"\n",
        LINE.replace(b'"offset":7', b'"offset": 7'),
        LINE.replace(b'"offset":7', b'"offset":7.0'),
        LINE.replace(b'"offset":7', b'"offset":"7"'),
        LINE.replace(b'"offset":7', b'"offset":-7'),
        LINE.replace(b'"offset":7', b'"offset":9223372036854775808'),
        LINE.replace(b'"offset":7,', b""),
        LINE.replace(b"not JSON", b"\\ud800"),
        LINE.replace(b'"offset":7', b'"offset":6,"offset":7'),
        LINE.replace(b'"connector"', b'"more":1,"connector"'),
        LINE.replace(b"e29vcHM=", b"e29vcHM"),
        LINE.replace(b"AQ==", b"AR=="),
        LINE.replace(b'["trace",null]', b'["trace"]'),
        b"[" * 100_000,
        b"",
    ],
)
def test_what_is_nearly_a_letter_is_refused(line: bytes) -> None:
    """Another spelling, type, field or padding is not what the exporter wrote."""
    with pytest.raises(LogDamaged):
        decode(line)


def test_a_letter_of_a_record() -> None:
    """Everything of the record is in it; a long reason is cut, one that is not text is escaped: it can be encoded."""
    record = Record(7, b"v", b"k", 5, (("a", None),))
    made = letter_of(TopicPartition("t", 2), record, stage="TASK_PUT", error="x" * 9999, connector="c")
    assert replace(made, error="") == DeadLetter("t", 2, 7, 5, b"k", b"v", (("a", None),), "TASK_PUT", "", "c")
    assert len(made.error) == ERROR_CHARS_MAX
    odd = letter_of(TopicPartition("t", 2), record, stage="TASK_PUT", error="no field '\ud800'", connector="c")
    assert odd.error == "no field '\\ud800'"
    assert decode(encode(odd)) == odd


def test_context_headers() -> None:
    """Connect's names, in its order and as text; the record's own come first, and one that is there is not replaced."""
    had = replace(LETTER, headers=(("trace", b"\x01"), ("__connect.errors.stage", b"HEADER_CONVERTER")))
    assert list(context_headers(had, "x.Converter")) == [
        ("trace", b"\x01"),
        ("__connect.errors.stage", b"HEADER_CONVERTER"),
        ("__connect.errors.topic", b"orders"),
        ("__connect.errors.partition", b"0"),
        ("__connect.errors.offset", b"7"),
        ("__connect.errors.connector.name", b"c"),
        ("__connect.errors.task.id", b"0"),
        ("__connect.errors.class.name", b"x.Converter"),
        ("__connect.errors.exception.class.name", b"org.apache.kafka.connect.errors.DataException"),
        ("__connect.errors.exception.message", b"not JSON"),
        ("__connect.errors.exception.stacktrace", b""),
    ]


@given(topics, st.integers(0, 2**31 - 1), offsets, st.integers(0, 9), st.integers(0, 9))
def test_keys_are_facts(topic: str, partition: int, offset: int, generation: int, collision: int) -> None:
    """A key of dead letters says topic, partition, offset, generation and collision, and is parsed as it was made."""
    layout = letters_layout("_kafka_s3", "orders-sink")
    name = replace(letters_name(TopicPartition(topic, partition), offset, generation), collision=collision)
    key = format_data_key(layout, name)
    assert key.startswith(f"_kafka_s3/orders-sink/rejected/{topic}/partition={partition}/{topic}+{partition}+")
    assert parse_data_key(layout, topic, key) == name


@given(st.integers(0, 10**18))
def test_markers_sort_newest_first(seq: int) -> None:
    """The key of a marker says its entry."""
    assert parse_seq(reported_key(LogLayout("_kafka_s3", "c"), seq)) == seq


def test_records_of_redriving_lie_apart() -> None:
    """What was redriven is kept by target and object; a name is never the beginning of another's."""
    log = LogLayout("_kafka_s3", "c")
    key = format_data_key(letters_layout("_kafka_s3", "c"), letters_name(TopicPartition("a", 0), 1))
    assert redriven_key(log, "to", key, 12) == redriven_prefix(log, "to", key) + "000012.json"
    assert not redriven_prefix(log, "to", key + ".x").startswith(redriven_prefix(log, "to", key))
    with pytest.raises(AssertionError):
        redriven_prefix(log, "to", "topics/a/partition=0/a+0+0000000001.json")
