"""The reading of ranges: one consumer for each, assigned, never in a group."""

from __future__ import annotations

import gc
import json
import operator
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as Assignment

from kafka_s3.adapters.kafka.client import (
    CONNECT_TIMEOUT_S,
    GONE,
    GROUP,
    NOT_ALLOWED,
    UNKNOWN_TOPIC,
    Complaints,
    bad_configuration,
    client_configuration,
    said,
    translate,
)
from kafka_s3.errors import ExporterError, KafkaUnavailable
from kafka_s3.ranges import OffsetRange, TopicPartition
from kafka_s3.records import Headers
from kafka_s3.settings.kafka import KafkaSettings

#: With 2,000, the messages of a batch stay in the processor's cache: a third less CPU a record than with 5,000.
BATCH_RECORDS_MAX: Final = 2000
#: A batch is asked for by count; the count follows the sizes seen, to hold about this many bytes of values.
BATCH_BYTES: Final = 4 * 1024 * 1024
_FIRST_BATCH_RECORDS: Final = 500
#: How long a batch that is not full is waited for; while one is, librdkafka's queue is refilled behind it.
_POLL_S: Final = 0.1


class KafkaBatch:
    """A `records.RecordBatch` over librdkafka's messages: each column is made when it is asked for."""

    __slots__ = ("_headers", "_messages", "_timestamps", "tp")

    def __init__(self, tp: TopicPartition, messages: list[Message]) -> None:
        self.tp = tp
        self._messages = messages
        self._headers: list[Headers] | None = None
        self._timestamps: list[int | None] | None = None

    def __len__(self) -> int:
        return len(self._messages)

    def offset_at(self, index: int) -> int:
        return self._messages[index].offset()  # type: ignore[return-value]  # only errors have none

    def values(self) -> Sequence[bytes | None]:
        return list(map(Message.value, self._messages))

    def keys(self) -> Sequence[bytes | None]:
        return list(map(Message.key, self._messages))

    def timestamps(self) -> Sequence[int | None]:
        # Kept: paths, indexes, windows and the log may each ask.
        if self._timestamps is None:
            self._timestamps = self._read_timestamps()
        return self._timestamps

    def _read_timestamps(self) -> list[int | None]:
        # The type is 0 in Kafka's oldest formats, which have none; in the others a producer may have sent -1.
        kinds, stamps = zip(*map(Message.timestamp, self._messages), strict=True)
        if 0 not in kinds and min(stamps) >= 0:  # at C speed, as nearly always
            return list(stamps)
        return [stamp if kind and stamp >= 0 else None for kind, stamp in zip(kinds, stamps, strict=True)]

    def headers(self) -> Sequence[Headers]:
        # Kept, since a message complains of a name once: what it answers after that must not be touched.
        if self._headers is None:
            self._headers = list(map(_headers_of, self._messages))
        return self._headers


# Called like this, an error comes out of the call. A plain call that Python has specialized does not look whether the
# client left one behind, and it would come out of whatever is called next.
_READ_HEADERS: Final = operator.methodcaller("headers")


def _headers_of(message: Message) -> Headers:
    """A message's headers; the client fails on names that are not UTF-8, which Java reads as text with U+FFFD."""
    try:
        return _READ_HEADERS(message) or []
    except SystemError as error:
        cause: BaseException | None = error
        while isinstance(cause, SystemError):  # one for each name after the first
            cause = cause.__cause__
        if not isinstance(cause, UnicodeDecodeError):
            raise
        name = cause.object.decode("utf-8", "replace")
    # The list is there now. A pair whose name could not be read holds its value only, and nothing in the name's place,
    # which must not be looked at. Of several such names the first one is known.
    pairs: list[Any] = _READ_HEADERS(message)
    found: list[tuple[str, bytes | None]] = []
    for pair in pairs:
        if len(gc.get_referents(pair)) == len(pair):
            found.append(pair)
        else:
            found.append((name, pair[1]))
            name = "\ufffd"
    return found


class KafkaSource:
    """A `ports.RecordSource`: one consumer for each range."""

    def __init__(self, kafka: KafkaSettings) -> None:
        self._kafka = kafka

    def open(self, offsets: OffsetRange) -> KafkaReader:
        return KafkaReader(self._kafka, offsets)


class _Moved:
    """When something of a partition last moved, by the monotonic clock.

    librdkafka's client calls it, and it knows no reader. A reader that its client knew too would be freed when Python
    looks for cycles, which is seldom here; and of about a thousand clients that wait for it no more can be made.
    """

    def __init__(self, tp: TopicPartition, start: int) -> None:
        self.at = 0.0
        self._tp = tp
        self._fetched = start

    def now(self) -> None:
        self.at = time.monotonic()

    def on_statistics(self, text: str) -> None:
        """A long stretch of aborted records is progress that no record shows: librdkafka's statistics do."""
        topics = json.loads(text)["topics"]
        partition = topics.get(self._tp.topic, {}).get("partitions", {}).get(str(self._tp.partition), {})
        if partition.get("next_offset", 0) > self._fetched:
            self._fetched = partition["next_offset"]
            self.now()


class KafkaReader:
    """Reads one range until the consumer's position reaches its end (docs/protocol.md#reading-a-range).

    Finished by the first record at or past the end, or by an end-of-partition event there: compaction and
    transaction markers leave holes, so the last offset may never be seen.
    Memory: librdkafka's queue (`queued.max.messages.kbytes`, 64 MiB) and one batch, about BATCH_BYTES of values
    where sizes are even, at most BATCH_RECORDS_MAX records, and never more than the queue and what arrives in _POLL_S.
    """

    def __init__(
        self, kafka: KafkaSettings, offsets: OffsetRange, *, first_batch_records: int = _FIRST_BATCH_RECORDS
    ) -> None:
        self._offsets = offsets
        self._idle_timeout_s = kafka.idle_timeout_ms / 1000
        self._position = offsets.start
        self._count = first_batch_records
        self._leader_epoch: int | None = None
        self._complaints = Complaints()
        self._met = False  # a record came
        self._moved = _Moved(offsets.tp, offsets.start)
        configuration = {
            "fetch.queue.backoff.ms": 10,  # the default of a second stalls a reader that empties the queue
            # A leader that hangs has to be let go of, and the next one found, before the reader gives up.
            "socket.timeout.ms": min(60_000, max(1000, kafka.idle_timeout_ms // 2)),
            # Of the end of a log that ends in markers or aborted records the client tells after an empty answer, for
            # which the broker waits so long, by default half a second a range. Nobody waits there for more to come.
            "fetch.wait.max.ms": 20,
            **client_configuration(kafka, self._complaints),
            "group.id": kafka.client.get("group.id", "kafka-s3"),  # librdkafka wants one; it is never joined
            "isolation.level": kafka.isolation_level,
            "auto.offset.reset": "error",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "enable.partition.eof": True,
            "statistics.interval.ms": max(100, kafka.idle_timeout_ms // 4),
            "stats_cb": self._moved.on_statistics,
        }
        try:
            self._consumer = Consumer(configuration)
        except (KafkaException, ValueError, TypeError) as error:
            raise bad_configuration(error) from None

    def __iter__(self) -> Iterator[KafkaBatch]:
        tp = self._offsets.tp
        try:
            self._moved.now()
            self._consumer.assign([Assignment(tp.topic, tp.partition, self._offsets.start)])
            yield from self._batches(tp, self._offsets.end)
        except KafkaException as error:
            raise self._translated(error.args[0]) from None

    @property
    def leader_epoch(self) -> int | None:
        return self._leader_epoch

    def close(self) -> None:
        self._consumer.close()

    def _batches(self, tp: TopicPartition, end: int) -> Iterator[KafkaBatch]:
        while self._position < end:
            # Never more than is missing: the last batch is not waited for once it is complete.
            messages = self._consumer.consume(min(self._count, end - self._position), timeout=_POLL_S)
            if any(map(Message.error, messages)):
                messages = self._without_events(messages)
            if not messages:
                self._check_progress()
                continue
            self._moved.now()
            self._met = True
            self._complaints.clear()
            self._position = max(self._position, messages[-1].offset() + 1)  # type: ignore[operator]
            self._count = _next_count(self._count, messages)
            if messages[-1].offset() >= end:  # type: ignore[operator]
                messages = [message for message in messages if message.offset() < end]  # type: ignore[operator]
            if messages:
                self._leader_epoch = messages[-1].leader_epoch()
                yield KafkaBatch(tp, messages)
                self._moved.now()  # what the caller did with the batch is not Kafka's silence

    def _without_events(self, messages: list[Message]) -> list[Message]:
        """The records among what was delivered; end-of-partition events move the position, errors are raised."""
        records: list[Message] = []
        for message in messages:
            error = message.error()
            if error is None:
                records.append(message)
            elif error.code() == KafkaError._PARTITION_EOF:
                self._position = max(self._position, message.offset() or 0)
            elif message.topic() is not None:
                raise self._translated(error)
            elif error.code() not in GROUP:
                self._complaints(error)  # of the client, not of the partition: the reading goes on if it can
        return records

    def _check_progress(self) -> None:
        """Raise if nothing will come any more, or nothing moved for too long."""
        last = self._complaints.last
        silent = time.monotonic() - self._moved.at > self._idle_timeout_s
        # A refusal after records came may be one broker's bad moment.
        waits = self._met and last is not None and last.code() in NOT_ALLOWED
        if last is not None and self._complaints.is_final() and (silent or not waits):
            raise self._translated(last)
        if silent and self._position < self._offsets.end:
            last = last or self._asked_why()
            why = f" The client says: {said(last)} ({last.name()})." if last is not None else ""
            raise KafkaUnavailable(
                f"{self._offsets}: no record for {self._idle_timeout_s:g} s at position {self._position}, "
                f"{self._offsets.end - self._position} offsets before the end {self._offsets.end}.{why}",
                next="Is a leader missing, or was the log cut below the planned end? The range is planned again.",
            )

    def _asked_why(self) -> KafkaError | None:
        """What is wrong with the partition, which librdkafka keeps to itself: no leader, or no right to see it."""
        tp = self._offsets.tp
        try:
            topic = self._consumer.list_topics(tp.topic, timeout=CONNECT_TIMEOUT_S).topics[tp.topic]
        except KafkaException as error:
            return error.args[0]  # type: ignore[no-any-return]
        why: KafkaError | None = topic.error
        if why is not None and why.code() in NOT_ALLOWED | UNKNOWN_TOPIC:
            raise self._translated(why)
        return topic.partitions[tp.partition].error if why is None and tp.partition in topic.partitions else why

    def _translated(self, error: KafkaError) -> ExporterError:
        translated = translate(error, f"reading {self._offsets}")
        if error.code() in GONE:
            translated.what += self._bounds()
        return translated

    def _bounds(self) -> str:
        """Where the log begins and ends now, if the broker still says so."""
        at = Assignment(self._offsets.tp.topic, self._offsets.tp.partition)
        try:
            low, high = self._consumer.get_watermark_offsets(at, timeout=CONNECT_TIMEOUT_S)
        except KafkaException:
            return ""
        return f" The log is [{low}, {high})."


def _next_count(count: int, messages: list[Message]) -> int:
    """How many records to ask for next: as many as hold about BATCH_BYTES, judged by sixteen of the last ones."""
    sample = messages[:: max(1, len(messages) // 16)]
    mean = sum(len(message.value() or b"") for message in sample) / len(sample)
    fitting = int(BATCH_BYTES / max(mean, 1.0))
    return max(1, min(fitting, BATCH_RECORDS_MAX, 4 * count))
