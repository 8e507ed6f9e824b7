"""The DAG that exports windows again: never by itself, each window once, beside the live export."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pendulum
import pytest

from tests.airflow.test_integrity import bag_of, dags_of, healthy
from tests.airflow.test_integrity import write as write_without
from tests.airflow.test_runs import EIGHT, MINUTE, NINE, TEN, Bench, bench, lines  # noqa: F401  # a fixture

# All of Airflow runs in this process, with warnings of its own.
pytestmark = pytest.mark.filterwarnings("ignore")


def write(folder: Path, file: str, name: str, extra: str = "") -> Path:
    """A connector's file that says nothing of windows, unless `extra` does."""
    path = write_without(folder, file, name)
    path.write_text(path.read_text().replace("export.reexport.enable=false\n", "") + extra)
    return path


def test_what_the_dag_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three tasks, several windows at once, each task in several of them; there unless `export.reexport.enable=false`
    or the name leaves no room for its id."""
    from airflow.serialization.serialized_objects import DagSerialization

    long = "x" * 242
    write(tmp_path, "a.properties", "a")
    write(tmp_path, "b.properties", "b", "export.reexport.max.active.runs=7\nexport.verify.schedule=@daily\n")
    write(tmp_path, "c.properties", "c", "export.reexport.enable=false\n")
    write(tmp_path, "long.properties", long)
    bag = bag_of(tmp_path, monkeypatch)
    assert bag.import_errors == {}
    assert sorted(bag.dag_ids) == ["a", "a__reexport", "b", "b__reexport", "b__verify", "c", long]
    dag = bag.dags["a__reexport"]
    assert all(healthy(each) for each in bag.dags.values())
    assert (sorted(dag.task_ids), dag.max_active_runs, dag.catchup) == (["complete", "export", "plan"], 4, False)
    assert bag.dags["b__reexport"].max_active_runs == 7
    assert {each.max_active_tis_per_dag for each in dag.tasks} == {None}
    assert dag.task_dict["export"].reexport
    assert (dag.params["anew"], dag.params.get_param("anew").schema["type"]) == (False, "boolean")
    assert not bag.dags["a"].task_dict["export"].reexport
    assert (dag.timetable.summary, "kafka-s3-reexport" in dag.tags) == ("on request", True)
    assert "ends at or before the logical date" in dag.params.get_param("anew").description
    assert [name for name, each in bag.dags.items() if not each.description] == []
    again = DagSerialization.deserialize_dag(DagSerialization.serialize_dag(dag))
    assert (again.dag_id, sorted(again.task_dict)) == ("a__reexport", ["complete", "export", "plan"])


def test_no_run_is_ever_due_and_a_backfill_has_every_window(tmp_path: Path) -> None:
    """To the scheduler there is no next run; a backfill over a day has its 24 hours, and a run by hand the hour that
    is over, by the same boundaries as the live DAG."""
    from airflow.serialization.serialized_objects import DagSerialization
    from airflow.timetables.base import TimeRestriction

    write(tmp_path, "a.properties", "a")
    dags = dags_of(tmp_path)
    again, live = (
        DagSerialization.deserialize_dag(DagSerialization.serialize_dag(dags[dag_id]))
        for dag_id in ("a__reexport", "a")
    )
    start = pendulum.datetime(2020, 1, 1)
    scheduler = TimeRestriction(earliest=start, latest=None, catchup=False)
    due = again.timetable.next_dagrun_info(last_automated_data_interval=None, restriction=scheduler)
    assert due is None
    assert live.timetable.next_dagrun_info(last_automated_data_interval=None, restriction=scheduler) is not None
    assert again.timetable.periodic  # or no backfill is possible
    day = pendulum.instance(EIGHT).replace(hour=0)
    spans = [
        [info.data_interval for info in dag.iter_dagrun_infos_between(day, day + timedelta(hours=23))]
        for dag in (again, live)
    ]
    assert len(spans[0]) == 24
    assert spans[0] == spans[1]
    by_hand = again.timetable.infer_manual_data_interval(run_after=pendulum.instance(EIGHT + 5 * MINUTE))
    assert (by_hand.start, by_hand.end) == (EIGHT - timedelta(hours=1), EIGHT)


def test_no_two_dags_have_one_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connector may not be called like another's: it is broken, and its DAG takes no id of theirs."""
    write(tmp_path, "a.properties", "a")
    write(tmp_path, "a__reexport.properties", "a__reexport")
    bag = bag_of(tmp_path, monkeypatch)
    assert bag.import_errors == {}
    assert sorted(bag.dag_ids) == ["a", "a__reexport", "a__reexport-2"]
    assert "must not end with __reexport" in bag.dags["a__reexport-2"].doc_md
    assert healthy(bag.dags["a__reexport"])


def test_only_the_dag_that_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker about to run one of a connector's DAGs builds that one."""
    write(tmp_path, "a.properties", "a")
    monkeypatch.setenv("_AIRFLOW_PARSING_CONTEXT_DAG_ID", "a__reexport")
    assert list(dags_of(tmp_path)) == ["a__reexport"]


@pytest.mark.heavy  # two starts of Spark for each of its runs but the idle ones
def test_windows_again(bench: Bench, capfd: pytest.CaptureFixture[str]) -> None:  # noqa: F811  # the fixture
    """A window holds its hour and what came late, and is one event of an asset of its own; the next run over it is a
    quiet success without Spark, as is the live DAG's over an old hour, and a window without records."""
    [file] = (bench.folder / "connectors").iterdir()
    file.write_text(file.read_text() + "export.timestamps.enable=true\n")
    again = replace(bench, name=f"{bench.name}__reexport")
    bench.produce(0, EIGHT + MINUTE, lines(0, 10))
    bench.produce(1, NINE + MINUTE, lines(10, 5))
    assert bench.run(NINE).state == "success"
    bench.produce(0, EIGHT + 2 * MINUTE, lines(15, 5))
    bench.produce(0, NINE + MINUTE, lines(20, 5))
    early = again.run(TEN)
    assert (early.state, early.tasks["plan"], early.tries["plan"]) == ("failed", "failed", 2)  # it waits, and retries
    assert "The live export comes first" in capfd.readouterr().out
    assert bench.run(TEN).state == "success"
    live, spark = bench.keys("topics/"), bench.starts_of_spark()

    first = again.run(NINE)
    assert first.tasks == {"plan": "success", "export": "success", "complete": "success"}
    assert bench.starts_of_spark() == spark + 1
    prefix = "reexport/20261120T080000Z-20261120T090000Z/"
    assert values(bench, prefix) == [*range(10), *range(15, 20)]
    assert bench.keys("topics/") == live
    [(task, event)] = again.events(first.run_id)
    assert (task, event["connector"], event["records"], event["outside"]) == ("complete", bench.name, 15, 5)
    assert (event["window"], event["keys"]) == (prefix.split("/")[1], bench.keys(prefix))
    assert event["key"] in bench.keys(f"_kafka_s3/{bench.name}/reexport/")

    second = again.run(NINE + MINUTE)  # the same hour, by another run
    assert second.tasks == {"plan": "success", "export": "skipped", "complete": "success"}
    assert again.events(second.run_id) == []
    old = bench.run(EIGHT + 5 * MINUTE)  # the live DAG, over an hour that it has passed
    assert (old.state, old.tasks["export"]) == ("success", "skipped")
    empty = again.run(EIGHT)
    assert (empty.state, empty.tasks["export"]) == ("success", "skipped")
    assert [event["records"] for _, event in again.events(empty.run_id)] == [0]
    assert bench.starts_of_spark() == spark + 1
    assert bench.keys("topics/") == live


def values(bench: Bench, prefix: str) -> list[Any]:  # noqa: F811
    found = []
    for key in bench.keys(prefix):
        body = bench.store.client().get_object(Bucket=bench.bucket, Key=key)["Body"].read()
        found += [json.loads(line) for line in gzip.decompress(body).splitlines()]
    return sorted(found)
