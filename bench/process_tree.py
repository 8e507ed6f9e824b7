"""What the processes below this one take, but for some: CPU until now, and the most memory that all had at once.

The kernel adds a process's CPU time to whoever waits for it, and what nobody has waited for yet still has its own.
Spark's Python workers are waited for by nobody (pyspark.daemon ignores SIGCHLD), so theirs is sampled.
"""

import ctypes
import threading
from collections.abc import Collection, Iterator
from typing import Final

import psutil

_PR_SET_CHILD_SUBREAPER: Final = 36
_SAMPLE_S: Final = 0.5


class ProcessTree(threading.Thread):
    """Looks at every process below this one twice a second until it is told to end. `without`: ids of processes."""

    def __init__(self, without: Collection[int] = ()) -> None:
        super().__init__(daemon=True)
        # Orphans become our children and stay zombies that nobody waits for, so that what they took is not lost.
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.rss_max = self.pss_max = 0
        self._without = frozenset(without)
        self._workers: dict[int, float] = {}
        self._daemons: set[int] = set()
        self._done = threading.Event()

    def end(self) -> None:
        self._done.set()
        self.join()

    def run(self) -> None:
        while not self._done.wait(_SAMPLE_S):
            self._look()

    def cpu_s(self, below: int | None = None) -> float:
        """User and system seconds of all until now, or of one process and those below it, workers left out."""
        found = self._processes() if below is None else _with_children(below)
        used = sum(_used_s(each) for each in found if each.pid not in self._workers)
        return used + (sum(self._workers.values()) if below is None else 0)

    def _processes(self) -> Iterator[psutil.Process]:
        return (each for each in psutil.Process().children(recursive=True) if each.pid not in self._without)

    def _look(self) -> None:
        rss = pss = 0
        for process in self._processes():
            try:
                memory = process.memory_full_info()
                rss, pss = rss + memory.rss, pss + memory.pss
                self._look_at_worker(process)
            except psutil.Error:  # it ended meanwhile
                continue
        self.rss_max, self.pss_max = max(self.rss_max, rss), max(self.pss_max, pss)

    def _look_at_worker(self, process: psutil.Process) -> None:
        if self._is_daemon(process.pid) and (process.pid in self._workers or self._is_daemon(process.ppid())):
            times = process.cpu_times()
            self._workers[process.pid] = times.user + times.system

    def _is_daemon(self, pid: int) -> bool:
        """Whether a process runs pyspark.daemon: the daemon, and the workers that it forked."""
        if pid not in self._daemons and "pyspark.daemon" in psutil.Process(pid).cmdline():
            self._daemons.add(pid)
        return pid in self._daemons


def _with_children(pid: int) -> list[psutil.Process]:
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


def _used_s(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0  # whoever waited for it has its time
    return float(times.user + times.system + times.children_user + times.children_system)
