"""Who may see what: Airflow's auth manager says it. It may ask Airflow's database, so this is for the page's threads.

A connector is shown to whoever may read the DAG that runs it; ids and states of runs to whoever may read that DAG's
runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.api_fastapi.core_api.security import requires_access_dag
from airflow.models.dag import DagModel
from fastapi import HTTPException, Request

from kafka_s3_airflow.page.model import Connector
from kafka_s3_airflow.page.observer import Observer

if TYPE_CHECKING:
    from airflow.api_fastapi.auth.managers.base_auth_manager import ResourceMethod


def visible_to(user: Any, observer: Observer) -> list[Connector]:
    """The connectors whose DAG the user may read."""
    connectors = observer.connectors()
    readable: set[str] = set()
    for team, names in _by_team({each.runs_in for each in connectors}).items():
        readable |= get_auth_manager().filter_authorized_dag_ids(dag_ids=names, user=user, team_name=team)
    return [each for each in connectors if each.runs_in in readable]


def readable(dag_id: str, request: Request, user: Any, observer: Observer) -> Connector:
    """A connector whose DAG the user may read; 403 for any other DAG, known or not, that they may not."""
    connector = observer.connector(dag_id)
    if connector is None or dag_id != connector.dag_id:
        requires_access_dag("GET", param_dag_id=dag_id)(request, user)
    if connector is None:
        raise HTTPException(404, f"The DAG {dag_id} is not made of one connector file.")
    requires_access_dag("GET", param_dag_id=connector.runs_in)(request, user)
    return connector


def with_readable_runs(dag_ids: Iterable[str], user: Any) -> set[str]:
    """Those of some DAGs whose runs the user may read."""
    return allowed(dag_ids, user, "GET", DagAccessEntity.RUN)


def allowed(dag_ids: Iterable[str], user: Any, method: ResourceMethod, entity: DagAccessEntity | None) -> set[str]:
    """Those of some DAGs that the user may do this to, as Airflow's own routes ask."""
    manager = get_auth_manager()
    return {
        dag_id
        for team, names in _by_team(dag_ids).items()
        for dag_id in names
        if manager.is_authorized_dag(
            method=method, access_entity=entity, details=DagDetails(id=dag_id, team_name=team), user=user
        )
    }


def may_edit(dag_id: str, user: Any) -> bool:
    """Whether the user may edit a DAG."""
    team = DagModel.get_dag_id_to_team_name_mapping([dag_id]).get(dag_id)
    return get_auth_manager().is_authorized_dag(method="PUT", details=DagDetails(id=dag_id, team_name=team), user=user)


def without_runs(row: Mapping[str, Any]) -> dict[str, Any]:
    """What is shown of a commit, a plan or a window to somebody who may not read runs."""
    return {**row, "run_id": None, "dag_id": None}


def _by_team(dag_ids: Iterable[str]) -> dict[str | None, set[str]]:
    names = list(dag_ids)
    teams = DagModel.get_dag_id_to_team_name_mapping(names)
    found: dict[str | None, set[str]] = {}
    for each in names:
        found.setdefault(teams.get(each), set()).add(each)
    return found
