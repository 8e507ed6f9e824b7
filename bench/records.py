"""The bench's topics: JSON records of 208 bytes on average, the same as Avro of 132 and Protobuf of 144.

gzip makes 72 bytes of one, as it does of what applications write: words are of some thousands, names and numbers by
chance.
"""

import random
import sys
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec
from confluent_kafka import Producer
from google.protobuf import message_factory

from kafka_s3.avro.datums import codec
from kafka_s3.avro.model import schema_of
from kafka_s3.avro.project import projector
from kafka_s3.protobuf.compile import schemas

PARTITIONS: Final = 4
BASE_MS: Final = 1_700_000_000_000


def _vocabulary(seed: int, count: int) -> list[str]:
    """Words that nobody knows, of three to nine letters."""
    chance = random.Random(seed)
    return ["".join(chance.choices("etaoinshrdlucmfwypvbgk", k=chance.randint(3, 9))) for _ in range(count)]


_WORDS, _TAGS = _vocabulary(7, 2_000), _vocabulary(9, 200)


#: What the JSON says, as Avro.
AVRO: Final[dict[str, Any]] = {
    "type": "record",
    "name": "Event",
    "namespace": "bench",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "user", "type": "string"},
        {"name": "session", "type": "string"},
        {"name": "amount", "type": "double"},
        {"name": "words", "type": "string"},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "ok", "type": "boolean"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
}
#: Its next version, which older records are projected to.
NEWER: Final[dict[str, Any]] = {
    **AVRO,
    "fields": [*AVRO["fields"], {"name": "note", "type": ["null", "string"], "default": None}],
}
#: A version whose values have to be made anew: no bytes of a number can be copied.
PROMOTED: Final[dict[str, Any]] = {
    **AVRO,
    "fields": [{"name": "id", "type": "double"}, *AVRO["fields"][1:]],
}


#: The same as Protobuf, with its own timestamp.
PROTO: Final = """
syntax = "proto3";
package bench;
import "google/protobuf/timestamp.proto";
message Event {
  int64 id = 1;
  string user = 2;
  string session = 3;
  double amount = 4;
  string words = 5;
  repeated string tags = 6;
  bool ok = 7;
  google.protobuf.Timestamp at = 8;
}
"""


#: The same as JSON Schema.
JSON_SCHEMA: Final = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "title": "Event",
    "properties": {
        "id": {"type": "integer", "connect.index": 0},
        "user": {"type": "string", "connect.index": 1},
        "session": {"type": "string", "connect.index": 2},
        "amount": {"type": "number", "connect.index": 3},
        "words": {"type": "string", "connect.index": 4},
        "tags": {"type": "array", "items": {"type": "string"}, "connect.index": 5},
        "ok": {"type": "boolean", "connect.index": 6},
        "at": {
            "type": "integer",
            "title": "org.apache.kafka.connect.data.Timestamp",
            "connect.type": "int64",
            "connect.version": 1,
            "connect.index": 7,
        },
    },
}


def values(count: int) -> Iterator[bytes]:
    """Values as an application would write them: numbers, words, one nested list."""
    chance = random.Random(208)
    for number in range(count):
        words = " ".join(chance.choices(_WORDS, k=16))
        yield (
            b'{"id":%d,"user":"u-%07d","session":"%016x","amount":%d.%02d,'
            b'"words":"%s","tags":["%s","%s"],"ok":%s,"at":%d}'
            % (
                number,
                chance.randrange(10**7),
                chance.getrandbits(64),
                chance.randrange(1000),
                chance.randrange(100),
                words[:64].encode(),
                chance.choice(_TAGS).encode(),
                chance.choice(_TAGS).encode(),
                chance.choice((b"true", b"false")),
                BASE_MS + number,
            )
        )


def avro_values(count: int, id: int, newer_id: int, newer: dict[str, Any], partitions: int) -> Iterator[bytes]:
    """The same records behind the id of a registry's schema; the first of each partition is of the next version."""
    head, newer_head = b"\0" + id.to_bytes(4, "big"), b"\0" + newer_id.to_bytes(4, "big")
    encode, encode_newer = codec(schema_of(AVRO)).encode, codec(schema_of(newer)).encode
    as_newer = projector(schema_of(AVRO), schema_of(newer))
    for number, value in enumerate(values(count)):
        record = msgspec.json.decode(value)
        record["amount"] = float(record["amount"])
        if number < partitions:
            yield newer_head + encode_newer([as_newer(record)])[0]
        else:
            yield head + encode([record])[0]


def json_schema_values(count: int, id: int) -> Iterator[bytes]:
    """The same records as JSON, behind the id of a registry's schema."""
    head = b"\0" + id.to_bytes(4, "big")
    return (head + value for value in values(count))


def protobuf_values(count: int, id: int) -> Iterator[bytes]:
    """The same records as messages, behind the id of a registry's schema and the index of its first message."""
    event: Any = message_factory.GetMessageClass(schemas(PROTO).message((0,)))
    head = b"\0" + id.to_bytes(4, "big") + b"\0"
    for value in values(count):
        record = msgspec.json.decode(value)
        at = record.pop("at")
        message = event(**record)
        message.at.seconds, message.at.nanos = at // 1000, at % 1000 * 1_000_000
        yield head + message.SerializeToString()


def produce(bootstrap_servers: str, topic: str, found: Iterable[bytes], partitions: int = PARTITIONS) -> float:
    """Fill the topic, spread evenly over its partitions; the mean size of a value in bytes."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap_servers,
            "linger.ms": 100,
            "batch.size": 1_000_000,
            "queue.buffering.max.messages": 1_000_000,
            "compression.type": "lz4",
        }
    )
    size = number = 0
    for number, value in enumerate(found, 1):
        size += len(value)
        at = number - 1
        while True:
            try:
                producer.produce(topic, value, b"%08d" % at, at % partitions, timestamp=BASE_MS + at)
                break
            except BufferError:
                producer.poll(0.2)
        if at % 100_000 == 0:
            producer.poll(0)
            sys.stderr.write(f"\r{topic}: {at:,} records")
    producer.flush()
    sys.stderr.write("\r" + " " * 60 + "\r")
    return size / max(number, 1)
