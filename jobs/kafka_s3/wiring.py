"""The one place that chooses adapters."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from kafka_s3.export.run import Execute, Exporter
from kafka_s3.export.task import RangeResult, RangeTask, export_range
from kafka_s3.settings.model import Settings

#: More objects than two batches have messages, which are freed as batches are: Python's own threshold (700) would look
#: through all of them for cycles several times a batch, for a fifth of the CPU of reading.
GC_THRESHOLD: Final = 50_000


def make_exporter(settings: Settings) -> Exporter:
    """A connector over its real bucket and its real broker."""
    from kafka_s3.kafka import KafkaBroker
    from kafka_s3.s3 import S3Store

    return Exporter(settings, S3Store(settings.s3), KafkaBroker(settings))


def export_ranges(settings: Settings, tasks: Sequence[RangeTask]) -> list[RangeResult]:
    """Some ranges, one after the other, over the real bucket and broker: the work of one Spark task."""
    from kafka_s3.kafka import KafkaSource
    from kafka_s3.s3 import S3Store

    gc.set_threshold(GC_THRESHOLD)
    store, source = S3Store(settings.s3), KafkaSource(settings.kafka)
    return [export_range(settings, task, store, source) for task in tasks]


def in_threads(settings: Settings) -> Execute:
    """Executes ranges in this process, `tasks.max` at once: a run without Spark."""

    def execute(tasks: Sequence[RangeTask]) -> list[RangeResult]:
        with ThreadPoolExecutor(min(settings.limits.tasks_max, len(tasks))) as pool:
            return [result for done in pool.map(lambda task: export_ranges(settings, [task]), tasks) for result in done]

    return execute
