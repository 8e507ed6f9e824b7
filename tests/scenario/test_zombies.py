"""Histories with more to clean up: zombies that write what nobody will commit, and sweeps of any plan at any time.

The ledger holds them to the same: nothing that an entry lists, then or later, is deleted, and at the end nothing is
left that may be.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule, run_state_machine_as_test

from kafka_s3.export.exporter import Exporter
from kafka_s3.export.sweep import sweep
from kafka_s3.export.task import RangeTask, export_range
from kafka_s3.log.plans import InheritedPlan, StoredPlan
from kafka_s3.ports import PartitionOffsets
from tests.scenario.machine import Histories

EXAMPLES = 60
STEPS = 16
which_plan = st.integers(0, 9)


class Haunted(Histories):
    """The same histories, with zombies and sweeps."""

    @rule(which=which_plan, flush_size=st.integers(1, 5))
    def work_on_a_plan(self, which: int, flush_size: int) -> None:
        """A zombie: it executes a plan of long ago, or the open one, under the configuration of some other time, and
        never comes to a commit."""

        def body(exporter: Exporter) -> None:
            then = replace(exporter.settings, limits=replace(exporter.settings.limits, flush_size=flush_size))
            planned = _plan(exporter, which)
            for each in planned.plan.ranges if planned is not None else ():
                generation = planned.plan.topics[each.topic].generation if planned is not None else 0
                task = RangeTask(each, 0, generation, PartitionOffsets(0, each.end, each.end))
                export_range(then, task, exporter.store, exporter.broker)  # type: ignore[arg-type]

        self.world._start(body, ())

    @rule(which=which_plan)
    def sweep(self, which: int) -> None:
        """As a driver does after its commit of a plan that another had left; here of any plan."""

        def body(exporter: Exporter) -> None:
            planned = _plan(exporter, which)
            if planned is not None:
                sweep(exporter, InheritedPlan(planned.plan, planned.sha256))

        self.world._start(body, ())


def _plan(exporter: Exporter, which: int) -> StoredPlan | None:
    head = exporter.log.newest()
    return exporter.log.plan(which % (head.entry.seq + 2)) if head is not None else None


def test_nothing_takes_what_an_entry_lists() -> None:
    """Among crashes, rewinds and changes of configuration, what zombies leave is found, and nothing else is taken."""
    run_state_machine_as_test(
        Haunted,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
