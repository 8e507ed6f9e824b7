"""Which test proves which statement: the footnotes of the pages, and the numbered guarantees, in one table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

DOCS: Final = Path(__file__).resolve().parents[2] / "docs"
_NOTE: Final = re.compile(r"^\[\^(\w+)\]: (.+)$", re.M)
_CODE: Final = re.compile(r"^( *)```.*?^\1```$", re.M | re.S)


def reference() -> str:
    """A row for each statement with a footnote, page by page."""
    rows = [f"| {page} | {statement} | {tests} |\n" for page, statement, tests in _all()]
    return f"| page | statement | tests |\n|---|---|---|\n{''.join(rows)}"


def _all() -> Iterator[tuple[str, str, str]]:
    for path in sorted(DOCS.rglob("*.md")):
        text = path.read_text()
        notes = dict(_NOTE.findall(text))
        title = re.match(r"# (.+)", text)
        link = f"[{title[1] if title else path.stem}]({'../' + str(path.relative_to(DOCS))})"
        body = _CODE.sub("", _NOTE.sub("", text))
        for found in re.finditer(r"\[\^(\w+)\]", body):
            yield link, _statement(body[: found.start()]), notes[found[1]]


def _statement(before: str) -> str:
    """The sentence in front of a footnote, on one line and without links."""
    paragraph = re.split(r"\n\n|\n *(?:[-*]|\d+\.) |^#.*\n", before, flags=re.M)[-1]
    sentences = re.split(r"(?<=[.;])(?:\[\^\w+\])?\s+", " ".join(paragraph.split()))
    said = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", sentences[-1])
    return re.sub(r"\[\^\w+\]", "", said).replace("**", "").replace("|", "\\|").strip()
