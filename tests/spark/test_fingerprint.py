"""Whether driver and workers run the same engine: the guard sees every source file, in a folder and in a zip."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import kafka_s3
from kafka_s3.spark.fingerprint import digest_of, fingerprint

ENGINE = Path(kafka_s3.__file__).parent


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the engine as a folder."""
    copy = tmp_path_factory.mktemp("engine") / "kafka_s3"
    return Path(shutil.copytree(ENGINE, copy, ignore=shutil.ignore_patterns("__pycache__")))


def _zipped(package: Path, path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for file in package.rglob("*.py"):
            archive.write(file, f"{package.name}/{file.relative_to(package).as_posix()}")
    return path


@pytest.mark.parametrize("room", ["export/task.py", "values/formats/parquet.py", "spark/execute.py", "errors.py"])
def test_a_change_in_any_room_is_another_engine(engine: Path, room: str) -> None:
    """Not only what lies beside the guard counts."""
    before, file = digest_of(engine), engine / room
    text = file.read_text()
    try:
        file.write_text(text + "\n# changed\n")
        assert digest_of(engine) != before
    finally:
        file.write_text(text)
    assert digest_of(engine) == before


def test_bytecode_and_the_wheels_script_do_not_count(engine: Path) -> None:
    before = digest_of(engine)
    (engine / "export_job.py").write_text("import kafka_s3")
    (engine / "errors.pyc").write_bytes(b"compiled")
    assert digest_of(engine) == before


def test_a_zip_has_the_fingerprint_of_its_folder(engine: Path, tmp_path: Path) -> None:
    """Python imports the engine from a zip; it says the same of itself, and something else once a member differs."""
    same = _zipped(engine, tmp_path / "same.zip")
    assert _of_zip(same) == fingerprint()
    other = shutil.copytree(engine, tmp_path / "other" / "kafka_s3")
    (other / "ranges.py").write_text((other / "ranges.py").read_text() + "\n")
    assert _of_zip(_zipped(other, tmp_path / "other.zip")) not in ("", fingerprint())


def _of_zip(path: Path) -> str:
    program = "import kafka_s3.spark.fingerprint as f; assert '.zip' in f.__file__; print(f.fingerprint())"
    run = subprocess.run([sys.executable, "-S", "-c", program], env={"PYTHONPATH": str(path)}, capture_output=True)
    assert run.returncode == 0, run.stderr.decode()
    return run.stdout.decode().strip()
