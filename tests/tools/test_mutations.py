"""`make mutations` as far as it takes no time: what it would change is there."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tools.mutations import MUTATIONS, ROOT, Edit, Mutation


def copied(edits: tuple[Edit, ...], to: Path) -> Path:
    for path in {edit.path for edit in edits}:
        (to / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, to / path)
    return to


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_what_a_mutation_replaces_is_there(mutation: Mutation, tmp_path: Path) -> None:
    """Each wrong change fits the code as it is, and makes Python of it."""
    copied(mutation.edits, tmp_path)
    for edit in mutation.edits:
        edit.apply(tmp_path)
    for path in {edit.path for edit in mutation.edits}:
        text = (tmp_path / path).read_text()
        assert text != (ROOT / path).read_text()
        compile(text, path, "exec")


def test_a_mutation_whose_text_is_gone_is_no_success(tmp_path: Path) -> None:
    """It says which text is missing, and ends."""
    edit = Edit("Makefile", "text that nobody wrote", "")
    with pytest.raises(SystemExit, match="text that nobody wrote"):
        edit.apply(copied((edit,), tmp_path))
