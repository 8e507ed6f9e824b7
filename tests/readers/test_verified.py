"""`verify --against-kafka` over binary objects with companions: silent where all is well, and damage is found."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

import fastavro
import msgspec
import pyarrow.parquet as pq
import pytest

from kafka_s3.log.documents import decode, encode
from kafka_s3.log.entries import Entry
from tests.readers.conftest import MakePlace
from tests.readers.everything import ROWS, registered
from tests.readers.place import AVRO, PARQUET, Connector, Place

FORMATS = {"avro": AVRO, "parquet": PARQUET}
COUNT = 50  # of each partition: all but the last two are records


@pytest.fixture(scope="module")
def mixed(make_place: MakePlace) -> Place:
    """Two partitions of records with keys and headers, in two versions, a bad record and a tombstone among them."""
    place = make_place(2)
    schema = registered(place)
    plain = json.dumps({"type": "record", "name": "shop.Plain", "fields": [{"name": "n", "type": "long"}]})
    values = [place.encoded(schema, ROWS[number % 2]) for number in range(COUNT // 2)]
    values += [place.encoded(plain, {"n": number}) for number in range(COUNT // 2 - 2)]
    for partition in range(2):
        for number, value in enumerate([*values, b"no Avro", None]):
            headers = [("n", str(number).encode()), ("empty", b"")]
            place.send_bytes([value], partition=partition, key=f"k{number}", headers=headers)
    return place


def _connector(place: Place, name: str, format: str, suffix: str = "") -> Connector:
    return place.connector(
        f"{name}{suffix}",
        format,
        flush_size="20",
        errors_tolerance="all",
        behavior_on_null_values="write",
        store_kafka_keys="true",
        keys_format_class=format,
        store_kafka_headers="true",
        headers_format_class=format,
        key_converter="org.apache.kafka.connect.storage.StringConverter",
        header_converter="org.apache.kafka.connect.storage.SimpleHeaderConverter",
    )


@pytest.fixture(scope="module", params=FORMATS)
def exported(mixed: Place, request: pytest.FixtureRequest) -> Connector:
    return _connector(mixed, request.param, FORMATS[request.param]).exported()


def _all(connector: Connector) -> Mapping[str, bytes]:
    found = {**connector.objects(), **connector.objects(f"_kafka_s3/{connector.config.parent.name}/rejected/")}
    assert {_kind(key) for key in found} == {"values", "keys", "headers", "rejected"}
    return found


def _kind(key: str) -> str:
    return next(
        (kind for kind in ("rejected", "keys", "headers") if f".{kind}." in key or f"/{kind}/" in key), "values"
    )


def _rows(body: bytes) -> list[Any]:
    if body.startswith(b"Obj"):
        return list(fastavro.reader(io.BytesIO(body)))
    return pq.read_table(io.BytesIO(body)).to_pylist()


def test_a_whole_export_is_proved(exported: Connector) -> None:
    """Every value, key and header is what Kafka holds; the keys of a family are those of its values."""
    verified = exported.verified()
    assert verified.findings == ()
    assert verified.notes == ()
    assert verified.orphans == ()
    assert verified.records == 2 * (COUNT - 1)
    assert verified.ranges_compared == 2
    keys = [key for body in _named(exported, "keys") for key in _rows(body)]
    assert [key if isinstance(key, str) else key["key"] for key in keys].count("k0") == 2
    assert len(keys) == 2 * (COUNT - 1)
    assert sum(len(_rows(body)) for body in _named(exported, "headers")) == 2 * (COUNT - 1)
    assert sum(len(_rows(body)) for body in _named(exported, "values")) == 2 * (COUNT - 2)


def _named(connector: Connector, kind: str) -> list[bytes]:
    return [body for key, body in _all(connector).items() if _kind(key) == kind]


@pytest.mark.parametrize("kind", ["values", "keys", "headers", "rejected"])
def test_a_flipped_byte_is_found(exported: Connector, kind: str) -> None:
    """In an object, in a companion, in a dead letter: the key is named, and what to do; nothing else is wrong."""
    objects = _all(exported)
    key = [each for each in objects if _kind(each) == kind][-1]
    body = objects[key]
    at = len(body) // 2
    exported.overwrite(key, body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :])
    try:
        findings = exported.verified(against_kafka=False).findings
    finally:
        exported.overwrite(key, body)
    assert [finding.where for finding in findings] == [key]
    assert "sha256" in findings[0].expected
    assert "Restore" in findings[0].next


def test_objects_that_changed_places_are_found_against_kafka(exported: Connector) -> None:
    """Two whole objects of as many records under each other's keys, in the log too: only Kafka tells."""
    name = exported.config.parent.name
    log_key = max(exported.objects(f"_kafka_s3/{name}/log/"), key=lambda key: -int(key.rpartition("/")[2][:-5]))
    before = exported.objects(f"_kafka_s3/{name}/log/")[log_key]
    entry = decode(Entry, log_key, before)
    done = entry.ranges[0]
    one, other = [made for made in done.objects if made.records == 20][:2]
    bodies = exported.objects()
    swap = msgspec.structs.replace
    made = {
        one.key: swap(one, size=other.size, sha256=other.sha256),
        other.key: swap(other, size=one.size, sha256=one.sha256),
    }
    swapped = swap(done, objects=tuple(made.get(each.key, each) for each in done.objects))
    exported.overwrite(one.key, bodies[other.key])
    exported.overwrite(other.key, bodies[one.key])
    exported.overwrite(log_key, encode(swap(entry, ranges=(swapped, *entry.ranges[1:]))))
    try:
        assert exported.verified(against_kafka=False).findings == ()
        found = {finding.where for finding in exported.verified().findings}
    finally:
        for key, body in ((one.key, bodies[one.key]), (other.key, bodies[other.key]), (log_key, before)):
            exported.overwrite(key, body)
    assert found == {one.key, other.key}


@pytest.mark.parametrize("kind", ["keys", "rejected"])
def test_a_companion_that_is_gone_is_found(exported: Connector, kind: str) -> None:
    objects = _all(exported)
    key = next(each for each in objects if _kind(each) == kind)
    exported.place.moto.client().delete_object(Bucket=exported.bucket, Key=key)
    try:
        findings = exported.verified(against_kafka=False).findings
    finally:
        exported.overwrite(key, objects[key])
    assert [(finding.where, finding.found) for finding in findings] == [(key, "no object")]
