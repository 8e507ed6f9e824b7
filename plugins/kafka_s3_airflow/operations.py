"""A connector's DAG `<connector>__operations`: what else a person does to an export, as runs with parameters.

One run is one operation: positions set back, losses accepted, dead letters sent again. So Airflow's history has who did
what and when, and Airflow's permissions say who may.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from airflow.sdk import DAG, Param, get_current_context, task
from airflow.sdk.exceptions import AirflowFailException

from kafka_s3.settings import Outline
from kafka_s3.settings.validators import OPERATIONS_SUFFIX
from kafka_s3_airflow.operation_request import ACCEPT, OPERATIONS, REDRIVE, REWIND, OperationRequest, parse
from kafka_s3_airflow.tasks import for_airflow, tell_to

if TYPE_CHECKING:
    from kafka_s3.dead_letters.redrive import Redriven
    from kafka_s3.plan.batch import RunRequest
    from kafka_s3.rewind.rewind import Found, FoundLosses
    from kafka_s3.settings.model import Settings

log = logging.getLogger(__name__)

OPERATIONS_TAG: Final = "kafka-s3-operations"


def operations_id(connector: str) -> str:
    """No connector's name may end like this, so that no two DAGs have one id."""
    return f"{connector}{OPERATIONS_SUFFIX}"


def operations_dag(
    connector: str, path: Path, known: Outline, *, start: datetime, default_args: Mapping[str, Any]
) -> DAG | None:
    """The DAG of one task, or `None`: the connector wants none. Nothing is tried again but by a person."""
    if not known.has_operations:
        return None
    with DAG(
        operations_id(connector),
        schedule=None,
        start_date=start,
        catchup=False,
        max_active_runs=1,
        is_paused_upon_creation=False,  # it has no schedule, and a run by hand would wait
        auto_register=False,
        tags=["kafka-s3", OPERATIONS_TAG, *known.tags],
        description=f"Rewinds {connector}, accepts losses, or sends its dead letters again, on request.",
        params=_params(connector),
        doc_md=_document(connector),
        default_args={**default_args, "retries": 0},
    ) as dag:
        task(task_id="operate")(operate)(str(path))
    dag.validate()  # type: ignore[no-untyped-call]
    return dag


def _params(connector: str) -> dict[str, Param]:
    """The trigger form: few and plain, since Airflow checks their schemas whenever it reads the DAG, which is most of
    what that costs. Without a default of `operation` it refuses a run that does not say which."""
    return {
        "operation": Param(
            type="string",
            enum=list(OPERATIONS),
            title="Operation",
            description=f"{REWIND}: export offsets again. {ACCEPT}: go on in spite of what Kafka lost. {REDRIVE}: send"
            " dead letters back to Kafka.",
        ),
        "confirm": Param(
            "",
            type="string",
            title="Confirmation",
            description=f"Write {connector}: {REWIND} and {ACCEPT} do nothing without.",
        ),
        "seen": Param(
            None,
            type=["integer", "null"],
            minimum=0,
            title="Newest log entry",
            description=f"As it was when you decided: {REWIND} and {ACCEPT} do nothing if there is a newer one.",
        ),
        "dry_run": Param(False, type="boolean", title="Only say what it would do"),
        "partitions": Param(
            [],
            type="array",
            items={"type": "string"},
            title="Partitions",
            description=f"{REWIND}: TOPIC-PARTITION=OFFSET, like orders-0=1200. {ACCEPT}: topics, or partitions like"
            " orders-0, that status shows as left out.",
        ),
        "letters": Param(
            {},
            type="object",
            title="Dead letters",
            description=f"{REDRIVE}: which, all unless set, and how:"
            ' {"topic": "orders", "partition": 0, "offsets": "17-42", "since": TIME, "until": TIME, "stage":'
            ' "VALUE_CONVERTER", "error": "a part of the reason", "to": "another topic", "again": true,'
            ' "keep_timestamps": true}',
        ),
    }


def operate(connector: str) -> dict[str, Any]:
    """Do what the run's parameters ask for; what came of it."""
    context = get_current_context()
    unknown = sorted({str(name) for name in context["dag_run"].conf or ()} - set(context["dag"].params))
    if unknown:
        raise AirflowFailException(f"The run's configuration sets {', '.join(unknown)}, which is no parameter.")
    with for_airflow():
        from kafka_s3.plan.batch import RunRequest
        from kafka_s3_airflow.connections import load_connector

        asked = parse(context["params"])
        settings = load_connector(Path(connector)).settings
        asked.check_confirmed(settings.name)
        request = RunRequest(context["run_id"], context["ti"].try_number, None, int(time.time() * 1000))
        return {REWIND: _rewind, ACCEPT: _accept, REDRIVE: _redrive}[asked.operation](settings, asked, request)


def _rewind(settings: Settings, asked: OperationRequest, request: RunRequest) -> dict[str, Any]:
    from kafka_s3.rewind.rewind import look, rewind
    from kafka_s3.wiring import make_exporter

    exporter = make_exporter(settings)
    found = look(exporter, asked.targets, seen=asked.seen)
    _say(told_of_rewind(found))
    if asked.dry_run:
        return {"seq": None}
    entry = rewind(exporter, found, request).entry
    log.info("Written as log entry %s. The next run exports these offsets again.", entry.seq)
    return {"seq": entry.seq}


def _accept(settings: Settings, asked: OperationRequest, request: RunRequest) -> dict[str, Any]:
    from kafka_s3.rewind.rewind import accept_found, look_at_losses
    from kafka_s3.wiring import make_exporter

    found = look_at_losses(make_exporter(settings), asked.accepted, seen=asked.seen)
    _say(told_of_accepting(found))
    if asked.dry_run:
        return {"seq": None}
    entry = accept_found(found, request, tell_to(log.info)).entry
    log.info("Written as log entry %s. The next run goes on with these partitions.", entry.seq)
    return {"seq": entry.seq}


def _redrive(settings: Settings, asked: OperationRequest, request: RunRequest) -> dict[str, Any]:
    from kafka_s3.dead_letters.redrive import redrive
    from kafka_s3.wiring import make_log, make_redrive_sink

    with contextlib.ExitStack() as left:
        sink = None
        if not asked.dry_run:
            made = make_redrive_sink(settings, asked.to, keep_timestamps=asked.keep_timestamps)
            sink = left.enter_context(contextlib.closing(made))
        done = redrive(
            make_log(settings),
            asked.wanted,
            exports=settings.exports,
            to=asked.to,
            again=asked.again,
            sink=sink,
            at_ms=request.now_ms,
            tell=tell_to(log.info),
        )
    _say(told_of_redrive(done, dry_run=asked.dry_run))
    if done.foreign or not done.matched:
        raise AirflowFailException("No dead letter was sent." if not done.sent else "Not all were sent: see above.")
    return {"sent": done.sent, "sent_before": done.before, "dry_run": asked.dry_run}


# In words, for a task's log and for the page.


def told_of_rewind(found: Found) -> list[str]:
    """What a rewind would do."""
    told = [
        f"{move.tp} is exported again from offset {move.position} on (now {move.before}): {move.records:,} records in"
        f" {len(move.keys):,} objects are withdrawn."
        + (f" Asked for was {move.asked}; a committed range begins there." if move.position != move.asked else "")
        for move in found.moves
    ]
    return [*told, *_told_of_plan(found.closes)]


def told_of_accepting(found: FoundLosses) -> list[str]:
    """What accepting would do."""
    told = [f"{each} Its export goes on at offset {each.resume}." for each in found.accepted]
    return [*told, *_told_of_plan(found.closes)]


def _told_of_plan(closes: Any) -> list[str]:
    if closes is None:
        return []
    plan = closes.plan
    told = f"Plan {plan.seq} of run {plan.run.run_id} is open: it is abandoned."
    return [f"{told} A run that is executing it stops without committing."]


def told_of_redrive(done: Redriven, *, dry_run: bool) -> list[str]:
    """What was sent, or would be."""
    said = "would be sent" if dry_run else "sent"
    told = [f"{letters:,} dead letters {said} to {topic}." for topic, letters in sorted(done.sent.items())]
    if done.before:
        told.append(f"{done.before:,} were sent there before: `again` sends them again.")
    told += [
        f"Dead letters of topic {topic} are left alone: the connector does not export it. Name it in `topic`, or"
        " another one in `to`."
        for topic in sorted(done.foreign)
    ]
    return told if done.matched or done.foreign else ["No dead letter is like that."]


def _say(told: Iterable[str]) -> None:
    from kafka_s3.shown import printable

    for each in told:
        log.info("%s", printable(each))


def _document(connector: str) -> str:
    return (
        f"What else is done to the export of `{connector}`, one operation a run, each by hand:\n\n"
        f"- `{REWIND}`: partitions go back, and their offsets are exported again. What was exported from there on is"
        " withdrawn; nothing is deleted. As `kafka-s3 rewind --to`.\n"
        f"- `{ACCEPT}`: partitions go on in spite of what Kafka lost, once. As `kafka-s3 rewind --accept`.\n"
        f"- `{REDRIVE}`: dead letters go back to their topic, or to another. As `kafka-s3 redrive`.\n\n"
        "The page *Kafka to S3* shows what an operation would do before it starts one. Whoever may trigger this DAG may"
        " do all of it: `export.operations.enable=false` takes it away.\n"
    )
