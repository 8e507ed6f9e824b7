"""What an installation of the wheel takes: packages, size, and the time that pip needs.

    .venv/bin/python -m bench.installations [--only executor] [--repetitions 1]

Each is made in a fresh environment: once with nothing kept (`--no-cache-dir`), so that what is downloaded counts, then
once more from pip's cache. Sizes are of the files, as an image has them; times depend on the network and the machine.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Final

from rich.markup import escape
from rich.table import Table

from bench.measure import measure
from bench.output import console, spread
from tools.parts.environments import PythonEnvironment, build_wheel, install_command, make_environment
from tools.parts.process import child_environment

#: As pip is told, after the wheel's name.
EXTRAS: Final = {
    "kafka-s3": "",
    "executor": "[executor]",
    "connect": "[connect]",
    "airflow": "[airflow]",
    "spark": "[airflow,spark]",
}


def main() -> None:
    """Build the wheel, install each, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.installations")
    parser.add_argument("--only", choices=EXTRAS, action="append")
    parser.add_argument("--repetitions", type=int, default=1)
    arguments = parser.parse_args()
    table = Table("pip install", "packages", "MB", "s, nothing kept", "CPU s", "s, from pip's cache", "CPU s")
    with tempfile.TemporaryDirectory(prefix="kafka-s3-installations-") as folder:
        wheel = build_wheel(Path(folder) / "wheel")
        console.print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB")
        for name in arguments.only or EXTRAS:
            requirement = f"kafka-s3{EXTRAS[name]} @ {wheel.as_uri()}"
            cold, warm = [], []
            for repetition in range(arguments.repetitions):
                made = make_environment(Path(folder) / f"{name}-{repetition}")
                cold.append(_timed(made, requirement, "--no-cache-dir"))
                packages, size = _inside(made)
                _timed(make_environment(Path(folder) / f"{name}-{repetition}-fill"), requirement)
                warm.append(_timed(make_environment(Path(folder) / f"{name}-{repetition}-again"), requirement))
            columns = [spread([each[number] for each in found]) for found in (cold, warm) for number in (0, 1)]
            table.add_row(escape(f"kafka-s3{EXTRAS[name]}"), str(packages), f"{size / 1e6:.0f}", *columns)
    console.print(table)


def _timed(environment: PythonEnvironment, requirement: str, *options: str) -> tuple[float, float]:
    measured = measure(install_command(environment, [requirement], options), child_environment())
    return measured.wall_s, measured.cpu_s


def _inside(environment: PythonEnvironment) -> tuple[int, int]:
    """How many packages there are, and the bytes of their files, what Python compiled at once included."""
    files = [path for path in environment.folder.rglob("*") if path.is_file() and not path.is_symlink()]
    packages = sum(path.name == "METADATA" and path.parent.suffix == ".dist-info" for path in files)
    return packages, sum(path.stat().st_size for path in files)


if __name__ == "__main__":
    main()
