"""An auth manager in which users differ by the DAGs they may read, as those of real installations do."""

from __future__ import annotations

from typing import Any

from airflow.api_fastapi.auth.managers.models.resource_details import DagDetails
from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager

GUEST = "guest"
READABLE = "orders"
#: May do all to the DAGs of this connector, and only read the others.
OPERATOR = "operator"


class ByName(SimpleAuthManager):
    """Airflow's simple one, but that the guest may read one DAG alone."""

    def is_authorized_dag(self, *, user: Any, details: DagDetails | None = None, **more: Any) -> bool:
        if user.username == GUEST and details is not None and details.id not in (None, READABLE):
            return False
        of_another = details is not None and not str(details.id).startswith(READABLE)
        if user.username == OPERATOR and more.get("method") != "GET" and of_another:
            return False
        return bool(super().is_authorized_dag(user=user, details=details, **more))
