"""Finding the processes of a running export. Any of them may end while it is looked at."""

from __future__ import annotations

import psutil


def below(pid: int) -> list[psutil.Process]:
    """Every process under one; none if it is gone."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def drivers_below(pid: int) -> list[psutil.Process]:
    """The Python drivers under a process: those that run jobs/export.py, and no JVM that was told to.

    The nearest first: a child that a driver has just forked looks like it.
    """
    return [child for child in below(pid) if _is_driver(command_of(child))]


def _is_driver(command: list[str]) -> bool:
    return "python" in "".join(command[:1]) and any(part.endswith("export.py") for part in command[1:])


def command_of(process: psutil.Process) -> list[str]:
    """The command line; empty for a process that is gone."""
    try:
        return process.cmdline()
    except psutil.Error:  # a zombie has none either
        return []
