"""An export inside your own DAG: a task before it, the export of `orders`, a task after it.

The DAG `orders` exports the same connector. That is safe, since whoever comes second finds what the first committed;
but a connector needs one DAG only: outside the connectors folder a file has no DAG but yours.
"""

import logging
import os
from datetime import UTC, datetime
from pathlib import Path

from airflow.sdk import DAG, task

from kafka_s3_airflow import export_docs, export_params, export_schedule, kafka_to_s3

log = logging.getLogger(__name__)
beside = Path(__file__).resolve().parents[2] / "connectors"
connector = Path(os.environ.get("KAFKA_S3_CONNECTORS", beside)).absolute() / "orders.properties"


@task
def before() -> None:
    """What has to be true before records are exported. If this fails, nothing is."""


@task
def after(data_interval_end: datetime | None = None) -> None:
    """What is to be done with what was exported."""
    log.info("Exported: the records before %s.", data_interval_end or "now")


with DAG(
    "example_own_dag",
    schedule=export_schedule(connector),
    start_date=datetime(2020, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    params=export_params(),
    tags=["kafka-s3", "example"],
    doc_md=f"{__doc__}\n{export_docs(connector)}",
):
    before() >> kafka_to_s3(connector) >> after()
