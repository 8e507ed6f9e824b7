"""Environments of Python's as users make them: the wheel of this checkout, one of its extras, and what is asked for."""

import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.parts.cache import REPOSITORY
from tools.parts.errors import PartError
from tools.parts.process import child_environment

INSTALL_TIMEOUT_S: Final = 1800


@dataclass(frozen=True)
class PythonEnvironment:
    """A virtual environment below a folder; it has no pip of its own."""

    folder: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    def command(self, name: str) -> Path:
        """A command that one of its packages brought."""
        return self.folder / "bin" / name

    @property
    def packages(self) -> Path:
        """Where its packages lie."""
        (found,) = self.folder.glob("lib/python*/site-packages")
        return found

    @property
    def spark(self) -> Path:
        """SPARK_HOME of the pyspark in it."""
        return self.packages / "pyspark"


def make_environment(folder: Path, requirements: Sequence[str] = ()) -> PythonEnvironment:
    """A fresh environment of this Python's version with the requirements in it."""
    venv.create(folder, with_pip=False)
    made = PythonEnvironment(folder)
    if requirements:
        uv = shutil.which("uv")  # in a fifth of the time
        quick = [str(uv), "pip", "install", "--quiet", "--python", str(made.python), *requirements]
        _run(quick if uv else install_command(made, requirements))
    return made


def install_command(
    environment: PythonEnvironment, requirements: Sequence[str], options: Sequence[str] = ()
) -> list[str]:
    """What installs into an environment: this Python's pip."""
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--python", str(environment.python)]
    return [*pip, "install", *options, *requirements]


def build_wheel(folder: Path) -> Path:
    """The wheel of this checkout, built into a folder, as `make dist` builds it."""
    _run([sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)])
    (wheel,) = folder.glob("*.whl")
    return wheel


def _run(command: Sequence[str]) -> None:
    run = subprocess.run(
        command,
        cwd=REPOSITORY,
        env=child_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=INSTALL_TIMEOUT_S,
    )
    if run.returncode != 0:
        raise PartError(f"{' '.join(command)} ended with status {run.returncode}:\n{run.stdout[-3000:]}")
