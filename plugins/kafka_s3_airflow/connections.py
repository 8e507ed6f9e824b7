"""What a connector takes from Airflow: connections and secrets, looked up when a task runs, not when a DAG is built."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from airflow.sdk import Connection, Variable
from airflow.sdk.exceptions import AirflowNotFoundException
from airflow.sdk.log import mask_secret

from kafka_s3.errors import ConfigurationError, Problem
from kafka_s3.handover import Handover
from kafka_s3.settings import Lookups, Settings, load, outline

#: `airflow standalone` puts this sample into a new database; no broker has that name.
_SAMPLE_KAFKA: Final = {"bootstrap.servers": "broker:29092", "group.id": "my-group"}
_ROLE_WAY_OUT: Final = (
    "give keys, or let the connector file assume the role: s3.credentials.provider.class="
    "io.confluent.connect.s3.auth.AwsAssumeRoleCredentialsProvider with s3.credentials.provider.sts.role.arn"
)


@dataclass(frozen=True, slots=True)
class FromAirflow:
    """A connector's settings, and what the Spark driver needs to come to the same ones."""

    settings: Settings
    handover: Handover


def load_connector(path: Path) -> FromAirflow:
    """A connector file's settings with Airflow's connections and secrets; `ConfigurationError` with every problem."""
    known = outline(path)
    kafka, aws = _kafka(known.kafka_conn_id), _aws(known.aws_conn_id)
    secrets: dict[str, str] = {}

    def look_up(name: str) -> str | None:
        secret = _secret(name)
        if secret is not None:
            secrets[name] = secret
        return secret

    lookups = Lookups(env=dict(os.environ), read_file=_read_text, secrets=look_up)
    loaded = load(path, lookups=lookups, kafka_connection=kafka, aws_connection=aws)
    return FromAirflow(loaded.settings, Handover(kafka=kafka, aws=aws, secrets=secrets))


def find_connection(conn_id: str) -> Connection | None:
    """An Airflow connection, or `None` if there is none (or one that Airflow cannot parse)."""
    try:
        connection: Connection = Connection.get(conn_id)
    except AirflowNotFoundException:
        return None
    return connection


def _read_text(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")


def _kafka(conn_id: str) -> dict[str, str] | None:
    """A Kafka connection holds librdkafka's properties as JSON in its extra."""
    connection = find_connection(conn_id)
    if connection is None or connection.extra_dejson == _SAMPLE_KAFKA:
        return None
    return {str(name): _text(value) for name, value in connection.extra_dejson.items() if value is not None}


def _aws(conn_id: str) -> dict[str, str] | None:
    """An AWS connection holds the keys in login and password, or in its extra, with region and endpoint."""
    connection = find_connection(conn_id)
    if connection is None:
        return None
    extra: Mapping[str, Any] = connection.extra_dejson
    if extra.get("role_arn"):
        raise ConfigurationError(
            f"The Airflow connection {conn_id} cannot be used:",
            problems=[Problem("role_arn", None, f"not supported yet: {_ROLE_WAY_OUT}")],
        )
    service = extra.get("service_config") or {}
    given = {
        "aws_access_key_id": connection.login or extra.get("aws_access_key_id"),
        "aws_secret_access_key": connection.password or extra.get("aws_secret_access_key"),
        "aws_session_token": extra.get("aws_session_token"),
        "region_name": extra.get("region_name"),
        "endpoint_url": (service.get("s3") or {}).get("endpoint_url") or extra.get("endpoint_url"),
    }
    for name in ("aws_secret_access_key", "aws_session_token"):
        if given[name]:
            mask_secret(given[name])
    return {name: str(value) for name, value in given.items() if value}


def _secret(name: str) -> str | None:
    """`${secrets:NAME}`: an Airflow variable of that name, else the password of a connection of that name."""
    secret: str | None = Variable.get(name, default=None)
    if secret is None:
        connection = find_connection(name)
        secret = connection.password if connection is not None else None
    if secret is not None:
        mask_secret(secret)
    return secret


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
