"""A sample of the records that a plan covers, the same each time it is taken."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Final

from kafka_s3.errors import ConfigurationError, DataLoss, ExporterError, KafkaUnavailable, TopicMissing
from kafka_s3.log.entries import PlannedRange
from kafka_s3.ports import RecordSource
from kafka_s3.ranges import OffsetRange, TopicPartition
from kafka_s3.settings.inference import InferenceSettings
from kafka_s3.values.converters.inference import Sample

#: Readers that are opened for one plan, one after the other; each topic has one at least.
READERS_MAX: Final = 64
#: Partitions of a topic that may let a reader wait for nothing. After so many no other is tried if there is a schema,
#: or something was sampled.
SILENT_MAX: Final = 3


def sample_of(
    source: RecordSource,
    ranges: Sequence[PlannedRange],
    settings: InferenceSettings,
    readers_max: int,
    *,
    is_needed: bool,
) -> tuple[Sample, Sequence[TopicPartition]]:
    """What the values of one topic's ranges look like, from the ends of as many partitions as readers allow; and the
    partitions that could not be read, or were not tried after SILENT_MAX others: their ranges fail by themselves.

    At most `records_max` offsets are read. Each slice ends with the value that reaches its share of `bytes_max`.
    Memory: one reader's, and a `Sample`. Raises `TopicMissing`, and what the last reader raised if none could read
    and a sample `is_needed`.
    """
    sample = Sample()
    parts = list(_slices(ranges, settings.records_max, readers_max))
    bytes_max = max(1, settings.bytes_max // len(parts))
    unread: set[TopicPartition] = set()
    last: ExporterError | None = None
    was_read = False
    silent = 0
    for part in parts:
        if part.tp in unread:
            continue
        if silent >= SILENT_MAX and (was_read or not is_needed):
            unread.add(part.tp)
            continue
        try:
            _read(source, part, bytes_max, sample)
            was_read = True
        except TopicMissing:
            raise
        except (ConfigurationError, DataLoss, KafkaUnavailable) as error:
            unread.add(part.tp)
            last = error
            silent += isinstance(error, KafkaUnavailable)
    if last is not None and is_needed and not was_read:
        raise last
    return sample, sorted(unread)


def _read(source: RecordSource, part: OffsetRange, bytes_max: int, sample: Sample) -> None:
    left = bytes_max
    with contextlib.closing(source.open(part)) as reader:
        for batch in reader:
            for value in batch.values():
                if left <= 0:
                    return
                sample.add(value)
                left -= len(value or b"")


def _slices(ranges: Sequence[PlannedRange], records_max: int, readers_max: int) -> Iterator[OffsetRange]:
    """The first and the last records that are planned of each partition, the last ones alone where readers are few."""
    spans = _spans(ranges)
    at_once = max(1, min(len(spans), readers_max // 2, records_max))
    tps = sorted(spans)
    chosen = [tps[index * len(tps) // at_once] for index in range(at_once)]
    quota = max(1, records_max // at_once)
    for tp in chosen:
        (start, stop), (begin, end) = spans[tp][0], spans[tp][-1]
        if (start, stop) == (begin, end) and end - start <= quota:
            yield OffsetRange(tp, start, end)
            continue
        first = min(quota // 2, stop - start) if readers_max > 1 else 0
        if first:
            yield OffsetRange(tp, start, start + first)
        yield OffsetRange(tp, max(begin, end - (quota - first)), end)


def _spans(ranges: Sequence[PlannedRange]) -> dict[TopicPartition, list[tuple[int, int]]]:
    """The offsets that are planned of each partition: ranges that touch are one."""
    spans: dict[TopicPartition, list[tuple[int, int]]] = {}
    for each in sorted(ranges, key=lambda each: each.start):
        before = spans.setdefault(each.tp, [])
        if before and each.start <= before[-1][1]:
            before[-1] = before[-1][0], max(before[-1][1], each.end)
        else:
            before.append((each.start, each.end))
    return spans
