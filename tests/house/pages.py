"""The pages of the documentation, as the tests that read them see them."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
DOCS: Final = ROOT / "docs"
#: Every page that a reader may open, README among them.
PAGES: Final = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def page(path: str) -> str:
    """The text of one page below docs/."""
    return (DOCS / path).read_text()


def section(path: str, title: str) -> str:
    """The text of one section of a page."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", page(path), re.M | re.S)
    assert found is not None, f"docs/{path} has no section {title}"
    return found[1]


def blocks(text: str, language: str) -> list[str]:
    """What stands between fences of one language, in lists too."""
    return [textwrap.dedent(each) for each in re.findall(rf"^ *```{language}\n(.*?)^ *```", text, re.M | re.S)]


def name_of(path: Path) -> str:
    """A page's name in the words of whoever reads a failure."""
    return str(path.relative_to(ROOT))
