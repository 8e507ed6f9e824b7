"""A sample of the records that a plan covers, the same each time it is taken."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Final

from kafka_s3.log.entries import PlannedRange
from kafka_s3.ports import RecordSource
from kafka_s3.ranges import OffsetRange, TopicPartition
from kafka_s3.settings.inference import InferenceSettings
from kafka_s3.values.converters.inference import Sample

#: Readers that are opened for one plan, one after the other; each topic has one at least.
READERS_MAX: Final = 64


def sample_of(
    source: RecordSource, ranges: Sequence[PlannedRange], settings: InferenceSettings, readers_max: int
) -> Sample:
    """What the values of one topic's ranges look like, from the ends of as many partitions as readers allow.

    At most `records_max` offsets are read, and after `bytes_max` bytes of values nothing more. Memory: one reader's,
    and a `Sample`. Raises what readers raise.
    """
    sample = Sample()
    parts = list(_slices(ranges, settings.records_max, readers_max))
    for part in parts:
        _read(source, part, settings.bytes_max // len(parts), sample)
    return sample


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
    """The first and the last records of each partition, the last ones alone where readers are few."""
    spans: dict[TopicPartition, tuple[int, int]] = {}
    for each in ranges:
        start, end = spans.get(each.tp, (each.start, each.end))
        spans[each.tp] = min(start, each.start), max(end, each.end)
    at_once = max(1, min(len(spans), readers_max // 2, records_max))
    tps = sorted(spans)
    chosen = [tps[index * len(tps) // at_once] for index in range(at_once)]
    quota = max(1, records_max // at_once)
    for tp in chosen:
        start, end = spans[tp]
        if end - start <= quota:
            yield OffsetRange(tp, start, end)
            continue
        first = quota // 2 if readers_max > 1 else 0
        if first:
            yield OffsetRange(tp, start, start + first)
        yield OffsetRange(tp, end - (quota - first), end)
