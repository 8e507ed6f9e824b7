"""What a run of few records costs, by what does it: Spark, and a plain process beside the task.

Each run has a topic's records for itself, all of them new, and a log of its own; for none new the run before it took
them. CPU and memory are those of the whole process tree. A Spark Connect server is there already, and has run before:
what it takes of CPU meanwhile, its workers included, has a column of its own, and its memory is not counted.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Protocol

import psutil
from rich.table import Table

from bench.measure import Measured
from bench.output import console, spread
from bench.records import PARTITIONS, produce, values
from tools.parts.kafka import KafkaBroker
from tools.parts.spark import SparkConnectServer

COUNTS: Final = (0, 4, 1_000)
_JOB: Final = Path(__file__).resolve().parents[1] / "jobs" / "export.py"


class Runs(Protocol):
    """The servers, and the three ways."""

    kafka: KafkaBroker

    def connector(self, topic: str, format: str, compression: str, more: str = "") -> tuple[str, Path]: ...
    def submit(self, script: Path | str, *arguments: str, until: str = "") -> Measured: ...
    def without_spark(self, *arguments: str) -> Measured: ...
    def over_connect(self, server: SparkConnectServer, *arguments: str) -> Measured: ...


def small_runs(runs: Runs, repetitions: int) -> None:
    """Print the table; what connectors cost as a group, `bench.group` measures."""
    with SparkConnectServer(conf={"spark.eventLog.enabled": "false"}) as server:
        ways: dict[str, Callable[..., Measured]] = {
            "Spark, local[2]": lambda *arguments: runs.submit(_JOB, *arguments),
            "Spark Connect": lambda *arguments: runs.over_connect(server, *arguments),
            "a plain process": runs.without_spark,
        }
        table = Table("a run of new records", "by", "wall s", "CPU s", "peak RSS MiB", "server's CPU s")
        for count in COUNTS:
            topic = f"small-{count}"
            runs.kafka.create_topic(topic, PARTITIONS)
            produce(runs.kafka.bootstrap_servers, topic, values(count or PARTITIONS))
            found: dict[str, list[Measured]] = {way: [] for way in ways}
            of_server: dict[str, list[float]] = {way: [] for way in ways}
            _measured(runs, topic, ways["Spark Connect"], is_new=True)  # its first job takes what no other does
            for _ in range(repetitions):
                for way, run in ways.items():
                    before = _cpu_s(server)
                    found[way].append(_measured(runs, topic, run, is_new=count > 0))
                    of_server[way].append(_cpu_s(server) - before)
            for way, measured in found.items():
                is_connect = way == "Spark Connect"
                table.add_row(f"{count:,}", way, *_columns(measured), spread(of_server[way]) if is_connect else "")
    console.print(table)


def _cpu_s(server: SparkConnectServer) -> float:
    """What the server and all below it have used, and what it has waited for."""
    process = psutil.Process(server.pid)
    times = [each.cpu_times() for each in (process, *process.children(recursive=True))]
    return sum(each.user + each.system for each in times) + times[0].children_user + times[0].children_system


def _measured(runs: Runs, topic: str, run: Callable[..., Measured], *, is_new: bool) -> Measured:
    name, connector = runs.connector(topic, "JSON", "gzip")
    arguments = ("--connector", str(connector), "--run-id")
    if not is_new:
        runs.without_spark(*arguments, f"{name}-before")
    return run(*arguments, name)


def _columns(measured: Sequence[Measured]) -> list[str]:
    return [
        spread([each.wall_s for each in measured]),
        spread([each.cpu_s for each in measured]),
        spread([each.rss_tree / 2**20 for each in measured], 0),
    ]
