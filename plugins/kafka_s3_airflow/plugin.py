"""The plugin: its name, so far."""

from __future__ import annotations

from airflow.plugins_manager import AirflowPlugin


class KafkaS3Plugin(AirflowPlugin):
    """Found through the plugins folder in a checkout, through an entry point where the package is installed."""

    name = "kafka_s3"
