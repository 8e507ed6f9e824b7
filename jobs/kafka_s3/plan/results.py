"""What is executed of a plan, and what comes back: the words between the run, its tasks, and whatever executes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from kafka_s3.log.entries import PlannedRange, RangeEntry, Stop
from kafka_s3.ports import ObjectStore, RecordSource, Registries
from kafka_s3.settings.model import Settings


@dataclass(frozen=True, slots=True)
class TaskPorts:
    """What a task works over."""

    store: ObjectStore
    source: RecordSource
    registries: Registries


class Task(Protocol):
    """The work on one planned range: reading it from Kafka, or copying what was exported of it before."""

    @property
    def planned(self) -> PlannedRange: ...

    @property
    def is_read(self) -> bool:
        """Whether records are read, one of which may be to blame for what is raised."""
        ...

    def export(self, settings: Settings, ports: TaskPorts, *, careful: bool) -> RangeResult:
        """Write the range's objects; `careful`: find the record that made an earlier try raise. May raise anything."""
        ...


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a range did not reach its end; `exit_status` is what the run ends with because of it.

    `kafka_changed`: Kafka no longer holds what was planned; a new look says what can be done.
    """

    reason: str
    exit_status: int
    kafka_changed: bool = False
    stop: Stop = Stop.OTHER


@dataclass(frozen=True, slots=True)
class RangeResult:
    """What became of a planned range: what can be committed, and what stopped it. At least one of the two is there."""

    planned: PlannedRange
    entry: RangeEntry | None
    failure: Failure | None
    refused: tuple[str, ...] = ()  # the first records that were left out, where errors.log.enable asks for them
    trace: str = ""  # of what nobody expected, for the log
