"""What Airflow knows of the package: provider, link, and what its OpenLineage provider is told of a run."""

from __future__ import annotations

import json
import os
import tomllib
from importlib.metadata import entry_points
from pathlib import Path
from types import SimpleNamespace

import pytest
from confluent_kafka import Producer

from kafka_s3.plan.batch import RunRequest
from tests.airflow.test_connections import CONNECTOR, set_connection
from tools.parts.kafka import KafkaBroker
from tools.parts.s3 import MotoServer

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("airflow_db")]

ROOT = Path(__file__).resolve().parents[2]


def test_airflow_takes_the_package_as_a_provider() -> None:
    """The entry point is there, and what it says passes Airflow's schema."""
    import airflow
    import jsonschema

    from kafka_s3_airflow.provider_info import get_provider_info

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (path,) = project["entry-points"]["apache_airflow_provider"].values()
    assert path == f"{get_provider_info.__module__}:{get_provider_info.__name__}"
    schema = Path(airflow.__path__[0]) / "provider_info.schema.json"
    jsonschema.validate(get_provider_info(), json.loads(schema.read_text()))
    assert get_provider_info()["package-name"] == project["name"]


def test_airflow_lists_the_provider() -> None:
    """Airflow's own manager finds it where the wheel is installed with its entry point."""
    if not [
        each for each in entry_points(group="apache_airflow_provider") if each.dist and each.dist.name == "kafka-s3"
    ]:
        if os.environ.get("CI") == "true":
            pytest.fail("the package is installed without its entry point: make setup")
        pytest.skip("the package was installed before it had the entry point: make setup")
    from airflow.providers_manager import ProvidersManager

    provider = ProvidersManager().providers["kafka-s3"]
    assert provider.data["name"] == "Kafka to S3"
    assert "kafka_s3_airflow.links.ExportLink" in ProvidersManager().extra_links_class_names


def test_the_link_opens_the_runs_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Below Airflow's own address, with the run's id quoted; the operator shows it."""
    from kafka_s3_airflow.links import ExportLink
    from kafka_s3_airflow.operators import ExportOperator

    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://airflow.example/base/")
    operator = ExportOperator(task_id="export", connector="/orders.properties")
    key = SimpleNamespace(dag_id="orders", run_id="scheduled__2026-11-20T09:00:00+00:00")
    (link,) = operator.operator_extra_links
    assert isinstance(link, ExportLink)
    assert link.get_link(operator, ti_key=key) == (
        "https://airflow.example/base/kafka-s3/?dag_id=orders&run_id=scheduled__2026-11-20T09%3A00%3A00%2B00%3A00"
    )


def test_openlineage_hears_of_topics_offsets_and_prefixes(
    kafka: KafkaBroker,
    moto: MotoServer,
    topic_name: str,
    bucket_name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its own extractor asks the operator, which answers by the log: of this run, and of nothing before it."""
    if os.environ.get("CI") != "true":
        pytest.importorskip("airflow.providers.openlineage", reason="make setup installs it")
    from airflow.providers.openlineage.extractors.base import DefaultExtractor

    from kafka_s3.export.run import run
    from kafka_s3.wiring import make_exporter, make_local_execute
    from kafka_s3_airflow.connections import load_connector
    from kafka_s3_airflow.group_operator import GroupExportOperator
    from kafka_s3_airflow.operators import ExportOperator

    kafka.create_topic(topic_name, 2)
    moto.create_bucket(bucket_name)
    set_connection(
        monkeypatch, "kafka_default", conn_type="kafka", extra={"bootstrap.servers": kafka.bootstrap_servers}
    )
    extra = {"endpoint_url": moto.endpoint_url}
    set_connection(
        monkeypatch, "aws_default", conn_type="aws", login=moto.access_key, password=moto.secret_key, extra=extra
    )
    connector = tmp_path / "orders.properties"
    text = CONNECTOR.replace("topics=orders", f"topics={topic_name}").replace("=archive", f"={bucket_name}")
    connector.write_text(text)
    settings = load_connector(connector).settings
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for run_id, per_partition in (("first", 3), ("second", 250)):
        for number in range(per_partition * 2):
            producer.produce(topic_name, b'{"n":%d}' % number, partition=number % 2)
        assert producer.flush(30) == 0
        request = RunRequest(run_id, 1, None, 1_795_000_000_000)
        assert run(make_exporter(settings), request, make_local_execute(settings), lambda _: None).exit_status == 0

    operator = ExportOperator(task_id="export", connector=str(connector))
    lineage = DefaultExtractor(operator).extract_on_complete(SimpleNamespace(run_id="second"))
    assert lineage is not None
    (topic,), (prefix,) = lineage.inputs, lineage.outputs
    assert (topic.namespace, topic.name) == (f"kafka://{kafka.bootstrap_servers}", topic_name)
    assert topic.inputFacets["inputStatistics"].rowCount == 500
    assert topic.inputFacets["kafkaOffsets"].partitions == [
        {"partition": 0, "start": 3, "end": 253},
        {"partition": 1, "start": 3, "end": 253},
    ]
    assert (prefix.namespace, prefix.name) == (f"s3://{bucket_name}", f"topics/{topic_name}")
    written = prefix.outputFacets["outputStatistics"]
    listed = moto.client().list_objects_v2(Bucket=bucket_name, Prefix="topics/")["Contents"]
    sizes = [item["Size"] for item in listed if "+0000000000" not in item["Key"]]
    assert (written.rowCount, written.fileCount, written.size) == (500, len(sizes), sum(sizes))
    members = {"gone": str(tmp_path / "gone.properties"), "orders": str(connector)}
    group = GroupExportOperator(task_id="export", group="nightly", members=members)
    assert DefaultExtractor(group).extract_on_complete(SimpleNamespace(run_id="second")) == lineage
