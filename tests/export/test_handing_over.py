"""A driver that leaves a plan to another one of the same run, and what that one cannot know."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kafka_s3.export.run import run
from kafka_s3.export.run_state import ExcludedPlan
from kafka_s3.plan.results import RangeResult, Task
from tests.export.place import SimpleExport
from tests.support import hear, request


def test_what_was_rejected_before_counts() -> None:
    """The first driver commits a plan whose records are all bad, and hands the next over: its report says so. The other
    finds that plan as if it had written it, and one after the other they export what one driver would have."""
    place = SimpleExport(1, topics=("orders", "zoo"), tolerate=True, batch_records_max=8)
    place.broker.create_topic("zoo", 1)
    for _ in range(4):
        place.poison(0)
    place.produce(0, 16, topic="zoo")
    done: list[int] = []

    def small(tasks: Sequence[Task]) -> Sequence[RangeResult]:
        if done:
            raise ExcludedPlan(sum(task.planned.end - task.planned.start for task in tasks))
        done.append(len(tasks))
        return place._execute(tasks)

    with pytest.raises(ExcludedPlan) as handed:
        run(place.exporter(), request("run", planned_apart=True), small, hear(place.told))
    assert handed.value.offsets == 6
    assert handed.value.report.exit_status == 65
    assert "4 of 4 records of topic orders were rejected" in str(handed.value.report.said("c")[0])
    second = place.run("run", planned_apart=True)
    assert second.exit_status == 0
    assert sum(done.records for entry in place.entries() for done in entry.ranges) == 16
