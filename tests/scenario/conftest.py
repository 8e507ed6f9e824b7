"""Whatever release a history ended with, the next test meets this one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_s3.gc import gc
from tests.scenario.processes import THIS


@pytest.fixture(autouse=True)
def this_release(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(gc, "workers", gc.workers)  # a program of a history is one thread
    yield
    THIS.install()
