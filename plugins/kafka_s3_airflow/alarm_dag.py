"""The DAG of alarms: one task looks at all connectors of a folder, fails with what is wrong, and tells what is new."""

from __future__ import annotations

import copy
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from airflow.sdk import DAG, CronTriggerTimetable, Variable, get_current_context, task
from airflow.sdk.configuration import conf

from kafka_s3_airflow.alarm_looks import Looked, look_at_all
from kafka_s3_airflow.alarm_notices import (
    Comparison,
    Known,
    Notice,
    Silences,
    compare,
    known_of,
    page_link,
    run_link,
    stored_of,
)
from kafka_s3_airflow.alarms import Alarm, AlarmKind, Bounds
from kafka_s3_airflow.verification import verify_id

if TYPE_CHECKING:
    from airflow.sdk import Context

    from kafka_s3_airflow.dags import Connector

log = logging.getLogger(__name__)

#: Whatever is called with a task's context: a notifier of one of Airflow's providers, or a function.
Notifier = Callable[..., Any]

DAG_ID: Final = "kafka_s3_alarms"
#: The Airflow variable that silences alarms for a time.
SILENCES: Final = "kafka_s3_alarms_silenced"
KNOWN: Final = "known"  # the XCom that the next run reads
START: Final = datetime(2020, 1, 1, tzinfo=UTC)
#: Above what the looks may take where a thousand connectors hang: two of them never run at once.
TIME_MAX: Final = timedelta(hours=1)


def alarms_dag(
    folder: str | os.PathLike[str],
    bounds: Bounds = Bounds(),  # noqa: B008  # frozen
    *,
    connector_bounds: Mapping[str, Bounds] | None = None,
    notifiers: Notifier | Sequence[Notifier] = (),
    dag_id: str = DAG_ID,
    schedule: str = "*/10 * * * *",
    default_args: Mapping[str, Any] | None = None,
) -> DAG:
    """A DAG whose one task looks at every connector of a folder, and fails as long as there is an alarm.

    `bounds`: what is still in order; `connector_bounds`: instead of them, for one connector, by its name. `notifiers`
    are told each alarm that is new and each that is over, once; their templates have it as `alarm`
    (`kafka_s3_airflow.alarm_notices.Notice`). `default_args`: Airflow's arguments of the task.
    """
    told = tuple(notifiers) if isinstance(notifiers, Sequence) else (notifiers,)
    own_bounds = dict(connector_bounds or {})
    with DAG(
        dag_id,
        schedule=CronTriggerTimetable(schedule, timezone="UTC"),
        start_date=START,
        catchup=False,
        max_active_runs=1,
        tags=["kafka-s3"],
        doc_md=__doc__,
        # A finding fails at once. The retry is for a worker that dies, or an api-server that is away.
        default_args={"retries": 1, "retry_delay": timedelta(minutes=1), "execution_timeout": TIME_MAX}
        | dict(default_args or {}),
    ) as dag:
        # Not arguments of the task: Airflow would store notifiers as texts, with their addresses in memory.
        @task(task_id="alarms")
        def look_and_tell() -> None:
            _look_and_tell(Path(folder), bounds, own_bounds, told)

        look_and_tell()
    return dag


def _look_and_tell(
    folder: Path, bounds: Bounds, own_bounds: Mapping[str, Bounds], notifiers: Sequence[Notifier]
) -> None:
    from kafka_s3_airflow.dags import connectors_in

    context, now = get_current_context(), datetime.now(UTC)
    connectors = connectors_in(folder)
    looks = look_at_all(connectors, lambda name: own_bounds.get(name, bounds))
    base_url = conf.get("api", "base_url", fallback="") or ""
    links = {(name, kind): page_link(base_url, name) for name in looks for kind in AlarmKind} if base_url else {}
    for dag_id, subject, kind in _runs_asked(connectors):
        run_id = _failed_run(dag_id, now)
        looks[subject] = looks.get(subject, Looked()).with_alarm(kind, run_id and _failed_text(dag_id, run_id, kind))
        if base_url and run_id:
            links[subject, kind] = run_link(base_url, dag_id, run_id)
    silences = Silences.parse(Variable.get(SILENCES, default=None))
    for name in own_bounds.keys() - looks.keys():
        text = f"bounds are set for it, but {folder} has no connector of this name: correct the name in the DAG."
        looks[name] = Looked().with_alarm(AlarmKind.BROKEN, text)
    unread = silences.problem and f"Airflow's variable {SILENCES} cannot be read: {silences.problem} Correct it."
    looks[context["ti"].dag_id] = Looked().with_alarm(AlarmKind.SILENCES, unread)
    is_whole = all(each.path != folder for each in connectors)  # one that is the folder says that it cannot be read
    stored = context["ti"].xcom_pull(key=KNOWN, map_indexes=-1, include_prior_dates=True)
    compared = compare(looks, known_of(stored), silences, now, links, is_whole=is_whole)
    for each in compared.silent:
        log.warning("silenced: %s", each.message)
    untold = _tell(context, compared, notifiers)
    log.info("%s connectors, %s alarms, %s silenced", len(connectors), len(compared.alarming), len(compared.silent))
    if compared.alarming or untold:
        raise Alarm("\n".join([*(each.message for each in compared.alarming), *untold]))


def _tell(context: Context, compared: Comparison, notifiers: Sequence[Notifier]) -> list[str]:
    """Tell what is new and what is over, and remember what was told; what could not be told is told by the next look.

    Returns what went wrong.
    """
    known = dict(compared.kept)
    wrong = []
    try:
        for each in (*compared.new, *compared.resolved):
            log.warning("%s", each.message)
            problems = [problem for notifier in notifiers if (problem := _notify(context, notifier, each)) is not None]
            wrong += problems
            if problems:
                continue
            if each.is_resolved:
                del known[each.key]
            else:
                known[each.key] = Known(each.text)
    finally:  # a timeout of the task too: what was told is told
        context["ti"].xcom_push(key=KNOWN, value=stored_of(known))
    return wrong


def _notify(context: Context, notifier: Notifier, notice: Notice) -> str | None:
    """Call a notifier, as Airflow calls it; why that failed. A notifier's templates are rendered in place: a copy's."""
    try:
        copy.copy(notifier)({**context, "alarm": notice, "exception": notice.message})
    # One that fails must not keep the others from being told. Its error may show a URL that is a secret; what Airflow
    # lets a task log of it, its own notifiers have logged.
    except Exception as error:
        name = getattr(notifier, "__name__", type(notifier).__name__)
        return (
            f"{notice.key} was not told by the notifier {name} ({type(error).__name__}): correct its connection."
            " The next look tries again, with all notifiers."
        )
    return None


def _runs_asked(connectors: Sequence[Connector]) -> list[tuple[str, str, AlarmKind]]:
    """DAGs, whom their alarm is about, and its kind. The run of a group is asked for once."""
    well = [each for each in connectors if not each.problems and each.outline is not None]
    exports = dict.fromkeys((each.runs_in, each.runs_in, AlarmKind.FAILED) for each in well)
    verified = [each for each in well if each.outline is not None and each.outline.verify_schedule is not None]
    return [*exports, *((verify_id(each.dag_id), each.dag_id, AlarmKind.VERIFY) for each in verified)]


def _failed_run(dag_id: str, now: datetime) -> str | None:
    """The id of a DAG's newest ended run, if that failed. A run without a logical date Airflow does not tell of."""
    failed = _newest(dag_id, "failed", now)
    if failed is None:
        return None
    succeeded = _newest(dag_id, "success", now)
    # A run by hand has a later date than a scheduled one that ends after it.
    is_newer = succeeded is None or (failed.end_date or now) > (succeeded.end_date or now)
    return str(failed.run_id) if is_newer else None


def _newest(dag_id: str, state: str, now: datetime) -> Any:
    """Airflow lets a task ask for the run before a date, of any DAG, but has no public function for another's."""
    from airflow.sdk.execution_time import task_runner
    from airflow.sdk.execution_time.comms import GetPreviousDagRun

    asked = GetPreviousDagRun(dag_id=dag_id, logical_date=now, state=state)
    return getattr(task_runner.SUPERVISOR_COMMS.send(asked), "dag_run", None)


def _failed_text(dag_id: str, run_id: str, kind: AlarmKind) -> str:
    if kind is AlarmKind.VERIFY:
        return f"its newest verification, run {run_id} of {dag_id}, failed: the log of its task says what is wrong."
    return (
        f"the newest run of {dag_id}, {run_id}, failed: the log of its failed task says why. Once that is corrected,"
        " clear the run or start another."
    )
