"""Whether a window is exported: its newest entry alone says so."""

from __future__ import annotations

from dataclasses import dataclass

from kafka_s3.log.entries import Kind
from kafka_s3.log.store import Committed


@dataclass(frozen=True, slots=True)
class OpenWindow:
    """A window that is to be exported: it has no entry, or the newest one, `head`, voided its plan or withdrew it."""

    head: Committed | None


@dataclass(frozen=True, slots=True)
class CommittedWindow:
    """A window that is exported. It stays as `commit` has it until it is withdrawn."""

    commit: Committed


def window_state(head: Committed | None) -> OpenWindow | CommittedWindow:
    """The state that a window's newest entry leaves it in."""
    return CommittedWindow(head) if head is not None and head.entry.kind is Kind.COMMIT else OpenWindow(head)
