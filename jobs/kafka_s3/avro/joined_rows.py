"""Rows of bytes that stand one after the other."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, overload


class Joined(Sequence[bytes]):
    """Rows one after the other in `data`, each cut out once it is asked for. `ends`: where each ends, an array."""

    def __init__(self, data: bytes, ends: Any) -> None:
        self.data = data
        self.ends = ends

    def __len__(self) -> int:
        return len(self.ends)

    def sizes(self) -> list[int]:
        return [end - start for start, end in itertools.pairwise([0, *self.ends.tolist()])]

    def together(self, first: int, last: int) -> bytes:
        """The bytes of rows `[first, last)`."""
        return self.data[self._start(first) : self._start(last)]

    def _start(self, row: int) -> int:
        return int(self.ends[row - 1]) if row else 0

    @overload
    def __getitem__(self, place: int) -> bytes: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[bytes]: ...
    def __getitem__(self, place: int | slice) -> bytes | Sequence[bytes]:
        if isinstance(place, slice):
            start, stop, step = place.indices(len(self))
            assert step == 1, "rows are taken as they stand"
            return Joined(self.together(start, max(start, stop)), self.ends[start:stop] - self._start(start))
        row = range(len(self))[place]
        return self.together(row, row + 1)


def together(rows: Sequence[bytes], first: int, last: int) -> bytes:
    """The bytes of rows `[first, last)`."""
    return rows.together(first, last) if isinstance(rows, Joined) else b"".join(rows[first:last])


def sizes_of(rows: Sequence[bytes]) -> list[int]:
    return rows.sizes() if isinstance(rows, Joined) else list(map(len, rows))
