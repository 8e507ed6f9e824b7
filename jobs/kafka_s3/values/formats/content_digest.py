"""What an object holds, whichever library compressed it: two objects of the same records have the same digest.

Bytes are fed as they come. Memory: a piece of 1 MiB; of Avro one block, of Parquet some rows of one row group, and a
temporary file of the object's size; of an index all of it.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from dataclasses import asdict
from typing import Final

from kafka_s3.errors import DataError
from kafka_s3.settings.formats import Compression
from kafka_s3.values.formats.block_index import BlockIndex
from kafka_s3.values.formats.compression import name_of
from kafka_s3.values.formats.expansion import PIECE, Damaged, expansion_of

#: Some 800,000 members of Block-GZIP.
_INDEX_MAX: Final = 256 * PIECE


class Unreadable(ValueError):
    """The bytes are not what an object of this format has, and why."""


class ContentDigest(ABC):
    """One object."""

    @abstractmethod
    def feed(self, data: bytes) -> None:
        """The next bytes; `Unreadable` if they cannot be."""

    @abstractmethod
    def digest(self) -> str:
        """After all of them: the SHA-256 of what the object holds. `Unreadable` if there should have been more."""


class StreamDigest(ContentDigest):
    """What a stream expands to; where its members and frames end says nothing."""

    def __init__(self, compression: Compression) -> None:
        self._digest = hashlib.sha256()
        self._name = name_of(compression)
        self._expansion = expansion_of(compression, members=True)

    def feed(self, data: bytes) -> None:
        try:
            for piece in self._expansion.feed(data):
                self._digest.update(piece)
        except Damaged as error:
            raise Unreadable(f"no whole {self._name} stream: {error}") from None

    def digest(self) -> str:
        try:
            self._expansion.end()
        except Damaged as error:
            raise Unreadable(f"no whole {self._name} stream: {error}") from None
        return self._digest.hexdigest()


class IndexDigest(ContentDigest):
    """The index of Block-GZIP: which records are in which member, and not how many bytes that became."""

    def __init__(self) -> None:
        self._body = bytearray()

    def feed(self, data: bytes) -> None:
        self._body += data
        if len(self._body) > _INDEX_MAX:
            raise Unreadable(f"an index of more than {_INDEX_MAX} bytes is not compared")

    def digest(self) -> str:
        try:
            index = BlockIndex.parse(bytes(self._body), "of the object")
        except DataError as error:
            raise Unreadable(error.what) from None
        digest = hashlib.sha256()
        for chunk in index.chunks:
            said = {**asdict(chunk), "byte_offset": 0, "byte_length": 0}
            digest.update(json.dumps(said, sort_keys=True).encode())
        return digest.hexdigest()
