"""Status: what the log and Kafka say, and one sentence about it."""

import pytest

from kafka_s3.errors import KafkaUnavailable, LogDamaged
from kafka_s3.export.diagnosis import JUDGED_ENTRIES
from kafka_s3.export.run import prepare
from kafka_s3.ports import Broker
from kafka_s3.records import Record
from kafka_s3.report.status import Status, look, summary
from tests.export.harness import MemoryExport
from tests.support import request


def _look(world: MemoryExport, entries_max: int = 10) -> Status:
    return look(world.settings, world.exporter.log, lambda: world.broker, entries_max=entries_max)


def test_before_the_first_run_positions_are_its_starts() -> None:
    """Nothing exported yet is no problem: the topics' starts and their lag are shown."""
    world = MemoryExport()
    world.produce(0, 4)
    status = _look(world)
    assert status.is_ok
    assert status.first_seen == ("orders",)
    assert [(each.position, each.lag) for each in status.partitions] == [(0, 4), (0, 0)]
    assert summary(status) == "Nothing has been exported yet; 4 offsets wait for the next run."


def test_positions_lag_and_entries_are_the_logs_and_kafkas() -> None:
    """A partition's lag is what a reader could read and the log does not hold; entries come newest first."""
    world = MemoryExport()
    world.produce(0, 4)
    world.run()
    world.produce(0, 2)
    status = _look(world)
    assert [(each.position, each.lag) for each in status.partitions] == [(4, 2), (0, 0)]
    assert [entry.kind.value for entry in status.entries] == ["commit", "checkpoint"]
    assert summary(status) == "OK: 2 offsets wait for the next run; the newest entry is 1 of run run-1."


def test_what_a_transaction_holds_back_is_no_lag() -> None:
    """Lag goes up to the last stable offset, not to the high watermark."""
    world = MemoryExport()
    world.produce(0, 4)
    world.broker.set_last_stable("orders", 0, 1)
    assert _look(world).partitions[0].lag == 1


def test_offsets_without_a_record_are_counted_per_partition() -> None:
    """Holes are summed over the entries that were read."""
    world = MemoryExport()
    world.produce(0, 2)
    world.broker.append_holes("orders", 0, 3)
    world.run()
    world.broker.append_holes("orders", 0, 2)
    world.produce(0, 1)
    world.run()
    assert [each.skipped for each in _look(world).partitions] == [5, 0]
    assert _look(world, entries_max=1).partitions[0].skipped == 2


def test_only_so_many_entries_are_read() -> None:
    """The number of reads is that of the entries asked for, or of those that are judged, whatever the history."""
    world = MemoryExport()
    for _ in range(JUDGED_ENTRIES + 3):
        world.produce(0, 1)
        world.run()
    world.store.requests.clear()
    status = _look(world, entries_max=2)
    assert [entry.seq for entry in status.entries] == [JUDGED_ENTRIES + 3, JUDGED_ENTRIES + 2]
    gets = [each.operation for each in world.store.requests].count("GetObject")
    assert gets == JUDGED_ENTRIES + 2  # and which log it is, and the open plan's


def test_an_open_plan_is_shown_and_no_problem() -> None:
    """A plan without its entry means a run at work, or one that died: the next run finishes it."""
    world = MemoryExport()
    world.produce(0, 3)
    prepare(world.exporter, request("died"))
    status = _look(world)
    assert status.is_ok
    assert status.open_plan is not None
    assert "plan 1 of run died is open" in summary(status)


def test_a_failed_range_needs_attention() -> None:
    """A bad record that may not be skipped is named with its partition until it is gone."""
    world = MemoryExport()
    world.produce(0, 2)
    world.broker.append("orders", 0, Record(2, b"{"))
    world.produce(1, 1)
    world.run()
    status = _look(world)
    assert not status.is_ok
    assert [(each.tp.partition, each.start, each.end) for each in status.failed] == [(0, 2, 3)]
    assert summary(status) == "1 of 2 partitions needs attention: orders-0; the others are exported."


def test_a_partition_that_lost_data_needs_attention() -> None:
    """What Kafka deleted before it was exported is left out, with the reason."""
    world = MemoryExport()
    world.produce(0, 2)
    world.run()
    world.broker.set_log_start("orders", 0, 5)
    status = _look(world)
    assert not status.is_ok
    assert "[2, 5) are gone" in str(status.excluded[0])


def test_without_kafka_the_logs_part_is_there() -> None:
    """A broker that does not answer leaves positions and entries; the status is not ok."""
    world = MemoryExport()
    world.produce(0, 4)
    world.run()

    def refuse() -> Broker:
        raise KafkaUnavailable("Kafka did not answer.")

    status = look(world.settings, world.exporter.log, refuse, entries_max=10)
    assert not status.is_ok
    assert status.kafka_error == "Kafka did not answer."
    assert [(each.position, each.lag) for each in status.partitions] == [(4, None), (0, None)]
    assert summary(status) == "Kafka did not answer; shown below is the log up to entry 1."


def test_a_damaged_newest_entry_is_an_error() -> None:
    """The state is in the newest entry: where it cannot be read there is no status to show."""
    world = MemoryExport()
    world.produce(0, 4)
    world.run()
    world.store.overwrite(world.exporter.log.layout.log_key(1), b"{}")
    with pytest.raises(LogDamaged):
        _look(world)
