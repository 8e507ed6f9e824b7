"""Every configuration that the sink's pages show, on the real broker and the real store.

Two more pages, both "Kafka Connect S3 Sink" (Block-GZIP), are about another connector: nothing of them is here.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from confluent_kafka import Producer

from kafka_s3.export.run import run
from kafka_s3.planning import RunRequest
from kafka_s3.settings import Lookups, load
from kafka_s3.settings.properties import render
from kafka_s3.wiring import in_threads, make_exporter
from tests.cli.command import call, write_properties
from tests.examples import confluent, guide
from tests.examples.example import Example, Needs, Properties, Runs, Wrong
from tools.parts.kafka import KafkaBroker
from tools.parts.s3 import MotoServer

EXAMPLES = (*confluent.EXAMPLES, *guide.EXAMPLES)
RUN = [each for each in EXAMPLES if isinstance(each.outcome, Runs)]
ACCEPTED = [each for each in EXAMPLES if isinstance(each.outcome, Needs)]
REFUSED = [each for each in EXAMPLES if isinstance(each.outcome, Wrong)]

START_MS = round(datetime(2024, 1, 15, 10, tzinfo=UTC).timestamp() * 1000)
HOURS = (("2024-01-15T10:00", "2024-01-15T11:00"), ("2024-01-15T11:00", "2024-01-15T12:00"))


def _records() -> list[tuple[int, bytes]]:
    """Nine records, ten minutes apart: timestamp and value."""
    return [(at, json.dumps(_value(number, at)).encode()) for number, at in enumerate(_times())]


def _times() -> list[int]:
    return [START_MS + number * 600_000 for number in range(9)]


def _value(number: int, at: int) -> dict[str, object]:
    return {
        "f1": f"value{number + 1}",
        "region": "us-east" if number % 3 else "eu-west",
        "event_type": "view" if number % 2 else "click",
        "timestamp": at,
    }


def _write(folder: Path, example: Example, completed: Properties) -> Path:
    """The file that a user of the page would have, completed for this machine."""
    properties = {**example.base, **example.properties, **completed}
    path = folder / f"connector{example.suffix}"
    if example.suffix == ".properties":
        return write_properties(path, {name: render(value) for name, value in properties.items()})
    path.write_text(json.dumps({"name": properties["name"], "config": properties, "tasks": []}))
    return path


@dataclass(frozen=True)
class Place:
    """A topic with the nine records, an empty bucket, and what every configuration is completed with."""

    topic: str
    bucket: str
    moto: MotoServer
    folder: Path
    completed: Mapping[str, str]
    env: Mapping[str, str]

    def bodies(self) -> dict[str, bytes]:
        """Every data object, unpacked where its name says that it is gzip."""
        client = self.moto.client()
        found = client.list_objects_v2(Bucket=self.bucket, Prefix="topics/").get("Contents", [])
        bodies = {each["Key"]: client.get_object(Bucket=self.bucket, Key=each["Key"])["Body"].read() for each in found}
        return {key: gzip.decompress(body) if key.endswith(".gz") else body for key, body in bodies.items()}

    def expected(self, runs: Runs) -> dict[str, bytes]:
        values = [value for _, value in _records()]
        return {
            f"topics/{self.topic}/{key.format(t=self.topic)}": b"".join(values[offset] + b"\n" for offset in offsets)
            for key, offsets in runs.objects.items()
        }


@pytest.fixture
def place(kafka: KafkaBroker, moto: MotoServer, topic_name: str, bucket_name: str, tmp_path: Path) -> Place:
    kafka.create_topic(topic_name)
    moto.create_bucket(bucket_name)
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for timestamp, value in _records():
        producer.produce(topic_name, value, partition=0, timestamp=timestamp)
    assert producer.flush(30) == 0
    worker = {
        "bootstrap.servers": kafka.bootstrap_servers,
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
    }
    write_properties(tmp_path / "worker.properties", worker)
    completed = {
        "topics": topic_name,
        "s3.bucket.name": bucket_name,
        "s3.region": moto.region,
        "store.url": moto.endpoint_url,
    }
    env = {"AWS_ACCESS_KEY_ID": moto.access_key, "AWS_SECRET_ACCESS_KEY": moto.secret_key}
    return Place(topic_name, bucket_name, moto, tmp_path, completed, env)


@pytest.mark.parametrize("example", RUN, ids=lambda example: example.name)
def test_it_exports_every_record_once_under_the_keys_it_says(place: Place, example: Example) -> None:
    """Keys, contents and boundaries are those of the configuration, and verify finds every record in Kafka again."""
    assert isinstance(example.outcome, Runs)
    config = _write(place.folder, example, place.completed)
    times = [("--interval", *hour) for hour in HOURS] if example.outcome.hours else [("--until-now",)]
    for time in times:
        ran = call("run", config, *time, env=place.env)
        assert ran.exit_code == 0, ran.output
    assert place.bodies() == place.expected(example.outcome)
    verified = call("verify", config, "--against-kafka", env=place.env)
    assert verified.exit_code == 0, verified.output
    assert f"{len(example.outcome.objects)} object" in verified.stdout
    assert "9 records" in verified.stdout


def test_keys_may_come_from_a_backend_for_secrets(place: Place) -> None:
    """The command line has none and says so; where one is, as under Airflow, the page's fragment exports."""
    config = _write(place.folder, guide.SECRET_KEYS, place.completed)
    refused = call("run", config, "--until-now")
    assert refused.exit_code == 78
    assert "the variable ${secrets:aws/secret-key} cannot be looked up: no backend for secrets" in refused.stderr
    secrets = {"aws/access-key": place.moto.access_key, "aws/secret-key": place.moto.secret_key}
    settings = load(config, lookups=Lookups(secrets=secrets.get)).settings
    assert (settings.s3.access_key_id, settings.s3.secret_access_key) == ("testing", "testing")
    report = run(make_exporter(settings), RunRequest("r", 1, None, START_MS), in_threads(settings), print)
    assert report.exit_status == 0
    assert isinstance(guide.SECRET_KEYS.outcome, Runs)
    assert place.bodies() == place.expected(guide.SECRET_KEYS.outcome)


@pytest.mark.parametrize("example", ACCEPTED, ids=lambda example: example.name)
def test_it_is_accepted(tmp_path: Path, example: Example) -> None:
    """With a worker whose values have schemas, as the pages have one in mind, nothing is wrong with it."""
    worker = {
        "value.converter": "io.confluent.connect.avro.AvroConverter",
        "value.converter.schema.registry.url": "http://schema-registry:8081",
    }
    write_properties(tmp_path / "worker.properties", worker)
    result = call("validate", _write(tmp_path, example, {}))
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("example", REFUSED, ids=lambda example: example.name)
def test_it_is_refused_by_name_and_for_nothing_else(tmp_path: Path, example: Example) -> None:
    """Each problem is named with its reason, all at once, and what is not about them is accepted."""
    assert isinstance(example.outcome, Wrong)
    config = _write(tmp_path, example, {})
    result = call("validate", config, "--json")
    assert result.exit_code == 1
    found = {each["property"]: each["problem"] for each in json.loads(result.stdout)["problems"]}
    assert found.keys() == example.outcome.problems.keys()
    for name, message in example.outcome.problems.items():
        assert found[name].startswith(message), (name, found[name])
    assert call("run", config, "--until-now").exit_code == 78


def test_every_example_has_a_name_of_its_own() -> None:
    names = [each.name for each in (*EXAMPLES, guide.SECRET_KEYS)]
    assert len(names) == len(set(names)) == 44
