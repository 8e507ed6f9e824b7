"""A bucket in memory."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from kafka_s3.errors import StoreRefused, StoreUnavailable
from kafka_s3.ports import GET_BYTES_MAX, ObjectInfo, OpenUpload, Put, check_size

PART_BYTES_MIN: Final = 5 * 1024 * 1024
CHUNK_BYTES: Final = 1024 * 1024


class Request(NamedTuple):
    """One request as the log keeps it: S3's name of the operation and the key (of a list: the prefix)."""

    operation: str
    key: str


@dataclass(frozen=True, slots=True)
class _Object:
    body: bytes
    metadata: Mapping[str, str]
    tags: Mapping[str, str] = field(default_factory=dict)
    modified_ms: int = field(default_factory=lambda: time.time_ns() // 1_000_000)

    def info(self, key: str, metadata: Mapping[str, str] | None = None) -> ObjectInfo:
        return ObjectInfo(key, len(self.body), metadata, self.modified_ms)


@dataclass(slots=True)
class _Failure:
    """`after_apply`: the request does its work and then its answer gets lost."""

    error: Exception
    after_apply: bool


class MemoryStore:
    """An `ObjectStore` that ends with the process. Thread-safe: each request is atomic.

    `conditional_writes=False` is a store that accepts If-None-Match and ignores it: the last writer wins.
    `requests` logs every request, also those made to fail. Retries are not modelled: `fail_next` is what a caller
    sees once they are used up. An `after_apply` failure of a put is therefore an object that is there although its
    writer got an error.
    """

    def __init__(
        self, *, conditional_writes: bool = True, page_keys_max: int = 1000, part_bytes_min: int = PART_BYTES_MIN
    ) -> None:
        self.requests: list[Request] = []
        self._conditional_writes = conditional_writes
        self._page_keys_max = page_keys_max
        self._part_bytes_min = part_bytes_min
        self._failures: dict[str, list[_Failure | None]] = {}
        self._objects: dict[str, _Object] = {}
        self._uploads: dict[int, list[bytes]] = {}
        self._upload_keys: dict[int, str] = {}
        self._uploads_started = 0
        self._lock = threading.RLock()

    def fail_next(self, operation: str, error: Exception, *, after_apply: bool = False, skip: int = 0) -> None:
        """The next request of that name (`PutObject`, `GetObject`, …) fails, once, after `skip` that do not.

        Calls queue up, each behind the one before.
        """
        with self._lock:
            self._failures.setdefault(operation, []).extend([*[None] * skip, _Failure(error, after_apply)])

    def put_if_absent(
        self,
        key: str,
        body: bytes,
        *,
        metadata: Mapping[str, str] | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> Put:
        with self._request("PutObject", key):
            return self._store(key, _Object(bytes(body), dict(metadata or {}), dict(tags or {})))

    def put_tags(self, key: str, tags: Mapping[str, str]) -> None:
        with self._request("PutObjectTagging", key):
            if key not in self._objects:
                raise StoreRefused(f"{key} does not exist.")
            self._objects[key] = replace(self._objects[key], tags=dict(tags))

    def get(self, key: str, *, limit: int = GET_BYTES_MAX) -> bytes | None:
        return self._get(key, limit)

    def read(self, key: str, *, limit: int | None = None) -> Iterator[bytes]:
        body = self._get(key, limit)
        if body is None:
            raise StoreRefused(f"{key} does not exist.")
        for start in range(0, len(body), CHUNK_BYTES):
            yield body[start : start + CHUNK_BYTES]

    def _get(self, key: str, limit: int | None) -> bytes | None:
        with self._request("GetObject", key):
            found = self._objects.get(key)
            if found is not None:
                check_size(key, len(found.body), limit)
            return found.body if found else None

    def head(self, key: str) -> ObjectInfo | None:
        with self._request("HeadObject", key):
            found = self._objects.get(key)
            return found.info(key, dict(found.metadata)) if found else None

    def list(self, prefix: str, *, start_after: str = "", limit: int | None = None) -> Iterator[ObjectInfo]:
        last, left = start_after, limit
        while left is None or left > 0:
            count = self._page_keys_max if left is None else min(left, self._page_keys_max)
            with self._request("ListObjectsV2", prefix):
                keys = sorted(key for key in self._objects if key.startswith(prefix) and key > last)
                page = [self._objects[key].info(key) for key in keys[:count]]
            yield from page
            if len(keys) <= count:
                return
            last = page[-1].key
            left = None if left is None else left - count

    def start_multipart(self, key: str) -> MemoryUpload:
        with self._request("CreateMultipartUpload", key):
            self._uploads_started += 1
            self._uploads[self._uploads_started] = []
            self._upload_keys[self._uploads_started] = key
            return MemoryUpload(self, key, self._uploads_started)

    def uploads(self, prefix: str) -> Iterator[OpenUpload]:
        with self._request("ListMultipartUploads", prefix):
            found = sorted((self._upload_keys[number], number) for number in self._uploads)
        yield from (OpenUpload(key, str(number)) for key, number in found if key.startswith(prefix))

    def abort_upload(self, upload: OpenUpload) -> None:
        with self._request("AbortMultipartUpload", upload.key):
            self._uploads.pop(int(upload.id), None)

    def delete(self, key: str) -> None:
        with self._request("DeleteObject", key):
            self._objects.pop(key, None)

    # What the ports leave out and tests need.

    def overwrite(self, key: str, body: bytes) -> None:
        """Put without the condition, as a stranger to the exporter would."""
        with self._request("PutObject", key):
            self._objects[key] = _Object(bytes(body), {})

    def set_modified(self, key: str, modified_ms: int) -> None:
        """The store's clock showed this when the object was written; no request."""
        with self._lock:
            self._objects[key] = replace(self._objects[key], modified_ms=modified_ms)

    def contents(self) -> dict[str, bytes]:
        """Every object by key, in key order; no request."""
        with self._lock:
            return {key: self._objects[key].body for key in sorted(self._objects)}

    def tags(self, key: str) -> dict[str, str]:
        """An object's tags; no request."""
        with self._lock:
            return dict(self._objects[key].tags)

    def uploads_open(self) -> int:
        """How many multipart uploads are open; no request."""
        with self._lock:
            return len(self._uploads)

    def _store(self, key: str, new: _Object) -> Put:
        if self._conditional_writes and key in self._objects:
            return Put.EXISTS
        self._objects[key] = new
        return Put.CREATED

    @contextlib.contextmanager
    def _request(self, operation: str, key: str) -> Iterator[None]:
        """One request under the store's lock, with the failure that was ordered for it before or after its work."""
        with self._lock:
            self.requests.append(Request(operation, key))
            queue = self._failures.get(operation)
            failure = queue.pop(0) if queue else None
            if failure and not failure.after_apply:
                raise failure.error
            yield
        if failure:
            raise failure.error


class MemoryUpload:
    """A `MultipartUpload` into a `MemoryStore`."""

    def __init__(self, store: MemoryStore, key: str, number: int) -> None:
        self._store = store
        self._key = key
        self._number = number
        self._ended = False

    def put_part(self, body: bytes) -> None:
        assert not self._ended, f"{self._key}: a part after the end"
        with self._store._request("UploadPart", self._key):
            if self._number not in self._store._uploads:
                raise self._gone()
            self._store._uploads[self._number].append(bytes(body))

    def complete_if_absent(self) -> Put:
        assert not self._ended, f"{self._key}: completed twice"
        with self._store._request("CompleteMultipartUpload", self._key):
            parts = self._store._uploads.get(self._number)
            if parts is None:
                raise self._gone()
            assert parts, f"{self._key}: nothing to complete"
            if any(len(part) < self._store._part_bytes_min for part in parts[:-1]):
                raise StoreRefused(f"{self._key}: a part before the last is smaller than S3 allows.")
            put = self._store._store(self._key, _Object(b"".join(parts), {}))
            del self._store._uploads[self._number]
        self._ended = True
        return put

    def _gone(self) -> StoreUnavailable:
        return StoreUnavailable(f"The multipart upload of {self._key} is gone.")

    def abort(self) -> None:
        """Delete the parts if the upload has not ended; raises nothing."""
        if not self._ended:
            self._ended = True
            with self._store._lock:
                self._store.requests.append(Request("AbortMultipartUpload", self._key))
                self._store._uploads.pop(self._number, None)
