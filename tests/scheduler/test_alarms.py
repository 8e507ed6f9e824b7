"""Alarms under a real scheduler: told when they begin and when they end, with what to do and the page's address."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.scheduler.harness import ENDED, Api, until
from tools.parts.airflow import Airflow
from tools.parts.kafka import KafkaBroker
from tools.parts.s3 import MotoServer
from tools.showcase import HOUR_MS, Showcase

pytestmark = [pytest.mark.scheduler, pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(900)]

#: A notifier is whatever is called with a task's context; this one keeps what Slack would get.
DAGS = """
import json, os
from datetime import timedelta
from pathlib import Path
from kafka_s3_airflow import dags_of
from kafka_s3_airflow.alarm_dag import alarms_dag
from kafka_s3_airflow.alarms import Bounds

def tell(context):
    notice = context["alarm"]
    with open(os.environ["TOLD"], "a") as file:
        file.write(json.dumps([notice.message, notice.is_resolved]) + "\\n")

connectors = os.environ["KAFKA_S3_CONNECTORS"]
globals().update(dags_of(connectors))
alarms = alarms_dag(connectors, Bounds(overdue_max=timedelta(hours=1)), notifiers=tell, default_args={"retries": 0})
"""


def ended(api: Api, dag_id: str, run_id: str) -> str:
    """How a run by hand ended."""
    path = f"/dags/{dag_id}/dagRuns"
    api.send("POST", f"/api/v2{path}", {"dag_run_id": run_id, "logical_date": None})

    def look() -> str | None:
        state = api.get(f"{path}/{run_id}")["state"]
        return str(state) if state in ENDED else None

    return until(f"{run_id} of {dag_id} ended", look)


def test_an_alarm_begins_and_ends(kafka: KafkaBroker, moto: MotoServer, tmp_path: Path) -> None:
    """A connector is late: the look fails and tells it once. Its run exports: the next look is well and says so."""
    (tmp_path / "connectors").mkdir()
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "exports.py").write_text(DAGS)
    told_to = tmp_path / "told"
    show = Showcase(tmp_path / "connectors", kafka, moto)
    show.connector("alarmed", {"s3.bucket.name": "bucket-of-alarmed"})
    show.produce("alarmed", 0, [b"{}"] * 3, int(time.time() * 1000) - 3 * HOUR_MS)
    assert show.export("alarmed", "by-hand", until_ms=(int(time.time()) // 3600 - 4) * HOUR_MS) == 0
    more = {"AIRFLOW__CORE__DAGS_FOLDER": str(tmp_path / "dags"), "TOLD": str(told_to)}

    def told() -> list[Any]:
        return [json.loads(line) for line in told_to.read_text().splitlines()] if told_to.exists() else []

    with Airflow(show.environment(tmp_path / "airflow", more), triggerer=False) as airflow:
        api = Api(airflow)
        wanted = {"alarmed", "kafka_s3_alarms"}
        until("both are parsed", lambda: {each["dag_id"] for each in api.get("/dags", limit=100)["dags"]} >= wanted)
        api.send("PATCH", "/api/v2/dags/kafka_s3_alarms", {"is_paused": False})
        assert ended(api, "kafka_s3_alarms", "one") == "failed"
        [[message, resolved]] = told()
        assert message.startswith("alarmed: late: a run that was due ")
        assert not resolved
        assert f"{airflow.url}/" in message
        assert ended(api, "kafka_s3_alarms", "two") == "failed"
        assert len(told()) == 1
        api.send("PATCH", "/api/v2/dags/alarmed", {"is_paused": False})
        until(
            "the late records are exported",
            lambda: show.log("alarmed").newest().entry.topics["alarmed"].positions[0] == 3,
        )
        assert ended(api, "kafka_s3_alarms", "three") == "success"
        [[message, resolved]] = told()[1:]
        assert message.startswith("alarmed: late: RESOLVED, was: a run that was due ")
        assert resolved
