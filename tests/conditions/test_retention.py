"""Records that are gone before they are exported: before a run, and while one is at work."""

from __future__ import annotations

import pytest

from kafka_s3.errors import EXIT_DATA
from tests.conditions.conftest import Make
from tests.conditions.harness import LiveTopic
from tests.conditions.meanwhile import Meanwhile

pytestmark = pytest.mark.faults


def test_before_the_first_run(world: LiveTopic) -> None:
    """A topic whose start is gone when it is first seen is exported from where it begins; nothing is a loss."""
    world.send(*range(10))
    world.delete_before(4)
    world.run_well()
    world.check(range(4, 10))
    assert world.positions() == {0: 10}


def test_an_empty_log_that_begins_late(world: LiveTopic) -> None:
    """A topic that was emptied before it was first seen goes on from its end."""
    world.send(0, 1, 2)
    world.delete_before(3)
    world.run_well()
    world.check([])
    assert world.positions() == {0: 3}
    world.send(3)
    world.run_well()
    world.check([3])


def test_of_what_is_exported(world: LiveTopic) -> None:
    """Retention of exported records is nobody's loss, up to the very position."""
    world.send(*range(5))
    world.run_well()
    world.delete_before(5)
    world.run_well()
    world.send(5, 6)
    world.run_well()
    world.check(range(7), gone=True)


def test_before_a_run(make_world: Make) -> None:
    """A start that is gone leaves that partition out and exports the others: status 65, and the offsets by name."""
    world = make_world().create(2)
    world.send(0, 1)
    world.send(50, partition=1)
    world.run_well()
    world.send(2, 3, 4)
    world.send(51, partition=1)
    world.delete_before(4)
    for _ in range(2):
        report = world.run()
        assert report.exit_status == EXIT_DATA
        (problem,) = report.problems()
        assert f"{world.topic}-0: offsets [2, 4) are gone from Kafka before they were exported" in problem
        world.check({0: [0, 1], 1: [50, 51]}, gone=True)
        assert world.positions() == {0: 2, 1: 2}
    status = world.status()
    assert not status.is_ok
    assert [str(left.tp) for left in status.excluded] == [f"{world.topic}-0"]


@pytest.mark.parametrize("start", [3, 6], ids=["in the middle", "up to the end"])
def test_between_plan_and_reading(make_world: Make, start: int) -> None:
    """A start that goes after the plan fails its partition, with the log's bounds; others are committed."""
    world = make_world().create(2)
    world.send(*range(6))
    world.send(50, 51, partition=1)
    report = world.run(meanwhile=Meanwhile([lambda: world.delete_before(start)]))
    assert report.exit_status == EXIT_DATA
    (problem,) = [problem for problem in report.problems() if "reading" in problem]
    assert f"{world.topic}-0 [0, 6)" in problem
    assert f"The log is [{start}, 6)." in problem
    world.check({1: [50, 51]}, gone=True)
    assert world.positions() == {0: 0, 1: 2}


def test_between_two_batches(make_world: Make) -> None:
    """A start that goes between two batches of a run stops the partition there; what was committed stays."""
    world = make_world({"export.batch.records.max": "3"}).create()
    world.send(*range(9))
    report = world.run(meanwhile=Meanwhile([lambda: None, lambda: world.delete_before(5)]))
    assert report.exit_status == EXIT_DATA
    assert world.numbers() == {0: [0, 1, 2]}
    assert world.positions() == {0: 3}
    world.check_accounts()


def test_while_it_is_read(make_world: Make) -> None:
    """A start that passes the reader in the middle of its range: what it has not fetched is not taken for holes."""
    one_batch = {"max.partition.fetch.bytes": "1000", "queued.min.messages": "1", "queued.max.messages.kbytes": "1"}
    world = make_world(client=one_batch).create()
    for first in range(0, 3000, 100):
        for number in range(first, first + 100):
            world.send_bytes(b'{"n":%d,"blank":"%s"}' % (number, b" " * 1500), now=False)
        world.flush()
    report = world.run(meanwhile=Meanwhile(midway=lambda: world.delete_before(2990)))
    assert report.exit_status == EXIT_DATA
    assert any("The log is [2990, 3000)." in problem for problem in report.problems())
    assert world.numbers() == {}
    world.check_accounts()
