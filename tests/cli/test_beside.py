"""What lies beside the values, and the glob that readers of a plain listing are told to use."""

from __future__ import annotations

import fnmatch
import re
from pathlib import Path

from tests.cli.command import PLAIN, call, write_properties
from tests.export.bad_records import TEN, BadRecordExport
from tests.write.members import HEADERS, KEYS, WRITE, record, settings_with

BESIDE = {**KEYS, **HEADERS, **WRITE}


def _note(tmp_path: Path, more: dict[str, str]) -> str:
    said = call("validate", write_properties(tmp_path / "orders.properties", {**PLAIN, **more})).stdout
    return next((line for line in said.splitlines() if line.startswith("Note: beside the values")), "")


def test_validate_says_what_lies_beside_the_values(tmp_path: Path) -> None:
    """Keys, headers, tombstones and markers are named with the glob; where nothing lies there nothing is said."""
    note = _note(tmp_path, BESIDE)
    for each in (".keys", ".headers", "tombstone/", "*[0-9].json"):
        assert each in note
    assert _note(tmp_path, {}) == ""


def test_the_glob_matches_values_alone(tmp_path: Path) -> None:
    """Of all that an export writes, tombstones included, it matches the objects whose records are the values."""
    glob = re.search(r"\*\[0-9\]\S+", _note(tmp_path, BESIDE))
    assert glob is not None
    world = BadRecordExport(settings_with(PLAIN, BESIDE, TEN))
    headers = (("h", b"1"),)
    world.produce(
        *(record(offset, value, headers=headers) for offset, value in enumerate([b'{"n":1}', None, b'{"n":2}']))
    )
    assert world.run().exit_status == 0
    keys = [key for key in world.store.contents() if key.startswith("topics/")]
    listed = {made.key for entry in world.entries() for done in entry.ranges for made in done.objects}
    matched = {key for key in keys if fnmatch.fnmatch(key, glob[0])}
    assert len(keys) > len(matched) > 0
    assert matched == {key for key in listed if "/tombstone/" not in key}
