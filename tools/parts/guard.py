"""Run one command that must not outlive the process that started it: `guard.py PARENT_PID FOLDER COMMAND...`.

Run as a program of its own, with the standard library only. It prints the command's process id as a line on standard
output and closes it; the command writes to this process's standard error. It ends with the command, and when PARENT_PID
ends first, in any way, it kills the command and removes FOLDER.

A process between the two is there because PR_SET_PDEATHSIG follows the *thread* that started a child: a part started
in a worker thread would die with that thread. Here the only thread is the main one.
"""

import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable

PR_SET_PDEATHSIG = 1
POLL_S = 0.1


def main(parent_pid: int, folder: str, command: list[str]) -> int:
    """Run the command until it ends or the parent does; return its exit status, 128 + the signal if one ended it."""
    child = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=sys.stderr.fileno(), preexec_fn=_die_with_this_process()
    )
    sys.stdout.write(f"{child.pid}\n")
    sys.stdout.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    _wait_for_either(parent_pid, child)
    if os.getppid() != parent_pid:
        child.kill()
        child.wait()
        shutil.rmtree(folder, ignore_errors=True)
    code = child.wait()
    return code if code >= 0 else 128 - code


def _wait_for_either(parent_pid: int, child: "subprocess.Popen[bytes]") -> None:
    """Return once the parent or the child has ended."""
    if sys.platform == "linux" and hasattr(os, "pidfd_open"):
        try:
            ends = [os.pidfd_open(parent_pid), os.pidfd_open(child.pid)]
        except ProcessLookupError:
            return
        if os.getppid() == parent_pid:
            select.select(ends, [], [])
            # The parent's end is told a moment before its children are given to another.
            while child.poll() is None and os.getppid() == parent_pid:
                time.sleep(0.001)
        return
    while child.poll() is None and os.getppid() == parent_pid:
        time.sleep(POLL_S)


def _die_with_this_process() -> Callable[[], object] | None:
    """Return what a child calls before its command so that the kernel kills it with us; None where it cannot."""
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    return lambda: libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2], sys.argv[3:]))
