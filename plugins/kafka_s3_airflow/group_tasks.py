"""What `plan` and `complete` of a group do: what they do of one connector, for each of its members, several at once.

A member that fails stops no other. What failed in `plan` is tried again by `export`, which says what is wrong with it,
has retries, and fails.
"""

from __future__ import annotations

import functools
import itertools
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from airflow.sdk import get_current_context
from airflow.sdk.exceptions import AirflowFailException

from kafka_s3.attempts import Raised, attempt
from kafka_s3_airflow.assets import Announced, announce_all
from kafka_s3_airflow.group_failures import Failures, Members
from kafka_s3_airflow.tasks import failed_before, interval_of, refuse_misspelt

if TYPE_CHECKING:
    from airflow.sdk import Context

    from kafka_s3.events import Event
    from kafka_s3.export.exporter import Exporter
    from kafka_s3.log.entries import Interval
    from kafka_s3.plan.batch import RunRequest
    from kafka_s3.wiring import MakeStore
    from kafka_s3_airflow.connections import FromAirflow

log = logging.getLogger(__name__)

#: The run's parameter that narrows it to some members.
CONNECTORS: Final = "connectors"
#: Where `export` says which members failed, for `complete`.
FAILED: Final = "failed"
#: Where `plan` says whose plan it found, and did not write.
PLANS_FOUND: Final = "plans_found"
#: Members at once: each has a client of Kafka's meanwhile, and waits for that and for the store.
AT_ONCE: Final = 8
_NAMED_MAX: Final = 20


@dataclass(frozen=True, slots=True)
class Said:
    """What was done for a member: the lines for the task's log, what is to be announced, how much was planned,
    and whether that plan was there before."""

    lines: tuple[str, ...]
    announced: Announced
    offsets: int | None = None
    is_found: bool = False


#: Does for a member, whose file is given first, what a task does.
Do = Callable[[str, "Exporter", "MakeStore"], Said]


def plan(members: Members, spark_conn_id: str) -> dict[str, int | None]:
    """Write down what the run exports of each member; if of none anything is new, `export` is skipped.

    Of each that has something to do: how many offsets, the fewest first; `None` of one that could not be planned.
    """
    from kafka_s3.plan.batch import RunRequest
    from kafka_s3_airflow.connections import check_spark

    context = get_current_context()
    wanted = narrowed(context, members)
    check_spark(spark_conn_id)  # here already, or only `export` would say it
    request = RunRequest(context["run_id"], context["ti"].try_number, interval_of(context), int(time.time() * 1000))
    done, failures = _do_all(context, wanted, functools.partial(_plan, request))
    planned = {name: said.offsets for name, said in done.items() if said.offsets is not None}
    found = [name for name, said in done.items() if said.is_found]
    if found:
        context["ti"].xcom_push(key=PLANS_FOUND, value=found)
    quiet = len(done) - len(planned)
    log.info("%s connectors: %s planned, %s with nothing new.", len(wanted), len(planned), quiet)
    if failures.statuses:
        log.error("Not planned, and tried again by export: %s", ", ".join(failures.statuses))
    smallest_first = sorted(planned, key=lambda name: (planned[name], name))
    return {name: planned[name] for name in smallest_first} | dict.fromkeys(failures.statuses)


def complete(members: Members) -> list[str]:
    """Announce what was committed, of all members; the task after it fails if one before it did.

    Those for which that failed, which `complete_rest` tries again: a task that fails would announce nothing.
    """
    context = get_current_context()
    wanted = narrowed(context, members)
    return list(_complete_all(context, wanted).statuses)


def complete_rest(members: Members) -> None:
    """The same of those for which it failed, until it passes for all of them; what does not, the next run announces."""
    context = get_current_context()
    left = context["ti"].xcom_pull(task_ids="complete") or ()
    failures = _complete_all(context, {name: members[name] for name in left if name in members})
    if failures.statuses:
        raise failures.error()


def _complete_all(context: Context, wanted: Members) -> Failures:
    do = functools.partial(_complete, interval_of(context), _failed(context, wanted))
    return _do_all(context, wanted, do)[1]


def narrowed(context: Context, members: Members) -> Members:
    """The members that the run is for: all, or those that its parameter names."""
    wanted = context["params"].get(CONNECTORS) or []
    unknown = sorted({str(each) for each in wanted} - members.keys())
    some = ", ".join(itertools.islice(sorted(members), _NAMED_MAX)) + (", …" if len(members) > _NAMED_MAX else "")
    refuse_misspelt(context, CONNECTORS, f", a list of some of these: {some}")
    if unknown:
        raise AirflowFailException(
            f"The run's parameter {CONNECTORS} names what is not in the group: {', '.join(unknown)}. In it are: {some}."
        )
    return {name: path for name, path in members.items() if not wanted or name in wanted}


def load_each(members: Members) -> Iterator[tuple[str, FromAirflow | Raised]]:
    """Members with what Airflow has for them. Each connection and secret is asked for once, in this thread."""
    from kafka_s3_airflow.connections import find_connection, find_secret, load_connector

    find, secrets = functools.cache(find_connection), functools.cache(find_secret)
    for name, path in members.items():
        yield name, attempt(load_connector, Path(path), find=find, secrets=secrets)


def _do_all(context: Context, members: Members, do: Do) -> tuple[dict[str, Said], Failures]:
    """Do something for each member, say so in the log, and announce what there is of all together. What was done for
    those that did not fail; and those that did."""
    from kafka_s3.wiring import SharedStores

    done: dict[str, Said] = {}
    failures = Failures(members)
    for name, said in _each(members, do, SharedStores()):
        if isinstance(said, Raised):
            log.error("%s: %s", name, said.error)
            failures.raised(name, said.error)
            continue
        for line in said.lines:
            log.info("%s: %s", name, line)
        done[name] = said
    events = announce_all(context, [each.announced for each in done.values()])
    log.info("%s events of assets, of %s connectors.", events, len(members))
    return done, failures


def _each(members: Members, do: Do, stores: MakeStore) -> Iterator[tuple[str, Said | Raised]]:
    """What was done for each member, in their order; at most a few are in memory."""
    from kafka_s3.ordered_pool import map_ordered, workers

    def done(loaded: tuple[str, FromAirflow | Raised]) -> tuple[str, Said | Raised]:
        name, given = loaded
        return name, given if isinstance(given, Raised) else attempt(do_one, members[name], given)

    def do_one(path: str, given: FromAirflow) -> Said:
        from kafka_s3.wiring import make_exporter

        return do(path, make_exporter(given.settings, stores(given.settings)), stores)

    with workers(AT_ONCE) as pool:
        yield from map_ordered(pool, done, load_each(members), AT_ONCE)


def _plan(request: RunRequest, path: str, exporter: Exporter, stores: MakeStore) -> Said:
    from kafka_s3.export.diagnosis import said
    from kafka_s3.export.run import prepare
    from kafka_s3.log.plans import NewPlan

    lines, tell = _lines()
    announced = Announced.of(exporter.log, exporter.settings, stores)
    planned, snapshot = prepare(exporter, request, tell)
    excluded = [f"Left out: {said(left, path)}" for left in snapshot.excluded]
    if planned is None:
        # What is left out alone is told by `export`, which fails with it.
        return Said((*lines, *(excluded or ["nothing is new"])), announced, 0 if excluded else None)
    ranges = [f"plan {planned.plan.seq}: {each.tp} [{each.start}, {each.end})" for each in planned.plan.ranges]
    notes = [f"plan {planned.plan.seq}: {note}" for note in planned.plan.notes]
    offsets = sum(each.end - each.start for each in planned.plan.ranges)
    return Said((*lines, *ranges, *notes, *excluded), announced, offsets, not isinstance(planned, NewPlan))


def _complete(
    interval: Interval | None,
    not_ended: frozenset[str],
    path: str,  # noqa: ARG001  # a `Do`
    exporter: Exporter,
    stores: MakeStore,
) -> Said:
    from kafka_s3.publish.completeness import Ran, mark_complete
    from kafka_s3.wiring import report_letters

    lines, tell = _lines()
    now_ms = int(time.time() * 1000)
    if exporter.settings.completeness is not None:
        mark_complete(exporter, Ran(interval, now_ms), tell)
    report_letters(exporter, tell)
    ended_ms = None if exporter.settings.name in not_ended else now_ms
    return Said(tuple(lines), Announced.of(exporter.log, exporter.settings, stores, ended_ms))


def _lines() -> tuple[list[str], Callable[[Event], None]]:
    """The sentences of events, kept until what they are of has ended, so that they stand together in the log."""
    from kafka_s3.sentences import sentence

    lines: list[str] = []
    return lines, lambda event: lines.extend(sentence(event).split("\n"))


def _failed(context: Context, wanted: Members) -> frozenset[str]:
    """The members that this run does not say is complete: those that failed; all, where that is not known."""
    if not failed_before(context):
        return frozenset()
    ti: Any = context["ti"]
    told = ti.xcom_pull(task_ids="export", key=FAILED)
    return frozenset(told) if told else frozenset(wanted)
