"""Which offsets a sample reads, and what a partition that cannot be read does to it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kafka_s3.errors import (
    EXIT_CONFIGURATION,
    ConfigurationError,
    DataLoss,
    ExporterError,
    KafkaUnavailable,
)
from kafka_s3.export.exporter import Exporter
from kafka_s3.export.task import RangeTask, export_range
from kafka_s3.inference.sampling import SILENT_MAX, sample_of
from kafka_s3.inference.schemas import SchemaInference
from kafka_s3.log.entries import PlannedRange
from kafka_s3.plan.results import RangeResult
from kafka_s3.ports import RangeReader, RecordSource
from kafka_s3.ranges import OffsetRange
from kafka_s3.settings.inference import InferenceSettings
from tests.export.test_inferred_schemas import TOPIC, Inferring


class Faulty:
    """A source that raises an error for some partitions, and remembers what it was asked for."""

    def __init__(self, source: RecordSource, error: ExporterError, partitions: Sequence[int]) -> None:
        self._source, self._error, self._partitions = source, error, partitions
        self.opened: list[tuple[int, int, int]] = []

    def open(self, offsets: OffsetRange) -> RangeReader:
        self.opened.append((offsets.tp.partition, offsets.start, offsets.end))
        if offsets.tp.partition in self._partitions:
            raise self._error
        return self._source.open(offsets)


class Broken(Inferring):
    """Some partitions cannot be read, by whoever reads them."""

    error: ExporterError
    partitions: Sequence[int] = ()

    @property
    def source(self) -> RecordSource:
        return Faulty(self.broker, self.error, self.partitions) if self.partitions else self.broker

    @property
    def exporter(self) -> Exporter:
        infer = SchemaInference(self.settings.format, lambda: self.source)
        return Exporter(self.settings, self.store, self.broker, infer=infer)

    def _execute(self, tasks: Sequence[RangeTask]) -> list[RangeResult]:
        return [export_range(self.settings, task, self.store, self.source) for task in tasks]


ERRORS = [ConfigurationError("It is refused."), DataLoss("It is gone."), KafkaUnavailable("It does not answer.")]


@pytest.mark.parametrize("error", ERRORS)
def test_a_partition_that_cannot_be_read(error: ExporterError) -> None:
    """Its range fails as it does without inference; the others are exported, and a note names it."""
    place = Broken(partitions=2)
    place.error, place.partitions = error, [0]
    place.send({"id": 1})
    place.send({"other": 1}, partition=1)
    report = place.run()
    assert report.exit_status == error.exit_status
    assert place.rows() == [{"other": 1, "_rest": None}]
    planned = place.log.plan(place.newest.seq)
    assert planned is not None
    assert planned.plan.notes == (
        "schema of orders: these partitions could not be sampled: 0",
        "schema of orders: inferred, 1 field",
    )
    place.partitions = ()
    place.run("next")
    assert sorted(map(str, place.rows())) == [
        "{'other': 1, '_rest': None}",
        "{'other': None, '_rest': {'/id': '1'}}",
    ]


@pytest.mark.parametrize("error", ERRORS)
def test_no_partition_can_be_read(error: ExporterError) -> None:
    """Without a schema nothing can be planned, and the run ends with what was raised; with one it is the ranges that
    fail."""
    place = Broken()
    place.send({"id": 1})
    place.error, place.partitions = error, [0]
    with pytest.raises(type(error), match=error.what):
        place.run("first")
    place.partitions = ()
    place.run("second")
    place.send({"id": 2})
    place.partitions = [0]
    report = place.run("third")
    assert report.exit_status == error.exit_status
    assert list(place.schema()) == ["id", "_rest"]
    assert len(place.rows()) == 1


def sampled(faulty: Faulty, ranges: Sequence[PlannedRange], records: int, *, is_needed: bool = True) -> list[int]:
    """The partitions that could not be read."""
    settings = InferenceSettings(records_max=records)
    return [each.partition for each in sample_of(faulty, ranges, settings, 64, is_needed=is_needed)[1]]


@pytest.mark.parametrize(
    ("error", "bad", "is_needed", "tried"),
    [
        (KafkaUnavailable("x"), [0, 1, 2, 3], False, SILENT_MAX),
        (KafkaUnavailable("x"), [0, 1, 2, 3], True, 5),
        (KafkaUnavailable("x"), [1, 2, 3, 4], True, 1 + SILENT_MAX),
        (DataLoss("x"), [0, 1, 2, 3], False, 6),
    ],
)
def test_who_does_not_answer_is_waited_for(error: ExporterError, bad: list[int], is_needed: bool, tried: int) -> None:
    """By a few readers, as long as there is something to go on with; errors that come at once cost nothing."""
    place = Inferring(partitions=6)
    for partition in range(6):
        place.send({"id": 1}, partition=partition)
    faulty = Faulty(place.broker, error, bad)
    ranges = [PlannedRange(TOPIC, partition, 0, 1) for partition in range(6)]
    unread = sampled(faulty, ranges, 100, is_needed=is_needed)
    assert len(faulty.opened) == tried
    assert set(unread) == {*bad, *range(6)} - {each[0] for each in faulty.opened if each[0] not in bad}


@pytest.mark.parametrize(
    ("planned", "read"),
    [
        ([(0, 10)], [(0, 10)]),
        ([(0, 10), (10, 100)], [(0, 10), (90, 100)]),
        ([(0, 5), (5, 20)], [(0, 20)]),
        ([(0, 10), (90, 100)], [(0, 10), (90, 100)]),
        ([(90, 100), (0, 4)], [(0, 4), (90, 100)]),
        ([(0, 50), (97, 100)], [(0, 10), (97, 100)]),
        ([(0, 30), (40, 60), (80, 100)], [(0, 10), (90, 100)]),
    ],
)
def test_only_what_is_planned_is_sampled(planned: list[tuple[int, int]], read: list[tuple[int, int]]) -> None:
    """Offsets between the ranges of a partition are nobody's: they may be gone, or have been exported."""
    place = Inferring()
    place.send(*({"id": number} for number in range(100)))
    faulty = Faulty(place.broker, DataLoss("x"), [])
    sampled(faulty, [PlannedRange(TOPIC, 0, start, end) for start, end in planned], 20)
    assert [each[1:] for each in faulty.opened] == read


def test_each_slice_has_a_value() -> None:
    """However few bytes there are for how many partitions."""
    place = Inferring(partitions=6, export_value_schema_infer_bytes="1")
    for partition in range(6):
        place.send({f"f{partition}": 1}, {"late": 1}, partition=partition)
    place.run()
    assert list(place.schema()) == [*(f"f{partition}" for partition in range(6)), "_rest"]


def test_a_note_of_what_changed() -> None:
    """A plan says what it did to a schema, and counts new fields only where there are some."""
    place = Inferring()
    for number, value in enumerate([{"id": 1}, {"id": 1.5}, {"id": 1, "new": 1}]):
        place.send(value)
        assert place.run(f"run-{number}").exit_status != EXIT_CONFIGURATION
    notes = []
    for committed in place.log.entries():
        planned = place.log.plan(committed.entry.seq)
        notes += [] if planned is None or not committed.entry.ranges else planned.plan.notes
    assert notes[::-1] == [
        "schema of orders: inferred, 1 field",
        "schema of orders: changed, 1 field",
        "schema of orders: changed, 2 fields, 1 of them new",
    ]
