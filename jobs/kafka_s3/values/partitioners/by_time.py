"""TimeBasedPartitioner: the start of each record's bucket of time, written as a Joda pattern says."""

from __future__ import annotations

from kafka_s3.joda.buckets import Bucketer
from kafka_s3.records import RecordBatch
from kafka_s3.values.partitioners.paths import Paths
from kafka_s3.values.partitioners.times import Extractor
from kafka_s3.values.rows import Rows


class TimePaths:
    """A `Partitioner` over the times that an extractor tells."""

    def __init__(self, bucketer: Bucketer, extract: Extractor) -> None:
        self._bucketer = bucketer
        self._extract = extract

    def __call__(self, batch: RecordBatch, rows: Rows) -> Paths:
        times = self._extract(batch, rows)
        if isinstance(times.each, int):
            return Paths(self._bucketer.path(times.each), times.bad, times.each)
        paths = self._bucketer.paths(times.each)
        if paths.count(paths[0]) == len(paths):  # as most batches are: then nothing is to be sorted apart
            return Paths(paths[0], times.bad, times.each)
        return Paths(paths, times.bad, times.each)
