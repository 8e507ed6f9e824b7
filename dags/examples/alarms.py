"""Alarms: every ten minutes each kind looks at each connector. A finding fails its task, and whoever asked is told."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from airflow.sdk import DAG, BaseNotifier, Context, CronTriggerTimetable, task

from kafka_s3_airflow.alarms import check, files_in

beside = Path(__file__).resolve().parents[2] / "connectors"
folder = Path(os.environ.get("KAFKA_S3_CONNECTORS", beside))

#: What is still well. Bounds of one connector alone: give it a `check` of its own.
BOUNDS = {
    "lag": {"lag_records_max": 50_000_000, "lag_max": timedelta(hours=3)},
    "loss": {"loss_within": timedelta(days=1)},
    "late": {"overdue_max": timedelta(hours=1)},
    "rejected": {"rejected_max": 0.01},
}


class Tell(BaseNotifier):
    """Where alarms go: here to the task's log. The notifiers of Airflow's providers take its place."""

    def notify(self, context: Context) -> None:
        self.log.error("ALARM %s: %s", context["ti"].task_id, context.get("exception"))


with DAG(
    "kafka_s3_alarms",
    schedule=CronTriggerTimetable("*/10 * * * *", timezone="UTC"),
    start_date=datetime(2020, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    tags=["kafka-s3"],
    doc_md=__doc__,
    # A finding fails at once. The retries are for a broker or a store that does not answer for a moment.
    default_args={"retries": 2, "retry_delay": timedelta(minutes=1), "on_failure_callback": Tell()},
):
    connectors = task(task_id="connectors")(files_in)(str(folder))
    for kind, bounds in BOUNDS.items():
        name = "{{ task.op_kwargs['connector'].rpartition('/')[2] }}"
        task(task_id=kind, map_index_template=name)(check).partial(**bounds).expand(connector=connectors)
