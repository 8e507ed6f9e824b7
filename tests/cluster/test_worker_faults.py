"""Two workers of one core, each with an executor of the export, and what may become of one of them: every record once.

The store stands still with requests on their way whenever something happens, so that it is in the middle of a range.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import psutil
import pytest

from kafka_s3.errors import EXIT_DONE, EXIT_TEMPORARY
from tests.faults import conftest, test_disks
from tests.faults.conftest import Make
from tests.faults.exports import ExportProcess, KillableRun, until
from tests.processes import below, command_of
from tools.parts.process import HOST
from tools.parts.spark import SparkCluster, SparkWorker
from tools.parts.toxiproxy import Toxiproxy

make_connector = conftest.make_connector
pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

RECORDS = 60_000
OTHER_HOST = "127.0.0.2"
#: Spark notices a silent executor in seconds, not in minutes.
QUICK = {
    "spark.network.timeout": "25s",
    "spark.network.timeoutInterval": "5s",
    "spark.executor.heartbeatInterval": "2s",
}


@pytest.fixture
def cluster() -> Iterator[SparkCluster]:
    with SparkCluster(workers=2, cores=1, memory="1g") as running:
        yield running


@pytest.fixture(scope="module")
def undisturbed(make_connector: Make) -> KillableRun:
    """What a run makes to which nothing happens."""
    connector = make_connector(**asking({}))
    connector.produce(RECORDS)
    run = connector.start("run")
    assert run.wait() == EXIT_DONE, run.said()
    return connector


@pytest.fixture
def connector(undisturbed: KillableRun, make_connector: Make) -> Iterator[KillableRun]:
    """Another over the same topic."""
    made = make_connector(undisturbed.topic, **asking(QUICK))
    yield made
    made.store.resume()


def asking(conf: Mapping[str, str], **more: str) -> dict[str, str]:
    return {
        f"export.spark.conf.{name}": value for name, value in {"spark.executor.memory": "512m", **conf}.items()
    } | more


def start(connector: KillableRun, run_id: str, cluster: SparkCluster) -> ExportProcess:
    return connector.start(run_id, spark=cluster.master_url, environment={"SPARK_LOCAL_IP": HOST})


def executors(worker: SparkWorker) -> list[psutil.Process]:
    """A worker's executor, its JVM first, and the processes of Python below it."""
    found = [each for each in below(worker.pid) if any("CoarseGrained" in word for word in command_of(each))]
    return [process for each in found for process in (each, *below(each.pid))]


def frozen(connector: KillableRun, cluster: SparkCluster, run_id: str = "run") -> ExportProcess:
    """A run on both workers, in its middle: the store is silent."""
    run = start(connector, run_id, cluster)
    connector.freeze_at(20, run)
    for worker in cluster.workers:
        until("an executor works", lambda worker=worker: len(executors(worker)) >= 3, run=run)
    return run


def assert_finished(
    connector: KillableRun, undisturbed: KillableRun, run: ExportProcess, cluster: SparkCluster
) -> None:
    """By the run itself, or by the next: the objects are those of an undisturbed one, and nothing else is there."""
    status = run.wait()
    assert status in (EXIT_DONE, EXIT_TEMPORARY), run.said()
    assert "Traceback" not in run.said()
    if status != EXIT_DONE:
        again = start(connector, "again", cluster)
        assert again.wait() == EXIT_DONE, again.said()
    assert_once(connector, undisturbed)


def assert_once(connector: KillableRun, undisturbed: KillableRun) -> None:
    assert connector.objects("topics/") == undisturbed.objects("topics/")
    assert [entry.kind for entry in connector.entries()] == ["checkpoint", "commit"]
    assert connector.open_uploads() == []
    assert connector.verified() == RECORDS


def test_a_killed_worker(connector: KillableRun, undisturbed: KillableRun, cluster: SparkCluster) -> None:
    """The worker and all that it started are gone at once, as its machine: the other one does its ranges."""
    run = frozen(connector, cluster)
    gone = cluster.workers[0]
    dying = executors(gone)
    gone.kill()
    for process in dying:
        process.kill()
    connector.store.resume()
    assert run.wait() == EXIT_DONE, run.said()
    assert_once(connector, undisturbed)


def test_a_killed_executor_is_repeated(connector: KillableRun, undisturbed: KillableRun, cluster: SparkCluster) -> None:
    """Python's process of one, and the JVM of the other: Spark tries their tasks again, and the run is well."""
    run = frozen(connector, cluster)
    python = executors(cluster.workers[0])[-1]
    assert "pyspark.daemon" in command_of(python)
    python.kill()
    executors(cluster.workers[1])[0].kill()
    connector.store.resume()
    assert run.wait() == EXIT_DONE, run.said()
    assert_once(connector, undisturbed)


def test_an_executor_that_nobody_hears(connector: KillableRun, undisturbed: KillableRun, cluster: SparkCluster) -> None:
    """It stands still, as behind a network that is lost, until the run has gone on without it; what it does when it
    wakes changes nothing."""
    run = frozen(connector, cluster)
    sleepers = executors(cluster.workers[0])
    for process in sleepers:
        process.suspend()
    connector.store.resume()
    try:
        assert_finished(connector, undisturbed, run, cluster)
    finally:
        wake(sleepers)
    psutil.wait_procs(sleepers, timeout=60)
    assert_once(connector, undisturbed)


def test_executors_outlive_their_driver(
    connector: KillableRun, undisturbed: KillableRun, cluster: SparkCluster
) -> None:
    """Driver and command are killed while a whole machine stands still, so that nobody ends its executor. The next run
    exports on the other one; then the machine wakes, and its executor goes on with what it had begun."""
    run = frozen(connector, cluster)
    worker = cluster.workers[0]
    sleepers = [psutil.Process(worker.pid), *executors(worker)]
    for process in sleepers:
        process.suspend()
    for process in run.everyone():
        process.kill()
    run.wait()
    connector.store.resume()
    try:
        again = start(connector, "again", cluster)
        assert again.wait() == EXIT_DONE, again.said()
        assert_once(connector, undisturbed)
    finally:
        wake(sleepers)
    psutil.wait_procs(sleepers[1:], timeout=60)
    assert_once(connector, undisturbed)


def test_a_network_that_is_lost(undisturbed: KillableRun, make_connector: Make, cluster: SparkCluster) -> None:
    """Between both workers, the driver and the store: the run ends with 75 in a sentence, the next one finishes."""
    with Toxiproxy() as toxiproxy:
        proxy = toxiproxy.proxy(undisturbed.store.endpoint_url.removeprefix("http://"))
        more = {"store.url": f"http://{proxy.address}", "s3.part.retries": "1"}
        connector = make_connector(undisturbed.topic, **asking(QUICK, **more))
        run = frozen(connector, cluster)
        proxy.cut()
        connector.store.resume()
        assert run.wait() == EXIT_TEMPORARY, run.said()
        assert "Traceback" not in run.said()
        proxy.mend()
        again = start(connector, "again", cluster)
        assert again.wait() == EXIT_DONE, again.said()
        assert_once(connector, undisturbed)


class OtherHost(SparkWorker):
    """A worker of another host, as far as Spark can tell: it speculates on no host that has the task already."""

    def _launch(self, command: Sequence[str | Path], environment: Mapping[str, str]) -> None:
        there = [OTHER_HOST if word == HOST else word for word in command]
        super()._launch(there, {**environment, "SPARK_LOCAL_IP": OTHER_HOST})


@pytest.fixture
def two_hosts() -> Iterator[SparkCluster]:
    with SparkCluster(workers=1, cores=1, memory="1g") as running:
        running.workers.append(OtherHost(running.master, 1, "1g", {}))
        until("both are there", lambda: running.master.alive_workers() == 2)
        yield running


def pythons(cluster: SparkCluster) -> list[psutil.Process]:
    """The daemon and the process of each executor that works."""
    found = [process for worker in cluster.workers for process in executors(worker)]
    return [process for process in found if "pyspark.daemon" in command_of(process)]


def test_two_attempts_at_one_task(undisturbed: KillableRun, make_connector: Make, two_hosts: SparkCluster) -> None:
    """With speculation Spark starts a slow task a second time on the other worker, and both write the same objects."""
    conf = {"spark.speculation": "true", "spark.speculation.task.duration.threshold": "1s", "spark.cores.max": "2"}
    events = undisturbed.folder / "events"
    events.mkdir()
    conf |= {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.eventLog.compress": "false",
    }
    conf |= {"spark.eventLog.rolling.enabled": "false"}
    connector = make_connector(undisturbed.topic, **asking(conf, **{"tasks.max": "1"}))
    run = start(connector, "run", two_hosts)
    connector.freeze_at(20, run)
    try:
        until("both executors have a process of Python", lambda: len(pythons(two_hosts)) >= 4, run=run)
    finally:
        connector.store.resume()
    assert_finished(connector, undisturbed, run, two_hosts)
    assert any(task["Speculative"] for task in started(events))


def started(events: Path) -> list[dict[str, object]]:
    """The tasks that Spark's event log says were started."""
    lines = (line for path in events.iterdir() for line in path.read_text().splitlines(keepends=True))
    found = [json.loads(line) for line in lines if line.endswith("\n")]
    return [each["Task Info"] for each in found if each["Event"] == "SparkListenerTaskStart"]


class CrampedWorker(SparkWorker):
    """A worker whose disk, where its executors have theirs, is of a few kilobytes."""

    def _launch(self, command: Sequence[str | Path], environment: Mapping[str, str]) -> None:
        super()._launch([*test_disks.on_a_disk_of(self.folder, "size=16k,nr_inodes=4"), *command], environment)


def test_a_worker_without_room(connector: KillableRun, undisturbed: KillableRun) -> None:
    """No executor can start on the one whose disk is full; the other one exports, in this run or the next."""
    with SparkCluster(workers=1, cores=1, memory="1g") as cluster, CrampedWorker(cluster.master, 1, "1g", {}):
        until("both are there", lambda: cluster.master.alive_workers() == 2)
        run = start(connector, "run", cluster)
        assert_finished(connector, undisturbed, run, cluster)


def wake(sleepers: list[psutil.Process]) -> None:
    for process in sleepers:
        if process.is_running():
            process.resume()
