"""On the path of a run's processes: it stops one of them at a named place, and sets what clock they see.

Python imports this module by itself in every process that has the folder on PYTHONPATH: the command, the driver and
its workers. `STOP_AT` is the place where a process stops once (SIGSTOP, as a machine that sleeps), `STOP_IN` what its
command line has in it. `CLOCK_FILE` holds the seconds by which the clock is off, and may change any time.
"""

from __future__ import annotations

import datetime
import os
import signal
import sys
import time
from pathlib import Path

from kafka_s3 import crash_points

_stopped = False


def _stop(point: crash_points.CrashPoint) -> None:
    global _stopped
    if point.name == os.environ["STOP_AT"] and not _stopped and os.environ["STOP_IN"] in " ".join(sys.orig_argv):
        _stopped = True
        os.kill(os.getpid(), signal.SIGSTOP)


def _set_clock(file: Path) -> None:
    """Python's wall clock; the monotonic one does not jump on a machine either.

    A library to preload (libfaketime) would do the same to what is written in C, yet breaks `time.sleep`, which waits
    by the monotonic clock until an absolute time.
    """
    right, right_ns = time.time, time.time_ns

    def off() -> int:
        return int(file.read_text())

    class _SameClass(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, _RIGHT)

    class Datetime(_RIGHT, metaclass=_SameClass):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:
            return _RIGHT.now(tz) + datetime.timedelta(seconds=off())

        @classmethod
        def utcnow(cls) -> datetime.datetime:
            return cls.now(datetime.UTC).replace(tzinfo=None)

    time.time = lambda: right() + off()
    time.time_ns = lambda: right_ns() + off() * 10**9
    datetime.datetime = Datetime  # type: ignore[misc]


_RIGHT = datetime.datetime

if "STOP_AT" in os.environ:
    assert os.environ["STOP_AT"] in crash_points.CrashPoint.__members__
    crash_points.listener = _stop
if "CLOCK_FILE" in os.environ:
    _set_clock(Path(os.environ["CLOCK_FILE"]))
