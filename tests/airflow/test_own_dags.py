"""`kafka_to_s3` in DAGs of somebody's own, by `dag.test()`: the real broker, a real S3 API, the real Spark."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from tests.airflow import test_runs
from tests.airflow.test_integrity import HEAVY, write
from tests.airflow.test_runs import CONNECTOR, NINE, ROOT, Bench, lines
from tests.house.pages import blocks, page

bench = test_runs.bench

# All of Airflow runs in this process, with warnings of its own.
pytestmark = pytest.mark.filterwarnings("ignore")

DAG_FILE = """\
from datetime import datetime, timedelta, timezone

from airflow.sdk import DAG, task
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException
from kafka_s3_airflow import export_docs, export_params, export_schedule, kafka_to_s3

START = datetime(2026, 11, 20, tzinfo=timezone.utc)

"""


class Own:
    """A folder with a DAG file of somebody's own, and what Airflow makes of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "own"
        self.folder.mkdir()

    def write(self, text: str) -> None:
        (self.folder / "own.py").write_text(DAG_FILE + text)

    def dag(self, dag_id: str = "own") -> Any:
        from airflow.dag_processing.dagbag import DagBag

        bag = DagBag(str(self.folder), collect_dags=True)
        assert bag.import_errors == {}
        return bag.dags[dag_id]

    def run(self, dag_id: str = "own", at: datetime | None = NINE, conf: dict[str, Any] | None = None) -> Any:
        return self.dag(dag_id).test(logical_date=at, run_conf=conf)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Own:
    own = Own(tmp_path)
    # Where `dag.test()` looks for the DAG's file.
    bundle = {
        "name": "own",
        "classpath": "airflow.dag_processing.bundles.local.LocalDagBundle",
        "kwargs": {"path": str(own.folder)},
    }
    monkeypatch.setenv("AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST", json.dumps([bundle]))
    return own


def states(run: Any) -> dict[str, str]:
    return {each.task_id: str(each.state) for each in run.get_task_instances()}


# What is built.


def test_the_group(own: Own, tmp_path: Path) -> None:
    """One call makes plan -> export -> complete, named after the connector, with the exporter's retries; `>>` puts it
    between other tasks, and its own arguments come before the DAG's."""
    path = write(tmp_path, "a.properties", "sales.orders")
    own.write(f"""
with DAG("own", schedule="@daily", start_date=START, default_args={{"retries": 9, "owner": "Ann"}}) as dag:
    first, last = task(lambda: None).override(task_id="first")(), task(lambda: None).override(task_id="last")()
    first >> kafka_to_s3("{path}") >> last
    kafka_to_s3("{path}", group_id="again", default_args={{"retries": 2}})
    kafka_to_s3("{path}", group_id="bare", prefix_group_id=False)
""")
    dag = own.dag()
    dag.validate()
    group = [f"sales_orders.{name}" for name in ("plan", "export", "complete")]
    assert set(dag.task_ids) == {
        *("first", "last", "plan", "export", "complete"),
        *group,
        *(task_id.replace("sales_orders", "again") for task_id in group),
    }
    assert dag.task_dict["first"].downstream_task_ids == {group[0]}
    assert [dag.task_dict[task_id].downstream_task_ids for task_id in group] == [{group[1]}, {group[2]}, {"last"}]
    assert {dag.task_dict[task_id].retries for task_id in group} == {1}, "KAFKA_S3_RETRIES of these tests"
    assert {dag.task_dict[f"again.{name}"].retries for name in ("plan", "export", "complete")} == {2}
    assert dag.task_dict["first"].retries == 9
    assert {each.owner for each in dag.tasks} == {"Ann"}
    for name in ("plan", "complete"):  # what they announce by exists before, so that two that do at once both succeed
        *assets, alias = dag.task_dict[f"sales_orders.{name}"].outlets
        assert [each.uri for each in assets] == [
            "x-kafka-s3://sales.orders",
            "x-kafka-s3://sales.orders/sales.orders-topic",
        ]
        assert alias.name == f"kafka-s3/sales.orders/{name}"
    assert {dag.task_dict[task_id].max_active_tis_per_dag for task_id in group} == {1}


def test_what_a_dag_may_take_over(own: Own, tmp_path: Path) -> None:
    """A DAG of one's own can have the connector's schedule, trigger form and description."""
    path = write(tmp_path, "a.properties", "a", "export.schedule=30 4 * * *\ntimezone=Europe/Berlin\n")
    own.write(f"""
path = "{path}"
with DAG("own", schedule=export_schedule(path), start_date=START, params=export_params(), doc_md=export_docs(path)):
    kafka_to_s3(path)
""")
    dag = own.dag()
    assert dag.timetable.summary == "at 30 4 * * * (Europe/Berlin)"
    assert "Topics: `a-topic`" in dag.doc_md
    assert dag.params.get_param("until").schema["enum"] == ["interval", "now"]


def test_the_example_of_the_page(own: Own, tmp_path: Path) -> None:
    """The DAG that the page shows is one."""
    [text] = blocks(page("tutorials/own-dag.md"), "python")
    path = write(tmp_path, "sales.properties", "sales")
    own.write(text.replace("/etc/kafka-s3/sales.properties", str(path)))
    dag = own.dag("sales")
    dag.validate()
    assert dag.task_ids == ["before", "sales.plan", "sales.export", "sales.complete", "after"]
    assert dag.timetable.expression == "0 * * * *"
    assert "Topics: `sales-topic`" in dag.doc_md


@pytest.mark.parametrize("path", ["install/airflow.md", "install/managed.md"])
def test_the_dag_files_of_the_install_pages(own: Own, path: str) -> None:
    """The DAG file that a page of the installation shows makes a DAG of every file in its folder."""
    (own.folder / "connectors").mkdir()
    write(own.folder / "connectors", "orders.properties", "orders")
    [text] = blocks(page(path), "python")
    own.write(text.replace("/opt/kafka-s3/connectors", str(own.folder / "connectors")))
    assert own.dag("orders").task_ids[:1] == ["plan"]


def test_importing_the_package_costs_nothing() -> None:
    """`import kafka_s3_airflow` loads neither Airflow nor a library; `kafka_to_s3` loads nothing heavy."""
    code = (
        "import sys, kafka_s3_airflow; assert 'airflow' not in sys.modules;"
        "from kafka_s3_airflow import kafka_to_s3; assert 'airflow' in sys.modules;"
        f"loaded = [name for name in {(*HEAVY, 'fastapi')} if name in sys.modules]; assert not loaded, loaded"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


WRONG: dict[str, tuple[Callable[[Path], str], str]] = {
    "a property": (lambda folder: str(write(folder, "b.properties", "b", "flush.size=x\n")), "flush.size=x"),
    "no file": (lambda folder: str(folder / "nowhere.properties"), "nowhere.properties"),
    "a relative path": (lambda folder: "connectors/b.properties", "must be absolute"),
}


@pytest.mark.parametrize(("wrong", "says"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_connector_leaves_the_dag_as_it_is(
    own: Own, tmp_path: Path, wrong: Callable[[Path], str], says: str
) -> None:
    """The DAG file loads, the other groups are well, and the group's description and `plan` say what is wrong."""
    good, bad = write(tmp_path, "a.properties", "a"), wrong(tmp_path)
    own.write(f"""
with DAG("own", schedule=export_schedule("{bad}"), start_date=START, doc_md=export_docs("{bad}")) as dag:
    kafka_to_s3("{good}")
    kafka_to_s3("{bad}", group_id="bad")
""")
    dag = own.dag()
    dag.validate()
    assert len(dag.task_ids) == 6
    assert says in dag.doc_md
    assert says in dag.task_dict["bad.plan"].doc_md
    assert says in dag.task_dict["bad.plan"].op_args[0]
    assert dag.task_dict["bad.plan"].retries == 0
    assert dag.task_dict["a.plan"].doc_md != dag.task_dict["bad.plan"].doc_md


def test_wrong_retries_leave_the_dag_as_it_is(own: Own, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment variable that is not a number is the group's problem, not an import error."""
    monkeypatch.setenv("KAFKA_S3_RETRIES", "many")
    path = write(tmp_path, "a.properties", "a")
    own.write(f"""
with DAG("own", schedule=None, start_date=START) as dag:
    kafka_to_s3("{path}")
""")
    assert "KAFKA_S3_RETRIES=many" in own.dag().task_dict["a.plan"].op_args[0]


# Run.


@pytest.mark.heavy  # the first run of a task imports for ten seconds
def test_what_comes_before_the_group(own: Own, airflow_db: None, tmp_path: Path) -> None:
    """A task before the group that fails fails the group, and one that skips skips all of it: in neither case does
    what comes after run as if there had been an export. A group whose connector is wrong fails at its `plan`."""
    path = write(tmp_path, "a.properties", "a", "flush.size=x\n")
    own.write(f"""
def raises(error):
    raise error

for name, error in {{"fails": AirflowFailException("no"), "skips": AirflowSkipException("no"), "none": None}}.items():
    with DAG(name, schedule=None, start_date=START) as dag:
        before = task(task_id="before")((lambda error=error: raises(error)) if error else (lambda: None))()
        before >> kafka_to_s3("{path}") >> task(task_id="after")(lambda: None)()
""")
    run = own.run("fails")
    assert states(run) == {
        "before": "failed",
        "a.plan": "upstream_failed",
        "a.export": "upstream_failed",
        "a.complete": "failed",
        "after": "upstream_failed",
    }
    assert str(run.state) == "failed"
    run = own.run("skips")
    assert set(states(run).values()) == {"skipped"}
    run = own.run("none")
    assert states(run) == {
        "before": "success",
        "a.plan": "failed",
        "a.export": "upstream_failed",
        "a.complete": "failed",
        "after": "upstream_failed",
    }


@pytest.mark.heavy
def test_two_groups_in_one_dag(own: Own, bench: Bench, capfd: pytest.CaptureFixture[str]) -> None:
    """Each group exports its connector's records and announces them as its own asset; without a data interval up to
    what can be read; one that fails takes the other neither down nor for itself."""
    [first] = (bench.folder / "connectors").iterdir()
    other_topic = f"{bench.topic}-other"
    bench.broker.create_topic(other_topic, partitions=1)
    other = first.with_name("other.properties")
    other.write_text(CONNECTOR.format(name=f"{bench.name}-other", topic=other_topic, bucket=bench.bucket))
    own.write(f"""
with DAG("own", schedule=None, start_date=START, params=export_params()) as dag:
    kafka_to_s3("{first}", group_id="one")
    kafka_to_s3("{other}", group_id="two")
""")
    bench.produce(0, datetime.now(UTC), lines(0, 20))
    topic, bench.topic = bench.topic, other_topic
    bench.produce(0, datetime.now(UTC), [*lines(20, 5), b"{no json"])
    bench.topic = topic

    run = own.run(at=None)
    assert states(run) == {
        "one.plan": "success",
        "one.export": "success",
        "one.complete": "success",
        "two.plan": "success",
        "two.export": "failed",
        "two.complete": "failed",
    }
    assert bench.values() == list(range(25))
    announced = bench.events(run.run_id)
    assert {task for task, _ in announced} == {"one.complete"}
    assert [event["records"] for _, event in announced if event["kind"] == "commit"] == [20]
    assert "two.export failed: see the task's log" in capfd.readouterr().out


# A run's parameters.


@pytest.mark.heavy
def test_a_run_whose_parameters_are_wrong(
    own: Own, airflow_db: None, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Where the DAG has the form, Airflow refuses the run before it begins, and says what is allowed. Where it has
    not, or a name is misspelt, which Airflow takes, `plan` fails at once."""
    from airflow.sdk.exceptions import ParamValidationError

    path = write(tmp_path, "a.properties", "a")
    own.write(f"""
for name, params in {{"form": export_params(), "none": {{}}}}.items():
    with DAG(name, schedule=None, start_date=START, params=params) as dag:
        kafka_to_s3("{path}", group_id="a")
""")
    with pytest.raises(ParamValidationError, match="until: 'later' is not one of \\['interval', 'now'\\]"):
        own.run("form", conf={"until": "later"})
    for dag_id, conf, says in (
        ("none", {"until": "later"}, "until=later is not one of interval, now"),
        ("form", {"Until": "now"}, "sets Until, which is not a parameter: write until"),
    ):
        run = own.run(dag_id, conf=conf)
        assert states(run)["a.plan"] == "failed"
        assert says in capfd.readouterr().out


# Runs that assets begin.


@pytest.mark.heavy
def test_assets_begin_a_run(own: Own, airflow_db: None, tmp_path: Path) -> None:
    """An asset is found by its URI, whatever its name: once the last of those that the connector waits for was updated
    by somebody else's DAG, Airflow's scheduler has a run to create."""
    from airflow.models.asset import AssetActive, AssetModel
    from airflow.models.dag import DagModel
    from airflow.utils.session import create_session

    def activate() -> None:
        """What the scheduler does with every asset that a DAG names; and the DAG is no longer paused."""
        with create_session() as session:
            for asset in session.scalars(select(AssetModel).where(~AssetModel.active.has())):
                session.add(AssetActive.for_asset(asset))
            waiting = session.get(DagModel, "waits")
            assert waiting is not None
            waiting.is_paused = False

    def waits() -> bool:
        with create_session() as session:
            _, triggered = DagModel.dags_needing_dagruns(session)
            return "waits" in triggered

    path = write(tmp_path, "a.properties", "a", "export.schedule.assets=s3://bucket/one,x-kafka-s3://other\n")
    own.write(f"""
from airflow.sdk import Asset

for name, uri in {{"a name of its own": "s3://bucket/one", "kafka-s3/other": "x-kafka-s3://other"}}.items():
    with DAG(uri[-3:] + "-producer", schedule=None, start_date=START):
        task(task_id="update", outlets=[Asset(name=name, uri=uri)])(lambda: None)()

with DAG("waits", schedule=export_schedule("{path}"), start_date=START) as dag:
    kafka_to_s3("{path}")
""")
    own.run("one-producer")  # from now on Airflow knows all of them
    activate()
    assert str(own.run("one-producer").state) == "success"
    assert not waits()
    assert str(own.run("her-producer").state) == "success"
    assert waits()
