"""A damaged log gets a clear error and loses nothing: real broker, real S3 API, the command as users call it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from kafka_s3.export.run import run
from kafka_s3.log.documents import decode, encode
from kafka_s3.log.entries import FORMAT_VERSION, Plan, sha256_of
from kafka_s3.settings.model import Settings
from kafka_s3.wiring import make_exporter
from tests.support import request as run_request
from tests.wiring import test_bad_input
from tests.wiring.test_bad_input import SECRET, Connector

connector = test_bad_input.connector


# The log


def _truncated(body: bytes) -> bytes:
    return body[: len(body) // 2]


def _edited(body: bytes) -> bytes:
    assert b'"connector":"orders"' in body
    return body.replace(b'"connector":"orders"', b'"connector":"Orders"')


def _newer(body: bytes) -> bytes:
    """What a later release might write: another version, and its checksum."""
    content = body[body.index(b'"body":') + len(b'"body":') : -1]
    was, now = b'"format_version":%d' % FORMAT_VERSION, b'"format_version":%d' % (FORMAT_VERSION + 1)
    assert content.count(was) == 1
    content = content.replace(was, now)
    return b'{"sha256":"%s","body":%s}' % (sha256_of(content).encode(), content)


def _not_ours(body: bytes) -> bytes:
    return b"<html>It works!</html>"


DAMAGES = {
    _truncated: "is truncated or not JSON",
    _edited: "was edited: its checksum does not match its content",
    _newer: f"has format version {FORMAT_VERSION + 1}, this exporter knows up to {FORMAT_VERSION}",
    _not_ours: "is truncated or not JSON",
}


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__.strip("_"))
@pytest.mark.parametrize("kind", ["log", "plan"])
def test_damaged_document(connector: Connector, kind: str, damage: Any) -> None:
    """A newest entry or an open plan that is not what it should be: status 65, the key and why, nothing is written.

    With the document restored the export goes on: nothing was lost and nothing is there twice.
    """
    connector.produce(0, b'{"n":0}')
    settings = connector.settings()
    if kind == "log":
        assert connector.run_here(settings, "one").exit_status == 0
        key = connector.document("log", 1)
    else:
        _die_after_planning(connector, settings)
        key = connector.document("plan", 1)
    connector.produce(0, b'{"n":1}')
    good = connector.objects()[key]
    connector.replace(key, damage(good))
    before = connector.objects()
    ran = connector.run()
    assert ran.returncode == 65
    assert f"The {'log entry' if kind == 'log' else 'plan'} {key} {DAMAGES[damage]}" in ran.stderr
    assert connector.objects() == before
    connector.replace(key, good)
    assert connector.run_here(settings, "restored").exit_status == 0
    assert connector.records()[0] == [{"n": 0}, {"n": 1}]


def _die_after_planning(connector: Connector, settings: Settings) -> None:
    class Died(BaseException):
        pass

    def die(_: object) -> Any:
        raise Died

    with pytest.raises(Died):
        run(make_exporter(settings), run_request("dead"), die, lambda _: None)
    assert connector.objects("topics/") == {}


def test_entry_of_another_connector(connector: Connector) -> None:
    """A whole, valid entry under a key that is not its own was copied there: status 65, nothing is written."""
    connector.produce(0, b'{"n":0}')
    assert connector.run_here(connector.settings(), "one").exit_status == 0
    connector.replace(connector.document("log", 1), connector.objects()[connector.document("log", 0)])
    before = connector.objects()
    ran = connector.run()
    assert ran.returncode == 65
    assert f"{connector.document('log', 1)} says it is number 0 of connector orders" in ran.stderr
    assert connector.objects() == before


def test_log_that_is_gone(connector: Connector) -> None:
    """Objects without a log are never a first run, which would export them again: status 65, nothing is written."""
    connector.produce(0, b'{"n":0}')
    assert connector.run_here(connector.settings(), "one").exit_status == 0
    client = connector.store.client()
    for key in connector.objects("_kafka_s3/orders/log/"):
        client.delete_object(Bucket=connector.bucket, Key=key)
    before = connector.objects()
    ran = connector.run(as_process=True)
    assert ran.returncode == 65
    assert "no log entry under _kafka_s3/orders/log/" in ran.stderr
    assert connector.objects() == before


def test_plan_that_does_not_follow(connector: Connector) -> None:
    """A valid plan whose ranges do not begin at the positions was made up: status 65, nothing is exported by it."""
    connector.produce(0, b'{"n":0}', b'{"n":1}')
    settings = connector.settings()
    _die_after_planning(connector, settings)
    key = connector.document("plan", 1)
    plan = decode(Plan, key, connector.objects()[key])
    (planned,) = plan.ranges
    forged = msgspec.structs.replace(plan, ranges=(msgspec.structs.replace(planned, start=1),))
    connector.replace(key, encode(forged))
    before = connector.objects()
    ran = connector.run()
    assert ran.returncode == 65
    assert f"Plan 1 has a range {connector.topic}-0 [1, 2) where 0 was the next offset" in ran.stderr
    assert connector.objects() == before


def test_no_secret_in_the_bucket(connector: Connector) -> None:
    """Nothing that a run writes holds the secret key, in plan, entry, owner or object."""
    connector.produce(0, b'{"n":0}', b"{oops")
    settings = connector.settings()
    hidden = replace(settings, s3=replace(settings.s3, secret_access_key=SECRET))
    report = connector.run_here(hidden, "one")  # moto takes any key
    assert report.exit_status == 65
    bodies = connector.objects()
    assert len(bodies) >= 4
    assert not [key for key, body in bodies.items() if SECRET.encode() in body]
