"""What OpenLineage is told of an export: the topics and offsets that were read, and where their records are.

Imported only where Airflow's OpenLineage provider is installed and asks. It follows from the log: what a run committed.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attr
from airflow.providers.openlineage.extractors import OperatorLineage
from openlineage.client.event_v2 import InputDataset, OutputDataset
from openlineage.client.facet_v2 import (
    InputDatasetFacet,
    input_statistics_input_dataset,
    output_statistics_output_dataset,
)

from kafka_s3.log.entries import RangeEntry
from kafka_s3.settings import Settings

if TYPE_CHECKING:
    from kafka_s3.wiring import MakeStore

#: What a run read and wrote.
Lineage: TypeAlias = OperatorLineage[Any, Any]
#: Of the newest commits of a run; more would be a run of thousands of batches.
ENTRIES_MAX: Final = 1000


@attr.define
class OffsetsInputDatasetFacet(InputDatasetFacet):
    """The offsets of a topic that were exported: per partition `start` (itself in it) and `end` (itself not)."""

    partitions: list[dict[str, int]] = attr.field(factory=list)


def lineage_of_run(settings: Settings, make_store: MakeStore, run_id: str) -> Lineage:
    """What the log has of a run, whatever became of its last try."""
    from kafka_s3.log.store import open_log

    log = open_log(make_store(settings), settings.log_root, settings.name, settings.log_key)
    newest = itertools.islice(log.entries(), ENTRIES_MAX)
    entries = itertools.takewhile(lambda each: each.entry.run_id == run_id, newest)
    return lineage_of([done for each in entries for done in each.entry.ranges], settings)


def lineage_of(ranges: Iterable[RangeEntry], settings: Settings) -> Lineage:
    """Topics in and S3 prefixes out, with offsets, records, objects and bytes; nothing of ranges that were empty."""
    by_topic: dict[str, list[RangeEntry]] = defaultdict(list)
    for done in ranges:
        if done.next_offset > done.start:
            by_topic[done.topic].append(done)
    brokers = str(settings.kafka.client["bootstrap.servers"]).split(",")
    kafka = f"kafka://{brokers[0].strip().rpartition('://')[2]}"
    by_prefix: dict[str, list[RangeEntry]] = defaultdict(list)
    for topic, read in by_topic.items():
        by_prefix[settings.layout.listed_prefix(topic).strip("/")] += read
    return OperatorLineage(
        inputs=[_input(kafka, topic, read) for topic, read in sorted(by_topic.items())],
        outputs=[_output(f"s3://{settings.s3.bucket}", *written) for written in sorted(by_prefix.items())],
    )


def _input(namespace: str, topic: str, ranges: list[RangeEntry]) -> InputDataset:
    offsets: dict[int, tuple[int, int]] = {}
    for done in ranges:
        start, end = offsets.get(done.partition, (done.start, done.next_offset))
        offsets[done.partition] = min(start, done.start), max(end, done.next_offset)
    partitions = [{"partition": number, "start": start, "end": end} for number, (start, end) in sorted(offsets.items())]
    rows = sum(done.records + done.rejected + done.tombstones + done.filtered for done in ranges)
    return InputDataset(
        namespace=namespace,
        name=topic,
        inputFacets={
            "inputStatistics": input_statistics_input_dataset.InputStatisticsInputDatasetFacet(rowCount=rows),
            "kafkaOffsets": OffsetsInputDatasetFacet(partitions=partitions),
        },
    )


def _output(namespace: str, prefix: str, ranges: list[RangeEntry]) -> OutputDataset:
    objects = [each for done in ranges for each in done.objects]
    statistics = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
        rowCount=sum(each.records for each in objects),
        size=sum(each.size for each in objects),
        fileCount=len(objects),
    )
    return OutputDataset(namespace=namespace, name=prefix, outputFacets={"outputStatistics": statistics})
