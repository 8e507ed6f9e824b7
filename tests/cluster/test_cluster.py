"""The services of docker-compose.yml as processes, from its own settings: exports on a real Spark cluster."""

import gzip
import json
import os
import re
import stat
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import boto3
import pytest
from botocore.exceptions import ClientError

from tests.cluster.installation import (
    AIRFLOW_JOBS,
    AIRFLOW_TIMEOUT_S,
    BUCKET,
    PARTITIONS,
    RECORDS,
    ROOT,
    TOPIC,
    Installation,
    installed,
    missing,
    passes,
    told,
)
from tools.parts.process import HOST

# Starting it all and two runs are one fixture, minutes long on a loaded machine.
pytestmark = [pytest.mark.cluster, pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(1500)]


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """All services, and two runs: `airflow dags test` for an hour, and a triggered one of what came later."""
    reason = missing()
    if reason is not None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"CI runs the services, always. {reason}")
        pytest.skip(reason)
    with installed(tmp_path_factory.mktemp("cluster")) as installation:
        yield installation


def test_every_record_is_exported_once(installation: Installation) -> None:
    """The demo's connector, on Spark's cluster: each record of the topic is in one object, under Connect's names."""
    objects = installation.objects()
    data = {key: body for key, body in objects.items() if key.startswith("topics/")}
    landed = Counter(line for body in data.values() for line in gzip.decompress(body).splitlines())
    assert landed == installation.produced
    starts = (0, RECORDS // PARTITIONS)
    names = [f"partition={n}/{TOPIC}+{n}+{start:010d}.json.gz" for n in range(PARTITIONS) for start in starts]
    assert sorted(data) == [f"topics/{TOPIC}/{name}" for name in names]


def test_the_workers_of_the_cluster_did_it(installation: Installation) -> None:
    """The commits name the applications that the Master saw end, and executors ran them; nothing ran in local mode."""
    log = [body for key, body in installation.objects().items() if key.startswith(f"_kafka_s3/{TOPIC}/log/")]
    applications = {application for body in log for application in re.findall(r"app-\d+-\d+", body.decode())}
    completed = installation.spark.master.state()["completedapps"]
    assert [(app["name"], app["state"]) for app in completed] == [(f"kafka-s3 {TOPIC}", "FINISHED")] * 2
    assert applications == {app["id"] for app in completed}
    assert any("CoarseGrainedExecutorBackend" in command for command in installation.watch.executors)
    assert any("pyspark.daemon" in command for command in installation.watch.executors)
    assert {event["Task Info"]["Failed"] for event in installation.spark_events("TaskEnd")} == {False}


def test_tasks_max_holds_on_a_cluster(installation: Installation) -> None:
    """Four ranges and tasks.max=2 are two groups of ranges, each a task, in each run, however many cores there are."""
    assert "tasks.max=2\n" in (ROOT / "connectors" / f"{TOPIC}.properties").read_text()
    stages = installation.spark_events("StageSubmitted")
    assert [stage["Stage Info"]["Number of Tasks"] for stage in stages] == [1] * 4
    assert len(installation.spark_events("TaskStart")) == 4


def test_airflow_may_do_what_the_connectors_need(installation: Installation) -> None:
    """Its keys are of a user of the store, who may neither make buckets, nor read or write beside the connectors' own
    prefixes, nor delete an entry of a log, nor change the policy."""
    access, secret = (installation.secrets[f"S3_{name}_KEY"] for name in ("ACCESS", "SECRET"))
    assert all(key in installation.environment["AIRFLOW_CONN_AWS_DEFAULT"] for key in (access, secret))
    where = {"endpoint_url": installation.store.endpoint_url, "region_name": installation.store.region}
    client = boto3.client("s3", **where, aws_access_key_id=access, aws_secret_access_key=secret)
    (entry, *_) = client.list_objects_v2(Bucket=BUCKET, Prefix=f"_kafka_s3/{TOPIC}/log/")["Contents"]
    installation.store.client().put_object(Bucket=BUCKET, Key="elsewhere/secret", Body=b"")
    refused: list[Callable[[], object]] = [
        lambda: client.create_bucket(Bucket="another"),
        lambda: client.put_object(Bucket=BUCKET, Key="elsewhere/x", Body=b""),
        lambda: client.get_object(Bucket=BUCKET, Key="elsewhere/secret"),
        lambda: client.delete_object(Bucket=BUCKET, Key=entry["Key"]),
        lambda: client.put_bucket_policy(Bucket=BUCKET, Policy="{}"),
    ]
    for ask in refused:
        with pytest.raises(ClientError, match="AccessDenied"):
            ask()
    installation.store.client().delete_object(Bucket=BUCKET, Key="elsewhere/secret")


def test_the_two_tools(installation: Installation) -> None:
    """`cli` answers by the broker's address and the keys that its service has; `producer` adds records to the topic,
    which is there, and `cli` sees that they wait."""
    config = str(ROOT / "connectors" / f"{TOPIC}.properties")

    def lag() -> int:
        said = installation.run("cli", "status", config, "--json")
        return int(json.loads(said)["lag_records"])

    assert lag() == 0
    assert "1000 records are in the topic orders." in installation.run("producer")
    assert lag() == 1000


def test_airflow_ran_on_postgresql(installation: Installation) -> None:
    """Both runs, what they did and the asset events of their commits are in PostgreSQL; there is no SQLite file."""

    def ask(query: str) -> list[str]:
        return installation.postgres.command("psql", "-At", "-c", query, "airflow").split()

    assert {f"{TOPIC}|success"} == set(ask("select dag_id, state from dag_run where run_type = 'manual'"))
    done = "select count(*) from task_instance where task_id = 'export' and state = 'success'"
    assert ask(done) == ["2"]
    assert int(ask("select count(*) from asset_event")[0]) >= 2
    assert not list(Path(installation.environment["AIRFLOW_HOME"]).rglob("airflow.db"))


def test_airflows_services_are_healthy(installation: Installation) -> None:
    """With the file's commands and settings the three services of Airflow run a triggered export, log in the user of
    .env, and pass their health checks while they run; those of the jobs fail when they have ended: at once, or when the
    last heartbeat of one that had to be killed is too old."""
    assert installation.healthy == {"api-server": True} | dict.fromkeys(AIRFLOW_JOBS, True)
    deadline = time.monotonic() + AIRFLOW_TIMEOUT_S
    while passes(installation.services["scheduler"], {}, installation.environment):
        assert time.monotonic() < deadline, "the check of a scheduler that has ended still passes"
        time.sleep(1)


def test_secrets_reach_executors_in_the_closure_only(installation: Installation) -> None:
    """No password or key of .env is in a command line, an executor's environment, a file or output of Spark, Airflow's
    output, the database or the bucket; the executors did have the store's key, since they wrote to it."""
    seen = {f"command line: {command}": command for command in installation.watch.commands}
    seen |= {f"environment of: {name}": text for name, text in installation.watch.executors.items()}
    seen |= {key: body.decode(errors="replace") for key, body in installation.objects().items()}
    seen |= {"output of Airflow": installation.said, "database": installation.postgres.dump()}
    spark = [installation.spark.master, *installation.spark.workers]
    folders = [installation.events, Path(installation.environment["AIRFLOW_HOME"]), *(part.folder for part in spark)]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file() and path.suffix != ".jar"]
    seen |= {str(path): path.read_text(errors="replace") for path in files}
    work = installation.spark.workers[0].work
    assert {"stdout", "stderr"} <= {path.name for path in files if work in path.parents}, "the executor's own files"
    passwords = Path(installation.environment["AIRFLOW_HOME"]) / "passwords.json"
    assert told(installation, seen.pop(str(passwords))) == ["AIRFLOW_ADMIN_PASSWORD"]
    assert stat.S_IMODE(passwords.stat().st_mode) == 0o600
    found = {(name, place[:300]) for place, text in seen.items() for name in told(installation, text)}
    # Spark itself gives its executors the secret that they talk to the driver with.
    assert {(name, place) for name, place in found if not place.startswith("environment of: ")} == set()
    assert {name for name, _ in found} == {"SPARK_AUTH_SECRET"}


def test_what_spark_says_is_encrypted(installation: Installation) -> None:
    """Driver and executors authenticate and encrypt, the driver has nothing to warn of, and Spark shows no secret."""
    (first, *_) = installation.spark_events("EnvironmentUpdate")
    properties = first["Spark Properties"]
    for name in ("spark.authenticate", "spark.network.crypto.enabled", "spark.io.encryption.enabled"):
        assert properties[name] == "true", name
    assert "in clear text" not in installation.said
    assert "redacted" in properties.get("spark.authenticate.secret", "redacted")


def test_spark_was_started_as_the_file_says(installation: Installation) -> None:
    """The Master's and the Worker's commands are those of the file, but for host, ports and folders."""
    master, worker = installation.spark.master, installation.spark.workers[0]
    for service, part in (("spark-master", master), ("spark-worker", worker)):
        stated = installation.services[service]["command"]
        changes = {"spark-class": part.command[0], service: HOST, "spark://spark-master:7077": master.url}
        changes |= {"7077": master.url.rpartition(":")[2], "8081": part.web_url.rpartition(":")[2]}
        changes |= {"/tmp/spark-work": str(worker.work)}
        assert [changes.get(word, word) for word in stated] == part.command


def test_health_checks_tell_health(installation: Installation) -> None:
    """The checks of PostgreSQL and of Spark's Master and Worker pass while they run; that of the Worker fails without
    one. (The others need a program of their image.)"""
    addresses = {"http://spark-master:8081": installation.spark.master.web_url}

    def healthy(service: str) -> bool:
        return passes(installation.services[service], addresses, installation.environment)

    assert healthy("spark-master")
    assert healthy("spark-worker")
    port = installation.postgres.address.rpartition(":")[2]
    check = installation.services["postgres"]["healthcheck"]["test"]
    assert check[:2] == ["CMD", "pg_isready"]
    installation.postgres.command("pg_isready", *check[2:], f"--port={port}")

    installation.spark.workers[0].kill()
    deadline = time.monotonic() + 60
    while healthy("spark-worker"):
        assert time.monotonic() < deadline, "the Master still counts a Worker that is dead"
    assert healthy("spark-master")
