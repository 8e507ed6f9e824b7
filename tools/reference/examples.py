"""The connectors of examples/ in full, each below what examples/README.md says of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

EXAMPLES: Final = Path(__file__).resolve().parents[2] / "examples"
_LANGUAGES: Final = {".json": "json", ".properties": "properties", ".yaml": "yaml"}


def reference() -> str:
    """A section for each file, in the order of examples/README.md."""
    sections = re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", (EXAMPLES / "README.md").read_text(), re.M | re.S)
    return "\n".join(_section(name, said.strip()) for name, said in sections)


def _section(name: str, said: str) -> str:
    file = EXAMPLES / name
    return f"## {name}\n{said}\n\n```{_LANGUAGES[file.suffix]}\n{file.read_text().strip()}\n```\n"
