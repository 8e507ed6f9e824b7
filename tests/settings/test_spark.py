"""What a connector asks of Spark: resources with bounds, never a secret, and under bounds nothing but resources."""

import pytest

from kafka_s3.settings import Lookups
from kafka_s3.settings.reach import Reach
from kafka_s3.settings.spark import CONF
from tests.settings.conftest import Load, Problems

GOOD = {
    "spark.executor.memory": "2g",
    "spark.executor.cores": "2",
    "spark.task.cpus": "1",
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "0",
    "spark.dynamicAllocation.maxExecutors": "10",
    "spark.speculation": "TRUE",
    "spark.speculation.quantile": "0.9",
    "spark.task.maxFailures": "8",
    "spark.yarn.queue": "root.exports",
}


def _members(conf: dict[str, str]) -> dict[str, str]:
    return {f"{CONF}{name}": value for name, value in conf.items()}


def test_resources_are_taken_as_they_are(load_with: Load) -> None:
    """Sorted by name, in the settings and in what `validate` prints, and in no plan: they shape no object."""
    loaded = load_with(_members(GOOD))
    assert dict(loaded.settings.spark.conf) == GOOD
    assert [name for name, _ in loaded.settings.spark.conf] == sorted(GOOD)
    assert {row.name: row.value for row in loaded.report if row.name.startswith(CONF)} == _members(GOOD)
    plain = load_with().settings
    assert loaded.settings.resolved == plain.resolved
    assert loaded.settings.configuration_sha256 == plain.configuration_sha256


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("spark.executor.memory", "2 GB", "must be a size from 1m to 1t"),
        ("spark.executor.memory", "2000000g", "must be a size from 1m to 1t"),
        ("spark.executor.memory", "", "must be one line"),
        ("spark.executor.cores", "0", "must be a whole number from 1 to 1024"),
        ("spark.task.maxFailures", "101", "must be a whole number from 1 to 100"),
        ("spark.speculation", "yes", "must be either true or false"),
        ("spark.speculation.quantile", "1.5", "must be a number from 0 to 1"),
        ("spark.speculation.quantile", "nan", "must be a number from 0 to 1"),
        ("spark.executorEnv.X", "a\nb", "must be one line"),
        ("spark.executorEnv.X", "x" * 5000, "must be one line"),
        ("spark.executor.memroy", "2g", "is not a property of Spark's. Did you mean spark.executor.memory?"),
        ("executor.memory", "2g", "names no property of Spark's"),
        ("spark.executor memory", "2g", "names no property of Spark's"),
        ("spark.master", "local[9]", "cannot be set: the connection says which Spark that is (export.spark.conn.id)"),
        ("spark.submit.deployMode", "cluster", "cannot be set: "),
    ],
)
def test_what_spark_would_refuse_is_said_at_once(problems_of: Problems, name: str, value: str, said: str) -> None:
    assert said in problems_of({f"{CONF}{name}": value})[f"{CONF}{name}"]


@pytest.mark.parametrize(
    "name",
    [
        "spark.authenticate.secret",
        "spark.hadoop.fs.s3a.access.key",
        "spark.hadoop.fs.s3a.secret.key",
        "spark.ssl.keyPassword",
        "spark.kubernetes.authenticate.oauthToken",
        "spark.executorEnv.API_KEY",
    ],
)
def test_names_of_secrets_are_refused(load_with: Load, problems_of: Problems, name: str) -> None:
    """spark-submit's arguments can be read by everybody on the machine; the value is not in the message."""
    member = f"{CONF}{name}"
    assert "would show a secret" in problems_of({member: "canary"})[member]
    with pytest.raises(Exception, match="would show a secret") as raised:
        load_with({member: "canary"})
    assert "canary" not in str(raised.value)


def test_a_secret_by_its_place_is_refused(problems_of: Problems) -> None:
    """Under a harmless name too: what comes out of a secrets backend is one."""
    lookups = Lookups(secrets={"it": "canary"}.get)
    found = problems_of({f"{CONF}spark.executorEnv.X": "${secrets:it}"}, lookups=lookups, offline=False)
    assert "would show a secret" in found[f"{CONF}spark.executorEnv.X"]


def test_numbers_that_contradict_each_other_are_refused(problems_of: Problems) -> None:
    """Spark would wait for ever for an executor that has room for one task."""
    cores = {"spark.task.cpus": "4", "spark.executor.cores": "2"}
    assert "must not be more than spark.executor.cores=2" in problems_of(_members(cores))[f"{CONF}spark.task.cpus"]
    executors = {"spark.dynamicAllocation.minExecutors": "5", "spark.dynamicAllocation.maxExecutors": "4"}
    least = f"{CONF}spark.dynamicAllocation.minExecutors"
    assert "maxExecutors=4" in problems_of(_members(executors))[least]


@pytest.mark.parametrize("reach", [Reach(classes=()), Reach(file_roots=("/srv",)), Reach(env_prefixes=())])
def test_under_bounds_resources_alone_can_be_asked_for(load_with: Load, problems_of: Problems, reach: Reach) -> None:
    """A jar, a Python or an archive would be code that the administrator's lists do not allow."""
    lookups = Lookups(reach=reach)
    assert load_with(_members(GOOD), lookups=lookups).settings.spark.conf
    name = f"{CONF}spark.pyspark.python"
    assert "is not a resource" in problems_of({name: "/tmp/python"}, lookups=lookups)[name]
