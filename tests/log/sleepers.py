"""A log that is lost while programs sleep, and what is left of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from kafka_s3.adopt.adopt import adopt, look
from kafka_s3.adopt.decide import Basis, Choice
from kafka_s3.export.run import run
from kafka_s3.log.replay import newest_first
from kafka_s3.naming import LogLayout
from kafka_s3.ranges import TopicPartition
from tests.export.place import TOPIC, SimpleExport
from tests.support import hear, request

P0 = TopicPartition(TOPIC, 0)
PLAIN = LogLayout("_kafka_s3", TOPIC)
Lose = Callable[[str], bool]
LOG_ALONE: Lose = lambda key: "/log/" in key  # noqa: E731
FOLDER: Lose = lambda key: key.startswith(PLAIN.home)  # noqa: E731
EVERYTHING: Lose = lambda key: True  # noqa: E731


def lose(place: SimpleExport, which: Lose) -> None:
    for key in list(place.store.contents()):
        if which(key):
            place.store.delete(key)


def adopted(place: SimpleExport, at: int) -> None:
    """The lost log is begun anew, with partition 0 at a position."""
    found = look(place.exporter(), place.broker, Choice("g", Basis.AGREED, {P0: at}), lambda _: None)
    adopt(place.exporter(), found, request("adopt"))


def read(place: SimpleExport) -> list[int]:
    """The offsets that a reader of the log finds, as often as they are there."""
    taken = newest_first(committed.entry for committed in place.log.entries())
    return sorted(offset for each in taken for done in each.ranges for offset in range(done.start, done.next_offset))


class Asleep:
    """A store, for a program that falls asleep in front of a request, or one that is answered only after that."""

    def __init__(self, place: SimpleExport, operation: str, part: str) -> None:
        self._store, self._operation, self._part = place.store, operation, part
        self.asleep, self.wake = threading.Event(), threading.Event()

    def __getattr__(self, name: str) -> Any:
        inner = getattr(self._store, name)
        if name != self._operation:
            return inner

        def slow(key: str, *given: Any, **named: Any) -> Any:
            if self._part in key and not self.wake.is_set():
                self.asleep.set()
                assert self.wake.wait(60)
            return inner(key, *given, **named)

        return slow


def sleeper(
    stack: ExitStack, place: SimpleExport, operation: str, part: str, **what: Any
) -> Callable[[], Exception | None]:
    """A run that sleeps by now; to be called: it wakes, and what it ended with."""
    store = Asleep(place, operation, part)
    ended: list[Exception | None] = []

    def program() -> None:
        try:
            run(place.exporter(store), request("sleeper", **what), place._execute, hear(place.told))  # type: ignore[arg-type]
        except Exception as error:
            ended.append(error)
        else:
            ended.append(None)

    thread = threading.Thread(target=program)

    def wake() -> Exception | None:
        store.wake.set()
        thread.join(60)
        return ended[0]

    stack.callback(store.wake.set)
    thread.start()
    assert store.asleep.wait(60)
    return wake


def place_of(commits: int = 3) -> SimpleExport:
    place = SimpleExport(partitions=1)
    for number in range(commits):
        place.produce(0, 2)
        place.run(f"run-{number}")
    return place
