"""A drill: ten connectors broken as it happens at night, each resolved by what the page says, in three steps or fewer.

    make torture ARGS="-k drill"

Everything is real: Airflow with its scheduler, a broker, a store. A step is to open the connector, to do what the page
says (its command as it stands, or a mend of what it names: a file, a topic, a login, a server), or to let a run go on.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.schema_registry import Schema

from tests.scheduler.gates import Proxy
from tests.scheduler.harness import Api, until
from tools.parts.airflow import BIN, Airflow
from tools.parts.kafka import KafkaBroker
from tools.parts.registry import SchemaRegistry
from tools.parts.s3 import VersityGateway
from tools.showcase import HOUR_MS, Showcase

pytestmark = [pytest.mark.trial, pytest.mark.filterwarnings("ignore")]
STEPS_MAX = 3
GOOD = [json.dumps({"n": number}).encode() for number in range(5)]


@dataclass
class Night:
    """What was broken, and the page over it. `steps`: what it took, by connector."""

    show: Showcase
    now_ms: int
    registry: Proxy
    airflow: Airflow = field(init=False)
    api: Api = field(init=False)
    stuck: Producer = field(init=False)
    kept: dict[str, bytes] = field(default_factory=dict)
    steps: dict[str, list[str]] = field(default_factory=dict)

    def exported(self, name: str, more: Mapping[str, str] | None = None, *, retention_ms: int = -1) -> Path:
        path = self.show.connector(name, more, retention_ms=retention_ms)
        self.show.produce(name, 0, GOOD, self.now_ms - 5 * HOUR_MS)
        assert self.show.export(name, "by-hand") == 0, name
        return path

    def waits(self, name: str, *values: bytes) -> None:
        self.show.produce(name, 0, values or GOOD, self.now_ms - 3 * HOUR_MS)

    def path(self, name: str) -> Path:
        return self.show.folder / f"{name}.properties"

    def page(self, name: str) -> dict[str, Any]:
        """What the page shows of a connector, once it knows."""

        def look() -> dict[str, Any] | None:
            found = self._asked(f"connectors/{name}")
            return found if found["state"] != "asking" else None

        return until(f"the page knows {name}", look)

    def shows(self, name: str, state: str, words: str) -> None:
        """The page says this; opening it is the first step."""

        def look() -> bool:
            found = self.page(name)
            return bool(found["state"] == state and words in " ".join(found["why"]))

        until(f"{name} is {state}: {words}", look, or_say=lambda: self._brief(name))
        self.steps[name] = ["open"]

    def copied(self, name: str, words: str, *, status: int = 0) -> None:
        """The first command that the page shows with these words, as it stands, in a shell beside Airflow."""
        shown = [each["command"] for each in self.page(name)["remedies"] if each["command"]]
        command = next(each for each in shown if words in each)
        program, *arguments = shlex.split(command)
        environment = {**self.airflow.environment, **self.show.keys()}
        done = subprocess.run(
            [str(BIN / program), *arguments],
            cwd=self.show.folder,  # the page names a file as it is called there
            env=environment,
            input="y\n",
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == status, f"{command}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
        self.steps[name].append(command)

    def mended(self, name: str, what: str) -> None:
        """What the page names was mended where it is."""
        self.steps[name].append(what)

    def heals(self, name: str) -> None:
        until(f"{name} is healthy", lambda: self.page(name)["state"] == "ok", or_say=lambda: self._brief(name))
        sys.stdout.write(f"\n{name}: {len(self.steps[name])} steps: {' | '.join(self.steps[name])}\n")
        assert len(self.steps[name]) <= STEPS_MAX

    def ran(self, dag_id: str) -> None:
        """A run of a DAG that fails, and the DAG is unpaused."""
        self.api.send("PATCH", f"/api/v2/dags/{dag_id}", {"is_paused": False})
        self.api.send("POST", f"/api/v2/dags/{dag_id}/dagRuns", {"logical_date": None})
        runs = f"/dags/{dag_id}/dagRuns"
        until(f"{dag_id} failed", lambda: "failed" in {each["state"] for each in self.api.get(runs)["dag_runs"]})

    def _brief(self, name: str) -> object:
        found = self.page(name)
        return {key: found[key] for key in ("state", "why", "remedies", "kafka_error", "log_error", "verify")}

    def _asked(self, path: str) -> Any:
        headers = {"Authorization": f"Bearer {self._token()}"}
        request = urllib.request.Request(f"{self.airflow.url}/kafka-s3/api/{path}", headers=headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def _token(self) -> str:
        login = json.dumps({"username": self.airflow.user, "password": self.airflow.password}).encode()
        request = urllib.request.Request(f"{self.airflow.url}/auth/token", login, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return str(json.load(answer)["access_token"])


@pytest.fixture(scope="module")
def night(
    kafka: KafkaBroker, registry_server: SchemaRegistry, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Night]:
    """All of them at once, under an Airflow whose DAGs are paused but for those that failed."""
    folder = tmp_path_factory.mktemp("drill")
    (folder / "connectors").mkdir()
    with VersityGateway() as store, Proxy(registry_server.url.partition("/apis")[0]) as way:
        there = Night(Showcase(folder / "connectors", kafka, store), int(time.time() * 1000), way)
        schema_id = registry_server.client().register_schema("registry_down-value", Schema('"int"', "AVRO"))
        _break(there, schema_id)
        more = {"KAFKA_S3_RETRIES": "0", "TMPDIR": str(folder)}
        with Airflow(there.show.environment(folder / "airflow", more), triggerer=False) as airflow:
            there.airflow, there.api = airflow, Api(airflow)
            _connect(there, "not its secret")
            names = {each.stem for each in there.show.folder.glob("*.properties")}
            until(
                "all are parsed",
                lambda: {each["dag_id"] for each in there.api.get("/dags", limit=100)["dags"]} >= names,
            )
            there.ran("registry_down")
            there.ran("deleted_object__verify")
            yield there
        way.shutdown()


def _break(night: Night, schema_id: int) -> None:
    show = night.show
    for name in ("paused_late", "poison_record", "topic_recreated"):
        night.exported(name)
    night.waits("paused_late")
    night.waits("poison_record", b"not JSON", *GOOD)
    show.export("poison_record", "by-hand-2")
    show.kafka.delete_topic("topic_recreated")
    show.kafka.create_topic("topic_recreated")
    night.waits("topic_recreated")
    avro = {
        "value.converter": "io.confluent.connect.avro.AvroConverter",
        "value.converter.schema.registry.url": f"{night.registry.url}/apis/ccompat/v7",
    }
    show.connector("registry_down", avro)
    night.waits("registry_down", b"\x00" + schema_id.to_bytes(4) + b"\x02")
    night.registry.is_open = False
    night.exported("no_permission", {"export.aws.conn.id": "its_own"})
    broken = night.exported("broken_file")
    broken.write_text(broken.read_text().replace("flush.size=1000", "flush.size=a few"))
    night.exported("stuck_transaction")
    patient = {"transactional.id": "stuck", "transaction.timeout.ms": 900_000}
    night.stuck = Producer({"bootstrap.servers": show.kafka.bootstrap_servers, **patient})
    night.stuck.init_transactions()
    night.stuck.begin_transaction()
    night.stuck.produce("stuck_transaction", b"{}", timestamp=night.now_ms - 3 * HOUR_MS)
    night.stuck.flush()
    night.exported("retention", retention_ms=5 * HOUR_MS)
    night.waits("retention")
    night.exported("unsent_letters", {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": "letters"})
    night.waits("unsent_letters", b"not JSON", *GOOD)
    show.export("unsent_letters", "by-hand-2")
    night.exported("deleted_object", {"export.verify.schedule": "@daily"})
    bucket = "bucket-of-deleted-object"
    night.kept = show.store.objects(bucket, "topics/")
    for key in night.kept:
        show.store.client().delete_object(Bucket=bucket, Key=key)


def _connect(night: Night, secret: str) -> None:
    """The connection of one connector, made or changed."""
    extra = {"endpoint_url": night.show.store.endpoint_url, "region_name": night.show.store.region}
    body = {
        "connection_id": "its_own",
        "conn_type": "aws",
        "login": night.show.store.access_key,
        "password": secret,
        "extra": json.dumps(extra),
    }
    if secret == night.show.store.secret_key:
        night.api.send("PATCH", "/api/v2/connections/its_own", body)
    else:
        night.api.send("POST", "/api/v2/connections", body)


def test_a_paused_dag(night: Night) -> None:
    """Late, since the DAG is paused: unpause it."""
    night.shows("paused_late", "late", "the DAG is paused")
    night.copied("paused_late", "airflow dags unpause")
    night.heals("paused_late")


def test_retention_in_two_hours(night: Night) -> None:
    """The time until Kafka deletes what waits is on the page; a run takes it in time."""
    night.shows("retention", "late", "the DAG is paused")
    assert 0 < night.page("retention")["loss_in_ms"] < 2 * HOUR_MS
    night.copied("retention", "airflow dags unpause")
    night.heals("retention")


def test_a_poison_record(night: Night) -> None:
    """The record is named with its reason: keep such records aside, and go on."""
    night.shows("poison_record", "failed", "not JSON")
    file = night.path("poison_record")
    file.write_text(file.read_text() + "errors.tolerance=all\n")
    night.mended("poison_record", "errors.tolerance=all")
    night.copied("poison_record", "kafka-s3 run ")
    night.heals("poison_record")


def test_a_topic_made_again(night: Night) -> None:
    """Its offsets are other records: accept that, and let it run."""
    night.shows("topic_recreated", "failed", "was deleted and created again")
    night.copied("topic_recreated", "--accept topic_recreated")
    until("it is late", lambda: night.page("topic_recreated")["state"] == "late")
    night.copied("topic_recreated", "airflow dags unpause")
    night.heals("topic_recreated")


def test_a_registry_that_is_down(night: Night) -> None:
    """The run failed, and its log says why: with the registry up, run it again."""
    night.shows("registry_down", "failed", "The newest run of its DAG failed")
    night.registry.is_open = True
    night.mended("registry_down", "the registry is started")
    night.copied("registry_down", "airflow dags trigger")
    night.heals("registry_down")


def test_no_permission(night: Night) -> None:
    """The store refuses the key: with the right one the page is well by itself."""
    night.shows("no_permission", "broken", "")
    _connect(night, night.show.store.secret_key)
    night.mended("no_permission", "the connection has the new key")
    night.heals("no_permission")


def test_a_broken_file(night: Night) -> None:
    """The property and its value are named: correct it, and check it."""
    night.shows("broken_file", "broken", "flush.size=a few")
    file = night.path("broken_file")
    file.write_text(file.read_text().replace("flush.size=a few", "flush.size=1000"))
    night.mended("broken_file", "flush.size=1000")
    night.heals("broken_file")


def test_a_stuck_transaction(night: Night) -> None:
    """The partition and the offset are named, with Kafka's command. It is not on this machine: the producer aborts."""
    night.shows(
        "stuck_transaction", "late", "An open transaction holds back 1 offsets of stuck_transaction-0 from 5 on"
    )
    assert any(
        "abort --topic stuck_transaction" in (each["command"] or "")
        for each in night.page("stuck_transaction")["remedies"]
    )
    night.stuck.abort_transaction()
    night.mended("stuck_transaction", "kafka-transactions.sh … abort")
    night.heals("stuck_transaction")


def test_dead_letters_that_were_not_sent(night: Night) -> None:
    """Their topic is named: make it, and the next run sends them."""
    night.shows("unsent_letters", "failed", "were not sent to topic letters")
    night.show.kafka.create_topic("letters")
    night.mended("unsent_letters", "the topic is made")
    night.copied("unsent_letters", "kafka-s3 run ")
    night.heals("unsent_letters")


def test_an_object_that_was_deleted(night: Night) -> None:
    """Verification failed: it names the object, which is restored, and verifies again."""
    night.shows("deleted_object", "failed", "Its last verification failed")
    night.copied("deleted_object", "kafka-s3 verify", status=1)
    bucket = "bucket-of-deleted-object"
    for key, content in night.kept.items():
        night.show.store.client().put_object(Bucket=bucket, Key=key, Body=content)
    night.copied("deleted_object", "airflow dags trigger deleted_object__verify")
    night.heals("deleted_object")
