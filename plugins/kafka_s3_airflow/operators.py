"""The operator that runs the export: a driver, on Spark or without it, with its secrets in its environment alone."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from kafka_s3.errors import EXIT_UNEXPECTED
from kafka_s3.spark.connect_server import ConnectServer
from kafka_s3.spark.parent_death import die_with_parent
from kafka_s3.spark.scratch import scratch
from kafka_s3.spark.submit import LOCAL_CONF, application_conf, application_path, driver_environment
from kafka_s3_airflow.driver_output import DriverOutput, committed
from kafka_s3_airflow.guard import die_with_supervisor
from kafka_s3_airflow.links import ExportLink
from kafka_s3_airflow.tasks import NO_RETRY, PLAN_WRITTEN, SPARK_CONNECTION, for_airflow, interval_of

if TYPE_CHECKING:
    from airflow.sdk import Connection, Context

    from kafka_s3_airflow.lineage import Lineage

#: A driver that has said how it ended is gone soon, or killed.
END_TIMEOUT_S: Final = 10
#: A request to the Spark Connect server.
GOODBYE_S: Final = 5
CONF: Final = {"spark.ui.enabled": "false", "spark.log.level": "WARN"}


class ExportOperator(SparkSubmitOperator):
    """Runs `jobs/export.py` for one run of one connector; tells errors that a retry can cure from others.

    Plans of fewer offsets than `export.spark.records.min` need no JVM: a plain process does them, and spark-submit is
    started in front of the first larger one; or a second plain process, where the connection is a Spark Connect server.

    `conn_id`: the Spark connection; unless given, the connector's (`export.spark.conn.id`).
    `reexport`: the run's data interval is a window that is exported again, apart from the live export.
    """

    operator_extra_links: tuple[ExportLink, ...] = (ExportLink(),)
    #: What helps where connections and secrets do not fit into the driver's environment.
    way_out = "Shorten what the connector's connections and secrets hold."

    def __init__(self, *, connector: str, conn_id: str | None = None, reexport: bool = False, **arguments: Any) -> None:
        conf = {**CONF, **(arguments.pop("conf", None) or {})}
        super().__init__(
            application=str(application_path()),
            conn_id=conn_id or SPARK_CONNECTION,
            conf=conf,
            name="kafka-s3",
            durable=False,
            **arguments,
        )
        self._is_conn_id_given = conn_id is not None
        self.connector = connector
        self._is_told_to_end = False
        self._process: subprocess.Popen[str] | None = None
        self._goodbye_s = 0
        self.reexport = reexport

    def execute(self, context: Context) -> dict[str, int] | None:  # type: ignore[override]  # its provider pushes none
        """Run the driver to its end; what it committed, as XCom: `seq`, `records`, `bytes` and `objects`.

        No secret is in the command line, in Spark's configuration or in a log.

        Whatever ends this, an execution timeout too, `scratch` ends Spark and all that it started.
        """
        from kafka_s3_airflow.connections import check_spark, load_connector

        die_with_supervisor()
        with for_airflow():
            loaded = load_connector(Path(self.connector))
        self.take_connection(loaded.settings.spark.conn_id)
        connection = check_spark(self._conn_id)
        self.application_args = self._arguments(context)
        output = DriverOutput()
        spark = self._spark(connection, dict(loaded.settings.spark.conf), output)
        with scratch(os.environ) as folder:
            environment = driver_environment(os.environ, folder, local=is_local(spark))
            environment |= loaded.driver_context.to_environment()
            is_for_spark = self.reexport or not loaded.settings.limits.spark_records_min
            before = DriverOutput()
            if not is_for_spark:
                status = self._run_driver("--without-spark", environment, before)
                if before.exit_status or not before.has_ended:
                    raise failure(before.exit_status or status or EXIT_UNEXPECTED, before)
                if not before.needs_spark:
                    return committed(before)
            self._run_on(spark, environment, output)
        if output.exit_status:  # whatever Spark made of it
            raise failure(output.exit_status, output)
        if before.status_before:
            raise failure(before.status_before, before)
        return committed(before, output)

    def take_connection(self, conn_id: str) -> None:
        """Use the connector's Spark, unless the operator was given another one."""
        if not self._is_conn_id_given:
            self._conn_id = conn_id

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Lineage | None:
        """What its provider tells OpenLineage, where it is installed: topics and offsets in, prefixes out, by the log.

        Asked for after a failure too: of what was committed. A window that is exported again is not told.
        """
        from kafka_s3.wiring import make_store
        from kafka_s3_airflow.connections import load_connector
        from kafka_s3_airflow.lineage import lineage_of_run

        if self.reexport:
            return None
        settings = load_connector(Path(self.connector)).settings
        return lineage_of_run(settings, make_store, task_instance.run_id)

    def on_kill(self) -> None:
        """End the driver. Airflow calls this in a signal's handler when it wants the task to end; `execute` goes on."""
        self._is_told_to_end = True
        if self._process is not None:
            _end(self._process, self._goodbye_s)
        if self._hook is not None:
            self._hook.on_kill()

    def _spark(
        self, connection: Connection, asked: Mapping[str, str], output: DriverOutput
    ) -> SparkSubmitHook | ConnectServer:
        """What the connection names, with what is asked of it: a server, or what goes to spark-submit."""
        from kafka_s3_airflow.connections import connect_server

        server = connect_server(connection, asked)
        if server is not None:
            return server
        return self._hook_with_conf(asked, output)

    def _run_on(
        self, spark: SparkSubmitHook | ConnectServer, environment: Mapping[str, str], output: DriverOutput
    ) -> None:
        """Run the driver on Spark. Raises in its own words if that fails."""
        if isinstance(spark, ConnectServer):
            status = self._run_driver("--spark-connect", {**environment, **spark.to_environment()}, output)
            ended = status or EXIT_UNEXPECTED if output.exit_status is None else output.exit_status
            if ended:
                raise failure(ended, output)
            return
        self._hook = hook = spark
        try:
            self._refuse_to_go_on()
            named = str(hook._connection["spark_binary"])
            hook._connection["spark_binary"] = find_spark_submit(named, os.environ)  # small plans take none
            with fits_into(environment, self.way_out):
                hook.submit(self.application, env=dict(environment), preexec_fn=die_with_parent)
        except AirflowException as error:
            self._refuse_to_go_on()
            raise _explained(error, hook, output) from None

    def _run_driver(self, where: str, environment: Mapping[str, str], output: DriverOutput) -> int:
        """Run a driver without a JVM; the exit status of its process, for one that tells none."""
        python = environment["PYSPARK_DRIVER_PYTHON"]
        command = [python, str(self.application), where, *(self.application_args or ())]
        self._refuse_to_go_on()
        self._goodbye_s = GOODBYE_S if where == "--spark-connect" else 0
        with fits_into(environment, self.way_out):
            process = self._process = subprocess.Popen(  # noqa: S603  # our own program, its arguments as a list
                command,
                env=dict(environment),
                preexec_fn=die_with_parent,
                start_new_session=True,  # so that what it starts ends with it
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            )
        try:
            if self._is_told_to_end:  # before there was a process to end
                _end(process, self._goodbye_s)
            assert process.stdout is not None
            for line in output.read(process.stdout):
                self.log.info("%s", line.rstrip())
                if output.has_ended:  # a class of the user's own may leave something that holds its output open
                    break
            with suppress(subprocess.TimeoutExpired):
                process.wait(END_TIMEOUT_S)
        finally:  # an execution timeout is raised anywhere
            self._process = None
            _end(process, self._goodbye_s)
            if process.stdout is not None:
                process.stdout.close()
        self._refuse_to_go_on()
        return process.returncode or 0

    def _refuse_to_go_on(self) -> None:
        if self._is_told_to_end:
            raise AirflowException(
                "Airflow ended this try: its task was marked, cleared or ran out of time, or its worker stops. A plan"
                " that it leaves open is finished by the next try or run."
            )

    def _arguments(self, context: Context) -> list[str]:
        arguments = {"--events": "json", **self._what(), "--run-id": context["run_id"]}
        arguments["--try-number"] = str(context["ti"].try_number)
        interval = interval_of(context)
        if interval is not None:
            arguments["--interval-start-ms"] = str(interval.start_ms)
            arguments["--interval-end-ms"] = str(interval.end_ms)
        flags = {"--reexport": self.reexport, "--planned-apart": self._planned(context) == PLAN_WRITTEN}
        return [*(f"{name}={value}" for name, value in arguments.items()), *(name for name in flags if flags[name])]

    def _planned(self, context: Context, key: str = "return_value") -> Any:
        """What `plan` says, in the same task group; `None` where there is none, or in a DAG of somebody's own."""
        ti: Any = context["ti"]
        return ti.xcom_pull(task_ids=f"{self.task_id.removesuffix('export')}plan", key=key)

    def _what(self) -> dict[str, str]:
        """The driver's arguments that say what it exports."""
        return {"--connector": self.connector}

    def _hook_with_conf(self, asked: Mapping[str, str], output: DriverOutput) -> SparkSubmitHook:
        """What the connector asks for wins over the operator's own, and over the connection."""
        local = is_local(self._get_hook())
        self.conf = {**(LOCAL_CONF if local else {}), **(self.conf or {}), **application_conf(asked)}
        self._yarn_queue = asked.get("spark.yarn.queue", self._yarn_queue)  # else the connection's would win
        hook = self._get_hook()
        follow = hook._process_spark_submit_log

        def follow_unless_told(itr: Iterator[Any]) -> None:
            """Where the hook has just come to know its process: a signal before that found nothing to end."""
            if self._is_told_to_end:
                hook.on_kill()
            follow(output.read(itr))

        hook._process_spark_submit_log = follow_unless_told  # type: ignore[method-assign]
        return hook


@contextmanager
def fits_into(environment: Mapping[str, str], way_out: str) -> Iterator[None]:
    """Whatever starts a process inside it says so in words where the environment is larger than Linux takes."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.E2BIG:
            raise
        size = sum(len(name) + len(value.encode()) + 2 for name, value in environment.items())
        raise AirflowFailException(
            f"The driver cannot start: its environment, connections and secrets included, has {size:,} bytes. Linux"
            f" takes a quarter of the stack's limit (ulimit -s), and 128 KiB in one variable. {way_out}"
        ) from None


def _end(process: subprocess.Popen[str], goodbye_s: float) -> None:
    """Kill a driver that leads a group of its own, with all that it started; the next try finishes its plan.

    `goodbye_s`: so long it may take to end its jobs on a server that outlives it.
    """
    if goodbye_s:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(goodbye_s)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def is_local(spark: SparkSubmitHook | ConnectServer) -> bool:
    """Whether Spark runs on this machine and in this one process (`local[2]`)."""
    return isinstance(spark, SparkSubmitHook) and bool(spark._connection["master"].startswith("local"))


def find_spark_submit(name: str, environment: Mapping[str, str]) -> str:
    """The spark-submit to run: by its name, from PATH, else beside this Python, where pyspark's wheel puts it."""
    if shutil.which(name, path=environment.get("PATH")):
        return name  # as the provider does it
    beside = Path(sys.executable).parent / name
    if not beside.is_file():
        raise AirflowFailException(
            f"{name} is neither on PATH nor beside {sys.executable}. Put Spark's bin folder on PATH, or install Spark"
            " here: pip install 'kafka-s3[spark]'."
        )
    return str(beside)


def _explained(error: AirflowException, hook: SparkSubmitHook, output: DriverOutput) -> AirflowException:
    """The failure in the driver's own words: its last event says how it ended, else its process does."""
    process = hook._submit_sp
    status = output.exit_status or (None if process is None else process.returncode)
    return failure(status, output) if status else error


def failure(status: int, output: DriverOutput) -> AirflowException:
    """At once final if the exit status says that a retry is of no use."""
    if status in NO_RETRY:
        return AirflowFailException(output.reason or f"The export ended with exit status {status}: see the log above.")
    return AirflowException(f"The export ended with exit status {status}. {output.reason}".strip())
