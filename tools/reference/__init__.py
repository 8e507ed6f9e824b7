"""The pages of the reference that are made from the engine's own tables: `python -m tools.reference` writes them anew.

A part of a page stands between `<!-- NAME: python -m tools.reference -->` and `<!-- end of NAME -->`; people write what
stands around it.

- `properties`: every property of a connector.
- `commands`: every command with its options.
- `tables`: metrics, exit statuses, a run's events.
- `proofs`: which test proves which statement of the pages.
- `messages`: what errors say and what to do, read from the source.
- `examples`: the connectors of examples/, in full.
- `entry`: the JSON schema of a log entry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from tools.reference import commands, entry, examples, messages, proofs, properties, tables

DOCS: Final = Path(__file__).resolve().parents[2] / "docs"
SCHEMA: Final = DOCS / "schema" / "entry.json"

#: By page below docs/: the name of its part, and what makes it.
PARTS: Final[Mapping[str, tuple[str, Callable[[], str]]]] = {
    "reference/properties.md": ("properties", properties.reference),
    "reference/commands.md": ("commands", commands.reference),
    "reference/metrics.md": ("metrics", tables.metrics_reference),
    "reference/exit-statuses.md": ("exit statuses", tables.statuses_reference),
    "reference/events.md": ("events", tables.events_reference),
    "reference/messages.md": ("messages", messages.reference),
    "reference/proofs.md": ("proofs", proofs.reference),
    "reference/examples.md": ("examples", examples.reference),
}


def made(path: str) -> str:
    """A page's text with its part as it is now."""
    text = (DOCS / path).read_text()
    name, reference = PARTS[path]
    before, begin, rest = text.partition(f"<!-- {name}: python -m tools.reference -->\n")
    _, end, after = rest.partition(f"<!-- end of {name} -->")
    if not begin or not end:
        raise SystemExit(f"docs/{path} has no place for its part: <!-- {name}: … --> … <!-- end of {name} -->")
    return f"{before}{begin}{reference()}{end}{after}"


def stale() -> dict[Path, str]:
    """Every file that is not what the engine's tables say now, and what it should be."""
    wanted = {DOCS / path: made(path) for path in PARTS} | {SCHEMA: entry.schema_text()}
    return {path: text for path, text in wanted.items() if not path.exists() or path.read_text() != text}
