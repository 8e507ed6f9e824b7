"""Ranges as jobs of a Spark Connect server: no JVM here. A group of ranges goes there as a row, its results come back
as one."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kafka_s3.adapters.known_schemas import NOTHING_KNOWN
from kafka_s3.errors import ConfigurationError
from kafka_s3.fair_pool import FairPool
from kafka_s3.plan.results import RangeResult, Task
from kafka_s3.settings.model import Settings
from kafka_s3.settings.spark import CONF
from kafka_s3.spark.balance import Done, in_groups, settings_for_workers
from kafka_s3.spark.connect_failures import check_reachable, check_versions, in_words
from kafka_s3.spark.connect_server import ConnectServer
from kafka_s3.spark.encryption import in_clear
from kafka_s3.spark.workers import Answer, on_a_worker
from kafka_s3.wiring import ask_registries, make_registries

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

ARCHIVES: Final = "spark.archives"
PY_FILES: Final = "spark.submit.pyFiles"
PYTHON_PATH: Final = "spark.executorEnv.PYTHONPATH"
#: What an application takes before it starts, and what a session takes instead.
OF_A_SESSION: Final[Mapping[str, str]] = {"spark.pyspark.python": "spark.sql.execution.pyspark.python"}
#: A server that is gone is missed for about 16 s; Spark's client would try for ten minutes, and Airflow tries again.
RETRIES: Final = {"max_retries": 7, "initial_backoff": 50, "backoff_multiplier": 3.0, "max_backoff": 5_000}
#: A server takes a question whether it is alive every five minutes at most, and hangs up on who asks more often.
KEEPALIVE: Final = (("grpc.keepalive_time_ms", 330_000), ("grpc.keepalive_timeout_ms", 20_000))


class ConnectExecute:
    """Executes ranges on a Spark Connect server, `tasks.max` at once. `done` is told which have ended.

    Raises `ConfigurationError` for settings that are too large (`settings_for_workers`).
    """

    def __init__(self, connected: Connected, settings: Settings, done: Done, shared: FairPool | None = None) -> None:
        self._settings = settings_for_workers(settings)
        self._connected = connected
        self._done = done
        self._shared = shared
        self._registries = make_registries(settings)

    def __call__(self, tasks: Sequence[Task]) -> list[RangeResult]:
        from pyspark.sql.types import BinaryType, StructField, StructType

        known = ask_registries(self._settings, self._registries, tasks)
        schemas = pickle.dumps(known) if known != NOTHING_KNOWN else None
        # The function holds the settings, secrets included, and Spark shows 8 bytes of it; rows hold none.
        function = in_batches(on_a_worker(self._settings, None), self._connected.python_path)
        session = self._connected.session
        rows = StructType([StructField("ranges", BinaryType()), StructField("schemas", BinaryType())])
        answers = StructType([StructField("answer", BinaryType())])

        def execute(group: Sequence[Task]) -> Answer:
            frame = session.createDataFrame([(pickle.dumps(group), schemas)], rows)
            (row,) = frame.mapInArrow(function, answers).collect()
            answer: Answer = pickle.loads(bytes(row[0]))  # noqa: S301  # of a worker that has the driver's engine
            return answer

        with in_words(self._connected.server):
            return in_groups(tasks, self._settings.limits, execute, self._done, self._shared)


def in_batches(work: Callable[..., Answer], python_path: Sequence[str]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """What Spark calls with the rows of a group: nested, so that it travels whole, and names nothing of the engine.

    `python_path`: folders of archives, which Spark unpacks in the folder in which a session's workers run.
    """

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        import os
        import pickle
        import sys

        import pyarrow

        for folder in map(os.path.abspath, python_path):
            if folder not in sys.path:
                sys.path.insert(0, folder)
        for batch in batches:
            groups = zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True)
            answers = [pickle.dumps(work(group, schemas)) for group, schemas in groups]
            yield pyarrow.record_batch([pyarrow.array(answers, pyarrow.binary())], names=["answer"])

    return run


@dataclass(frozen=True, slots=True)
class Connected:
    """A session of a server. `name` is the server's application. `python_path`: for workers, below their folder."""

    session: SparkSession
    server: ConnectServer
    name: str | None
    python_path: Sequence[str] = field(default_factory=tuple)

    @property
    def warning(self) -> str | None:
        """Of the way to the server, else of the server's own way to its workers, as far as it tells."""
        master = _conf(self.session, "spark.master")
        return self.server.warning(os.environ) or (
            in_clear(master, lambda name: _conf(self.session, name)) if master else None
        )

    def execute(self, settings: Settings, done: Done, shared: FairPool | None = None) -> ConnectExecute:
        return ConnectExecute(self, settings, done, shared)


@contextmanager
def connected(server: ConnectServer) -> Iterator[Connected]:
    """A session, until its end: then the server stops what is left of its jobs."""
    check_reachable(server)
    session_class, builder_class, policy = _client()
    import pyspark

    builder = builder_class(server.url, [*KEEPALIVE])
    builder.set("user_agent", "kafka-s3")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"\[RETRIES_EXCEEDED\]")  # it is said in our words
        with in_words(server):
            session = session_class.builder.channelBuilder(builder).create()
        has_ended = False
        try:
            session.client.set_retry_policies([policy(**RETRIES)])
            with in_words(server):
                check_versions(server, session.version, pyspark.__version__)
                name = _conf(session, "spark.app.id")
                python_path = _configure(session, server)
            with _saying_goodbye(session.stop):
                yield Connected(session, server, name, python_path)
            has_ended = True
        finally:
            if not has_ended:  # the server may be gone, and the session's end would wait for it once more
                session.client.set_retry_policies([policy(max_retries=0)])
            session.stop()


@contextmanager
def _saying_goodbye(goodbye: Callable[[], None]) -> Iterator[None]:
    """SIGTERM and Ctrl-C end the server's jobs first: threads that wait for them would hold up the end of this process,
    and whoever comes next would find the cores taken. A second one ends it as ever."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def end(number: int, _: object) -> None:
        restore()
        goodbye()
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(128 + number)

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    for number in before:
        signal.signal(number, end)
    try:
        yield
    finally:
        restore()


def _client() -> tuple[Any, Any, Any]:
    """Spark's client: of pyspark, or of pyspark-client, which has no JVM."""
    try:
        from pyspark.sql.connect.client import DefaultChannelBuilder
        from pyspark.sql.connect.client.retries import DefaultPolicy
        from pyspark.sql.connect.session import SparkSession
    except ImportError as error:
        raise ConfigurationError(
            f"Spark Connect's client is not installed for this Python: {error}.",
            next="pip install 'kafka-s3[connect]', in the version of the server's Spark.",
        ) from error
    return SparkSession, DefaultChannelBuilder, DefaultPolicy


def _configure(session: SparkSession, server: ConnectServer) -> Sequence[str]:
    """Give the session what the connector asks of Spark, as far as a session can have it; the workers' Python path."""
    asked = dict(server.conf)
    for path in _files(asked, ARCHIVES):
        session.addArtifacts(path, archive=True)
    for path in _files(asked, PY_FILES):
        session.addArtifacts(path, pyfile=True)
    python_path = tuple(filter(None, asked.pop(PYTHON_PATH, "").split(os.pathsep)))
    for name, value in asked.items():
        name_of_a_session = OF_A_SESSION.get(name, name)
        if not session.conf.isModifiable(name_of_a_session):
            raise ConfigurationError(
                f"{CONF}{name} cannot be set here: the application of {server} has been started already.",
                next="Set it where that server is started, and leave it out of the connector.",
            )
        session.conf.set(name_of_a_session, value)
    return python_path


def _files(asked: dict[str, str], name: str) -> Iterator[str]:
    """The files of a property that lists them, which it no longer has then; each may name its folder after a #."""
    for path in filter(None, asked.pop(name, "").split(",")):
        if not Path(path.partition("#")[0]).is_file():
            raise ConfigurationError(
                f"{CONF}{name} names {path}, and there is no such file beside the driver, which is to send it.",
                next="Correct it, or make the archive: kafka-s3 bundle.",
            )
        yield path


def _conf(session: SparkSession, name: str) -> str | None:
    """A property of the server's; `None` where it has none, or does not tell."""
    from pyspark.errors import PySparkException

    try:
        return session.conf.get(name, None)
    except PySparkException:
        return None
