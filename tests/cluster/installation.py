"""Starts the services of docker-compose.yml as processes, from the file's own settings.

Read from the file are every variable, the database's user and name, Spark's commands with their cores and memory, the
store's region, the broker's settings, what `init` runs and Airflow's commands. Only hosts, ports and folders are
replaced. Airflow, driver and executors run the wheel of this checkout, as the image does, and not the checkout.
"""

import json
import os
import re
import secrets
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from confluent_kafka import Producer
from cryptography.fernet import Fernet

from tests.cluster.watch import Watch
from tools.parts import compose
from tools.parts.airflow import AirflowProcess
from tools.parts.java import find_java
from tools.parts.kafka import KafkaBroker
from tools.parts.postgres import PostgreSQL
from tools.parts.process import HOST, Part, ReservedPort, child_environment
from tools.parts.s3 import VersityGateway
from tools.parts.spark import SparkCluster

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
TOPIC = "orders"
BUCKET = "kafka-archive"
PARTITIONS = 4
RECORDS = 4_000
HOUR_MS = 3_600_000
COMMAND_TIMEOUT_S = 300
AIRFLOW_TIMEOUT_S = 240
# Ours to place: where the broker listens and keeps its data.
KAFKA_PLACES = {"listeners", "advertised.listeners", "controller.quorum.voters", "log.dirs"}
Key = TypeVar("Key")
AIRFLOW_JOBS = ("scheduler", "dag-processor")


class Gateway(VersityGateway):
    """versitygw with the account of .env, and a folder for others."""

    def __init__(self, access_key: str, secret_key: str, region: str) -> None:
        self.access_key, self.secret_key, self.region = access_key, secret_key, region
        super().__init__()

    def _account_options(self) -> list[str]:
        return ["--iam-dir", str(self._made("users"))]


@dataclass
class Installation:
    """The services, and what two runs on them left behind: one by `dags test`, one by the services of Airflow."""

    services: dict[str, Any]
    secrets: dict[str, str]
    events: Path
    store: Gateway
    postgres: PostgreSQL
    spark: SparkCluster
    environment: dict[str, str]
    watch: Watch
    addresses: dict[str, str]
    produced: Counter[bytes] = field(default_factory=Counter)
    said: str = ""
    healthy: dict[str, bool] = field(default_factory=dict)

    def objects(self) -> dict[str, bytes]:
        client = self.store.client()
        listed = client.list_objects_v2(Bucket=BUCKET)["Contents"]
        return {each["Key"]: client.get_object(Bucket=BUCKET, Key=each["Key"])["Body"].read() for each in listed}

    def run(self, name: str, *arguments: str) -> str:
        """A service that ends, as `docker compose run` does it; what it said."""
        return run_service(self.services[name], self.addresses, self.environment, self.events, *arguments)

    def spark_events(self, kind: str) -> list[dict[str, Any]]:
        logs = sorted(path for path in self.events.rglob("app-*") if path.is_file())
        events = [json.loads(line) for log in logs for line in log.read_text().splitlines()]
        return [event for event in events if event["Event"] == f"SparkListener{kind}"]


class AirflowService(AirflowProcess):
    """One of Airflow's services, by the command of the file."""

    def __init__(self, name: str, command: list[str], environment: Mapping[str, str]) -> None:
        self.name = f"compose-{name}"
        Part.__init__(self)
        self._launch(command, environment)

    def wait_for(self, is_ready: Callable[[], bool]) -> None:
        """Return once it is so, looked at every second; an error if the service ends first or time is up."""

        def look() -> bool:
            time.sleep(1)
            return is_ready()

        self._await(look, AIRFLOW_TIMEOUT_S)


class RunningAirflow:
    """The three services that stay, in the order of the file; the user is the file's, the password that of .env."""

    def __init__(self, installation: "Installation") -> None:
        services = installation.services
        self._port = ReservedPort()
        self._stack = ExitStack()
        self._stack.callback(self._port.close)
        self.address = f"{HOST}:{self._port.number}"
        places = {"api-server:8080": self.address, "0.0.0.0 --port 8080": f"{HOST} --port {self._port.number}"}
        places["/opt/airflow"] = installation.environment["AIRFLOW_HOME"]
        self._password = services["api-server"]["environment"]["AIRFLOW_ADMIN_PASSWORD"]
        given = {**installation.environment, "AIRFLOW_ADMIN_PASSWORD": self._password}
        self.environment = replaced(given, places)
        self._installation = installation
        self._parts: list[AirflowService] = []
        try:
            for name in ("api-server", *AIRFLOW_JOBS):
                command = list(replaced(dict(enumerate(services[name]["command"])), places).values())
                part = AirflowService(name, command, self.environment)
                self._stack.callback(part.stop)
                self._parts.append(part)
                if name == "api-server":
                    part.wait_for(lambda: self.passes("api-server"))
                    self._token = self.call("POST", "/auth/token", username="admin", password=self._password)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        self._stack.close()

    def logs(self) -> str:
        return "".join(part.log.read_text(errors="replace") for part in self._parts)

    def passes(self, service: str) -> bool:
        """Whether the health check of a service of Airflow's passes."""
        return passes(self._installation.services[service], {"127.0.0.1:8080": self.address}, self.environment)

    def run_now(self) -> None:
        """Unpause the DAG as soon as there is one, trigger it for all that is there now, and wait for its success."""
        self._parts[-1].wait_for(self._is_parsed)
        self.call("PATCH", f"/api/v2/dags/{TOPIC}", is_paused=False)
        run = self.call("POST", f"/api/v2/dags/{TOPIC}/dagRuns", logical_date=None, conf={"until": "now"})
        path = f"/api/v2/dags/{TOPIC}/dagRuns/{run['dag_run_id']}"
        self._parts[-1].wait_for(lambda: self.call("GET", path)["state"] in ("success", "failed"))
        assert self.call("GET", path)["state"] == "success", self.call("GET", f"{path}/taskInstances")

    def call(self, method: str, path: str, **body: Any) -> Any:
        headers = {"Content-Type": "application/json"}
        if path != "/auth/token":
            headers["Authorization"] = f"Bearer {self._token['access_token']}"
        data = json.dumps(body).encode() if body else None
        request = urllib.request.Request(f"http://{self.address}{path}", data, headers, method=method)
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
            return json.load(answer)

    def _is_parsed(self) -> bool:
        return TOPIC in [dag["dag_id"] for dag in self.call("GET", "/api/v2/dags")["dags"]]


def missing() -> str | None:
    """None where everything can be started; otherwise the reason and what to do."""
    reasons = (compose.available(), PostgreSQL.available(), VersityGateway.available())
    return next((reason for reason in reasons if reason is not None), None)


@contextmanager
def installed(folder: Path) -> Iterator[Installation]:
    """Everything started, `init` run; a topic written and exported by `airflow dags test`, and written again."""
    variables = _secrets()
    services = compose.interpolate(compose.read_compose(ROOT / "docker-compose.yml")["services"], variables)
    package = _installed_wheel(folder / "package")
    conf = spark_conf(folder, variables["SPARK_AUTH_SECRET"])
    with ExitStack() as parts:
        kafka = parts.enter_context(KafkaBroker(_kafka_settings(services["kafka"]["environment"])))
        store = parts.enter_context(_gateway(services["s3"]))
        database = services["postgres"]["environment"]
        postgres = parts.enter_context(
            PostgreSQL(
                user=database["POSTGRES_USER"],
                password=database["POSTGRES_PASSWORD"],
                database=database["POSTGRES_DB"],
            )
        )
        worker = services["spark-worker"]["command"]
        spark = parts.enter_context(
            SparkCluster(
                workers=1,
                cores=int(_option(worker, "--cores")),
                memory=_option(worker, "--memory"),
                environment={"PYTHONPATH": str(package), "SPARK_CONF_DIR": str(conf)},
            )
        )
        addresses = {
            "kafka:9092": kafka.bootstrap_servers,
            "s3:7070": store.endpoint_url.removeprefix("http://"),
            "postgres:5432": postgres.address,
            "spark-master:7077": spark.master_url.removeprefix("spark://"),
            "/opt/kafka-s3/": f"{ROOT}/",
            "/opt/airflow": str(folder / "airflow"),
        }
        events = folder / "events"
        events.mkdir()
        environment = {
            **child_environment(),
            **replaced(_after_entry(services["scheduler"]["environment"]), addresses),
            **_machine(folder, package, conf, events),
        }
        _run(services["init"]["command"], environment, folder)
        for _ in range(2):  # again, as after a connector was added
            run_service(services["store"], addresses, environment, folder)
        kafka.create_topic(TOPIC, PARTITIONS)
        watch = Watch(spark.workers[0].pid)
        here = Installation(services, variables, events, store, postgres, spark, environment, watch, addresses)
        watch.start()
        try:
            end_ms = int(time.time() * 1000) // HOUR_MS * HOUR_MS
            here.produced += _produce(kafka.bootstrap_servers, 0, end_ms - HOUR_MS)
            date = datetime.fromtimestamp(end_ms / 1000, UTC).isoformat()
            here.said += _run(["airflow", "dags", "test", TOPIC, date], environment, folder)
            here.produced += _produce(kafka.bootstrap_servers, RECORDS, end_ms)
            _run_by_airflows_services(here)
        finally:
            watch.end()
        yield here


def _run_by_airflows_services(here: Installation) -> None:
    airflow = RunningAirflow(here)
    try:
        airflow.run_now()
        here.healthy = {name: airflow.passes(name) for name in ("api-server", *AIRFLOW_JOBS)}
        here.said += airflow.logs()
    finally:
        airflow.stop()


def _secrets() -> dict[str, str]:
    """A value for every variable of the file, as docs/install/docker.md makes them."""
    names = set(re.findall(r"\$\{(\w+):\?", (ROOT / "docker-compose.yml").read_text()))
    return {name: secrets.token_hex(16) for name in names} | {"AIRFLOW_FERNET_KEY": Fernet.generate_key().decode()}


def _after_entry(environment: dict[str, str]) -> dict[str, str]:
    """A service's variables once the image's entry point has handed Spark's secret over in a file."""
    return {name: value for name, value in environment.items() if name != "SPARK_AUTH_SECRET"}


def told(installation: Installation, text: str) -> list[str]:
    """The names of the secrets that a text holds."""
    return [name for name, value in installation.secrets.items() if value in text]


def _installed_wheel(target: Path) -> Path:
    """The package of this checkout, built and installed into a folder as `pip install .` does it in the image."""
    has_pip = subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode == 0
    pip = [sys.executable, "-m", "pip"] if has_pip else ["uv", "pip"]
    command = [*pip, "install", "--quiet", "--no-deps", "--target", str(target), str(ROOT)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_TIMEOUT_S)
    assert run.returncode == 0, run.stdout + run.stderr
    assert (target / "kafka_s3" / "export_job.py").is_file()
    return target


def _kafka_settings(environment: dict[str, Any]) -> dict[str, str]:
    """KAFKA_LOG_DIRS is log.dirs, and so on, as Kafka's image reads its variables."""
    settings = {name.removeprefix("KAFKA_").lower().replace("_", "."): str(at) for name, at in environment.items()}
    assert settings.keys() >= KAFKA_PLACES
    listeners = settings.keys() & {"listener.security.protocol.map", "inter.broker.listener.name"}
    return {name: value for name, value in settings.items() if name not in KAFKA_PLACES or name in listeners}


def _gateway(service: dict[str, Any]) -> Gateway:
    environment, command = service["environment"], service["command"]
    assert command[-2] == "posix"
    return Gateway(environment["ROOT_ACCESS_KEY"], environment["ROOT_SECRET_KEY"], _option(command, "--region"))


def _option(command: list[str], name: str) -> str:
    return command[command.index(name) + 1]


def replaced(values: Mapping[Key, Any], places: Mapping[str, str]) -> dict[Key, str]:
    """The values with this machine's places in them instead of the file's."""

    def replace(value: str) -> str:
        for stated, here in places.items():
            value = value.replace(stated, here)
        return value

    return {name: replace(str(value)) for name, value in values.items()}


def spark_conf(folder: Path, secret: str) -> Path:
    """Spark's configuration, as the image's entry point makes it."""
    conf = folder / "spark-conf"
    command = [str(ROOT / "docker" / "entrypoint.sh"), "true"]
    subprocess.run(command, env={**os.environ, "SPARK_CONF_DIR": str(conf), "SPARK_AUTH_SECRET": secret}, check=True)
    return conf


def _machine(folder: Path, package: Path, conf: Path, events: Path) -> dict[str, str]:
    """What the image and the container give and this machine has elsewhere; and Spark's log of events, to look into."""
    lines = {"enabled": "true", "compress": "false", "rolling.enabled": "false", "dir": events.as_uri()}
    with (conf / "spark-defaults.conf").open("a") as file:
        file.writelines(f"spark.eventLog.{name} {at}\n" for name, at in lines.items())
    return {
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(package),
        "JAVA_HOME": str(find_java().home),
        "AIRFLOW_HOME": str(folder / "airflow"),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_CONF_DIR": str(conf),
        "KAFKA_S3_RETRIES": "0",
        "AWS_EC2_METADATA_DISABLED": "true",
        "NO_PROXY": HOST,
    }


def _produce(bootstrap_servers: str, first: int, start_ms: int) -> Counter[bytes]:
    """Records numbered from `first`, spread over the partitions, from `start_ms` on, a few milliseconds apart."""
    producer = Producer({"bootstrap.servers": bootstrap_servers})
    values = [json.dumps({"order": number}, separators=(",", ":")).encode() for number in range(first, first + RECORDS)]
    for number, value in enumerate(values):
        producer.produce(TOPIC, value, partition=number % PARTITIONS, timestamp=start_ms + 5 * number)
    assert producer.flush(30) == 0
    return Counter(values)


def run_service(
    service: Mapping[str, Any], places: Mapping[str, str], environment: Mapping[str, str], folder: Path, *more: str
) -> str:
    """A service that ends, with its own command, environment and arguments, on this machine; what it said."""
    entry = [word for word in service.get("entrypoint") or [] if not word.endswith("entrypoint.sh")]
    words = [*entry, *(more or service["command"])]
    own = {"PATH": environment["PATH"], "PYTHONPATH": environment["PYTHONPATH"], "NO_PROXY": HOST}
    command = list(replaced(dict(enumerate(words)), places).values())
    return _run(command, {**own, **replaced(service["environment"], places)}, folder)


def _run(command: list[str], environment: Mapping[str, str], folder: Path) -> str:
    run = subprocess.run(
        command,
        env=environment,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=COMMAND_TIMEOUT_S,
    )
    assert run.returncode == 0, f"{command[:3]} ended with status {run.returncode}:\n{run.stdout[-6000:]}"
    return run.stdout


def passes(service: Mapping[str, Any], places: dict[str, str], environment: Mapping[str, str]) -> bool:
    """Whether a service's health check passes, with other places in it."""
    kind, *command = service["healthcheck"]["test"]
    assert kind == "CMD"
    words = list(replaced(dict(enumerate(command)), places).values())
    return subprocess.run(words, env=dict(environment), capture_output=True, timeout=60).returncode == 0
