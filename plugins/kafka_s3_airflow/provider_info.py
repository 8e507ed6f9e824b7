"""What this package says of itself to Airflow, which lists it among its providers."""

from __future__ import annotations

from typing import Any, Final

from kafka_s3 import __version__

_NAME: Final = "Kafka to S3"


def get_provider_info() -> dict[str, Any]:
    """No connection type: Kafka, AWS and Spark have theirs, and an export needs nothing beyond these."""
    return {
        "package-name": "kafka-s3",
        "name": _NAME,
        "description": "Kafka topics to S3, exactly once, in bounded batches.",
        "versions": [__version__],
        "integrations": [{"integration-name": _NAME, "tags": ["software"]}],
        "operators": [{"integration-name": _NAME, "python-modules": ["kafka_s3_airflow.operators"]}],
        "extra-links": ["kafka_s3_airflow.links.ExportLink"],
    }
