"""The bench's topic: JSON records of 208 bytes on average, deterministic."""

import random
import sys
from collections.abc import Iterator
from typing import Final

from confluent_kafka import Producer

PARTITIONS: Final = 4
BASE_MS: Final = 1_700_000_000_000
_WORDS = ("alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliett")


def values(count: int) -> Iterator[bytes]:
    """Values as an application would write them: numbers, words, one nested list."""
    chance = random.Random(208)
    for number in range(count):
        words = " ".join(chance.choices(_WORDS, k=9))
        yield (
            b'{"id":%d,"user":"u-%07d","session":"%016x","amount":%d.%02d,'
            b'"words":"%s","tags":["%s","%s"],"ok":%s,"at":%d}'
            % (
                number,
                chance.randrange(10**7),
                chance.getrandbits(64),
                chance.randrange(1000),
                chance.randrange(100),
                words.ljust(65)[:65].encode(),
                chance.choice(_WORDS).encode(),
                chance.choice(_WORDS).encode(),
                chance.choice((b"true", b"false")),
                BASE_MS + number,
            )
        )


def produce(bootstrap_servers: str, topic: str, count: int) -> float:
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
    size = 0
    for number, value in enumerate(values(count)):
        size += len(value)
        while True:
            try:
                producer.produce(topic, value, b"%08d" % number, number % PARTITIONS, timestamp=BASE_MS + number)
                break
            except BufferError:
                producer.poll(0.2)
        if number % 10_000 == 0:
            producer.poll(0)
            sys.stderr.write(f"\rproducing {number:,} of {count:,}")
    producer.flush()
    sys.stderr.write("\r" + " " * 60 + "\r")
    return size / max(count, 1)
