"""What a connector takes from Airflow, and what the operator makes of a Spark connection; no task runs here."""

import json
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("airflow_db")]

CONNECTOR = """\
name=orders
connector.class=io.confluent.connect.s3.S3SinkConnector
topics=orders
s3.bucket.name=archive
s3.region=us-east-1
storage.class=io.confluent.connect.s3.storage.S3Storage
format.class=io.confluent.connect.s3.format.json.JsonFormat
value.converter=org.apache.kafka.connect.json.JsonConverter
value.converter.schemas.enable=false
flush.size=100
"""


@pytest.fixture
def connector(tmp_path: Path) -> Path:
    path = tmp_path / "orders.properties"
    path.write_text(CONNECTOR)
    return path


def set_connection(monkeypatch: pytest.MonkeyPatch, conn_id: str, **fields: object) -> None:
    monkeypatch.setenv(f"AIRFLOW_CONN_{conn_id.upper()}", json.dumps(fields))


def test_connections(monkeypatch: pytest.MonkeyPatch, connector: Path) -> None:
    """The Kafka connection's extra and the AWS connection's keys, region and endpoint reach settings and driver."""
    from kafka_s3_airflow.connections import load_connector

    set_connection(
        monkeypatch, "kafka_default", conn_type="kafka", extra={"bootstrap.servers": "k:9092", "ssl.key.password": "pw"}
    )
    extra = {"endpoint_url": "http://s:9000", "region_name": "eu-west-1", "aws_session_token": "token"}
    set_connection(monkeypatch, "aws_default", conn_type="aws", login="id", password="secret", extra=extra)
    found = load_connector(connector)
    assert found.driver_context.kafka == {"bootstrap.servers": "k:9092", "ssl.key.password": "pw"}
    assert found.settings.kafka.client["bootstrap.servers"] == "k:9092"
    s3 = found.settings.s3
    assert (s3.access_key_id, s3.secret_access_key, s3.session_token) == ("id", "secret", "token")
    assert (s3.endpoint_url, s3.region) == ("http://s:9000", "us-east-1"), "the connector file comes first"
    assert "secret" not in repr(found)


def test_the_key_of_the_log_comes_from_the_connection(monkeypatch: pytest.MonkeyPatch, connector: Path) -> None:
    """`export.log.key` in the AWS connection's extra reaches settings and driver, and is masked in task logs."""
    from kafka_s3_airflow import connections

    masked: list[str] = []
    monkeypatch.setattr(connections, "mask_secret", masked.append)
    keys = ["n" * 40, "o" * 40]
    set_connection(monkeypatch, "aws_default", conn_type="aws", extra={"export.log.key": ", ".join(keys)})
    set_connection(monkeypatch, "kafka_default", conn_type="kafka", extra={"bootstrap.servers": "a:1"})
    found = connections.load_connector(connector)
    assert found.settings.log_key.secrets == tuple(key.encode() for key in keys)
    assert set(keys) <= set(masked)
    assert keys[0] in (found.driver_context.aws or {})["export.log.key"]


def test_connections_by_name(monkeypatch: pytest.MonkeyPatch, connector: Path) -> None:
    """export.kafka.conn.id and export.aws.conn.id name other connections."""
    from kafka_s3_airflow.connections import load_connector

    connector.write_text(f"{CONNECTOR}export.kafka.conn.id=mine\nexport.aws.conn.id=ours\n")
    set_connection(monkeypatch, "mine", conn_type="kafka", extra={"bootstrap.servers": "mine:9092"})
    set_connection(
        monkeypatch, "ours", conn_type="aws", extra={"service_config": {"s3": {"endpoint_url": "http://ours:1"}}}
    )
    found = load_connector(connector)
    assert found.settings.kafka.client["bootstrap.servers"] == "mine:9092"
    assert found.settings.s3.endpoint_url == "http://ours:1"


def test_no_connections(monkeypatch: pytest.MonkeyPatch, connector: Path) -> None:
    """Airflow's default connections need not exist, and the sample that `airflow standalone` puts into a new database
    is none."""
    from kafka_s3_airflow.connections import load_connector

    connector.write_text(f"{CONNECTOR}consumer.override.bootstrap.servers=own:9092\n")
    monkeypatch.setattr("kafka_s3_airflow.connections.find_connection", lambda conn_id: None)
    found = load_connector(connector)
    assert (found.driver_context.kafka, found.driver_context.aws) == (None, None)
    monkeypatch.undo()
    connector.write_text(CONNECTOR)
    sample = {"bootstrap.servers": "broker:29092", "group.id": "my-group"}
    set_connection(monkeypatch, "kafka_default", conn_type="kafka", extra=sample)
    (connector.parent / "worker.properties").write_text("bootstrap.servers=worker:9092\n")
    assert load_connector(connector).settings.kafka.client["bootstrap.servers"] == "worker:9092"


def test_connections_that_are_named_and_not_there(connector: Path) -> None:
    """A connection that the connector names has to exist: without it another Kafka, or another identity, might do."""
    from kafka_s3.errors import ConfigurationError
    from kafka_s3_airflow.connections import load_connector

    connector.write_text(
        f"{CONNECTOR}consumer.override.bootstrap.servers=own:9092\n"
        "export.kafka.conn.id=nowhere\nexport.aws.conn.id=elsewhere\n"
    )
    with pytest.raises(ConfigurationError) as caught:
        load_connector(connector)
    assert "export.kafka.conn.id=nowhere: is not an Airflow connection" in str(caught.value)
    assert "export.aws.conn.id=elsewhere: is not an Airflow connection" in str(caught.value)


def test_a_role(monkeypatch: pytest.MonkeyPatch, connector: Path) -> None:
    """A connection's role reaches the driver with all that STS is to be told, and its keys assume it."""
    from kafka_s3.settings import Lookups, load
    from kafka_s3.settings.credentials import AssumeRole
    from kafka_s3_airflow.connections import load_connector

    connector.write_text(f"{CONNECTOR}consumer.override.bootstrap.servers=k:9092\n")
    extra = {
        "role_arn": "arn:aws:iam::1:role/x",
        "assume_role_kwargs": {"ExternalId": "4711", "Tags": [{"Key": "team", "Value": "orders"}]},
        "service_config": {"sts": {"endpoint_url": "https://sts.example.com"}},
        "config_kwargs": {"use_fips_endpoint": True},
        "region_name": "eu-central-1",
    }
    set_connection(monkeypatch, "aws_default", conn_type="aws", login="AKIA", password="secret", extra=extra)
    found = load_connector(connector)
    context = found.driver_context
    driver = load(connector, lookups=Lookups(), kafka_connection=context.kafka, aws_connection=context.aws)
    for s3 in (found.settings.s3, driver.settings.s3):
        assert s3.credentials == AssumeRole(
            "arn:aws:iam::1:role/x",
            "Airflow_aws_default",
            "4711",
            endpoint="https://sts.example.com",
            arguments='{"Tags": [{"Key": "team", "Value": "orders"}]}',
        )
        assert (s3.access_key_id, s3.use_fips, s3.use_dualstack) == ("AKIA", True, None)
    set_connection(
        monkeypatch, "aws_default", conn_type="aws", extra={"config_kwargs": '{"use_dualstack_endpoint": true}'}
    )
    assert load_connector(connector).settings.s3.use_dualstack is True


def test_what_a_connection_turns_off(monkeypatch: pytest.MonkeyPatch, connector: Path) -> None:
    """`false` is said, too: the process's environment may say true. Objects may be written as text at every depth."""
    from kafka_s3_airflow.connections import load_connector

    connector.write_text(f"{CONNECTOR}consumer.override.bootstrap.servers=k:9092\n")
    s3, sts = '{"endpoint_url": "https://s3.example.com"}', '{"endpoint_url": "https://sts.example.com"}'
    extra = {
        "role_arn": "arn:aws:iam::1:role/x",
        "config_kwargs": {"use_fips_endpoint": False, "use_dualstack_endpoint": "False"},
        "service_config": json.dumps({"s3": s3, "sts": sts}),
    }
    set_connection(monkeypatch, "aws_default", conn_type="aws", extra=extra)
    settings = load_connector(connector).settings.s3
    assert (settings.use_fips, settings.use_dualstack) == (False, False)
    assert settings.endpoint_url == "https://s3.example.com"
    assert getattr(settings.credentials, "endpoint", None) == "https://sts.example.com"


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ({"profile_name": "x"}, "profile_name: is not read here: set AWS_PROFILE"),
        (
            {"role_arn": "r", "assume_role_method": "assume_role_with_saml"},
            "must be one of: assume_role, assume_role_w",
        ),
        ({"role_arn": "r", "assume_role_kwargs": "canary"}, "must be a JSON object"),
        ({"role_arn": "r", "assume_role_kwargs": {"Tag": "canary"}}, "Did you mean Tags?"),
        ({"role_arn": "r", "assume_role_kwargs": {"ExternalId": 4711}}, "ExternalId must be a text"),
        ({"role_arn": "r", "assume_role_kwargs": "[" * 100_000}, "must be a JSON object"),
        ({"config_kwargs": {"use_fips_endpoint": "canary"}}, "use_fips_endpoint: must be either true or false"),
        ({"service_config": "{canary"}, "service_config: must be a JSON object"),
        ({"service_config": {"s3": "canary"}}, "service_config.s3: must be a JSON object"),
        ({"config_kwargs": ["canary"]}, "config_kwargs: must be a JSON object"),
    ],
)
def test_a_role_that_cannot_be_understood(
    monkeypatch: pytest.MonkeyPatch, connector: Path, extra: dict[str, object], said: str
) -> None:
    """What a connection says and is not read here is one problem by its name: keys alone may be another identity."""
    from kafka_s3.errors import ConfigurationError
    from kafka_s3_airflow.connections import load_connector

    connector.write_text(f"{CONNECTOR}consumer.override.bootstrap.servers=k:9092\n")
    set_connection(monkeypatch, "aws_default", conn_type="aws", extra=extra)
    with pytest.raises(ConfigurationError) as caught:
        load_connector(connector)
    assert said in str(caught.value)
    assert "canary" not in str(caught.value)


def test_secrets(monkeypatch: pytest.MonkeyPatch, connector: Path) -> None:
    """${secrets:NAME} is an Airflow variable or a connection's password; only those used go to the driver."""
    from kafka_s3_airflow.connections import load_connector

    connector.write_text(
        f"{CONNECTOR}consumer.override.bootstrap.servers=k:9092\n"
        "aws.access.key.id=${secrets:key-id}\naws.secret.access.key=${secrets:key}\n"
    )
    monkeypatch.setenv("AIRFLOW_VAR_KEY-ID", "of-the-variable")
    monkeypatch.setenv("AIRFLOW_VAR_UNUSED", "unused")
    set_connection(monkeypatch, "key", conn_type="generic", password="of-the-connection")
    handover = load_connector(connector).driver_context
    assert dict(handover.secrets) == {"key-id": "of-the-variable", "key": "of-the-connection"}


def test_a_secret_that_is_not_there(connector: Path) -> None:
    """A missing secret is a configuration error that names it."""
    from kafka_s3.errors import ConfigurationError
    from kafka_s3_airflow.connections import load_connector

    connector.write_text(f"{CONNECTOR}consumer.override.bootstrap.servers=${{secrets:nowhere}}\n")
    with pytest.raises(ConfigurationError, match="secrets:nowhere"):
        load_connector(connector)


def test_spark_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that is missing or unparsable is an error that says what to do; YARN is fine if it is meant."""
    from airflow.sdk.exceptions import AirflowFailException

    from kafka_s3_airflow.connections import check_spark

    monkeypatch.setenv("AIRFLOW_CONN_UNPARSABLE", "spark://local[2]")
    for conn_id in ("nowhere", "unparsable"):
        with pytest.raises(AirflowFailException, match=f"{conn_id} is missing or cannot be parsed.*connections add"):
            check_spark(conn_id)
    set_connection(monkeypatch, "meant", conn_type="spark", host="yarn")
    monkeypatch.setenv("HADOOP_CONF_DIR", "/etc/hadoop")
    check_spark("meant")
    set_connection(monkeypatch, "standalone", conn_type="spark", host="spark://127.0.0.1", port=7077)
    check_spark("standalone")


def test_spark_submit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """spark-submit comes from PATH, else from beside this Python, whose environment need not be activated."""
    from kafka_s3_airflow.operators import find_spark_submit

    beside = str(Path(sys.executable).parent / "spark-submit")
    assert find_spark_submit("spark-submit", {"PATH": str(tmp_path)}) == beside
    (tmp_path / "spark-submit").touch(mode=0o755)
    assert find_spark_submit("spark-submit", {"PATH": str(tmp_path)}) == "spark-submit"


def test_a_machine_without_spark_submit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is looked for where Spark is started and nowhere before: whoever has small plans needs none."""
    from airflow.sdk.exceptions import AirflowFailException

    from kafka_s3_airflow.driver_output import DriverOutput
    from kafka_s3_airflow.operators import ExportOperator

    set_connection(monkeypatch, "spark_default", conn_type="spark", host="local[2]")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    operator, output = ExportOperator(task_id="export", connector="/orders.properties"), DriverOutput()
    hook = operator._hook_with_conf({}, output)
    with pytest.raises(
        AirflowFailException, match=r"spark-submit is neither on PATH .* pip install 'kafka-s3\[spark\]'"
    ):
        operator._run_on(hook, {}, output)
