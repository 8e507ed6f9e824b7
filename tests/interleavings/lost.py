"""Histories in which a log is lost while its programs sleep, and adopted: whoever wakes is of the log before.

The bucket lists each record once then: in an object that was adopted, or in one of the new log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from kafka_s3.adopt.adopt import adopt, look
from kafka_s3.adopt.decide import Choice
from kafka_s3.errors import ExporterError
from kafka_s3.export.exporter import Exporter
from kafka_s3.log.entries import Kind
from kafka_s3.plan.batch import RunRequest
from kafka_s3.ranges import TopicPartition
from tests.interleavings import programs
from tests.interleavings.book import HOME, Book, Violation
from tests.interleavings.harness import BASE, InterleavedExport
from tests.interleavings.history import History
from tests.interleavings.programs import ProgramRun
from tests.interleavings.quiet_moments import exporter_of, run_all
from tests.scenario.ledger import LOG, log_in, name_of
from tests.support import rows_of


def adopt_log(world: InterleavedExport) -> programs.Body:
    """`kafka-s3 adopt --yes`."""
    return lambda _: _adopt(programs.exporter_of(world), world)


def _adopt(exporter: Exporter, world: InterleavedExport) -> str:
    found = look(exporter, exporter.broker, Choice("connect-orders"), lambda _: None)  # type: ignore[arg-type]
    if not found.is_settled:
        return "disputes"
    adopt(exporter, found, RunRequest(world.name("adopted by"), 1, None, world.clock_ms))
    return "adopted"


@dataclass
class Emptied(Book):
    """The log after the one of a claim that stayed, and whose folder was emptied: in that, each program that slept
    writes an entry at most, and nothing follows."""

    of: str = ""
    sleepers: int = 0

    def read(self, contents: Mapping[str, bytes], deleted: set[str]) -> None:
        late = {key for key in contents if key.startswith(f"{LOG.name}{self.of}/")}
        if len(late) > self.sleepers:
            raise Violation("emptied", f"somebody went on behind what sleepers wrote into an emptied log: {late}")
        super().read({key: body for key, body in contents.items() if key not in late}, deleted)


@dataclass
class LostLog(History):
    """`adopted`: the records of the objects that the new log goes on from. `early`: whether a program that saw an empty
    bucket, before the first entry of all, was still asleep when the log was lost. It may begin a log at the first
    offsets, as what it saw asks for (docs/protocol.md#epochs): then nothing is held to be adopted."""

    is_lost: bool = False
    early: bool = False
    adopted: Counter[int] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.wild, self.world.part_size = 0.0, 10**6
        self.world.rules.left_out = frozenset({"verify", "status", "page"})  # of a log that is not there
        self.world.told = lambda actor, events: None  # type: ignore[method-assign]  # seqs of two logs are told

    def _configuration(self) -> dict[str, str]:
        return {**BASE, "export.batch.records.max": self.chance.choice(["4", "9", "100"])}

    def _move(self) -> None:
        super()._move()
        self._see_adopted()

    def _check_quiet(self) -> None:
        """Nothing that is said of a log that is lost is looked at here."""

    def _somebody(self) -> None:
        world = self.world
        if not self.is_lost:
            if world.book.live and world.scheduler.steps > self.length // 3:
                self._lose()
            return
        what = self.chance.choice(["run", "adopt"])
        name = world.name(what)
        if what == "adopt":
            world.start(name, adopt_log(world))
        else:
            world.start(name, programs.run_here(world, ProgramRun(name, None)), ProgramRun(name, None))

    def _lose(self) -> None:
        """Owners and data stay; marks may, too. Where the claim does, a sleeper commits into the emptied log."""
        world = self.world
        folders = self.chance.choice([("",), ("log/", "plan/", "epoch/"), ("log/", "plan/"), ("log/",)])
        old = log_in(world.bucket.contents()).epoch
        for key in list(world.bucket.objects):
            if key.startswith(tuple(HOME + folder for folder in folders)):
                del world.bucket.objects[key]
        world.bucket.deleted.clear()
        world.rules.changes.clear()
        self.early = any(world.heads.get(actor.name) == -1 for actor in world.scheduler.actors)
        has_claim = any(key.startswith(LOG.epoch_prefix) for key in world.bucket.objects)
        sleepers = sum(actor.parent is None for actor in world.scheduler.actors)
        emptied = old if has_claim else "nothing"
        world.rules.book = Emptied(world.truth, sides=False, of=emptied, sleepers=sleepers)
        world.rules.windows.book = world.rules.book
        self.is_lost = True
        world.scheduler.trace.say("(somebody)", f"loses {folders} of the log")

    def _see_adopted(self) -> None:
        """At the first entry of the new log: which objects it goes on from."""
        book = self.world.book
        if not self.is_lost or self.adopted is not None or book.head is None:
            return
        if book.head.seq == 0 and book.head.kind is not Kind.ADOPT:
            if self.early:
                self.world.reached["begun anew by who saw nothing"] += 1
                return
            raise Violation("adopt", f"a lost log begins again with a {book.head.kind}")
        self.adopted, positions = Counter(), book.states[0].positions
        for key, body in self.world.bucket.contents().items():
            name = name_of(key)
            if name is not None and name.start_offset < positions.get(TopicPartition(name.topic, name.partition), 0):
                self.adopted.update(row["u"] for row in rows_of(body, key))
        self.world.reached["a lost log adopted"] += 1

    def _end(self) -> None:
        world = self.world
        self._wake_all()
        exporter = exporter_of(world)
        if self.is_lost and self.adopted is None:
            try:
                _adopt(exporter, world)
            except ExporterError as error:
                world.scheduler.trace.say("(end)", str(error))
            world.rules.check()
            self._see_adopted()
        if self.adopted is None:
            world.reached["nothing adopted"] += 1
            return
        for number in range(2):
            problems = run_all(world, exporter, f"last {number}")
            world.rules.check()
        if problems:
            raise Violation("adopt", f"an undisturbed run after an adoption ends with {problems}")
        held = self.adopted + Counter(list(world.book.live))
        twice = sorted(number for number, count in held.items() if count > 1)
        missing = [fact for fact in world.truth.facts if fact.number not in held and fact.sort.value == "plain"]
        if twice or missing:
            raise Violation("adopt", f"after an adoption these are held twice: {twice}, and these never: {missing}")
