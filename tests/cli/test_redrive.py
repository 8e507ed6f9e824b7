"""redrive on a real broker and a real S3 API."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from click.testing import Result
from confluent_kafka import Consumer, Message, TopicPartition

from kafka_s3.adapters.s3 import S3Store
from kafka_s3.log.store import Log
from kafka_s3.naming import LogLayout
from kafka_s3.settings.s3 import S3Settings
from tests.cli.command import PLAIN, call, call_process, write_properties
from tests.cli.conftest import SECRET, ConnectorFile
from tests.dead_letters.letters import TIME_MS, commit_letters, letter
from tools.parts.s3 import MotoServer


@pytest.fixture
def log(connector: ConnectorFile, moto: MotoServer) -> Log:
    """The connector's log; partition 1 of its topic has the dead letters 3, 4 and 7."""
    s3 = S3Settings(
        connector.bucket,
        moto.region,
        moto.endpoint_url,
        access_key_id=moto.access_key,
        secret_access_key=moto.secret_key,
    )
    made = Log(S3Store(s3), LogLayout("_kafka_s3", "orders"))
    plain = [replace(letter(offset), topic=connector.topic, partition=1) for offset in (3, 4, 7)]
    commit_letters(made, *plain[:2], replace(plain[2], error="no field 'country'", stage="TASK_PUT"))
    return made


def _call(connector: ConnectorFile, *arguments: object) -> Result:
    result = call("redrive", connector.config, *arguments, env=connector.env)
    assert SECRET not in result.output
    return result


def _records(connector: ConnectorFile, topic: str, partition: int) -> list[Message]:
    """Everything that a partition holds."""
    consumer = Consumer({"bootstrap.servers": connector.broker.bootstrap_servers, "group.id": "test"})
    at = TopicPartition(topic, partition, 0)
    try:
        _, end = consumer.get_watermark_offsets(at, timeout=30)
        consumer.assign([at])
        return consumer.consume(end, 30) if end else []
    finally:
        consumer.close()


@pytest.mark.usefixtures("log")
def test_back_to_their_topic(connector: ConnectorFile) -> None:
    """They are back in their partition byte for byte, and stay there once: the second call sends nothing."""
    result = _call(connector)
    assert result.exit_code == 0, result.output
    assert result.stdout == f"3 dead letters sent to {connector.topic}.\n"
    found = _records(connector, connector.topic, 1)
    assert [(each.key(), each.value(), each.headers()) for each in found] == [(b"k", b"{oops", [("n", None)])] * 3
    assert all(each.timestamp()[1] > TIME_MS + 3_600_000 for each in found)
    again = _call(connector)
    assert (again.exit_code, again.stdout) == (0, "3 dead letters were sent there before; --again sends them again.\n")
    assert len(_records(connector, connector.topic, 1)) == 3
    assert _call(connector, "--again", "--offsets", "7").stdout == f"1 dead letter sent to {connector.topic}.\n"
    assert len(_records(connector, connector.topic, 1)) == 4


@pytest.mark.usefixtures("log")
def test_some_of_them_to_another_topic(connector: ConnectorFile) -> None:
    """Options choose the letters, --to the topic, --keep-timestamps the time; --json says it to machines."""
    target = f"{connector.topic}-fixed"
    connector.broker.create_topic(target)
    chosen = ("--stage", "task_put", "--error", "COUNTRY", "--to", target, "--keep-timestamps", "--json")
    result = _call(connector, *chosen)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == {
        "matched": 1,
        "sent_before": 0,
        "dry_run": False,
        "sent": {target: 1},
        "not_sent_of": [],
    }
    [found] = _records(connector, target, 0)
    assert found.timestamp()[1] == TIME_MS + 7 * 60_000
    [record] = [json.loads(connector.body(key)) for key in connector.keys("_kafka_s3/orders/redriven/")]
    assert (record["to"], record["offsets"], record["letters"]) == (target, [[7, 7]], 1)


@pytest.mark.usefixtures("log")
def test_dry_run(connector: ConnectorFile) -> None:
    """It says what would be sent, and neither topic nor bucket change."""
    before = connector.keys()
    result = _call(connector, "--dry-run", "--until", "2026-01-01T00:05:00Z")
    assert (result.exit_code, result.stdout) == (0, f"2 dead letters would be sent to {connector.topic}.\n")
    assert _records(connector, connector.topic, 1) == []
    assert connector.keys() == before


@pytest.mark.parametrize("chosen", [("--partition", "0"), ("--offsets", "5-6"), ("--topic", "none"), ("--error", "x")])
@pytest.mark.usefixtures("log")
def test_nothing_found(connector: ConnectorFile, chosen: tuple[str, ...]) -> None:
    """No letter meets the options: exit status 1."""
    result = _call(connector, *chosen)
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", "No dead letters match the options.\n")


def test_no_log(connector: ConnectorFile) -> None:
    """A connector that never ran has no dead letters either."""
    assert _call(connector).exit_code == 1


@pytest.mark.usefixtures("log")
def test_a_topic_that_is_missing(connector: ConnectorFile) -> None:
    """A process ends with 1 and one message, no traceback; the topic is not made, nothing is written down."""
    done = call_process("redrive", connector.config, "--to", "no-such-topic", env=connector.env)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("The topic no-such-topic does not exist on ")
    assert len(done.stderr.splitlines()) == 2
    assert connector.keys("_kafka_s3/orders/redriven/") == []


def test_damaged_letters(connector: ConnectorFile, log: Log) -> None:
    """Dead letters that are not the commit's are not sent: exit status 1, and the key."""
    [key] = connector.keys("_kafka_s3/orders/rejected/")
    body = connector.body(key)
    connector.overwrite(key, body[:-1] + b"\0" if body[-1] else body[:-1] + b"\1")
    result = _call(connector)
    assert result.exit_code == 1
    assert key in result.stderr
    assert "sha256" in result.stderr
    assert _records(connector, connector.topic, 1) == []
    assert log.newest() is not None


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (("--offsets", "7-3"), "the lower one first"),
        (("--offsets", "a"), "neither an offset"),
        (("--offsets", "-3"), "--offsets"),
        (("--offsets", "9" * 20), "neither an offset"),
        (("--partition", "-1"), "--partition"),
        (("--stage", "LUNCH"), "is not one of"),
        (("--to", "a/b"), "not a valid topic name"),
        (("--to", ".."), "not a valid topic name"),
        (("--since", "noon"), "ISO 8601"),
        (("--since", "2026-01-02", "--until", "2026-01-01"), "--until must be after --since"),
    ],
)
def test_a_wrong_call(tmp_path: object, wrong: tuple[str, ...], said: str) -> None:
    """Options that mean nothing are refused with status 2 before anything is read."""
    result = call("redrive", f"{tmp_path}/none.properties", *wrong)
    assert result.exit_code == 2
    assert said in result.stderr


def test_a_configuration_that_is_wrong(connector: ConnectorFile) -> None:
    """A broken file is exit status 1 with every problem, as of any other command."""
    write_properties(connector.config, {**PLAIN, "flush.size": "many"})
    result = call("redrive", connector.config)
    assert result.exit_code == 1
    assert "flush.size=many" in result.stderr
