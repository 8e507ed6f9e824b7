"""What errors say and what to do about them: read from the places in the source that raise them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kafka_s3 import errors

_ENGINE: Final = Path(errors.__file__).parent
_KINDS: Final = frozenset(name for name, value in vars(errors).items() if isinstance(value, type))


def reference() -> str:
    """A table for each class of error: what it says, and what to do."""
    found = sorted(set(_all()))
    parts = []
    for kind in sorted({kind for kind, _, _ in found}):
        rows = [f"| {_cell(what)} | {_cell(next_)} |\n" for each, what, next_ in found if each == kind]
        parts.append(f"## {kind}\n\n| message | what to do |\n|---|---|\n{''.join(rows)}")
    return "\n".join(parts)


def _all() -> Iterator[tuple[str, str, str]]:
    for path in sorted(_ENGINE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _KINDS):
                continue
            what = _text(node.args[0]) if node.args else None
            said = next((each.value for each in node.keywords if each.arg == "next"), None)
            next_ = _text(said) if said is not None else None
            if what and next_ and all(re.search(r"\w{3}", text) for text in (what, next_)):
                yield node.func.id, what, next_


def _text(node: ast.expr) -> str | None:
    """A literal's text, with … for what is only known when it is raised."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=values):
            return "".join(_text(each) or "…" for each in values)
        case ast.IfExp(body=body, orelse=orelse):
            return _text(body) or _text(orelse)
    return None


def _cell(text: str) -> str:
    """One line of Markdown that shows the text as it is, with links to the pages that it names."""
    shown = re.sub(r"…( ?…)+", "…", " ".join(text.split())).replace("<", "&lt;")
    escaped = re.sub(r"([|*_\[\]])", r"\\\1", shown)
    return re.sub(r"docs/([\w/-]+\.md(?:#[\w-]+)?)", r"[\g<0>](../\1)", escaped)
