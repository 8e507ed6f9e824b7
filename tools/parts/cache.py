"""A cache on disk that several processes may fill at once."""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def cache_directory() -> Path:
    """Where downloads and builds stay: KAFKA_S3_CACHE, or .cache in the repository; made if it is missing."""
    configured = os.environ.get("KAFKA_S3_CACHE")
    directory = Path(configured).expanduser().resolve() if configured else REPOSITORY / ".cache"
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def cached(name: str, fill: Callable[[Path], None]) -> Path:
    """Return the cache's folder `name`, filled by `fill` once, by one process, completely or not at all.

    `fill` gets an empty folder beside the final one, which is renamed when `fill` returns. Others wait for the lock.
    Because it is renamed, nothing in it may know its own absolute path.
    """
    folder = cache_directory() / name
    if folder.is_dir():
        return folder
    with locked(name):
        if folder.is_dir():
            return folder
        unfinished = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=folder.parent))
        try:
            fill(unfinished)
            unfinished.chmod(0o755)
            unfinished.rename(folder)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    return folder


@contextlib.contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold the lock of one name in the cache; the system lets it go when the process ends in any way."""
    with open(cache_directory() / f".{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
