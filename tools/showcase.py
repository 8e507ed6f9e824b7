"""Connectors with data behind them, for a look at the page: a topic's records, and exports as runs would leave them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from click.testing import CliRunner
from confluent_kafka import Producer

from kafka_s3.adapters.s3 import S3Store
from kafka_s3.cli import main
from kafka_s3.log.store import Log, open_log
from kafka_s3.settings.s3 import S3Settings
from tools.parts.kafka import KafkaBroker
from tools.parts.s3 import S3Server

HOUR_MS = 3_600_000
ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Showcase:
    """A folder of connectors over one broker and one store; the bucket of each is `bucket-of-<name>`."""

    folder: Path
    kafka: KafkaBroker
    store: S3Server

    def connector(
        self, name: str, more: Mapping[str, str] | None = None, *, partitions: int = 1, retention_ms: int = -1
    ) -> Path:
        """A connector file, with its topic and its bucket."""
        given = {
            "name": name,
            "connector.class": "io.confluent.connect.s3.S3SinkConnector",
            "tasks.max": "2",
            "topics": name,
            "s3.bucket.name": _bucket(name),
            "s3.region": self.store.region,
            "store.url": self.store.endpoint_url,
            "storage.class": "io.confluent.connect.s3.storage.S3Storage",
            "format.class": "io.confluent.connect.s3.format.json.JsonFormat",
            "s3.compression.type": "gzip",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false",
            "flush.size": "1000",
            "timezone": "UTC",
            "consumer.override.bootstrap.servers": self.kafka.bootstrap_servers,
            **(more or {}),
        }
        for topic in given["topics"].split(","):
            self.kafka.create_topic(topic, partitions=partitions, config={"retention.ms": str(retention_ms)})
        self.store.create_bucket(given["s3.bucket.name"])
        path = self.folder / f"{name}.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in given.items()))
        return path

    def produce(self, topic: str, partition: int, values: Iterable[bytes], at_ms: int) -> None:
        """Records of one time."""
        producer = Producer({"bootstrap.servers": self.kafka.bootstrap_servers})
        for value in values:
            producer.produce(topic, value, partition=partition, timestamp=at_ms)
        assert producer.flush(30) == 0

    def export(self, name: str, run_id: str, until_ms: int | None = None) -> int:
        """Export a connector here, as the run of this id would: up to a time, or all there is; the exit status."""
        time = ["--until-now"]
        if until_ms is not None:
            time = ["--interval", *(_iso(at_ms) for at_ms in (until_ms - HOUR_MS, until_ms))]
        path = str(self.folder / f"{name}.properties")
        result = CliRunner().invoke(main, ["run", path, "--run-id", run_id, *time], env=self.keys())
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code

    def log(self, name: str, connector: str | None = None) -> Log:
        """The log of a connector, or of another one in the same bucket."""
        settings = S3Settings(
            _bucket(name),
            self.store.region,
            self.store.endpoint_url,
            access_key_id=self.store.access_key,
            secret_access_key=self.store.secret_key,
        )
        return open_log(S3Store(settings), "_kafka_s3", connector or name)

    def keys(self) -> dict[str, str]:
        return {"AWS_ACCESS_KEY_ID": self.store.access_key, "AWS_SECRET_ACCESS_KEY": self.store.secret_key}

    def environment(self, home: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """What Airflow's processes need to know to see these connectors."""
        aws = {
            "conn_type": "aws",
            "login": self.store.access_key,
            "password": self.store.secret_key,
            "extra": {"endpoint_url": self.store.endpoint_url, "region_name": self.store.region},
        }
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW_", "AWS_"))}
        return {
            **inherited,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "jobs", ROOT / "plugins", ROOT))),
            "AWS_EC2_METADATA_DISABLED": "true",
            "AIRFLOW_HOME": str(home),
            "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
            "AIRFLOW__CORE__PLUGINS_FOLDER": str(ROOT / "plugins"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW_CONN_AWS_DEFAULT": json.dumps(aws),
            "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": "local[2]"}),
            "KAFKA_S3_CONNECTORS": str(self.folder),
            **(more or {}),
        }


def _bucket(name: str) -> str:
    return f"bucket-of-{name.replace('_', '-')}"


def _iso(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat()
