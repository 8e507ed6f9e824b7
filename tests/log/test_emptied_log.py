"""A log that was emptied while its claim stayed: what a program that slept writes into it is gone on from by nobody."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

import pytest

from kafka_s3.errors import LogDamaged, LogEmptied
from kafka_s3.gc.gc import collect
from kafka_s3.publish.announce import announcement
from kafka_s3.report.status import problems
from kafka_s3.rewind.rewind import look as look_back
from kafka_s3.verify.verify import verify
from tests.export.place import SimpleExport
from tests.log.sleepers import LOG_ALONE, P0, Lose, adopted, lose, place_of, read, sleeper


def emptied(place: SimpleExport, stack: ExitStack, which: Lose = LOG_ALONE) -> Exception | None:
    """What a run ends with that slept in front of its commit while entries were deleted and the claim stayed."""
    place.settings = replace(place.settings, limits=replace(place.settings.limits, batch_records_max=1))
    place.produce(0, 2)
    wake = sleeper(stack, place, "put_if_absent", "/log/")
    lose(place, which)
    return wake()


@pytest.mark.parametrize("which", [LOG_ALONE, lambda key: "/log/" in key or "/plan/" in key], ids=["log", "plans too"])
def test_nothing_goes_on_from_what_a_sleeper_wrote(which: Lose) -> None:
    """Only the claim is left: the one entry of a run that was asleep is in the connector's log, and is the last. That
    run, the next one, `gc` and `status` say that the entry before is gone, and `verify` names it."""
    place = place_of()
    with ExitStack() as stack:
        ended = emptied(place, stack, which)
    assert isinstance(ended, LogEmptied)
    assert [info.key for info in place.store.list(place.log.layout.log_prefix)] == [place.log.layout.log_key(4)]
    before = place.store.contents()
    for refused in (
        lambda: place.run("next"),
        lambda: look_back(place.exporter(), {P0: 0}),
        lambda: announcement(place.log, "bucket", lambda _: True),
        lambda: list(place.log.entries()),
    ):
        with pytest.raises(LogEmptied, match="Log entry 4 of connector orders .run sleeper."):
            refused()
    with pytest.raises(LogDamaged, match="Nothing was deleted"):
        collect(place.settings, place.log, parallel=1)
    [said] = problems(place.settings, place.log, lambda: place.broker)
    assert "kafka-s3 adopt" in str(said)
    findings = verify(place.settings, place.log, None, tell=lambda _: None).findings
    assert any(place.log.layout.log_key(3) in finding.where for finding in findings)
    assert place.store.contents() == before


def test_two_that_slept_in_front_of_entries_in_a_row() -> None:
    """Both write their entry, and the second finds one before its own: it stops all the same, and so does every later
    run, since entries before those are gone."""
    place = place_of()
    with ExitStack() as stack:
        place.produce(0, 1)
        first = sleeper(stack, place, "put_if_absent", "/log/")
        assert place.run("other").exit_status == 0  # finishes what the first one planned
        place.produce(0, 1)
        second = sleeper(stack, place, "put_if_absent", "/log/")
        lose(place, LOG_ALONE)
        assert isinstance(first(), LogEmptied)
        assert isinstance(second(), LogEmptied)
    entries = [info.key for info in place.store.list(place.log.layout.log_prefix)]
    assert entries == [place.log.layout.log_key(5), place.log.layout.log_key(4)]
    for _ in range(2):
        with pytest.raises(LogEmptied, match="Log entry 5 .* is not"):
            place.run("next")


def test_an_emptied_log_is_adopted() -> None:
    """A sleeper's entry is no log to keep: adopt begins a new one behind its objects, and nothing is there twice."""
    place = place_of()
    with ExitStack() as stack:
        emptied(place, stack)
    adopted(place, 7)
    assert place.run("next").exit_status == 0
    assert read(place) == [7]
    assert place.offsets_in_bucket(0) == list(range(8))
    assert verify(place.settings, place.log, None, tell=lambda _: None).findings == ()


def test_a_log_whose_last_entry_alone_was_deleted() -> None:
    """A run that read it still writes the next one, and that is the last, too."""
    place = place_of()
    newest = place.log.layout.log_key(place.newest.seq)
    with ExitStack() as stack:
        ended = emptied(place, stack, lambda key: key == newest)
    assert isinstance(ended, LogEmptied)
    with pytest.raises(LogEmptied, match=newest):
        place.run("next")
