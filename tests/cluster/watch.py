"""What every process was started with, while an installation runs."""

import threading

import psutil


class Watch(threading.Thread):
    """Looks at every process under this one, several times a second, until it is told to end."""

    def __init__(self, worker_pid: int) -> None:
        super().__init__(daemon=True)
        self.commands: set[str] = set()
        self.executors: dict[str, str] = {}  # command line -> environment, of all that the Spark worker started
        self._worker_pid = worker_pid
        self._ended = threading.Event()

    def run(self) -> None:
        while not self._ended.wait(0.2):
            for process in psutil.Process().children(recursive=True):
                try:
                    command = " ".join(process.cmdline())
                    self.commands.add(command)
                    if self._worker_pid in [parent.pid for parent in process.parents()]:
                        self.executors[command] = str(process.environ())
                except (psutil.NoSuchProcess, psutil.ZombieProcess, psutil.AccessDenied):
                    continue

    def end(self) -> None:
        self._ended.set()
        self.join()
