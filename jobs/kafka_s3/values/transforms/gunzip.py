"""GzipDecompress: bytes that are gzip become what is in them."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any, Final

from kafka_s3.avro.graph import graph
from kafka_s3.avro.model import Schema
from kafka_s3.settings.transforms.chain import TransformSettings
from kafka_s3.shown import kind_and_length
from kafka_s3.values.converters.weight import allowed
from kafka_s3.values.transforms.base import Compiled, side_of
from kafka_s3.values.transforms.connect import TransformError, logical_of, type_of
from kafka_s3.values.transforms.records import Change, Records, each

_GZIP: Final = 31  # zlib's word for gzip's header and the largest window
_MAGIC: Final = b"\x1f\x8b"
#: Bytes that a member is given at a time: what stands behind it is copied at its end.
_PIECE: Final = 4096


class GzipDecompress:
    """Decompresses keys or values. Memory: `weight.allowed` of the compressed bytes, for each record."""

    def __init__(self, settings: TransformSettings) -> None:
        self._side = side_of(settings)
        self.parts = frozenset({self._side})
        self._compiled = Compiled(self._compile)

    def __call__(self, records: Records, chosen: Sequence[int]) -> None:
        records.change(self._side, records.not_null(self._side, chosen), self._compiled)

    def _compile(self, schema: Schema | None) -> Change:
        if schema is not None:
            node = graph(schema)
            if type_of(node) != "BYTES" or logical_of(node) is not None:
                raise TransformError(f"only bytes can be decompressed, and this is of the type {type_of(node)}")
        return Change(schema, each(_decompressed))


def _decompressed(value: Any) -> bytes:
    """The bytes in one gzip member or several; what stands behind them is passed over, as in Java."""
    if not isinstance(value, bytes):
        raise TransformError(f"only bytes can be decompressed: found {kind_and_length(value)}")
    room, made, view, at = allowed(len(value)), bytearray(), memoryview(value), 0
    while not at or value.startswith(_MAGIC, at):
        stream = zlib.decompressobj(_GZIP)
        while not stream.eof:
            piece = view[at : at + _PIECE]
            if not piece:
                raise TransformError("the gzip data ends too early")
            try:
                made += stream.decompress(piece, max(room - len(made), 1))
            except zlib.error:
                raise TransformError("the bytes are not gzip, or damaged") from None
            if len(made) > room or (stream.unconsumed_tail and not stream.eof):
                raise TransformError(f"{len(value)} bytes expand to more than the {room} bytes that they may")
            at += len(piece)
        at -= len(stream.unused_data)
    return bytes(made)
