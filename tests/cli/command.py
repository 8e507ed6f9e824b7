"""Calls the command line: in this process, or as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from click.testing import CliRunner, Result

from kafka_s3.cli import main

ROOT = Path(__file__).resolve().parents[2]

PLAIN = {
    "name": "orders",
    "connector.class": "io.confluent.connect.s3.S3SinkConnector",
    "topics": "orders",
    "s3.bucket.name": "no-such-bucket-anywhere",
    "s3.region": "us-east-1",
    "storage.class": "io.confluent.connect.s3.storage.S3Storage",
    "format.class": "io.confluent.connect.s3.format.json.JsonFormat",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
    "flush.size": "3",
}


def write_properties(path: Path, properties: Mapping[str, str]) -> Path:
    path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    return path


def call(*arguments: object, env: Mapping[str, str] | None = None, input: str | None = None) -> Result:
    """One command in this process; what is no exit of click's is raised."""
    return CliRunner().invoke(main, [str(each) for each in arguments], env=env, input=input, catch_exceptions=False)


def call_process(*arguments: object, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """One command as a process, in no particular folder."""
    return subprocess.run(
        [sys.executable, "-m", "kafka_s3.cli", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "jobs"), **(env or {})},
        cwd="/",
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
