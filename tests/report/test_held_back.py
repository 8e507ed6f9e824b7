"""Records behind an open transaction: nothing is said of a short one, and a long one is late, with its command."""

from __future__ import annotations

import pytest

from kafka_s3.errors import DataLoss, KafkaUnavailable
from kafka_s3.report.health import State
from tests.report.test_health import HOUR_MS, MINUTE_MS, NOW, Timed


@pytest.fixture
def world() -> Timed:
    """Two records that are exported, of yesterday."""
    world = Timed()
    world.add(NOW - 24 * HOUR_MS, NOW - 23 * HOUR_MS)
    world.export(None)
    world.broker.set_last_stable("orders", 0, 2)
    return world


def test_a_long_transaction_is_late_and_has_a_command(world: Timed) -> None:
    """What waits behind it can be read by nobody: no lag, but late, and Kafka's own command ends it."""
    world.add(NOW - 3 * HOUR_MS, NOW - 2 * HOUR_MS, NOW - MINUTE_MS)
    health = world.health()
    assert (health.lag_records, health.lag_ms, health.state) == (0, 0, State.LATE)
    assert health.overdue_ms == 2 * HOUR_MS + 30 * MINUTE_MS
    (said,) = health.held
    assert said.what == "An open transaction holds back 3 offsets of orders-0 from 2 on, for 3 h."
    assert said.commands[0].endswith(" abort --topic orders --partition 0 --start-offset 2")
    assert said.commands[0] in said.next
    world.broker.set_last_stable("orders", 0, None)
    assert world.health().held == ()


def test_a_late_commit_does_not_hide_it(world: Timed) -> None:
    """A run that exported up to it says up to when it came; what is held back is of an earlier hour, and is late."""
    world.add(NOW - 3 * HOUR_MS)
    world.export((NOW - 90 * MINUTE_MS, NOW - 30 * MINUTE_MS))
    assert world.health().state is State.LATE


@pytest.mark.parametrize("timestamp_ms", [NOW - 10 * MINUTE_MS, None, NOW + HOUR_MS])
def test_a_short_transaction_is_none_of_our_business(world: Timed, timestamp_ms: int | None) -> None:
    """Producers have a quarter of an hour; without a time, or with one to come, nobody knows how long it is."""
    world.add(timestamp_ms)
    health = world.health()
    assert (health.held, health.state) == ((), State.OK)


def test_records_that_are_gone_are_held_back_by_nobody(world: Timed) -> None:
    """Deleted while it is asked: the next look says what that means."""
    world.add(NOW - 3 * HOUR_MS)
    world.broker.fail_next("first_timestamp", DataLoss("gone"))
    assert world.health().held == ()


def test_kafka_stops_answering(world: Timed) -> None:
    """Then nothing is known of transactions, and Kafka is down."""
    world.add(NOW - 3 * HOUR_MS)
    world.broker.fail_next("first_timestamp", KafkaUnavailable("no answer"))
    health = world.health()
    assert (health.held, health.state) == ((), State.KAFKA_DOWN)
