"""Verify over generations: every offset once, whatever was rewound, truncated or created again; lost ones by name."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_s3.errors import StoreUnavailable
from kafka_s3.log.documents import decode, encode
from kafka_s3.log.entries import Entry, Kind, Owner, Restart, sha256_of
from kafka_s3.ranges import TopicPartition
from kafka_s3.records import Record
from kafka_s3.rewind.rewind import look, rewind
from kafka_s3.verify.verify import Kafka, Progress, Verified, verify
from tests.export.harness import MemoryExport
from tests.log.logs import HandMade, settings_of
from tests.support import make_settings, request

TP = TopicPartition("orders", 0)
OTHER = TopicPartition("orders", 1)


def _history() -> HandMade:
    """Two commits, a rewind of the second, the second again, a gap, a truncation, and a topic created again."""
    made = HandMade(settings_of())
    made.begin({"orders": 2})
    made.commit([("orders", 0, 0, 10), ("orders", 1, 0, 3)])
    made.commit([("orders", 0, 10, 20)])
    made.rewind(TP, 10)
    made.commit([("orders", 0, 10, 25)], letters=True)
    made.gap(("orders", 0, 25, 30))
    made.commit([("orders", 0, 30, 40)])
    made.truncated(TP, 35)
    made.commit([("orders", 0, 35, 50)])
    made.recreated("orders")
    made.commit([("orders", 0, 0, 5), ("orders", 1, 0, 5)])
    return made


def _verify(made: HandMade, *, since: int = 0, parallel: int = 8) -> Verified:
    return verify(made.settings, made.log, None, since=since, parallel=parallel, tell=lambda _: None)


def _rewrite(made: HandMade, seq: int, change: Callable[[Entry], Entry]) -> None:
    """Edit an entry as somebody who knows the format would, and mend the chain up to the newest."""
    layout = made.log.layout
    previous: str | None = None
    for at in range(seq, made.seq):
        key = layout.log_key(at)
        entry = decode(Entry, key, made.store.contents()[key])
        entry = change(entry) if at == seq else msgspec.structs.replace(entry, previous_sha256=previous)
        made.store.overwrite(key, encode(entry))
        previous = sha256_of(made.store.contents()[key])


def _found(verified: Verified) -> str:
    return "\n".join(map(str, verified.findings))


def test_an_export_over_generations_has_no_findings() -> None:
    """Rewinds, truncated and recreated topics, gaps and dead letters are right; gaps are noted, the rewound counted."""
    verified = _verify(_history())
    assert verified.findings == ()
    assert verified.ok
    assert (verified.entries, verified.records, verified.objects) == (11, 10 + 3 + 14 + 10 + 15 + 5 + 5, 7)
    assert (verified.withdrawn, verified.gaps) == (1, 1)
    assert verified.notes == ("gap: orders-0 [25, 30) in entry 5: retention",)
    assert verified.orphans == ()


def test_withdrawn_objects_may_be_gone_and_are_no_orphans() -> None:
    """Nobody reads what was rewound: missing it is a note. While it is there, it is listed, so no orphan."""
    made = _history()
    made.store.delete(made.key(TP, 10, generation=0))
    verified = _verify(made)
    assert verified.findings == ()
    assert verified.orphans == ()
    assert "entry 2: 1 of 1 withdrawn objects are gone or changed; no reader takes them" in verified.notes


def test_what_stays_of_an_older_log_has_to_be_there() -> None:
    """Objects of a log that Kafka truncated, or of a topic that was created again, are of the export: a missing one
    is a finding."""
    for offset, generation in ((30, 1), (35, 2), (0, 0)):
        made = _history()
        key = made.key(TP, offset, generation=generation)
        made.store.delete(key)
        assert [finding.where for finding in _verify(made).findings] == [key]


def test_a_gap_that_is_not_recorded_is_found() -> None:
    """A position that was raised without a gap is a hole, named with partition and entry."""
    made = _history()
    _rewrite(made, 5, lambda entry: msgspec.structs.replace(entry, gaps=()))
    assert [finding.where for finding in _verify(made).findings] == ["orders-0 in entry 5"]


def _restarted(position: int | None = None, **change: object) -> Callable[[Entry], Entry]:
    def do(entry: Entry) -> Entry:
        (restart,) = entry.restarts
        changed = msgspec.structs.replace(restart, **({} if position is None else {"position": position}), **change)
        return msgspec.structs.replace(entry, restarts=(changed,))

    return do


@pytest.mark.parametrize(
    ("seq", "change", "says"),
    [
        (3, lambda entry: msgspec.structs.replace(entry, restarts=()), "generation 0"),
        (3, _restarted(9), "position 9, where its ranges end, found 10"),
        (3, _restarted(generation=7), "generation 1, found 1, 7"),
        (
            7,
            _restarted(withdrawn=True),
            "an end at 35, which entry 7 rewound to, found 40: offsets in the export twice",
        ),
        (9, lambda entry: msgspec.structs.replace(entry, restarts=()), "as no partition was restarted"),
    ],
)
def test_a_restart_that_is_not_what_it_says_is_found(seq: int, change: Callable[[Entry], Entry], says: str) -> None:
    """A restart that is left out, or edited in any of its parts, no longer fits the entries around it."""
    made = _history()
    _rewrite(made, seq, change)
    assert says in _found(_verify(made))


def test_a_rewind_into_the_middle_of_a_range_is_found() -> None:
    """A range that begins below a rewind's position and ends above it leaves offsets in the export twice."""
    made = HandMade(settings_of())
    made.begin({"orders": 1})
    made.commit([("orders", 0, 0, 10)])
    made.commit([("orders", 0, 10, 20)])
    made.rewind(TP, 15)
    made.commit([("orders", 0, 15, 30)])
    found = _found(_verify(made))
    assert "orders-0 [10, 20) in entry 2: expected an end at 15, which entry 3 rewound to, found 20" in found
    assert "twice" in found


def test_a_rewind_into_an_older_log_is_found() -> None:
    """Below the place where Kafka's log parted, the older export stays: exporting these offsets again doubles them."""
    made = HandMade(settings_of())
    made.begin({"orders": 1})
    made.commit([("orders", 0, 0, 10)])
    made.truncated(TP, 8)
    made.commit([("orders", 0, 8, 12)])
    made.rewind(TP, 5)
    made.commit([("orders", 0, 5, 20)])
    assert "orders-0, which began anew in entry 2: expected an end at 5" in _found(_verify(made))


def test_a_rewind_below_what_adopt_took_over_is_found() -> None:
    """What the sink had written is of the export, so exporting it again doubles it; below a first sight that was none
    of that, a partition may begin anew."""
    for kind, findings in ((Kind.ADOPT, 1), (Kind.CHECKPOINT, 0)):
        made = HandMade(settings_of())
        made.begin({"orders": 1}, at=100, kind=kind)
        made.commit([("orders", 0, 100, 110)])
        made.rewind(TP, 50)
        made.commit([("orders", 0, 50, 120)])
        assert _verify(made).findings_count == findings


def test_entries_that_close_a_plan_by_a_rewind_are_right() -> None:
    """A rewind in the slot of an open plan names it; a plan that was written too late for its slot is none of it."""
    made = HandMade(settings_of())
    made.begin({"orders": 1})
    made.commit([("orders", 0, 0, 10)])
    planned = made.plan([("orders", 0, 10, 20)])
    made.topics["orders"] = msgspec.structs.replace(made.topics["orders"], generation=1, positions={0: 0})
    restart = Restart(topic="orders", partition=0, generation=1, position=0, withdrawn=True, reason="r")
    made.put(Kind.REWIND, restarts=(restart,), plan_sha256=planned.sha256)
    verified = _verify(made)
    assert (verified.findings, verified.withdrawn) == ((), 1)
    made.store.overwrite(made.log.layout.plan_key(2), b"{}")
    assert [finding.where for finding in _verify(made).findings] == [made.log.layout.plan_key(2)]


@pytest.mark.parametrize("change", ["missing", "theirs", "damaged"])
def test_an_owner_that_is_not_this_connector_is_found(change: str) -> None:
    """Every topic that was written belongs to this connector, by the owner in the bucket."""
    made = _history()
    key = made.log.layout.owner_key("topics", "orders")
    if change == "missing":
        made.store.delete(key)
    else:
        body = b"{" if change == "damaged" else encode(Owner(connector="theirs", log="_kafka_s3/theirs/log/"))
        made.store.overwrite(key, body)
    verified = _verify(made)
    assert [finding.where for finding in verified.findings] == [key]


def test_a_key_of_another_offset_or_generation_is_found() -> None:
    """An entry that lists an object under a name that says something else is named."""
    made = _history()

    def rename(entry: Entry) -> Entry:
        (done,) = entry.ranges
        other = made.key(TP, 10, generation=0)
        named = msgspec.structs.replace(done.objects[0], key=other)
        return msgspec.structs.replace(entry, ranges=(msgspec.structs.replace(done, objects=(named,)),))

    _rewrite(made, 6, rename)
    assert "the key of orders-0 from offset 30 on, generation 1" in _found(_verify(made))


def test_since_looks_at_no_landing_below_it() -> None:
    """A check of the newest entries alone says nothing of where an older rewind landed."""
    made = _history()
    for since in range(made.seq):
        assert _verify(made, since=since).findings == ()


def test_a_missing_entry_makes_no_false_findings_about_rewinds() -> None:
    """Without the entry before a rewind nothing follows about where the export ends there."""
    made = _history()
    made.store.delete(made.log.layout.log_key(2))
    verified = _verify(made)
    assert {finding.where for finding in verified.findings} == {made.log.layout.log_key(2)}
    assert verified.orphans is None


def test_content_is_compared_where_kafka_still_has_it() -> None:
    """Against Kafka, what was withdrawn is passed over, the new generation is compared under its own keys, and what
    was exported before a truncation is not checkable from there on."""
    world = MemoryExport(settings=make_settings())
    world.produce(0, 4)
    world.run()
    world.produce(0, 4)
    world.run()
    rewind(world.exporter, look(world.exporter, {TP: 4}), request("by-hand"))
    world.run()
    verified = verify(world.settings, world.exporter.log, Kafka(world.broker, world.broker), tell=lambda _: None)
    assert verified.findings == ()
    assert (verified.ranges_compared, verified.withdrawn) == (2, 2)
    assert verified.records == 8


@pytest.mark.parametrize("since", [0, 1, 5])
def test_a_truncation_that_no_run_has_met_is_no_finding(since: int) -> None:
    """What Kafka lost since the last run, with nothing, fewer or more other records in its place, is not checkable:
    the objects hold what was there. What lies below is compared."""
    world = MemoryExport(settings=make_settings())
    for _ in range(2):
        world.produce(0, 3)
        world.run()
    world.broker.truncate("orders", 0, 4)
    for offset in range(4, 4 + since):
        world.broker.append("orders", 0, Record(offset, b'{"other": %d}' % offset))
    verified = verify(world.settings, world.exporter.log, Kafka(world.broker, world.broker), tell=lambda _: None)
    assert verified.findings == ()
    assert verified.ranges_compared == 1
    assert "not checkable: orders-0 [3, 6) was read from a log that Kafka truncated at 4 since" in verified.notes


@given(st.lists(st.tuples(st.sampled_from(["commit", "rewind", "truncated", "recreated", "gap"]), st.integers(1, 6))))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_histories_that_keep_the_rules_have_no_findings(history: list[tuple[str, int]]) -> None:
    """Whatever happened to a partition, as long as a rewind lands where a range began, nothing is found."""
    made = HandMade(settings_of())
    made.begin({"orders": 2})
    made.commit([("orders", 1, 0, 1)])
    starts: list[int] = []
    for kind, count in history:
        at = made.position(TP)
        match kind:
            case "commit":
                made.commit([("orders", 0, at, at + count)])
                starts.append(at)
            case "gap":
                made.gap(("orders", 0, at, at + count))
                starts.append(at)
            case "rewind" if starts:
                to = starts[-count:][0]
                starts = [start for start in starts if start < to]
                made.rewind(TP, to)
            case "truncated":
                made.truncated(TP, max(0, at - count))
                starts = []
            case "recreated":
                made.recreated("orders")
                starts = []
    assert _verify(made, parallel=2).findings == ()


@pytest.mark.parametrize("parallel", [1, 3, 64])
def test_how_many_requests_run_at_once_changes_no_result(parallel: int) -> None:
    """Findings, their order, notes and counts are the same whatever --parallel says; progress ends at the whole."""
    made = _history()
    for offset, generation in ((0, 0), (30, 1), (0, 3)):
        made.store.delete(made.key(TP, offset, generation=generation))
    told: list[Progress] = []
    verified = verify(made.settings, made.log, None, parallel=parallel, tell=told.append)
    assert verified == _verify(made, parallel=8)
    assert told[-1] == Progress(11, 11, verified.objects, verified.bytes)
    assert [each.entries for each in told] == list(range(1, 12))


def test_a_store_that_falls_silent_ends_it() -> None:
    """An object that cannot be asked for is no finding about it: the error is raised, and nothing hangs."""
    made = _history()
    made.store.fail_next("GetObject", StoreUnavailable("out"), skip=20)
    with pytest.raises(StoreUnavailable):
        _verify(made)


def test_topics_under_several_folders_are_owned_each() -> None:
    """After topics.dir has changed, the owners of both folders are looked at."""
    made = HandMade(settings_of())
    made.begin({"orders": 1})
    made.commit([("orders", 0, 0, 10)])
    made.settings = settings_of(**{"topics.dir": "later"})
    made.commit([("orders", 0, 10, 20)])
    assert _verify(made).findings == ()
    made.store.delete(made.log.layout.owner_key("topics", "orders"))
    assert [finding.where for finding in _verify(made).findings] == [made.log.layout.owner_key("topics", "orders")]
