"""Alarms: every ten minutes one task looks at all connectors, fails with what is wrong, and tells what is new."""

import os
from datetime import timedelta
from pathlib import Path

from airflow.sdk import BaseNotifier, Context

from kafka_s3_airflow.alarm_dag import alarms_dag
from kafka_s3_airflow.alarms import Bounds

beside = Path(__file__).resolve().parents[2] / "connectors"
folder = Path(os.environ.get("KAFKA_S3_CONNECTORS", beside))

#: What is still well. Those of one connector alone: `connector_bounds={"orders": Bounds(…)}`.
BOUNDS = Bounds(
    lag_records_max=50_000_000,
    lag_max=timedelta(hours=3),
    loss_within=timedelta(days=1),
    overdue_max=timedelta(hours=1),
    rejected_max=0.01,
)


class Tell(BaseNotifier):
    """Where alarms go: here to the task's log. The notifiers of Airflow's providers take its place."""

    def notify(self, context: Context) -> None:
        self.log.error("ALARM %s", context["alarm"].message)


dag = alarms_dag(folder, BOUNDS, notifiers=[Tell()])
