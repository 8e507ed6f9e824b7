"""Spark from the pyspark wheel, on 127.0.0.1: a standalone cluster of a Master and Workers, a Spark Connect server."""

import functools
import json
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tools.parts.cache import cached
from tools.parts.class_data import ARCHIVE, DUMP_TIMEOUT_S, dump_to, identity, shared
from tools.parts.errors import PartError
from tools.parts.jars import pyspark_folder
from tools.parts.java import BRIEF, find_java
from tools.parts.process import HOST, Part, ReservedPort, UntilStopped, child_environment

START_TIMEOUT_S = 120
MASTER_CLASS: Final = "org.apache.spark.deploy.master.Master"
CONNECT_CLASS: Final = "org.apache.spark.sql.connect.service.SparkConnectServer"
WORKER_CLASS: Final = "org.apache.spark.deploy.worker.Worker"

_PROGRAM = """
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
assert spark.sparkContext.parallelize(range(4), 2).map(lambda number: number + 1).sum() == 10
spark.stop()
"""


class SparkDaemon(Part):
    """One of Spark's own processes, with a page that tells its state as JSON. `command` is what it was started with.

    SPARK_HOME of its environment is another Spark than that of this Python.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__()
        self._web_port = ReservedPort()
        self.command: list[str] = []

    def stop(self) -> None:
        """End the process and remove its folder; harmless when repeated."""
        super().stop()
        self._web_port.close()

    @property
    def web_url(self) -> str:
        """Where the process tells its state: a page, and /json/."""
        return f"http://{HOST}:{self._web_port.number}"

    def state(self) -> dict[str, Any]:
        """What /json/ says; empty while nothing answers."""
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with direct.open(f"{self.web_url}/json/", timeout=5) as answer:
                return dict(json.load(answer))
        except (urllib.error.URLError, OSError, ValueError):
            return {}

    def _launch_class(self, name: str, *arguments: str, environment: Mapping[str, str]) -> None:
        home = Path(environment.get("SPARK_HOME") or pyspark_folder())
        own = child_environment(
            SPARK_HOME=str(home),
            JAVA_HOME=str(find_java().home),
            SPARK_LOCAL_IP=HOST,
            SPARK_LOCAL_DIRS=str(self.folder),
            # Neither is busy, and a test's cluster lives for a minute.
            SPARK_DAEMON_JAVA_OPTS=shlex.join(BRIEF),
        )
        web = ("--webui-port", str(self._web_port.number))
        self.command = [str(home / "bin" / "spark-class"), name, "--host", HOST, *web, *arguments]
        self._launch(self.command, {**own, **environment})


class SparkMaster(SparkDaemon):
    """A Master that answers when the constructor returns."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        super().__init__("standalone-master")
        self._port = ReservedPort()
        self.url = f"spark://{HOST}:{self._port.number}"
        try:
            self._launch_class(MASTER_CLASS, "--port", str(self._port.number), environment=environment or {})
            self._await(lambda: self.state().get("status") == "ALIVE", START_TIMEOUT_S)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the Master and remove its folder; harmless when repeated."""
        super().stop()
        self._port.close()

    def alive_workers(self) -> int:
        """How many Workers have registered and live."""
        return sum(worker["state"] == "ALIVE" for worker in self.state().get("workers", []))


class SparkWorker(SparkDaemon):
    """A Worker of a Master. `work` is where each executor leaves its files, standard output and error."""

    def __init__(self, master: SparkMaster, cores: int, memory: str, environment: Mapping[str, str]) -> None:
        super().__init__("standalone-worker")
        self.work = self.folder / "work"
        limits = ("--cores", str(cores), "--memory", memory, "--work-dir", str(self.work))
        try:
            self._launch_class(WORKER_CLASS, *limits, master.url, environment=environment)
        except BaseException:
            self.stop()
            raise


class SparkCluster(UntilStopped):
    """A Master and its Workers, all of them registered when the constructor returns.

    The daemons have `environment`, executors inherit it from their Worker, and nothing else of ours.
    """

    def __init__(
        self, workers: int = 1, *, cores: int = 2, memory: str = "2g", environment: Mapping[str, str] | None = None
    ) -> None:
        self.master = SparkMaster(environment)
        self.workers: list[SparkWorker] = []
        try:
            for _ in range(workers):
                self.workers.append(SparkWorker(self.master, cores, memory, environment or {}))
            for worker in self.workers:
                worker._await(lambda: self.master.alive_workers() == workers, START_TIMEOUT_S)
        except BaseException:
            self.stop()
            raise

    @property
    def master_url(self) -> str:
        """What an application connects to, as spark://host:port."""
        return self.master.url

    def stop(self) -> None:
        """End the Workers, with their executors, and the Master; remove their folders."""
        for worker in self.workers:
            worker.stop()
        self.master.stop()


class SparkConnectServer(Part):
    """A Spark Connect server on `local[cores]`, which takes connections when the constructor returns.

    `events` is the folder of its event log. Clients have to show `token`, if it has one. Its workers have `python`.
    `home`: of another Spark than that of this Python.
    """

    name = "connect-server"

    def __init__(
        self,
        *,
        cores: int = 2,
        token: str | None = None,
        python: str = sys.executable,
        conf: Mapping[str, str] = {},
        home: Path | None = None,
    ) -> None:
        super().__init__()
        self._port, self._web_port = ReservedPort(), ReservedPort()
        self.events = self.folder / "events"
        self.events.mkdir()
        self.url = (
            f"sc://localhost:{self._port.number}"  # by name: Spark's client takes a token without TLS nowhere else
        )
        self.web_url = f"http://{HOST}:{self._web_port.number}"
        self._token, self._python, self._master, self._home = token, python, f"local[{cores}]", home
        self._conf = {
            "spark.connect.grpc.binding.address": HOST,
            "spark.connect.grpc.binding.port": str(self._port.number),
            "spark.driver.bindAddress": HOST,
            "spark.driver.host": HOST,
            "spark.driver.extraJavaOptions": shlex.join(BRIEF),
            "spark.ui.port": str(self._web_port.number),
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": str(self.events),
            "spark.eventLog.compress": "false",
            **conf,
        }
        try:
            self.start()
        except BaseException:
            self.stop()
            raise

    def start(self) -> None:
        """Start it, or start it again after `kill`: on the same port, as another application."""
        home = self._home or pyspark_folder()
        options = [part for name, value in self._conf.items() for part in ("--conf", f"{name}={value}")]
        started = {} if self._home else submit_variables()  # of this Python's Spark
        quick = started.get("SPARK_SUBMIT_OPTS", "")
        started = {**started, "SPARK_SUBMIT_OPTS": f"{quick} -Djava.io.tmpdir={self.folder}".strip()}
        environment = child_environment(
            SPARK_HOME=str(home),
            JAVA_HOME=str(find_java().home),
            SPARK_LOCAL_IP=HOST,
            SPARK_LOCAL_DIRS=str(self.folder),
            TMPDIR=str(self.folder),
            PYSPARK_PYTHON=self._python,
            **({"SPARK_CONNECT_AUTHENTICATE_TOKEN": self._token} if self._token else {}),
            **started,
        )
        submit = [str(home / "bin" / "spark-submit"), "--master", self._master, "--class", CONNECT_CLASS]
        self._launch([*submit, *options, "spark-internal"], environment)
        self._await(self._takes_connections, START_TIMEOUT_S)

    def _takes_connections(self) -> bool:
        try:
            socket.create_connection((HOST, self._port.number), 1).close()
        except OSError:
            return False
        return True

    def stop(self) -> None:
        """End the server and remove its folder; harmless when repeated."""
        super().stop()
        self._port.close()
        self._web_port.close()


@functools.cache
def submit_variables() -> dict[str, str]:
    """Variables under which Spark's launcher and spark-submit start in half the time.

    The first call on a machine runs a small application for that.
    """
    folder = cached(f"spark-{identity(find_java(), str(pyspark_folder()))}", _remember)
    launcher = folder / f"launcher-{ARCHIVE}"
    return {
        # a script splits it at every space
        "SPARK_LAUNCHER_OPTS": " ".join([*BRIEF, *(() if " " in str(launcher) else shared(launcher))]),
        "SPARK_SUBMIT_OPTS": shlex.join(shared(folder / ARCHIVE)),
    }


def _remember(folder: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="kafka-s3-class-data-") as name:
        program = Path(name, "application.py")
        program.write_text(_PROGRAM)
        home = pyspark_folder()
        run = subprocess.run(
            [home / "bin" / "spark-submit", "--master", "local[1]", "--conf", "spark.ui.enabled=false", program],
            env=child_environment(
                SPARK_HOME=str(home),
                JAVA_HOME=str(find_java().home),
                SPARK_LOCAL_IP=HOST,
                SPARK_LOCAL_DIRS=name,
                PYSPARK_PYTHON=sys.executable,
                SPARK_LAUNCHER_OPTS=" ".join([*BRIEF, dump_to(Path(name) / "launcher")]),
                SPARK_SUBMIT_OPTS=shlex.join([*BRIEF, dump_to(folder / ARCHIVE)]),
            ),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=START_TIMEOUT_S + DUMP_TIMEOUT_S,
        )
        if (launcher := Path(name, "launcher")).is_file():
            shutil.move(launcher, folder / f"launcher-{ARCHIVE}")
    if run.returncode != 0:
        raise PartError(f"spark: a small application ended with status {run.returncode}:\n{run.stdout[-3000:]}")
