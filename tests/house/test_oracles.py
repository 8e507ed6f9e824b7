"""docs/oracles.md: its tests exist, and the numbers of cases that it says are theirs."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.house.pages import ROOT
from tests.house.test_house_documents import rows

ROWS = rows(ROOT / "docs/oracles.md", "what")


def numbers_near(file: Path) -> set[int]:
    """Whole numbers in a test file, and in the modules of its folder that it imports."""
    tree = ast.parse(file.read_text())
    found = {each.value for each in ast.walk(tree) if isinstance(each, ast.Constant) and type(each.value) is int}
    for each in ast.walk(tree):
        beside = ROOT / (
            f"{each.module.replace('.', '/')}.py" if isinstance(each, ast.ImportFrom) and each.module else ""
        )
        if beside.is_file() and beside.parent == file.parent:
            found |= numbers_near(beside)
    return found


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_comparison_is_as_the_page_says(row: list[str]) -> None:
    """Its test is there, and has as many cases."""
    _, _, cases, _, test = row
    path, _, name = test.strip("`").partition("::")
    file = ROOT / path
    assert name in {each.name for each in ast.parse(file.read_text()).body if isinstance(each, ast.FunctionDef)}
    if cases != "a table":
        assert int(cases.replace(",", "")) in numbers_near(file)


def test_the_page_has_every_oracle() -> None:
    """Each program that asks Java's classes is behind a row."""
    programs = {each.stem for each in (ROOT / "tools/connect").glob("*Oracle.java")}
    assert len(programs) == 6, "a new oracle needs a row"
    assert len(ROWS) > 12
