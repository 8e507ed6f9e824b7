"""One group of a thousand small connectors, as a trial: `make torture ARGS="-k thousand"`."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import psutil
import pytest

from tests.airflow import test_group_runs, test_runs
from tests.airflow.test_group_runs import Group, tasks
from tests.airflow.test_runs import MINUTE, NINE, TEN, lines

bench, group = test_runs.bench, test_group_runs.group
pytestmark = pytest.mark.filterwarnings("ignore")
MEMBERS = int(os.environ.get("MEMBERS", "1000"))
#: Open files, beside those that a process has before: of 16 members at once, and their ranges.
FILES_MAX = 400


class Watch:
    """What this process and those below it have open and take, while a run goes on; it has the tasks itself."""

    def __init__(self) -> None:
        self.own, self.drivers, self.drivers_mb = 0, 0, 0.0
        self._done = threading.Event()
        self._process = psutil.Process()

    def __enter__(self) -> Watch:
        self._before, self._began, self._cpu_s = self._process.num_fds(), time.monotonic(), self._used_s()
        self._thread = threading.Thread(target=self._look_on, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        self.wall_s, self.cpu_s = time.monotonic() - self._began, self._used_s() - self._cpu_s

    def _used_s(self) -> float:
        """This process's, and that of drivers that have ended."""
        times = os.times()
        return times.user + times.system + times.children_user + times.children_system

    def _look_on(self) -> None:
        while not self._done.wait(0.2):
            self.own = max(self.own, self._process.num_fds() - self._before)
            for each in self._process.children(recursive=True):
                try:
                    if "export.py" in " ".join(each.cmdline()):
                        self.drivers = max(self.drivers, each.num_fds())
                        self.drivers_mb = max(self.drivers_mb, each.memory_info().rss / 1e6)
                except psutil.Error:  # it ended meanwhile
                    continue

    def __str__(self) -> str:
        return (
            f"{self.wall_s:.0f} s, {self.cpu_s:.0f} CPU s with Airflow's; open files: {self.own} of the tasks,"
            f" {self.drivers} of the driver, which had {self.drivers_mb:.0f} MB"
        )


@pytest.mark.trial
@pytest.mark.timeout(3600)
def test_a_group_of_a_thousand(group: Group, capfd: pytest.CaptureFixture[str]) -> None:
    """All are exported and announced by one driver in one run, with few open files; then nothing is new."""
    folder: Path = group.bench.folder / "connectors"
    names = [f"m{number:04}" for number in range(MEMBERS)]
    for name in names:
        group.add(name, records=lines(0, 10))
    assert len(list(folder.iterdir())) == MEMBERS
    for at, expected in ((NINE, tasks()), (TEN + MINUTE, tasks(export="skipped"))):
        with Watch() as watch:
            run = group.run(at)
        with capfd.disabled():
            print(f"\n{MEMBERS} members, export {expected['export']}: {watch}")  # noqa: T201  # for whoever tries it
        assert run.tasks == expected
        assert max(watch.own, watch.drivers) < FILES_MAX
    assert [name for name in names if group.committed(name) != [(10, False)]] == []
    assert group.bench.starts_of_spark() == 0
