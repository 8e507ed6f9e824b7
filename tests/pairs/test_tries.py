"""Tries of one range after one another, into the same bucket: what a try leaves behind, the next one adopts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest

from kafka_s3.adapters.memory import MemoryStore
from kafka_s3.export.task import RangeTask, export_range
from kafka_s3.log.entries import PlannedRange
from kafka_s3.ports import PartitionOffsets
from kafka_s3.ranges import OffsetRange
from kafka_s3.records import ColumnBatch, Record
from tests.pairs.exported import AT_MS, TP
from tests.pairs.plans import Plan, plans


class Killed(BaseException):
    """kill -9."""


@dataclass
class Source:
    """A `RecordSource` of records in batches of `count`. The first reader ends with `error` after `after` batches."""

    records: Sequence[Record]
    count: int
    error: BaseException | None = None
    after: int = 0

    def open(self, offsets: OffsetRange) -> Source:
        assert (offsets.tp, offsets.start, offsets.end) == (TP, self.records[0].offset, self.records[-1].offset + 1)
        return self

    def __iter__(self) -> Iterator[ColumnBatch]:
        for number, at in enumerate(range(0, len(self.records), self.count)):
            error = self.error
            if error is not None and number == self.after:
                self.error, self.count = None, self.count // 2
                raise error
            yield ColumnBatch(TP, self.records[at : at + self.count])

    leader_epoch = None

    def close(self) -> None:
        """There is nothing to close."""


def exported(plan: Plan, store: MemoryStore, source: Source) -> dict[str, bytes]:
    """The data objects in the bucket after a try, all of which its entry lists."""
    settings = plan.settings(64)
    start, end = plan.records[0].offset, plan.records[-1].offset + 1
    task = RangeTask(PlannedRange(TP.topic, TP.partition, start, end), AT_MS, 0, PartitionOffsets(0, end, end))
    result = export_range(settings, task, store, source, plan.registries)
    assert result.failure is None
    assert result.entry is not None
    assert result.entry.records > 0.8 * len(plan.records)  # most are good: a range of bad records shows nothing
    listed = {key for made in result.entry.objects for key in (made.key, *(each.key for each in made.companions))}
    data = data_of(store)
    assert data.keys() == listed
    return data


def data_of(store: MemoryStore) -> dict[str, bytes]:
    return {key: body for key, body in store.contents().items() if key.startswith("topics/")}


def bucket() -> MemoryStore:
    return MemoryStore(part_bytes_min=1)


@pytest.mark.parametrize("name", plans())
def test_what_a_killed_try_left_is_adopted(name: str) -> None:
    """Killed between two batches and tried again in batches of another size: no object has other bytes than a calm try
    makes, none takes a second name, and none is left over."""
    plan = plans()[name]
    calm = exported(plan, bucket(), Source(plan.records, 100))
    for after in (3, 6):
        store = bucket()
        with pytest.raises(Killed):
            exported(plan, store, Source(plan.records, 41, Killed(), after))
        left = data_of(store)
        assert left or "by field" in name  # there nothing is full so early
        assert left.items() < calm.items()
        assert exported(plan, store, Source(plan.records, 29)) == calm


@pytest.mark.parametrize("name", plans())
def test_a_range_that_is_read_twice_adopts_its_own(name: str) -> None:
    """An accident that a record may be to blame for: the same, within one try, which reads carefully from then on."""
    plan = plans()[name]
    calm = exported(plan, bucket(), Source(plan.records, 100))
    store = bucket()
    assert exported(plan, store, Source(plan.records, 41, ValueError(), 4)) == calm
    assert store.uploads_open() == 0
