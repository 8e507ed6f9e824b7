"""The exporter in Airflow: DAGs made of connector files, their three tasks, the plugin.

To write a DAG by hand: `kafka_to_s3` is the task group plan -> export -> complete, `export_params` its trigger form,
`export_schedule` a connector's schedule, `export_docs` its description. They are looked up when they are asked for:
Airflow imports this package in every one of its processes.

- `dags`: connector files to DAGs.
- `task_group`: the three tasks as a task group.
- `tasks`: what `plan` and `complete` do; which errors and exit statuses Airflow does not retry.
- `operators`: the operator of `export`: spark-submit.
- `driver_output`: what the driver tells, read line by line.
- `schedules`: a connector's schedule as Airflow takes it.
- `documents`: a DAG's description.
- `connections`: connections and secrets of Airflow.
- `guard`: a task's process ends with its supervisor.
- `assets`: events of assets for what was committed.
- `reading`: for DAGs that run on these: the objects of an event.
- `reexport`: the DAG that exports a window again.
- `verification`: the DAG that verifies an export.
- `alarms`: a task that fails when a number of an export passes a bound.
- `metrics`: health in Prometheus' text format.
- `counters`: commits as metrics of Airflow's.
- `page`: the page in Airflow's UI.
- `plugin`: what Airflow has to know by name.
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
