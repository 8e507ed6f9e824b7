"""How the operator reads a driver: by its events, never by their words."""

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from kafka_s3.events import (
    CommitWritten,
    Event,
    PartitionFailed,
    PlanOpened,
    PositionsAccepted,
    ProblemReported,
    RejectionsNoted,
    RunEnded,
    UnexpectedError,
    WindowCommitWritten,
    to_line,
)
from kafka_s3_airflow import driver_output
from kafka_s3_airflow.driver_output import REASON_LINES_MAX, DriverOutput

pytestmark = [pytest.mark.filterwarnings("ignore")]

OF_SPARK = (
    "26/11/21 09:00:00 WARN Utils: Your hostname resolves to a loopback address",
    "WARNING: Using incubator modules: jdk.incubator.vector",
    "Using Spark's default log4j profile: org/apache/spark/log4j2-defaults.properties",
    'Setting default log level to "WARN".',
    "To adjust logging level use sc.setLogLevel(newLevel).",
    "Picked up JAVA_TOOL_OPTIONS: -Dx=y",
)
PROGRESS = (PlanOpened(seq=1, offsets=10, ranges=1), CommitWritten(seq=1, records=3, rejected=0))
PUSHED = {"seq": 1, "records": 3, "bytes": 0, "objects": 0}
CONTEXT: Any = {
    "run_id": "run",
    "ti": SimpleNamespace(try_number=1, xcom_pull=lambda **_: None),
    "dag_run": SimpleNamespace(data_interval_start=None, data_interval_end=None, conf={}),
    "dag": SimpleNamespace(params={}),
    "params": {},
}


def lines(*told: Event | str) -> list[str]:
    return [f"{each if isinstance(each, str) else to_line(each)}\n" for each in told]


def followed(*told: Event | str) -> tuple[DriverOutput, list[str]]:
    output = DriverOutput()
    return output, [line.rstrip("\n") for line in output.read(lines(*told))]


def test_a_log_has_sentences_and_no_json() -> None:
    """Events are shown in their words, and everything else as it is, in the order in which it came."""
    trace = UnexpectedError(topic="t", partition=0, start=1, end=2, trace="KeyError at\n  task.py:3")
    _, shown = followed(OF_SPARK[0], PROGRESS[0], "  a line of Java", trace, RunEnded(exit_status=0))
    assert shown == [
        OF_SPARK[0],
        "plan 1: 10 offsets in 1 ranges",
        "  a line of Java",
        "t-0 [1, 2): KeyError at",
        "  task.py:3",
        "the run ended with exit status 0",
    ]


def test_the_reason_is_what_the_driver_reports() -> None:
    """Not what it says on its way, nor what Spark says: neither before nor after it."""
    output, _ = followed(
        *OF_SPARK,
        *PROGRESS,
        PartitionFailed(topic="t", partition=0, reason="no reason of the run"),
        PositionsAccepted(seq=2, reason="a loss"),
        ProblemReported(what="t-0 has a bad record."),
        RejectionsNoted(what="1 of 10 records were rejected."),
        CommitWritten(seq=3, records=1, rejected=0),
        'Exception in thread "Thread-2"',
        RunEnded(exit_status=65),
        'Exception in thread "main"',
    )
    assert (output.exit_status, output.reason) == (65, "t-0 has a bad record.\n1 of 10 records were rejected.")


def test_what_a_try_committed_is_its_xcom() -> None:
    """The newest entry and the counts of all, of the driver without Spark and of the one on Spark; else nothing."""
    from kafka_s3_airflow.driver_output import committed

    small, _ = followed(CommitWritten(seq=3, records=5, rejected=1, bytes=50, objects=2))
    large, _ = followed(
        CommitWritten(seq=4, records=7, rejected=0, bytes=70, objects=1),
        WindowCommitWritten(seq=5, window="w", records=8, bytes=80, objects=4),
    )
    assert committed(small, large) == {"seq": 5, "records": 20, "bytes": 200, "objects": 7}
    assert committed(followed(RunEnded(exit_status=0))[0]) is None


def test_a_driver_that_dies_is_explained_by_its_last_lines() -> None:
    """Java could not start, or a bug ended Python: what was said since the last event, without Spark's own lines."""
    trace = ["Traceback (most recent call last):", "KeyError: 1"]
    output, _ = followed("before", *PROGRESS, *OF_SPARK, *trace, OF_SPARK[0])
    assert (output.exit_status, output.reason) == (None, "\n".join(trace))
    output, _ = followed(*OF_SPARK, "Error: Could not find or load main class x")
    assert output.reason == "Error: Could not find or load main class x"


def test_lines_of_a_later_driver_are_shown_as_they_are() -> None:
    """An event that this release does not know, or a version: it fails nothing."""
    later = '{"kafka_s3": 2, "event": "run_ended", "exit_status": 65}'
    output, shown = followed(later)
    assert (shown, output.exit_status) == ([later], None)


def test_a_reason_has_an_end() -> None:
    """Of a configuration with very many problems the first are said, and how many more there are."""
    output, _ = followed(ProblemReported(what="\n".join(f"problem {n}" for n in range(100))), RunEnded(exit_status=78))
    said = output.reason.split("\n")
    assert (len(said), said[0], said[-1]) == (
        REASON_LINES_MAX + 1, "problem 0", f"and {100 - REASON_LINES_MAX} more lines: see the log above"
    )  # fmt: skip


Submit = Callable[..., Any]


def write_submit(folder: Path, *told: Event | str, ends: str) -> None:
    """A spark-submit in `bin` that prints lines and ends with a status."""
    output = "".join(lines(*told))
    code = f"import os, sys\nassert '--events=json' in sys.argv\nsys.stdout.write({output!r})\nsys.stdout.flush()\n"
    program = folder / "bin" / "spark-submit"
    program.write_text(f"#!{sys.executable} -S\n{code}{ends}\n")
    program.chmod(0o755)


@pytest.fixture
def submit(airflow_db: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Submit:
    """Runs the operator over a spark-submit that prints lines and ends with a status."""
    from kafka_s3_airflow.operators import ExportOperator

    connector = tmp_path / "orders.properties"
    connector.write_text(
        "name=orders\ntopics=orders\ns3.bucket.name=archive\ns3.region=us-east-1\nflush.size=100\n"
        "export.spark.records.min=0\n"
        "storage.class=io.confluent.connect.s3.storage.S3Storage\n"
        "format.class=io.confluent.connect.s3.format.json.JsonFormat\n"
        "value.converter=org.apache.kafka.connect.json.JsonConverter\nvalue.converter.schemas.enable=false\n"
        "consumer.override.bootstrap.servers=127.0.0.1:1\n"
    )
    (tmp_path / "bin").mkdir()
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path / "tmp"))
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": "local[2]"}))

    def run(*told: Event | str, ends: str = "sys.exit(0)") -> Any:
        write_submit(tmp_path, *told, ends=ends)
        return ExportOperator(task_id="export", connector=str(connector)).execute(CONTEXT)

    return run


WRONG = ProblemReported(what="It is wrong.")


def test_a_driver_that_is_done_is_a_success(submit: Submit) -> None:
    """Whatever Spark said on the way."""
    assert submit(OF_SPARK[0], *PROGRESS, RunEnded(exit_status=0)) == PUSHED


@pytest.mark.parametrize(
    ("status", "kind"),
    [(65, AirflowFailException), (78, AirflowFailException), (75, AirflowException), (1, AirflowException)],
)
def test_an_exit_status_says_whether_to_retry(submit: Submit, status: int, kind: type[Exception]) -> None:
    """By the last event, also where Spark makes another status of it, or none."""
    for of_spark in (status, 1, 0):
        with pytest.raises(AirflowException, match=r"It is wrong\.") as failed:
            submit(*PROGRESS, WRONG, RunEnded(exit_status=status), ends=f"sys.exit({of_spark})")
        assert type(failed.value) is kind


def test_without_a_last_event_the_process_decides(submit: Submit) -> None:
    """A driver that could not say how it ended: its exit status, or the signal that killed it."""
    with pytest.raises(AirflowFailException, match=r"^Java is missing\.$"):
        submit("Java is missing.", ends="sys.exit(78)")
    with pytest.raises(AirflowException, match=r"exit status -9\. It is wrong\.") as failed:
        submit(*PROGRESS, WRONG, ends="os.kill(os.getpid(), 9)")
    assert type(failed.value) is AirflowException
    with pytest.raises(AirflowException, match=r"exit status 1\."):
        submit(RunEnded(exit_status=0), ends="sys.exit(1)")


def test_words_change_nothing(submit: Submit, monkeypatch: pytest.MonkeyPatch) -> None:
    """With each sentence reduced to one letter the operator decides the same, and gives the same reason."""
    monkeypatch.setattr(driver_output, "sentence", lambda _: "x")
    assert submit(*PROGRESS, RunEnded(exit_status=0)) == PUSHED
    with pytest.raises(AirflowFailException, match=r"^It is wrong\.$"):
        submit(*PROGRESS, PartitionFailed(topic="t", partition=0, reason="r"), WRONG, RunEnded(exit_status=65))
    with pytest.raises(AirflowException, match=re.escape("exit status 75. It is wrong.")):
        submit(*PROGRESS, WRONG, *PROGRESS, RunEnded(exit_status=75), ends="sys.exit(75)")
