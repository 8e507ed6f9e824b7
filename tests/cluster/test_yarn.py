"""An export on YARN, whose node has a Python and nothing else: `make torture ARGS="-k yarn"`."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster import test_bundle
from tests.cluster.test_bundle import COMMAND, RECORDS, exported
from tools.parts.jars import pyspark_folder
from tools.parts.java import find_java
from tools.parts.process import child_environment
from tools.parts.s3 import MotoServer
from tools.parts.yarn import YarnCluster

pytestmark = [pytest.mark.trial, pytest.mark.timeout(900)]

archive, bare_python, connector = test_bundle.archive, test_bundle.bare_python, test_bundle.connector


@pytest.fixture(scope="module")
def yarn() -> Iterator[YarnCluster]:
    with YarnCluster() as running:
        yield running


def _run(connector: Path, yarn: YarnCluster, *lines: str) -> subprocess.CompletedProcess[str]:
    """Spark's jars are where the node finds them, so that nothing but the engine is sent there."""
    jars = f"export.spark.conf.spark.yarn.jars=local:{pyspark_folder()}/jars/*"
    connector.write_text("\n".join([connector.read_text(), jars, *lines, ""]))
    environment = child_environment(
        JAVA_HOME=str(find_java().home), SPARK_LOCAL_IP="127.0.0.1", HADOOP_CONF_DIR=str(yarn.conf)
    )
    command = [COMMAND, "run", connector, "--until-now", "--spark", "yarn"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)


def test_yarn_gets_everything_from_the_driver(
    connector: Path, yarn: YarnCluster, archive: list[str], moto: MotoServer, bucket_name: str
) -> None:
    """Client mode, with the lines that `bundle` prints: every record once, by containers of the node."""
    ran = _run(connector, yarn, *(line for line in archive if "spark.pyspark.python" not in line))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert sorted(exported(moto, bucket_name)) == list(range(RECORDS))
    assert [path for path in yarn.containers.glob("application_*/container_*/stderr") if path.stat().st_size]


def test_yarn_without_the_engine_is_one_sentence(connector: Path, yarn: YarnCluster) -> None:
    """78, since no retry helps."""
    ran = _run(connector, yarn)
    assert ran.returncode == 78, ran.stdout + ran.stderr
    assert "No worker can export: " in ran.stdout + ran.stderr
