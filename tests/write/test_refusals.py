"""What a log entry says about rejected records: how many, at which stage and why, in a few words however many."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from kafka_s3.errors import LogDamaged
from kafka_s3.log.documents import decode, encode
from kafka_s3.log.entries import Entry as LogEntry
from kafka_s3.log.entries import Refusal, Stop, to_builtins
from kafka_s3.records import Record
from kafka_s3.settings.connect import DeadLetters
from kafka_s3.write.rejections import REASON_CHARS_COUNTED, REASONS_LOGGED_MAX
from tests.export.place import TOPIC, SimpleExport


def _newest_ranges(place: SimpleExport) -> list[tuple[Refusal, ...]]:
    return [done.refusals for done in place.newest.ranges]


def test_an_entry_counts_the_commonest_reason_first() -> None:
    """Stage, reason and number of what was rejected are in the entry, the commonest first."""
    place = SimpleExport(1, tolerate=True)
    values = [b"{oops", b"", b"{oops", b'{"p":0}', b"{oops"]
    place.broker.append(TOPIC, 0, *(Record(offset, value) for offset, value in enumerate(values)))
    place.run()
    (refusals,) = _newest_ranges(place)
    assert [each.records for each in refusals] == [3, 1]
    assert {each.stage for each in refusals} == {"VALUE_CONVERTER"}
    assert refusals[1].reason == "not JSON: the value is empty"


def test_an_entry_names_few_reasons_however_many() -> None:
    """Every record refused for a reason of its own, long and without end: the entry stays small."""
    place = SimpleExport(1, tolerate=True)
    values = ["{" + '"a":1,' * (100 * number) + "x" for number in range(1, 60)]
    place.broker.append(TOPIC, 0, *(Record(offset, value.encode()) for offset, value in enumerate(values)))
    place.run()
    (refusals,) = _newest_ranges(place)
    assert len(refusals) <= REASONS_LOGGED_MAX
    assert all(len(each.reason) <= REASON_CHARS_COUNTED for each in refusals)
    assert place.newest.ranges[0].rejected == 59


def test_without_rejected_records_an_entry_names_no_reason() -> None:
    """Nothing is said of what did not happen, and an entry of before has none either."""
    place = SimpleExport(1, tolerate=True)
    place.produce(0, 3)
    place.run()
    assert _newest_ranges(place) == [()]
    old = to_builtins(place.newest)
    for done in old["ranges"]:
        del done["refusals"]
    assert msgspec.convert(old, LogEntry, strict=False).ranges[0].refusals == ()


def test_more_reasons_than_rejected_records_are_damage() -> None:
    """Of an entry that counts reasons for records which were not rejected nothing is believed."""
    place = SimpleExport(1, tolerate=True)
    place.poison(0)
    place.run()
    done = place.newest.ranges[0]
    with pytest.raises(LogDamaged, match="reasons for 2 records, 1 rejected"):
        msgspec.structs.replace(done, refusals=(Refusal("VALUE_CONVERTER", "x", 2),)).check_accounting()


@pytest.mark.parametrize(
    ("tolerate", "stop"),
    [(False, Stop.BAD_RECORD), (True, Stop.TOO_MANY_BAD)],
)
def test_a_failed_range_says_what_kind_of_thing_stopped_it(tolerate: bool, stop: Stop) -> None:
    """A record that may not be skipped, or too many of them: what can be done about it differs."""
    place = SimpleExport(1, tolerate=tolerate)
    place.settings = replace(place.settings, dead_letters=DeadLetters(fraction_max=0.5))
    place.poison(0)
    place.run()
    assert [each.stop for each in place.newest.failed] == [stop]
    again = decode(LogEntry, "key", encode(place.newest))
    assert [each.stop for each in again.failed] == [stop]
