"""docker-compose.yml and Dockerfile: valid, pinned to what the tests run with, closed to other machines, no secrets.

No Docker engine runs here. The Compose file goes through `docker compose`'s own parser and schema (compose-go), and
tests/cluster/ runs its services, as processes, from the same settings.
"""

import json
import os
import re
import stat
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet

from kafka_s3.spark.encryption import in_clear
from tests.house.pages import page
from tools.parts import compose
from tools.parts.errors import PartError
from tools.parts.kafka import KAFKA_VERSION
from tools.parts.s3 import VERSITYGW_VERSION

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "docker-compose.yml"
DOCKERFILE = (ROOT / "Dockerfile").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ONE_SHOT = {"init", "store"}
TOOLS = {"cli", "producer"}  # for `docker compose run`; `up` starts neither
VARIABLE = r"\$\{[A-Z0-9_]+:\?see docs/install/docker.md\}"


@pytest.fixture(scope="module")
def model() -> dict[str, Any]:
    """The Compose file as `docker compose` understands it."""
    reason = compose.available()
    if reason is not None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"CI validates docker-compose.yml, always. {reason}")
        pytest.skip(reason)
    return compose.read_compose(FILE)


@pytest.fixture
def services(model: dict[str, Any]) -> dict[str, Any]:
    return dict(model["services"])


def test_the_services_are_those_of_the_design(services: dict[str, Any]) -> None:
    """The file passes the Compose schema, and has Kafka, S3, PostgreSQL, what Airflow needs, Spark, and two tools;
    no triggerer, since no task defers."""
    airflow = {"init", "api-server", "scheduler", "dag-processor"}
    assert set(services) == airflow | {"kafka", "s3", "store", "postgres", "spark-master", "spark-worker"} | TOOLS
    assert {name for name, service in services.items() if service.get("profiles") == ["tools"]} == TOOLS


def test_no_service_takes_the_whole_machine(services: dict[str, Any]) -> None:
    """Each has a limit of memory, and what it prints is kept to 30 MB. The worker's is above what it promises to
    executors, the scheduler's leaves each of its tasks a driver with a JVM; Kafka's heap is half of its limit."""
    limits = {name: _bytes(service["mem_limit"]) for name, service in services.items()}
    for name, service in services.items():
        assert service["logging"] == {"driver": "json-file", "options": {"max-size": "10m", "max-file": "3"}}, name
    worker = services["spark-worker"]
    promised = _bytes(worker["command"][worker["command"].index("--memory") + 1])
    assert limits["spark-worker"] >= promised + _bytes(worker["environment"]["SPARK_DAEMON_MEMORY"]) + 2**30
    tasks = int(services["scheduler"]["environment"]["AIRFLOW__CORE__PARALLELISM"])
    assert limits["scheduler"] >= tasks * 700 * 2**20, "a run on Spark has 681 MiB (bench/history.md)"
    assert services["kafka"]["environment"]["KAFKA_HEAP_OPTS"] == "-Xms512m -Xmx512m"
    assert limits["kafka"] >= 2**30
    started = sum(limits[name] for name in set(services) - ONE_SHOT - TOOLS)
    (stated,) = re.findall(r"together up to (\d+\.\d) GB of memory", page("install/docker.md"))
    assert float(stated) == round(started / 2**30, 1)


def _bytes(text: str) -> int:
    return int(text[:-1]) * {"m": 2**20, "g": 2**30}[text[-1]]


@pytest.mark.parametrize(
    ("line", "instead", "says"),
    [
        ("    restart: unless-stopped", "    restarts: unless-stopped", "restarts"),
        ("        condition: service_healthy", "        condition: service_happy", "condition"),
        ("    image: apache/kafka:4.1.2", "    image: [apache/kafka]", "image"),
        ("  kafka-data:\n  s3-data:", "  kafka-data: 7\n  s3-data:", "volumes"),
    ],
)
def test_a_wrong_file_is_refused(model: dict[str, Any], tmp_path: Path, line: str, instead: str, says: str) -> None:
    """The validation is one: a misspelt key, an unknown choice and a wrong type are errors that name the place."""
    text = FILE.read_text()
    assert line in text
    wrong = tmp_path / "docker-compose.yml"
    wrong.write_text(text.replace(line, instead, 1))
    with pytest.raises(PartError, match=says):
        compose.read_compose(wrong)


def test_every_image_is_pinned_to_what_the_tests_run_with(services: dict[str, Any]) -> None:
    """Exact tags, and those of Kafka, the S3 server and our package are the versions of tools/parts and pyproject."""
    images = {name: service["image"] for name, service in services.items()}
    for image in images.values():
        assert re.search(r":v?\d+\.\d+(\.\d+)?(-[a-z]+)?$", image), f"{image} is not pinned"
    assert images["kafka"] == f"apache/kafka:{KAFKA_VERSION}"
    assert images["s3"] == f"versity/versitygw:v{VERSITYGW_VERSION}"
    built = {name: service["image"] for name, service in services.items() if "build" in service}
    assert set(built.values()) == {f"kafka-s3:{PROJECT['version']}"}
    assert set(built) == set(services) - {"kafka", "s3", "postgres"}


def test_every_port_is_on_loopback(services: dict[str, Any]) -> None:
    """What is published is published on 127.0.0.1, each port once; the network is Compose's own."""
    ports = [port for service in services.values() for port in service.get("ports", [])]
    assert {port["host_ip"] for port in ports} == {"127.0.0.1"}
    assert sorted(port["published"] for port in ports) == ["7070", "8080", "8081", "9094"]
    assert not [name for name, service in services.items() if "network_mode" in service or service.get("privileged")]


def test_every_service_has_a_health_check_and_waits(services: dict[str, Any]) -> None:
    """Each service that stays has a health check with all its times; who waits, waits for health or for the end."""
    for name, service in services.items():
        if name in ONE_SHOT:
            assert service["restart"] == "no"
        elif name in TOOLS:
            assert "restart" not in service
        else:
            assert {"test", "interval", "timeout", "retries", "start_period"} <= set(service["healthcheck"]), name
            assert service["restart"] == "unless-stopped"
        for other, needed in service.get("depends_on", {}).items():
            ended = "service_completed_successfully"
            assert needed["condition"] == (ended if other in ONE_SHOT else "service_healthy"), f"{name} on {other}"
    assert set(services["init"]["depends_on"]) == {"postgres"}
    assert set(services["store"]["depends_on"]) == {"s3"}
    for name in ("api-server", "scheduler", "dag-processor"):
        assert {"init", "store"} <= set(services[name]["depends_on"])
    assert {"api-server", "kafka", "spark-worker"} <= set(services["scheduler"]["depends_on"])


def test_what_is_named_exists(model: dict[str, Any]) -> None:
    """Every service that is waited for, every volume that is mounted and every host that is connected to is defined."""
    services, volumes = model["services"], set(model["volumes"])
    for service in services.values():
        assert set(service.get("depends_on", {})) <= set(services)
        assert {each["source"] for each in service.get("volumes", []) if each["type"] == "volume"} <= volumes
    hosts = set(re.findall(r"\b([a-z][a-z0-9-]+):(?:5432|7070|7077|8080|8081|9092|9093)\b", FILE.read_text()))
    assert hosts == {"postgres", "s3", "spark-master", "api-server", "kafka"} < set(services)


def test_no_secret_is_in_the_file(services: dict[str, Any]) -> None:
    """Every password and key is a variable that has to be given, and variables are used in this one form only."""
    assert re.sub(VARIABLE, "", FILE.read_text()).replace("$$AIRFLOW_ADMIN_PASSWORD", "").count("$") == 0
    secrets = 0
    given: dict[str, set[str]] = {}
    for service_name, service in services.items():
        for name, value in service.get("environment", {}).items():
            if re.search(r"PASSWORD$|_KEY$|SECRET|TOKEN", name):
                assert re.fullmatch(VARIABLE, value), name
                secrets += 1
                given.setdefault(value[2:].partition(":")[0], set()).add(service_name)
            if name == "AIRFLOW_CONN_AWS_DEFAULT":
                connection = json.loads(value)
                assert re.fullmatch(VARIABLE, connection["login"])
                assert re.fullmatch(VARIABLE, connection["password"])
            if name == "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN":
                assert re.fullmatch(rf"postgresql\+psycopg2://airflow:{VARIABLE}@postgres:5432/airflow", value)
    assert secrets == 4 * 3 + 6 + 2 + 2 + 4 + 1, "Airflow, Spark, logins, the store, its users, cli"
    # The store's own keys are where its users and buckets are made, and nowhere else.
    assert given["S3_ROOT_SECRET_KEY"] == given["S3_ROOT_ACCESS_KEY"] == {"s3", "store"}
    assert given["S3_SECRET_KEY"] == {"store", "cli"}
    # Spark's own is in no command, and in none of its settings that the file or the image shows.
    assert FILE.read_text().count("SPARK_AUTH_SECRET") == 3
    assert "spark.authenticate.secret" not in (ROOT / "docker" / "spark-defaults.conf").read_text()


def test_spark_talks_encrypted(services: dict[str, Any], tmp_path: Path) -> None:
    """Spark's processes and the driver's service get the secret and settings that authenticate and encrypt, in a file
    of their user's alone; what they start does not inherit it. The driver's warning is silent about these settings."""
    (entry,) = _instructions("ENTRYPOINT")
    assert json.loads(entry) == ["/opt/kafka-s3/docker/entrypoint.sh"]
    for name in ("scheduler", "spark-master", "spark-worker"):
        assert services[name]["environment"]["SPARK_AUTH_SECRET"], name
        assert "entrypoint" not in services[name] or services[name]["entrypoint"] is None
    given = {**os.environ, "SPARK_CONF_DIR": str(tmp_path), "SPARK_AUTH_SECRET": "swordfish"}
    command = [str(ROOT / "docker" / "entrypoint.sh"), "env"]
    inherited = subprocess.run(command, env=given, check=True, capture_output=True, text=True).stdout
    assert "swordfish" not in inherited
    (made,) = tmp_path.iterdir()
    assert stat.S_IMODE(made.stat().st_mode) == 0o600
    lines = [line for line in made.read_text().splitlines() if not line.startswith("#")]
    conf = dict(line.split(" ", 1) for line in lines)
    assert conf["spark.authenticate.secret"] == "swordfish"
    assert conf["spark.io.encryption.enabled"] == "true"
    assert in_clear("spark://spark-master:7077", conf.get) is None


def test_connectors_are_mounted_and_the_dags_are_in_the_image(services: dict[str, Any]) -> None:
    """Airflow's services see connectors/ read-only, where the DAG factory is told to look; DAGs come with the image."""
    for name in ("init", "store", "api-server", "scheduler", "dag-processor"):
        mounted = {volume["target"]: volume for volume in services[name]["volumes"]}
        folder = mounted[services[name]["environment"]["KAFKA_S3_CONNECTORS"]]
        assert (folder["type"], folder["source"], folder["read_only"]) == ("bind", "./connectors", True)
    assert _instructions("COPY")[-1] == "dags/ dags/"
    assert services["scheduler"]["environment"]["AIRFLOW__CORE__DAGS_FOLDER"] == f"{_instructions('WORKDIR')[0]}/dags"


def test_the_image_has_the_versions_of_the_constraints() -> None:
    """Every package comes by its hash, in the version of the tests: first what builds, then what is needed, then ours
    without anything more. Airflow, Spark and the database's drivers are among them."""
    installs = re.findall(r"pip install ((?:.+\\\n)*.+)", DOCKERFILE)
    lines = [line for each in installs for line in re.findall(r"--no-cache-dir (.+?)(?: \\|$)", each, re.M)]
    assert lines == [
        "--require-hashes --requirement tools/requirements/build.txt",
        "--require-hashes --no-build-isolation --requirement tools/requirements/image.txt",
        '--no-build-isolation --no-deps ".[airflow,spark,postgres,protobuf,msk]"',
    ]
    pins = dict(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "tools" / "requirements" / "image.txt").read_text(), re.M))
    assert {"apache-airflow", "pyspark", "pyspark-client", "confluent-kafka", "boto3"} <= set(pins)
    assert pins["pyspark"] == pins["pyspark-client"]
    drivers = {re.split(r"[<>=]", line)[0] for line in PROJECT["optional-dependencies"]["postgres"]}
    assert drivers == {"psycopg2-binary", "asyncpg"}, "Airflow's synchronous and its asynchronous engine"
    assert drivers <= set(pins)


def test_the_image_is_small_and_without_root() -> None:
    """A pinned slim Python that the project supports, a Java that Spark runs on from the same Debian, a plain user."""
    (base,) = _instructions("FROM")
    found = re.fullmatch(r"python:3\.(\d+)\.\d+-slim-bookworm", base)
    assert found is not None, base
    low, high = re.findall(r"3\.(\d+)", PROJECT["requires-python"])
    assert int(low) <= int(found[1]) < int(high)
    assert "openjdk-17-jre-headless" in DOCKERFILE
    assert DOCKERFILE.splitlines()[-1] == "USER airflow"
    ignored = (ROOT / ".dockerignore").read_text().split("\n")
    copied = " ".join(line.rpartition(" ")[0] for line in _instructions("COPY")).split()
    assert ignored[1] == "*"
    copied = [name.rstrip("/") for name in copied]
    assert sorted(line[1:] for line in ignored if line.startswith("!")) == sorted(copied)
    assert not [name for name in copied if not (ROOT / name).exists()]


def _instructions(name: str) -> list[str]:
    """The arguments of every instruction of that name in the Dockerfile, in order."""
    return re.findall(rf"^{name} (.+)$", DOCKERFILE, re.M)


def test_the_command_of_the_page_makes_every_variable(tmp_path: Path) -> None:
    """The page's command writes .env, for the owner only, with a random value for each variable of the file."""
    command = next(line for line in page("install/docker.md").splitlines() if line.endswith("> .env)"))
    made = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        subprocess.run(["sh", "-c", command.strip()], cwd=folder, check=True)
        assert stat.S_IMODE((folder / ".env").stat().st_mode) == 0o600
        made.append(dict(line.split("=", 1) for line in (folder / ".env").read_text().splitlines()))
    assert set(made[0]) == set(made[1]) == set(re.findall(r"\$\{(\w+):\?", FILE.read_text()))
    assert not set(made[0].values()) & set(made[1].values())
    Fernet(made[0]["AIRFLOW_FERNET_KEY"])


def test_env_is_kept_out_of_git_and_of_the_image() -> None:
    """.env is ignored by git; the image gets only what .dockerignore lets in."""
    assert ".env" in (ROOT / ".gitignore").read_text().split()
    assert ".env" not in (ROOT / ".dockerignore").read_text()
