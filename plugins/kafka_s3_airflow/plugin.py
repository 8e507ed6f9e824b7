"""The plugin: what Airflow has to know by name, in every one of its processes."""

from __future__ import annotations

from airflow.plugins_manager import AirflowPlugin

from kafka_s3_airflow.page.mount import EXTERNAL_VIEWS, FASTAPI_APP
from kafka_s3_airflow.pools import PoolListener
from kafka_s3_airflow.preload import PreloadListener
from kafka_s3_airflow.schedules import BoundaryTimetable, MidnightTimetable, OnRequestTimetable


class KafkaS3Plugin(AirflowPlugin):
    """Found through the plugins folder in a checkout, through an entry point where the package is installed."""

    name = "kafka_s3"
    timetables = [BoundaryTimetable, MidnightTimetable, OnRequestTimetable]  # noqa: RUF012  # as Airflow declares it
    fastapi_apps = [FASTAPI_APP]  # noqa: RUF012
    external_views = EXTERNAL_VIEWS
    listeners = [PoolListener(), PreloadListener()]  # noqa: RUF012
