"""200,000 orders with keys, headers and timestamps, the same each time but for the hour they are from."""

import json
import random
from collections.abc import Iterator
from typing import Final, NamedTuple

from confluent_kafka import Producer
from rich.progress import track

TOPIC: Final = "orders"
PARTITIONS: Final = 4
RECORDS: Final = 200_000
HOUR_MS: Final = 3_600_000
_CITIES = ("Lisboa", "Kraków", "Gent", "Århus", "Leipzig", "Nantes")


class Order(NamedTuple):
    """One record as it is produced."""

    partition: int
    key: bytes
    value: bytes
    timestamp_ms: int
    headers: list[tuple[str, str | bytes | None]]


def orders(start_ms: int, count: int = RECORDS) -> Iterator[Order]:
    """Orders spread evenly over the two hours from `start_ms`."""
    chance = random.Random(20_26)
    for number in range(count):
        timestamp_ms = start_ms + number * 2 * HOUR_MS // count
        value = {
            "order": number,
            "customer": f"C-{chance.randrange(50_000):05d}",
            "city": chance.choice(_CITIES),
            "items": [{"sku": f"SKU-{chance.randrange(900):03d}", "quantity": chance.randint(1, 5)} for _ in range(2)],
            "total": round(chance.uniform(3, 300), 2),
            "ordered_at": timestamp_ms,
        }
        yield Order(
            partition=chance.randrange(PARTITIONS),
            key=str(value["customer"]).encode(),
            value=json.dumps(value, ensure_ascii=False).encode(),
            timestamp_ms=timestamp_ms,
            headers=[("source", b"demo"), ("number", str(number).encode())],
        )


def produce(bootstrap_servers: str, start_ms: int) -> None:
    """Write the orders to the topic, with a progress bar."""
    producer = Producer({"bootstrap.servers": bootstrap_servers, "linger.ms": 50, "compression.type": "lz4"})
    for order in track(orders(start_ms), f"Producing {RECORDS:,} records", total=RECORDS):
        while True:
            try:
                producer.produce(
                    TOPIC, order.value, order.key, order.partition, timestamp=order.timestamp_ms, headers=order.headers
                )
                break
            except BufferError:
                producer.poll(0.1)
    producer.flush()
