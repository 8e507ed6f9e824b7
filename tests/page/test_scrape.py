"""What is scraped, over buckets and brokers in memory: what answers, what does not, and what is wrong."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from kafka_s3.errors import ConfigurationError, StoreUnavailable
from tests.airflow.test_metrics import Samples, parsed_text
from tests.page.observed import BOUND_S, ObservedConnector

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def seen(tmp_path: Path) -> ObservedConnector:
    return ObservedConnector(tmp_path)


def scraped(seen: ObservedConnector, wait_s: float = BOUND_S) -> Samples:
    from kafka_s3_airflow.page.scrape import scraped

    shown = seen.observer.connectors()
    asyncio.run(seen.observer.await_news(shown, wait_s))
    return parsed_text(scraped(shown, seen.observer))


def test_a_scrape_waits_for_what_it_asks(seen: ObservedConnector) -> None:
    """The first scrape has the numbers, and each later one those of its own time."""
    seen.world.produce(0, 4)
    assert scraped(seen)["kafka_s3_lag_records", "orders", None] == 4
    seen.world.produce(1, 3)
    seen.later()
    found = scraped(seen)
    assert found["kafka_s3_lag_records", "orders", None] == 7
    assert found["kafka_s3_seen_timestamp_seconds", "orders", None] == seen.now_ms / 1000
    assert found["kafka_s3_state", "orders", "never_ran"] == 1


def test_a_broker_that_is_down(seen: ObservedConnector) -> None:
    """Up is 0 and there is no lag; what the log said before is there, with the time that it is of."""
    seen.world.produce(0, 4)
    seen.world.run()
    scraped(seen)
    was_ms = seen.now_ms
    seen.kafka_is_up = False
    seen.later()
    found = scraped(seen)
    assert found["kafka_s3_kafka_up", "orders", None] == 0
    assert found["kafka_s3_log_up", "orders", None] == 1
    assert found["kafka_s3_state", "orders", "kafka_down"] == 1
    assert ("kafka_s3_lag_records", "orders", None) not in found
    assert found["kafka_s3_exported_offsets_total", "orders", None] == 4
    assert found["kafka_s3_seen_timestamp_seconds", "orders", None] == was_ms / 1000


def test_a_broker_that_hangs_holds_no_scrape_up(seen: ObservedConnector) -> None:
    """What does not answer in time is not known yet; the others, and the log, are shown."""
    seen.held = threading.Event()
    try:
        found = scraped(seen, wait_s=1.5)
    finally:
        seen.held.set()
    assert ("kafka_s3_kafka_up", "orders", None) not in found
    assert found["kafka_s3_log_up", "orders", None] == 1


def test_a_store_that_is_out_is_not_kafka_s_silence(seen: ObservedConnector) -> None:
    """Without its bucket nothing is known of a connector, and nothing is said of its broker."""
    for _ in range(10):
        seen.world.store.fail_next("ListObjectsV2", StoreUnavailable("S3 did not answer."))
    found = scraped(seen)
    assert found["kafka_s3_log_up", "orders", None] == 0
    assert ("kafka_s3_kafka_up", "orders", None) not in found
    assert found["kafka_s3_state", "orders", "kafka_down"] == 0
    assert found["kafka_s3_state", "orders", "failed"] == 1


def test_a_file_that_is_wrong_and_one_that_cannot_be_loaded(seen: ObservedConnector) -> None:
    """Both are 0, each by what is wrong with it; no message is shown."""
    (seen.folder / "broken.properties").write_text("name=broken\nflush.size=canary\n")
    seen.problem = ConfigurationError("canary")
    found = scraped(seen)
    assert found["kafka_s3_configuration_ok", "broken", None] == 0
    assert ("kafka_s3_log_up", "broken", None) not in found
    assert found["kafka_s3_log_up", "orders", None] == 0
