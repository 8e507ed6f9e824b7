"""What a kill trial says of an object that came out in other bytes."""

from __future__ import annotations

import base64
import zlib

from kafka_s3.settings.formats import Gzip
from kafka_s3.values.formats.compression import open_stream
from tests.faults.differences import described

PLAIN = b'{"n": 1, "words": "alpha bravo"}\n' * 99


def packed(level: int | None) -> bytes:
    stream = open_stream(Gzip(level))
    return stream.compress(PLAIN) + stream.finish()


def test_objects_as_expected_are_not_described() -> None:
    """Nothing is said of them."""
    assert list(described({"a": packed(None)}, {"a": packed(None)})) == []


def test_the_same_content_in_other_bytes() -> None:
    """The content's CRC is the same, and which of the two comes out again here is said; the bytes can be looked at."""
    ours, theirs = packed(None), packed(9)
    (said,) = described({"a": theirs}, {"a": ours})
    crc = f"{zlib.crc32(PLAIN):08x}"
    assert f"a has {len(theirs)} bytes instead of {len(ours)}, others from byte" in said
    first, second = said.split(" instead of ")[1:3]
    assert f"content of CRC {crc} ({len(PLAIN)} bytes; its bytes are not made again)" in first
    assert f"content of CRC {crc} ({len(PLAIN)} bytes; its bytes are made again)" in second
    assert base64.b64decode(said.rpartition(" ")[2]) == ours


def test_half_an_object_and_one_too_many() -> None:
    """A store that keeps half of what was sent, zeros, and a name that nobody should have made."""
    whole = packed(None)
    found = {"half": whole[:50], "zeros": whole[:50] + bytes(len(whole) - 50), "more": b"x"}
    half, zeros, more, missing = described(found, {"half": whole, "zeros": whole, "gone": whole})
    assert "half has 50 bytes" in half
    assert "others from byte 50 on, with half a gzip stream" in half
    assert "others from byte 50 on, with" in zeros
    assert "stream" in zeros
    assert more == "more is not expected: eA=="
    assert missing == "gone is missing"
