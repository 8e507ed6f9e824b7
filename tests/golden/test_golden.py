"""What the exporter writes and says is what it was when the digests were made."""

from __future__ import annotations

import pytest

from tests.golden.golden import committed, digests, group_of, groups

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.mark.parametrize("group", groups())
def test_every_byte_is_as_it_was(group: str) -> None:
    """Objects, documents and answers of each case have the committed digest; `golden` says how to read a difference."""
    before = {name: found for name, found in committed().items() if group_of(name) == group}
    now = digests(group)
    differ = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
    assert differ == [], f"{len(differ)} cases differ: see tests/golden/golden.py"


def test_every_digest_has_its_case() -> None:
    """A case that is taken out takes its lines with it."""
    assert {group_of(name) for name in committed()} == set(groups())
