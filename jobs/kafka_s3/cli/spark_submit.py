"""Starts the Spark driver through spark-submit, so that it ends with this process and leaves no files."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from kafka_s3.errors import ConfigurationError
from kafka_s3.plan.batch import RunRequest
from kafka_s3.settings.model import Settings
from kafka_s3.spark.parent_death import die_with_parent
from kafka_s3.spark.scratch import scratch
from kafka_s3.spark.submit import LOCAL_CONF, application_conf, application_path, driver_environment


def submit(
    settings: Settings, master: str, config: Path, worker: Path | None, request: RunRequest, is_quiet: bool = False
) -> int:
    """Run the driver in client mode and return its exit status. `is_quiet`: what it prints goes to stderr."""
    home = _spark_home()
    with scratch(os.environ) as folder:
        command = [
            str(home / "bin" / "spark-submit"),
            *_spark_options(settings, master),
            str(application_path()),
            *driver_arguments(config, worker, request),
        ]
        environment = _environment(home, folder, master, os.environ)
        with _ending_on_terminate():
            out = sys.stderr if is_quiet else None
            process = subprocess.Popen(command, env=environment, preexec_fn=die_with_parent, stdout=out)  # noqa: S603
            try:
                return process.wait()
            finally:
                process.kill()
                process.wait()


@contextlib.contextmanager
def _ending_on_terminate() -> Iterator[None]:
    """SIGTERM ends this process in the orderly way, so that the driver and its folder go too."""

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def driver_arguments(config: Path, worker: Path | None, request: RunRequest) -> list[str]:
    """The arguments of jobs/export.py (spark.py parses them). No secret is among them."""
    arguments = {"--connector": str(config.absolute()), "--run-id": request.run_id}
    arguments["--try-number"] = str(request.try_number)
    if worker is not None:
        arguments["--worker"] = str(worker.absolute())
    if request.interval is not None:
        arguments["--interval-start-ms"] = str(request.interval.start_ms)
        arguments["--interval-end-ms"] = str(request.interval.end_ms)
    flags = ["--planned-apart"] if request.planned_apart else []
    return [*(f"{name}={value}" for name, value in arguments.items()), *flags]


def _spark_options(settings: Settings, master: str) -> list[str]:
    local = LOCAL_CONF if master.startswith("local") else {}
    conf = {"spark.log.level": "WARN", **local, **application_conf(dict(settings.spark.conf))}
    options = ["--master", master]
    return [*options, *(part for name, value in conf.items() for part in ("--conf", f"{name}={value}"))]


def _environment(home: Path, folder: Path, master: str, outer: Mapping[str, str]) -> dict[str, str]:
    """This process's variables, made fit for our Spark; the driver resolves `${env:…}` itself."""
    java = outer.get("JAVA_HOME")
    if not (java and (Path(java) / "bin" / "java").exists()) and shutil.which("java", path=outer.get("PATH")) is None:
        raise ConfigurationError(
            "Spark needs Java 17 or newer, and neither JAVA_HOME nor PATH has one.",
            next="Install one and set JAVA_HOME, or leave --spark out: the run works without Spark.",
        )
    return {**driver_environment(outer, folder, local=master.startswith("local")), "SPARK_HOME": str(home)}


def _spark_home() -> Path:
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise ConfigurationError(
            "pyspark is not installed for this Python, so there is no spark-submit.",
            next="pip install 'kafka-s3[spark]', or leave --spark out: the run works without Spark.",
        )
    return Path(spec.origin).parent
