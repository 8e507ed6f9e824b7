"""Every configuration that the sink's pages show, on the real broker and the real store.

Two more pages, both "Kafka Connect S3 Sink" (Block-GZIP), are about another connector: nothing of them is here.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import fastavro
import pytest
from confluent_kafka import Producer
from confluent_kafka.schema_registry import Schema

from kafka_s3.export.run import run
from kafka_s3.plan.batch import RunRequest
from kafka_s3.settings import Lookups, load
from kafka_s3.settings.properties import render
from kafka_s3.wiring import make_exporter, make_local_execute
from tests.adapters.test_letter_topic import read
from tests.cli.command import call, write_properties
from tests.examples import confluent, guide
from tests.examples.example import Example, Properties, Runs, Wrong
from tests.write.members import rows_of
from tools.parts.kafka import KafkaBroker
from tools.parts.registry import SchemaRegistry
from tools.parts.s3 import MotoServer

EXAMPLES = (*confluent.EXAMPLES, *guide.EXAMPLES)
RUN = [each for each in EXAMPLES if isinstance(each.outcome, Runs)]
REFUSED = [each for each in EXAMPLES if isinstance(each.outcome, Wrong)]

LETTERS = "errors.deadletterqueue"
SCHEMA = {
    "type": "record",
    "name": "Event",
    "fields": [
        {"name": "f1", "type": "string"},
        {"name": "region", "type": "string"},
        {"name": "event_type", "type": "string"},
        {"name": "timestamp", "type": "long"},
    ],
}
START_MS = round(datetime(2024, 1, 15, 10, tzinfo=UTC).timestamp() * 1000)
HOURS = (("2024-01-15T10:00", "2024-01-15T11:00"), ("2024-01-15T11:00", "2024-01-15T12:00"))


def _values() -> list[dict[str, object]]:
    """Nine records, ten minutes apart."""
    return [_value(number, at) for number, at in enumerate(_times())]


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
    """An empty topic, an empty bucket, and what every configuration is completed with."""

    topic: str
    bucket: str
    kafka: KafkaBroker
    moto: MotoServer
    folder: Path
    completed: Mapping[str, str]
    env: Mapping[str, str]

    def produce(self, values: Sequence[bytes], times: Sequence[int]) -> None:
        producer = Producer({"bootstrap.servers": self.kafka.bootstrap_servers})
        for value, timestamp in zip(values, times, strict=True):
            producer.produce(self.topic, value, partition=0, timestamp=timestamp)
        assert producer.flush(30) == 0

    def write_worker(self, **properties: str) -> None:
        """The worker's file; `_` stands for `.`."""
        more = {name.replace("_", "."): value for name, value in properties.items()}
        write_properties(
            self.folder / "worker.properties",
            {
                "bootstrap.servers": self.kafka.bootstrap_servers,
                "key.converter": "org.apache.kafka.connect.storage.StringConverter",
                **more,
            },
        )

    def objects(self) -> dict[str, list[object]]:
        """The rows of every data object."""
        client = self.moto.client()
        found = client.list_objects_v2(Bucket=self.bucket, Prefix="topics/").get("Contents", [])
        bodies = {each["Key"]: client.get_object(Bucket=self.bucket, Key=each["Key"])["Body"].read() for each in found}
        return {key: [_plain(row) for row in rows_of(key, body)] for key, body in bodies.items()}

    def expected(self, runs: Runs) -> dict[str, list[object]]:
        values = _values()
        return {
            f"topics/{self.topic}/{key.format(t=self.topic)}": [values[offset] for offset in offsets]
            for key, offsets in runs.objects.items()
        }


def _plain(row: object) -> object:
    return json.loads(row) if isinstance(row, bytes) else row


@pytest.fixture
def place(kafka: KafkaBroker, moto: MotoServer, topic_name: str, bucket_name: str, tmp_path: Path) -> Place:
    kafka.create_topic(topic_name)
    moto.create_bucket(bucket_name)
    completed = {
        "topics": topic_name,
        "s3.bucket.name": bucket_name,
        "s3.region": moto.region,
        "store.url": moto.endpoint_url,
    }
    env = {"AWS_ACCESS_KEY_ID": moto.access_key, "AWS_SECRET_ACCESS_KEY": moto.secret_key}
    return Place(topic_name, bucket_name, kafka, moto, tmp_path, completed, env)


def _as_json(place: Place) -> dict[str, str]:
    """The nine records as JSON without a schema, and a worker that reads it."""
    place.produce([json.dumps(value).encode() for value in _values()], _times())
    place.write_worker(
        value_converter="org.apache.kafka.connect.json.JsonConverter", value_converter_schemas_enable="false"
    )
    return {}


def _as_avro(place: Place, example: Example, registry: SchemaRegistry) -> dict[str, str]:
    """The nine records by a schema of the registry, a worker that knows it, and what the example is completed with."""
    schema = json.dumps(SCHEMA)
    id = registry.client().register_schema(f"{place.topic}-value", Schema(schema, "AVRO"))
    values = []
    for value in _values():
        datum = io.BytesIO()
        fastavro.schemaless_writer(datum, SCHEMA, value)
        values.append(b"\0" + id.to_bytes(4, "big") + datum.getvalue())
    place.produce(values, _times())
    place.write_worker(
        value_converter="io.confluent.connect.avro.AvroConverter", value_converter_schema_registry_url=registry.url
    )
    return {name: registry.url for name in example.properties if name.endswith(".schema.registry.url")}


@pytest.mark.parametrize(
    "example",
    # a second each: `make test` takes every third
    [pytest.param(each, id=each.name, marks=[pytest.mark.heavy] * bool(n % 3)) for n, each in enumerate(RUN)],
)
def test_it_exports_every_record_once_under_the_keys_it_says(
    place: Place, example: Example, request: pytest.FixtureRequest
) -> None:
    """Keys, contents and boundaries are those of the configuration, and verify finds every record in Kafka again."""
    runs = example.outcome
    assert isinstance(runs, Runs)
    if runs.registered:
        completed = _as_avro(place, example, request.getfixturevalue("registry_server"))
    else:
        completed = _as_json(place)
    dead = f"{place.topic}-dead"
    if runs.refused:
        place.produce([b"{oops"], [_times()[-1] + 60_000])
        completed |= {f"{LETTERS}.topic.name": dead, f"{LETTERS}.topic.replication.factor": "1"}  # there is one broker
    config = _write(place.folder, example, {**place.completed, **completed})
    times = [("--interval", *hour) for hour in HOURS] if runs.hours else [("--until-now",)]
    for time in times:
        ran = call("run", config, *time, env=place.env)
        assert ran.exit_code == 0, ran.output
    assert place.objects() == place.expected(runs)
    if runs.refused:
        [letter] = read(place.kafka, dead, 1)
        assert letter.value() == b"{oops"
    verified = call("verify", config, "--against-kafka", env=place.env)
    assert verified.exit_code == 0, verified.output
    assert f"{len(runs.objects)} object" in verified.stdout
    assert "9 records" in verified.stdout


def test_keys_may_come_from_a_backend_for_secrets(place: Place) -> None:
    """The command line has none and says so; where one is, as under Airflow, the page's fragment exports."""
    _as_json(place)
    config = _write(place.folder, guide.SECRET_KEYS, place.completed)
    refused = call("run", config, "--until-now")
    assert refused.exit_code == 78
    assert "the variable ${secrets:aws/secret-key} cannot be looked up: no backend for secrets" in refused.stderr
    secrets = {"aws/access-key": place.moto.access_key, "aws/secret-key": place.moto.secret_key}
    settings = load(config, lookups=Lookups(secrets=secrets.get)).settings
    assert (settings.s3.access_key_id, settings.s3.secret_access_key) == ("testing", "testing")
    report = run(make_exporter(settings), RunRequest("r", 1, None, START_MS), make_local_execute(settings), print)
    assert report.exit_status == 0
    assert isinstance(guide.SECRET_KEYS.outcome, Runs)
    assert place.objects() == place.expected(guide.SECRET_KEYS.outcome)


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
