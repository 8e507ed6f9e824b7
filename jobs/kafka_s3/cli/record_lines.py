"""Records written by hand: one JSON object a line, as `kafka-s3 preview --records` takes them.

| key | value |
|---|---|
| `offset` | required |
| `topic` | the first configured one if left out |
| `partition` | 0 if left out |
| `timestamp` | milliseconds since 1970, or null |
| `key`, `value` | any JSON: its compact text is the bytes; null or absent: none, a tombstone |
| `key_base64`, `value_base64` | exact bytes instead |
| `headers` | a list of `[name, value]`, values by the same rule |
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec

from kafka_s3.ranges import TopicPartition
from kafka_s3.records import Record

OFFSET_MAX: Final = 2**63 - 1
_HIGH, _LOW = rb"\\u[dD][89abAB][0-9a-fA-F]{2}", rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
#: Every escape of JSON; the group has those that are half a surrogate pair.
_ESCAPES: Final = re.compile(rb"%b%b|(%b|%b)|\\." % (_HIGH, _LOW, _HIGH, _LOW), re.DOTALL)


class RecordLineError(Exception):
    """A line that is not a record; the message names the line."""


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    offset: int
    topic: str | None = None
    partition: int = 0
    timestamp: int | None = None
    key: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    value: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    key_base64: str | None = None
    value_base64: str | None = None
    headers: list[tuple[str, msgspec.Raw]] = []


def parse_records(
    lines: Iterable[bytes], default_topic: str | None, is_configured: Callable[[str], bool]
) -> Iterator[tuple[TopicPartition, Record]]:
    """The records in some lines; `RecordLineError` for the first that is none.

    Offsets of a topic-partition must ascend. Blank lines are passed over.
    """
    decoder = msgspec.json.Decoder(_Line)
    last: dict[TopicPartition, int] = {}
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            line = decoder.decode(text)
            tp, record = _topic_partition(line, default_topic, is_configured), _record(line)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            said = _half_pair(text) if isinstance(error, msgspec.DecodeError) else None
            raise RecordLineError(f"line {number}: {said or str(error) or 'nested too deeply'}") from None
        except ValueError as error:
            raise RecordLineError(f"line {number}: {error}") from None
        if record.offset <= last.get(tp, -1):
            raise RecordLineError(
                f"line {number}: offset {record.offset} of {tp} comes after {last[tp]}: offsets ascend in a partition"
            )
        last[tp] = record.offset
        yield tp, record


def _half_pair(text: bytes) -> str | None:
    """That a line which cannot be decoded holds half a surrogate pair: the decoder calls some of them truncated."""
    for found in _ESCAPES.finditer(text):
        if found[1]:
            return (
                f"{found[1].decode()} is half a surrogate pair, which is not a character; "
                "bytes of any kind go into key_base64 and value_base64"
            )
    return None


def _topic_partition(line: _Line, default_topic: str | None, is_configured: Callable[[str], bool]) -> TopicPartition:
    topic = line.topic if line.topic is not None else default_topic
    if topic is None:
        raise ValueError("names no topic, and the configuration has none by name (topics.regex)")
    if not is_configured(topic):
        raise ValueError(f"topic {topic!r} is not one of the connector's")
    if not 0 <= line.partition < 2**31:
        raise ValueError(f"partition {line.partition} is not a partition")
    return TopicPartition(topic, line.partition)


def _record(line: _Line) -> Record:
    if not 0 <= line.offset <= OFFSET_MAX:
        raise ValueError(f"offset {line.offset} is not an offset")
    if line.timestamp is not None and not -1 <= line.timestamp <= OFFSET_MAX:
        raise ValueError(f"timestamp {line.timestamp} is not a time in milliseconds")
    return Record(
        line.offset,
        _bytes("value", line.value, line.value_base64),
        _bytes("key", line.key, line.key_base64),
        line.timestamp,
        tuple((name, _compact(raw)) for name, raw in line.headers),
    )


def _bytes(name: str, raw: msgspec.Raw | msgspec.UnsetType, encoded: str | None) -> bytes | None:
    if encoded is None:
        return None if isinstance(raw, msgspec.UnsetType) else _compact(raw)
    if not isinstance(raw, msgspec.UnsetType):
        raise ValueError(f"has both {name} and {name}_base64")
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"{name}_base64 is not base64") from None


def _compact(raw: msgspec.Raw) -> bytes | None:
    """A JSON value without white space, otherwise as it is written; `None` for null."""
    text = msgspec.json.format(bytes(raw), indent=-1)
    return None if text == b"null" else text
