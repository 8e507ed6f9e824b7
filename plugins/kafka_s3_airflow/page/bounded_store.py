"""A bucket that is read so much and no more: a look must cost the api-server little, whatever the bucket holds."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, Final

from kafka_s3.errors import DataError
from kafka_s3.ports import GET_BYTES_MAX, ObjectInfo, ObjectStore

REQUESTS_MAX: Final = 2_000  # a GET or a HEAD, or a thousand keys of a LIST
BYTES_MAX: Final = 64 * 1024 * 1024
_KEYS_OF_A_LIST: Final = 1_000


class TooMuchToRead(DataError):
    """A look would read more of the bucket than it may."""


@dataclasses.dataclass
class BoundedStore:
    """An `ObjectStore` that only reads, for one look; `TooMuchToRead` beyond the bounds."""

    store: ObjectStore
    requests_left: int = REQUESTS_MAX
    bytes_left: int = BYTES_MAX

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"a look does not {name}")

    def get(self, key: str, *, limit: int = GET_BYTES_MAX) -> bytes | None:
        self._ask()
        body = self.store.get(key, limit=limit)
        self._take(len(body or b""))
        return body

    def read(self, key: str, *, limit: int | None = None) -> Iterator[bytes]:
        self._ask()
        for chunk in self.store.read(key, limit=limit):
            self._take(len(chunk))
            yield chunk

    def head(self, key: str) -> ObjectInfo | None:
        self._ask()
        return self.store.head(key)

    def list(self, prefix: str, *, start_after: str = "", limit: int | None = None) -> Iterator[ObjectInfo]:
        self._ask()
        for number, info in enumerate(self.store.list(prefix, start_after=start_after, limit=limit), 1):
            if number % _KEYS_OF_A_LIST == 0:
                self._ask()
            yield info

    def _ask(self) -> None:
        self.requests_left -= 1
        self._check()

    def _take(self, size: int) -> None:
        self.bytes_left -= size
        self._check()

    def _check(self) -> None:
        if self.requests_left < 0 or self.bytes_left < 0:
            raise TooMuchToRead(
                f"To say what it would do takes more than {REQUESTS_MAX:,} requests or {BYTES_MAX // 1_048_576} MiB of"
                " the bucket, which is more than the page reads.",
                next="The command line has no such bound, nor has a run of the operations' DAG with dry_run.",
            )
