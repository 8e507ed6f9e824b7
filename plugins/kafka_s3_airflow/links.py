"""The link from an `export` task to its commits on the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from airflow.providers.common.compat.sdk import BaseOperatorLink, conf

from kafka_s3_airflow.page.mount import NAME, PREFIX

if TYPE_CHECKING:
    from airflow.sdk.types import TaskInstanceKey


class ExportLink(BaseOperatorLink):
    """The page of the run's commits; Airflow makes it when the task ends, and shows it among the task's links."""

    name = NAME

    def get_link(self, operator: Any, *, ti_key: TaskInstanceKey) -> str:  # noqa: ARG002  # Airflow's signature
        base: str = conf.get("api", "base_url", fallback="") or ""
        return f"{base.rstrip('/')}{PREFIX}/?{urlencode({'dag_id': ti_key.dag_id, 'run_id': ti_key.run_id})}"
