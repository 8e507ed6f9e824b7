"""Committed dead letters that no driver could send: `run --spark` sends them where nothing is new. All in memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import Result

from kafka_s3.adapters.memory import MemoryDeadLetters
from kafka_s3.cli import run as run_command
from kafka_s3.cli import spark_submit
from kafka_s3.errors import ConfigurationError, KafkaUnavailable
from kafka_s3.settings.connect import DeadLetters
from tests.cli.command import PLAIN, call, write_properties
from tests.export.place import TOPIC, SimpleExport


class Bench:
    """A connector whose driver died between its commit, which has two dead letters, and their report."""

    def __init__(self, config: Path) -> None:
        self.config = config
        self.place = SimpleExport(1, tolerate=True)
        self.sink = MemoryDeadLetters()
        self.drivers = 0
        self.place.settings = replace(self.place.settings, dead_letters=DeadLetters("dead"))
        self.place.poison(0)
        self.place.produce(0, 3)
        self.place.poison(0)
        self.place.run("dies")

    def submit(self, *_: object, is_quiet: bool = False) -> int:
        self.drivers += 1
        return 0

    def run(self) -> Result:
        return call("run", self.config, "--spark", "local[2]", "--until-now")

    def sent(self) -> list[int]:
        return [letter.offset for letter in self.sink.sent]

    def markers(self) -> list[str]:
        return [key for key in self.place.store.contents() if "/reported/" in key]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    write_properties(tmp_path / "worker.properties", {"bootstrap.servers": "127.0.0.1:9"})
    bench = Bench(write_properties(tmp_path / "orders.properties", PLAIN))
    monkeypatch.setattr(run_command, "make_exporter", lambda _: bench.place.exporter())
    monkeypatch.setattr(spark_submit, "submit", bench.submit)
    monkeypatch.setattr("kafka_s3.adapters.kafka.DeadLetterTopic", lambda _: bench.sink)
    monkeypatch.setattr(bench.sink, "close", lambda: None)
    return bench


def test_the_next_run_sends_them(bench: Bench) -> None:
    """No driver is started, and the letters are sent, once; from then on looking costs two LISTs."""
    ran = bench.run()
    assert (ran.exit_code, bench.drivers) == (0, 0)
    assert ran.stdout == "Nothing new.\ncommit 1: 2 dead letters sent to dead\n"
    assert bench.sent() == [0, 4]
    assert len(bench.markers()) == 1
    bench.place.store.requests.clear()
    assert bench.run().stdout == "Nothing new.\n"
    assert bench.sent() == [0, 4]
    assert [asked.operation for asked in bench.place.store.requests].count("ListObjectsV2") == 5, (
        "two find the log, one its head"
    )


def test_a_topic_that_refuses_them(bench: Bench) -> None:
    """Every run says so with the status that any other's is, until one succeeds; the letters wait for it."""
    for error, status in ((ConfigurationError("refused"), 78), (KafkaUnavailable("down"), 75)):
        bench.sink.fail_next(error)
        ran = bench.run()
        assert (ran.exit_code, ran.stderr.splitlines()[0]) == (status, error.what)
        assert bench.markers() == []
    assert bench.run().exit_code == 0
    assert bench.sent() == [0, 4]


def test_beside_what_cannot_be_exported(bench: Bench) -> None:
    """A topic that was created again leaves nothing to plan: the run fails because of it, and the letters are sent."""
    bench.place.broker.recreate_topic(TOPIC)
    ran = bench.run()
    assert (ran.exit_code, bench.drivers) == (65, 0)
    assert "was deleted and created again" in ran.stderr
    assert bench.sent() == [0, 4]


def test_where_something_is_new(bench: Bench) -> None:
    """They are left to the driver, which sends them after its own commit."""
    bench.place.produce(0, 1)
    assert (bench.run().exit_code, bench.drivers, bench.sent()) == (0, 1, [])


def test_a_connector_without_a_topic_for_them(bench: Bench) -> None:
    """Nothing is looked for, sent or written."""
    bench.place.settings = replace(bench.place.settings, dead_letters=DeadLetters())
    assert bench.run().stdout == "Nothing new.\n"
    assert (bench.sent(), bench.markers(), bench.place.operations("_kafka_s3/orders/reported/")) == ([], [], [])
