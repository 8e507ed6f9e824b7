"""Markers of completeness by `kafka-s3 run`, on a real broker and versitygw."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import PLAIN, call, write_properties
from tests.cli.conftest import ConnectorFile
from tools.parts.kafka import KafkaBroker
from tools.parts.s3 import VersityGateway

pytestmark = pytest.mark.heavy

EIGHT = datetime(2024, 11, 20, 8, tzinfo=UTC)


def hour(number: int) -> datetime:
    return EIGHT + timedelta(hours=number)


def ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)


@pytest.fixture
def hourly(
    kafka: KafkaBroker, versitygw: VersityGateway, topic_name: str, bucket_name: str, tmp_path: Path
) -> ConnectorFile:
    """Paths of hours by the records' own timestamps, marked half an hour after their end."""
    kafka.create_topic(topic_name, 2, config={"retention.ms": "-1"})
    versitygw.create_bucket(bucket_name)
    properties = {
        **PLAIN,
        "topics": topic_name,
        "s3.bucket.name": bucket_name,
        "s3.region": versitygw.region,
        "store.url": versitygw.endpoint_url,
        "aws.access.key.id": versitygw.access_key,
        "aws.secret.access.key": versitygw.secret_key,
        "partitioner.class": "HourlyPartitioner",
        "locale": "en",
        "timezone": "UTC",
        "timestamp.extractor": "Record",
        "export.completeness.marker.enable": "true",
        "export.completeness.lateness.ms": "1800000",
    }
    config = write_properties(tmp_path / "orders.properties", properties)
    write_properties(tmp_path / "worker.properties", {"bootstrap.servers": kafka.bootstrap_servers})
    return ConnectorFile(config, topic_name, bucket_name, kafka, versitygw.client(), {})


def run(connector: ConnectorFile, end: datetime, *more: str) -> str:
    """A run for the hour before `end`; what it said."""
    start = end - timedelta(hours=1)
    done = call("run", connector.config, *more, *(() if more else ("--interval", start.isoformat(), end.isoformat())))
    assert done.exit_code == 0, done.output
    return done.output


def markers(connector: ConnectorFile) -> dict[str, dict[str, Any]]:
    """What the markers say, by their hour."""
    keys = [key for key in connector.keys("topics/") if key.endswith("/_COMPLETE.json")]
    return {key.split("/")[-2]: json.loads(connector.body(key)) for key in keys}


def test_hours_with_late_records(hourly: ConnectorFile) -> None:
    """Each hour is marked once the lateness is over, with the offsets that prove it, one without records too; a record
    that is late, but not too late, is in its hour before the marker is; one that is too late comes into its path
    beside it. `verify` and `gc` take no marker for data."""
    hourly.produce(3, timestamp_ms=ms(hour(0)) + 1)
    hourly.produce(2, timestamp_ms=ms(hour(1)) + 1)
    run(hourly, hour(1))
    assert list(markers(hourly)) == ["hour=07"], "at 9:00 what was due is the hour before 8:00"

    hourly.produce(1, timestamp_ms=ms(hour(1)) - 1)  # late: behind two records of the next hour
    hourly.produce(1, timestamp_ms=ms(hour(2)) + 1)
    said = run(hourly, hour(2))
    assert f"complete: topics/{hourly.topic}/year=2024/month=11/day=20/hour=08/_COMPLETE.json" in said
    marker = markers(hourly)["hour=08"]
    assert (marker["start_ms"], marker["end_ms"], marker["due_ms"]) == (ms(EIGHT), ms(hour(1)), ms(hour(1)) + 1_800_000)
    assert marker["partitions"]["0"]["position"] == 6
    assert (marker["partitions"]["0"]["first_offset"], marker["partitions"]["1"]["log_end"]) == (6, 0)
    assert marker["key"] == hourly.log_key(marker["seq"])
    in_hour = f"topics/{hourly.topic}/year=2024/month=11/day=20/hour=08/"
    before = hourly.keys(in_hour)
    assert [key.removeprefix(in_hour) for key in before] == [
        "_COMPLETE.json",
        f"{hourly.topic}+0+0000000000.json",
        f"{hourly.topic}+0+0000000005.json",
    ]

    hourly.produce(1, timestamp_ms=ms(EIGHT) + 5)  # too late
    for number in (3, 4):
        run(hourly, hour(number))
    assert list(markers(hourly)) == [f"hour={number:02}" for number in (7, 8, 9, 10)]
    assert markers(hourly)["hour=08"] == marker
    assert {key.rpartition("+")[2] for key in set(hourly.keys(in_hour)) - set(before)} == {"0000000007.json"}

    run(hourly, hour(4), "--until-now")
    assert len(markers(hourly)) == 4
    verified = call("verify", hourly.config, "--json")
    assert verified.exit_code == 0, verified.output
    garbage = call("gc", hourly.config)
    assert garbage.exit_code == 0, garbage.output
    assert "_COMPLETE" not in verified.output + garbage.output
