"""Programs of histories (`tests.scenario.processes`) change the modules they meet; the next test meets this release."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_s3.export.garbage import gc
from tests.scenario.processes import THIS


@pytest.fixture(autouse=True)
def _this_release(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(gc, "workers", gc.workers)  # a program of a history is one thread
    yield
    THIS.install()
