"""What a check found wrong, in words for somebody who has to act on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

FINDINGS_MAX: Final = 1000  # kept; more are only counted: about 1 KiB each
RESTORE: Final = "Restore it from the bucket's versions or a backup; the log is never edited by hand."
STRANGE: Final = "The exporter never writes this: keep the bucket as it is and report it."


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it should be. `where` is a key or a range."""

    where: str
    expected: str
    found: str
    next: str

    def __str__(self) -> str:
        return f"{self.where}: expected {self.expected}, found {self.found}. {self.next}"


@dataclass(slots=True)
class Findings:
    """Collects findings, up to a limit. `entries_unknown`: log entries that are missing or cannot be believed."""

    kept: list[Finding] = field(default_factory=list)
    count: int = 0
    entries_unknown: int = 0

    def add(self, where: str, *, expected: str, found: str, next: str) -> None:
        self.put(Finding(where, expected, found, next))

    def put(self, finding: Finding) -> None:
        self.count += 1
        if len(self.kept) < FINDINGS_MAX:
            self.kept.append(finding)
