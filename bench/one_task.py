"""What one Spark task does, as a process without Spark: some ranges, one after the other."""

import os
import sys
from pathlib import Path

from kafka_s3.export.task import RangeTask
from kafka_s3.inference.sampling import READERS_MAX, sample_of
from kafka_s3.inference.schemas import inferred
from kafka_s3.log.entries import PlannedRange
from kafka_s3.ports import PartitionOffsets
from kafka_s3.settings import Lookups, load, read_text
from kafka_s3.settings.model import Settings
from kafka_s3.wiring import ask_registries, export_ranges, make_registries, make_source


def tasks_of(settings: Settings, topic: str, partitions: int, end: int) -> list[RangeTask]:
    """Every partition from its beginning to `end`."""
    ranges = [PlannedRange(topic, partition, 0, end) for partition in range(partitions)]
    schema, inference = None, settings.format.value.inference
    if inference is not None:
        sample, _ = sample_of(make_source(settings), ranges, inference, READERS_MAX, is_needed=True)
        schema = inferred(settings.format, inference, None, sample)
    return [RangeTask(each, 0, 0, PartitionOffsets(0, end, end), schema=schema) for each in ranges]


def main(connector: str, topic: str, partitions: int, end: int) -> None:
    """Export the ranges and say how many bytes their objects have."""
    keys = {name: os.environ[name.upper()] for name in ("aws_access_key_id", "aws_secret_access_key")}
    settings = load(Path(connector), lookups=Lookups(env=os.environ, read_file=read_text), aws_connection=keys).settings
    tasks = tasks_of(settings, topic, partitions, end)
    size = 0
    for result in export_ranges(settings, tasks, ask_registries(settings, make_registries(settings), tasks)):
        assert result.failure is None, result.failure
        assert result.entry is not None
        assert (result.entry.records, result.entry.rejected) == (end, 0), result.entry
        size += result.entry.bytes if not result.entry.objects else sum(each.size for each in result.entry.objects)
    print("bytes", size)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
