"""Groups as DAGs: what Airflow makes of connectors that share one, and of those that do not fit."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowFailException

from kafka_s3.spark.driver_context import VARIABLE_CHARS_MAX, DriverContext, GroupContext, Member
from tests.airflow.test_integrity import HEAVY, dags_of, healthy, serialized, write

pytestmark = pytest.mark.filterwarnings("ignore")
NIGHTLY = "export.group=nightly\n"


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
    assert dag.task_ids == ["plan", "export", "complete", "outcome"]
    assert {each.retries for each in dag.tasks} == {5}
    assert dag.task_dict["plan"].downstream_task_ids == {"export"}
    assert dag.task_dict["export"].downstream_task_ids == {"complete", "outcome"}
    assert dag.task_dict["complete"].trigger_rule == "all_done"
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
    """In variables that Linux takes, connections once; nothing is left for children of the driver."""
    kafka = {"bootstrap.servers": "broker:9092", "sasl.password": "x" * 1000}
    members = tuple(
        Member(f"m{n}", f"/c/m{n}.properties", DriverContext(kafka, None, {"s": str(n)})) for n in range(1000)
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
        context: Any = SimpleNamespace(params={"connectors": names})
        return dict(narrowed(vars(context), members))  # type: ignore[arg-type]

    assert given([]) == given(None) == members
    assert given(["b"]) == {"b": "/b"}
    with pytest.raises(AirflowFailException, match=r"not in the group: z\. In it are: a, b\."):
        given(["a", "z"])


def test_building_a_group_is_cheap() -> None:
    """Nothing heavy is imported, as for other DAGs."""
    import subprocess
    import sys

    code = "import sys, kafka_s3_airflow.groups; print([each for each in sys.argv[1:] if each in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code, *HEAVY], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")
