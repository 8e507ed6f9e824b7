"""What a connector takes from Airflow: connections and secrets, looked up when a task runs, not when a DAG is built."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from airflow.sdk import Connection, Variable
from airflow.sdk.exceptions import AirflowFailException, AirflowNotFoundException
from airflow.sdk.log import mask_secret

from kafka_s3.errors import ConfigurationError, Problem
from kafka_s3.settings import Outline, Settings, aws_connection, load, lookups_of, outline
from kafka_s3.spark.connect_server import SCHEME, ConnectServer, param
from kafka_s3.spark.driver_context import DriverContext

_DEFAULTS: Final = ("kafka_default", "aws_default")
#: `airflow standalone` puts this sample into a new database; no broker has that name.
_SAMPLE_KAFKA: Final = {"bootstrap.servers": "broker:29092", "group.id": "my-group"}
#: The provider's type of a Spark Connect server's connection.
CONNECT_TYPE: Final = "spark_connect"
_LOCAL_SPARK: Final = """--conn-json '{"conn_type":"spark","host":"local[2]"}'"""


#: Finds a connection by its id.
Find = Callable[[str], Connection | None]
#: Finds a secret by its name.
FindSecret = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class FromAirflow:
    """A connector's settings, and what the Spark driver needs to come to the same ones."""

    settings: Settings
    driver_context: DriverContext


def load_connector(
    path: Path, *, only_looks: bool = False, find: Find | None = None, secrets: FindSecret | None = None
) -> FromAirflow:
    """A connector file's settings with Airflow's connections and secrets; `ConfigurationError` with every problem.

    `only_looks`: for a process that exports nothing, the api-server. What the environment does not allow it by name it
    neither looks up nor imports. `find`, `secrets`: of somebody who loads many connectors, and remembers answers.
    """
    find, find_one = find or find_connection, secrets or find_secret
    known = outline(path)
    _check_named(path, known, find)
    kafka, aws = _kafka(known.kafka_conn_id, find), _aws(known.aws_conn_id, find)
    told: dict[str, str] = {}

    def look_up(name: str) -> str | None:
        secret = find_one(name)
        if secret is not None:
            told[name] = secret
        return secret

    lookups = lookups_of(os.environ, secrets=look_up, only_looks=only_looks)
    loaded = load(path, lookups=lookups, kafka_connection=kafka, aws_connection=aws)
    for text in loaded.settings.hidden:
        mask_secret(text)  # in the task's log, to which the driver's output goes too
    return FromAirflow(loaded.settings, DriverContext(kafka=kafka, aws=aws, secrets=told))


def _check_named(path: Path, known: Outline, find: Find) -> None:
    """A connection that a connector names is there. Airflow's defaults need not be: there are other places."""
    named = {"export.kafka.conn.id": known.kafka_conn_id, "export.aws.conn.id": known.aws_conn_id}
    message = "is not an Airflow connection, or one that cannot be parsed: add it (airflow connections add), or correct"
    missing = [
        Problem(name, conn_id, f"{message} {name}")
        for name, conn_id in named.items()
        if conn_id not in _DEFAULTS and find(conn_id) is None
    ]
    if missing:
        raise ConfigurationError(f"{path} names what is not there:", problems=missing)


def find_connection(conn_id: str) -> Connection | None:
    """An Airflow connection, or `None` if there is none (or one that Airflow cannot parse)."""
    try:
        connection: Connection = Connection.get(conn_id)
    except AirflowNotFoundException:
        return None
    return connection


def check_spark(conn_id: str) -> Connection:
    """The Spark connection. Refuses what the provider would make YARN of without a word, and what cannot work."""
    connection = find_connection(conn_id)
    add = f"Add it, for example: airflow connections add {conn_id} {_LOCAL_SPARK}"
    if connection is None:
        raise AirflowFailException(
            f"The Airflow connection {conn_id} is missing or cannot be parsed, so Spark cannot be reached. {add}"
        )
    if connection.conn_type in ("spark", CONNECT_TYPE) and not connection.host:
        raise AirflowFailException(f"The Airflow connection {conn_id} has no host, so Spark cannot be reached. {add}")
    if connect_server(connection, {}) is not None:
        return connection
    yarn = "yarn" in (connection.host, connection.conn_type)
    if yarn and not ({"HADOOP_CONF_DIR", "YARN_CONF_DIR"} & os.environ.keys()):
        raise AirflowFailException(
            f"The Airflow connection {conn_id} names YARN (as Airflow's own sample does), but neither HADOOP_CONF_DIR"
            f" nor YARN_CONF_DIR is set. Set one, or name another Spark. {add}"
        )
    if connection.extra_dejson.get("deploy-mode") == "cluster":
        raise AirflowFailException(
            f"The Airflow connection {conn_id} has deploy-mode cluster, which is not supported: the driver gets its"
            " secrets from this task. Use client mode."
        )
    return connection


def connect_server(connection: Connection, conf: Mapping[str, str]) -> ConnectServer | None:
    """The Spark Connect server that a connection names: by its type, or by a host that begins with `sc://`. As the
    provider has it, the token is its password and the user its login; what else is in the extra goes along.

    `None` of a connection that names another Spark. Raises `AirflowFailException`, which shows no value.
    """
    host = connection.host or ""
    if connection.conn_type != CONNECT_TYPE and not host.startswith(SCHEME):
        return None
    try:
        server = ConnectServer.parse(host if host.startswith(SCHEME) else f"{SCHEME}{host}", conf)
        given = {"user_id": connection.login, "token": connection.password, **connection.extra_dejson}
        params = dict(param(name, _text(value)) for name, value in given.items() if value not in (None, ""))
    except ConfigurationError as error:
        raise AirflowFailException(f"The Airflow connection {connection.conn_id}: {error}") from None
    server = replace(server, port=connection.port or server.port, params={**server.params, **params})
    if server.token is not None:
        mask_secret(server.token)
    return server


def _kafka(conn_id: str, find: Find) -> dict[str, str] | None:
    """A Kafka connection holds librdkafka's properties as JSON in its extra."""
    connection = find(conn_id)
    if connection is None or connection.extra_dejson == _SAMPLE_KAFKA:
        return None
    return {str(name): _text(value) for name, value in connection.extra_dejson.items() if value is not None}


def _aws(conn_id: str, find: Find) -> dict[str, str] | None:
    """An AWS connection holds the keys in login and password, or in its extra, with region and endpoint."""
    connection = find(conn_id)
    if connection is None:
        return None
    extra: Mapping[str, Any] = connection.extra_dejson
    service = _object(conn_id, "service_config", extra.get("service_config"))
    s3 = _object(conn_id, "service_config.s3", service.get("s3"))
    given = {
        "aws_access_key_id": connection.login or extra.get("aws_access_key_id"),
        "aws_secret_access_key": connection.password or extra.get("aws_secret_access_key"),
        "aws_session_token": extra.get("aws_session_token"),
        "region_name": extra.get("region_name"),
        "endpoint_url": s3.get("endpoint_url") or extra.get("endpoint_url"),
        "export.log.key": extra.get("export.log.key"),
        **_role(conn_id, extra, service),
    }
    for name in ("aws_secret_access_key", "aws_session_token"):
        if given[name]:
            mask_secret(given[name])
    for key in filter(None, (each.strip() for each in str(given["export.log.key"] or "").split(","))):
        mask_secret(key)
    return {name: str(value) for name, value in given.items() if value}


def _role(conn_id: str, extra: Mapping[str, Any], service: Mapping[str, Any]) -> dict[str, str]:
    """The role that a connection names, and by which endpoints AWS is reached."""
    if extra.get("profile_name"):
        raise ConfigurationError(
            f"The Airflow connection {conn_id} cannot be used:",
            problems=[Problem("profile_name", None, "is not read here: set AWS_PROFILE where the exporter runs")],
        )
    config = _object(conn_id, "config_kwargs", extra.get("config_kwargs"))
    sts = _object(conn_id, "service_config.sts", service.get("sts"))
    given = {name: extra.get(name) for name in aws_connection.NAMES}
    given |= {name: config.get(name) for name in ("use_fips_endpoint", "use_dualstack_endpoint")}
    given["sts_endpoint_url"] = sts.get("endpoint_url")
    given["role_session_name"] = f"Airflow_{re.sub('[^A-Za-z0-9=,.@_-]', '', conn_id)}"[:64]
    said = {name: value for name, value in given.items() if value is not None and value != ""}  # false is said too
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in said.items()}
    return texts if extra.get("role_arn") else {name: text for name, text in texts.items() if name.startswith("use_")}


def _object(conn_id: str, name: str, value: object) -> Mapping[str, Any]:
    """A JSON object, which a connection may hold as text; a `ConfigurationError` for anything else."""
    if isinstance(value, str) and value.strip():
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = ()
    if isinstance(value, Mapping):
        return value
    if value in (None, "") or (isinstance(value, str) and not value.strip()):
        return {}
    raise ConfigurationError(
        f"The Airflow connection {conn_id} cannot be used:", problems=[Problem(name, None, "must be a JSON object")]
    )


def find_secret(name: str) -> str | None:
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
