"""A folder for Spark's files that is removed, and with it what uses it, whatever ends the process that made it."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from kafka_s3.errors import TemporaryError

#: The variable that names the folders of Spark's files, for spark-submit and all that it starts.
FOLDERS: Final = "SPARK_LOCAL_DIRS"
END_TIMEOUT_S: Final = 10  # nothing outlives SIGKILL for long but what waits for a disk
_FOLDERS_OF_SPARK: Final = 8
_POLL_S: Final = 0.02
_PREFIX: Final = "kafka-s3-spark-"
_LOCK: Final = ".lock"


@contextmanager
def scratch(environment: Mapping[str, str]) -> Iterator[Path]:
    """A folder of this process's own, removed afterwards; so are those of processes that were killed before they could.

    It lies in the first folder of SPARK_LOCAL_DIRS, else where temporary files go. Beside it lies a file that its owner
    holds a lock on, which the kernel gives up with the process, whatever ended it: that file comes before the folder
    and goes after it. What has the folder in its environment is killed before it is removed. `TemporaryError` if it
    cannot be made: the disk is full.
    """
    try:
        parent = Path(environment.get(FOLDERS, "").split(",")[0] or tempfile.gettempdir())
        for left in parent.glob(f"{_PREFIX}*{_LOCK}"):
            _remove_if_free(left)
        lock, held = _locked(parent)
    except OSError as error:
        raise _no_folder(error) from error
    with held:
        try:
            _folder_of(lock).mkdir(0o700)
            _check_room(_folder_of(lock))
        except OSError as error:
            shutil.rmtree(_folder_of(lock), ignore_errors=True)
            lock.unlink()
            raise _no_folder(error) from error
        try:
            yield _folder_of(lock)
        finally:
            _remove(lock)


def _folder_of(lock: Path) -> Path:
    return lock.with_suffix("")


def _check_room(folder: Path) -> None:
    """Raise `OSError` unless a few more folders can be made: without them Spark ends with a trace of its JVM."""
    room = folder / "room"
    for each in (room, *(room / str(number) for number in range(_FOLDERS_OF_SPARK))):
        each.mkdir()
    shutil.rmtree(room)


def _locked(parent: Path) -> tuple[Path, IO[bytes]]:
    """A new file, locked until it is closed. It may be taken for a dead process's before it is: then another one."""
    while True:
        number, name = tempfile.mkstemp(_LOCK, _PREFIX, parent)
        held = os.fdopen(number, "wb")
        fcntl.flock(held, fcntl.LOCK_EX)
        if Path(name).exists():
            return Path(name), held
        held.close()


def _no_folder(error: OSError) -> TemporaryError:
    return TemporaryError(
        f"No folder for Spark's temporary files can be made: {error}.",
        next="Make room, or let SPARK_LOCAL_DIRS or TMPDIR name a folder that has some.",
    )


def _remove_if_free(lock: Path) -> None:
    try:
        with lock.open("r+b") as held:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(lock)
    except OSError:
        return  # in use, somebody else's, or gone in the meantime


def _remove(lock: Path) -> None:
    """Remove a folder and then its lock, which is held.

    A driver that goes on would write into the folder, or make it anew without a lock, and then nobody would remove it.
    What cannot be removed keeps its lock's file: whoever comes next finds it free, and tries again.
    """
    folder = _folder_of(lock)
    deadline = time.monotonic() + END_TIMEOUT_S
    while users := _users_of(folder):
        for pid in users:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            return
        time.sleep(_POLL_S)
    shutil.rmtree(folder, ignore_errors=True)
    if not folder.exists():
        lock.unlink(missing_ok=True)


def _users_of(folder: Path) -> list[int]:
    """Spark's JVM, the driver, `pyspark.daemon` and its workers, whose parents may be gone.

    By a variable that is the folder (Linux only). Nobody sees those of another account's process; a dead one has none.
    """
    mark = f"={folder}".encode()
    found = []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if any(variable.endswith(mark) for variable in environment.read_bytes().split(b"\0")):
                found.append(int(environment.parent.name))
    return found
