"""What is wrong with a Spark master is said before Spark waits for it."""

from __future__ import annotations

import socket

import pytest

from kafka_s3.errors import ConfigurationError, SparkUnavailable
from kafka_s3.spark.masters import check_master, cores_max


@pytest.fixture
def closed() -> str:
    """An address where nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


def test_a_master_that_nobody_is_behind(closed: str) -> None:
    """One sentence with the address, and 75: it may be there at the next try."""
    with pytest.raises(SparkUnavailable, match=f"No Spark master answers at spark://{closed}: {closed}: ") as raised:
        check_master(f"spark://{closed}", {}.get)
    assert raised.value.exit_status == 75
    assert "\n" not in str(raised.value)


def test_one_of_several_masters_is_enough(closed: str) -> None:
    """A cluster with a standby has an address for each."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        check_master(f"spark://{closed},127.0.0.1:{server.getsockname()[1]}", {}.get)


@pytest.mark.parametrize("master", ["local", "local[2]", "local[*,3]", "local-cluster[2,1,1024]", "yarn"])
def test_masters_without_an_address_are_not_asked(master: str) -> None:
    check_master(master, {}.get)


@pytest.mark.parametrize(
    ("master", "said"),
    [
        ("mesos://host:5050", "Spark has no master 'mesos://host:5050'.\nIt is local"),
        ("spark://host:port", "Spark has no master 'spark://host:port': "),
        ("spark://:7077", "it names no host"),
        (
            "k8s://https://127.0.0.1:1",
            "starts its executors from an image, and spark.kubernetes.container.image is",
        ),
    ],
)
def test_a_master_that_cannot_be_is_a_wrong_configuration(master: str, said: str) -> None:
    """One sentence, and 78: no retry changes it."""
    with pytest.raises(ConfigurationError) as raised:
        check_master(master, {}.get)
    assert said in str(raised.value)
    assert str(raised.value).count("\n") <= 1
    assert raised.value.exit_status == 78


def test_a_kubernetes_that_does_not_answer(closed: str) -> None:
    image = {"spark.kubernetes.container.image": "registry/spark:4"}
    with pytest.raises(SparkUnavailable, match=f"No Spark master answers at k8s://https://{closed}"):
        check_master(f"k8s://https://{closed}", image.get)


@pytest.mark.parametrize(
    ("tasks", "conf", "cores"),
    [
        (1, {}, "1"),
        (3, {"spark.task.cpus": "2"}, "6"),
        (1, {"spark.executor.cores": "4"}, "4"),
        (5, {"spark.executor.cores": "4"}, "8"),
        (5, {"spark.executor.cores": "many"}, "5"),
        (5, {"spark.cores.max": "2"}, None),
    ],
)
def test_an_application_takes_the_cores_of_its_tasks(tasks: int, conf: dict[str, str], cores: str | None) -> None:
    """A multiple of an executor's cores, or a Master would start none; what is set stays."""
    assert cores_max("spark://master:7077", tasks, conf.get) == cores
