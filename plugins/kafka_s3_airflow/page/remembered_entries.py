"""A bucket whose log entries are read once: they never change, and one that did has another time or size in a LIST."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, Final

from kafka_s3.ports import GET_BYTES_MAX, ObjectInfo, ObjectStore, check_size

#: Of all connectors. An entry of few objects is 1 to 2 KB, so that the newest 20 of 200 connectors fit.
KEPT_BYTES_MAX: Final = 32 * 1024 * 1024
ONE_BYTES_MAX: Final = 256 * 1024
#: A look reads the newest entries alone: a long log is not listed in full for them.
LISTED_FIRST: Final = 25

_Seen = tuple[int | None, int]  # when it was written, and its size


class EntriesKept:
    """The bytes of entries, those read longest ago going first. Memory: KEPT_BYTES_MAX."""

    def __init__(self, kept_max: int = KEPT_BYTES_MAX) -> None:
        self._kept_max = kept_max
        self._lock = threading.Lock()
        self._bodies: OrderedDict[tuple[str, str, _Seen], bytes] = OrderedDict()
        self._bytes = 0

    def get(self, key: tuple[str, str, _Seen]) -> bytes | None:
        with self._lock:
            body = self._bodies.get(key)
            if body is not None:
                self._bodies.move_to_end(key)
            return body

    def put(self, key: tuple[str, str, _Seen], body: bytes) -> None:
        if len(body) > ONE_BYTES_MAX:
            return
        with self._lock:
            self._bytes += len(body) - len(self._bodies.pop(key, b""))
            self._bodies[key] = body
            while self._bytes > self._kept_max:
                self._bytes -= len(self._bodies.popitem(last=False)[1])


class RememberedEntries:
    """An `ObjectStore` for one look at one log: an entry that the look listed is read at most once in the process.

    Everything else goes to the store that it stands before. `where` tells the bucket from others.
    """

    def __init__(self, store: ObjectStore, where: str, prefix: str, kept: EntriesKept) -> None:
        self._store = store
        self._where = where
        self._prefix = prefix
        self._kept = kept
        self._listed: dict[str, _Seen] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def list(self, prefix: str, *, start_after: str = "", limit: int | None = None) -> Iterator[ObjectInfo]:
        if limit is not None or not prefix.startswith(self._prefix):
            found = self._store.list(prefix, start_after=start_after, limit=limit)
        else:
            found = self._in_steps(prefix, start_after)
        for info in found:
            self._listed[info.key] = (info.modified_ms, info.size)
            yield info

    def _in_steps(self, prefix: str, start_after: str) -> Iterator[ObjectInfo]:
        first = list(self._store.list(prefix, start_after=start_after, limit=LISTED_FIRST))
        yield from first
        if len(first) == LISTED_FIRST:
            yield from self._store.list(prefix, start_after=first[-1].key)

    def get(self, key: str, *, limit: int = GET_BYTES_MAX) -> bytes | None:
        seen = self._listed.get(key) if key.startswith(self._prefix) else None
        if seen is None:
            return self._store.get(key, limit=limit)
        body = self._kept.get((self._where, key, seen))
        if body is None:
            body = self._store.get(key, limit=limit)
            if body is not None:
                self._kept.put((self._where, key, seen), body)
        else:
            check_size(key, len(body), limit)
        return body

    def head(self, key: str) -> ObjectInfo | None:
        """Of an entry that was listed what the list said: a look asks for its time alone."""
        seen = self._listed.get(key) if key.startswith(self._prefix) else None
        return ObjectInfo(key, seen[1], modified_ms=seen[0]) if seen is not None else self._store.head(key)
