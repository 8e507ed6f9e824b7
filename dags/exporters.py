"""Every connector file becomes an Airflow DAG named after its connector."""

import os
from pathlib import Path

from kafka_s3_airflow import dags_of

beside = Path(__file__).resolve().parent.parent / "connectors"
folder = Path(os.environ.get("KAFKA_S3_CONNECTORS", beside))

globals().update(dags_of(folder))
