"""The language of the pages: plain American English, short sentences, no translated constructions.

`python -m tools.language` prints what it finds, `file:line: what`, and ends with 1 if there is anything. It reads what
people wrote: not code, and not what `python -m tools.reference` makes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
WORDS_MAX: Final = 30

#: A construction, and what to write instead.
BANNED: Final = {
    r"\b[Ww]ho(?:ever)? would rather": "to …, set …",
    r"(?<!here )\b(?:is|are) no (?!longer|more\b|other|second|part|such)[a-z]+": "is not a …",
    r"\b[Oo]ne's own\b": "your own",
    r"\bneedless\b": "ignored, unnecessary",
    r"\bhono[u]?red\b": "supported",
    r"\bneeds? somebody\b": "needs attention",
    r"\b[Ww]ithout more,": "by default",
    r"\bbut for (?!a\b)": "except",
    r"\b[Ii]n spite of\b": "despite",
    r"\bthe same goes for\b": "so do …",
    r"\b(?:behaviour|colour|favour|neighbour|labour|honour)s?\b": "American spelling: -or",
    r"\b\w{3,}(?:alisation|alised|alise|ognised|ognise|anised|anise|itialise)\b": "American spelling: -ize",
    r"\b(?:cancelled|modelled|labelled|travelled|labelling|centre|licence|whilst|amongst)\b": "American spelling",
}
_MADE: Final = re.compile(r"<!-- ([a-z ]+): python -m tools\.reference -->.*?<!-- end of \1 -->", re.S)
_CODE: Final = re.compile(r"^( *)```.*?^\1```$", re.M | re.S)
_FRONT: Final = re.compile(r"^(?:[-*] |\d+\. |#+ |> |\||\[\^)")
_ENDS: Final = re.compile(r"(?<=[.?!;])(?:\*\*)?\s+")


def pages() -> list[Path]:
    """What is checked: README, the pages of docs/, and what a stranger reads first."""
    top = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md")
    return [ROOT / name for name in top if (ROOT / name).exists()] + sorted((ROOT / "docs").rglob("*.md"))


def findings(text: str, *, is_numbered: bool = False) -> Iterator[tuple[int, str]]:
    """Line and finding; `is_numbered`: its numbered statements are not counted by words."""
    for line, paragraph in _paragraphs(text.partition("\n## Words that do not come back\n")[0]):
        for pattern, instead in BANNED.items():
            for found in re.finditer(pattern, paragraph):
                yield line, f"“{found[0]}”: {instead}"
        if paragraph.startswith("[^") or (is_numbered and re.match(r"\d+\. ", paragraph)):
            continue
        for sentence in _sentences(paragraph):
            words = len(re.findall(r"[\w'’…-]+", sentence))
            if words > WORDS_MAX:
                yield line, f"{words} words, at most {WORDS_MAX}: {sentence[:60]}…"


def _paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Each paragraph, item, heading or cell with its line, without code."""
    blank = _CODE.sub(_lines_alone, _MADE.sub(_lines_alone, text))
    lines: list[str] = []
    began = 1
    for number, line in enumerate([*blank.split("\n"), ""], 1):
        stripped = line.strip()
        if lines and (not stripped or _FRONT.match(stripped)):
            yield began, _plain(" ".join(lines))
            lines = []
        if stripped.startswith("#"):
            yield number, _plain(stripped.lstrip("# "))
        elif stripped.startswith("|"):
            yield from ((number, _plain(cell)) for cell in stripped.strip("|").split(" | "))
        elif stripped:
            began = number if not lines else began
            lines.append(stripped)


def _lines_alone(found: re.Match[str]) -> str:
    return "\n" * found[0].count("\n")


def _plain(text: str) -> str:
    """Without what Markdown adds: a name in code is one word, a link its text, a test's path nothing."""
    text = re.sub(r"\s*\(?(?:`tests/[^`]*`(?:, | and )?)+\)?", "", text)
    text = re.sub(r"`[^`]*`", "code", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\[\^[\w-]+\]", "", text)
    return text.replace("**", "")


def _sentences(paragraph: str) -> list[str]:
    return [each for each in _ENDS.split(paragraph) if each]


def main() -> int:
    """Print every finding."""
    count = 0
    for path in pages():
        for line, what in findings(path.read_text(), is_numbered=path.name == "guarantees.md"):
            print(f"{path.relative_to(ROOT)}:{line}: {what}")
            count += 1
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main())
