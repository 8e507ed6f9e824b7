"""The index beside an object of Block-GZIP: which offsets are in which bytes.

Its first five fields are those of the connector that the format comes from, so its readers understand it. They take
`first_record_offset + num_records` for a chunk's end, which is wrong where offsets have holes (transactions,
compaction, records that went elsewhere): `last_record_offset` and `next_offset` are right there too.
"""

from __future__ import annotations

import bisect
import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Final

import msgspec

from kafka_s3.errors import DataError

FORMAT_VERSION: Final = 1
_INT64_MAX: Final = 2**63 - 1

_Natural = Annotated[int, msgspec.Meta(ge=0, le=_INT64_MAX)]
_Positive = Annotated[int, msgspec.Meta(ge=1, le=_INT64_MAX)]
_Millis = Annotated[int, msgspec.Meta(ge=-(2**63), le=_INT64_MAX)]
_Crc32 = Annotated[int, msgspec.Meta(ge=0, le=2**32 - 1)]

_WAY_OUT = "The object can be read without it: any gzip tool reads it as one stream of lines."


@dataclass(frozen=True, slots=True)
class Chunk:
    """One gzip member: its bytes are `[byte_offset, byte_offset + byte_length)` of the object.

    Its records are some of the offsets `[first_record_offset, last_record_offset]`, and all of them if `num_records`
    says so. `next_offset` is where the next chunk begins, after the last one `last_record_offset + 1`. The timestamps
    are milliseconds since the epoch, `None` unless every record has one; `crc32` is that of the uncompressed bytes.
    """

    byte_length_uncompressed: _Positive
    num_records: _Positive
    byte_length: _Positive
    byte_offset: _Natural
    first_record_offset: _Natural
    last_record_offset: _Natural
    next_offset: _Natural
    min_timestamp: _Millis | None
    max_timestamp: _Millis | None
    crc32: _Crc32


@dataclass(frozen=True, slots=True)
class BlockIndex:
    """The chunks of one object, in order; without gaps between their bytes.

    Which topic-partition they are of is what the object's name says.
    """

    chunks: tuple[Chunk, ...]
    format_version: int = FORMAT_VERSION

    @classmethod
    def of(cls, chunks: Sequence[Chunk]) -> BlockIndex:
        """The index of an object that was just written: each `next_offset` becomes where the next chunk begins."""
        linked = [replace(this, next_offset=after.first_record_offset) for this, after in pairwise(chunks)]
        return cls((*linked, *chunks[-1:]))

    @classmethod
    def parse(cls, body: bytes, key: str) -> BlockIndex:
        """The index in `body`; `DataError` names the key if it is none, or contradicts itself.

        It takes one and a half times the memory of the body, which the caller limits.
        """
        try:
            version = _VERSIONS.decode(body).format_version
            if version is None:
                raise DataError(
                    f"The index {key} has no format_version: it does not say where offsets have holes.",
                    next=f"Another connector wrote it. {_WAY_OUT}",
                )
            if version != FORMAT_VERSION:
                raise DataError(
                    f"The index {key} has format version {version}, this exporter knows {FORMAT_VERSION}.",
                    next=f"A newer exporter wrote it: upgrade this one. {_WAY_OUT}",
                )
            index = _INDEXES.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise DataError(
                f"The index {key} is truncated or no index ({len(body)} bytes): {error}.", next=_WAY_OUT
            ) from None
        wrong = index.contradiction()
        if wrong is not None:
            raise DataError(f"The index {key} contradicts itself: {wrong}.", next=_WAY_OUT)
        return index

    def encode(self) -> bytes:
        """The same index always makes the same bytes."""
        return msgspec.json.encode(self)

    def find(self, offset: int) -> Chunk | None:
        """The chunk that holds the record of this offset, if the object holds it."""
        at = bisect.bisect_right(self.chunks, offset, key=operator.attrgetter("first_record_offset"))
        return self.chunks[at - 1] if at and offset <= self.chunks[at - 1].last_record_offset else None

    def contradiction(self) -> str | None:
        """What cannot be true of an object's chunks, or `None`."""
        end, offset = 0, 0
        for number, chunk in enumerate(self.chunks):
            wrong = _contradiction(chunk, end, offset)
            if wrong is not None:
                return f"chunk {number} {wrong}"
            end, offset = chunk.byte_offset + chunk.byte_length, chunk.last_record_offset + 1
        for number, (this, after) in enumerate(pairwise(self.chunks)):
            if this.next_offset != after.first_record_offset:
                return (
                    f"chunk {number} has next_offset {this.next_offset}, "
                    f"and the next begins with offset {after.first_record_offset}"
                )
        if self.chunks and self.chunks[-1].next_offset != offset:
            return f"the last chunk has next_offset {self.chunks[-1].next_offset} and not {offset}"
        return None


def _contradiction(chunk: Chunk, end: int, offset: int) -> str | None:
    """What is wrong with a chunk behind others that end at byte `end` and have offsets below `offset`."""
    first, last = chunk.first_record_offset, chunk.last_record_offset
    if chunk.byte_offset != end:
        return f"has byte_offset {chunk.byte_offset} and not {end}"
    if first < offset:
        return f"begins with offset {first}, and the one before it ends with {offset - 1}"
    if last - first + 1 < chunk.num_records:
        return f"cannot have {chunk.num_records} records at the offsets {first} to {last}"
    if last > first and chunk.num_records == 1:
        return f"cannot have one record at both offsets {first} and {last}"
    if chunk.byte_length_uncompressed < chunk.num_records:
        return f"cannot have {chunk.num_records} lines in {chunk.byte_length_uncompressed} bytes"
    earliest, latest = chunk.min_timestamp, chunk.max_timestamp
    if (earliest is None) != (latest is None) or (earliest is not None and latest is not None and earliest > latest):
        return f"has min_timestamp {earliest} and max_timestamp {latest}"
    return None


@dataclass(frozen=True, slots=True)
class _Version:
    format_version: int | None = None


# Made while one thread alone imports this: see `log.documents`.
_VERSIONS: Final = msgspec.json.Decoder(_Version)
_INDEXES: Final = msgspec.json.Decoder(BlockIndex)
