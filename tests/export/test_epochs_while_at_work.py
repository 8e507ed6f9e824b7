"""A log that is begun anew while a program is at work, and stays where it was: each look at the claims is needed.

Here nothing of the old log is deleted but its claim, so that all that the program reads and writes there is as it was:
only the claims tell it that it is nobody's log any more (`Log.check_current`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kafka_s3.adapters.memory import MemoryStore
from kafka_s3.errors import EXIT_DONE, Fenced
from kafka_s3.export.exporter import Exporter
from kafka_s3.export.run import run
from kafka_s3.rewind.rewind import accept_by_hand, rewind
from kafka_s3.rewind.rewind import look as look_back
from tests.export.overtaken import Overtaken
from tests.export.place import SimpleExport
from tests.log.sleepers import P0, PLAIN, adopted, lose, place_of
from tests.support import hear, request


def begin_anew(place: SimpleExport) -> None:
    """Somebody deletes the claim, and adopts what is there."""
    lose(place, lambda key: key.startswith(PLAIN.epoch_prefix))
    adopted(place, 6)


def overtaken_store(place: SimpleExport, method: str, part: str, happens: Callable[[], None]) -> Any:
    """A store to whose user something happens in front of its first request of a kind for some keys."""

    class Store:
        done = False

        def __getattr__(self, name: str) -> Any:
            inner = getattr(place.store, name)
            if name != method:
                return inner

            def call(key: str, *given: Any, **named: Any) -> Any:
                if part in key and not self.done:
                    self.done = True
                    happens()
                return inner(key, *given, **named)

            return call

    return Store()


def test_a_run_that_commits_into_an_older_log_does_not_end_well() -> None:
    """Its last batch is committed, and its entry follows all that it knew: the run is fenced, not done, and has not
    looked at Kafka for more."""
    place = place_of()
    place.produce(0, 2)
    store = overtaken_store(place, "put_if_absent", "/log/", lambda: begin_anew(place))
    told: list[str] = []
    with pytest.raises(Fenced, match="run adopt has begun another since"):
        run(place.exporter(store), request("late"), place._execute, hear(told))
    assert told[-1] == "commit 4: 2 records"
    place.run("next")
    assert place.positions() == {0: 8}


def test_nothing_is_planned_in_an_older_log() -> None:
    """A run has committed a batch of several when its log is another's: it writes nothing more there."""
    place = place_of()
    place.produce(0, 2)
    place.settings = replace(place.settings, limits=replace(place.settings.limits, batch_records_max=1))
    old = place.log.layout
    store = overtaken_store(place, "put_if_absent", "/log/", lambda: begin_anew(place))
    with pytest.raises(Fenced, match="run adopt has begun another since"):
        run(place.exporter(store), request("late"), place._execute, lambda _: None)
    assert list(place.store.list(old.plan_key(4)))
    assert not list(place.store.list(old.plan_key(5)))


def test_an_idle_run_in_an_older_log_does_not_end_well() -> None:
    """By the log that it found all is exported; by the one that is the connector's now it need not be."""
    place = place_of()
    broker: Any = Overtaken(place.broker, "offsets", lambda: begin_anew(place))
    with pytest.raises(Fenced, match="run adopt has begun another since"):
        run(Exporter(place.settings, place.store, broker), request("late"), place._execute, lambda _: None)
    assert place.run("next").exit_status == EXIT_DONE
    assert place.positions() == {0: 6}


def test_a_rewind_into_an_older_log_is_not_told_as_done() -> None:
    """It is written where nobody reads."""
    place = place_of()
    found = look_back(place.exporter(), {P0: 0})
    begin_anew(place)
    with pytest.raises(Fenced, match="run adopt has begun another since"):
        rewind(place.exporter(), found, request("back"))
    assert place.positions() == {0: 6}


def test_an_acceptance_into_an_older_log_is_not_told_as_done() -> None:
    """It is written where nobody reads."""
    place = place_of()
    place.broker.truncate("orders", 0, 4)
    place.produce(0, 3)

    def happens() -> None:
        lose(place, lambda key: key.startswith(PLAIN.epoch_prefix))
        adopted(place, 6)

    store = overtaken_store(place, "put_if_absent", "/log/", happens)
    with pytest.raises(Fenced, match="run adopt has begun another since"):
        accept_by_hand(place.exporter(store), ["orders-0"], request("accept"), lambda _: None)
    assert place.positions() == {0: 6}


def test_an_upload_of_an_older_log_is_left_alone() -> None:
    """A driver has committed objects in parts, and looks for what killed tasks of it left open under their keys: by
    then another program may be at work there."""
    place = SimpleExport(partitions=1, store=MemoryStore(part_bytes_min=1), flush_size=1000, part_size=64)
    place.produce(0, 6)
    place.run("first")
    place.produce(0, 8)

    def happens() -> None:
        key = max(place.data())
        place.store.start_multipart(key)
        begin_anew(place)

    store = overtaken_store(place, "uploads", "topics/", happens)
    with pytest.raises(Fenced):
        run(place.exporter(store), request("late"), place._execute, hear(place.told))
    assert place.store.uploads_open() == 1
