"""Whatever release a history ended with, the next test meets this one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.scenario.processes import THIS


@pytest.fixture(autouse=True)
def _this_release() -> Iterator[None]:
    yield
    THIS.install()
