"""The pages are in plain American English: short sentences, none of the constructions that tools/language.py names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.house.pages import name_of
from tools.language import BANNED, findings, pages


@pytest.mark.parametrize("path", pages(), ids=name_of)
def test_a_page_is_in_plain_english(path: Path) -> None:
    """`python -m tools.language` prints the same, page by page."""
    assert [*findings(path.read_text(), is_numbered=path.name == "guarantees.md")] == []


@pytest.mark.parametrize(
    "text",
    [
        "Who would rather have one table sets this.",
        "It is no record.",
        "A DAG of one's own.",
        "A needless property.",
        "A property that is honoured.",
        "The connector needs somebody.",
        "Without more, it stops.",
        "All but for the last.",
        "In spite of that it goes on.",
        "For zsh the same goes for fish.",
        "Its behaviour differs.",
        "Names are normalised and recognised.",
        "A run that was cancelled.",
    ],
)
def test_each_construction_is_found(text: str) -> None:
    """One finding at least, in a paragraph, an item and a cell."""
    assert [*findings(text)]
    assert [*findings(f"- {text}")]
    assert [*findings(f"| a | {text} |")]


def test_words_are_counted_by_the_sentence() -> None:
    """30 words are fine, 31 are not; a name in code is one word; code, links' targets and tests' paths are none."""
    assert not [*findings(f"{'word ' * 29}`a b c d`.\n\n```sh\n{'word ' * 60}\n```\n")]
    assert [line for line, _ in findings(f"First.\n\n{'word ' * 30}[word](a/b/c.md).")] == [3]
    assert not [*findings(f"{'word ' * 29}word (`tests/a/test_b.py::test_c`). More words.")]


def test_there_are_as_many_examples_as_constructions() -> None:
    """A construction that is added gets an example above."""
    assert len(BANNED) == 13
