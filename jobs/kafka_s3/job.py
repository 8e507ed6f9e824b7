"""What spark-submit is given: the script, and what a local driver is set to."""

from __future__ import annotations

from pathlib import Path
from typing import Final

#: A local driver lives for one run, so it is better compiled fast than well, and it listens to itself only.
LOCAL_CONF: Final = {
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


def application_path() -> Path:
    """`kafka_s3/export_job.py` in an installed wheel, `jobs/export.py` beside the package in a checkout."""
    package = Path(__file__).resolve().parent
    installed = package / "export_job.py"
    return installed if installed.is_file() else package.parent / "export.py"
