"""Small objects that unpack to large ones: a limit by ratio and by size, and what the exporter writes is within it."""

from __future__ import annotations

import gzip
import hashlib
import tracemalloc
import zlib
from dataclasses import replace

import msgspec
import pytest

from kafka_s3.adapters.memory import MemoryStore
from kafka_s3.adopt import count
from kafka_s3.adopt.objects import Stored, Uncounted
from kafka_s3.bucket.dead_letter_objects import read_letters
from kafka_s3.dead_letter import LETTER_BYTES_FREE, LETTER_RATIO_MAX, encode, letter_bytes_max
from kafka_s3.errors import LogDamaged
from kafka_s3.log.store import Log
from kafka_s3.naming import DataName, LogLayout
from kafka_s3.settings.formats import Gzip
from kafka_s3.values.formats.compression import open_stream
from kafka_s3.write.dead_letter_writer import dead_letter_writer
from tests.dead_letters.letters import letter, put_letters, replace_range
from tests.log.logs import settings_of
from tests.support import make_settings

MEBIBYTE = 1024 * 1024


@pytest.fixture
def log() -> Log:
    return Log(MemoryStore(), LogLayout("_kafka_s3", "orders"))


def _replace_body(log: Log, body: bytes) -> object:
    """A range whose dead letters are these bytes, as its entry says."""
    done = put_letters(log, [letter(0)])
    assert done.dead_letters is not None
    log.store.overwrite(done.dead_letters.key, body)  # type: ignore[attr-defined]
    made = msgspec.structs.replace(done.dead_letters, size=len(body), sha256=hashlib.sha256(body).hexdigest())
    return replace_range(done.tp, done.start, done.next_offset, 1, made)


def test_a_small_object_unpacks_to_no_large_letter(log: Log) -> None:
    """A letter of 200 MB in an object of 200 kB is refused after a tenth of it, with key, size and limit."""
    body = gzip.compress(b"A" * (200 * MEBIBYTE), compresslevel=9, mtime=0)
    assert len(body) < 220_000
    done = _replace_body(log, body)
    tracemalloc.start()
    try:
        most = letter_bytes_max(len(body))
        with pytest.raises(LogDamaged, match=rf"{len(body)} bytes\) unpacks to a dead letter of more than {most} "):
            list(read_letters(log, done))  # type: ignore[arg-type]
        assert tracemalloc.get_traced_memory()[1] < 64 * MEBIBYTE
    finally:
        tracemalloc.stop()


def test_more_letters_than_the_entry_says_are_not_sent(log: Log) -> None:
    """The first letter beyond the entry's number ends it: none of the others is read."""
    done = put_letters(log, [letter(0), letter(1)])
    assert done.dead_letters is not None
    made = msgspec.structs.replace(done.dead_letters, records=1)
    lines = read_letters(log, replace_range(done.tp, done.start, done.next_offset, 1, made))
    assert next(lines).offset == 0
    with pytest.raises(LogDamaged, match="more than the 1 dead letters"):
        next(lines)


@pytest.mark.parametrize("fill", [b"\0", b"\xff"])
def test_the_densest_record_can_be_read_again(fill: bytes) -> None:
    """A record of 30 MB of one byte packs a thousand to one: its object is padded, and it comes back as it was."""
    store, settings = MemoryStore(), make_settings(tolerate=True)
    dense = replace(letter(0), value=fill * (30 * MEBIBYTE))
    file = dead_letter_writer(settings, 0, store)
    file.take(dense)
    written = file.finish()
    assert written is not None
    line = len(encode(dense)) + 1
    assert line > LETTER_BYTES_FREE
    assert line / LETTER_RATIO_MAX <= written.stored.size < line / LETTER_RATIO_MAX + 1024 * 1024
    log = Log(store, LogLayout(settings.log_root, settings.name))
    made = put_letters(Log(MemoryStore(), log.layout), [letter(0)]).dead_letters
    assert made is not None
    listed = msgspec.structs.replace(made, key=written.key, size=written.stored.size, sha256=written.stored.sha256)
    [found] = read_letters(log, replace_range(dense.tp, 0, 1, 1, listed))
    assert found.value == dense.value


def test_letters_of_usual_size_keep_their_bytes() -> None:
    """Padding is for letters above the free size alone: all others are the bytes that they always were."""
    store = MemoryStore()
    file = dead_letter_writer(make_settings(tolerate=True), 0, store)
    letters = [replace(letter(offset), value=b"\0" * MEBIBYTE) for offset in range(3)]
    for each in letters:
        file.take(each)
    written = file.finish()
    stream = open_stream(Gzip())
    plain = b"".join(stream.compress(encode(each) + b"\n") for each in letters) + stream.finish()
    assert written is not None
    assert store.contents()[written.key] == plain


def test_padding_holds_nothing() -> None:
    """A padded stream is one gzip stream with the same content, so much longer."""
    plain, padded = open_stream(Gzip()), open_stream(Gzip())
    body = plain.compress(b"abc" * 1000) + plain.finish()
    longer = padded.compress(b"abc" * 1000) + padded.pad(10_000) + padded.finish()
    assert gzip.decompress(longer) == gzip.decompress(body)
    assert len(longer) >= len(body) + 10_000
    inflate = zlib.decompressobj(31)
    inflate.decompress(longer)
    assert inflate.eof
    assert not inflate.unused_data


def test_a_bomb_among_the_sinks_objects_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """adopt counts no object that unpacks to a record without end: it says so, and asks for another source."""
    monkeypatch.setattr(count, "RECORD_BYTES_MAX", 2 * MEBIBYTE)
    store = MemoryStore()
    body = gzip.compress(b"A" * (8 * MEBIBYTE))
    key = "topics/orders/partition=0/orders+0+0000000000.json.gz"
    store.put_if_absent(key, body)
    stored = Stored(key, len(body), DataName("orders", "partition=0", 0, 0, ".json.gz"))
    found = count.count_object(store, stored, settings_of().format)
    assert isinstance(found, Uncounted)
    assert f"more than {2 * MEBIBYTE} bytes" in found.reason
