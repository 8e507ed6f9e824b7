"""Which engine is this? Driver and workers import it from where each has it, folder or zip: they must agree."""

from __future__ import annotations

import functools
import hashlib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kafka_s3 import __version__

#: The wheel's copy of jobs/export.py, which a checkout has beside the package.
_LEFT_OUT: Final = "export_job.py"


@functools.cache
def fingerprint() -> str:
    """`<version>+<sha256 over the engine's source files, 12 digits>`; the same from a folder and from a zip."""
    return f"{__version__}+{digest_of(Path(__file__).parents[1])[:12]}"


def digest_of(package: Path) -> str:
    """SHA-256 over the names and contents of a package's source files; `package` may lie inside a zip."""
    digest = hashlib.sha256()
    for name, content in sorted(_sources(package)):
        digest.update(name.encode() + b"\0" + len(content).to_bytes(8, "big") + content)
    return digest.hexdigest()


def _sources(package: Path) -> Iterator[tuple[str, bytes]]:
    if package.is_dir():
        files = ((path.relative_to(package).as_posix(), path) for path in package.rglob("*.py"))
        yield from ((name, path.read_bytes()) for name, path in files if name != _LEFT_OUT)
        return
    archive = next(parent for parent in package.parents if parent.is_file())  # `…/engine.zip/kafka_s3`
    folder = f"{package.relative_to(archive).as_posix()}/"
    with zipfile.ZipFile(archive) as members:
        for member in members.namelist():
            name = member.removeprefix(folder)
            if member.startswith(folder) and name.endswith(".py") and name != _LEFT_OUT:
                yield name, members.read(member)
