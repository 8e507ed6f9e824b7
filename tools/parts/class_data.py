"""What a JVM has made of its program's classes, kept in the cache: the next one starts in half the time.

Java calls it class data sharing. A JVM with other jars, or of another Java, does without.
"""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

from tools.parts.cache import cached
from tools.parts.java import Java, find_java

ARCHIVE = "classes.jsa"
DUMP_TIMEOUT_S = 120  # a JVM writes its archive when it ends


def class_data(name: str, run: Callable[[Sequence[str]], None]) -> Sequence[str]:
    """Options with which a program's JVM starts sooner; none where this Java keeps no such data.

    `name` says which program it is, and of which version. `run` starts and ends it once, with the options it is given:
    it is called for the first JVM on a machine.
    """
    java = find_java()
    folder = cached(f"{name}-{identity(java)}", lambda made: run([dump_to(made / ARCHIVE)]))
    return shared(folder / ARCHIVE)


def dump_to(archive: Path) -> str:
    """The option with which a JVM writes an archive."""
    return f"-XX:ArchiveClassesAtExit={archive}"


def shared(archive: Path) -> Sequence[str]:
    """Options for a JVM that takes an archive if there is one that fits, and says nothing about it."""
    return [f"-XX:SharedArchiveFile={archive}", "-Xshare:auto", "-Xlog:disable"] if archive.is_file() else []


def identity(java: Java, *more: str) -> str:
    """Short, and another one for every Java."""
    release = java.home / "release"
    stated = release.read_text() if release.is_file() else ""
    return hashlib.sha256("\n".join([str(java.home), stated, *more]).encode()).hexdigest()[:12]
