"""What an operation would do, asked before somebody starts it: the engine's own looks, which write nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from kafka_s3.dead_letters.redrive import redrive
from kafka_s3.errors import ConfigurationError
from kafka_s3.events import nobody
from kafka_s3.export.exporter import Exporter
from kafka_s3.log.entries import Interval, Plan
from kafka_s3.plan.batch import RunRequest
from kafka_s3.plan.schedule import following, latest
from kafka_s3.ports import Broker, ObjectStore
from kafka_s3.reexport.run import preview
from kafka_s3.rewind.rewind import look, look_at_losses
from kafka_s3.settings.model import Settings
from kafka_s3_airflow.operation_request import ACCEPT, REDRIVE, REWIND, OperationRequest, parse
from kafka_s3_airflow.operations import told_of_accepting, told_of_redrive, told_of_rewind
from kafka_s3_airflow.page.background_answers import Answer, BackgroundAnswers, Limits
from kafka_s3_airflow.page.bounded_store import BoundedStore
from kafka_s3_airflow.page.observer import Observer

REEXPORT: Final = "reexport"
CONF_CHARS_MAX: Final = 8_000
TOLD_MAX: Final = 100
FRESH_MS: Final = 60_000
_LIMITS: Final = Limits(at_once=2, waiting=24, kept=50, of_one_at_once=1, of_one_waiting=6)
_RUN_ID: Final = "preview"


@dataclass(frozen=True, slots=True)
class PreviewWanted:
    """A connector, and the parameters of the run that somebody may start; of a window: `at_ms`, a time in it.

    `look`: what tells one question from another of the same words.
    """

    dag_id: str
    conf: str
    look: int = 0

    @property
    def parameters(self) -> dict[str, Any]:
        """Raises `ConfigurationError` for what is no JSON object."""
        try:
            given = json.loads(self.conf) if len(self.conf) <= CONF_CHARS_MAX else None
        except (ValueError, RecursionError):
            given = None
        if not isinstance(given, dict):
            raise ConfigurationError(f"The parameters are not a JSON object of at most {CONF_CHARS_MAX} characters.")
        return given

    @property
    def is_of_window(self) -> bool:
        return self.parameters.get("operation") == REEXPORT


class Previews:
    """What operations of all connectors would do, asked in the background. Threads: 2."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._answers: BackgroundAnswers[PreviewWanted, dict[str, Any]] = BackgroundAnswers(
            self._ask, fresh_ms=FRESH_MS, limits=_LIMITS, now_ms=observer.now_ms, owner_of=lambda wanted: wanted.dag_id
        )

    async def of(self, wanted: PreviewWanted, seconds: float) -> Answer[dict[str, Any]]:
        await self._answers.wait_for_news([wanted], seconds)
        return self._answers.look(wanted)

    def _ask(self, wanted: PreviewWanted) -> dict[str, Any]:
        settings, store, broker = self._observer.reached(wanted.dag_id)
        return previewed(settings, BoundedStore(store), broker, wanted, self._observer.now_ms())


def previewed(
    settings: Settings, store: BoundedStore, broker: Broker, wanted: PreviewWanted, now_ms: int
) -> dict[str, Any]:
    """What would happen, in sentences; `seq`: the newest log entry at that time. Raises what would stop it."""
    exporter = Exporter(settings, cast("ObjectStore", store), broker)
    given = wanted.parameters
    if given.get("operation") == REEXPORT:
        return _of_window(exporter, given, now_ms)
    asked = parse(given)
    show: Callable[[Exporter, OperationRequest, int], dict[str, Any]] = {
        REWIND: _of_rewind,
        ACCEPT: _of_accepting,
        REDRIVE: _of_redrive,
    }[asked.operation]
    return show(exporter, asked, now_ms)


def _of_rewind(exporter: Exporter, asked: OperationRequest, _: int) -> dict[str, Any]:
    found = look(exporter, asked.targets)
    return _told(told_of_rewind(found), found.head.entry.seq)


def _of_accepting(exporter: Exporter, asked: OperationRequest, _: int) -> dict[str, Any]:
    found = look_at_losses(exporter, asked.accepted)
    return _told(told_of_accepting(found), found.head.entry.seq)


def _of_redrive(exporter: Exporter, asked: OperationRequest, now_ms: int) -> dict[str, Any]:
    done = redrive(
        exporter.log,
        asked.wanted,
        exports=exporter.settings.exports,
        to=asked.to,
        again=asked.again,
        sink=None,
        at_ms=now_ms,
        tell=nobody,
    )
    return _told(told_of_redrive(done, dry_run=True), None, is_empty=not done.sent)


def _of_window(exporter: Exporter, given: Mapping[str, Any], now_ms: int) -> dict[str, Any]:
    at_ms = given.get("at_ms")
    if not isinstance(at_ms, int) or not 0 < at_ms < 10**14:
        raise ConfigurationError("There is no window of that time: give one between 1970 and today.")
    anew = given.get("anew") is True
    window = _window_of(exporter.settings, at_ms)
    found = preview(exporter, RunRequest(_RUN_ID, 1, window, now_ms), anew=anew)
    told = []
    if found.committed is not None:
        entry = found.committed
        records = sum(done.records for done in entry.ranges)
        told.append(f"The window is exported already, by run {entry.run_id}: {records:,} records.")
        told.append("That is withdrawn, and it is exported once more." if anew else "The run will find nothing to do.")
    if found.plan is not None:
        told += _told_of_plan(found.plan, is_open=found.is_open)
    return {
        **_told(told, None, is_empty=found.plan is None),
        "window_ms": [window.start_ms, window.end_ms],
    }


def _window_of(settings: Settings, at_ms: int) -> Interval:
    """The interval of the connector's schedule that holds a time; of one that has none an hour."""
    schedule = replace(settings.schedule, timed=True)
    start_ms = latest(schedule, at_ms)
    return Interval(start_ms, following(schedule, start_ms))


def _told_of_plan(plan: Plan, *, is_open: bool) -> list[str]:
    told = ["A plan of it is open: it is finished as planned."] if is_open else []
    read = [each for each in plan.ranges if not each.is_copied]
    copied = [each for each in plan.ranges if each.is_copied]
    if not plan.ranges:
        return [*told, "The window has no records: it is committed without any."]
    if read:
        told.append(
            f"{sum(each.end - each.start for each in read):,} offsets in {len(read):,} ranges are read from Kafka."
        )
    if copied:
        told.append(f"The objects of {len(copied):,} ranges, which Kafka no longer has, are copied.")
    told += [
        f"{each.tp} [{each.start}, {each.end}): {'copied' if each.is_copied else 'from Kafka'}" for each in plan.ranges
    ]
    return [*told, *plan.notes]


def _told(told: Iterable[str], seq: int | None, *, is_empty: bool = False) -> dict[str, Any]:
    """`is_empty`: a run would find nothing to do."""
    every = list(told)
    return {"told": every[:TOLD_MAX], "omitted": max(0, len(every) - TOLD_MAX), "seq": seq, "is_empty": is_empty}
