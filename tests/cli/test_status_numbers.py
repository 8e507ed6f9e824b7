"""The numbers that alarms are made of, by `kafka-s3 status` on a real broker and a real S3 API."""

from __future__ import annotations

import json
import time
import uuid
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
)

from kafka_s3.plan.schedule import following
from kafka_s3.settings.schedule import ScheduleSettings
from tests.cli.command import call
from tests.cli.conftest import SECRET, ConnectorFile
from tests.support import HOUR_MS

WEEK_MS = 7 * 24 * HOUR_MS


def _status(connector: ConnectorFile) -> dict[str, Any]:
    result = call("status", connector.config, "--json", env=connector.env)
    assert SECRET not in result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def _keep_a_week(connector: ConnectorFile) -> None:
    entry = ConfigEntry("retention.ms", str(WEEK_MS), incremental_operation=AlterConfigOpType.SET)
    admin = connector.broker.admin()
    futures = admin.incremental_alter_configs(
        [ConfigResource(ConfigResource.Type.TOPIC, connector.topic, incremental_configs=[entry])]
    )
    for future in futures.values():
        future.result(30)


def test_numbers_of_what_waits(connector: ConnectorFile) -> None:
    """Lag in offsets and in time, time to loss and overdue are those of the oldest record that waits; an export takes
    them back, and has a time and a rejected fraction of its own."""
    _keep_a_week(connector)
    old_ms = int(time.time() * 1000) - 3 * HOUR_MS
    connector.produce(2, timestamp_ms=old_ms)
    connector.produce(1, partition=1, timestamp_ms=old_ms + HOUR_MS)
    found = _status(connector)
    at_ms = found["at_ms"]
    assert (found["state"], found["lag_records"], found["lag_ms"]) == ("never_ran", 3, at_ms - old_ms)
    assert found["loss_in_ms"] == old_ms + WEEK_MS - at_ms
    assert found["overdue_ms"] == at_ms - following(ScheduleSettings(), old_ms)
    assert (found["rejected_fraction"], found["last_commit_ms"], found["notes"]) == (None, None, [])
    said = call("status", connector.config, env=connector.env).stdout
    assert "The oldest waiting record is 3 h" in said
    assert "Retention may delete waiting records in 6 d 20 h" in said
    assert call("run", connector.config, "--until-now", env=connector.env).exit_code == 0
    found = _status(connector)
    assert (found["state"], found["lag_records"], found["lag_ms"], found["overdue_ms"]) == ("ok", 0, 0, 0)
    assert (found["loss_in_ms"], found["rejected_fraction"]) == (None, 0.0)
    [written] = connector.client.list_objects_v2(Bucket=connector.bucket, Prefix=connector.log_key(1))["Contents"]
    assert found["last_commit_ms"] == int(written["LastModified"].timestamp() * 1000)


def test_what_an_open_transaction_holds_back_has_no_age(connector: ConnectorFile) -> None:
    """Behind the last stable offset nothing waits; once the transaction ends its records are as old as they say."""
    old_ms = int(time.time() * 1000) - 3 * HOUR_MS
    name = f"numbers-{uuid.uuid4()}"
    producer = Producer({"bootstrap.servers": connector.broker.bootstrap_servers, "transactional.id": name})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(connector.topic, b"{}", partition=0, timestamp=old_ms)
    assert producer.flush(30) == 0
    connector.produce(1, timestamp_ms=old_ms + HOUR_MS)
    found = _status(connector)
    assert (found["lag_records"], found["lag_ms"]) == (0, 0)
    assert found["overdue_ms"] > HOUR_MS
    assert found["held"][0].startswith("An open transaction holds back ")
    assert f" offsets of {connector.topic}-0 from " in found["held"][0]
    producer.commit_transaction(30)
    deadline = time.monotonic() + 60
    while (found := _status(connector))["lag_records"] < 3:  # its end is written after its producer was told
        assert time.monotonic() < deadline, found
    assert found["lag_ms"] == found["at_ms"] - old_ms


@pytest.mark.heavy  # a broker that is down is believed to be after ten seconds
def test_kafka_down_leaves_the_logs_numbers(connector: ConnectorFile) -> None:
    """The times are not known then, which is no zero; when it was last committed is."""
    connector.produce(2)
    assert call("run", connector.config, "--until-now", env=connector.env).exit_code == 0
    (connector.config.parent / "worker.properties").write_text("bootstrap.servers=127.0.0.1:9\n")
    found = _status(connector)
    assert found["state"] == "kafka_down"
    assert [found[name] for name in ("lag_records", "lag_ms", "loss_in_ms", "overdue_ms")] == [None] * 4
    assert found["last_commit_ms"] > 0
