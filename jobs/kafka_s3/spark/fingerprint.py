"""Which engine is this? A driver imports it from beside its script, a worker what is installed: they must agree."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

from kafka_s3 import __version__


@functools.cache
def fingerprint() -> str:
    """`<version>+<sha256 over the engine's source files, 12 digits>`."""
    root = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        if path.name == "export_job.py":  # the wheel's copy of jobs/export.py
            continue
        digest.update(path.relative_to(root).as_posix().encode() + b"\0")
        digest.update(path.read_bytes())
    return f"{__version__}+{digest.hexdigest()[:12]}"
