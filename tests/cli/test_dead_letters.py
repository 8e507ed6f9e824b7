"""Dead letters as a user meets them: on a real broker and a real S3 API, from the bad record to its second try."""

from __future__ import annotations

import gzip
import json

from confluent_kafka import Message

from kafka_s3.dead_letter import CONTEXT
from tests.adapters.test_letter_topic import read
from tests.cli.command import call, write_properties
from tests.cli.conftest import SECRET, ConnectorFile

NO_COUNTRY = "field country is missing; there are others (1)"


def _configure(connector: ConnectorFile, **more: str) -> None:
    """The connector's file with other properties, `_` for `.`."""
    lines = connector.config.read_text().splitlines()
    before = dict(line.split("=", 1) for line in lines)
    write_properties(connector.config, {**before, **{name.replace("_", "."): text for name, text in more.items()}})


def _run(connector: ConnectorFile) -> str:
    ran = call("run", connector.config, "--until-now", env=connector.env)
    assert ran.exit_code == 0, ran.output
    assert SECRET not in ran.output
    return ran.output


def _context(message: Message) -> dict[str, str]:
    """Connect's headers, by the rest of their names."""
    headers = message.headers() or []
    return {name.removeprefix(CONTEXT): (value or b"").decode() for name, value in headers if name.startswith(CONTEXT)}


def _values(connector: ConnectorFile) -> list[object]:
    keys = connector.keys("topics/")
    return [json.loads(line) for key in keys for line in gzip.decompress(connector.body(key)).splitlines()]


def test_from_a_bad_record_to_its_second_try(connector: ConnectorFile) -> None:
    """It is told of, lies in the topic of dead letters with Connect's headers once, and goes back once the cause is
    gone; then it is exported like any other."""
    dead = f"{connector.topic}-dead"
    _configure(
        connector,
        partitioner_class="FieldPartitioner",
        partition_field_name="country",
        errors_tolerance="all",
        errors_log_enable="true",
        errors_deadletterqueue_topic_name=dead,
        errors_deadletterqueue_topic_replication_factor="1",
        errors_deadletterqueue_context_headers_enable="true",
    )
    connector.produce_values([b'{"country":"CH","n":0}', b'{"n":1}', b"{oops", b'{"country":"CH","n":3}'])
    said = _run(connector)
    assert f"bad record: topic {connector.topic} partition 0 offset 1: {NO_COUNTRY}" in said
    assert f"commit 1: 2 dead letters sent to {dead}" in said
    assert _values(connector) == [{"country": "CH", "n": 0}, {"country": "CH", "n": 3}]

    first, second = read(connector.broker, dead, 2)
    assert (first.value(), second.value()) == (b'{"n":1}', b"{oops")
    context = _context(first)
    assert {name: context[name] for name in ("topic", "partition", "offset", "connector.name", "stage")} == {
        "topic": connector.topic,
        "partition": "0",
        "offset": "1",
        "connector.name": "orders",
        "stage": "TASK_PUT",
    }
    assert context["exception.message"] == NO_COUNTRY
    assert context["class.name"] == "org.apache.kafka.connect.sink.SinkTask"
    assert _context(second)["stage"] == "VALUE_CONVERTER"
    assert _context(second)["class.name"] == "org.apache.kafka.connect.json.JsonConverter"

    _configure(connector, partitioner_class="DefaultPartitioner")
    back = call("redrive", connector.config, "--error", "country", env=connector.env)
    assert (back.exit_code, back.stdout) == (0, f"1 dead letter sent to {connector.topic}.\n")
    _run(connector)
    assert {"n": 1} in _values(connector)
    assert len(_values(connector)) == 3
    again = call("redrive", connector.config, "--error", "country", env=connector.env)
    assert again.stdout == "1 dead letter was sent there before; --again sends it again.\n"
    assert "Nothing new." in _run(connector)
    assert len(read(connector.broker, dead, 2)) == 2
    verified = call("verify", connector.config, "--against-kafka", env=connector.env)
    assert verified.exit_code == 0, verified.output
