"""Health: each number, and each time there is none."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from kafka_s3.adapters.memory import MemoryBroker
from kafka_s3.errors import DataLoss, KafkaUnavailable
from kafka_s3.export.run import run
from kafka_s3.export.task import RangeTask
from kafka_s3.plan.results import RangeResult
from kafka_s3.ports import Broker
from kafka_s3.ranges import TopicPartition
from kafka_s3.records import Record
from kafka_s3.report.first_timestamps import ASKED_MAX
from kafka_s3.report.health import Health, State, look
from kafka_s3.settings.schedule import ScheduleSettings
from tests.export.harness import MemoryExport
from tests.support import HOUR_MS, make_settings, request

MINUTE_MS = 60_000
DAY_MS = 24 * HOUR_MS
#: Half past nine.
NOW = int(datetime(2026, 11, 20, 9, 30, tzinfo=UTC).timestamp() * 1000)
NINE = NOW - 30 * MINUTE_MS


@dataclass
class Timed(MemoryExport):
    """A world with a clock."""

    at_ms: int = NOW

    def add(self, *timestamps: int | None, partition: int = 0, value: bytes = b"{}") -> None:
        start = self.end(partition)
        records = (Record(start + n, value, timestamp_ms=at) for n, at in enumerate(timestamps))
        self.broker.append("orders", partition, *records)

    def export(self, interval: tuple[int, int] | None) -> None:
        self.runs += 1
        asked = request(f"run-{self.runs}", interval=interval, now_ms=self.at_ms)
        run(self.exporter, asked, self._execute, lambda _: None)

    def health(self, *, entries_max: int = 10, fetch_time_max_s: float = 20.0) -> Health:
        return look(
            self.settings,
            self.exporter.log,
            lambda: self.broker,
            at_ms=self.at_ms,
            entries_max=entries_max,
            fetch_time_max_s=fetch_time_max_s,
        )


@pytest.fixture
def world() -> Timed:
    """Exported up to nine o'clock: two records of the hour before, and none waits."""
    made = Timed()
    made.add(NINE - 40 * MINUTE_MS, NINE - 20 * MINUTE_MS)
    made.export((NINE - HOUR_MS, NINE))
    return made


def test_nothing_waits(world: Timed) -> None:
    """All is exported: no lag, nothing to lose, nothing overdue."""
    health = world.health()
    assert (health.lag_records, health.lag_ms, health.overdue_ms) == (0, 0, 0)
    assert health.loss_in_ms is None
    assert (health.state, health.notes, health.at_ms) == (State.OK, (), NOW)


def test_lag_in_time_is_the_age_of_the_oldest_record_that_waits(world: Timed) -> None:
    """Of all partitions, by the first visible record at the position."""
    world.add(NOW - 5 * MINUTE_MS)
    world.broker.append_holes("orders", 1, 3, timestamp_ms=NOW - DAY_MS)  # nobody can see these
    world.add(NOW - 25 * MINUTE_MS, NOW - 3 * MINUTE_MS, partition=1)
    health = world.health()
    assert health.lag_ms == 25 * MINUTE_MS
    assert health.lag_records == 6


def test_status_shows_up_to_when_each_partition_is_complete(world: Timed, capsys: pytest.CaptureFixture[str]) -> None:
    """In the table and in --json, by the one function that decides: the end of the last run's interval, and nothing
    where a partition was rewound."""
    from pathlib import Path

    from kafka_s3.cli import status
    from kafka_s3.rewind.rewind import look as look_back
    from kafka_s3.rewind.rewind import rewind

    def shown() -> list[tuple[int, int | None]]:
        found: Any = status._as_json(world.health(), Path("orders.properties"))
        return [(each["partition"], each["complete_until_ms"]) for each in found["partitions"]]

    def table() -> list[bool]:
        status.show(world.health(), Path("orders.properties"), "s3://b/log", world.settings.policies)
        rows = [line for line in capsys.readouterr().out.splitlines() if line.split()[:1] == ["orders"]]
        return [line.endswith("2026-11-20T09:00:00Z") for line in map(str.rstrip, rows)]

    before = shown()
    assert before == [(each.tp.partition, NINE) for each in world.health().status.partitions]
    assert table() == [True, True]
    orders = TopicPartition("orders", 0)
    rewind(world.exporter, look_back(world.exporter, {orders: 0}), request("rewind", now_ms=NOW))
    assert shown() == [(0, None), *before[1:]]
    assert table() == [False, True]
    assert Timed().health().complete_until_ms(orders) is None


def test_what_a_transaction_holds_back_does_not_wait(world: Timed) -> None:
    """Behind the LSO there is nothing to read, so nothing that lags."""
    world.add(NOW - 10 * MINUTE_MS)
    world.broker.set_last_stable("orders", 0, 2)
    assert (world.health().lag_records, world.health().lag_ms) == (0, 0)


def test_holes_alone_have_no_age(world: Timed) -> None:
    """Offsets wait, but no record: the lag in time is none."""
    world.broker.append_holes("orders", 0, 3, timestamp_ms=NOW - DAY_MS)
    health = world.health()
    assert (health.lag_records, health.lag_ms, health.overdue_ms, health.loss_in_ms) == (3, 0, 0, None)


@pytest.mark.parametrize("timestamp_ms", [None, NOW + HOUR_MS])
def test_records_without_an_age(world: Timed, timestamp_ms: int | None) -> None:
    """Without a timestamp, or with one from the future, it is not known how old what waits is."""
    world.add(timestamp_ms)
    health = world.health()
    assert (health.lag_records, health.lag_ms, health.overdue_ms, health.loss_in_ms) == (1, None, None, None)
    assert health.state is State.OK


def test_time_to_loss_is_what_retention_leaves(world: Timed) -> None:
    """The oldest record that waits is deleted once it is older than its topic keeps records."""
    world.broker.set_retention("orders", 2 * HOUR_MS)
    world.add(NOW - 20 * MINUTE_MS)
    assert world.health().loss_in_ms == 100 * MINUTE_MS
    world.at_ms += DAY_MS
    assert world.health().loss_in_ms == 0


def test_time_to_loss_is_the_shortest_of_all_topics() -> None:
    """Not that of the oldest record, if its topic keeps records longer."""
    world = Timed(settings=make_settings(topics=("orders", "clicks")))
    world.broker.create_topic("clicks")
    world.broker.set_retention("clicks", DAY_MS)
    world.broker.set_retention("orders", HOUR_MS)
    world.broker.append("clicks", 0, Record(0, b"{}", timestamp_ms=NOW - 2 * HOUR_MS))
    world.add(NOW - 10 * MINUTE_MS)
    health = world.health()
    assert (health.lag_ms, health.loss_in_ms) == (2 * HOUR_MS, 50 * MINUTE_MS)


def test_no_loss_where_age_deletes_nothing(world: Timed) -> None:
    """A topic that is kept for ever, or only compacted, loses nothing to age."""
    world.broker.set_retention("orders", None)
    world.add(NOW - DAY_MS)
    assert (world.health().loss_in_ms, world.health().notes) == (None, ())


def test_retention_that_may_not_be_seen_is_said(world: Timed) -> None:
    """The other numbers are there; what permission is missing is named."""
    world.broker.set_retention("orders", HOUR_MS, is_described=False)
    world.add(NOW - MINUTE_MS)
    health = world.health()
    assert (health.lag_ms, health.loss_in_ms, health.state) == (MINUTE_MS, None, State.OK)
    assert health.retention_hidden == ("orders",)
    assert "DescribeConfigs" in health.notes[0]
    assert "orders" in health.notes[0]


def test_a_record_deleted_while_it_is_asked_for_is_lost(world: Timed) -> None:
    """Retention that overtakes the question leaves no time."""
    world.add(NOW - MINUTE_MS)
    world.broker.fail_next("first_timestamp", DataLoss("gone"))
    assert world.health().loss_in_ms == 0


def test_overdue_begins_at_the_boundary_behind_a_record(world: Timed) -> None:
    """A record of the current hour is not overdue; at ten it becomes so, by what passed since."""
    world.add(NOW - 10 * MINUTE_MS)
    assert world.health().overdue_ms == 0
    world.at_ms = NINE + HOUR_MS
    assert world.health().overdue_ms == 0
    world.at_ms = NINE + HOUR_MS + 7 * MINUTE_MS
    assert (world.health().overdue_ms, world.health().state) == (7 * MINUTE_MS, State.OK)
    world.at_ms = NINE + 2 * HOUR_MS
    assert (world.health().overdue_ms, world.health().state) == (HOUR_MS, State.LATE)


def test_an_idle_topic_is_not_overdue(world: Timed) -> None:
    """Nothing to export for days: the newest entry is days old, and nothing is late."""
    world.at_ms = NOW + 5 * DAY_MS
    assert (world.health().overdue_ms, world.health().state) == (0, State.OK)


def test_what_comes_late_waits_for_the_next_boundary(world: Timed) -> None:
    """A record of seven o'clock that arrives after the run of nine is the next run's."""
    world.add(NINE - 2 * HOUR_MS)
    assert world.health().overdue_ms == 0
    world.at_ms = NINE + HOUR_MS + MINUTE_MS
    assert world.health().overdue_ms == MINUTE_MS


def test_the_schedules_own_boundaries_count() -> None:
    """A daily connector of Berlin is due at its midnight, however old the record is by then."""
    daily = replace(make_settings(), schedule=ScheduleSettings(DAY_MS, "Europe/Berlin"))
    world = Timed(settings=daily)
    world.add(NOW - DAY_MS)
    assert world.health().overdue_ms == NOW - int(datetime(2026, 11, 19, 23, tzinfo=UTC).timestamp() * 1000)


def test_a_cron_expression_has_boundaries_too() -> None:
    """Every six hours: due at six and late an hour behind that; by every ten minutes late after ten."""
    schedule = ScheduleSettings(cron="0 */6 * * *")
    world = Timed(settings=replace(make_settings(), schedule=schedule))
    world.add(NINE - HOUR_MS)
    world.export(None)
    world.add(NINE)
    assert (world.health().overdue_ms, world.health().state) == (0, State.OK)
    world.at_ms = NINE + 3 * HOUR_MS + 59 * MINUTE_MS
    assert (world.health().overdue_ms, world.health().state) == (59 * MINUTE_MS, State.OK)
    world.settings = replace(world.settings, schedule=ScheduleSettings(cron="*/10 * * * *"))
    world.at_ms = NINE + 19 * MINUTE_MS
    assert (world.health().overdue_ms, world.health().state) == (9 * MINUTE_MS, State.OK)
    world.at_ms = NINE + 20 * MINUTE_MS
    assert (world.health().overdue_ms, world.health().state) == (10 * MINUTE_MS, State.LATE)


def test_without_times_nothing_is_overdue(world: Timed) -> None:
    """Runs that begin by hand or by assets alone are never late; the lag in time is there."""
    world.settings = replace(world.settings, schedule=ScheduleSettings(timed=False))
    world.add(NOW - DAY_MS)
    health = world.health()
    assert (health.overdue_ms, health.state, health.lag_ms) == (None, State.OK, DAY_MS)


def test_a_stuck_partition_is_overdue_since_its_own_boundary(world: Timed) -> None:
    """The others go on and move the committed boundary; what failed is as late as its first record says."""
    world.add(NINE + MINUTE_MS, value=b"{")
    for hour in (1, 2, 3):
        world.at_ms = NINE + hour * HOUR_MS
        world.add(world.at_ms - MINUTE_MS, partition=1)
        world.export((world.at_ms - HOUR_MS, world.at_ms))
    health = world.health()
    assert (health.state, health.overdue_ms) == (State.FAILED, 2 * HOUR_MS)


def test_what_limits_left_to_the_next_batch_is_overdue() -> None:
    """The boundary is committed and some of its records are not: they wait still."""
    world = Timed(settings=make_settings(batch_records_max=2))
    world.add(*[NINE - HOUR_MS] * 5)
    batches = iter([world._execute])

    def die_at_the_second(tasks: Sequence[RangeTask]) -> list[RangeResult]:
        return next(batches)(tasks)

    with pytest.raises(StopIteration):
        run(world.exporter, request(interval=(NINE - HOUR_MS, NINE), now_ms=NOW), die_at_the_second, lambda _: None)
    assert (world.health().lag_records, world.health().overdue_ms) == (3, 30 * MINUTE_MS)


def test_before_the_first_run(world: Timed) -> None:
    """An empty log: what waits is counted, nothing was committed or rejected."""
    empty = Timed()
    empty.add(NOW - MINUTE_MS)
    health = empty.health()
    assert (health.state, health.lag_records, health.lag_ms) == (State.NEVER_RAN, 1, MINUTE_MS)
    assert (health.rejected_fraction, health.last_commit_ms, health.records_per_s) == (None, None, None)


def test_rejected_fraction_is_of_the_newest_entries() -> None:
    """Refused records by all that were read, of so many entries as are looked at."""
    world = Timed(settings=make_settings(tolerate=True))
    world.add(NOW, value=b"{")
    world.export(None)
    world.add(NOW, NOW, NOW)
    world.export(None)
    assert world.health().rejected_fraction == 0.25
    assert world.health(entries_max=1).rejected_fraction == 0.0


def test_commit_time_and_rate_are_the_stores(world: Timed) -> None:
    """Written when the entry was; the rate is of the time from its plan."""
    layout = world.exporter.log.layout
    world.store.set_modified(layout.plan_key(1), NOW - 9000)
    world.store.set_modified(layout.log_key(1), NOW - 5000)
    assert (world.health().last_commit_ms, world.health().records_per_s) == (NOW - 5000, 0.5)
    world.store.set_modified(layout.plan_key(1), NOW - 5000)
    assert (world.health().last_commit_ms, world.health().records_per_s) == (NOW - 5000, None)


def test_kafka_down_leaves_what_the_log_says(world: Timed) -> None:
    """Lag, loss and overdue are not known then; the last commit is."""

    def refuse() -> Broker:
        raise KafkaUnavailable("Kafka did not answer.")

    health = look(world.settings, world.exporter.log, refuse, at_ms=NOW, entries_max=10)
    assert health.state is State.KAFKA_DOWN
    assert (health.lag_records, health.lag_ms, health.loss_in_ms, health.overdue_ms) == (None, None, None, None)
    assert health.last_commit_ms is not None
    assert health.rejected_fraction == 0.0


@pytest.mark.parametrize("operation", ["first_timestamp", "retention_ms"])
def test_kafka_that_goes_while_it_is_asked_is_down(world: Timed, operation: str) -> None:
    """Half an answer is none: the status says why."""
    world.add(NOW - MINUTE_MS)
    world.broker.fail_next(operation, KafkaUnavailable("Kafka went."))
    health = world.health()
    assert (health.state, health.lag_records, health.status.kafka_error) == (State.KAFKA_DOWN, None, "Kafka went.")


def test_data_loss_is_a_failure(world: Timed) -> None:
    """A partition that is left out needs attention; the age is of what is still there."""
    world.add(NOW - 20 * MINUTE_MS, NOW - 10 * MINUTE_MS)
    world.broker.set_log_start("orders", 0, 3)
    assert (world.health().state, world.health().lag_ms) == (State.FAILED, 10 * MINUTE_MS)


def test_of_many_partitions_the_oldest_are_asked() -> None:
    """The cost is bounded, and the oldest record found by halving, whichever partition holds it."""
    world = Timed()
    world.broker.create_topic("orders", 100)
    for partition in range(100):
        world.add(NOW - MINUTE_MS, partition=partition)
    world.add(*[NOW] * 50, partition=7)  # more waits there, of no age
    world.broker.create_topic("orders", 101)
    world.add(NOW - 3 * HOUR_MS, partition=100)
    health = world.health()
    assert health.lag_ms == 3 * HOUR_MS
    assert world.broker.requests.count("first_timestamp") == 1
    assert world.broker.requests.count("offsets_for_time") <= 5
    assert "101 partitions" in health.notes[0]
    world.broker.requests.clear()
    world.add(*[NOW - 3 * HOUR_MS] * 2, partition=100)
    for partition in range(100, 140):
        world.broker.create_topic("orders", partition + 1)
        world.add(NOW - 3 * HOUR_MS, partition=partition)
    assert world.health().lag_ms == 3 * HOUR_MS
    assert world.broker.requests.count("first_timestamp") == ASKED_MAX


class Hanging(MemoryBroker):
    """Partition 1 answers only when it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.released = threading.Event()

    def first_timestamp(self, tp: TopicPartition, start: int, end: int, *, uncommitted: bool = False) -> int | None:
        if tp.partition == 1:
            self.released.wait(30)
        return super().first_timestamp(tp, start, end, uncommitted=uncommitted)


def test_a_partition_that_hangs_holds_nothing_up() -> None:
    """What does not answer in time is left out and said; the others' ages are there."""
    hanging = Hanging()
    world = Timed(broker=hanging)
    world.add(NOW - 2 * MINUTE_MS, NOW, NOW)
    world.add(NOW - HOUR_MS, partition=1)
    try:
        health = world.health(fetch_time_max_s=0.2)
    finally:
        hanging.released.set()
    assert health.lag_ms == 2 * MINUTE_MS
    assert health.notes == ("1 of 2 partitions did not answer within 0.2 s.",)
