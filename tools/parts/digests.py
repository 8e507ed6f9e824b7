"""What is downloaded is what was meant: the SHA-256 of every file, kept in digests.txt beside this module."""

import functools
import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from tools.parts.errors import PartError

KEPT: Final = Path(__file__).with_name("digests.txt")


@functools.cache
def kept() -> Mapping[str, str]:
    """The digest of each file by its name. Two releases of one file have different names."""
    lines = (line.split() for line in KEPT.read_text().splitlines() if line and not line.startswith("#"))
    return {name: digest for digest, name in lines}


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check(found: Iterable[Path], copies: Path, digests: Mapping[str, str] | None = None) -> None:
    """Refuse files that are not the kept ones: `PartError`, and they are removed, below `copies` too.

    `copies`: where the downloader keeps its own, which it would take again.
    """
    expected = kept() if digests is None else digests
    wrong = [(path, sha256_of(path)) for path in found if expected.get(path.name) != sha256_of(path)]
    for path, _ in wrong:
        path.unlink()
        for copy in copies.rglob(path.name):
            copy.unlink()
    if wrong:
        lines = "\n".join(f"    {path.name}: {has}, expected {expected.get(path.name, 'none')}" for path, has in wrong)
        raise PartError(
            f"{len(wrong)} downloaded files do not have the SHA-256 of {KEPT.name} and were removed:\n{lines}\n"
            "Run the same command again. If it stays so, what the repository or a mirror serves was changed. For a new"
            f" version on purpose, write the digests that its publisher states into {KEPT}."
        )
