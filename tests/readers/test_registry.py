"""A run and its schema registry: asked once, and what becomes of the records while it does not answer."""

from __future__ import annotations

import base64
import io
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import fastavro
import pytest
from confluent_kafka.serialization import MessageField

from tests.adapters.registry_side import forwarding
from tests.cli.command import call_process
from tests.readers.conftest import MakePlace
from tests.readers.place import AVRO, SECRET, Connector, Gate, Place
from tests.support import entries_of
from tools.parts.registry import SchemaRegistry

FIRST = json.dumps({"type": "record", "name": "shop.First", "fields": [{"name": "n", "type": "int"}]})
SECOND = json.dumps({"type": "record", "name": "shop.Second", "fields": [{"name": "n", "type": "int"}]})
BY_RECORD = "io.confluent.kafka.serializers.subject.RecordNameStrategy"
UNKNOWN = 2**30


def through(gate: Gate, place: Place, name: str = "orders", **more: str) -> Connector:
    """A connector whose registry is behind the gate."""
    return place.connector(name, AVRO, value_converter_schema_registry_url=gate.url, **more)


def numbers(connector: Connector) -> list[int]:
    """Every number that was exported."""
    return sorted(row["n"] for body in connector.objects().values() for row in _rows(body))


def _rows(body: bytes) -> Iterator[Any]:
    return iter(fastavro.reader(io.BytesIO(body)))


def _position(connector: Connector, partition: int = 0) -> int:
    return (
        entries_of(connector.place.moto, connector.bucket, "orders")[-1]
        .topics[connector.place.topic]
        .positions[partition]
    )


# It is down.


def test_down_before_the_run(place: Place, gate: Gate) -> None:
    """Status 75 and the address at every try; positions stay; once it is back every record is there once."""
    place.send(FIRST, [{"n": number} for number in range(20)])
    connector = through(gate, place, flush_size="7")
    settings = connector.settings(patience_ms=0)
    gate.shut()
    for _ in range(2):
        report = connector.run("run", settings)
        assert report.exit_status == 75
        assert gate.url in report.problems()[0]
        assert "Check that the registry is up" in report.problems()[0]
        assert connector.objects() == {}
        assert _position(connector) == 0
        newest = entries_of(place.moto, connector.bucket, "orders")[-1]
        assert (newest.ranges, newest.gaps) == ((), ())
        assert [(failed.start, failed.end) for failed in newest.failed] == [(0, 20)]
    gate.open()
    assert connector.run("run", settings).exit_status == 0
    assert numbers(connector) == list(range(20))
    assert _position(connector) == 20
    assert connector.verified().findings == ()


def test_down_in_the_middle(place: Place, gate: Gate) -> None:
    """What a driver asked for is all that the records need: the run goes on to its end without a registry."""
    for number, schema in enumerate([FIRST, SECOND] * 10):
        place.send(schema, [{"n": number}])
    whole = through(gate, place, "whole").exported()
    asked = len(gate.seen)
    connector = through(gate, place)
    gate.refused = lambda _: len(gate.seen) >= 2 * asked
    assert connector.run("run", connector.settings(patience_ms=0)).exit_status == 0
    assert numbers(connector) == numbers(whole) == list(range(20))


def test_down_when_an_id_is_first_seen(make_place: MakePlace, gate: Gate) -> None:
    """A partition whose ids are known is committed; that with one more fails with 75 and is exported afterwards."""
    place = make_place(2)
    first = [place.encoded(FIRST, {"n": number}, subject="record") for number in range(10)]
    second = [place.encoded(SECOND, {"n": number}, subject="record") for number in range(10, 20)]
    place.send_bytes(first[:5])
    place.send_bytes(first[5:] + second, partition=1)
    connector = through(gate, place, value_converter_value_subject_name_strategy=BY_RECORD)
    settings = connector.settings(patience_ms=0)
    unknown = int.from_bytes(second[0][1:5])
    gate.refused = lambda seen: f"/schemas/ids/{unknown}" in seen.path
    report = connector.run("run", settings)
    assert report.exit_status == 75
    (problem,) = report.problems()
    assert f"schema {unknown}" in problem
    assert numbers(connector) == [0, 1, 2, 3, 4]
    assert (_position(connector), _position(connector, 1)) == (5, 0)
    gate.refused = lambda _: False
    assert connector.run("run", settings).exit_status == 0
    assert numbers(connector) == list(range(20))
    assert connector.verified().findings == ()


def test_it_is_asked_again_until_it_answers(place: Place, gate: Gate) -> None:
    """A registry that hangs up a few times delays a run and does not fail it."""
    place.send(FIRST, [{"n": 0}])
    left = iter([True, True, True])
    gate.refused = lambda _: next(left, False)
    assert through(gate, place).run().exit_status == 0


# What it says.


def test_an_id_that_it_does_not_have(place: Place, gate: Gate) -> None:
    """A bad record like any other: what precedes it is committed, status 65, and the id is named; asked for once."""
    good = [place.encoded(FIRST, {"n": number}) for number in range(4)]
    bad = b"\0" + UNKNOWN.to_bytes(4) + b"\2"
    place.send_bytes([*good[:2], bad, *good[2:], bad])
    connector = through(gate, place)
    report = connector.run()
    assert report.exit_status == 65
    (problem,) = report.problems()
    assert f"topic {place.topic} partition 0 offset 2: the schema registry has no schema of the id {UNKNOWN}" in problem
    assert numbers(connector) == [0, 1]
    assert _position(connector) == 2


def test_a_dead_letter_of_an_unknown_id(place: Place, gate: Gate) -> None:
    """Where bad records are tolerated they are dead letters, and all others are there; asked for once."""
    good = [place.encoded(FIRST, {"n": number}) for number in range(4)]
    bad = b"\0" + UNKNOWN.to_bytes(4) + b"\2"
    place.send_bytes([*good[:2], bad, *good[2:], bad])
    connector = through(gate, place, errors_tolerance="all")
    assert connector.run().exit_status == 0
    assert numbers(connector) == [0, 1, 2, 3]
    (done,) = entries_of(place.moto, connector.bucket, "orders")[-1].ranges
    assert (done.records, done.rejected) == (4, 2)
    assert gate.paths.count(f"/schemas/ids/{UNKNOWN}") == 1


def test_wrong_credentials(place: Place, registry_server: SchemaRegistry) -> None:
    """Status 78 at once, the command's message without the secret, and no secret in the bucket either."""
    place.send(FIRST, [{"n": 0}])
    right = base64.b64encode(b"exporter:right").decode()
    gate = Gate(forwarding(registry_server, authorization=f"Basic {right}"))
    gate.open()
    try:
        login = {
            "value_converter_basic_auth_credentials_source": "USER_INFO",
            "value_converter_basic_auth_user_info": f"exporter:{SECRET}",
        }
        connector = through(gate, place, **login)
        ran = call_process("run", connector.config, "--until-now")
        assert ran.returncode == 78
        assert "answered 401" in ran.stderr
        assert "basic.auth.user.info" in ran.stderr
        encoded = base64.b64encode(f"exporter:{SECRET}".encode()).decode()
        assert SECRET not in ran.stdout + ran.stderr
        assert encoded not in ran.stdout + ran.stderr
        assert len(gate.seen) == 1
        assert connector.objects() == {}
        assert not [key for key, body in connector.objects("").items() if SECRET.encode() in body]
        connector.config.write_text(connector.config.read_text().replace(SECRET, "right"))
        assert connector.run().exit_status == 0
        assert numbers(connector) == [0]
    finally:
        gate.close()


# How often.


@pytest.mark.parametrize("subject", ["topic", "record"])
def test_asked_once(make_place: MakePlace, gate: Gate, subject: str) -> None:
    """Of a run of many ranges on several threads, no question is put twice, whatever names the subjects."""
    place = make_place(4)
    for partition in range(4):
        values = [
            place.encoded(schema, {"n": 100 * partition + number}, subject=subject)
            for number, schema in enumerate([FIRST, SECOND] * 20)
        ]
        place.send_bytes(values, partition=partition)
    more = {} if subject == "topic" else {"value_converter_value_subject_name_strategy": BY_RECORD}
    connector = through(gate, place, tasks_max="4", flush_size="10", export_range_records_max="10", **more).exported()
    assert len(entries_of(place.moto, connector.bucket, "orders")[-1].ranges) == 16
    assert len(numbers(connector)) == 160
    assert [path for path, count in Counter(gate.paths).items() if count > 1] == []


def test_keys_and_values_of_one_registry(place: Place, gate: Gate) -> None:
    """Both have schemas of their own, and nothing is asked for twice."""
    for number in range(3):
        key = place.encoded('{"type": "string"}', f"k{number}", of=MessageField.KEY)
        place.send(FIRST, [{"n": number}], key=key)
    connector = through(
        gate,
        place,
        key_converter="io.confluent.connect.avro.AvroConverter",
        key_converter_schema_registry_url=gate.url,
        store_kafka_keys="true",
        keys_format_class=AVRO,
    ).exported()
    objects = {key.partition(".")[2]: list(_rows(body)) for key, body in connector.objects().items()}
    assert objects == {"avro": [{"n": 0}, {"n": 1}, {"n": 2}], "keys.avro": ["k0", "k1", "k2"]}
    assert sorted(gate.paths) == sorted(
        f"/subjects/{place.topic}-{part}/versions{one}" for part in ("key", "value") for one in ("", "/1")
    )
