"""rewind on a real broker and a real S3 API: what a person types, sees and gets."""

from __future__ import annotations

import json

import pytest
from click.testing import Result
from confluent_kafka import TopicPartition as Assignment

from tests.cli.command import call
from tests.cli.conftest import SECRET, ConnectorFile
from tests.support import rows_of


def _call(connector: ConnectorFile, command: str, *arguments: object, input: str | None = None) -> Result:
    result = call(command, connector.config, *arguments, env=connector.env, input=input)
    assert SECRET not in result.output
    assert "Traceback" not in result.output
    return result


def _run(connector: ConnectorFile, status: int = 0) -> Result:
    result = _call(connector, "run", "--until-now")
    assert result.exit_code == status, result.output
    return result


def _delete_records(connector: ConnectorFile, below: int) -> None:
    admin = connector.broker.admin()
    for future in admin.delete_records([Assignment(connector.topic, 0, below)]).values():
        future.result(30)


def _live(connector: ConnectorFile, prefix: str = "topics/") -> list[int]:
    rows = [row for key in connector.keys(prefix) for row in rows_of(connector.body(key), key)]
    return sorted(row["n"] for row in rows)


def test_a_partition_is_exported_again(connector: ConnectorFile) -> None:
    """Shown, asked, written; the next run writes it again under +g1, status and verify say that all is well."""
    for _ in range(2):
        connector.produce(6)
        _run(connector)
    shown = _call(connector, "rewind", "--to", f"{connector.topic}-0=8", input="y\n")
    assert shown.exit_code == 0, shown.output
    assert f"{connector.topic}-0 goes back to 6, where a committed range begins." in shown.stdout
    assert "Written as log entry 3 (rewind)" in shown.stdout
    _run(connector)
    assert [key for key in connector.keys("topics/") if "+g1" in key]
    assert _live(connector) == sorted([*range(6), *range(6), *range(6)])  # a plain listing shows both
    status = _call(connector, "status")
    assert "OK: " in status.stdout
    assert f"Restarted: {connector.topic}-0 at 6 in entry 3 (rewound, generation 1)" in status.stdout
    verified = _call(connector, "verify", "--against-kafka")
    assert verified.exit_code == 0, verified.output


def test_without_a_yes_nothing_is_written(connector: ConnectorFile) -> None:
    """No, no terminal, or --json alone: the bucket stays as it is; --json --yes writes and says what."""
    connector.produce(6)
    _run(connector)
    before = connector.keys()
    target = f"{connector.topic}-0=0"
    for given in ("n\n", ""):
        refused = _call(connector, "rewind", "--to", target, input=given)
        assert (refused.exit_code, "Nothing was written." in refused.output) == (1, True)
    shown = json.loads(_call(connector, "rewind", "--to", target, "--json").stdout)
    assert shown["written"] is None
    assert shown["moves"][0]["keys"] == [key for key in before if key.startswith("topics/")]
    assert connector.keys() == before
    written = json.loads(_call(connector, "rewind", "--to", target, "--json", "--yes").stdout)
    assert written["written"]["kind"] == "rewind"
    assert len(connector.keys()) == len(before) + 1


def test_a_loss_says_the_command_that_resolves_it(connector: ConnectorFile) -> None:
    """run fails with 65, status names the command, the command works, the next run goes on, the gap is shown."""
    connector.produce(6)
    _run(connector)
    connector.produce(6)
    _delete_records(connector, 8)
    assert "offsets [6, 8) are gone" in _run(connector, 65).output
    status = _call(connector, "status")
    assert status.exit_code == 1
    told = f"kafka-s3 rewind {connector.config} --accept {connector.topic}-0"
    assert told in status.stdout
    accepted = _call(connector, "rewind", "--accept", f"{connector.topic}-0")
    assert accepted.exit_code == 0, accepted.output
    _run(connector)
    after = _call(connector, "status")
    assert after.exit_code == 0
    assert f"Lost: {connector.topic}-0 [6, 8), accepted in entry 2" in after.stdout
    assert _call(connector, "verify").exit_code == 0


def test_a_topic_created_again_says_the_command_to_give(connector: ConnectorFile) -> None:
    connector.produce(6)
    _run(connector)
    connector.broker.delete_topic(connector.topic)
    connector.broker.create_topic(connector.topic, 2)
    connector.produce(3)
    assert "was deleted and created again" in _run(connector, 65).output
    told = f"kafka-s3 rewind {connector.config} --accept {connector.topic},"
    assert told in _call(connector, "status").stdout
    assert _call(connector, "rewind", "--accept", connector.topic).exit_code == 0
    _run(connector)
    assert _live(connector) == sorted([*range(6), *range(3)])
    assert _call(connector, "verify", "--against-kafka").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        ((), 2, "Give either --to or --accept."),
        (("--to", "orders"), 2, "is not TOPIC-PARTITION=OFFSET, like orders-0=1200"),
        (("--to", "orders-0=-1"), 2, "is not TOPIC-PARTITION=OFFSET"),
        (("--to", "nothing-0=1"), 1, "the log does not know this partition"),
        (("--accept", "nothing"), 1, "nothing is wrong with it"),
    ],
)
def test_a_mistake_is_said(connector: ConnectorFile, arguments: tuple[str, ...], status: int, says: str) -> None:
    connector.produce(3)
    _run(connector)
    before = connector.keys()
    result = _call(connector, "rewind", *arguments)
    assert (result.exit_code, says in result.output) == (status, True), result.output
    assert connector.keys() == before


def test_before_anything_was_exported(connector: ConnectorFile) -> None:
    result = _call(connector, "rewind", "--to", f"{connector.topic}-0=1")
    assert result.exit_code == 1
    assert "there is nothing to rewind" in result.output
