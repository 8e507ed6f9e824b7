"""Dead letters: records that were refused, in full, and why.

They lie under `<log dir>/<connector>/rejected/` in gzipped objects of lines, one letter a line, and belong to the
commit of their range: its entry lists the object. A line is JSON; what Kafka holds as bytes is base64:

    {"topic":"orders","partition":0,"offset":7,"timestamp":null,"key_base64":null,"value_base64":"e29vcHM=",
     "headers":[["trace","AQ=="]],"stage":"VALUE_CONVERTER","error":"not JSON","connector":"orders"}

A letter says only what a retry of its range would say too, so neither the time nor the run is in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

import msgspec

from kafka_s3.errors import LogDamaged
from kafka_s3.naming import DataName, KeyLayout, LogLayout, invert_seq
from kafka_s3.ranges import TopicPartition
from kafka_s3.records import Headers, Record

EXTENSION: Final = ".jsonl.gz"
ERROR_CHARS_MAX: Final = 2000  # of a letter's reason: some quote what they refuse, which the letter holds anyway
#: Connect's prefix of the headers that say why.
CONTEXT: Final = "__connect.errors."
#: What Connect's own converters raise, and so the class that whoever reads its dead letters looks for.
EXCEPTION_CLASS: Final = "org.apache.kafka.connect.errors.DataException"


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A refused record as Kafka had it; `stage` and `error` say where and why."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int | None
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    stage: str
    error: str
    connector: str

    @property
    def tp(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


def letter_of(tp: TopicPartition, record: Record, *, stage: str, error: str, connector: str) -> DeadLetter:
    """The letter of a record; its reason cut to ERROR_CHARS_MAX, and escaped where it is not text."""
    reason = error if len(error) <= ERROR_CHARS_MAX else f"{error[: ERROR_CHARS_MAX - 1]}…"
    return DeadLetter(
        *tp,
        record.offset,
        record.timestamp_ms,
        record.key,
        record.value,
        record.headers,
        stage,
        reason if reason.isascii() else reason.encode("utf-8", "backslashreplace").decode(),
        connector,
    )


_Partition = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
_Offset = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
_Milliseconds = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class _Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line's fields in their order."""

    topic: str
    partition: _Partition
    offset: _Offset
    timestamp: _Milliseconds | None
    key_base64: bytes | None
    value_base64: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    stage: str
    error: str
    connector: str


_ENCODER: Final = msgspec.json.Encoder()
_DECODER: Final = msgspec.json.Decoder(_Line)


def encode(letter: DeadLetter) -> bytes:
    """One line, without its line feed; the same letter always makes the same bytes."""
    return _ENCODER.encode(
        _Line(
            letter.topic,
            letter.partition,
            letter.offset,
            letter.timestamp_ms,
            letter.key,
            letter.value,
            letter.headers,
            letter.stage,
            letter.error,
            letter.connector,
        )
    )


def decode(line: bytes) -> DeadLetter:
    """The letter of a line that `encode` wrote; `LogDamaged` for anything else, however close it comes."""
    try:
        found = _DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise LogDamaged(f"A line of {len(line)} bytes is not a dead letter: {error}.") from None
    letter = DeadLetter(
        found.topic,
        found.partition,
        found.offset,
        found.timestamp,
        found.key_base64,
        found.value_base64,
        found.headers,
        found.stage,
        found.error,
        found.connector,
    )
    if encode(letter) != line:
        raise LogDamaged(f"A line of {len(line)} bytes is not a dead letter as the exporter writes it: it was edited.")
    return letter


def context_headers(letter: DeadLetter, executing_class: str) -> Headers:
    """The letter's own headers, and Connect's that say why; one that the record has already is left as it is.

    Every value is text in UTF-8, as Connect's are. There is no task, so its number is 0, and no stack trace.
    """
    context = {
        "topic": letter.topic,
        "partition": str(letter.partition),
        "offset": str(letter.offset),
        "connector.name": letter.connector,
        "task.id": "0",
        "stage": letter.stage,
        "class.name": executing_class,
        "exception.class.name": EXCEPTION_CLASS,
        "exception.message": letter.error,
        "exception.stacktrace": "",
    }
    taken = {name for name, _ in letter.headers}
    added = [(f"{CONTEXT}{name}", text.encode()) for name, text in context.items() if f"{CONTEXT}{name}" not in taken]
    return (*letter.headers, *added)


# How large one may be.

#: A letter may have so many bytes whatever its object has, which is a record of 12 MB in base64.
LETTER_BYTES_FREE: Final = 16 * 1024 * 1024
#: A larger one may have so many times the bytes of its compressed object: no small object fills a reader's memory,
#: which is about four times the size of a letter. JSON is compressed ten times or so.
LETTER_RATIO_MAX: Final = 100


def letter_bytes_max(object_bytes: int) -> int:
    """How many bytes a letter may have in a compressed object of so many.

    >>> letter_bytes_max(200_000), letter_bytes_max(1_000_000)
    (20000000, 100000000)
    """
    return max(LETTER_BYTES_FREE, LETTER_RATIO_MAX * object_bytes)


# Where they lie.


def letters_layout(log_root: str, connector: str) -> KeyLayout:
    """How the objects of dead letters are named; `format_data_key` and `parse_data_key` do the rest."""
    return KeyLayout(topics_dir=f"{log_root}/{connector}/rejected")


def letters_name(tp: TopicPartition, first_offset: int, generation: int = 0) -> DataName:
    """
    >>> from kafka_s3.naming import format_data_key
    >>> format_data_key(letters_layout("_kafka_s3", "c"), letters_name(TopicPartition("orders", 3), 42))
    '_kafka_s3/c/rejected/orders/partition=3/orders+3+0000000042.jsonl.gz'
    """
    return DataName(tp.topic, f"partition={tp.partition}", tp.partition, first_offset, EXTENSION, generation)


def reported_prefix(layout: LogLayout) -> str:
    """Markers: the dead letters of an entry, and of every one before, are in their topic."""
    return layout.folder("reported")


def reported_key(layout: LogLayout, seq: int) -> str:
    """
    >>> reported_key(LogLayout("_kafka_s3", "c"), 0)
    '_kafka_s3/c/reported/9999999999999999999.json'
    """
    return f"{reported_prefix(layout)}{invert_seq(seq)}.json"


def redriven_prefix(layout: LogLayout, to: str, letters_key: str) -> str:
    """Records of what was redriven to a topic out of one object of dead letters, numbered from 0.

    >>> key = "_kafka_s3/c/rejected/orders/partition=3/orders+3+0000000042.jsonl.gz"
    >>> redriven_prefix(LogLayout("_kafka_s3", "c"), "fixed", key)
    '_kafka_s3/c/redriven/fixed/orders/partition=3/orders+3+0000000042.jsonl.gz/'
    """
    name = letters_key.removeprefix(f"{layout.home}rejected/")
    assert name != letters_key, f"{letters_key} is not a key of dead letters"
    return f"{layout.folder('redriven')}{to}/{name}/"


def redriven_key(layout: LogLayout, to: str, letters_key: str, number: int) -> str:
    return f"{redriven_prefix(layout, to, letters_key)}{number:06d}.json"
