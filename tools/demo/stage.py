"""The servers of the demo, the environment that Airflow runs in, and what is kept in `.demo` for `make ui`."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.parts.java import find_java
from tools.parts.kafka import KafkaBroker
from tools.parts.s3 import MotoServer, S3Server

REPOSITORY: Final = Path(__file__).resolve().parents[2]
HOME: Final = REPOSITORY / ".demo"
BUCKET: Final = "kafka-archive"
BIN: Final = Path(sys.executable).parent


@dataclass(frozen=True, slots=True)
class Stage:
    """A broker and a store that run."""

    kafka: KafkaBroker
    s3: S3Server

    def environment(self) -> dict[str, str]:
        """What Airflow needs to know: where it lives, and how to reach Kafka, the bucket and Spark."""
        aws = {
            "conn_type": "aws",
            "login": self.s3.access_key,
            "password": self.s3.secret_key,
            "extra": {"endpoint_url": self.s3.endpoint_url, "region_name": self.s3.region},
        }
        return {
            **os.environ,
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "JAVA_HOME": str(find_java().home),
            "AIRFLOW_HOME": str(HOME / "airflow"),
            "AIRFLOW__CORE__DAGS_FOLDER": str(REPOSITORY / "dags"),
            "AIRFLOW__CORE__PLUGINS_FOLDER": str(REPOSITORY / "plugins"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
            "AIRFLOW__LOGGING__LOGGING_LEVEL": "INFO",
            "AIRFLOW_CONN_AWS_DEFAULT": json.dumps(aws),
            "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": "local[2]"}),
            "KAFKA_S3_BOOTSTRAP_SERVERS": self.kafka.bootstrap_servers,
            "KAFKA_S3_ENV_PREFIXES": "KAFKA_S3_BOOTSTRAP_SERVERS",  # what the page may look up
            "KAFKA_S3_RETRY_DELAY_S": "5",
        }

    def shell_lines(self) -> str:
        """What a user's shell needs for `kafka-s3` on this data."""
        return (
            f"export KAFKA_S3_BOOTSTRAP_SERVERS={self.kafka.bootstrap_servers}\n"
            f"export AWS_ENDPOINT_URL_S3={self.s3.endpoint_url}\n"
            f"export AWS_ACCESS_KEY_ID={self.s3.access_key} AWS_SECRET_ACCESS_KEY={self.s3.secret_key}\n"
        )


@contextmanager
def fresh_stage() -> Iterator[Stage]:
    """New servers, an empty bucket and an empty Airflow."""
    shutil.rmtree(HOME, ignore_errors=True)
    (HOME / "airflow").mkdir(parents=True)
    with KafkaBroker() as kafka, MotoServer() as s3:
        s3.create_bucket(BUCKET)
        yield Stage(kafka, s3)


@contextmanager
def kept_stage() -> Iterator[Stage]:
    """The servers as `keep` left them."""
    with KafkaBroker(data=HOME / "kafka") as kafka, MotoServer() as s3:
        client = s3.client()
        client.create_bucket(Bucket=BUCKET)
        for item in json.loads((HOME / "bucket.json").read_text()):
            body = (HOME / "bucket" / item["file"]).read_bytes()
            client.put_object(Bucket=BUCKET, Key=item["key"], Body=body, Metadata=item["metadata"])
        yield Stage(kafka, s3)


def keep(stage: Stage) -> None:
    """Write the bucket and the topic to `.demo`, and stop the broker."""
    client = stage.s3.client()
    (HOME / "bucket").mkdir()
    index = []
    for number, info in enumerate(_listing(client)):
        answer = client.get_object(Bucket=BUCKET, Key=info)
        (HOME / "bucket" / str(number)).write_bytes(answer["Body"].read())
        index.append({"key": info, "file": str(number), "metadata": answer["Metadata"]})
    (HOME / "bucket.json").write_text(json.dumps(index))
    stage.kafka.save(HOME / "kafka")


def _listing(client: object) -> list[str]:
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET)  # type: ignore[attr-defined]
    return [found["Key"] for page in pages for found in page.get("Contents", [])]


class StepFailed(Exception):
    """A command of the demo failed; its output is in the log that the message names."""


def airflow(stage: Stage, log: str, *arguments: str) -> str:
    """Run an `airflow` command and return what it printed; the output goes to `.demo/<log>.log` too."""
    command = [str(BIN / "airflow"), *arguments]
    run = subprocess.run(
        command, env=stage.environment(), cwd=HOME, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    path = HOME / f"{log}.log"
    path.write_text(run.stdout)
    if run.returncode != 0:
        tail = "\n".join(run.stdout.splitlines()[-30:])
        raise StepFailed(f"`airflow {' '.join(arguments)}` ended with status {run.returncode}; see {path}\n{tail}")
    return run.stdout
