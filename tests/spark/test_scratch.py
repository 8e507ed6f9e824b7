"""Folders for Spark's files."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kafka_s3.errors import EXIT_TEMPORARY, TemporaryError
from kafka_s3.spark.scratch import scratch
from kafka_s3.spark.submit import driver_environment


def test_folders_of_killed_processes(tmp_path: Path) -> None:
    """A process removes its folder, and what killed ones have left; a folder in use stays."""
    killed = tmp_path / "kafka-s3-spark-killed"
    killed.mkdir()
    (tmp_path / "kafka-s3-spark-killed.lock").touch()
    other = tmp_path / "other"
    other.mkdir()
    environment = {"SPARK_LOCAL_DIRS": f"{tmp_path},/elsewhere"}
    with scratch(environment) as mine:
        assert mine.parent == tmp_path
        assert not killed.exists()
        with scratch(environment) as another:
            assert mine.exists()
            assert another != mine
    assert os.listdir(tmp_path) == ["other"]


#: One process that makes folders and removes them, until it is killed.
REMOVING = """
import sys
from kafka_s3.spark.scratch import scratch
while True:
    with scratch({"SPARK_LOCAL_DIRS": sys.argv[1]}) as folder:
        for number in range(50):
            (folder / str(number)).mkdir()
            (folder / str(number) / "block").touch()
        print(flush=True)
"""


def test_a_process_that_is_killed_while_it_removes_its_folder(tmp_path: Path) -> None:
    """Wherever it was, making the folder or removing it: the next process removes what is left."""
    for number in range(20):
        with subprocess.Popen([sys.executable, "-c", REMOVING, str(tmp_path)], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(number / 5000)
            process.kill()
    with scratch({"SPARK_LOCAL_DIRS": str(tmp_path)}):
        pass
    assert os.listdir(tmp_path) == []


def test_no_folder_can_be_made(tmp_path: Path) -> None:
    """What the system says is said, and a retry may find room."""
    file = tmp_path / "file"
    file.touch()
    with (
        pytest.raises(TemporaryError, match=f"Not a directory: '{file}/.*Make room") as told,
        scratch({"SPARK_LOCAL_DIRS": str(file)}),
    ):
        pass
    assert told.value.exit_status == EXIT_TEMPORARY


def test_errors_inside_are_their_own(tmp_path: Path) -> None:
    """Only the making of the folder is explained; it is removed all the same."""
    with pytest.raises(FileNotFoundError), scratch({"SPARK_LOCAL_DIRS": str(tmp_path)}):
        (tmp_path / "missing").read_text()
    assert os.listdir(tmp_path) == []


#: A process that goes on when its parent has ended, and that makes again what is removed under its feet.
STUBBORN = """
import os, pathlib, signal, sys, time
for name in ("SIGTERM", "SIGHUP", "SIGINT"):
    signal.signal(getattr(signal, name), signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    for _ in range(60_000):  # or it would outlive a test that fails
        (pathlib.Path(os.environ["TMPDIR"]) / "blockmgr" / "0c").mkdir(parents=True, exist_ok=True)
        if not sys.stdout.closed:
            print(os.getpid(), flush=True)
            sys.stdout.close()
        time.sleep(0.001)
"""


def orphan(folder: Path) -> int:
    """Start a process as spark-submit is started, whose child goes on without it; the child's id."""
    environment = driver_environment(os.environ, folder, local=True)
    command = [sys.executable, "-S", "-c", STUBBORN]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        return int(started.stdout.readline())


def test_what_uses_the_folder_ends_first(tmp_path: Path) -> None:
    """Whatever was started with the folder for its files is killed before the folder is removed, also if its parent is
    gone; that of a folder which is in use goes on, and what a killed process has left to run ends with its folder."""
    environment = {"SPARK_LOCAL_DIRS": str(tmp_path)}
    with scratch(environment) as folder:
        mine = orphan(folder)
        with scratch(environment) as another:
            other = orphan(another)
            os.kill(other, 0)
        ended(other)
        os.kill(mine, 0)
    ended(mine)
    assert os.listdir(tmp_path) == []

    killed = tmp_path / "kafka-s3-spark-killed"
    killed.mkdir()
    (tmp_path / "kafka-s3-spark-killed.lock").touch()
    left = orphan(killed)
    with scratch(environment):
        ended(left)
        assert not killed.exists()


def ended(pid: int) -> None:
    """There is no such process, or it is dead and nobody has asked for its status yet."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return
    assert state == "Z"
