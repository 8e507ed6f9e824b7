"""kill -9 in the middle of a run, of each process that a run consists of.

In the middle: some objects are written, and the store stands still with requests on their way. After each death the
driver is gone before the next try begins, which finishes the plan; the objects are those of an undisturbed run.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.cli.command import call
from tests.faults.conftest import Make
from tests.faults.exports import Connector, Export
from tests.processes import below

pytestmark = pytest.mark.faults

RECORDS = 120_000
VICTIMS = ("driver", "worker", "jvm", "command")


@pytest.fixture(scope="module")
def undisturbed(make_connector: Make) -> Connector:
    """The connector whose run on Spark nobody disturbed."""
    connector = make_connector()
    connector.produce(RECORDS)
    run = connector.start("run", spark="local[2]")
    assert run.wait() == 0, run.said()
    return connector


@pytest.fixture
def connector(undisturbed: Connector, make_connector: Make) -> Iterator[Connector]:
    """Another connector over the same topic."""
    made = make_connector(undisturbed.topic)
    yield made
    made.store.resume()


def victim_of(run: Export, name: str) -> psutil.Process:
    match name:
        case "driver":
            return run.driver()
        case "worker":
            return run.workers()[0]
        case "jvm":
            return run.jvm()
        case _:
            return psutil.Process(run.process.pid)


@pytest.mark.parametrize("name", VICTIMS)
def test_a_killed_run_is_finished_by_the_next(connector: Connector, undisturbed: Connector, name: str) -> None:
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
    assert_readable(connector, "All is well")
    assert list(connector.temporary.iterdir()) == []
    assert sparks_files_elsewhere() <= before


def sparks_files_elsewhere() -> set[Path]:
    """What Spark would leave in the machine's own folder for temporary files."""
    names = ("spark-*", "blockmgr-*", "pyspark-*", "kafka-s3-spark-*")
    return {path for name in names for path in Path(tempfile.gettempdir()).glob(name)}


def assert_readable(connector: Connector, text: str) -> None:
    """`kafka-s3 status` says so to a person who was paged."""
    result = call("status", connector.config)
    assert text in result.output
    assert "Traceback" not in result.output
