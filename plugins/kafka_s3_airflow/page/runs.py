"""What Airflow's database says of runs, in few questions whatever the number of connectors."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from airflow.models.dag import DagModel
from airflow.models.dagrun import DagRun
from airflow.models.taskinstance import TaskInstance
from airflow.models.taskinstancehistory import TaskInstanceHistory
from airflow.models.variable import Variable
from airflow.utils.session import create_session
from airflow.utils.state import DagRunState, TaskInstanceState
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from kafka_s3_airflow.alarm_dag import SILENCES
from kafka_s3_airflow.alarm_notices import EVERY, Silences
from kafka_s3_airflow.page.model import AirflowFacts, Connector, RunFacts, Silence
from kafka_s3_airflow.verification import verify_id

_ENDED = (DagRunState.SUCCESS, DagRunState.FAILED)
_AT_WORK = (DagRunState.QUEUED, DagRunState.RUNNING)


def find_facts(connectors: Iterable[Connector]) -> dict[str, AirflowFacts]:
    """Whether each connector's DAG is paused, how its newest ended run ended, and that of its verification, the newest
    run that is queued or running, and until when its alarms are silent, by Airflow's database alone: a secrets backend
    is not asked every few seconds."""
    runs_in = {each.dag_id: each.runs_in for each in connectors}
    wanted = {*runs_in.values(), *map(verify_id, runs_in)}
    with create_session() as session:
        known = select(DagModel.dag_id, DagModel.is_paused).where(DagModel.dag_id.in_(wanted))
        paused = {row.dag_id: bool(row.is_paused) for row in session.execute(known)}
        ended, at_work = (_newest(session, wanted, states) for states in (_ENDED, _AT_WORK))
        failing = _failing(session, at_work)
        stored = session.scalar(select(Variable).where(Variable.key == SILENCES))
        silences = Silences.parse(stored.get_val() if stored is not None else None)
    now = datetime.now(UTC)
    return {
        name: AirflowFacts(
            is_paused=paused.get(dag_id),
            run=ended.get(dag_id),
            verify_id=verify_id(name),
            verify=ended.get(verify_id(name)),
            at_work=failing.get(dag_id) or at_work.get(dag_id),
            silences=_silences_of(silences, {name, dag_id}, now),
        )
        for name, dag_id in runs_in.items()
    }


def _newest(session: Session, dag_ids: Collection[str], states: Collection[DagRunState]) -> dict[str, RunFacts]:
    newest = select(func.max(DagRun.id)).where(DagRun.dag_id.in_(dag_ids), DagRun.state.in_(states))
    found = select(DagRun.dag_id, DagRun.run_id, DagRun.state).where(DagRun.id.in_(newest.group_by(DagRun.dag_id)))
    return {dag_id: RunFacts(run_id, str(state)) for dag_id, run_id, state in session.execute(found)}


def _silences_of(silences: Silences, names: Collection[str], now: datetime) -> tuple[Silence, ...]:
    """Those that last, of a connector or of its group's DAG."""
    found = []
    for key, until in sorted(silences.until.items()):
        name, colon, kind = key.partition(":")
        if name in (*names, EVERY) and until > now:
            found.append(Silence(kind if colon else None, int(until.timestamp() * 1000)))
    return tuple(found)


def _failing(session: Session, at_work: Mapping[str, RunFacts]) -> dict[str, RunFacts]:
    """Those of the runs of which a task failed and waits to be tried again."""
    columns = (TaskInstance.dag_id, TaskInstance.run_id, TaskInstance.task_id, TaskInstance.try_number)
    waits = select(*columns).where(
        TaskInstance.dag_id.in_(at_work), TaskInstance.state == TaskInstanceState.UP_FOR_RETRY
    )
    return {
        row.dag_id: replace(at_work[row.dag_id], failing=row.task_id, tries=row.try_number)
        for row in session.execute(waits)
        if at_work[row.dag_id].run_id == row.run_id
    }


def runs_known(dag_id: str, run_ids: Sequence[str]) -> set[str]:
    """Those of some runs that Airflow has: what `kafka-s3 run` committed has no DAG run, and old ones are deleted."""
    with create_session() as session:
        found = select(DagRun.run_id).where(DagRun.dag_id == dag_id, DagRun.run_id.in_(set(run_ids)))
        return set(session.scalars(found))


def dags_known(dag_ids: Collection[str]) -> dict[str, bool]:
    """Those of some DAGs that Airflow has, and whether each is paused."""
    with create_session() as session:
        known = select(DagModel.dag_id, DagModel.is_paused).where(DagModel.dag_id.in_(dag_ids), ~DagModel.is_stale)
        return {row.dag_id: bool(row.is_paused) for row in session.execute(known)}


#: The end of a run that goes on, rounded up, so that one question is not another each time it is asked.
_ROUND_MS: Final = 60_000


def span_of(dag_id: str, run_id: str, now_ms: int) -> tuple[int, int] | None:
    """When a run was at work, from the first try of a task to the last, in milliseconds; `None` for no such run."""
    with create_session() as session:
        run = session.scalar(select(DagRun).where(DagRun.dag_id == dag_id, DagRun.run_id == run_id))
        if run is None:
            return None
        starts: list[datetime | None] = [run.start_date]
        # A run that is cleared begins anew, and what its tries committed before stays.
        for tries in (TaskInstance, TaskInstanceHistory):
            began = select(func.min(tries.start_date)).where(tries.dag_id == dag_id, tries.run_id == run_id)
            starts.append(session.scalar(began))
        known = [int(each.timestamp() * 1000) for each in starts if each is not None]
        end = run.end_date
    now_ms += -now_ms % _ROUND_MS
    if not known:
        return now_ms, now_ms
    return min(known), now_ms if end is None else int(end.timestamp() * 1000)
