"""CPU and memory of a whole process tree, orphans included, as the kernel counted them."""

import ctypes
import json
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True, slots=True)
class Measured:
    """One run of a command: `cpu_s` user and system of the tree; `rss_max` of its largest Python worker, bytes."""

    wall_s: float
    cpu_s: float
    rss_max: int
    first_line_s: float | None
    output: str


class CommandFailed(Exception):
    """A measured command ended with another status than 0."""


def measure(command: Sequence[str], environment: Mapping[str, str], *, until: str = "") -> Measured:
    """Run a command to its end; `until`: a text in its output whose first sight is timed too.

    A process of its own runs it, so that nothing but the command's tree is ever waited for and counted.
    """
    runner = [sys.executable, "-m", "bench.measure", until, *command]
    root = Path(__file__).resolve().parents[1]
    ran = subprocess.run(runner, env=dict(environment), cwd=root, stdout=subprocess.PIPE, text=True)
    if ran.returncode != 0:
        raise CommandFailed(f"{' '.join(command)} failed:\n{ran.stdout[-3000:]}")
    return Measured(**json.loads(ran.stdout))


def _run(until: str, command: Sequence[str]) -> Measured:
    # Orphans of the tree become our children, so that the kernel adds what they used to ours.
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    peak = _Peak(process.pid)
    lines: list[str] = []
    first: float | None = None
    assert process.stdout is not None
    for line in process.stdout:
        if first is None and until and until in line:
            first = time.monotonic() - began
        lines.append(line)
    status = process.wait()
    wall = time.monotonic() - began
    rss = peak.stop()
    _reap()
    if status != 0:
        print("".join(lines[-30:]))
        sys.exit(1)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Measured(wall, used.ru_utime + used.ru_stime, rss, first, "".join(lines))


def _reap() -> None:
    """Wait for what the command left behind."""
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


class _Peak:
    """Looks at the resident size of every Python worker below a process, ten times a second."""

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)
        self._max = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> int:
        self._done.set()
        self._thread.join()
        return self._max

    def _watch(self) -> None:
        while not self._done.wait(0.1):
            try:
                for child in self._root.children(recursive=True):
                    if "pyspark.daemon" in " ".join(child.cmdline()):
                        self._max = max(self._max, child.memory_info().rss)
            except psutil.Error:
                continue


if __name__ == "__main__":
    print(json.dumps(asdict(_run(sys.argv[1], sys.argv[2:]))))
