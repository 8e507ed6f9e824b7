"""Objects that end by their compressed size: another library makes other bytes, so that its objects end elsewhere."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafka_s3.adapters.memory import MemoryStore
from kafka_s3.errors import EXIT_DONE
from kafka_s3.gc.gc import collect, delete
from kafka_s3.log.entries import Kind
from kafka_s3.settings.formats import Zstd
from kafka_s3.values.formats import compression
from kafka_s3.verify.verify import Kafka, verify
from kafka_s3.write import writer
from tests.export.place import DiedError, SimpleExport, die
from tests.pairs.readers import plain
from tests.support import identified, objects_of

COUNT = 400


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> SimpleExport:
    """Frames and looks of a few records."""
    monkeypatch.setattr(writer, "LOOK_EVERY", 256)
    monkeypatch.setattr(compression, "FRAME", 128)
    made = SimpleExport(partitions=1, store=MemoryStore(part_bytes_min=1), flush_size=1000)
    limits = replace(made.settings.limits, object_bytes_max=600, object_bytes_written=True)
    made.settings = replace(made.settings, limits=limits)
    made.broker.append("orders", 0, *(identified(0, offset) for offset in range(COUNT)))
    move(made, 22)
    return made


def move(place: SimpleExport, level: int) -> None:
    """To a machine that compresses like this; the configuration stays what it was."""
    file = replace(place.settings.format.file, compression=Zstd(level))
    place.settings = replace(place.settings, format=replace(place.settings.format, file=file))


def spans(place: SimpleExport) -> list[tuple[int, int]]:
    return sorted((made.first_offset, made.last_offset) for made in objects_of(place.log.entries()))


def other_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of another library: they are larger, and hold the same."""
    monkeypatch.setattr(compression, "FRAME", 40)


def assert_once(place: SimpleExport) -> None:
    """Whoever reads the log finds each record once."""
    listed = spans(place)
    assert [first for first, _ in listed] == [0, *(last + 1 for _, last in listed[:-1])]
    assert listed[-1][1] == COUNT - 1
    lines = [plain(place.data()[made.key], made.key).splitlines() for made in objects_of(place.log.entries())]
    assert sum(map(len, lines)) == COUNT


def test_a_retry_that_splits_elsewhere_loses_nothing(place: SimpleExport, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dead run's objects end where the next run's do not: the log lists the next run's alone, and what the first one
    left is gone, whatever offsets it was named by."""
    place.while_reading = die
    with pytest.raises(DiedError):
        place.run("dead")
    place.while_reading = lambda: None
    left = place.data()
    other_frames(monkeypatch)
    assert place.run("next").exit_status == EXIT_DONE
    assert [entry.kind for entry in place.entries()] == [Kind.CHECKPOINT, Kind.COMMIT]
    listed = {made.key for made in objects_of(place.log.entries())}
    assert len(left.keys() - listed) > 2
    assert_once(place)
    delete(place.log, collect(place.settings, place.log), lambda _: None) if place.data().keys() != listed else None
    assert place.data().keys() == listed


def test_verify_compares_objects_of_another_size(place: SimpleExport, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written again by a library that compresses otherwise, objects end where the log says: the same records in other
    bytes are a note, and another record is found."""
    assert place.run().exit_status == EXIT_DONE
    before = spans(place)
    assert len(before) > 4
    other_frames(monkeypatch)
    found = verify(place.settings, place.log, Kafka(place.broker, place.broker), tell=lambda _: None)
    assert found.findings == ()
    assert "hold the same records in other bytes" in found.notes[0]
    assert found.ranges_compared == 1
    assert_once(place)
