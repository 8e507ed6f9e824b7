"""What a viewer may do about a connector. The page's own JavaScript asks Airflow's REST API for it, with the viewer's
login: nothing here writes, and Airflow decides again when it is asked.
"""

from typing import Any, Final, TypedDict

from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.core_api.security import GetUserDep
from fastapi import APIRouter, Depends, HTTPException, Request, Response

from kafka_s3.errors import ConfigurationError
from kafka_s3_airflow.group_tasks import CONNECTORS
from kafka_s3_airflow.operations import operations_id
from kafka_s3_airflow.page import access, runs
from kafka_s3_airflow.page.at_hand import PAGE_WAIT_S, ObserverDep, OneDep, ThreadsDep, answered, authenticated
from kafka_s3_airflow.page.model import AirflowFacts, Connector
from kafka_s3_airflow.page.previews import Previews, PreviewWanted
from kafka_s3_airflow.reexport import reexport_id
from kafka_s3_airflow.verification import verify_id

_REFUSED: Final = "You may not trigger {}, so the page does not say either what a run of it would do."


routes = APIRouter(dependencies=[Depends(authenticated)])


class Startable(TypedDict):
    """A DAG whose runs the viewer may start. `may_unpause`: one that is paused, too."""

    dag_id: str
    is_paused: bool
    may_unpause: bool
    conf: dict[str, Any]


def allowed_actions(connector: Connector, facts: AirflowFacts, user: Any) -> dict[str, Any]:
    """By kind, what the viewer may do now; `None` for what they may not, or what is not there."""
    export = connector.runs_in
    dag_ids = {
        "trigger": export,
        "verify": verify_id(connector.dag_id),
        "reexport": reexport_id(connector.dag_id),
        "operations": operations_id(connector.dag_id),
    }
    paused = runs.dags_known(set(dag_ids.values()))
    may_start = access.allowed(paused, user, "POST", DagAccessEntity.RUN)
    may_edit = access.allowed(paused, user, "PUT", None)
    found: dict[str, Any] = {
        kind: Startable(
            dag_id=dag_id,
            is_paused=paused[dag_id],
            may_unpause=dag_id in may_edit,
            conf={CONNECTORS: [connector.name]} if kind == "trigger" and connector.group is not None else {},
        )
        if dag_id in may_start
        else None
        for kind, dag_id in dag_ids.items()
    }
    found["pause"] = {"dag_id": export, "is_paused": paused[export]} if export in may_edit else None
    failed = facts.run is not None and facts.run.state == "failed"
    may_clear = failed and export in access.allowed(paused, user, "PUT", DagAccessEntity.RUN)
    found["clear"] = {"dag_id": export, "run_id": facts.run.run_id} if may_clear and facts.run is not None else None
    return found


def check_may_preview(connector: Connector, wanted: PreviewWanted, user: Any) -> None:
    """403 for who may not start what it is a preview of; 422 for what is none."""
    try:
        id_of = reexport_id if wanted.is_of_window else operations_id
    except ConfigurationError as error:
        raise HTTPException(422, str(error)) from None
    dag_id = id_of(connector.dag_id)
    if dag_id not in access.allowed([dag_id], user, "POST", DagAccessEntity.RUN):
        raise HTTPException(403, _REFUSED.format(dag_id))


@routes.get("/api/connectors/{dag_id}/preview")
async def preview(
    request: Request,
    shown: OneDep,
    user: GetUserDep,
    observer: ObserverDep,
    threads: ThreadsDep,
    conf: str,
    look: int = 0,
) -> Response:
    """What a run with these parameters would do, for who may start it. `look`: another number is asked anew."""
    wanted = PreviewWanted(shown.dag_id, conf, look)
    await threads.run(check_may_preview, shown, wanted, user)
    previews: Previews = request.app.state.previews
    answer = await previews.of(wanted, PAGE_WAIT_S)
    return await threads.run(answered, request, answer, dict, shown, observer)
