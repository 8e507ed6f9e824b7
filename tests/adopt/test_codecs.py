"""`adopt` over objects of every codec."""

from __future__ import annotations

import pytest

from kafka_s3.settings.formats import Bzip2, Compression, Gzip, Lz4, Snappy, Zstd
from kafka_s3.values.formats.compression import extension_suffix, name_of, open_stream
from tests.adopt.test_adopt import P0, find, positions, said
from tests.adopt.test_refusals import body_of
from tests.export.harness import MemoryExport


@pytest.mark.parametrize("codec", [Gzip(), Zstd(), Snappy(), Lz4(), Bzip2()], ids=str)
def test_every_codec_is_counted_by_its_extension(codec: Compression) -> None:
    """What the configuration compresses by today does not matter: a bucket may hold objects from before a change."""
    world = MemoryExport()
    world.produce(0, 4)
    stream = open_stream(codec)
    key = f"topics/orders/partition=0/orders+0+0000000000.json{extension_suffix(codec)}"
    whole = stream.compress(body_of(3)) + stream.finish()
    world.store.overwrite(key, whole)
    assert positions(find(world))[P0] == 3
    world.store.overwrite(key, whole[:-1])
    assert f"is not a whole {name_of(codec)} stream" in said(find(world))
