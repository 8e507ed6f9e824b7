"""What a Spark driver says to its workers: where it could be read on the way, the driver warns."""

from __future__ import annotations

import pytest

from kafka_s3.spark.encryption import in_clear

ENCRYPTED = {"spark.authenticate": "true", "spark.network.crypto.enabled": "true"}
TLS = {"spark.ssl.rpc.enabled": "true"}
ELSEWHERE = ("spark://spark-master:7077", "spark://10.0.0.7:7077,10.0.0.8:7077", "yarn", "k8s://https://kube:443")
HERE = ("local", "local[2]", "local[*, 3]", "local-cluster[1,1,512]", "spark://127.0.0.1:7077", "spark://localhost:1")


@pytest.mark.parametrize("master", ELSEWHERE)
def test_secrets_in_clear_to_another_host_are_warned_of(master: str) -> None:
    """On a cluster, by any manager, half an encryption is none: the warning names what is set and what is missing;
    with authentication and encryption, or with TLS, there is none."""
    for half in (
        {},
        {"spark.authenticate": "true"},
        {"spark.network.crypto.enabled": "TRUE"},
        {"spark.ssl.enabled": "true"},
    ):
        said = in_clear(master, half.get)
        assert said is not None
        assert said.startswith("Warning: ")  # Airflow's operator knows it for no reason of a failure
        assert master in said
        assert f"spark.authenticate=true (it is {half.get('spark.authenticate', 'not set')})" in said
    assert in_clear(master, ENCRYPTED.get) is None
    assert in_clear(master, TLS.get) is None


@pytest.mark.parametrize("master", HERE)
def test_nothing_leaves_this_machine(master: str) -> None:
    """Where driver and workers are one machine there is nothing to warn of."""
    assert in_clear(master, {}.get) is None


def test_the_driver_warns_before_it_sends_anything(capsys: pytest.CaptureFixture[str]) -> None:
    """The driver asks its own context, and says it on standard error."""
    from kafka_s3.spark import driver
    from kafka_s3.spark.execute import Submitted

    class Context:
        master = "spark://elsewhere:7077"

        def getConf(self) -> dict[str, str]:  # pyspark's name
            return {}

    driver._warn(Submitted(Context()))  # type: ignore[arg-type]
    assert capsys.readouterr().err.startswith("Warning: the connector's settings, passwords and keys among them, go to")
