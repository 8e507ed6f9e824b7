"""What has to hold for every DAG and every connector before they go to an Airflow. Copy it and make it yours."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kafka_s3.settings import outline

#: What a team asks of its exports.
TAGS = {"kafka-s3"}
OWNERS = {"airflow"}
RETRIES_MIN = 1
#: What Airflow shows as the schedule of a connector's DAG; those that are not named here may have any.
SCHEDULES = {"orders": "0 * * * *"}

TASKS = ["plan", "export", "complete"]
# What a parse of a DAG file must not wait for.
HEAVY = ("pyspark", "pyarrow", "boto3", "confluent_kafka", "pandas", "numpy")

# All of Airflow runs in this process, with warnings of its own.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def exports(bag: Any, connectors_folder: Path) -> dict[str, Any]:
    """The DAG of every connector file, by the name of the connector: its own, or its group's."""
    files = [
        path
        for path in sorted(connectors_folder.iterdir())
        if path.suffix in (".properties", ".json", ".yaml", ".yml") and path.name != "worker.properties"
    ]
    known = [outline(path) for path in files]
    names = [each.name for each in known]
    assert len(names) == len(set(names)), f"two files have one name: {sorted(names)}"
    dag_ids = {each.name: each.name if each.group is None else f"{each.group}__group" for each in known}
    missing = [name for name, dag_id in dag_ids.items() if dag_id not in bag.dag_ids]
    assert not missing, f"no DAG for {sorted(missing)}"
    return {name: bag.dags[dag_id] for name, dag_id in dag_ids.items()}


def test_every_file_loads(bag: Any) -> None:
    """No DAG file has an import error."""
    assert bag.import_errors == {}


def test_every_connector_can_run(exports: dict[str, Any]) -> None:
    """No connector is broken; its DAG's description says what is wrong with one that is."""
    assert exports
    for dag in exports.values():
        assert "broken" not in dag.tags, dag.doc_md


def test_every_dag_of_an_export_has_its_tasks(exports: dict[str, Any]) -> None:
    """plan, export and complete in a row; without cycles; one export at a time."""
    for name, dag in exports.items():
        dag.validate()
        assert dag.task_ids[:3] == TASKS, name
        assert dag.task_dict["plan"].downstream_task_ids == {"export"}, name
        assert dag.task_dict["export"].downstream_task_ids == {"complete"}, name
        assert dag.task_dict["export"].max_active_tis_per_dag == 1, name


def test_every_dag_of_an_export_keeps_the_policy(exports: dict[str, Any]) -> None:
    """Owners, tags and retries are the team's; nobody is asked to fill in a trigger form without a description."""
    owners = {name: {each.owner for each in dag.tasks} - OWNERS for name, dag in exports.items()}
    assert {name: strangers for name, strangers in owners.items() if strangers} == {}
    assert {name: dag.tags for name, dag in exports.items() if not dag.tags >= TAGS} == {}
    retries = {name: min(each.retries for each in dag.tasks) for name, dag in exports.items()}
    assert {name: least for name, least in retries.items() if least < RETRIES_MIN} == {}
    for name, dag in exports.items():
        assert all(dag.params.get_param(param).description for param in dag.params), name


def test_schedules(exports: dict[str, Any]) -> None:
    """Who changes a schedule changes it here too."""
    shown = {name: stored(dag).timetable.summary for name, dag in exports.items() if name in SCHEDULES}
    assert shown == {name: summary for name, summary in SCHEDULES.items() if name in exports}


def test_every_dag_can_be_stored(bag: Any) -> None:
    """The scheduler works from what the dag-processor stores: it has the same tasks."""
    for dag_id, dag in bag.dags.items():
        assert stored(dag).dag_id == dag_id
        assert list(stored(dag).task_dict) == dag.task_ids


def test_parsing_is_cheap(dags_folder: Path) -> None:
    """No DAG file imports a large library: Airflow parses every one of them again and again."""
    code = (
        "import runpy, sys; import airflow.sdk\n"
        "for path in sys.argv[1:]: runpy.run_path(path)\n"
        f"loaded = [name for name in {HEAVY} if name in sys.modules]; assert not loaded, loaded"
    )
    files = [str(path) for path in sorted(dags_folder.rglob("*.py"))]
    done = subprocess.run([sys.executable, "-c", code, *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


def stored(dag: Any) -> Any:
    """A DAG as Airflow's database gives it back."""
    from airflow.serialization.serialized_objects import DagSerialization

    return DagSerialization.from_dict(json.loads(json.dumps(DagSerialization.to_dict(dag))))
