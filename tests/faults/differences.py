"""What is to be known of objects that came out in other bytes: it may be seen once, and never again."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator, Mapping
from typing import Final

from kafka_s3.settings.formats import Gzip
from kafka_s3.values.formats.compression import open_stream

_GZIP_WINDOW: Final = 31
_SHOWN_MAX: Final = 64 * 1024  # bytes of an object


def described(found: Mapping[str, bytes], expected: Mapping[str, bytes]) -> Iterator[str]:
    """Of each object that is not as expected: where it begins to differ, whether it holds the same, and all of it."""
    for key, body in found.items():
        wanted = expected.get(key)
        if wanted is None:
            yield f"{key} is not expected: {_shown(body)}"
        elif body != wanted:
            pairs = zip(body, wanted, strict=False)
            at = next((at for at, (left, right) in enumerate(pairs) if left != right), min(len(body), len(wanted)))
            yield (
                f"{key} has {len(body)} bytes instead of {len(wanted)}, others from byte {at} on, with {_content(body)}"
                f" instead of {_content(wanted)}: {_shown(body)} instead of {_shown(wanted)}"
            )
    for key in expected.keys() - found.keys():
        yield f"{key} is missing"


def _content(body: bytes) -> str:
    """What an object unpacks to, and whether compressing that once more, here and now, makes the same bytes."""
    if not body.startswith(b"\x1f\x8b"):
        return f"content of CRC {zlib.crc32(body):08x}"
    inflate = zlib.decompressobj(_GZIP_WINDOW)
    try:
        plain = inflate.decompress(body)
    except zlib.error as error:
        return f"no gzip stream ({error})"
    if not inflate.eof:
        return f"half a gzip stream ({len(plain)} bytes)"
    stream = open_stream(Gzip())
    again = "made again" if stream.compress(plain) + stream.finish() == body else "not made again"
    return f"content of CRC {zlib.crc32(plain):08x} ({len(plain)} bytes; its bytes are {again})"


def _shown(body: bytes) -> str:
    return base64.b64encode(body[:_SHOWN_MAX]).decode()
