"""The DAGs as Airflow sees them: none missing, none invalid, none carrying a secret, and cheap to build."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from datetime import timedelta
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Airflow looks for its plugins when the first timetable of ours is built, with warnings of its own.
pytestmark = pytest.mark.filterwarnings("ignore")

HEAVY = ("pyspark", "pyarrow", "boto3", "botocore", "confluent_kafka", "pandas", "numpy", "fastavro")

GOOD = """\
name={name}
connector.class=io.confluent.connect.s3.S3SinkConnector
topics={name}-topic
s3.bucket.name=archive
s3.region=us-east-1
storage.class=io.confluent.connect.s3.storage.S3Storage
format.class=io.confluent.connect.s3.format.json.JsonFormat
value.converter=org.apache.kafka.connect.json.JsonConverter
value.converter.schemas.enable=false
flush.size=100
export.reexport.enable=false
export.operations.enable=false
"""


def write(folder: Path, file: str, name: str, extra: str = "") -> Path:
    path = folder / file
    path.write_text(GOOD.format(name=name) + extra)
    return path


def dags_of(folder: Path, environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    from kafka_s3_airflow.dags import dags_of

    return dags_of(folder, environment or {})


def bag_of(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    from airflow.dag_processing.dagbag import DagBag

    monkeypatch.setenv("KAFKA_S3_CONNECTORS", str(folder))
    return DagBag(str(ROOT / "dags" / "exporters.py"), collect_dags=True)


def serialized(dag: Any) -> str:
    from airflow.serialization.serialized_objects import DagSerialization

    return json.dumps(DagSerialization.serialize_dag(dag), default=str)


def healthy(dag: Any) -> bool:
    return bool("kafka-s3" in dag.tags and "broken" not in dag.tags)


def test_the_repository_s_connectors_are_dags(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file in connectors/ but the worker's is a healthy DAG named after its connector, without import errors;
    beside them there are the examples."""
    from airflow.dag_processing.dagbag import DagBag

    monkeypatch.delenv("KAFKA_S3_CONNECTORS", raising=False)
    bag = DagBag(str(ROOT / "dags"), collect_dags=True)
    assert bag.import_errors == {}
    assert "orders" in bag.dag_ids
    files = [path for path in (ROOT / "connectors").iterdir() if path.name != "worker.properties"]
    by_file: dict[Path, list[Any]] = {}
    for dag in bag.dags.values():
        by_file.setdefault(Path(dag.fileloc), []).append(dag)
    exports = by_file.pop(ROOT / "dags" / "exporters.py")
    assert len(exports) == 3 * len(files)  # and what exports its windows again, and what else is done to it
    for dag in exports:
        assert healthy(dag), dag.doc_md
    assert by_file.keys() == set((ROOT / "dags" / "examples").glob("*.py"))


def test_what_a_dag_is(tmp_path: Path) -> None:
    """Three tasks in a row; one run at a time, and one export at a time whatever started the run; no catch-up."""
    write(tmp_path, "a.properties", "a")
    dag = dags_of(tmp_path)["a"]
    dag.validate()
    assert dag.task_ids == ["plan", "export", "complete"]
    assert dag.task_dict["plan"].downstream_task_ids == {"export"}
    assert dag.task_dict["export"].downstream_task_ids == {"complete"}
    assert (dag.catchup, dag.max_active_runs) == (False, 1)
    assert dag.task_dict["export"].max_active_tis_per_dag == 1
    assert dag.task_dict["complete"].trigger_rule == "all_done"
    assert not dag.task_dict["plan"].ignore_downstream_trigger_rules
    for each in dag.tasks:
        assert each.retries == 5
        assert each.retry_delay == timedelta(minutes=2)
        assert each.retry_exponential_backoff == 2.0
        assert each.max_retry_delay == timedelta(hours=1)


def test_retries_can_be_set(tmp_path: Path) -> None:
    """KAFKA_S3_RETRIES and KAFKA_S3_RETRY_DELAY_S set them; a wrong value is a broken DAG, not an import error."""
    write(tmp_path, "a.properties", "a")
    dag = dags_of(tmp_path, {"KAFKA_S3_RETRIES": "1", "KAFKA_S3_RETRY_DELAY_S": "0"})["a"]
    assert (dag.task_dict["export"].retries, dag.task_dict["export"].retry_delay) == (1, timedelta(0))
    dag = dags_of(tmp_path, {"KAFKA_S3_RETRIES": "many"})["a"]
    assert not healthy(dag)
    assert "KAFKA_S3_RETRIES=many" in dag.doc_md


def test_owner_and_tags(tmp_path: Path) -> None:
    """export.owner owns every task of the connector's DAGs, else Airflow's default; export.tags are added to ours."""
    write(tmp_path, "a.properties", "a", "export.owner=Ann\nexport.tags=team-x, gold\nexport.verify.schedule=@daily\n")
    write(tmp_path, "b.properties", "b")
    dags = dags_of(tmp_path)
    for dag_id in ("a", "a__verify"):
        assert (dags[dag_id].owner, dags[dag_id].tags) == ("Ann", {"kafka-s3", "team-x", "gold"})
        assert {each.owner for each in dags[dag_id].tasks} == {"Ann"}
    assert (dags["b"].owner, dags["b"].tags) == ("airflow", {"kafka-s3"})


@pytest.mark.parametrize(
    ("interval_ms", "cron"),
    [
        ("", "0 * * * *"),
        ("60000", "* * * * *"),
        ("900000", "*/15 * * * *"),
        ("3600000", "0 * * * *"),
        ("21600000", "0 */6 * * *"),
        ("86400000", "0 0 * * *"),
        ("604800000", "0 0 * * *"),  # Connect starts anew at each midnight
    ],
)
def test_schedule(tmp_path: Path, interval_ms: str, cron: str) -> None:
    """rotate.schedule.interval.ms is a cron with data intervals in UTC, which has no clock changes; unset is hourly."""
    extra = f"rotate.schedule.interval.ms={interval_ms}\n" if interval_ms else ""
    write(tmp_path, "a.properties", "a", f"{extra}timezone=UTC\n")
    timetable = dags_of(tmp_path)["a"].timetable
    assert type(timetable).__name__ == "CronDataIntervalTimetable"
    assert timetable.expression == cron
    assert timetable.timezone == "UTC"


@pytest.mark.parametrize(
    ("interval_ms", "spoken"),
    [
        ("60001", "every 60001 milliseconds"),
        ("90000", "every 90 seconds"),
        ("420000", "every 7 minutes"),
        ("5400000", "every 90 minutes"),
        ("18000000", "every 5 hours"),
        ("25200000", "every 7 hours"),
    ],
)
def test_schedule_that_cron_cannot_say(tmp_path: Path, interval_ms: str, spoken: str) -> None:
    """An interval that divides neither an hour nor a day is a timetable of ours, and the UI says which."""
    write(tmp_path, "a.properties", "a", f"rotate.schedule.interval.ms={interval_ms}\ntimezone=Europe/Berlin\n")
    dag = dags_of(tmp_path)["a"]
    assert healthy(dag), dag.doc_md
    assert type(dag.timetable).__name__ == "BoundaryTimetable"
    assert dag.timetable.summary == dag.timetable.description == f"{spoken} from midnight (Europe/Berlin)"
    assert f"Runs {spoken} from midnight (Europe/Berlin)" in dag.doc_md


WRONG = {
    "misspelt": "flush.sizes=1\n",
    "wrong type": "flush.size=many\n",
    "illegal name": "name=no spaces in names\n",
    "unknown class": "format.class=org.example.Format\n",
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_one_broken_among_four_good_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    """A wrong connector is a DAG that says what is wrong; the four beside it stay healthy."""
    for name in "abcd":
        write(tmp_path, f"{name}.properties", name)
    write(tmp_path, "e.properties", "e", wrong)
    bag = bag_of(tmp_path, monkeypatch)
    assert bag.import_errors == {}
    assert sorted(bag.dag_ids) == ["a", "b", "c", "d", "e"]
    assert all(healthy(bag.dags[name]) for name in "abcd")
    assert bag.dags["e"].tags == {"kafka-s3", "broken"}
    assert bag.dags["e"].task_ids == ["plan", "export", "complete"]
    assert wrong.split("=")[0] in bag.dags["e"].doc_md
    for dag in bag.dags.values():
        dag.validate()


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe\x00", b"{" * 100_000, b"name=\\u12\n"])
@pytest.mark.parametrize("file", ["sp ace ü.properties", "e.json"])
def test_files_that_are_no_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, file: str
) -> None:
    """Whatever is in a file, the DAGs of the others are there, and it has one with a legal id."""
    write(tmp_path, "a.properties", "a")
    (tmp_path / file).write_bytes(content)
    bag = bag_of(tmp_path, monkeypatch)
    assert bag.import_errors == {}
    assert len(bag.dags) == 2
    assert healthy(bag.dags["a"])
    assert all(dag_id.replace("_", "").isascii() for dag_id in bag.dags)


def test_duplicate_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two files with one name are both broken, each a DAG of its own: neither may use the other's log."""
    write(tmp_path, "a.properties", "a")
    write(tmp_path, "copy of a.properties", "a")
    write(tmp_path, "b.properties", "b")
    bag = bag_of(tmp_path, monkeypatch)
    assert bag.import_errors == {}
    assert set(bag.dag_ids) == {"a", "copy_of_a", "b"}
    assert healthy(bag.dags["b"])
    for name in ("a", "copy_of_a"):
        assert "name=a: 2 files have this name" in bag.dags[name].doc_md


def test_a_broken_file_takes_no_healthy_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken file with the name or stem of a healthy connector gets another id, and leaves that one healthy."""
    write(tmp_path, "b.properties", "a")
    write(tmp_path, "a.properties", "a", "flush.size=x\n")
    (tmp_path / "a.json").write_text("{")
    bag = bag_of(tmp_path, monkeypatch)
    assert bag.import_errors == {}
    assert set(bag.dag_ids) == {"a", "a-2", "a-3"}
    assert healthy(bag.dags["a"])
    assert "b.properties" in bag.dags["a"].doc_md


def test_a_dag_that_airflow_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A DAG that turns out invalid while it is built is replaced by one that says why, once."""
    from kafka_s3_airflow import dags

    def refuse(schedule: object) -> None:
        raise RuntimeError("no such timetable")

    write(tmp_path, "a.properties", "a")
    monkeypatch.setattr(dags, "schedule_of", refuse)
    bag = bag_of(tmp_path, monkeypatch)
    assert bag.import_errors == {}
    assert list(bag.dag_ids) == ["a"]
    assert "no such timetable" in bag.dags["a"].doc_md


def test_a_folder_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connectors folder that cannot be read is a DAG that says so, not silence; an empty one is not a DAG."""
    bag = bag_of(tmp_path / "nowhere", monkeypatch)
    assert bag.import_errors == {}
    assert "KAFKA_S3_CONNECTORS" in bag.dags["connectors"].doc_md
    assert bag_of(tmp_path, monkeypatch).dags == {}


def test_only_the_dag_that_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that is about to run one task builds one DAG, with the id that it has among all."""
    for name in "abc":
        write(tmp_path, f"{name}.properties", name)
    monkeypatch.setenv("_AIRFLOW_PARSING_CONTEXT_DAG_ID", "b")
    assert list(dags_of(tmp_path)) == ["b"]


def test_round_trip(tmp_path: Path) -> None:
    """Healthy and broken DAGs survive serialisation, which the scheduler works from."""
    from airflow.serialization.serialized_objects import DagSerialization

    write(tmp_path, "a.properties", "a")
    write(tmp_path, "b.properties", "b", "flush.size=x\n")
    for dag_id, dag in dags_of(tmp_path).items():
        again = DagSerialization.deserialize_dag(DagSerialization.serialize_dag(dag))
        assert again.dag_id == dag_id
        assert list(again.task_dict) == ["plan", "export", "complete"]
        assert again.task_dict["export"].max_active_tis_per_dag == 1


SECRETS = """\
aws.access.key.id=AKIDCANARYCANARY
aws.secret.access.key=canary-secret-key
consumer.override.security.protocol=SASL_SSL
consumer.override.sasl.mechanism=PLAIN
consumer.override.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \
username="canary-user" password="canary-password";
"""


@pytest.mark.parametrize("wrong", ["", "flush.size=x\n", "flush.sizes=1\naws.secret.access.key.x=canary-misspelt\n"])
def test_no_secret_in_a_dag(tmp_path: Path, wrong: str) -> None:
    """Neither a healthy nor a broken DAG carries a secret of its connector file into Airflow's database."""
    write(tmp_path, "a.properties", "a", SECRETS + wrong)
    dag = dags_of(tmp_path)["a"]
    assert healthy(dag) == (wrong == ""), dag.doc_md
    assert "canary" not in serialized(dag).lower()


def test_nothing_heavy_at_parse() -> None:
    """Building the DAGs imports neither Spark, nor Kafka's or S3's clients, nor Arrow or pandas."""
    code = (
        "import sys, time, airflow.sdk, runpy; start = time.perf_counter();"
        "runpy.run_path('dags/exporters.py'); print(time.perf_counter() - start);"
        f"loaded = [name for name in {HEAVY} if name in sys.modules]; assert not loaded, loaded"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


PLUGINS = """
import json
from airflow import plugins_manager
plugins, errors = plugins_manager._get_plugins()
import json as again
assert again is json and json.loads("[1]") == [1]
assert list(plugins_manager.get_timetables_plugins()) == [
    "kafka_s3_airflow.schedules.BoundaryTimetable",
    "kafka_s3_airflow.schedules.MidnightTimetable",
    "kafka_s3_airflow.schedules.OnRequestTimetable",
]
print(json.dumps([[str(each.source) for each in plugins if each.name == "kafka_s3"], errors]))
"""
# As if the package were not installed, whatever the environment of the tests.
NOT_INSTALLED = """
import importlib.metadata, importlib_metadata
for module in (importlib.metadata, importlib_metadata):
    def distributions(real=module.distributions, **arguments):
        return (each for each in real(**arguments) if each.metadata["Name"] != "kafka-s3")
    module.distributions = distributions
"""


def plugins(code: str, path: Path | None = None) -> list[str]:
    """Where Airflow finds the plugin, in a process of its own; no plugin has an import error."""
    folders = [str(path)] if path is not None else []
    folders += filter(None, [os.environ.get("PYTHONPATH")])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr[-3000:]
    sources, errors = json.loads(done.stdout.splitlines()[-1])
    assert errors == {}
    return [str(source) for source in sources]


def test_plugin_in_a_checkout() -> None:
    """Where the package is not installed, the plugins folder brings the plugin; no module of it hides the standard
    library's."""
    assert plugins(NOT_INSTALLED + PLUGINS) == ["$PLUGINS_FOLDER/kafka_s3_plugin.py"]


WITHOUT_PLUGIN = """
import sys
from pathlib import Path
from airflow import plugins_manager
from airflow.serialization.serialized_objects import DagSerialization
from kafka_s3_airflow.dags import dags_of
assert not plugins_manager.get_timetables_plugins()
dags = dags_of(Path(sys.argv[1]), {})
assert [DagSerialization.to_dict(dag)["dag"]["dag_id"] for dag in dags.values()] == ["a", "b"]
assert dags["a"].tags == {"kafka-s3"}, dags["a"].doc_md
assert dags["b"].tags == {"kafka-s3", "broken"}
print(dags["b"].doc_md)
"""


def test_a_timetable_that_airflow_has_not_loaded(tmp_path: Path) -> None:
    """Where Airflow does not find the plugin, a connector that needs its timetable is broken and says what to do; it
    does not make Airflow fail to store the file's DAGs, which would mark them all stale."""
    connectors, nothing = tmp_path / "connectors", tmp_path / "plugins"
    connectors.mkdir()
    nothing.mkdir()
    write(connectors, "a.properties", "a")
    write(connectors, "b.properties", "b", "rotate.schedule.interval.ms=5400000\ntimezone=UTC\n")
    paths = os.pathsep.join([str(ROOT / "jobs"), str(ROOT / "plugins")])
    environment = {**os.environ, "PYTHONPATH": paths, "AIRFLOW__CORE__PLUGINS_FOLDER": str(nothing)}
    done = subprocess.run(
        [sys.executable, "-c", NOT_INSTALLED + WITHOUT_PLUGIN, str(connectors)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "rotate.schedule.interval.ms=5400000: its schedule is a timetable of the plugin kafka_s3" in done.stdout
    assert "plugins_folder" in done.stdout


def test_plugin_of_the_installed_package(tmp_path: Path) -> None:
    """Where it is installed, its entry point brings the plugin, and the file in plugins/ does not bring it again."""
    if not entry_points(group="airflow.plugins", name="kafka_s3"):
        info = tmp_path / "kafka_s3-0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: kafka-s3\nVersion: 0\n")
        (info / "entry_points.txt").write_text("[airflow.plugins]\nkafka_s3 = kafka_s3_airflow.plugin:KafkaS3Plugin\n")
    [source] = plugins(PLUGINS, tmp_path)
    assert source.startswith("kafka-s3==")
