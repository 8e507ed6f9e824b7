"""Alarms: each fires when its bound is passed and not before; the example under Airflow, on real Kafka and S3."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from kafka_s3.errors import KafkaUnavailable
from kafka_s3.ports import Broker
from kafka_s3.report.health import Health, look
from kafka_s3_airflow.alarms import Alarm, Bounds, check, findings
from tests.airflow.test_integrity import serialized, write
from tests.house.pages import blocks, page
from tests.report.test_health import MINUTE_MS, NINE, NOW, Timed
from tests.support import HOUR_MS
from tools.parts.kafka import KafkaBroker
from tools.parts.s3 import MotoServer

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "dags" / "examples" / "alarms.py"
SECRET = "canary-of-an-alarm"
HOUR = timedelta(hours=1)

# All of Airflow runs in this process, with warnings of its own.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def health() -> Health:
    """Numbers to compare: each of them an hour, 1,234 offsets, 5 per cent."""
    world = Timed()
    world.add(NINE - MINUTE_MS)
    world.export((NINE - HOUR_MS, NINE))
    return replace(
        world.health(),
        lag_records=1234,
        lag_ms=HOUR_MS,
        loss_in_ms=HOUR_MS,
        overdue_ms=HOUR_MS,
        rejected_fraction=0.05,
    )


@pytest.mark.parametrize(
    ("passed", "well", "said"),
    [
        (Bounds(lag_records_max=1233), Bounds(lag_records_max=1234), "1,234 offsets wait to be exported, more than"),
        (Bounds(lag_max=HOUR / 2), Bounds(lag_max=HOUR), "is 1 h old, more than 30 min."),
        (Bounds(loss_within=HOUR), Bounds(loss_within=HOUR / 2), "not exported in 1 h, within 1 h."),
        (Bounds(overdue_max=HOUR / 2), Bounds(overdue_max=HOUR), "was due 1 h ago has not exported its records, more"),
        (Bounds(rejected_max=0.04), Bounds(rejected_max=0.05), "5.00% of the records of the newest log entries were"),
    ],
)
def test_each_fires_past_its_bound(health: Health, passed: Bounds, well: Bounds, said: str) -> None:
    """The finding names the number and the bound; what is at its bound, or was not asked about, is well."""
    [finding] = findings(health, passed)
    assert said in finding
    assert findings(health, well) == []


def test_all_findings_are_told_at_once(health: Health) -> None:
    """One that is passed hides no other; each says the state, and what to do."""
    every = Bounds(0, timedelta(0), 2 * HOUR, timedelta(0), 0.0)
    found = findings(health, every)
    assert len(found) == 5
    assert all("State: ok." in finding for finding in found[:4])
    for advice in ("tasks.max", "paused", "Raise the topic's retention.ms", "scheduler", "kafka-s3 redrive"):
        assert any(advice in finding for finding in found)


def test_what_is_not_known_fires_nothing(health: Health) -> None:
    """A number that there is not passes no bound: nothing waits, nothing was exported, or age deletes nothing."""
    none = replace(
        health,
        lag_records=None,
        lag_ms=None,
        loss_in_ms=None,
        overdue_ms=None,
        rejected_fraction=None,
    )
    assert findings(none, Bounds(0, timedelta(0), 2 * HOUR, timedelta(0), 0.0)) == []


def test_a_loss_that_cannot_be_seen_coming_is_told(health: Health) -> None:
    """An alarm that can never fire is none: the permission that is missing is named."""
    hidden = replace(health, loss_in_ms=None, retention_hidden=("orders",))
    [finding] = findings(hidden, Bounds(loss_within=HOUR))
    assert "DescribeConfigs" in finding
    assert findings(hidden, Bounds(lag_max=HOUR)) == []


def test_without_a_bound_it_is_no_alarm(tmp_path: Path) -> None:
    """A check of nothing says so instead of being well for ever."""
    from airflow.sdk.exceptions import AirflowFailException

    with pytest.raises(AirflowFailException, match="at least one bound"):
        check(tmp_path / "orders.properties")


def test_state_of_a_broker_that_is_down_is_no_finding() -> None:
    """What waits is not known then, so no bound of it is passed; what the log says still counts."""
    world = Timed()

    def refuse() -> Broker:
        raise KafkaUnavailable("no")

    down = look(world.settings, world.exporter.log, refuse, at_ms=NOW, entries_max=10)
    assert findings(down, Bounds(0, timedelta(0), HOUR, timedelta(0), 0.0)) == []
    assert Bounds(lag_max=HOUR).need_kafka
    assert not Bounds(rejected_max=0.0).need_kafka


def pages_python() -> list[str]:
    return blocks(page("how-to/alarms.md"), "python")


def test_the_pages_own_bounds_are_a_task() -> None:
    """What the page shows builds a task that checks what it says."""
    from airflow.sdk import DAG

    with DAG("mine", schedule=None) as dag:
        exec(pages_python()[1], {})
    operator: Any = dag.task_dict["orders_is_ok"]
    assert operator.python_callable is check
    assert asdict(Bounds(**operator.op_kwargs)).keys() == operator.op_kwargs.keys()


def test_the_pages_deadline_can_be_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The DAG that the page shows is built, and stored with its deadline and the callback's name."""
    (tmp_path / "my_callbacks.py").write_text("def tell_somebody(context, about):\n    print(about)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    path = write(tmp_path, "orders.properties", "orders")
    built: dict[str, Any] = {}
    code = pages_python()[2].replace("/opt/kafka-s3/connectors/orders.properties", str(path))
    exec(code.replace("\n):", "\n) as dag:"), built)
    stored = serialized(built["dag"])
    assert "my_callbacks.tell_somebody" in stored
    assert "orders.complete" in stored


# Run.


@dataclass(frozen=True)
class Exported:
    """A connector in the example's folder, with a topic that keeps its records for 20 hours."""

    path: Path
    topic: str
    kafka: KafkaBroker

    def produce(self, value: bytes, *, age: timedelta = timedelta(0)) -> None:
        producer = Producer({"bootstrap.servers": self.kafka.bootstrap_servers})
        producer.produce(self.topic, value, partition=0, timestamp=int((time.time() - age.total_seconds()) * 1000))
        assert producer.flush(30) == 0

    def export(self, run_id: str = "run") -> None:
        from kafka_s3.export.run import run
        from kafka_s3.wiring import make_exporter, make_local_execute
        from kafka_s3_airflow.connections import load_connector
        from tests.support import request

        settings = load_connector(self.path).settings
        run(
            make_exporter(settings),
            request(run_id, now_ms=int(time.time() * 1000)),
            make_local_execute(settings),
            lambda _: None,
        )


class Alarms:
    """The example over two connectors of real Kafka and a real S3 API."""

    def __init__(
        self, folder: Path, kafka: KafkaBroker, moto: MotoServer, bucket: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        moto.create_bucket(bucket)
        self.folder, self.kafka, self.bucket, self.monkeypatch = folder, kafka, bucket, monkeypatch
        store = {"endpoint_url": moto.endpoint_url, "region_name": moto.region}
        aws = {"conn_type": "aws", "login": moto.access_key, "password": SECRET, "extra": store}
        monkeypatch.setenv("AIRFLOW_CONN_AWS_DEFAULT", json.dumps(aws))
        self.connect(kafka.bootstrap_servers)

    def connect(self, servers: str) -> None:
        extra = {"bootstrap.servers": servers, "sasl.password": SECRET}
        self.monkeypatch.setenv("AIRFLOW_CONN_KAFKA_DEFAULT", json.dumps({"conn_type": "kafka", "extra": extra}))

    def connector(self, name: str) -> Exported:
        topic = f"{name}-topic"
        self.kafka.create_topic(topic, 1, {"retention.ms": str(20 * HOUR_MS)})
        path = write(self.folder, f"{name}.properties", name, "errors.tolerance=all\ns3.part.retries=0\n")
        path.write_text(path.read_text().replace("s3.bucket.name=archive", f"s3.bucket.name={self.bucket}"))
        return Exported(path, topic, self.kafka)


@pytest.fixture
def alarms(
    airflow_db: None,
    kafka: KafkaBroker,
    moto: MotoServer,
    bucket_name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Alarms:
    return Alarms(tmp_path, kafka, moto, bucket_name, monkeypatch)


@pytest.mark.heavy  # a broker that is down is believed to be after ten seconds
def test_an_outage_is_for_a_retry(alarms: Alarms, topic_name: str) -> None:
    """A broker that does not answer is an error that the task's retries may cure, and no finding."""
    from airflow.sdk.exceptions import AirflowException, AirflowFailException

    connector = alarms.connector(topic_name)
    connector.produce(b"{}")
    connector.export()
    alarms.connect("127.0.0.1:9")
    with pytest.raises(AirflowException, match="the lag is not known") as raised:
        check(connector.path, lag_max=HOUR)
    assert not isinstance(raised.value, AirflowFailException | Alarm)
    assert SECRET not in str(raised.value)
