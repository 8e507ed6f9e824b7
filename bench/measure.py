"""CPU and memory of a whole process tree, orphans and forgotten children included.

The kernel adds a process's CPU time to whoever waits for it. Spark's Python workers are waited for by nobody
(pyspark.daemon ignores SIGCHLD), so theirs is sampled while they live; all other time is the kernel's own sum.
"""

import ctypes
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

_PR_SET_CHILD_SUBREAPER = 36
_SAMPLE_S = 0.1


@dataclass(frozen=True, slots=True)
class Measured:
    """One run of a command: `cpu_s` user and system of the tree, `workers_cpu_s` that of Spark's Python workers in it;
    `rss_max` of its largest Python worker, `rss_own` of the command's own process, and `rss_tree` of all processes at
    once, in bytes. The last is sampled, and counts what they share as often as they have it. `files_max`: open files of
    the process that had most, sampled too."""

    wall_s: float
    cpu_s: float
    workers_cpu_s: float
    rss_max: int
    rss_own: int
    rss_tree: int
    files_max: int
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
    # Orphans of the tree become our children, so that they too are waited for and counted.
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    workers = _Workers()
    lines: list[str] = []
    first: float | None = None
    assert process.stdout is not None
    for line in process.stdout:
        if first is None and until and until in line:
            first = time.monotonic() - began
        lines.append(line)
    used, rss_own = _wait_for_all(process, workers)
    wall = time.monotonic() - began
    if process.returncode != 0:
        # Why: the first trace, or what else was reported.
        why = [line for line in lines if '"unexpected_error"' in line] or [
            line for line in lines if '"problem_r' in line
        ]
        print("".join([*lines[-10:], *why[:1]]))
        sys.exit(1)
    sampled = sum(workers.cpu_s.values())
    rss_tree = max(workers.rss_tree, rss_own)
    text = "".join(lines)
    return Measured(wall, used + sampled, sampled, workers.rss_max, rss_own, rss_tree, workers.files_max, first, text)


def _wait_for_all(process: subprocess.Popen[str], workers: "_Workers") -> tuple[float, int]:
    """The CPU time, in seconds, of the command and of all that it left behind, the workers' apart; and the most memory
    that the command's own process had."""
    used, rss_own = 0.0, 0
    while True:
        try:
            pid, status, usage = os.wait4(-1, 0)
        except ChildProcessError:
            workers.stop()
            return used, rss_own
        if pid == process.pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            rss_own = usage.ru_maxrss * 1024
        if pid not in workers.cpu_s:
            used += usage.ru_utime + usage.ru_stime


class _Workers:
    """Looks at every Python worker of Spark below this process, ten times a second."""

    def __init__(self) -> None:
        self.cpu_s: dict[int, float] = {}  # by process id; what they had used when last seen
        self.rss_max = 0
        self.rss_tree = 0
        self.files_max = 0
        self._daemons: set[int] = set()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(_SAMPLE_S):
            tree = 0
            for process in psutil.Process().children(recursive=True):
                try:
                    tree += process.memory_info().rss
                    self.files_max = max(self.files_max, process.num_fds())
                    self._look_at(process)
                except psutil.Error:  # it ended meanwhile
                    continue
            self.rss_tree = max(self.rss_tree, tree)

    def _look_at(self, process: psutil.Process) -> None:
        if not self._is_daemon(process.pid):
            return
        if process.pid not in self.cpu_s and not self._is_daemon(process.ppid()):
            return  # the daemon itself, which the JVM waits for
        with process.oneshot():
            times = process.cpu_times()
            self.cpu_s[process.pid] = times.user + times.system
            self.rss_max = max(self.rss_max, process.memory_info().rss)

    def _is_daemon(self, pid: int) -> bool:
        """Whether a process runs pyspark.daemon: the daemon, and the workers that it forked."""
        if pid not in self._daemons and "pyspark.daemon" in psutil.Process(pid).cmdline():
            self._daemons.add(pid)
        return pid in self._daemons


if __name__ == "__main__":
    print(json.dumps(asdict(_run(sys.argv[1], sys.argv[2:]))))
