"""Data objects into the store: put-if-absent, adopt what is already there, else the next free name. Never overwrite.

An object below `s3.part.size` is one PUT. A larger one goes out in parts; its bytes are gone once they are sent, so
the question whether the name is free is asked before the first part, and once more by the condition at the end.

Tags (`s3.object.tagging`) go with a PUT. Those of an object in parts are known at its end only, and follow in a
request of their own; so they do for an object that is adopted, whose first writer may have got no further, or may
have been told to write others. What counts is the commit log: tags that are refused are left out unless
`s3.object.behavior.on.tagging.error` is fail.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping
from typing import Final

from kafka_s3.errors import DataError, StoreRefused, StoreUnavailable
from kafka_s3.naming import DataName, KeyLayout, format_data_key
from kafka_s3.ports import MultipartUpload, ObjectStore, Put
from kafka_s3.settings.model import BUILT_IN_TAGS, Tagging

NAMES_MAX: Final = 100  # as many as the sink probes; each one is a whole object somebody else wrote under our name


class ObjectUpload:
    """A `writer.Upload` over an object store."""

    def __init__(
        self, store: ObjectStore, layout: KeyLayout, name: DataName, *, tagging: Tagging | None = None
    ) -> None:
        self._store = store
        self._layout = layout
        self._name = name
        self._tagging = tagging
        self._multipart: MultipartUpload | None = None
        self._taken: list[str] = []

    def part(self, body: bytes) -> None:
        if self._multipart is None:
            while self._store.head(self._key()) is not None:
                self._taken.append(self._key())
                self._use_next_name()
            self._multipart = self._store.start_multipart(self._key())
        self._multipart.put_part(body)

    def close(self, last: bytes, *, size: int, sha256: str, records: int, first_offset: int, last_offset: int) -> str:
        tags = make_tags(self._tagging, first_offset, last_offset, records)
        if self._multipart is None:
            return self._put(last, size, sha256, tags)
        return self._complete(self._multipart, last, size, sha256, tags)

    def abort(self) -> None:
        if self._multipart is not None:
            self._multipart.abort()

    def _put(self, body: bytes, size: int, sha256: str, tags: Mapping[str, str]) -> str:
        while True:
            if self._put_if_absent(body, sha256, tags) is Put.CREATED:
                return self._key()
            if self._holds(self._key(), size, sha256):
                self._tag(self._key(), tags)
                return self._key()
            self._use_next_name()

    def _put_if_absent(self, body: bytes, sha256: str, tags: Mapping[str, str]) -> Put:
        try:
            return self._store.put_if_absent(self._key(), body, metadata={"sha256": sha256}, tags=tags)
        except StoreRefused:
            if not tags or self._tags_required:
                raise
        # It may be the tags alone that were refused: for want of s3:PutObjectTagging, or by a store without tags.
        return self._store.put_if_absent(self._key(), body, metadata={"sha256": sha256})

    def _complete(
        self, multipart: MultipartUpload, last: bytes, size: int, sha256: str, tags: Mapping[str, str]
    ) -> str:
        """Adopt an object that an earlier try completed, else complete ours."""
        for key in self._taken:
            if self._holds(key, size, sha256):
                multipart.abort()
                self._tag(key, tags)
                return key
        multipart.put_part(last)
        if multipart.complete_if_absent() is Put.CREATED or self._holds(self._key(), size, sha256):
            self._tag(self._key(), tags)
            return self._key()
        multipart.abort()
        raise StoreUnavailable(
            f"{self._key()} was written by somebody else while it was uploaded.", next="The range is read again."
        )

    @property
    def _tags_required(self) -> bool:
        return self._tagging is not None and self._tagging.required

    def _tag(self, key: str, tags: Mapping[str, str]) -> None:
        if not tags:
            return
        forgiven = () if self._tags_required else (StoreRefused, StoreUnavailable)
        with contextlib.suppress(*forgiven):
            self._store.put_tags(key, tags)

    def _holds(self, key: str, size: int, sha256: str) -> bool:
        """Whether the object under `key` is these bytes: by its metadata, else by reading it."""
        info = self._store.head(key)
        if info is None or info.size != size:
            return False
        recorded = (info.metadata or {}).get("sha256")
        if recorded is not None:
            return recorded == sha256
        digest = hashlib.sha256()
        for chunk in self._store.read(key):
            digest.update(chunk)
        return digest.hexdigest() == sha256

    def _key(self) -> str:
        return format_data_key(self._layout, self._name)

    def _use_next_name(self) -> None:
        if self._name.collision >= NAMES_MAX:
            raise DataError(
                f"{NAMES_MAX} names from {format_data_key(self._layout, self._name)} back are taken by other bytes.",
                next="Something else writes under this prefix: give the connector a topics.dir of its own.",
            )
        self._name = self._name.next_free()


def make_tags(tagging: Tagging | None, first_offset: int, last_offset: int, records: int) -> dict[str, str]:
    """
    >>> make_tags(Tagging((("team", "data"), ("recordCount", "many"))), 42, 99, 50)
    {'startOffset': '42', 'endOffset': '99', 'recordCount': 'many', 'team': 'data'}
    >>> make_tags(None, 42, 99, 50)
    {}
    """
    if tagging is None:
        return {}
    values = (first_offset, last_offset, records)
    return {**dict(zip(BUILT_IN_TAGS, map(str, values), strict=True)), **dict(tagging.extra)}
