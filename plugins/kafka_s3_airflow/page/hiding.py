"""What no answer of the page shows: where the connectors' files lie, and what variables in them stand for."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

MASK: Final = "***"
#: Shorter ones are parts of too many words. Airflow's own mask of secrets has the same limit.
LENGTH_MIN: Final = 5


def concealed(value: Any, folder: Path, secrets: Collection[str]) -> Any:
    """A value of lists, dictionaries and texts, with both of them replaced in every text.

    >>> concealed({"why": ["/there/a.json is wrong", "no host swordfish"]}, Path("/there"), {"swordfish"})
    {'why': ['a.json is wrong', 'no host ***']}
    """
    longest_first = sorted((each for each in secrets if len(each) >= LENGTH_MIN), key=len, reverse=True)

    def conceal(inner: Any) -> Any:
        if isinstance(inner, dict):
            return {name: conceal(each) for name, each in inner.items()}
        if isinstance(inner, list | tuple):
            return [conceal(each) for each in inner]
        return _text(inner, folder, longest_first) if isinstance(inner, str) else inner

    return conceal(value)


def _text(text: str, folder: Path, secrets: Collection[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, MASK)
    return text.replace(f"{folder}/", "").replace(str(folder), "the folder of connectors")
