"""What Airflow's database says of runs, in few questions whatever the number of connectors."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Final

from airflow.models.dag import DagModel
from airflow.models.dagrun import DagRun
from airflow.models.taskinstance import TaskInstance
from airflow.models.taskinstancehistory import TaskInstanceHistory
from airflow.utils.session import create_session
from airflow.utils.state import DagRunState
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from kafka_s3_airflow.page.model import AirflowFacts, Connector, RunFacts
from kafka_s3_airflow.verification import verify_id

_ENDED = (DagRunState.SUCCESS, DagRunState.FAILED)
_AT_WORK = (DagRunState.QUEUED, DagRunState.RUNNING)


def find_facts(connectors: Iterable[Connector]) -> dict[str, AirflowFacts]:
    """Whether each connector's DAG is paused, how its newest ended run ended, and that of its verification, and the
    newest run that is queued or running."""
    runs_in = {each.dag_id: each.runs_in for each in connectors}
    wanted = {*runs_in.values(), *map(verify_id, runs_in)}
    with create_session() as session:
        known = select(DagModel.dag_id, DagModel.is_paused).where(DagModel.dag_id.in_(wanted))
        paused = {row.dag_id: bool(row.is_paused) for row in session.execute(known)}
        ended, at_work = (_newest(session, wanted, states) for states in (_ENDED, _AT_WORK))
    return {
        name: AirflowFacts(
            is_paused=paused.get(dag_id),
            run=ended.get(dag_id),
            verify_id=verify_id(name),
            verify=ended.get(verify_id(name)),
            at_work=at_work.get(dag_id),
        )
        for name, dag_id in runs_in.items()
    }


def _newest(session: Session, dag_ids: Collection[str], states: Collection[DagRunState]) -> dict[str, RunFacts]:
    newest = select(func.max(DagRun.id)).where(DagRun.dag_id.in_(dag_ids), DagRun.state.in_(states))
    found = select(DagRun.dag_id, DagRun.run_id, DagRun.state).where(DagRun.id.in_(newest.group_by(DagRun.dag_id)))
    return {dag_id: RunFacts(run_id, str(state)) for dag_id, run_id, state in session.execute(found)}


def runs_known(dag_id: str, run_ids: Sequence[str]) -> set[str]:
    """Those of some runs that Airflow has: what `kafka-s3 run` committed has no DAG run, and old ones are deleted."""
    with create_session() as session:
        found = select(DagRun.run_id).where(DagRun.dag_id == dag_id, DagRun.run_id.in_(set(run_ids)))
        return set(session.scalars(found))


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
