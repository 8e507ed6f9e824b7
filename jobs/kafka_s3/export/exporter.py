"""A connector as the run and the operations have it: its settings, its log, and the ports that it works over."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kafka_s3.log.entries import Plan
from kafka_s3.log.store import Chance, Log, by_chance, open_log
from kafka_s3.plan.results import RangeResult, Task
from kafka_s3.ports import Broker, ObjectStore
from kafka_s3.ranges import TopicPartition
from kafka_s3.settings.model import Settings

Execute = Callable[[Sequence[Task]], Sequence[RangeResult]]
#: A plan with the schemas that are inferred for its topics; those of the topics named are not widened.
Infer = Callable[[Plan, frozenset[str]], Plan]


#: Shows positions to others; why that was not possible, or `None`.
Show = Callable[[Mapping[TopicPartition, int]], str | None]


def nothing_inferred(plan: Plan, kept: frozenset[str]) -> Plan:  # noqa: ARG001  # an `Infer`
    """Of a configuration that infers no schema."""
    return plan


@dataclass(frozen=True, slots=True)
class Exporter:
    """One connector's settings and the ports it works over. `chance`: what a log that is begun is told from others by.
    `infer`: finds the schemas of values, where the configuration wants that.
    `show`: of a connector whose positions others want to see (`export.consumer.group.commit`).
    `opened`: the log that a program stays with, once it has found it; where none is given, each look finds it anew.
    """

    settings: Settings
    store: ObjectStore
    broker: Broker
    chance: Chance = by_chance
    infer: Infer = field(default=nothing_inferred, compare=False)
    opened: Log | None = field(default=None, compare=False)
    show: Show | None = field(default=None, compare=False)

    @property
    def log(self) -> Log:
        if self.opened is not None:
            return self.opened
        return open_log(self.store, self.settings.log_root, self.settings.name, self.settings.log_key, self.chance)

    def at_work(self) -> Exporter:
        """The same for one program, which is fenced if the log is begun anew meanwhile (docs/protocol.md#epochs)."""
        show = None if self.show is None else _until_it_fails(self.show)
        return replace(self, opened=self.log, show=show)


def _until_it_fails(show: Show) -> Show:
    """The same for one run: what was not possible after one commit is not tried, and waited for, after each."""
    has_failed = False

    def shown(positions: Mapping[TopicPartition, int]) -> str | None:
        nonlocal has_failed
        why = None if has_failed else show(positions)
        has_failed = has_failed or why is not None
        return why

    return shown
