"""Looks at every connector of a folder for alarms: in a few threads of one process, each for a limited time."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from kafka_s3.errors import ConfigurationError, ExporterError
from kafka_s3_airflow.alarms import AlarmKind, Bounds, findings_of_kinds, look_with

if TYPE_CHECKING:
    from kafka_s3.ports import ObjectStore
    from kafka_s3.report.health import Health
    from kafka_s3.settings.model import Settings
    from kafka_s3_airflow.dags import Connector

log = logging.getLogger(__name__)

T = TypeVar("T")
R = TypeVar("R")

AT_ONCE: Final = 16  # a broker that is down is believed to be after ten seconds
DEADLINE_S: Final = 60.0
#: What did not answer is asked once more after this: no alarm of a broker that restarts.
AGAIN_AFTER_S: Final = 30.0
PROBLEMS_MAX: Final = 5
_OF_KAFKA: Final = frozenset({AlarmKind.LAG, AlarmKind.LOSS, AlarmKind.LATE})
_MAY_PASS: Final = frozenset({AlarmKind.KAFKA, AlarmKind.UNSEEN})


@dataclass(frozen=True, slots=True)
class Looked:
    """What a look at a connector came to. An alarm of a kind that was not `judged` is neither there nor over."""

    alarms: Mapping[AlarmKind, str] = field(default_factory=dict)
    judged: frozenset[AlarmKind] = frozenset()

    def with_alarm(self, kind: AlarmKind, text: str | None) -> Looked:
        """The same, with one kind judged more; `None`: it is well."""
        alarms = self.alarms if text is None else {**self.alarms, kind: text}
        return Looked(alarms, self.judged | {kind})


def look_at_all(
    connectors: Sequence[Connector],
    bounds_of: Callable[[str], Bounds],
    *,
    deadline_s: float = DEADLINE_S,
    pause: Callable[[], None] = partial(time.sleep, AGAIN_AFTER_S),  # noqa: B008  # called below, not here
) -> dict[str, Looked]:
    """Every connector by its DAG's id, in their order. One that fails or hangs has an alarm that says so.

    None is delayed by another. `pause`: before those that did not answer are asked again.

    Threads: AT_ONCE, and one for each connector that hangs. Those end with the process.
    """
    from kafka_s3.wiring import SharedStores

    ask = partial(_look_at, bounds_of=bounds_of, store_of=SharedStores())
    found: dict[str, Looked] = {}
    hung: set[str] = set()
    for each, looked in answers_within(ask, connectors, at_once=AT_ONCE, deadline_s=deadline_s):
        if looked is None:
            hung.add(each.dag_id)
        found[each.dag_id] = looked or _hanging(deadline_s)
    again = [
        each for each in connectors if each.dag_id not in hung and not _MAY_PASS.isdisjoint(found[each.dag_id].alarms)
    ]
    if again:
        pause()
        for each, looked in answers_within(ask, again, at_once=AT_ONCE, deadline_s=deadline_s):
            found[each.dag_id] = looked or _hanging(deadline_s)
    return {each.dag_id: found[each.dag_id] for each in connectors}


def answers_within(
    ask: Callable[[T], R], items: Sequence[T], *, at_once: int, deadline_s: float
) -> Iterator[tuple[T, R | None]]:
    """Each item with its answer as it comes; `None` of one that takes longer, whose thread is left to itself.

    `ask` must not raise.
    """
    answers: queue.SimpleQueue[tuple[int, R]] = queue.SimpleQueue()
    waiting = deque(range(len(items)))
    began_s: dict[int, float] = {}
    while waiting or began_s:
        while waiting and len(began_s) < at_once:
            index = waiting.popleft()
            began_s[index] = time.monotonic()
            # Not a pool's thread: the process would wait for one that hangs.
            threading.Thread(target=_answer, args=(ask, items[index], index, answers), daemon=True).start()
        left_s = min(began_s.values()) + deadline_s - time.monotonic()
        try:
            index, answer = answers.get(timeout=max(0.0, left_s))
        except queue.Empty:
            now_s = time.monotonic()
            for late in [index for index, at_s in began_s.items() if at_s + deadline_s <= now_s]:
                del began_s[late]
                yield items[late], None
            continue
        if began_s.pop(index, None) is not None:
            yield items[index], answer


def _answer(ask: Callable[[T], R], item: T, index: int, answers: queue.SimpleQueue[tuple[int, R]]) -> None:
    answers.put((index, ask(item)))


def _look_at(
    connector: Connector, bounds_of: Callable[[str], Bounds], store_of: Callable[[Settings], ObjectStore]
) -> Looked:
    from kafka_s3_airflow.connections import load_connector

    if connector.problems:
        return _broken(connector, "\n".join(connector.problems))
    try:
        settings = load_connector(connector.path).settings
        health = look_with(settings, store_of)
    except ConfigurationError as error:
        return _broken(connector, str(error))
    except ExporterError as error:
        return _unseen(str(error))
    # Whatever is wrong with one, Airflow's errors and ours included, must not hide the others.
    except Exception as error:
        log.exception("%s could not be looked at", connector.dag_id)
        return _unseen(f"{type(error).__name__}: the log of this task says more.")
    for note in health.notes:
        log.warning("%s: %s", connector.dag_id, note)
    return judge(health, bounds_of(connector.dag_id), str(connector.path))


def _broken(connector: Connector, problems: str) -> Looked:
    text = f"it cannot run.\n{problems}\nCorrect that, then check it: kafka-s3 validate {connector.path}"
    return Looked({AlarmKind.BROKEN: text}, frozenset({AlarmKind.BROKEN}))


def _unseen(why: str) -> Looked:
    text = f"it could not be looked at, so nothing is known of it. {why} The next look tries again."
    return Looked({AlarmKind.UNSEEN: text}, frozenset({AlarmKind.UNSEEN}))


def _hanging(deadline_s: float) -> Looked:
    return _unseen(
        f"It took longer than {deadline_s:g} s. Check that its bucket and its brokers answer Airflow's workers."
    )


def judge(health: Health, bounds: Bounds, path: str) -> Looked:
    """The alarms of what was seen, and which kinds that was enough for."""
    from kafka_s3.export.diagnosis import is_silence, said

    status = health.status
    alarms: dict[AlarmKind, str] = {}
    for kind, finding in findings_of_kinds(health, bounds):
        alarms[kind] = f"{alarms[kind]} {finding}" if kind in alarms else finding
    judged = {AlarmKind.BROKEN, AlarmKind.UNSEEN, AlarmKind.REJECTED, AlarmKind.KAFKA}
    if health.lag_ms is not None:  # a record that waits, and its age is not known: it may be late or not
        judged |= _OF_KAFKA
    problems = [str(said(each, path)) for each in status.problems if not is_silence(each)]
    if problems:
        more = f" {len(problems) - PROBLEMS_MAX} more: kafka-s3 status {path}" if len(problems) > PROBLEMS_MAX else ""
        alarms[AlarmKind.PROBLEMS] = " ".join(problems[:PROBLEMS_MAX]) + more
    if status.is_kafka_silent:
        alarms[AlarmKind.KAFKA] = (
            f"Kafka does not answer, so what waits is not known. {status.kafka_error} Check that the brokers are up,"
            " and that Airflow's workers can reach them."
        )
    else:
        judged.add(AlarmKind.PROBLEMS)
    return Looked(alarms, frozenset(judged | alarms.keys()))
