"""Makes the topic of connectors/orders.properties if it is not there, and writes 1,000 records of now into it."""

import json
import os
import sys

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

TOPIC, PARTITIONS, RECORDS = "orders", 4, 1_000


def main(bootstrap_servers: str) -> int:
    """Exit status 1 if the broker did not take every record."""
    client = {"bootstrap.servers": bootstrap_servers}
    admin = AdminClient(client)
    try:
        admin.create_topics([NewTopic(TOPIC, PARTITIONS)])[TOPIC].result()
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise SystemExit(f"The broker did not make the topic {TOPIC}: {error.args[0].str()}") from None
    producer = Producer(client)
    for number in range(RECORDS):
        order = {"order": number, "customer": f"customer-{number % 97}", "amount": number % 1_000 / 10}
        producer.produce(TOPIC, json.dumps(order).encode(), partition=number % PARTITIONS)
    left = producer.flush(60)
    sys.stdout.write(f"{RECORDS - left} records are in the topic {TOPIC}.\n")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main(os.environ["KAFKA_S3_BOOTSTRAP_SERVERS"]))
