"""A broker that stands still for a while and loses its leadership meanwhile: planning waits, and asks again."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from kafka_s3.adapters.kafka import KafkaBroker
from kafka_s3.ranges import TopicPartition
from kafka_s3.settings.kafka import KafkaSettings
from tests.support import make_settings
from tools.parts.kafka import KafkaBroker as Server

pytestmark = pytest.mark.faults

PAUSE_S = 3.0
ROUNDS = 4


def test_offsets_are_asked_for_again() -> None:
    """Offsets that are asked for while the leader stands still come once it goes on: no run ends because of it.

    It goes on with a newer leader epoch, which librdkafka calls an error and does not ask about again.
    """
    with Server() as server:
        server.create_topic("orders", 1)
        settings = make_settings(kafka=KafkaSettings({"bootstrap.servers": server.bootstrap_servers}))
        broker, tp = KafkaBroker(settings), TopicPartition("orders", 0)
        assert list(broker.topics()) == ["orders"]
        for _ in range(ROUNDS):
            server.suspend()
            try:
                with ThreadPoolExecutor(1) as pool:
                    asked = pool.submit(broker.offsets, [tp])
                    threading.Event().wait(PAUSE_S)
                    assert not asked.done(), "a broker that stands still answered"
                    server.resume()
                    assert asked.result()[tp].last_stable == 0
            finally:
                server.resume()
