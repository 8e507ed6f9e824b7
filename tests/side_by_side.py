"""Which tests run in one process, in order, where several processes share the work (`pytest -n`).

Tests of one file do: they share what the file starts. Tests of some folders do, since they share an Airflow, a cluster
or a page that takes longer to start than a test to run. The longest groups are handed out first, so that none of them
is left for one process at the end.
"""

from __future__ import annotations

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

#: Folders whose tests share an installation that takes a minute to start.
SHARED = ("tests/scheduler",)
#: The longest groups, by what they take in CI.
LONGEST: tuple[str, ...] = ("tests/scheduler",)


def group_of(nodeid: str) -> str:
    """
    >>> group_of("tests/scheduler/test_intervals.py::test_late"), group_of("tests/export/test_gc.py::test_age[1]")
    ('tests/scheduler', 'tests/export/test_gc.py')
    """
    file = nodeid.partition("::")[0]
    return next((folder for folder in SHARED if file.startswith(f"{folder}/")), file)


def rank(nodeid: str) -> int:
    """Where a test's group stands among all, 0 for the first."""
    group = group_of(nodeid)
    return LONGEST.index(group) if group in LONGEST else len(LONGEST)


class Groups(LoadScopeScheduling):
    """Hands out whole groups, in the order in which they were collected."""

    def __init__(self, config: pytest.Config, log: Producer) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)
