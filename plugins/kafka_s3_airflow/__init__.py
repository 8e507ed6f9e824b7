"""The exporter in Airflow: DAGs made of connector files, their three tasks, the plugin.

`dags_of` makes a DAG of each connector file of a folder. To write a DAG by hand: `kafka_to_s3` is the task group
plan -> export -> complete, `export_params` its trigger form, `export_schedule` a connector's schedule, `export_docs`
its description. They are looked up when they are asked for: Airflow imports this package in every one of its processes.

- `dags`: connector files to DAGs.
- `task_group`: the three tasks as a task group.
- `tasks`: what `plan` and `complete` do; which errors and exit statuses Airflow does not retry.
- `operators`: the operator of `export`: spark-submit.
- `driver_output`: what the driver tells, read line by line.
- `groups`: the DAG of a group of connectors.
- `group_tasks`: what its `plan` and `complete` do.
- `group_failures`: which members of a group failed, and what is said of that.
- `group_operator`: the operator of its `export`.
- `pools`: the pool of exports, made where it is missing.
- `preload`: what tasks import, imported where they are forked from.
- `schedules`: a connector's schedule as Airflow takes it.
- `dag_docs`: a DAG's description.
- `connections`: connections and secrets of Airflow.
- `guard`: a task's process ends with its supervisor.
- `assets`: events of assets for what was committed.
- `reading`: for DAGs that run on these: the objects of an event.
- `reexport`: the DAG that exports a window again.
- `operations`: the DAG that rewinds, accepts losses and redrives dead letters.
- `operation_request`: what is asked of it.
- `verification`: the DAG that verifies an export.
- `alarms`: a task that fails when a number of an export passes a bound.
- `alarm_dag`: the DAG with one task for the alarms of all connectors.
- `alarm_looks`: how it looks at them.
- `alarm_notices`: what it tells of them.
- `metrics`: health in Prometheus' text format.
- `counters`: commits as metrics of Airflow's.
- `page`: the page in Airflow's UI.
- `provider_info`: what Airflow lists the package as.
- `links`: the link from a task to its commits on the page.
- `lineage`: what OpenLineage is told of an export.
- `plugin`: what Airflow has to know by name.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafka_s3_airflow.dags import dags_of as dags_of
    from kafka_s3_airflow.task_group import export_docs as export_docs
    from kafka_s3_airflow.task_group import export_params as export_params
    from kafka_s3_airflow.task_group import export_schedule as export_schedule
    from kafka_s3_airflow.task_group import kafka_to_s3 as kafka_to_s3

__all__ = ["dags_of", "export_docs", "export_params", "export_schedule", "kafka_to_s3"]

if find_spec("airflow") is None:
    raise ImportError("Airflow is not installed for this Python: pip install 'kafka-s3[airflow]'.")


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(import_module(f"kafka_s3_airflow.{'dags' if name == 'dags_of' else 'task_group'}"), name)
