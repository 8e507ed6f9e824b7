"""Objects that somebody changed are unreadable or hold something else: `verify` says so, whatever their bytes are."""

from __future__ import annotations

import io
from collections.abc import Callable
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka_s3.settings.formats import AvroCodec
from kafka_s3.values.formats.avro import AvroFormat
from kafka_s3.values.formats.avro_digest import AvroDigest
from kafka_s3.values.formats.content_digest import ContentDigest, Unreadable
from kafka_s3.values.formats.parquet_digest import ParquetDigest
from tests.values.formats.structs import ROW, EncodedStructs, datum, file_of, row

ROWS = EncodedStructs([datum(row(number), ROW) for number in range(50)], ROW)
DAMAGES = 1_500


def parquet(columns: dict[str, Any], codec: str = "none") -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out, compression=codec)
    return out.getvalue()


def digest(make: Callable[[], ContentDigest], body: bytes, piece: int) -> str | None:
    """What an object holds; `None` if it is unreadable."""
    content = make()
    try:
        for at in range(0, len(body), piece):
            content.feed(body[at : at + piece])
        return content.digest()
    except Unreadable:
        return None


def damaged(random: Random, body: bytes) -> bytes:
    found = bytearray(body)
    for _ in range(random.randint(1, 3)):
        at = random.choice((random.randrange(len(found)), max(0, len(found) - random.randint(1, 300))))
        match random.randrange(4):
            case 0:
                found[at : at + 1] = bytes([random.choice((0, 1, 2, 0x7F, 0x80, 0xFF))])
            case 1:
                del found[at : at + random.randint(1, 9)]
            case 2:
                found[at:at] = random.randbytes(random.randint(1, 9))
            case _:
                del found[at + 1 :]
    return bytes(found)


@pytest.mark.parametrize(
    ("make", "body"),
    [
        *((AvroDigest, file_of(AvroFormat(codec), ROWS, 50)) for codec in AvroCodec),
        *(
            (ParquetDigest, parquet({"a": ["x", None] * 20, "b": [[1, 2], []] * 20}, codec))
            for codec in ("none", "zstd")
        ),
    ],
)
def test_no_damage_raises(make: Callable[[], ContentDigest], body: bytes) -> None:
    """Bytes changed, left out or put in: a digest, or the object is unreadable; never anything else."""
    random = Random(3)
    whole = digest(make, body, 7)
    assert whole is not None
    assert whole == digest(make, body, len(body))
    others = [digest(make, damaged(random, body), random.choice((13, 4096))) for _ in range(DAMAGES)]
    others += [
        digest(make, body[:at] + b"\xff" + body[at + 1 :], len(body))
        for at in range(max(0, len(body) - 900), len(body))
    ]
    assert None in others


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a"], pa.large_string()),
        pa.array([[1]], pa.large_list(pa.int8())),
        pa.array(["a"]).dictionary_encode(),
    ],
)
def test_columns_of_other_writers_are_unreadable(column: Any) -> None:
    """Types that no object of this engine has."""
    assert digest(ParquetDigest, parquet({"a": ["x"]}), 999) is not None
    assert digest(ParquetDigest, parquet({"a": column}), 999) is None


def test_a_header_of_many_entries_is_not_read() -> None:
    """It would be read once more with every piece that comes."""
    content = AvroDigest()
    with pytest.raises(Unreadable, match="more than 1000 entries"):
        content.feed(b"Obj\x01" + b"\x80\x80\x80\x80\x10" + b"\0\0" * 1000)
