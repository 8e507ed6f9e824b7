"""What spark-submit is given: the script, the environment, and what a local driver is set to."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kafka_s3.spark.scratch import FOLDERS

#: A local driver lives for one run, so it is better compiled fast than well, and it listens to itself only.
LOCAL_CONF: Final = {
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


def application_path() -> Path:
    """`kafka_s3/export_job.py` in an installed wheel, `jobs/export.py` beside the package in a checkout."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "export_job.py"
    return installed if installed.is_file() else package.parent / "export.py"


def application_conf(asked: Mapping[str, str]) -> dict[str, str]:
    """What a connector asks of Spark, as spark-submit takes it: a Python for the workers does not become the driver's.

    >>> application_conf({"spark.executor.memory": "2g"})
    {'spark.executor.memory': '2g'}
    """
    if "spark.pyspark.python" in asked:
        return {"spark.pyspark.driver.python": sys.executable, **asked}
    return dict(asked)


def driver_environment(environment: Mapping[str, str], folder: Path, *, local: bool) -> dict[str, str]:
    """The variables of spark-submit. Driver and workers run this Python unless the variables given say otherwise.

    The temporary files of Spark, of Java (a killed JVM leaves its own) and of Python all go to `folder`.
    """
    java_options = f"{environment.get('SPARK_SUBMIT_OPTS', '')} {shlex.quote(f'-Djava.io.tmpdir={folder}')}".strip()
    return {
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        **({"SPARK_LOCAL_IP": "127.0.0.1"} if local else {}),
        **environment,
        FOLDERS: str(folder),
        "SPARK_SUBMIT_OPTS": java_options,
        "TMPDIR": str(folder),
    }
