"""What the page asks Airflow's database: a run that fails again and again, and silenced alarms."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.airflow.test_integrity import bag_of, write

# All of Airflow runs in this process, with warnings of its own.
pytestmark = pytest.mark.filterwarnings("ignore")


def test_a_run_that_is_failing(airflow_db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The task that failed and waits to be tried again, and how often it was; not of a run that is over."""
    from airflow.dag_processing.bundles.manager import DagBundlesManager
    from airflow.dag_processing.dagbag import sync_bag_to_db
    from airflow.models.serialized_dag import SerializedDagModel
    from airflow.utils.session import create_session
    from airflow.utils.state import DagRunState, TaskInstanceState
    from airflow.utils.types import DagRunTriggeredByType, DagRunType

    from kafka_s3_airflow.page.folder import Folder
    from kafka_s3_airflow.page.remedies import late
    from kafka_s3_airflow.page.runs import find_facts

    name = f"c-{tmp_path.name}"
    write(tmp_path, "c.properties", name)
    DagBundlesManager().sync_bundles_to_db()
    sync_bag_to_db(bag_of(tmp_path, monkeypatch), "dags-folder", None)
    connectors = Folder(tmp_path).connectors()
    now = datetime.now(UTC)
    with create_session() as session:
        dag = SerializedDagModel.get_dag(name, session=session)
        assert dag is not None
        run = dag.create_dagrun(
            run_id="manual__1",
            logical_date=now,
            data_interval=(now - timedelta(hours=1), now),
            run_after=now,
            run_type=DagRunType.MANUAL,
            triggered_by=DagRunTriggeredByType.TEST,
            state=DagRunState.RUNNING,
            session=session,
        )
        [export] = [each for each in run.task_instances if each.task_id == "export"]
        export.state = TaskInstanceState.UP_FOR_RETRY
        export.try_number = 3
    facts = find_facts(connectors)[name]
    assert facts.at_work is not None
    assert (facts.at_work.run_id, facts.at_work.failing, facts.at_work.tries) == ("manual__1", "export", 3)
    assert "run manual__1 is failing: its task export failed 3 times, and waits to be tried again." in late(facts)
    with create_session() as session:
        session.merge(run).state = DagRunState.FAILED
    facts = find_facts(connectors)[name]
    assert (facts.at_work, facts.run and facts.run.state) == (None, "failed")


def test_silences_of_a_connector(airflow_db: None, tmp_path: Path) -> None:
    """Those that last, for it by name, by kind, or for all; nothing of what cannot be read."""
    from airflow.models.variable import Variable

    from kafka_s3_airflow.alarm_dag import SILENCES
    from kafka_s3_airflow.page.folder import Folder
    from kafka_s3_airflow.page.model import Silence
    from kafka_s3_airflow.page.runs import find_facts

    write(tmp_path, "a.properties", "a")
    write(tmp_path, "b.properties", "b")
    connectors = Folder(tmp_path).connectors()
    until = datetime(2999, 1, 1, tzinfo=UTC)
    at_ms = int(until.timestamp() * 1000)
    stored = {"a": until, "b:late": until, "*:kafka": until, "*": datetime(2020, 1, 1, tzinfo=UTC)}
    Variable.set(SILENCES, json.dumps({name: each.isoformat() for name, each in stored.items()}))
    try:
        found = find_facts(connectors)
        assert found["a"].silences == (Silence("kafka", at_ms), Silence(None, at_ms))
        assert found["b"].silences == (Silence("kafka", at_ms), Silence("late", at_ms))
        Variable.set(SILENCES, "soon")
        assert find_facts(connectors)["a"].silences == ()
    finally:
        Variable.delete(SILENCES)
