"""Workers of a Spark Connect server that have no engine: a sentence, or the archive that the driver sends them."""

from __future__ import annotations

import subprocess
import venv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow
import pytest

from tests.spark import test_connect
from tests.spark.test_connect import COMMAND, TOKEN, Export
from tools.parts.process import child_environment
from tools.parts.spark import SparkConnectServer

pytestmark = pytest.mark.heavy

export = test_connect.export
RECORDS = 200


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python of the driver's version with nothing but what Spark itself asks of its workers."""
    folder = tmp_path_factory.mktemp("python")
    venv.create(folder, with_pip=False)
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def server(bare_python: Path) -> Iterator[SparkConnectServer]:
    with SparkConnectServer(token=TOKEN, python=str(bare_python)) as running:
        yield running


def _give(python: Path, *packages: str) -> None:
    ours = Path(pyarrow.__file__).parents[1]
    [theirs] = python.parents[1].glob("lib/python*/site-packages")
    for name in packages:
        (theirs / name).symlink_to(ours / name)


def test_workers_without_the_engine(export: Export, bare_python: Path, tmp_path: Path) -> None:
    """Without pyarrow, which Spark asks for, and then without the engine: each is one sentence and 78. With the lines
    that `bundle` prints, the same workers export every record once."""
    export.produce(RECORDS)
    status, said = export.run()
    assert status == 78, said
    assert f"The workers of {export.server.url} have no Python for Arrow: No module named 'pyarrow'.\n" in said
    assert "Traceback" not in said

    _give(bare_python, "pyarrow", "numpy", "numpy.libs", "pandas", "dateutil", "six.py", "pytz", "tzdata")
    status, said = export.run()
    assert status == 78, said
    assert "No worker can export: " in said
    assert "No module named 'kafka_s3'.\n`kafka-s3 bundle` makes an archive" in said

    bundle = [COMMAND, "bundle", tmp_path / "engine.zip"]
    ran = subprocess.run(bundle, env=child_environment(), capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    asked = [line.strip() for line in ran.stdout.splitlines() if line.startswith("  export.spark.conf.")]
    python = [line for line in asked if "spark.pyspark.python=" in line]
    assert len(asked) - len(python) == 2
    given = [*(line for line in asked if line not in python), f"{python[0].partition('=')[0]}={bare_python}"]
    export.connector.write_text("\n".join([export.connector.read_text(), *given, ""]))
    status, said = export.run()
    assert status == 0, said
    assert export.numbers() == Counter(range(RECORDS))
