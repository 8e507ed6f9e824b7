"""Connector files to DAGs. A file that is wrong becomes a DAG that says so, and touches no other.

Airflow marks every DAG of a file stale when one of them is invalid, and loses one of two with the same id without a
word: neither an exception nor an invalid DAG nor a duplicate id may leave this module.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from airflow.sdk import DAG, CronDataIntervalTimetable, Param, TriggerRule, get_parsing_context, task

from kafka_s3.errors import Problem
from kafka_s3.settings import Outline, outline
from kafka_s3_airflow import tasks
from kafka_s3_airflow.operators import ExportOperator
from kafka_s3_airflow.schedules import MidnightTimetable, is_known_to_airflow, spoken, timetable_of

WORKER_FILE: Final = "worker.properties"
SUFFIXES: Final = (".properties", ".json")
START: Final = datetime(2020, 1, 1, tzinfo=UTC)

_UNTIL: Final = (
    "interval: the records before the end of the run's data interval. "
    "now: whatever can be read when the run is planned, the current interval's records included."
)


@dataclass(frozen=True, slots=True)
class Connector:
    """A connector file, the id of its DAG, and everything wrong with it."""

    path: Path
    dag_id: str
    outline: Outline | None
    problems: tuple[str, ...]


def dags_of(folder: Path, environment: Mapping[str, str] = os.environ) -> dict[str, DAG]:
    """The DAG of every connector file in a folder, by DAG id; if Airflow asks for one of them, only that one."""
    wanted = get_parsing_context().dag_id
    connectors = connectors_in(folder)
    return {each.dag_id: _dag_of(each, environment) for each in connectors if wanted in (None, each.dag_id)}


def connectors_in(folder: Path) -> list[Connector]:
    """The connectors of a folder, in the order of their file names, each with a DAG id of its own."""
    try:
        paths = sorted(path for path in folder.iterdir() if _is_connector(path))
    except OSError as error:
        problem = f"The connectors folder {folder} cannot be read: {error.strerror or type(error).__name__}."
        return [Connector(folder, "connectors", None, (f"{problem} KAFKA_S3_CONNECTORS names another one.",))]
    known = [_look_at(path) for path in paths]
    # A name that two files claim belongs to neither: which of them owns the log is for their author to say.
    names = Counter(each.name for each in known if isinstance(each, Outline) and not each.problems)
    problems = [_problems(each, names) for each in known]
    ids: dict[Path, str] = {}
    for path, each, wrong in sorted(zip(paths, known, problems, strict=True), key=lambda item: bool(item[2])):
        ids[path] = _free_id(path, each, frozenset(ids.values())) if wrong else _name(each)
    return [
        Connector(path, ids[path], each if isinstance(each, Outline) else None, wrong)
        for path, each, wrong in zip(paths, known, problems, strict=True)
    ]


def _is_connector(path: Path) -> bool:
    return path.suffix in SUFFIXES and path.name != WORKER_FILE and not path.name.startswith(".") and path.is_file()


def _look_at(path: Path) -> Outline | Exception:
    try:
        return outline(path)
    # One connector's accident, whatever it is, must not take the other DAGs of the file with it.
    except Exception as error:
        return error


def _problems(known: Outline | Exception, names: Counter[str]) -> tuple[str, ...]:
    if isinstance(known, Exception):
        return (f"{type(known).__name__}: {known}",)
    problems = [str(problem) for problem in known.problems]
    if not problems and names[known.name] > 1:
        others = f"{names[known.name]} files have this name: each connector needs its own, for its DAG and its log"
        problems.append(str(Problem("name", known.name, others)))
    return tuple(problems)


def _name(known: Outline | Exception) -> str:
    return known.name if isinstance(known, Outline) else ""


def _free_id(path: Path, known: Outline | Exception, taken: frozenset[str]) -> str:
    """The connector's name if it is legal and free, else the stem of its file, made legal and numbered."""
    name = _name(known)
    if re.fullmatch(r"[A-Za-z0-9_.-]{1,250}", name) and name not in taken:
        return name
    stem = re.sub(r"[^A-Za-z0-9_.-]", "_", path.stem)[:240] or "connector"
    numbered = (stem if number == 1 else f"{stem}-{number}" for number in range(1, len(taken) + 2))
    return next(candidate for candidate in numbered if candidate not in taken)


def _dag_of(connector: Connector, environment: Mapping[str, str]) -> DAG:
    if connector.problems or connector.outline is None:
        return broken(connector, connector.problems)
    try:
        return _build(connector, connector.outline, environment)
    # Whatever Airflow refuses about one DAG must not take the other DAGs of the file with it.
    except Exception as error:
        return broken(connector, (str(error) or type(error).__name__,))


def _build(connector: Connector, known: Outline, environment: Mapping[str, str]) -> DAG:
    timetable = timetable_of(known.schedule)
    if not is_known_to_airflow(timetable):
        message = (
            "its schedule is a timetable of the plugin kafka_s3, which Airflow has not loaded: install the package"
            " kafka-s3 in Airflow's environment, or set [core] plugins_folder to the project's plugins/. An interval"
            " that divides an hour into minutes or a day into hours works without"
        )
        raise ValueError(Problem("rotate.schedule.interval.ms", str(known.schedule.interval_ms), message))
    dag = _three_tasks(
        connector,
        schedule=timetable,
        tags=["kafka-s3"],
        doc_md=_document(connector, known),
        default_args=_retries(environment),
    )
    dag.validate()  # type: ignore[no-untyped-call]
    return dag


def broken(connector: Connector, problems: Sequence[str]) -> DAG:
    """A DAG whose `plan` fails at once with everything that is wrong with its connector; hourly, so that it shows."""
    listed = "\n".join(f"  {problem}" for problem in problems)
    message = f"{connector.path} is not a connector that can run:\n{listed}"
    return _three_tasks(
        connector,
        schedule=CronDataIntervalTimetable("0 * * * *", "UTC"),
        tags=["kafka-s3", "broken"],
        doc_md=f"**This connector cannot run.** `{connector.path.name}`:\n\n```\n{listed}\n```\n",
        default_args={"retries": 0},
        problems=message,
    )


def _three_tasks(
    connector: Connector,
    *,
    schedule: CronDataIntervalTimetable | MidnightTimetable,
    problems: str | None = None,
    **arguments: Any,
) -> DAG:
    path = str(connector.path)
    with DAG(
        connector.dag_id,
        schedule=schedule,
        start_date=START,
        catchup=False,
        max_active_runs=1,
        auto_register=False,  # or Airflow would also take what fails to build below, beside its replacement
        params={"until": Param("interval", type="string", enum=["interval", "now"], description=_UNTIL)},
        **arguments,
    ) as dag:
        # Only `export` is skipped when nothing is new; `complete` has a trigger rule of its own.
        if problems is None:
            plan = task.short_circuit(
                task_id="plan",
                ignore_downstream_trigger_rules=False,
                outlets=[tasks.asset_of(connector.dag_id)],
                on_success_callback=tasks.mark_announced,
            )(tasks.plan)(path)
        else:
            plan = task(task_id="plan")(tasks.refuse)(problems)
        # Scheduled, manual and backfill runs are kept apart here: a backfill has its own max_active_runs.
        export = ExportOperator(task_id="export", connector=path, max_active_tis_per_dag=1)
        complete = task(
            task_id="complete",
            trigger_rule=TriggerRule.ALL_DONE,
            outlets=[tasks.asset_of(connector.dag_id)],
            on_success_callback=tasks.mark_announced,
        )(tasks.complete)(path)
        plan >> export >> complete
    return dag


def _retries(environment: Mapping[str, str]) -> dict[str, Any]:
    """Minutes apart, since an outage lasts minutes; the job's own retries are seconds apart."""
    return {
        "retries": _number(environment, "KAFKA_S3_RETRIES", 5),
        "retry_delay": timedelta(seconds=_number(environment, "KAFKA_S3_RETRY_DELAY_S", 120)),
        "retry_exponential_backoff": 2.0,  # a factor: True would be 1.0, a constant delay
        "max_retry_delay": timedelta(hours=1),
    }


def _number(environment: Mapping[str, str], name: str, default: int) -> int:
    text = environment.get(name, str(default))
    if not re.fullmatch(r"[0-9]{1,6}", text):
        raise ValueError(f"The environment variable {name}={text} is not a whole number from 0 to 999999.")
    return int(text)


def _document(connector: Connector, known: Outline) -> str:
    topics = ", ".join(f"`{topic}`" for topic in known.topics) or f"all that match `{known.topics_regex}`"
    return (
        f"Exports Kafka topics to S3, exactly once, as `{connector.path.name}` says.\n\n"
        f"- Topics: {topics}\n"
        f"- Runs {spoken(known.schedule)}\n"
        f"- Connections: `{known.kafka_conn_id}`, `{known.aws_conn_id}`, `spark_default`\n\n"
        "`plan` writes down which offsets the run exports, `export` exports them with Spark (skipped if nothing is"
        " new), `complete` announces what was committed as events of an asset.\n"
    )
