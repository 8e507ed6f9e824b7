"""The rules notice what is wrong: faults are planted in the engine, one at a time."""

from __future__ import annotations

import pytest

from tests.interleavings.planted import HISTORIES, PLANTED, Planted, hunt


@pytest.mark.heavy
@pytest.mark.parametrize("planted", [pytest.param(each, id=each.name.replace(" ", "-")) for each in PLANTED])
def test_a_planted_fault_is_noticed(planted: Planted) -> None:
    """Within so many histories a rule that speaks of it is broken, not just any."""
    assert hunt(planted) is not None, f"{HISTORIES} histories did not notice: {planted.name}"
