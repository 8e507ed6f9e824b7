"""An Airflow task's process ends with its supervisor, and so does the Spark that it started (Linux only)."""

from __future__ import annotations

import os

from kafka_s3.spark.parent_death import die_with_parent


def die_with_supervisor() -> None:
    """The same for an Airflow task's process; not in `dag.test()`, where that is the caller's own process."""
    from airflow.sdk.execution_time import task_runner
    from airflow.sdk.execution_time.comms import CommsDecoder

    if isinstance(getattr(task_runner, "SUPERVISOR_COMMS", None), CommsDecoder) and os.getppid() != 1:
        die_with_parent()
