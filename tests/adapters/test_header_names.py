"""Header names that are not UTF-8: librdkafka writes any bytes, which its Python client cannot read as they are.

The records come from librdkafka itself by way of ctypes, out of the broker that it has inside for tests.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from ctypes import c_char_p, c_int, c_size_t, c_ssize_t, c_void_p
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import Consumer

from kafka_s3.adapters.kafka.reader import KafkaBatch
from kafka_s3.ranges import TopicPartition

#: `rd_kafka_vtype_t`.
_END, _TOPIC, _PARTITION, _VALUE, _FLAGS, _HEADER = 0, 1, 3, 4, 7, 9
_COPY, _PRODUCER, _WAIT_S = 2, 0, 20
#: Good records in front: Python has made the call its own by then, and no longer looks for errors that are left behind.
MANY = 100


@pytest.fixture(scope="module")
def rdkafka() -> ctypes.CDLL:
    folder = Path(confluent_kafka.__file__).parent
    found = [*folder.parent.glob("confluent_kafka.libs/librdkafka*"), *folder.glob(".dylibs/librdkafka*")]
    if not found:
        pytest.skip("confluent-kafka was built against a librdkafka of the system")
    library = ctypes.CDLL(str(found[0]))
    for name in ("rd_kafka_conf_new", "rd_kafka_new", "rd_kafka_mock_cluster_new"):
        getattr(library, name).restype = c_void_p
    library.rd_kafka_mock_cluster_bootstraps.restype = c_char_p
    return library


@pytest.fixture
def broker(rdkafka: ctypes.CDLL) -> Iterator[str]:
    owner = _client(rdkafka, {})
    cluster = c_void_p(rdkafka.rd_kafka_mock_cluster_new(owner, 1))
    rdkafka.rd_kafka_mock_topic_create(cluster, b"orders", 1, 1)
    yield rdkafka.rd_kafka_mock_cluster_bootstraps(cluster).decode()
    rdkafka.rd_kafka_mock_cluster_destroy(cluster)
    rdkafka.rd_kafka_destroy(owner)


def _client(rdkafka: ctypes.CDLL, properties: dict[bytes, bytes]) -> c_void_p:
    said = ctypes.create_string_buffer(512)
    configuration = c_void_p(rdkafka.rd_kafka_conf_new())
    for name, value in {b"log_level": b"0", **properties}.items():
        assert rdkafka.rd_kafka_conf_set(configuration, name, value, said, 512) == 0, said.value
    made = c_void_p(rdkafka.rd_kafka_new(_PRODUCER, configuration, said, 512))
    assert made.value, said.value
    return made


def produce(rdkafka: ctypes.CDLL, broker: str, records: list[list[tuple[bytes, bytes | None]]]) -> None:
    """A record for each list of headers."""
    client = _client(rdkafka, {b"bootstrap.servers": broker.encode()})
    for headers in records:
        given: list[Any] = [
            c_int(_TOPIC),
            c_char_p(b"orders"),
            c_int(_PARTITION),
            c_int(0),
            c_int(_FLAGS),
            c_int(_COPY),
        ]
        given += [c_int(_VALUE), c_char_p(b"{}"), c_size_t(2)]
        for name, value in headers:
            size = c_ssize_t(0 if value is None else len(value))
            given += [c_int(_HEADER), c_char_p(name), c_char_p(value), size]
        assert rdkafka.rd_kafka_producev(client, *given, c_int(_END)) == 0
    assert rdkafka.rd_kafka_flush(client, _WAIT_S * 1000) == 0
    rdkafka.rd_kafka_destroy(client)


def test_a_header_name_that_is_not_utf_8_is_text_as_in_java(rdkafka: ctypes.CDLL, broker: str) -> None:
    """Every time it is asked for; values and other headers are as they were. Of several, the first has its text."""
    produce(
        rdkafka,
        broker,
        [
            *[[(b"ok", b"1")]] * MANY,
            [(b"a\xff", b"2"), ("é".encode(), b"\xff")],
            [(b"\xfeb", b"3"), (b"ok", None), (b"d\xff", b"4"), (b"c", b"")],
            [],
        ],
    )
    consumer = Consumer({"bootstrap.servers": broker, "group.id": "g"})
    consumer.assign([confluent_kafka.TopicPartition("orders", 0, 0)])
    messages = consumer.consume(MANY + 3, _WAIT_S)
    consumer.close()
    batch = KafkaBatch(TopicPartition("orders", 0), messages)
    for _ in range(2):
        assert [list(headers) for headers in batch.headers()] == [
            *[[("ok", b"1")]] * MANY,
            [("a\ufffd", b"2"), ("é", b"\xff")],
            [("\ufffdb", b"3"), ("ok", None), ("\ufffd", b"4"), ("c", b"")],
            [],
        ]
