"""No process outlives the one that started it: a killed Airflow task must not leave Spark exporting (Linux only)."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import Final

_PR_SET_PDEATHSIG: Final = 1

# Loaded now: a child between fork and exec must not import or open anything.
_prctl = ctypes.CDLL(None, use_errno=True).prctl if sys.platform == "linux" else None


def die_with_parent() -> None:
    """Ask the kernel to kill this process when the thread that started it ends. Survives exec; fit for `preexec_fn`."""
    parent = os.getppid()
    if _prctl is not None:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it ended before the kernel knew
            os.kill(os.getpid(), signal.SIGKILL)
