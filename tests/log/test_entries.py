"""Plans and entries: they read back as they were written, and what is damaged is never believed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_s3.errors import EXIT_DATA, LogDamaged
from kafka_s3.log.documents import decode, encode
from kafka_s3.log.entries import (
    FORMAT_VERSION,
    Entry,
    FailedRange,
    Interval,
    Kind,
    ObjectEntry,
    Owner,
    Plan,
    PlannedRange,
    RangeEntry,
    RangeGap,
    RunPlan,
    TopicState,
    sha256_of,
)
from kafka_s3.plan.batch import moved
from kafka_s3.ranges import TopicPartition

JOBS = Path(__file__).parents[2] / "jobs"
KEY = "_kafka_s3/orders/log/9999999999999999997.json"


def entry_of(**what: object) -> Entry:
    known = {
        "kind": Kind.COMMIT,
        "seq": 2,
        "connector": "orders",
        "previous_sha256": "ab" * 32,
        "cluster_id": "memory",
        "engine": "0.1.0",
        "configuration_sha256": "cd" * 32,
        "isolation_level": "read_committed",
        "run_id": "scheduled__2026-01-01",
        "try_number": 1,
        "topics": {"orders": TopicState(topic_id="id-1", positions={0: 5, 1: 0})},
    }
    return Entry(**{**known, **what})  # type: ignore[arg-type]


def plan_of(*ranges: PlannedRange, topics: dict[str, TopicState] | None = None) -> Plan:
    return Plan(
        seq=3,
        connector="orders",
        previous_sha256="ab" * 32,
        engine="0.1.0",
        cluster_id="memory",
        isolation_level="read_committed",
        configuration_sha256="cd" * 32,
        configuration={"flush.size": "3"},
        run=RunPlan(run_id="run", interval=Interval(0, 10), ends={"orders": {0: 9}}),
        interval=Interval(0, 10),
        topics=entry_of().topics if topics is None else topics,
        ranges=ranges,
    )


def range_of(**what: object) -> RangeEntry:
    known = {
        "topic": "orders",
        "partition": 0,
        "start": 5,
        "next_offset": 9,
        "records": 2,
        "bytes": 40,
        "rejected": 1,
        "tombstones": 0,
        "skipped_offsets": 1,
        "leader_epoch": 3,
        "log_start": 0,
        "high_watermark": 12,
        "last_stable": 11,
        "objects": (_object(2),),
    }
    return RangeEntry(**{**known, **what})  # type: ignore[arg-type]


def _object(records: int) -> ObjectEntry:
    return ObjectEntry(
        key="topics/orders/partition=0/orders+0+0000000005.json",
        size=40,
        sha256="ef" * 32,
        records=records,
        first_offset=5,
        last_offset=8,
        closed_by="flush.size",
    )


FULL = entry_of(
    ranges=(range_of(),),
    failed=(FailedRange(topic="orders", partition=1, start=0, end=4, reason="no leader", interval=Interval(0, 9)),),
    gaps=(RangeGap(topic="orders", partition=1, start=0, end=4, reason="allowed"),),
    plan_sha256="12" * 32,
)
DOCUMENTS = [FULL, plan_of(PlannedRange("orders", 0, 5, 9, Interval(-5, 0))), Owner(connector="orders", log="x/")]


def sealed(body: object) -> bytes:
    """A document with a right checksum, whatever it says."""
    raw = json.dumps(body).encode()
    return json.dumps({"sha256": sha256_of(raw)})[:-1].encode() + b', "body": ' + raw + b"}"


# Round trip.


offsets = st.integers(0, 2**63 - 1)
texts = st.text(st.characters(codec="utf-8"), max_size=12)
intervals = st.none() | st.builds(Interval, st.integers(-(2**40), 2**40), st.integers(-(2**40), 2**40))
states = st.builds(
    TopicState,
    topic_id=texts,
    generation=st.integers(0, 9),
    owned=st.booleans(),
    positions=st.dictionaries(st.integers(0, 500), offsets, max_size=4),
)
names = st.from_regex(r"(?!\.{1,2}\Z)[a-zA-Z0-9._-]{1,12}", fullmatch=True)
topics = st.dictionaries(names, states, max_size=3)
spans = st.tuples(offsets, offsets).map(sorted)
planned = st.builds(
    lambda span, *more: PlannedRange("orders", *more[:1], *span, *more[1:]), spans, st.integers(0, 500), intervals
)
failed = st.builds(
    lambda span, p, reason, interval: FailedRange(
        topic="orders", partition=p, start=span[0], end=span[1], reason=reason, interval=interval
    ),
    spans,
    st.integers(0, 9),
    texts,
    intervals,
)
entries = st.builds(
    lambda topics, failed, interval, kind, reason, run_id, unfinished: entry_of(
        topics={"orders": TopicState(topic_id="id-1"), **topics},
        failed=tuple(failed),
        interval=interval,
        kind=kind,
        reason=reason,
        run_id=run_id,
        unfinished=unfinished,
    ),
    topics,
    st.lists(failed, max_size=3),
    intervals,
    st.sampled_from(Kind),
    st.none() | texts,
    texts,
    intervals,
)
plans = st.builds(
    lambda ranges, topics: plan_of(*ranges, topics={"orders": TopicState(topic_id="id-1"), **topics}),
    st.lists(planned, max_size=3),
    topics,
)


@given(entries | plans)
def test_a_document_reads_back_as_it_was_written(document: Entry | Plan) -> None:
    """decode(encode(x)) is x, and encoding is the same bytes each time, whatever the order of its mappings."""
    data = encode(document)
    again = decode(type(document), KEY, data)
    assert again == document
    assert encode(again) == data
    turned = msgspec.structs.replace(document, topics=dict(reversed(document.topics.items())))
    assert encode(turned) == data


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: type(document).__name__)
def test_what_it_says_can_be_read_by_people(document: Entry | Plan | Owner) -> None:
    """A document is one JSON object with the checksum of its body in front."""
    envelope = json.loads(encode(document))
    assert list(envelope) == ["sha256", "body"]
    assert envelope["body"]["format_version"] == FORMAT_VERSION
    assert decode(type(document), KEY, encode(document)) == document


# Damage.


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: type(document).__name__)
def test_a_truncated_document_is_never_believed(document: Entry | Plan | Owner) -> None:
    """Cut off after any byte, it is damaged: the message names the key and the way out."""
    data = encode(document)
    for length in range(len(data)):
        with pytest.raises(LogDamaged, match="is truncated or not JSON") as caught:
            decode(type(document), KEY, data[:length])
        assert KEY in str(caught.value)
        assert f"({length} bytes)" in str(caught.value)
        assert "Restore it from the bucket's versions" in str(caught.value)
        assert caught.value.exit_status == EXIT_DATA


@pytest.mark.parametrize("flip", [0x01, 0x20, 0x80])
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: type(document).__name__)
def test_a_flipped_bit_is_never_believed(document: Entry | Plan | Owner, flip: int) -> None:
    """One wrong bit at any place is found: as broken JSON, or by the checksum."""
    data = encode(document)
    for at in range(len(data)):
        damaged = data[:at] + bytes([data[at] ^ flip]) + data[at + 1 :]
        with pytest.raises(LogDamaged, match="truncated or not JSON|was edited") as caught:
            decode(type(document), KEY, damaged)
        assert KEY in str(caught.value)


@pytest.mark.parametrize("rest", [b"{}", b"\0", b"x"])
def test_a_document_with_something_behind_it_is_damaged(rest: bytes) -> None:
    """Bytes after the document's end are not passed over."""
    with pytest.raises(LogDamaged, match="truncated or not JSON"):
        decode(Entry, KEY, encode(FULL) + rest)


def test_an_edited_document_is_named_as_such() -> None:
    """Valid JSON with another content than its checksum's: edited."""
    with pytest.raises(LogDamaged, match=f"The log entry {KEY} was edited: its checksum does not match"):
        decode(Entry, KEY, encode(FULL).replace(b'"records":2', b'"records":3'))


def test_a_newer_version_asks_for_an_upgrade() -> None:
    """A later format is refused before anything else of it is looked at."""
    with pytest.raises(LogDamaged, match=r"has format version 2, this exporter knows up to 1\. .*upgrade this one"):
        decode(Entry, KEY, sealed({"format_version": 2, "positions": "another shape"}))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "missing required field `format_version`"),
        ({"format_version": 1}, "missing required field"),
        ([], "Expected `object`"),
        ({"format_version": "1"}, "Expected `int`"),
    ],
)
def test_another_shape_is_not_believed_whatever_its_checksum(body: object, said: str) -> None:
    """Types are checked after the checksum."""
    with pytest.raises(LogDamaged, match=f"The log entry {KEY} is not a log entry: .*{said}"):
        decode(Entry, KEY, sealed(body))


@pytest.mark.parametrize("data", [b"", b"null", b"[]", b"\xff", b"{}", b'{"sha256":"","body":' + b"[" * 10**5])
def test_a_stranger_is_no_document(data: bytes) -> None:
    """What somebody else put there, however odd, is an error with a message and not a crash."""
    with pytest.raises(LogDamaged, match=KEY):
        decode(Entry, KEY, data)


def test_a_plan_is_no_entry_and_an_entry_no_plan() -> None:
    """Each kind of document is refused as another kind."""
    for kind, document in [(Plan, FULL), (Entry, DOCUMENTS[1]), (Plan, DOCUMENTS[2]), (Owner, FULL)]:
        with pytest.raises(LogDamaged, match=KEY):
            decode(kind, KEY, encode(document))  # type: ignore[type-var]


# Accounting.


def test_accounts_that_are_right_pass() -> None:
    """4 offsets = 2 records + 1 rejected + 0 tombstones + 1 without a record."""
    range_of().check_accounting()


@pytest.mark.parametrize("term", ["records", "rejected", "tombstones", "skipped_offsets", "next_offset", "start"])
@pytest.mark.parametrize("by", [1, -1])
def test_one_offset_too_many_or_too_few_is_found(term: str, by: int) -> None:
    """Any term that is off by one breaks the sum, and the message shows all of them."""
    right = range_of()
    wrong = msgspec.structs.replace(right, **{term: getattr(right, term) + by})
    with pytest.raises(LogDamaged, match=r"orders-0 \[\d+, \d+\): \d offsets, but"):
        wrong.check_accounting()


def test_records_that_are_in_no_object_are_found() -> None:
    """The sum may be right and the objects wrong."""
    with pytest.raises(LogDamaged, match="1 records in objects, 2 counted"):
        range_of(objects=(_object(1),)).check_accounting()


# Positions.


def test_positions_move_forward_and_the_others_stay() -> None:
    """Only what is named moves; the mapping given is not changed."""
    before = entry_of().topics
    after = moved(before, {TopicPartition("orders", 0): 9})
    assert after["orders"].positions == {0: 9, 1: 0}
    assert before["orders"].positions == {0: 5, 1: 0}
    assert moved(before, {}) == before


def test_a_position_never_goes_back() -> None:
    """Moving one back is a bug of ours: an assertion."""
    with pytest.raises(AssertionError, match="orders-0: the position would go back from 5 to 4"):
        moved(entry_of().topics, {TopicPartition("orders", 0): 4})


# A plan and the entry it follows.


def test_a_plan_that_follows_its_entry_passes() -> None:
    """Ranges that begin at the position and join, in any order of listing, several partitions."""
    plan_of(
        PlannedRange("orders", 0, 7, 9), PlannedRange("orders", 1, 0, 4), PlannedRange("orders", 0, 5, 7)
    ).check_follows(entry_of())


@pytest.mark.parametrize(
    "ranges",
    [
        [PlannedRange("orders", 0, 6, 9)],
        [PlannedRange("orders", 0, 4, 9)],
        [PlannedRange("orders", 0, 5, 7), PlannedRange("orders", 0, 8, 9)],
        [PlannedRange("orders", 0, 5, 7), PlannedRange("orders", 0, 6, 9)],
        [PlannedRange("orders", 0, 5, 7), PlannedRange("orders", 0, 5, 7)],
        [PlannedRange("orders", 0, 5, 5)],
        [PlannedRange("orders", 0, 5, 4)],
        [PlannedRange("orders", 2, 0, 4)],
        [PlannedRange("other", 0, 0, 4)],
    ],
)
def test_a_plan_with_a_gap_or_an_overlap_is_refused(ranges: list[PlannedRange]) -> None:
    """Ranges that leave a gap, overlap, are empty, or name a partition without a position are damage."""
    with pytest.raises(LogDamaged, match=r"Plan 3 has a range .* was the next offset"):
        plan_of(*ranges).check_follows(entry_of())


@pytest.mark.parametrize(
    "topics",
    [
        {},
        {"orders": TopicState(topic_id="id-1", positions={0: 5})},
        {"orders": TopicState(topic_id="id-1", positions={0: 5, 1: 1})},
        {"orders": TopicState(topic_id="id-1", positions={0: 4, 1: 0})},
    ],
)
def test_a_plan_with_other_positions_than_its_entry_is_refused(topics: dict[str, TopicState]) -> None:
    """A plan carries every position of the entry before it, none changed and none left out."""
    with pytest.raises(LogDamaged, match="Plan 3 has other positions for topic orders than entry 2"):
        plan_of(topics=topics).check_follows(entry_of())


def test_a_plan_may_know_more_partitions_than_its_entry() -> None:
    """Partitions and topics that appeared since are in the plan alone."""
    more = {
        "orders": TopicState(topic_id="id-1", positions={0: 5, 1: 0, 2: 0}),
        "new": TopicState(topic_id="id-2", positions={0: 3}),
    }
    plan_of(PlannedRange("new", 0, 3, 4), PlannedRange("orders", 2, 0, 1), topics=more).check_follows(entry_of())


_IN_THREADS = """
import importlib, sys, threading
import kafka_s3.log.entries as commit_log
import kafka_s3.log.documents as documents

sys.setswitchinterval(1e-6)
data = sys.stdin.buffer.read()
for _ in range(60):
    importlib.reload(commit_log)  # types that were never decoded
    importlib.reload(documents)
    ready, read = threading.Barrier(8), []

    def look():
        ready.wait()
        read.append(documents.decode(commit_log.Entry, "key", data).seq)

    threads = [threading.Thread(target=look) for _ in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    assert read == [3] * 8
"""


def test_threads_may_read_the_first_document_together() -> None:
    """Threads that decode at the same moment, none having done so before, all get the document: an api-server that
    reads the entries of many logs at once stays alive."""
    command = [sys.executable, "-c", _IN_THREADS]
    environment = {**os.environ, "PYTHONPATH": str(JOBS)}
    data = encode(entry_of(seq=3))
    done = subprocess.run(command, input=data, capture_output=True, timeout=120, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, b"")
