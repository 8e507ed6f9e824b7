"""A bucket in memory with S3's semantics, request by request: a request is applied whole, or not at all.

What is exact because programs rest on it: If-None-Match on PUT and on the completion of an upload, parts that replace
each other by their number, an upload that is gone once it was completed or aborted, lists in key order with
continuation, pages that are shorter than was asked for, delimiters, uploads in the order of key and time.
"""

from __future__ import annotations

import base64
import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from kafka_s3.errors import StoreRefused, StoreUnavailable
from kafka_s3.ports import ObjectInfo, OpenUpload, Put


@dataclass(frozen=True)
class Stored:
    body: bytes
    metadata: Mapping[str, str]
    modified_ms: int

    @property
    def etag(self) -> str:
        return f'"{hashlib.md5(self.body).hexdigest()}"'


@dataclass
class Upload:
    key: str
    metadata: Mapping[str, str]
    parts: dict[int, bytes] = field(default_factory=dict)


class Refused(Exception):
    """An error of S3's."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(status, code)
        self.status = status
        self.code = code


@dataclass(frozen=True)
class Page:
    items: tuple[tuple[str, Stored], ...]
    folders: tuple[str, ...]
    next: str | None


@dataclass
class SteppedBucket:
    """`page_max`: keys of a page, however many are asked for. `on_write` hears of each change: (operation, key)."""

    clock: Callable[[], int]
    page_max: int = 1000
    empty_page: Callable[[], bool] = lambda: False
    on_write: Callable[[str, str], None] = lambda operation, key: None
    objects: dict[str, Stored] = field(default_factory=dict)
    tags: dict[str, dict[str, str]] = field(default_factory=dict)
    part_min: int = 1
    uploads: dict[str, Upload] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)  # until whoever checks has seen it
    numbers: int = 0
    one_at_a_time: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def put(
        self, key: str, body: bytes, metadata: Mapping[str, str], *, absent: bool, tags: Mapping[str, str] | None = None
    ) -> str:
        stored = Stored(bytes(body), dict(metadata), self.clock())
        with self.one_at_a_time:  # a history has one request at a time, the contract of stores twenty
            if absent and key in self.objects:
                raise Refused(412, "PreconditionFailed")
            self.objects[key] = stored
            self.tags[key] = dict(tags or {})
        self.on_write("PUT", key)
        return stored.etag

    def get(self, key: str) -> Stored:
        if key not in self.objects:
            raise Refused(404, "NoSuchKey")
        return self.objects[key]

    def delete(self, key: str) -> None:
        if self.objects.pop(key, None) is not None:
            self.deleted.add(key)
            self.on_write("DELETE", key)

    def tag(self, key: str, tags: Mapping[str, str]) -> None:
        self.get(key)
        self.tags[key] = dict(tags)

    def list(self, prefix: str, most: int, after: str, token: str | None, delimiter: str = "") -> Page:
        """A page; `token` is the one that a page before gave."""
        last = after if token is None else base64.urlsafe_b64decode(token.removeprefix("after-")).decode()
        if token is None and self.empty_page():
            return Page((), (), _token(last))
        items: list[tuple[str, Stored]] = []
        folders: dict[str, None] = {}
        for key in sorted(key for key in self.objects if key.startswith(prefix) and key > last):
            folder = _folder(key, prefix, delimiter)
            if folder is not None and (folder in folders or last.startswith(folder)):
                last = key
                continue
            if len(items) + len(folders) >= min(most, self.page_max):
                return Page(tuple(items), tuple(folders), _token(last))
            last = key
            if folder is None:
                items.append((key, self.objects[key]))
            else:
                folders[folder] = None
        return Page(tuple(items), tuple(folders), None)

    def start(self, key: str, metadata: Mapping[str, str]) -> str:
        self.numbers += 1
        self.uploads[f"upload-{self.numbers:06d}"] = Upload(key, dict(metadata))
        return f"upload-{self.numbers:06d}"

    def part(self, upload: str, number: int, body: bytes) -> str:
        self._upload(upload).parts[number] = bytes(body)
        return f'"{hashlib.md5(body).hexdigest()}"'

    def complete(self, upload: str, parts: list[tuple[int, str]], *, absent: bool) -> str:
        found = self._upload(upload)
        for number, etag in parts:
            body = found.parts.get(number)
            if body is None or hashlib.md5(body).hexdigest() != etag.strip('"'):
                raise Refused(400, "InvalidPart")
        if [number for number, _ in parts] != sorted({number for number, _ in parts}):
            raise Refused(400, "InvalidPartOrder")
        if any(len(found.parts[number]) < self.part_min for number, _ in parts[:-1]):
            raise Refused(400, "EntityTooSmall")
        etag = self.put(found.key, b"".join(found.parts[number] for number, _ in parts), found.metadata, absent=absent)
        del self.uploads[upload]
        return etag

    def abort(self, upload: str) -> None:
        self._upload(upload)
        del self.uploads[upload]

    def open_uploads(self, prefix: str, after: tuple[str, str]) -> list[tuple[str, str]]:
        """Keys and ids, behind a key and an id."""
        found = sorted((each.key, id) for id, each in self.uploads.items() if each.key.startswith(prefix))
        return [each for each in found if each > after]

    def contents(self) -> dict[str, bytes]:
        return {key: self.objects[key].body for key in sorted(self.objects)}

    def _upload(self, upload: str) -> Upload:
        if upload not in self.uploads:
            raise Refused(404, "NoSuchUpload")
        return self.uploads[upload]


def _token(last: str) -> str:
    return f"after-{base64.urlsafe_b64encode(last.encode()).decode()}"


def _folder(key: str, prefix: str, delimiter: str) -> str | None:
    if not delimiter or delimiter not in key[len(prefix) :]:
        return None
    return key[: key.index(delimiter, len(prefix)) + len(delimiter)]


@dataclass
class Direct:
    """The `ObjectStore` of whoever looks from outside of a history: no request fails, waits, or is seen."""

    bucket: SteppedBucket

    def put_if_absent(
        self, key: str, body: bytes, *, metadata: Mapping[str, str] | None = None, tags: Mapping[str, str] | None = None
    ) -> Put:
        try:
            self.bucket.put(key, body, metadata or {}, absent=True)
        except Refused:
            return Put.EXISTS
        return Put.CREATED

    def put_tags(self, key: str, tags: Mapping[str, str]) -> None:
        self.bucket.tag(key, tags)

    def get(self, key: str, *, limit: int | None = None) -> bytes | None:
        found = self.bucket.objects.get(key)
        return None if found is None else found.body

    def read(self, key: str, *, limit: int | None = None) -> Iterator[bytes]:
        body = self.get(key)
        if body is None:
            raise StoreRefused(f"{key} does not exist.")
        yield body

    def head(self, key: str) -> ObjectInfo | None:
        found = self.bucket.objects.get(key)
        return None if found is None else ObjectInfo(key, len(found.body), found.metadata, found.modified_ms)

    def list(self, prefix: str, *, start_after: str = "", limit: int | None = None) -> Iterator[ObjectInfo]:
        keys = sorted(key for key in self.bucket.objects if key.startswith(prefix) and key > start_after)
        for key in keys[:limit]:
            found = self.bucket.objects[key]
            yield ObjectInfo(key, len(found.body), None, found.modified_ms)

    def start_multipart(self, key: str) -> DirectUpload:
        return DirectUpload(self.bucket, self.bucket.start(key, {}))

    def uploads(self, prefix: str) -> Iterator[OpenUpload]:
        yield from [OpenUpload(key, id) for key, id in self.bucket.open_uploads(prefix, ("", ""))]

    def abort_upload(self, upload: OpenUpload) -> None:
        self.bucket.uploads.pop(upload.id, None)

    def delete(self, key: str) -> None:
        self.bucket.delete(key)


@dataclass
class DirectUpload:
    bucket: SteppedBucket
    id: str
    parts: list[tuple[int, str]] = field(default_factory=list)

    def put_part(self, body: bytes) -> None:
        try:
            self.parts.append((len(self.parts) + 1, self.bucket.part(self.id, len(self.parts) + 1, body)))
        except Refused as error:
            raise StoreUnavailable(f"{self.id} is gone: {error.code}") from None

    def complete_if_absent(self) -> Put:
        try:
            self.bucket.complete(self.id, self.parts, absent=True)
        except Refused as error:
            self.abort()
            if error.status != 412:
                raise StoreUnavailable(f"{self.id} is gone: {error.code}") from None
            return Put.EXISTS
        return Put.CREATED

    def abort(self) -> None:
        self.bucket.uploads.pop(self.id, None)
