"""The baseline: read every record of a topic with `Consumer.consume` and throw it away."""

import sys

from confluent_kafka import Consumer, TopicPartition


def main(bootstrap_servers: str, topic: str, partitions: int, per_partition: int) -> None:
    """One partition after the other, as many records as it is known to hold."""
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "baseline", "enable.auto.commit": False})
    for partition in range(partitions):
        consumer.assign([TopicPartition(topic, partition, 0)])
        read = 0
        while read < per_partition:
            read += len(consumer.consume(5000, 0.5))
    consumer.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
