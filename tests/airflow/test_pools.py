"""The pool of exports, and what else tasks are given: by Airflow's own scheduler, over its own database."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.airflow.test_integrity import write

pytestmark = pytest.mark.filterwarnings("ignore")
AT = datetime(2026, 11, 20, 9, tzinfo=UTC)


def dags(folder: Path, **arguments: Any) -> dict[str, Any]:
    from kafka_s3_airflow.dags import dags_of

    return dags_of(folder, {}, **arguments)


@pytest.fixture
def scheduler(airflow_db: None, tmp_path: Path) -> Any:
    """Airflow's scheduler as it starts the runs that are queued; no task is run."""
    from airflow.dag_processing.collection import update_dag_parsing_results_in_db
    from airflow.jobs.job import Job
    from airflow.jobs.scheduler_job_runner import SchedulerJobRunner
    from airflow.models.dagbundle import DagBundleModel
    from airflow.serialization.serialized_objects import LazyDeserializedDAG
    from airflow.utils.session import create_session

    class Scheduler:
        def start_run(self, dag: Any, run_id: str) -> None:
            """Start a run of a DAG, whose tasks are not scheduled yet."""
            with create_session() as session:
                if session.get(DagBundleModel, "pools") is None:
                    session.add(DagBundleModel(name="pools"))
                    session.flush()
                lazy = LazyDeserializedDAG.from_dag(dag)
                update_dag_parsing_results_in_db("pools", None, [lazy], {}, None, set(), session)
            self._queue(dag, run_id)
            runner = SchedulerJobRunner(Job())
            with create_session() as session:
                runner._start_queued_dagruns(session)
                session.commit()

        def _queue(self, dag: Any, run_id: str) -> None:
            from airflow.models.dag import DagModel
            from airflow.models.serialized_dag import SerializedDagModel
            from airflow.utils.types import DagRunTriggeredByType, DagRunType

            with create_session() as session:
                session.get(DagModel, dag.dag_id).is_paused = False
                stored = SerializedDagModel.get_dag(dag.dag_id, session=session)
                stored.create_dagrun(
                    run_id=run_id,
                    run_after=AT,
                    run_type=DagRunType.MANUAL,
                    triggered_by=DagRunTriggeredByType.TEST,
                    state="queued",
                    session=session,
                )

    return Scheduler()


def pools() -> dict[str, int]:
    from airflow.models.pool import Pool

    return {str(each.pool): each.slots for each in Pool.get_pools() if each.pool != "default_pool"}


def delete(name: str) -> None:
    from airflow.models.pool import Pool
    from airflow.utils.session import create_session

    with create_session() as session:
        session.query(Pool).filter(Pool.pool == name).delete()


def test_a_missing_pool_is_made(scheduler: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before a run's tasks are scheduled, with the slots of the setting; so is one that somebody deleted meanwhile, and
    one of another name; one that is there stays as it is."""
    monkeypatch.setenv("KAFKA_S3_POOL_SLOTS", "3")
    write(tmp_path, "a.properties", "pool-a")
    write(tmp_path, "b.properties", "pool-b")
    write(tmp_path, "c.properties", "pool-c")
    made = dags(tmp_path, connector_args={"pool-b": {"pool": "large"}})
    delete("kafka_s3")
    assert pools() == {}
    scheduler.start_run(made["pool-a"], "one")
    assert pools() == {"kafka_s3": 3}

    delete("kafka_s3")
    monkeypatch.setenv("KAFKA_S3_POOL_SLOTS", "5")
    scheduler.start_run(made["pool-b"], "one")
    assert pools() == {"large": 5}
    monkeypatch.setenv("KAFKA_S3_POOL_SLOTS", "7")
    scheduler.start_run(made["pool-c"], "one")
    assert pools() == {"large": 5, "kafka_s3": 7}
    delete("large")


def test_two_schedulers_make_one_pool(scheduler: Any, tmp_path: Path) -> None:
    """The other one was quicker, between this one's look and its insert: its pool stays, and the run starts."""
    from airflow.models.dagrun import DagRun
    from airflow.settings import engine
    from airflow.utils.session import create_session
    from sqlalchemy import event, select, text

    from kafka_s3_airflow.pools import make_missing

    write(tmp_path, "a.properties", "pool-raced")
    scheduler.start_run(dags(tmp_path)["pool-raced"], "one")
    delete("kafka_s3")
    quicker: list[str] = []

    def be_quicker(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith("INSERT INTO slot_pool") and not quicker:
            quicker.append(statement)
            with engine.begin() as other:
                other.execute(text("INSERT INTO slot_pool (pool, slots, include_deferred) VALUES ('kafka_s3', 4, 0)"))

    event.listen(engine, "before_cursor_execute", be_quicker)
    try:
        with create_session() as session:
            dag_run = session.scalars(select(DagRun).where(DagRun.dag_id == "pool-raced")).one()
            make_missing(dag_run, {"kafka_s3"}, {})
            assert session.scalars(select(DagRun.run_id).where(DagRun.dag_id == "pool-raced")).all() == ["one"]
    finally:
        event.remove(engine, "before_cursor_execute", be_quicker)
    assert quicker
    assert pools() == {"kafka_s3": 4}
    delete("kafka_s3")


@pytest.mark.parametrize(
    ("dialect", "words"),
    [("sqlite", "ON CONFLICT DO NOTHING"), ("postgresql", "ON CONFLICT DO NOTHING"), ("mysql", "INSERT IGNORE INTO")],
)
def test_each_database_has_its_words(dialect: str, words: str) -> None:
    """For an insert that does nothing where the pool is there."""
    import importlib

    from airflow.models.pool import Pool

    from kafka_s3_airflow.pools import insert_if_absent

    row = {"pool": "p", "slots": 1, "description": "", "include_deferred": False}
    spoken = importlib.import_module(f"sqlalchemy.dialects.{dialect}").dialect()
    assert words in str(insert_if_absent(Pool, row, dialect).compile(dialect=spoken))


def test_slots_that_are_no_number(caplog: pytest.LogCaptureFixture) -> None:
    """Without a pool no export would run: the default counts, and the scheduler's log says why."""
    from kafka_s3_airflow.pools import SLOTS, slots_of

    with caplog.at_level(logging.ERROR):
        assert [slots_of({"KAFKA_S3_POOL_SLOTS": text}) for text in ("many", "0", "-1", "", "\u0663")] == [SLOTS] * 5
    assert "KAFKA_S3_POOL_SLOTS=many" in caplog.text
    assert slots_of({}) == SLOTS


def test_exports_have_a_pool_of_their_own(tmp_path: Path) -> None:
    """Those that start drivers; `plan` and `complete` are quick, and stay where Airflow's tasks are."""
    write(tmp_path, "a.properties", "a", "export.reexport.enable=true\n")
    made = dags(tmp_path)
    found = {(dag.dag_id, task.task_id): task.pool for dag in made.values() for task in dag.tasks}
    assert found == {
        ("a", "plan"): "default_pool",
        ("a", "export"): "kafka_s3",
        ("a", "complete"): "default_pool",
        ("a__reexport", "plan"): "default_pool",
        ("a__reexport", "export"): "kafka_s3",
        ("a__reexport", "complete"): "default_pool",
    }


def tell_somebody(context: Any) -> None:
    """A callback of the user's own."""


def test_arguments_of_tasks(tmp_path: Path) -> None:
    """Given for all connectors, and for one by its name, whose come first; a callback is added to what announces."""
    from kafka_s3_airflow.assets import mark_announced

    write(tmp_path, "a.properties", "a", "export.verify.schedule=@daily\n")
    write(tmp_path, "b.properties", "b")
    default = {"queue": "exports", "execution_timeout": timedelta(hours=2), "on_success_callback": tell_somebody}
    of_b = {"queue": "large", "pool": "two", "executor_config": {"cpu": 2}, "retries": 1}
    made = dags(tmp_path, default_args=default, connector_args={"b": of_b})
    for dag_id in ("a", "a__verify"):
        assert {each.queue for each in made[dag_id].tasks} == {"exports"}
        assert {each.execution_timeout for each in made[dag_id].tasks} == {timedelta(hours=2)}
    assert {each.retries for each in made["a"].tasks} == {5}
    for each in made["b"].tasks:
        assert (each.queue, each.pool, each.executor_config, each.retries) == ("large", "two", {"cpu": 2}, 1)
        assert each.execution_timeout == timedelta(hours=2)
    for task_id in ("plan", "complete"):
        assert made["a"].task_dict[task_id].on_success_callback == [mark_announced, tell_somebody]
    assert made["a"].task_dict["export"].on_success_callback == [tell_somebody]


def test_arguments_that_airflow_refuses(tmp_path: Path) -> None:
    """They break the connector that has them, and no other."""
    write(tmp_path, "a.properties", "a")
    write(tmp_path, "b.properties", "b")
    made = dags(tmp_path, connector_args={"b": {"execution_timeout": "soon"}})
    assert "broken" in made["b"].tags
    assert "broken" not in made["a"].tags
    assert "execution_timeout" in made["b"].doc_md
