"""Processes that do not outlive us, and ports that stay ours."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tools.parts.errors import PartError

HOST = "127.0.0.1"
LOG_TAIL_LINES = 30
POLL_S = 0.03
_KEPT_VARIABLES = (
    *("PATH", "HOME", "TMPDIR", "LANG", "SSL_CERT_FILE", "JAVA_TOOL_OPTIONS"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
    *("GOPROXY", "GOFLAGS", "GOPATH", "GOTOOLCHAIN", "GOSUMDB", "GONOSUMDB", "GOCACHE", "GOMODCACHE"),
)
GUARD = Path(__file__).with_name("guard.py")


class ReservedPort:
    """A free port of 127.0.0.1 that nobody else is given while this object is open.

    On Linux a bound socket that does not listen keeps the port from being handed out, while a server that sets
    SO_REUSEADDR (Java's, Go's and Python's do) can still listen on it, again and again. Elsewhere the port is only
    probable, and whoever starts a server on it has to try again with another.
    """

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.bind((HOST, 0))
        self.number: int = self._socket.getsockname()[1]
        if sys.platform == "linux":
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        else:
            self._socket.close()

    def close(self) -> None:
        """Give the port back."""
        self._socket.close()


class UntilStopped(ABC):
    """A context manager whose end is `stop()`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    @abstractmethod
    def stop(self) -> None: ...


class Part(UntilStopped):
    """A server in a process of its own with a temporary folder of its own; subclasses say how it is started.

    Usable as a context manager. `folder` holds its data and its log and is removed by `stop()`, or by the guard when
    this process ends without it.
    """

    name = "part"

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=f"kafka-s3-{self.name}-"))
        self.log = self.folder / f"{self.name}.log"
        self.pid = 0
        self._guard: subprocess.Popen[bytes] | None = None

    def stop(self) -> None:
        """End the process and remove its folder; harmless when repeated."""
        self._terminate()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def is_running(self) -> bool:
        """Whether the process exists."""
        return self._guard is not None and self._guard.poll() is None

    def suspend(self) -> None:
        """Stop the process where it stands (SIGSTOP): its clients see a server that is silent, not one that is gone."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a suspended process go on."""
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kill the process at once, as a crash would; its folder stays. Harmless when it is not running."""
        if self.is_running:
            self._signal(signal.SIGKILL)
            self._wait(timeout_s=30)

    def log_tail(self) -> str:
        """The last lines of the log, indented, for an error message."""
        with contextlib.suppress(OSError):
            lines = self.log.read_text(errors="replace").splitlines()[-LOG_TAIL_LINES:]
            return "\n".join(f"    {line}" for line in lines) or "    (empty)"
        return "    (no log)"

    def _launch(self, command: Sequence[str | Path], environment: Mapping[str, str]) -> None:
        """Start the command under a guard, with exactly this environment."""
        with open(self.log, "ab") as log:
            self._guard = subprocess.Popen(
                [sys.executable, "-I", "-S", GUARD, str(os.getpid()), self.folder, *command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env=dict(environment),
                cwd=self.folder,
                start_new_session=True,  # Ctrl-C is for us; we stop the part when we are done with it
            )
        assert self._guard.stdout is not None
        with self._guard.stdout as pipe:
            line = pipe.readline()
        if not line:
            self._wait(timeout_s=30)
            raise PartError(f"{self.name}: could not run {command[0]}. The log's end:\n{self.log_tail()}")
        self.pid = int(line)

    def _await(self, is_ready: Callable[[], bool], timeout_s: float) -> None:
        """Return once `is_ready` says so; raise PartError with the log's end when the process ends or time is up."""
        deadline = time.monotonic() + timeout_s
        while not is_ready():
            if not self.is_running:
                raise PartError(f"{self.name} ended while starting. The end of its log:\n{self.log_tail()}")
            if time.monotonic() > deadline:
                raise PartError(
                    f"{self.name} (process {self.pid}) did not answer within {timeout_s:.0f} s. "
                    f"Is the machine overloaded? The end of its log:\n{self.log_tail()}"
                )
            time.sleep(POLL_S)

    def _terminate(self, grace_s: float = 10) -> None:
        """Ask the process to end, then make it."""
        if self.is_running:
            self._signal(signal.SIGTERM)
            self._signal(signal.SIGCONT)
            try:
                self._wait(grace_s)
            except subprocess.TimeoutExpired:
                self.kill()

    def _signal(self, number: signal.Signals) -> None:
        if self.is_running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def _wait(self, timeout_s: float) -> None:
        assert self._guard is not None
        self._guard.wait(timeout_s)


def accepts_connections(port: int) -> bool:
    """Whether something listens on a port of 127.0.0.1."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        return probe.connect_ex((HOST, port)) == 0


def child_environment(**extra: str) -> dict[str, str]:
    """A small environment for a part: where programs and homes are, and how to reach the network; nothing else."""
    return {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ} | extra
