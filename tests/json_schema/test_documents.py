"""docs/json-schema.md says what is so: its tests exist, its options are the converter's, with their defaults."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path

from kafka_s3.json_schema.options import Options

FOLDER = Path(__file__).parent
TEXT = (FOLDER.parents[1] / "docs" / "json-schema.md").read_text()


def test_the_tests_that_it_names_exist() -> None:
    """Each `file::test` is a test, and each test of the mapping and of an option is named."""
    named = set(re.findall(r"`(test_\w+\.py)::(test_\w+)`", TEXT))
    there = {
        (path.name, name)
        for path in FOLDER.glob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(), re.M)
    }
    assert named <= there
    assert {each for each in there if each[0] == "test_mapping.py"} <= named
    for file in re.findall(r"`(test_\w+\.py)`", TEXT):
        assert (FOLDER / file).exists()


def test_the_options_are_the_converters() -> None:
    """Every option has a row with its default, and no other has one."""
    rows = dict(re.findall(r"^\| `([a-z0-9.]+)` \| `(true|false)` \|", TEXT, re.M))
    assert rows == {name.replace("_", "."): str(value).lower() for name, value in asdict(Options()).items()}
