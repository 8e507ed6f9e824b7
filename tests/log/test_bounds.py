"""Numbers, names and keys of documents in the bucket: none that the exporter never writes is taken from there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from kafka_s3.adapters.memory import MemoryStore
from kafka_s3.errors import LogDamaged
from kafka_s3.log.documents import decode, encode
from kafka_s3.log.entries import Entry, Kind, Plan, sha256_of
from kafka_s3.log.store import Log
from kafka_s3.naming import SEQ_DIGITS, SEQ_MAX, LogLayout, parse_seq
from tests.log.logs import HandMade

LAYOUT = LogLayout("_kafka_s3", "orders")


def _bodies() -> tuple[dict[str, Any], dict[str, Any]]:
    """A commit with a data object and dead letters, and its plan, as plain values."""
    made = HandMade()
    made.begin({"orders": 1})
    made.commit([("orders", 0, 0, 10)], letters=True)
    contents = made.store.contents()
    entry, plan = (msgspec.json.decode(contents[key])["body"] for key in (LAYOUT.log_key(1), LAYOUT.plan_key(1)))
    return entry, plan


def _sealed(body: object) -> bytes:
    """A body in an envelope whose checksum is right."""
    raw = msgspec.json.encode(body)
    return msgspec.json.encode({"sha256": sha256_of(raw), "body": msgspec.Raw(raw)})


def _set(*path: str | int, to: object) -> Callable[[Any], None]:
    def change(body: Any) -> None:
        for step in path[:-1]:
            body = body[step]
        body[path[-1]] = to

    return change


RANGE = ("ranges", 0)
OBJECT = (*RANGE, "objects", 0)
HUGE = 10**19


@pytest.mark.parametrize(
    "change",
    [
        _set("seq", to=-1),
        _set("seq", to=HUGE),
        _set("seq", to=SEQ_MAX + 1),
        _set("try_number", to=-1),
        _set("topics", "orders", "generation", to=-1),
        _set("topics", "orders", "positions", "0", to=-5),
        _set("topics", "orders", "positions", "-1", to=5),
        _set("topics", "../other", to={"topic_id": "x"}),
        _set("topics", "..", to={"topic_id": "x"}),
        _set(*RANGE, "start", to=-1),
        _set(*RANGE, "start", to=11),
        _set(*RANGE, "next_offset", to=HUGE),
        _set(*RANGE, "partition", to=2**31),
        _set(*RANGE, "topic", to="payments"),
        _set(*RANGE, "records", to=-1),
        _set(*RANGE, "rejected", to=-1),
        _set(*OBJECT, "size", to=-1),
        _set(*OBJECT, "size", to=HUGE),
        _set(*OBJECT, "key", to=""),
        _set(*OBJECT, "key", to="k" * 1025),
        _set(*OBJECT, "sha256", to="abc"),
        _set(*OBJECT, "first_offset", to=-1),
        _set(*OBJECT, "last_offset", to=0),
        _set(*RANGE, "dead_letters", "records", to=-1),
        _set(*RANGE, "dead_letters", "last_offset", to=HUGE),
        _set("boundary_ms", to=2**70),
        _set("gaps", to=[{"topic": "orders", "partition": 0, "start": 5, "end": 4, "reason": "r"}]),
        _set("failed", to=[{"topic": "payments", "partition": 0, "start": 4, "end": 5, "reason": "r"}]),
        _set("restarts", to=[{"topic": "orders", "partition": 0, "generation": -1, "position": 0}]),
    ],
)
def test_an_entry_with_impossible_numbers_is_refused(change: Callable[[Any], None]) -> None:
    """Out of bounds, the wrong way round, or of nothing that the entry knows: the file is named, and no trace shown."""
    body, _ = _bodies()
    assert decode(Entry, "k", _sealed(body)).kind is Kind.COMMIT
    change(body)
    with pytest.raises(LogDamaged, match="log entry k"):
        decode(Entry, "k", _sealed(body))


@pytest.mark.parametrize(
    "change",
    [
        _set("seq", to=-1),
        _set("seq", to=HUGE),
        _set(*RANGE, "start", to=-1),
        _set(*RANGE, "end", to=HUGE),
        _set(*RANGE, "start", to=11),
        _set(*RANGE, "topic", to="payments"),
        _set(*RANGE, "generation", to=-1),
        _set(*RANGE, "live", to=HUGE),
        _set("run", "ends", to={"orders": {"0": HUGE}}),
        _set("run", "ends", to={"a/b": {"0": 1}}),
    ],
)
def test_a_plan_with_impossible_numbers_is_refused(change: Callable[[Any], None]) -> None:
    """As for entries: what a run would read by is checked before it is used."""
    _, body = _bodies()
    decode(Plan, "k", _sealed(body))
    change(body)
    with pytest.raises(LogDamaged, match="plan k"):
        decode(Plan, "k", _sealed(body))


@pytest.mark.parametrize("seq", [-1, HUGE, HUGE - 1, SEQ_MAX + 1])
def test_a_number_out_of_bounds_is_an_error_with_its_key(seq: int) -> None:
    """The newest entry says that its number is -1, or one after which none can be written."""
    body, _ = _bodies()
    body["seq"] = seq
    for name in ("0" * SEQ_DIGITS, "9" * SEQ_DIGITS):
        store = MemoryStore()
        key = f"{LAYOUT.log_prefix}{name}.json"
        store.overwrite(key, _sealed(body))
        with pytest.raises(LogDamaged, match=key):
            Log(store, LAYOUT).newest()


def test_a_key_beyond_every_log_is_none_of_its_keys() -> None:
    """The number of a key is one after which another can be written."""
    assert parse_seq(LAYOUT.log_key(SEQ_MAX)) == SEQ_MAX
    assert parse_seq(LAYOUT.log_key(SEQ_MAX + 1)) is None
    assert parse_seq(f"{LAYOUT.log_prefix}{'0' * SEQ_DIGITS}.json") is None


def test_what_the_exporter_writes_is_within_bounds() -> None:
    """Bounds refuse nothing of its own: what was encoded is decoded to the same."""
    made = HandMade()
    made.begin({"orders": 1})
    entry = made.commit([("orders", 0, 0, 10)], letters=True)
    assert decode(Entry, "k", encode(entry)) == entry
