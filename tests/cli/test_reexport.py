"""reexport on a real broker and a real S3 API with conditional writes: what a person types, sees and gets."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from click.testing import Result
from confluent_kafka import TopicPartition as Assignment

from tests.cli.command import call
from tests.cli.conftest import SECRET, ConnectorFile
from tests.support import HOUR_MS, rows_of
from tools.parts.s3 import VersityGateway

NOON = 1_767_268_800_000  # 2026-01-01T12:00:00Z
HOUR = ("--from", "2026-01-01T12:00:00Z", "--to", "2026-01-01T13:00:00Z")
PREFIX = "reexport/20260101T120000Z-20260101T130000Z/"


@pytest.fixture
def dated(connector: ConnectorFile, versitygw: VersityGateway) -> ConnectorFile:
    """The connector over versitygw; its log says how old records are."""
    versitygw.create_bucket(connector.bucket)
    text = connector.config.read_text() + "export.timestamps.enable=true\n"
    for line in text.splitlines():
        name = line.partition("=")[0]
        for property, new in (
            ("store.url", versitygw.endpoint_url),
            ("aws.access.key.id", versitygw.access_key),
            ("s3.region", versitygw.region),
        ):
            if name == property:
                text = text.replace(line, f"{name}={new}")
    connector.config.write_text(text)
    client = versitygw.client()
    return replace(connector, client=client, env={"CLI_TEST_SECRET": versitygw.secret_key})


def _call(connector: ConnectorFile, command: str, *arguments: object, status: int = 0) -> Result:
    result = call(command, connector.config, *arguments, env=connector.env)
    assert result.exit_code == status, result.output
    assert SECRET not in result.output
    assert connector.env["CLI_TEST_SECRET"] not in result.output
    assert "Traceback" not in result.output
    return result


def _numbers(connector: ConnectorFile, prefix: str) -> list[int]:
    rows = [row for key in connector.keys(prefix) for row in rows_of(connector.body(key), key)]
    return sorted(row["n"] for row in rows)


def _produce(connector: ConnectorFile, first: int, count: int, at_ms: int) -> None:
    values: list[bytes | None] = [json.dumps({"n": number}).encode() for number in range(first, first + count)]
    connector.produce_values(values, timestamp_ms=at_ms)


def test_a_window_whose_head_retention_took(dated: ConnectorFile) -> None:
    """The hour's records are partly gone from Kafka: those objects are copied, the late ones are read. The second time
    nothing is done but that an upload which a dead run left is aborted; verify, gc and status are content, and status
    lists the window."""
    _produce(dated, 0, 6, NOON)
    _produce(dated, 6, 6, NOON + HOUR_MS)
    _call(dated, "run", "--until-now")
    _produce(dated, 12, 2, NOON + 5)
    _call(dated, "run", "--until-now")
    admin = dated.broker.admin()
    for future in admin.delete_records([Assignment(dated.topic, 0, 4)]).values():
        future.result(30)
    live = dated.keys()
    done = _call(dated, "reexport", *HOUR)
    assert "1 ranges are gone from Kafka: their objects are copied" in done.stdout
    assert done.stdout.endswith(f"s3://{dated.bucket}/{PREFIX}\n")
    assert _numbers(dated, PREFIX) == [0, 1, 2, 3, 4, 5, 12, 13]
    copied = dated.keys(PREFIX)[0]
    assert dated.body(copied) == dated.body(copied.replace(PREFIX, "topics/"))
    before = dated.keys()
    assert set(live) < set(before)
    again = _call(dated, "reexport", *HOUR)
    assert "is committed: entry 0" in again.stdout
    assert dated.keys() == before
    dated.client.create_multipart_upload(Bucket=dated.bucket, Key=copied)
    assert "0 objects (0.0 MB) and 1 open upload can be deleted" in _call(dated, "gc").stdout
    assert "open uploads that other runs of window" in _call(dated, "reexport", *HOUR).stdout
    _call(dated, "verify")
    assert "Nothing" in _call(dated, "gc").stdout
    shown = _call(dated, "status").stdout
    [row] = [line for line in shown.splitlines() if PREFIX in line]
    assert row.split()[:5] == ["2026-01-01T12:00:00Z", "2026-01-01T13:00:00Z", "committed", "8", "3"]
    [window] = json.loads(_call(dated, "status", "--json").stdout)["reexported"]
    assert (window["from"], window["records"], window["prefix"]) == ("2026-01-01T12:00:00Z", 8, PREFIX)


def test_what_only_objects_across_the_edge_hold(dated: ConnectorFile) -> None:
    """One object holds records of two hours, and Kafka none of them: 65, the object named, and nothing written."""
    _produce(dated, 0, 2, NOON)
    _produce(dated, 2, 1, NOON + HOUR_MS)
    _call(dated, "run", "--until-now")
    admin = dated.broker.admin()
    for future in admin.delete_records([Assignment(dated.topic, 0, 3)]).values():
        future.result(30)
    before = dated.keys()
    failed = _call(dated, "reexport", *HOUR, status=65)
    assert dated.keys("topics/")[0] in failed.stderr
    assert "Export a window that holds them completely" in failed.stderr
    assert dated.keys() == before
    _call(dated, "reexport", "--from", "2026-01-01T12:00:00Z", "--to", "2026-01-01T14:00:00Z")
    assert _numbers(dated, "reexport/") == [0, 1, 2]


def test_a_window_that_is_not_exported_yet(dated: ConnectorFile) -> None:
    """75: the live export comes first; a wrong call is 2."""
    _produce(dated, 0, 3, NOON)
    assert "has exported nothing yet" in _call(dated, "reexport", *HOUR, status=75).stderr
    _call(dated, "reexport", "--from", "2026-01-01T12:00:00Z", "--to", "2026-01-01T12:00:00Z", status=2)


def test_a_window_is_withdrawn_and_exported_anew(dated: ConnectorFile) -> None:
    """--withdraw takes the window back, and a second time says that there is nothing; --anew does both in one go; gc
    deletes what the exports before held."""
    _produce(dated, 0, 3, NOON)
    _produce(dated, 3, 1, NOON + HOUR_MS)
    _call(dated, "run", "--until-now")
    _call(dated, "reexport", *HOUR)
    assert "is withdrawn: `kafka-s3 gc --delete`" in _call(dated, "reexport", *HOUR, "--withdraw").stdout
    assert "there is nothing to withdraw" in _call(dated, "reexport", *HOUR, "--withdraw").stdout
    _call(dated, "gc", "--delete")
    assert dated.keys(PREFIX) == []
    _call(dated, "reexport", *HOUR)
    _produce(dated, 4, 1, NOON + 5)
    _call(dated, "run", "--until-now")
    assert "is committed: entry 2" in _call(dated, "reexport", *HOUR).stdout
    assert "commit 4: 4 records" in _call(dated, "reexport", *HOUR, "--anew").stdout
    assert _numbers(dated, PREFIX) == [0, 1, 2, 4]
    assert all("+g2" in key for key in dated.keys(PREFIX))
    assert "give one of them" in _call(dated, "reexport", *HOUR, "--anew", "--withdraw", status=2).output
