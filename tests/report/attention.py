"""An export that things happen to, and what each place that speaks of its health says of it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kafka_s3.adapters.memory import MemoryBroker, MemoryDeadLetters
from kafka_s3.dead_letters.delivery import report
from kafka_s3.errors import ExporterError, KafkaUnavailable
from kafka_s3.export.diagnosis import JUDGED_ENTRIES, Said, of_log, said
from kafka_s3.export.exporter import Exporter
from kafka_s3.export.run_report import RunReport
from kafka_s3.log.documents import encode
from kafka_s3.log.entries import Owner
from kafka_s3.ports import Broker, PartitionOffsets
from kafka_s3.ranges import TopicPartition
from kafka_s3.report.health import Health, look
from kafka_s3.report.status import problems
from kafka_s3.settings.connect import DeadLetters
from kafka_s3.settings.run import Policies
from tests.export.place import TOPIC, SimpleExport

CONFIG = "/connectors/orders.properties"
NOW_MS = 10**12
_OTHER = Owner(connector="another", log="_kafka_s3/another/log/")


@dataclass(frozen=True)
class Shown:
    """What one place says: whether all is in order, and its text."""

    is_ok: bool
    text: str


@dataclass
class Patient:
    """One connector. `OPERATIONS` names what may happen to it."""

    place: SimpleExport = field(default_factory=SimpleExport)
    kafka_is_up: bool = True
    letters_arrive: bool = True
    runs: int = 0

    # What happens.

    def produce(self) -> None:
        self._in_kafka(lambda: self.place.produce(0, 2))

    def poison(self) -> None:
        self._in_kafka(lambda: self.place.poison(1))

    def _in_kafka(self, produce: Callable[[], None]) -> None:
        if TOPIC in self.place.broker.topics() and not self._leaderless():
            produce()

    def _leaderless(self) -> bool:
        return bool(self.place.broker.topics()[TOPIC].leaderless)

    def tolerate(self) -> None:
        letters = DeadLetters(topic="dead", fraction_attention=0.5)
        self.place.settings = replace(self.place.settings, tolerate_bad_records=True, dead_letters=letters)

    def allow_loss(self) -> None:
        self.place.settings = replace(self.place.settings, policies=Policies(True, True))

    def allow_restart(self) -> None:
        self.place.settings = replace(self.place.settings, policies=Policies(restart_recreated=True))

    def rename(self) -> None:
        self.place.settings = replace(self.place.settings, name="renamed")

    def lose_log(self) -> None:
        self._delete("/log/", "/epoch/")

    def lose_log_and_plans(self) -> None:
        self._delete("/log/", "/epoch/", "/plan/")

    def lose_everything_but_data(self) -> None:
        self._delete("_kafka_s3/")

    def _delete(self, *parts: str) -> None:
        for key in list(self.place.store.contents()):
            if any(part in key for part in parts):
                self.place.store.delete(key)

    def another_owner(self) -> None:
        key = self.place.log.layout.owner_key(self.place.settings.layout.topics_dir, TOPIC)
        self.place.store.overwrite(key, encode(_OTHER))

    def foreign_object(self) -> None:
        self.place.store.overwrite(f"topics/{TOPIC}/partition=0/{TOPIC}+0+0000000000.json", b"{}\n")

    def delete_topic(self) -> None:
        if TOPIC in self.place.broker.topics():
            self.place.broker.delete_topic(TOPIC)

    def recreate_topic(self) -> None:
        if TOPIC in self.place.broker.topics():
            self.place.broker.recreate_topic(TOPIC)
        else:
            self.place.broker.create_topic(TOPIC, 2)

    def retention(self) -> None:
        self._in_kafka(lambda: self.place.broker.set_log_start(TOPIC, 0, self._end() + 1))

    def truncate(self) -> None:
        """As Kafka does it, never below where the log starts."""
        self._in_kafka(lambda: self.place.broker.truncate(TOPIC, 0, max(self._bounds().log_start, self._end() - 1)))

    def _bounds(self) -> PartitionOffsets:
        tp = TopicPartition(TOPIC, 0)
        return self.place.broker.offsets([tp])[tp]

    def _end(self) -> int:
        return self._bounds().high_watermark

    def lose_leader(self) -> None:
        if TOPIC in self.place.broker.topics():
            self.place.broker.lead(TOPIC, 1, up=False)

    def find_leader(self) -> None:
        if TOPIC in self.place.broker.topics():
            self.place.broker.lead(TOPIC, 1, up=True)

    def by_pattern(self) -> None:
        """The topics of a pattern that matches none."""
        self.place.settings = replace(self.place.settings, topics=(), topics_regex="nothing-.*")
        self.place.broker._names, self.place.broker._regex = None, "nothing-.*"

    def name_another(self) -> None:
        """A topic that is configured, and not there."""
        self.place.settings = replace(self.place.settings, topics=(TOPIC, "ordres"))

    def kafka_down(self) -> None:
        self.kafka_is_up = False

    def kafka_up(self) -> None:
        self.kafka_is_up = True

    def refuse_letters(self) -> None:
        self.letters_arrive = False

    def take_letters(self) -> None:
        self.letters_arrive = True

    # What a run does.

    def run(self) -> tuple[RunReport | None, ExporterError | None]:
        """As `kafka-s3 run`: what it reports, and what stops it, also when it sends dead letters."""
        self.runs += 1
        ended: RunReport | None = None
        try:
            self._broker()
            ended = self.place.run(f"run-{self.runs}")
            if self.place.settings.dead_letters.topic is not None:
                sink = MemoryDeadLetters()
                if not self.letters_arrive:
                    sink.fail_next(KafkaUnavailable("The topic of dead letters does not answer."))
                report(self._exporter(), sink, lambda _: None)
        except ExporterError as error:
            return ended, error
        return ended, None

    def _exporter(self) -> Exporter:
        return self.place.exporter()

    def _broker(self) -> Broker:
        if not self.kafka_is_up:
            raise KafkaUnavailable("No broker answered.", next="Check bootstrap.servers.")
        made: MemoryBroker = self.place.broker
        return made

    # What is said of it.

    def health(self) -> Health:
        return look(self.place.settings, self.place.log, self._broker, at_ms=NOW_MS, entries_max=10)

    def said(self) -> list[Said]:
        return [said(each, CONFIG) for each in self.health().status.problems]

    def shown(self) -> dict[str, Shown]:
        """By place, what it says."""
        return {"status": self._status(), "verify": self._verify(), "page": self._page(), "metrics": self._metrics()}

    def _status(self) -> Shown:
        from kafka_s3.cli.status import show

        health = self.health()
        return Shown(health.status.is_ok, printed(lambda: show(health, Path(CONFIG), "s3://b/log/", Policies())))

    def _verify(self) -> Shown:
        found = problems(self.place.settings, self.place.log, self._broker)
        from kafka_s3.cli.problems import print_problem

        return Shown(not found, printed(lambda: [print_problem(each, Path(CONFIG)) for each in found]))

    def page_detail(self) -> dict[str, Any]:
        """As the observer puts it together."""
        from kafka_s3_airflow.page import views
        from kafka_s3_airflow.page.background_answers import Answer
        from kafka_s3_airflow.page.model import AirflowFacts, Connector, LogView

        connector = Connector("orders", "orders", Path(CONFIG), (TOPIC,), None, "@hourly", ())
        head, health = self.place.log.newest(), self.health()
        newest = list(itertools.islice(self.place.log.entries(), JUDGED_ENTRIES))
        found = tuple(of_log(self.place.settings, self.place.log, newest))
        log = Answer(LogView("b", "s3://b/log/", head, None, (), found), at_ms=NOW_MS, asked_ms=None)
        silent = health.status.kafka_error if health.status.is_kafka_silent else None
        kafka = Answer(None if silent else health, at_ms=NOW_MS, asked_ms=None, error=silent)
        return views.detail(connector, log, kafka, AirflowFacts(), NOW_MS)

    def _page(self) -> Shown:
        found = self.page_detail()
        return Shown(found["state"] in ("ok", "never_ran", "late"), "\n".join(found["why"]))

    def _metrics(self) -> Shown:
        """Metrics have no sentences: the state, and how many problems there are."""
        from kafka_s3_airflow.metrics import Seen, text

        health = self.health()
        lines = text([Seen("orders", health, not health.status.is_kafka_silent, True)]).decode()
        states = ("failed", "kafka_down")
        wrong = [f'kafka_s3_state{{connector="orders",state="{state}"}} 1.0' in lines for state in states]
        assert f'kafka_s3_problems{{connector="orders"}} {len(health.status.problems)}.0' in lines
        return Shown(not any(wrong), lines)


OPERATIONS: tuple[Callable[[Patient], None], ...] = tuple(
    value
    for name, value in vars(Patient).items()
    if callable(value) and not name.startswith("_") and name not in ("run", "health", "said", "shown", "page_detail")
)


def printed(show: Callable[[], object]) -> str:
    import click
    from click.testing import CliRunner

    @click.command()
    def command() -> None:
        show()

    return CliRunner().invoke(command, catch_exceptions=False).output
