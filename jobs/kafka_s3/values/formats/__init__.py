"""What an object holds: formats turn rows into bytes, compressors make them smaller.

`lines` is the JSON and the ByteArray format, `block_gzip` the format of lines with an index, `compression` the streams
around them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_s3.values.formats.block_gzip import BlockGzipFormat

__all__ = ["BlockGzipFormat"]


def __getattr__(name: str) -> object:
    """`kafka_s3.formats.BlockGzipFormat`, as a `format.class` says it: loaded only for whoever asks."""
    if name == "BlockGzipFormat":
        from kafka_s3.values.formats.block_gzip import BlockGzipFormat

        return BlockGzipFormat
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
