"""What the operator makes of a driver without Spark: a program in its place that prints events and ends somehow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from kafka_s3.events import Event, ProblemReported, RunEnded, SparkNeeded
from tests.airflow import test_driver_output
from tests.airflow.test_driver_output import CONTEXT, WRONG, lines

submit = test_driver_output.submit
pytestmark = pytest.mark.filterwarnings("ignore")
Run = Callable[..., Any]


@pytest.fixture
def run(submit: Any, tmp_path: Path) -> Run:
    """Runs the operator: first the driver, which prints and goes on with some code, then `spark`, what Spark's says."""
    from kafka_s3_airflow.operators import ExportOperator

    def executed(*told: Event | str, code: str = "", spark: tuple[Event | str, ...] | None = None) -> Any:
        connector, started = tmp_path / "orders.properties", tmp_path / "started"
        connector.write_text(connector.read_text().replace("export.spark.records.min=0\n", ""))
        ends = "sys.exit(0)" if spark is not None else f"open({str(started)!r}, 'w')"
        test_driver_output.write_submit(tmp_path, *(spark or ()), ends=ends)
        driver = tmp_path / "driver.py"
        output = "".join(lines(*told))
        driver.write_text(
            f"import subprocess, sys\nassert '--without-spark' in sys.argv\nsys.stdout.write({output!r})\n"
            f"sys.stdout.flush()\n{code}\n"
        )
        operator = ExportOperator(task_id="export", connector=str(connector))
        operator.application = str(driver)
        try:
            return operator.execute(CONTEXT)
        finally:
            assert not started.exists(), "no Spark is started"

    return executed


def test_a_driver_that_is_done_needs_no_spark(run: Run) -> None:
    """By its last event, and only by that."""
    assert run(RunEnded(exit_status=0)) is None
    with pytest.raises(AirflowFailException, match=r"It is wrong\."):
        run(WRONG, RunEnded(exit_status=65))


def test_a_driver_that_does_not_say_how_it_ended(run: Run) -> None:
    """It has failed, whatever its exit status: a class of the user's own may have ended it."""
    with pytest.raises(AirflowException, match="exit status 1"):
        run("something else", code="sys.exit(0)")
    with pytest.raises(AirflowException, match="exit status -9"):
        run(code="import os; os.kill(os.getpid(), 9)")


def test_spark_goes_on_where_a_plan_is_large(run: Run) -> None:
    """It is done if Spark is; what was wrong before counts all the same, and is the reason."""
    large = SparkNeeded(offsets=10**6, exit_status=0)
    assert run(large, spark=(RunEnded(exit_status=0),)) is None
    with pytest.raises(AirflowException, match=r"exit status 75\. Later\."):
        run(large, spark=(ProblemReported(what="Later."), RunEnded(exit_status=75)))
    with pytest.raises(AirflowFailException, match=r"^It is wrong\.$"):
        run(WRONG, SparkNeeded(offsets=10**6, exit_status=65), spark=(RunEnded(exit_status=0),))


def test_what_a_driver_leaves_behind_holds_nothing_up(run: Run) -> None:
    """A child that has its output open, and a thread that does not end: both are killed once the run has ended."""
    child = "subprocess.Popen(['sleep', '600'])"
    last = lines(RunEnded(exit_status=0))[0].strip()
    assert run(code=f"{child}\nprint({last!r}, flush=True)") is None
    thread = "import threading, time\nthreading.Thread(target=time.sleep, args=(600,)).start()"
    assert run(RunEnded(exit_status=0), code=thread) is None
