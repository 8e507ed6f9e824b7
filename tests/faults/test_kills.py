"""kill -9 in the middle of a run, of each process that a run consists of.

In the middle: some objects are written, and the store stands still with requests on their way. After each death the
driver is gone before the next try begins, which finishes the plan; the objects are those of an undisturbed run.
"""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import psutil
import pytest

from kafka_s3.crash_points import CrashPoint
from tests.cli.command import call
from tests.faults.conftest import Make
from tests.faults.exports import ExportProcess, KillableRun, stopping_at
from tests.faults.random_kills import Undisturbed, kill_many
from tests.processes import below

RECORDS = 120_000
VICTIMS = ("driver", "worker", "jvm", "command")
KILLS_IN_CI = 10
KILLS = int(os.environ.get("TORTURE_KILLS", "200"))
# One connector with many objects, and one whose objects take two parts each.
SHAPES: dict[str, dict[str, Any]] = {
    "many": {"flush_size": 150},
    "parts": {"flush_size": 10_000, "s3_part_size": "5242880", "s3_compression_type": "none"},
}


@pytest.fixture(scope="module")
def undisturbed(make_connector: Make) -> KillableRun:
    """The connector whose run on Spark nobody disturbed."""
    connector = make_connector()
    connector.produce(RECORDS)
    run = connector.start("run", spark="local[2]")
    assert run.wait() == 0, run.said()
    return connector


@pytest.fixture
def connector(undisturbed: KillableRun, make_connector: Make) -> Iterator[KillableRun]:
    """Another connector over the same topic."""
    made = make_connector(undisturbed.topic)
    yield made
    made.store.resume()


def victim_of(run: ExportProcess, name: str) -> psutil.Process:
    match name:
        case "driver":
            return run.driver()
        case "worker":
            return run.workers()[0]
        case "jvm":
            return run.jvm()
        case _:
            return psutil.Process(run.process.pid)


@pytest.mark.faults
@pytest.mark.parametrize("name", VICTIMS)
def test_a_killed_run_is_finished_by_the_next(connector: KillableRun, undisturbed: KillableRun, name: str) -> None:
    """Every record once, byte for byte as without the accident; no process and no file is left."""
    before = sparks_files_elsewhere()
    run = connector.start("run", spark="local[2]")
    connector.freeze_at(20, run)
    driver, everyone = run.driver(), below(run.process.pid)
    victim_of(run, name).kill()
    connector.store.resume()
    status = run.wait()
    _, alive = psutil.wait_procs(everyone, timeout=60)
    assert alive == []
    assert not driver.is_running()
    assert status != 0, run.said()
    assert [entry.kind for entry in connector.entries()] == ["checkpoint"]
    assert_readable(connector, "plan 1 of run run is open")

    again = connector.start("run", spark="local[2]")
    assert again.wait() == 0, again.said()
    assert connector.objects("topics/") == undisturbed.objects("topics/")
    assert [entry.kind for entry in connector.entries()] == ["checkpoint", "commit"]
    assert connector.verified() == RECORDS
    assert_readable(connector, "OK: ")
    assert list(connector.temporary.iterdir()) == []
    assert sparks_files_elsewhere() <= before


@pytest.mark.faults
def test_a_run_killed_while_it_tries_the_store_out(make_connector: Make) -> None:
    """The upload that it had open is no data's: the next run, which tries the store again, aborts it."""
    connector = make_connector()
    connector.produce(400)
    run = connector.start("run", environment=stopping_at(CrashPoint.PROBING_STORE))
    connector.stopped_at(CrashPoint.PROBING_STORE, run)
    run.process.kill()
    run.wait()
    assert len(connector.open_uploads()) == 1

    again = connector.start("run")
    assert again.wait() == 0, again.said()
    assert connector.open_uploads() == []
    assert connector.verified() == 400


@pytest.mark.faults
@pytest.mark.timeout(1800)
def test_kills_at_random_times(make_connector: Make) -> None:
    """Ten of those below, in CI."""
    assert_survived(KILLS_IN_CI, make_connector)


@pytest.mark.trial
@pytest.mark.timeout(4 * 3600)
def test_many_kills_at_random_times(make_connector: Make) -> None:
    """kill -9 of the driver, a Python worker, the JVM or the command, at times over the whole run, five times one after
    the other on the same connector: then one run leaves what an undisturbed one leaves, byte for byte, one commit,
    and no process, folder or upload besides. TORTURE_KILLS and TORTURE_SEED say how many and which."""
    assert_survived(KILLS, make_connector)


def assert_survived(kills: int, make_connector: Make) -> None:
    seed = int(os.environ.get("TORTURE_SEED", "0")) or random.SystemRandom().randrange(1, 10**9)
    before, began = sparks_files_elsewhere(), time.monotonic()
    first = make_connector()
    first.produce(RECORDS, words=100)

    def make(name: str) -> KillableRun:
        return make_connector(first.topic, **SHAPES[name])

    shapes = {name: Undisturbed.measure(lambda name=name: make(name), RECORDS) for name in SHAPES}
    for name, shape in shapes.items():
        click.echo(f"undisturbed ({name}): {len(shape.objects)} objects, {shape.seconds:.1f} s")
    assert any(len(body) > 5242880 for body in shapes["parts"].objects.values())
    tally = kill_many(kills, seed, shapes, make)
    click.echo(f"{tally}\nseed {seed}, {time.monotonic() - began:.0f} s")
    assert sparks_files_elsewhere() <= before


def sparks_files_elsewhere() -> set[Path]:
    """What Spark would leave in the machine's own folder for temporary files."""
    names = ("spark-*", "blockmgr-*", "pyspark-*", "kafka-s3-spark-*")
    return {path for name in names for path in Path(tempfile.gettempdir()).glob(name)}


def assert_readable(connector: KillableRun, text: str) -> None:
    """`kafka-s3 status` says so to a person who was paged."""
    result = call("status", connector.config)
    assert text in result.output
    assert "Traceback" not in result.output
