"""A retry that makes other bytes of the same records: another machine or library compresses in another way.

It takes a second name. What lies under the first one is never adopted by what it unpacks to: above one part our own
bytes are gone by then; Block-GZIP's index counts compressed bytes; readers of Parquet go by its footer, which no
comparison of rows proves; a dead letter is believed by its ratio; and bytes that differ would go unnoticed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pytest

from kafka_s3.adapters.memory import MemoryStore
from kafka_s3.errors import EXIT_DONE
from kafka_s3.export.task import RangeResult, RangeTask, export_range
from kafka_s3.gc.gc import collect, delete
from kafka_s3.log.entries import Kind
from kafka_s3.settings.formats import FileSettings, Format, Gzip
from kafka_s3.verify.verify import Kafka, Verified, verify
from tests.export.place import DiedError, SimpleExport, die
from tests.support import identified, objects_of, rows_of

PART_SIZES = pytest.mark.parametrize("part_size", [26214400, 40], ids=["put", "parts"])
BESIDE = pytest.mark.parametrize("beside", [False, True], ids=["values", "with keys"])


def place_of(part_size: int, beside: bool) -> SimpleExport:
    made = SimpleExport(partitions=2, store=MemoryStore(part_bytes_min=1), flush_size=4, part_size=part_size)
    if beside:
        keys = FileSettings(Format.BYTE_ARRAY, Gzip())
        made.settings = replace(made.settings, format=replace(made.settings.format, keys=keys))
    move(made, 1)
    for partition, count in ((0, 9), (1, 4)):
        records = [replace(identified(partition, offset), key=b"%d" % offset) for offset in range(count)]
        made.broker.append("orders", partition, *records)
    return made


def move(place: SimpleExport, level: int) -> None:
    """To a machine that compresses like this; the configuration stays what it was."""
    format = place.settings.format
    keys = None if format.keys is None else replace(format.keys, compression=Gzip(level))
    file = replace(format.file, compression=Gzip(level))
    place.settings = replace(place.settings, format=replace(format, file=file, keys=keys))


def first_names(place: SimpleExport) -> set[str]:
    return {key for key in place.data() if key.split("/")[-1].count("+") == 2}


def listed(place: SimpleExport) -> set[str]:
    objects = objects_of(place.log.entries())
    return {key for made in objects for key in (made.key, *(each.key for each in made.companions))}


def verified(place: SimpleExport, *notes: str) -> Verified:
    found = verify(place.settings, place.log, Kafka(place.broker, place.broker), tell=lambda _: None)
    assert (found.findings, found.notes) == ((), notes)
    assert found.records == 13
    return found


def assert_once(place: SimpleExport, *notes: str) -> None:
    """Whoever lists the bucket, or reads the log, finds each record once."""
    assert place.data().keys() == listed(place)
    values = [rows_of(body, key) for key, body in place.data().items() if ".keys" not in key]
    found = sorted((row["p"], row["o"]) for rows in values for row in rows)
    assert found == [*((0, offset) for offset in range(9)), *((1, offset) for offset in range(4))]
    assert verified(place, *notes).orphans == ()


@PART_SIZES
@BESIDE
def test_another_machine_finishes_what_a_dead_one_began(part_size: int, beside: bool) -> None:
    """Plan, objects of one machine, its death; another one commits its own, and takes away what the first left: no
    record is lost or doubled, in the log or in a listing, and `verify` says so."""
    place = place_of(part_size, beside)
    place.while_reading = die
    with pytest.raises(DiedError):
        place.run("dead")
    place.while_reading = lambda: None
    left = place.data()
    assert len(left) == (8 if beside else 4)
    move(place, 9)
    assert place.run("next").exit_status == EXIT_DONE
    assert [entry.kind for entry in place.entries()] == [Kind.CHECKPOINT, Kind.COMMIT]
    assert first_names(place) == set()
    assert_once(place)
    said = "commit 1: 4 objects took another name, since their first one held other bytes: `kafka-s3 gc` finds"
    assert sum(line.startswith(said) for line in place.told) == 1


@PART_SIZES
@BESIDE
def test_a_repeated_task_on_another_machine(part_size: int, beside: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark repeats a task elsewhere, within one run: what the first one left is named by the run and by `verify`, goes
    with `gc`, and no record is lost or doubled."""
    place = place_of(part_size, beside)

    def twice(tasks: Sequence[RangeTask]) -> list[RangeResult]:
        export = partial(export_range, store=place.store, source=place.broker)
        export(place.settings, tasks[0])  # its answer is lost
        one = export(place.settings, tasks[1])
        move(place, 9)
        return [export(place.settings, tasks[0]), one]

    monkeypatch.setattr(place, "_execute", twice)
    assert place.run("run", planned_apart=True).exit_status == EXIT_DONE
    lost = first_names(place) - listed(place)
    assert len(lost) == (6 if beside else 3)
    said = "commit 1: 3 objects took another name, since their first one held other bytes: `kafka-s3 gc` finds"
    assert any(line.startswith(said) for line in place.told)
    what = "2 objects hold" if beside else "1 object holds"  # of the second range, and their keys
    note = f"{what} the same records in other bytes: another library wrote them, or another version"
    orphans = verified(place, note).orphans
    assert orphans is not None
    assert {orphan.key for orphan in orphans} == lost
    garbage = collect(place.settings, place.log, parallel=1)
    assert garbage is not None
    assert {orphan.key for orphan in garbage.objects} == lost
    assert delete(place.log, garbage, parallel=1).complete
    assert_once(place, note)


def test_a_retry_that_makes_the_same_bytes_says_nothing() -> None:
    """What was there is adopted."""
    place = place_of(40, True)
    place.while_reading = die
    with pytest.raises(DiedError):
        place.run("dead")
    place.while_reading = lambda: None
    left = place.data()
    assert place.run("next").exit_status == EXIT_DONE
    assert place.data() == left
    assert not any("another name" in line for line in place.told)
