"""Groups as DAGs: what Airflow makes of connectors that share one, and of those that do not fit."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowFailException

from kafka_s3.spark.driver_context import VARIABLE_CHARS_MAX, DriverContext, GroupContext, Member
from tests.airflow.test_connections import set_connection
from tests.airflow.test_integrity import HEAVY, dags_of, healthy, serialized, write

pytestmark = pytest.mark.filterwarnings("ignore")
NIGHTLY = "export.group=nightly\n"


def made_of(folder: Path, **arguments: Any) -> dict[str, Any]:
    from kafka_s3_airflow.dags import dags_of

    return dags_of(folder, {}, **arguments)


def context_of(conf: dict[str, Any] | None = None, **params: Any) -> Any:
    """Of a run of a group: its configuration, and what its parameters have by it."""
    known = {"until": "interval", "connectors": [], **params}
    return {"params": known, "dag": SimpleNamespace(params=known), "dag_run": SimpleNamespace(conf=conf)}


def test_a_group_is_one_dag(tmp_path: Path) -> None:
    """With a task each for all members, whose DAGs are gone, but for those that verify and export again; the run fails
    where a task does, and what one task commits is announced although another fails."""
    write(
        tmp_path, "a.properties", "a", f"{NIGHTLY}export.tags=gold\nexport.verify.schedule=@daily\nexport.owner=Ann\n"
    )
    write(tmp_path, "b.properties", "b", f"{NIGHTLY}export.reexport.enable=true\nexport.owner=Ann\n")
    write(tmp_path, "c.properties", "c")
    dags = dags_of(tmp_path)
    assert set(dags) == {"nightly__group", "a__verify", "b__reexport", "c"}
    dag = dags["nightly__group"]
    assert dag.task_ids == ["plan", "export", "complete", "complete_rest", "outcome"]
    assert {each.retries for each in dag.tasks} == {5}
    assert dag.task_dict["plan"].downstream_task_ids == {"export"}
    assert dag.task_dict["export"].downstream_task_ids == {"complete", "outcome"}
    assert dag.task_dict["complete"].trigger_rule == "all_done"
    assert dag.task_dict["complete"].downstream_task_ids == {"complete_rest"}
    assert dag.task_dict["complete_rest"].downstream_task_ids == {"outcome"}
    assert dag.task_dict["outcome"].trigger_rule == "none_failed"
    assert (dag.catchup, dag.max_active_runs, dag.task_dict["export"].max_active_tis_per_dag) == (False, 1, 1)
    assert dag.task_dict["export"].pool == "kafka_s3"
    assert dag.tags == {"kafka-s3", "gold"}
    assert {task.owner for task in dag.tasks} == {"Ann"}
    assert "| `a` | `a-topic` | `archive` |" in dag.doc_md
    outlets = {str(each.name) for each in dag.task_dict["complete"].outlets}
    assert outlets == {
        "kafka-s3/nightly__group/complete",
        *(f"kafka-s3/{each}" for each in "ab"),
        *(f"kafka-s3/{each}/{each}-topic" for each in "ab"),
    }
    assert str(tmp_path) not in serialized(dag), "a thousand paths would be stored and rendered with each task"


def test_a_broken_file_leaves_its_group_alone(tmp_path: Path) -> None:
    """It has a DAG of its own that says what is wrong, as without a group."""
    write(tmp_path, "a.properties", "a", NIGHTLY)
    write(tmp_path, "b.properties", "b", f"{NIGHTLY}flush.size=x\n")
    dags = dags_of(tmp_path)
    assert set(dags) == {"nightly__group", "b"}
    assert healthy(dags["nightly__group"])
    assert "`b`" not in dags["nightly__group"].doc_md
    assert "flush.size=x" in dags["b"].doc_md


def test_a_member_with_another_schedule(tmp_path: Path) -> None:
    """It is wrong, its group is not: that has the schedule of most members, and of two the first one's."""
    write(tmp_path, "a.properties", "a", f"{NIGHTLY}export.schedule=@daily\n")
    for name in "bc":
        write(tmp_path, f"{name}.properties", name, NIGHTLY)
    dags = dags_of(tmp_path)
    assert set(dags) == {"nightly__group", "a"}
    assert not healthy(dags["a"])
    assert "export.group=nightly: has another schedule: this connector runs at @daily (UTC)" in dags["a"].doc_md
    assert "2 of the group's 3 connectors run every hour" in dags["a"].doc_md
    (tmp_path / "c.properties").unlink()
    dags = dags_of(tmp_path)
    assert (healthy(dags["nightly__group"]), healthy(dags["b"])) == (True, False)
    assert "`a`" in dags["nightly__group"].doc_md


def test_a_connector_named_like_a_group(tmp_path: Path) -> None:
    """A connector may have the group's name; one that has its DAG's is refused, and takes nobody's id."""
    write(tmp_path, "a.properties", "nightly", NIGHTLY)
    write(tmp_path, "b.properties", "nightly__group", "")
    write(tmp_path, "c.properties", "c", "export.group=at night\n")
    dags = dags_of(tmp_path)
    assert set(dags) == {"nightly__group", "b", "c"}
    assert healthy(dags["nightly__group"])
    assert "reserved for DAGs of groups" in dags["b"].doc_md
    assert "for the DAG &lt;group&gt;__group" in dags["c"].doc_md or "for the DAG <group>__group" in dags["c"].doc_md


def test_a_member_that_moves(tmp_path: Path) -> None:
    """To another group, or out of any: one DAG has it, and a group without a member has none."""
    write(tmp_path, "a.properties", "a", NIGHTLY)
    assert set(dags_of(tmp_path)) == {"nightly__group"}
    write(tmp_path, "a.properties", "a", "export.group=hourly\n")
    assert set(dags_of(tmp_path)) == {"hourly__group"}
    write(tmp_path, "a.properties", "a")
    assert set(dags_of(tmp_path)) == {"a"}


def test_the_page_finds_a_members_runs(tmp_path: Path) -> None:
    """They are the group's; what the page shows of it is the connector's own."""
    from kafka_s3_airflow.page.folder import Folder

    write(tmp_path, "a.properties", "a", NIGHTLY)
    write(tmp_path, "b.properties", "b")
    shown = {each.dag_id: each.runs_in for each in Folder(tmp_path).connectors()}
    assert shown == {"a": "nightly__group", "b": "b"}


def test_a_thousand_members_are_handed_over() -> None:
    """In variables that Linux takes, what they share once; nothing is left for children of the driver."""
    kafka = {"bootstrap.servers": "broker:9092", "sasl.password": "x" * 1000}
    secrets = {"store": "x" * 1000, "registry": "y" * 1000}
    members = tuple(
        Member(f"m{n}", f"/c/m{n}.properties", DriverContext(kafka, None, {**secrets, "s": str(n)}))
        for n in range(1000)
    )
    environment = {"PATH": "/bin", **GroupContext(members).to_environment()}
    assert max(map(len, environment.values())) <= VARIABLE_CHARS_MAX
    assert sum(map(len, environment.values())) < 200_000
    assert GroupContext.take(environment).members == members
    assert environment == {"PATH": "/bin"}
    assert GroupContext.take(environment).members == ()


def test_a_run_is_narrowed_to_some_members() -> None:
    """By the parameter; a name that is not in the group is refused, with those that are."""
    from kafka_s3_airflow.group_tasks import narrowed

    members = {"a": "/a", "b": "/b"}

    def given(names: Any) -> dict[str, str]:
        return dict(narrowed(context_of(connectors=names), members))

    assert given([]) == given(None) == members
    assert given(["b"]) == {"b": "/b"}
    with pytest.raises(AirflowFailException, match=r"not in the group: z\. In it are: a, b\."):
        given(["a", "z"])


@pytest.mark.parametrize("misspelt", ["connector", "Connectors", "conectors"])
def test_a_misspelt_parameter_is_refused(misspelt: str) -> None:
    """Airflow takes any name in a run's configuration, and the run would be of all members."""
    from kafka_s3_airflow.group_tasks import narrowed

    said = f"sets {misspelt}, which is not a parameter: write connectors, a list of some of these: a, b\\."
    with pytest.raises(AirflowFailException, match=said):
        narrowed(context_of({misspelt: ["a"]}), {"a": "/a", "b": "/b"})
    assert set(narrowed(context_of({"ticket": 7}), {"a": "/a", "b": "/b"})) == {"a", "b"}


def test_members_of_a_group_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has a DAG that says why, in the worker's process too, which asks for that one alone."""
    from kafka_s3_airflow import dags

    write(tmp_path, "a.properties", "a", NIGHTLY)
    write(tmp_path, "b.properties", "b", NIGHTLY)
    environment = {"KAFKA_S3_RETRIES": "many"}
    assert set(dags_of(tmp_path, environment)) == {"a", "b"}
    monkeypatch.setattr(dags, "get_parsing_context", lambda: SimpleNamespace(dag_id="b"))
    made = dags_of(tmp_path, environment)
    assert set(made) == {"b"}
    assert "KAFKA_S3_RETRIES=many" in made["b"].doc_md
    assert set(dags_of(tmp_path)) == set(), "no DAG of its own where its group has one"


def test_no_worker_runs_the_outcome(tmp_path: Path) -> None:
    """Airflow would send it to one to call a callback, which the tasks before it have called."""
    write(tmp_path, "a.properties", "a", NIGHTLY)
    called = {"on_success_callback": print, "on_execute_callback": print, "on_failure_callback": print}
    dag = made_of(tmp_path, default_args=called)["nightly__group"]
    assert dag.task_dict["export"].has_on_success_callback
    outcome = dag.task_dict["outcome"]
    assert not any((outcome.has_on_success_callback, outcome.has_on_execute_callback, outcome.outlets, outcome.inlets))


def test_a_groups_export_has_no_link(tmp_path: Path) -> None:
    """The page shows the commits of one connector, so a link with the group's DAG would find nothing."""
    write(tmp_path, "a.properties", "a", NIGHTLY)
    write(tmp_path, "b.properties", "b")
    made = dags_of(tmp_path)
    links = {name: len(made[name].task_dict["export"].operator_extra_links) for name in made}
    assert links == {"nightly__group": 0, "b": 1}


def test_a_groups_spark_is_that_of_the_first_by_name(tmp_path: Path) -> None:
    """Not by file, and whatever became of the files since; `plan` and `export` ask for the same."""
    write(tmp_path, "1.properties", "b", f"{NIGHTLY}export.spark.conn.id=of_b\n")
    write(tmp_path, "2.properties", "a", f"{NIGHTLY}export.spark.conn.id=of_a\n")
    export = dags_of(tmp_path)["nightly__group"].task_dict["export"]
    assert export._conn_id == "of_a"
    assert made_of(tmp_path, default_args={"conn_id": "x"})["nightly__group"].task_dict["export"]._conn_id == "x"


def test_members_that_ask_spark_for_different_things(tmp_path: Path) -> None:
    """The later by name is wrong and says why in a sentence; what it asks for besides binds nobody, and the group has
    the others, with what they ask for together."""
    memory, cores = (f"export.spark.conf.spark.executor.{name}=" for name in ("memory", "cores"))
    write(tmp_path, "1.properties", "b", f"{NIGHTLY}{memory}2g\n{cores}4\n")
    write(tmp_path, "2.properties", "a", f"{NIGHTLY}{memory}1g\n")
    write(tmp_path, "3.properties", "c", f"{NIGHTLY}{memory}1g\n{cores}2\n")
    write(tmp_path, "4.properties", "d", f"export.group=hourly\n{memory}3g\n")
    dags = dags_of(tmp_path)
    assert set(dags) == {"nightly__group", "hourly__group", "b"}
    assert [healthy(dags[name]) for name in ("nightly__group", "hourly__group", "b")] == [True, True, False]
    said = (
        "export.spark.conf.spark.executor.memory=2g: cannot be had: b is in the group nightly with a, which has 1g,"
        " and both share one Spark application. Give both one value, or another group"
    )
    assert said in dags["b"].doc_md
    assert "`b`" not in dags["nightly__group"].doc_md


def test_what_members_ask_of_spark(capfd: pytest.CaptureFixture[str]) -> None:
    """A driver's members are looked at again, with variables resolved: the later by name fails, for good, whatever the
    order of the plans; the log names who has another connection."""
    from kafka_s3.settings.spark import SparkSettings
    from kafka_s3_airflow.group_failures import Failures
    from kafka_s3_airflow.group_operator import GroupExportOperator

    a = SparkSettings("spark_default", (("spark.executor.memory", "1g"),))
    b = SparkSettings("large", (("spark.executor.cores", "2"), ("spark.executor.memory", "2g")))
    c = SparkSettings("large", (("spark.executor.cores", "4"),))
    members = {name: f"/{name}" for name in "abc"}
    operator = GroupExportOperator(task_id="export", group="nightly", members=members)
    for spark in ({"a": a, "b": b, "c": c}, {"c": c, "b": b, "a": a}):
        ended = Failures(members)
        assert operator._asked(spark, ended) == {"spark.executor.memory": "1g", "spark.executor.cores": "4"}
        assert ended.statuses == {"b": 78}
        said = capfd.readouterr().out
        assert "b: export.spark.conf.spark.executor.memory=2g: cannot be had: b is in the group nightly with a" in said
        assert "c: export.spark.conn.id=large is not what the group has: spark_default" in said


def test_more_than_linux_takes(monkeypatch: pytest.MonkeyPatch, airflow_db: None) -> None:
    """A driver whose environment is too large to start is a sentence without a secret, and no retry."""
    from kafka_s3_airflow.driver_output import GroupOutput
    from kafka_s3_airflow.group_operator import GroupExportOperator

    set_connection(monkeypatch, "spark_default", conn_type="spark", host="local[2]")
    members = tuple(
        Member(f"m{n}", "/c", DriverContext({"sasl.password": f"{n}" * 5000}, None, {})) for n in range(1000)
    )
    environment = {"PYSPARK_DRIVER_PYTHON": sys.executable, **GroupContext(members).to_environment()}
    operator = GroupExportOperator(task_id="export", group="nightly", members={})
    said = r"its environment, connections and secrets included, has 1\d,\d{3},\d{3} bytes\. .* Make two groups of it\."
    with pytest.raises(AirflowFailException, match=said) as raised:
        operator._run_driver("--without-spark", environment, GroupOutput())
    assert "12312" not in str(raised.value)
    output = GroupOutput()
    assert operator._run_all(operator._hook_with_conf({}, output), environment, output) == 78
    assert "Make two groups of it." in output.reasons[""][0]


def test_building_a_group_is_cheap() -> None:
    """Nothing heavy is imported, as for other DAGs."""
    import subprocess

    code = "import sys, kafka_s3_airflow.groups; print([each for each in sys.argv[1:] if each in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code, *HEAVY], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")
