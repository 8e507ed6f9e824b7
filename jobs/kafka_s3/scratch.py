"""A folder for Spark's files that is removed, whatever ends the process that made it."""

from __future__ import annotations

import fcntl
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_PREFIX: Final = "kafka-s3-spark-"
_LOCK: Final = "lock"


@contextmanager
def scratch(environment: Mapping[str, str]) -> Iterator[Path]:
    """A folder of this process's own, removed afterwards; so are those of processes that were killed before they could.

    It lies in the first folder of SPARK_LOCAL_DIRS, else where temporary files go. Its owner holds a lock in it, which
    the kernel gives up with the process, whatever ended it.
    """
    parent = Path(environment.get("SPARK_LOCAL_DIRS", "").split(",")[0] or tempfile.gettempdir())
    for left in parent.glob(f"{_PREFIX}*"):
        _remove_if_free(left)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
    with (folder / "new").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (folder / "new").rename(folder / _LOCK)  # whoever sees it sees it locked
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _remove_if_free(folder: Path) -> None:
    try:
        with (folder / _LOCK).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
    except OSError:
        return  # in use, somebody else's, about to be used, or gone in the meantime
