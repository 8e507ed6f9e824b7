"""What is counted by Airflow's own metrics: real datagrams of StatsD, real requests of OpenTelemetry."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import AF_INET, SOCK_DGRAM, socket
from typing import Any

import pytest

from kafka_s3.publish.announce import Announcement, mark
from kafka_s3_airflow.counters import lag_after
from tests.report.test_health import MINUTE_MS, NINE, Timed
from tests.support import HOUR_MS, make_settings

ROOT = Path(__file__).resolve().parents[2]

# All of Airflow runs in this process, with warnings of its own.
pytestmark = pytest.mark.filterwarnings("ignore")


def exported(name: str = "orders") -> Timed:
    """Two records and a rejected one of the hour before nine are exported, and two of the hour after it wait."""
    world = Timed(settings=make_settings(name=name, tolerate=True))
    world.add(NINE - 40 * MINUTE_MS, NINE - 20 * MINUTE_MS)
    world.add(NINE - 10 * MINUTE_MS, value=b"{")
    world.add(NINE + MINUTE_MS, NINE + 2 * MINUTE_MS)
    world.export((NINE - HOUR_MS, NINE))
    return world


def announce(world: Timed) -> None:
    """As a task that has succeeded: what it announced is marked."""
    from kafka_s3_airflow.assets import _ANNOUNCED, Announced, mark_announced

    context: Any = {_ANNOUNCED: [Announced("orders", Announcement(seqs=(0, 1)), lambda: world.exporter.log)]}
    mark_announced(context)


def test_lag_after_a_commit() -> None:
    """What could be read when it was planned and is not in it."""
    world = exported()
    newest = world.exporter.log.newest()
    assert newest is not None
    assert lag_after(newest.entry) == 2


class StatsD:
    """Where StatsD's datagrams arrive, and the environment of what sends them."""

    def __init__(self) -> None:
        self._socket = socket(AF_INET, SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.environment = {
            "AIRFLOW__METRICS__STATSD_ON": "True",
            "AIRFLOW__METRICS__STATSD_HOST": "127.0.0.1",
            "AIRFLOW__METRICS__STATSD_PORT": str(self._socket.getsockname()[1]),
        }

    def __enter__(self) -> StatsD:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def lines(self, at_least: int) -> list[str]:
        """The first lines that arrived, and those that are there besides."""
        found: list[str] = []
        self._socket.settimeout(30)
        while len(found) < at_least:
            found += self._socket.recv(65536).decode().splitlines()
        self._socket.setblocking(False)
        try:
            while True:
                found += self._socket.recv(65536).decode().splitlines()
        except BlockingIOError:
            return found


@pytest.fixture
def statsd(monkeypatch: pytest.MonkeyPatch) -> Iterator[StatsD]:
    """Metrics that are on, as a task's process starts them."""
    with StatsD() as listening:
        for name, value in listening.environment.items():
            monkeypatch.setenv(name, value)
        _start_metrics()
        yield listening
    monkeypatch.undo()
    _start_metrics()


def _start_metrics() -> None:
    from airflow.sdk.observability import stats
    from airflow.sdk.observability.metrics import stats_utils

    stats.initialize(factory=stats_utils.get_stats_factory(), export_legacy_names=True)


def test_statsd_is_told_what_was_committed(statsd: StatsD) -> None:
    """Records, bytes, objects, rejected, filtered and the lag behind the commit; with the connector in the name, too,
    for what knows no tags."""
    announce(exported("orders.eu"))
    lines = statsd.lines(10)
    assert "airflow.kafka_s3.records:2|c" in lines
    assert {line for line in lines if "orders_eu" in line} == {
        "airflow.kafka_s3.orders_eu.records:2|c",
        "airflow.kafka_s3.orders_eu.bytes:6|c",
        "airflow.kafka_s3.orders_eu.objects:1|c",
        "airflow.kafka_s3.orders_eu.rejected:1|c",
        "airflow.kafka_s3.orders_eu.filtered:0|c",
        "airflow.kafka_s3.orders_eu.lag:2|g",
    }
    assert len(lines) == 12


def test_each_commit_is_counted_once(statsd: StatsD) -> None:
    """What was announced and marked before, by another try, is not counted again."""
    world = exported()
    announce(world)
    announce(world)
    other = exported("other")
    announce(other)
    lines = statsd.lines(20)
    assert lines.count("airflow.kafka_s3.orders.records:2|c") == 1
    assert len(lines) == 24


def test_tags_carry_the_connector(statsd: StatsD, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where StatsD knows tags, and old names are off, there is one metric for all connectors."""
    monkeypatch.setenv("AIRFLOW__METRICS__STATSD_INFLUXDB_ENABLED", "True")
    monkeypatch.setenv("AIRFLOW__METRICS__LEGACY_NAMES_ON", "False")
    _start_metrics()
    announce(exported())
    lines = statsd.lines(5)
    assert "airflow.kafka_s3.records,connector=orders:2|c" in lines
    assert len(lines) == 6


def test_off_is_off() -> None:
    """Without metrics nothing is read for them: marking asks what marking alone asks."""
    world, alone = exported(), exported()
    for each in (world, alone):
        each.store.requests.clear()
    announce(world)
    log = alone.exporter.log
    for seq in (0, 1):
        mark(log, seq)
    assert [each.operation for each in world.store.requests] == [each.operation for each in alone.store.requests]


class Collector(ThreadingHTTPServer):
    """An OpenTelemetry collector: the bodies that were posted to it."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Posted)
        self.bodies: list[bytes] = []


class Posted(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        self.server.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        return


_OTEL = """
from tests.airflow.test_counters import _start_metrics, announce, exported
_start_metrics()
announce(exported())
"""


@pytest.mark.heavy  # a process of its own: OpenTelemetry's provider is one for a process, and for good
def test_opentelemetry_is_told_the_same() -> None:
    """The same call sends them there, with the connector as an attribute."""
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

    with Collector() as collector:
        threading.Thread(target=collector.serve_forever, daemon=True).start()
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(str(ROOT / folder) for folder in ("jobs", "plugins", ".")),
            "AIRFLOW__METRICS__OTEL_ON": "True",
            "AIRFLOW__METRICS__OTEL_HOST": "127.0.0.1",
            "AIRFLOW__METRICS__OTEL_PORT": str(collector.server_address[1]),
        }
        done = subprocess.run(
            [sys.executable, "-c", _OTEL], env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        collector.shutdown()
    assert done.returncode == 0, done.stderr
    found = {}
    for body in collector.bodies:
        request = ExportMetricsServiceRequest.FromString(body)
        for scope in (scope for resource in request.resource_metrics for scope in resource.scope_metrics):
            for metric in scope.metrics:
                for point in (*metric.sum.data_points, *metric.gauge.data_points):
                    tags = {each.key: each.value.string_value for each in point.attributes}
                    found[metric.name] = (tags, point.as_int or point.as_double)
    assert found["airflow.kafka_s3.records"] == ({"connector": "orders"}, 2)
    assert found["airflow.kafka_s3.lag"] == ({"connector": "orders"}, 2)
