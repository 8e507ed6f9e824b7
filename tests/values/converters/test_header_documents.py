"""docs/headers.md says what is so: its examples are what is written, its tests exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kafka_s3.values.converters.header_texts import simple_text

FOLDER = Path(__file__).parent
TEXT = (FOLDER.parents[2] / "docs" / "headers.md").read_text()
EXAMPLES = TEXT.partition("| header | written |\n|---|---|\n")[2].partition("\n\n")[0].splitlines()
SPAN = re.compile(r"`([^`]+)`")


@pytest.mark.parametrize("row", EXAMPLES, ids=range(len(EXAMPLES)))
def test_each_example_is_what_is_written(row: str) -> None:
    """The texts on the left become those on the right, in their order, or stay as they are, or are no value."""
    _, left, right, _ = row.split("|")
    headers, written = SPAN.findall(left), [*SPAN.findall(right)]
    if "as they are" in right:
        written = headers
    made = [simple_text(each.encode()) for each in headers]
    assert made == ([None] if "no value" in right else written)
    assert len(EXAMPLES) == 9


def test_its_tests_exist() -> None:
    """Every test that the page names is one of the two modules' that it names."""
    source = "".join((FOLDER / f"test_header_{name}.py").read_text() for name in ("oracle", "values"))
    named = re.findall(r"`(test_\w+)`", TEXT)
    assert len(named) == 4
    assert [each for each in named if f"def {each}(" not in source] == []
