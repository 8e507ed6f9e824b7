"""A topic of dead letters in memory."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from kafka_s3.dead_letter import DeadLetter


class MemoryDeadLetters:
    """A `LetterSink` that keeps what it is sent, in order. `sends`: how often that was anything at all."""

    def __init__(self) -> None:
        self.sent: list[DeadLetter] = []
        self.sends = 0
        self.closed = False
        self._failures: list[tuple[int, Exception] | None] = []

    def fail_next(self, error: Exception, *, after: int = 0, skip: int = 0) -> None:
        """The next `send`, after `skip` that do not, fails once it has taken `after` letters, which are there
        nevertheless; calls queue up."""
        self._failures += [*[None] * skip, (after, error)]

    def send(self, letters: Iterable[DeadLetter]) -> None:
        assert not self.closed, "closed"
        after, error = (self._failures.pop(0) if self._failures else None) or (None, None)
        taken = list(itertools.islice(letters, after))
        self.sends += bool(taken)
        self.sent += taken
        if error is not None:
            raise error

    def close(self) -> None:
        self.closed = True
