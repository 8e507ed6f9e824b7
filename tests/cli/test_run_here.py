"""`kafka-s3 run` in one process, over the ports in memory: what it prints, and how Ctrl-C ends it."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from kafka_s3.adapters.watched import WatchedSource
from kafka_s3.cli import run as run_command
from kafka_s3.ports import RangeReader
from kafka_s3.ranges import OffsetRange, TopicPartition
from kafka_s3.records import RecordBatch
from tests.cli.command import PLAIN, call, write_properties
from tests.export.place import TOPIC, SimpleExport


class Bench:
    """A connector in memory, and every state of the bar."""

    def __init__(self, config: Path) -> None:
        self.config = config
        self.place = SimpleExport(2)
        self.states: list[run_command.Progress] = []
        self.open: Callable[[OffsetRange], RangeReader] = self.place.broker.open

    def run(self, *options: str) -> Result:
        return call("run", self.config, *options)

    def progress_bar(self, *_: object) -> Any:
        import contextlib

        return contextlib.nullcontext(self.states.append)


class _Source:
    """What a bench reads from: the broker in memory, or what a test puts in its place."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    def open(self, offsets: OffsetRange) -> RangeReader:
        return self.bench.open(offsets)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    write_properties(tmp_path / "worker.properties", {"bootstrap.servers": "127.0.0.1:9"})
    bench = Bench(write_properties(tmp_path / "orders.properties", PLAIN))
    monkeypatch.setattr(run_command, "make_exporter", lambda _: bench.place.exporter())
    monkeypatch.setattr("kafka_s3.wiring.make_store", lambda _: bench.place.store)
    monkeypatch.setattr("kafka_s3.wiring.make_source", lambda _: _Source(bench))
    monkeypatch.setattr(run_command, "progress_bar", bench.progress_bar)
    return bench


def test_json_is_all_that_stdout_has(bench: Bench) -> None:
    """One document: the entries, what was rejected, and every problem with its way out; the rest is on stderr."""
    bench.place.produce(0, 4)
    bench.place.poison(1)
    ended = bench.run("--until-now", "--json")
    found = json.loads(ended.stdout)
    assert ended.exit_code == 65
    assert (found["exit_status"], found["ok"]) == (65, False)
    assert [(each["seq"], each["records"], each["failed"]) for each in found["entries"]] == [(1, 4, 1)]
    (problem,) = found["problems"]
    assert "offset 0" in problem["problem"]
    assert "errors.tolerance=all" in problem["next"]
    assert str(bench.config) in problem["next"]
    assert "commit 1: 4 records" in ended.stderr


def test_json_of_a_run_that_is_refused(bench: Bench) -> None:
    """What stops a run is a problem in the document too, with the status that it ends with."""
    bench.place.store.overwrite(f"topics/{TOPIC}/x", b"")
    ended = bench.run("--until-now", "--json")
    found = json.loads(ended.stdout)
    assert ended.exit_code == found["exit_status"] == 65
    assert "kafka-s3 adopt" in found["problems"][0]["next"]
    assert found["entries"] == []


def test_json_counts_what_was_rejected(bench: Bench) -> None:
    """By topic, with the commonest stage and reason."""
    bench.place.settings = replace(bench.place.settings, tolerate_bad_records=True)
    for _ in range(3):
        bench.place.poison(0)
    call("run", bench.config, "--until-now")
    bench.place.poison(0)
    found = json.loads(_tolerant(bench).stdout)
    (rejected,) = found["rejected"]
    assert (rejected["topic"], rejected["rejected"], rejected["records"]) == (TOPIC, 1, 1)
    assert rejected["reasons"][0]["stage"] == "VALUE_CONVERTER"


def _tolerant(bench: Bench) -> Result:
    config = write_properties(bench.config, {**PLAIN, "errors.tolerance": "all"})
    return call("run", config, "--until-now", "--json")


def test_the_bar_comes_to_its_end(bench: Bench) -> None:
    """It counts the offsets of the open plan, and is full when all of them were read, holes included."""
    bench.place.produce(0, 5)
    bench.place.broker.append_holes(TOPIC, 0, 3)
    bench.place.produce(1, 4)
    assert bench.run("--until-now").exit_code == 0
    assert bench.states[0] == run_command.Progress(12, 0)
    assert bench.states[-1] == run_command.Progress(12, 12)


def test_nothing_new_names_the_way_to_what_is(bench: Bench) -> None:
    """A first run right after the first records: its interval is over before them, and --until-now takes them."""
    bench.place.produce(0, 2, at_ms=1_767_400_000_000)
    said = bench.run("--interval", "2026-01-01", "2026-01-02").stdout
    assert f"kafka-s3 run {bench.config} --until-now" in said
    assert "2026-01-02T00:00:00Z" in said


def test_ctrl_c_ends_with_130_and_a_sentence(bench: Bench) -> None:
    """No traceback, no "Aborted!": what stays, and which command goes on. No upload is left open."""
    bench.place.produce(0, 3)

    def interrupted(_: OffsetRange) -> RangeReader:
        raise KeyboardInterrupt

    bench.open = interrupted
    ended = bench.run("--until-now")
    assert ended.exit_code == 130
    assert "Interrupted. What was committed stays" in ended.stderr
    assert bench.place.store.uploads_open() == 0
    bench.open = bench.place.broker.open
    assert "commit 1: 3 records" in bench.run("--until-now").stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_output_that_goes_to_a_full_disk(bench: Bench) -> None:
    """A sentence on stderr, and status 1."""
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "kafka_s3.cli", "validate", str(bench.config)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.returncode == 1
    assert "cannot be: No space left on device." in ended.stderr
    assert "Traceback" not in ended.stderr


class _Endless:
    """A reader whose batches never end."""

    leader_epoch = None
    closed = False

    def __iter__(self) -> Iterator[RecordBatch]:
        place = SimpleExport(1)
        place.produce(0, 1)
        while True:
            yield from place.broker.open(OffsetRange(TopicPartition(TOPIC, 0), 0, 1))

    def close(self) -> None:
        self.closed = True

    def open(self, _: OffsetRange) -> RangeReader:
        return self


def test_threads_of_an_interrupted_run_end(bench: Bench) -> None:
    """Ctrl-C reaches the main thread alone: the others stop in front of their next batch."""
    stopped = threading.Event()
    reader = WatchedSource(_Endless(), lambda _: None, stopped).open(OffsetRange(TopicPartition(TOPIC, 0), 0, 9))
    batches = iter(reader)
    for _ in range(3):
        next(batches)
    stopped.set()
    with pytest.raises(KeyboardInterrupt):
        next(batches)
