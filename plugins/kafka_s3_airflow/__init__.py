"""The exporter in Airflow: DAGs made of connector files, their three tasks, the plugin.

For DAGs of one's own: `kafka_to_s3` is the task group plan -> export -> complete, `export_params` its trigger form,
`export_schedule` a connector's schedule, `export_docs` its description. They are looked up when they are asked for:
Airflow imports this package in every one of its processes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafka_s3_airflow.task_group import export_docs as export_docs
    from kafka_s3_airflow.task_group import export_params as export_params
    from kafka_s3_airflow.task_group import export_schedule as export_schedule
    from kafka_s3_airflow.task_group import kafka_to_s3 as kafka_to_s3

__all__ = ["export_docs", "export_params", "export_schedule", "kafka_to_s3"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    from kafka_s3_airflow import task_group

    return getattr(task_group, name)
