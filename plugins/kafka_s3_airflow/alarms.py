"""Alarms: a task that fails, with what is wrong and what to do, once a connector's numbers pass a bound.

`check` is a task for one connector, `alarms_dag` (`alarm_dag.py`) a DAG with one task for all of a folder. The numbers
are those of `kafka-s3 status`, and mean what `kafka_s3.report.health.Health` says.
"""

from __future__ import annotations

import enum
import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from airflow.sdk.exceptions import AirflowException, AirflowFailException

from kafka_s3_airflow.tasks import for_airflow

if TYPE_CHECKING:
    from kafka_s3.ports import ObjectStore
    from kafka_s3.report.health import Health
    from kafka_s3.settings.model import Settings

log = logging.getLogger(__name__)

ENTRIES: Final = 20  # the newest log entries, of which the rejected fraction is


class Alarm(AirflowFailException):
    """A bound was passed. Fails the task at once: a retry would find the same."""


class AlarmKind(enum.StrEnum):
    """What an alarm is about; together with the connector's name what tells one alarm from another."""

    LAG = "lag"
    LOSS = "loss"
    LATE = "late"
    REJECTED = "rejected"
    KAFKA = "kafka"  # it does not answer
    PROBLEMS = "problems"  # what `kafka-s3 status` says needs attention
    BROKEN = "broken"  # the file, or what it names in Airflow, is wrong
    UNSEEN = "unseen"  # the connector could not be looked at
    FAILED = "failed"  # the newest run
    VERIFY = "verify"  # the newest verification failed
    SILENCES = "silences"  # they cannot be read


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is still in order; `None`: not looked at. So is a number that equals its bound."""

    lag_records_max: int | None = None
    lag_max: timedelta | None = None
    loss_within: timedelta | None = None
    overdue_max: timedelta | None = None
    rejected_max: float | None = None

    @property
    def need_kafka(self) -> bool:
        asked = (self.lag_records_max, self.lag_max, self.loss_within, self.overdue_max)
        return any(bound is not None for bound in asked)


def files_in(folder: str | os.PathLike[str]) -> list[str]:
    """The files of a folder's connectors, as `check` takes them. One that is broken has a DAG that says so."""
    from kafka_s3_airflow.dags import connectors_in

    return [str(each.path) for each in connectors_in(Path(folder)) if not each.problems]


def check(
    connector: str | os.PathLike[str],
    *,
    lag_records_max: int | None = None,
    lag_max: timedelta | None = None,
    loss_within: timedelta | None = None,
    overdue_max: timedelta | None = None,
    rejected_max: float | None = None,
) -> dict[str, int | float | str | None]:
    """Compare a connector's numbers with the bounds that are given, inside a task; the numbers, if none passes.

    `connector`: the absolute path of its file. `lag_records_max`, `lag_max`: how many offsets may wait, and how old
    the oldest record of them may be. `loss_within`: retention may delete nothing that waits so soon.
    `overdue_max`: how long after a boundary of the schedule the records before it may wait. `rejected_max`: which part
    of the records in the newest log entries may have been rejected, 0.01 for a hundredth.

    Raises `Alarm`, which no retry of the task repeats, with everything that is wrong; an error that retries may cure
    while Kafka or the store does not answer.
    """
    from kafka_s3_airflow.connections import load_connector

    bounds = Bounds(lag_records_max, lag_max, loss_within, overdue_max, rejected_max)
    if bounds == Bounds():
        raise AirflowFailException("check() needs at least one bound.")
    with for_airflow():
        settings = load_connector(Path(connector)).settings
        health = look_with(settings)
    for note in health.notes:
        log.warning("%s: %s", settings.name, note)
    if bounds.need_kafka and health.status.kafka_error is not None:
        raise AirflowException(f"{settings.name}: the lag is not known. {health.status.kafka_error}")
    found = findings(health, bounds)
    if found:
        raise Alarm("\n".join(f"{settings.name}: {each}" for each in found))
    return _numbers(health)


def look_with(settings: Settings, store_of: Callable[[Settings], ObjectStore] | None = None) -> Health:
    """A connector's health now. `store_of`: gives its bucket, where many connectors share one."""
    from kafka_s3.log.store import open_log
    from kafka_s3.report.health import look
    from kafka_s3.wiring import make_broker, make_store

    log_of_it = open_log((store_of or make_store)(settings), settings.log_root, settings.name, settings.log_key)
    at_ms = int(time.time() * 1000)
    return look(settings, log_of_it, partial(make_broker, settings), at_ms=at_ms, entries_max=ENTRIES)


def findings(health: Health, bounds: Bounds) -> list[str]:
    """Which bounds are passed: the number, the bound, and what to do."""
    return [finding for _, finding in findings_of_kinds(health, bounds)]


def findings_of_kinds(health: Health, bounds: Bounds) -> list[tuple[AlarmKind, str]]:
    """The same, each with its kind."""
    found = [
        (AlarmKind.LAG, _lag_records(health, bounds.lag_records_max)),
        (AlarmKind.LAG, _lag(health, bounds.lag_max)),
        (AlarmKind.LOSS, _loss(health, bounds.loss_within)),
        (AlarmKind.LATE, _overdue(health, bounds.overdue_max)),
        (AlarmKind.REJECTED, _rejected(health, bounds.rejected_max)),
    ]
    return [(kind, finding) for kind, finding in found if finding is not None]


def _lag_records(health: Health, allowed: int | None) -> str | None:
    waiting = health.lag_records
    if allowed is None or waiting is None or waiting <= allowed:
        return None
    return (
        f"{waiting:,} offsets wait to be exported, more than {allowed:,}. {_state(health)}"
        " If its runs succeed, they do not keep up: raise tasks.max or the Spark connection's cores."
    )


def _lag(health: Health, allowed: timedelta | None) -> str | None:
    if allowed is None or health.lag_ms is None or health.lag_ms <= _ms(allowed):
        return None
    return (
        f"the oldest waiting record is {_text(health.lag_ms)} old, more than {_text(_ms(allowed))}. {_state(health)}"
        " Check its newest run in Airflow, and whether the DAG is paused."
    )


def _loss(health: Health, allowed: timedelta | None) -> str | None:
    if allowed is None:
        return None
    if health.retention_hidden:
        topics = ", ".join(health.retention_hidden[:5]) + (", …" if len(health.retention_hidden) > 5 else "")
        return (
            f"the time to data loss is not known: Kafka does not show the retention of {topics}."
            " Give this client DescribeConfigs permission on it, or leave loss_within out."
        )
    if health.loss_in_ms is None or health.loss_in_ms > _ms(allowed):
        return None
    return (
        f"retention deletes records that are not exported in {_text(health.loss_in_ms)}, within {_text(_ms(allowed))}."
        f" {_state(health)} Raise the topic's retention.ms now, then let a run export them."
    )


def _overdue(health: Health, allowed: timedelta | None) -> str | None:
    if allowed is None or health.overdue_ms is None or health.overdue_ms <= _ms(allowed):
        return None
    if health.held:
        return " ".join(map(str, health.held))
    return (
        f"a run that was due {_text(health.overdue_ms)} ago has not exported its records, more than"
        f" {_text(_ms(allowed))}. {_state(health)} Check whether the DAG is paused, its newest run failed or is still"
        " running, and whether the scheduler is up."
    )


def _rejected(health: Health, allowed: float | None) -> str | None:
    fraction = health.rejected_fraction
    if allowed is None or fraction is None or fraction <= allowed:
        return None
    return (
        f"{fraction:.2%} of the records of the newest log entries were rejected, more than {allowed:.2%}."
        " `kafka-s3 redrive` shows them with their reasons, and sends them again once these are fixed."
    )


def _state(health: Health) -> str:
    from kafka_s3.report.health import State
    from kafka_s3.report.status import summary

    is_said = health.state in (State.FAILED, State.KAFKA_DOWN)
    why = f": {summary(health.status)}" if is_said else "."
    return f"State: {health.state.value}{why}"


def _numbers(health: Health) -> dict[str, int | float | str | None]:
    return {
        "state": health.state.value,
        "lag_records": health.lag_records,
        "lag_ms": health.lag_ms,
        "loss_in_ms": health.loss_in_ms,
        "overdue_ms": health.overdue_ms,
        "rejected_fraction": health.rejected_fraction,
    }


def _ms(span: timedelta) -> int:
    return span // timedelta(milliseconds=1)


def _text(ms: int) -> str:
    from kafka_s3.report.health import duration_text

    return duration_text(ms)
