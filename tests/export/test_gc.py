"""Garbage collection: exactly what no reader and no run can need, whatever the history and whoever is at work."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_s3.adapters.memory import MemoryBroker, MemoryStore
from kafka_s3.adapters.s3 import S3Store
from kafka_s3.bucket.folders import Named, place_of
from kafka_s3.bucket.orphans import Fate, keys_of
from kafka_s3.errors import LogDamaged, StoreRefused, StoreUnavailable
from kafka_s3.events import SweepFailed, Swept, UploadsNotListed
from kafka_s3.export.exporter import Exporter
from kafka_s3.export.run import run
from kafka_s3.export.sweep import sweep
from kafka_s3.export.task import RangeTask, export_range
from kafka_s3.gc.gc import FAILURES_MAX, Garbage, collect, delete
from kafka_s3.log.documents import decode, encode
from kafka_s3.log.entries import Entry, Kind, Owner, Plan
from kafka_s3.log.store import Log
from kafka_s3.naming import DataName, KeyLayout, Naming, format_data_key
from kafka_s3.plan.results import RangeResult
from kafka_s3.ports import Put
from kafka_s3.ranges import TopicPartition
from kafka_s3.settings.paths import DefaultPartitioner, FieldPartitioner, Partitioner
from kafka_s3.settings.s3 import S3Settings
from kafka_s3.settings.values import NullValues
from tests.export.logs import HandMade, settings_of
from tests.export.world import World
from tests.support import make_settings, request
from tools.parts.s3 import S3Server

TP = TopicPartition("orders", 0)
OTHER = TopicPartition("orders", 1)


def _log(**more: str) -> HandMade:
    """Two partitions; offsets [0, 20) of the first are exported in two commits."""
    made = HandMade(settings_of(**more))
    made.begin({"orders": 2})
    made.commit([("orders", 0, 0, 10)])
    made.commit([("orders", 0, 10, 20)])
    return made


def _put(made: HandMade, *keys: str) -> None:
    for key in keys:
        made.store.overwrite(key, b"left behind")


def _collect(made: HandMade) -> Garbage:
    garbage = collect(made.settings, made.log)
    assert garbage is not None
    return garbage


def _doomed(made: HandMade) -> set[str]:
    return {orphan.key for orphan in _collect(made).objects}


def test_what_is_below_the_position_goes_and_what_may_be_committed_stays() -> None:
    """An object that nobody lists is deleted below the position of its partition, and left at or above it."""
    made = _log()
    below, beside = made.key(TP, 7), made.key(TP, 10, collision=3)
    above, at, unseen = made.key(TP, 25), made.key(TP, 20), made.key(TopicPartition("orders", 5), 0)
    _put(made, below, beside, above, at, unseen)
    listed = {key for key in made.store.contents() if key not in {below, beside, above, at, unseen}}
    garbage = _collect(made)
    assert {orphan.key for orphan in garbage.objects} == {below, beside}
    assert {orphan.key for orphan in garbage.waiting} == {above, at, unseen}
    deleted = delete(made.log, garbage)
    assert (deleted.objects, deleted.complete) == (2, True)
    assert set(made.store.contents()) == listed | {above, at, unseen}
    assert _doomed(made) == set()


def test_without_delete_nothing_is_written() -> None:
    """Looking sends neither a PUT nor a DELETE."""
    made = _log()
    _put(made, made.key(TP, 7))
    made.store.start_multipart(made.key(TP, 8))
    made.store.requests.clear()
    _collect(made)
    assert {each.operation for each in made.store.requests} <= {"ListObjectsV2", "GetObject", "ListMultipartUploads"}


def test_older_generations_go_wherever_they_begin() -> None:
    """After a rewind, what nobody lists of the generation before is deletable at any offset; the new one's is not
    above its position; and what was withdrawn is listed all the same."""
    made = _log()
    made.rewind(TP, 10)
    old, new, ahead = made.key(TP, 35, generation=0), made.key(TP, 12), made.key(OTHER, 0)
    older_partition = made.key(OTHER, 99, generation=0)
    future = made.key(TP, 3, generation=7)
    _put(made, old, new, ahead, older_partition, future)
    assert _doomed(made) == {old, older_partition}
    made.commit([("orders", 0, 10, 15)])
    assert _doomed(made) == {old, older_partition, new}
    assert made.key(TP, 10, generation=0) in made.store.contents()


def test_dead_letters_and_companions_are_garbage_too() -> None:
    """What lies beside objects, and dead letters, go by the same rule; listed ones stay."""
    more = {
        "store.kafka.keys": "true",
        "keys.format.class": "io.confluent.connect.s3.format.json.JsonFormat",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    }
    made = HandMade(settings_of(**more))
    made.begin({"orders": 1})
    made.commit([("orders", 0, 0, 10)], letters=True)
    keys = made.key(TP, 4, extension=".keys.json")
    letters, waiting = made.letters_key(TP, 4), made.letters_key(TP, 10)
    _put(made, keys, letters, waiting)
    assert _doomed(made) == {keys, letters}
    assert made.letters_key(TP, 0) in made.store.contents()


@pytest.mark.parametrize(
    "key",
    [
        "topics/orders/partition=0/orders+0+0000000003.json.bak",
        "topics/orders/partition=0/orders+0+3.json",
        "topics/orders/partition=0/orders+00+0000000003.json",
        "topics/orders/partition=0/orders+0+0000000003.json/",
        "topics/orders/readme.txt",
        "topics/orders2/partition=0/orders+0+0000000003.json",
        "topics2/orders/partition=0/orders+0+0000000003.json",
        "_kafka_s3/orders/rejected/orders/partition=0/orders+0+0000000003.json",
        "_kafka_s3/other/rejected/orders/partition=0/orders+0+0000000003.jsonl.gz",
        "_kafka_s3/orders/redriven/orders/orders/partition=0/orders+0+0000000003.jsonl.gz/000000.json",
        "_kafka_s3/orders/announced/9999999999999999999",
        "orders+0+0000000003.json",
    ],
)
def test_keys_that_are_no_data_keys_of_ours_stay(key: str) -> None:
    """A key that is not exactly one that the connector makes is nobody's garbage."""
    made = _log()
    _put(made, key)
    garbage = _collect(made)
    assert (garbage.objects, garbage.waiting) == ((), ())


def test_another_owners_topic_stays() -> None:
    """Without an owner, and under another one, a topic's keys are not looked at; that it is another's is said."""
    made = _log()
    key = made.key(TP, 3)
    _put(made, key)
    owner = made.log.layout.owner_key("topics", "orders")
    made.store.overwrite(owner, encode(Owner(connector="theirs", log="_kafka_s3/theirs/log/")))
    garbage = _collect(made)
    assert garbage.objects == garbage.waiting == ()
    assert any("belongs to theirs" in note for note in garbage.notes)
    made.store.delete(owner)
    assert _doomed(made) == set()
    made.store.overwrite(owner, b"{")
    with pytest.raises(LogDamaged):
        _collect(made)


def test_a_connector_whose_folder_lies_inside_ours_loses_nothing() -> None:
    """topics.dir of another connector may be our topic's folder: its keys would read as ours, and stay."""
    made = _log()
    theirs = "topics/orders/orders/partition=0/orders+0+0000000003.json"
    _put(made, theirs, made.key(TP, 3))
    inner = made.log.layout.owner_key("topics/orders", "orders")
    assert _doomed(made) == {theirs, made.key(TP, 3)}, "without an owner there it is a path of ours"
    made.store.overwrite(inner, encode(Owner(connector="theirs", log="_kafka_s3/theirs/log/")))
    assert _doomed(made) == {made.key(TP, 3)}


def test_a_folder_inside_another_connectors_is_not_looked_at() -> None:
    """The other way round, keys could be the outer connector's: then nothing is deleted, and that is said."""
    made = _log(**{"topics.dir": "topics/orders"})
    _put(made, made.key(TP, 3))
    assert _doomed(made) == {made.key(TP, 3)}
    outer = made.log.layout.owner_key("topics", "orders")
    made.store.overwrite(outer, encode(Owner(connector="theirs", log="_kafka_s3/theirs/log/")))
    garbage = _collect(made)
    assert garbage.objects == ()
    assert any("lies within topics/orders/" in note for note in garbage.notes)


def test_a_key_that_reads_as_two_topics_has_to_be_garbage_of_both() -> None:
    """With "-" between the parts of a path, a key of topic a-x-a reads as one of topic a: the stricter answer holds."""
    more = {"topics": "a,a-x-a", "directory.delim": "-"}
    made = HandMade(settings_of(**more))
    made.begin({"a": 1, "a-x-a": 1})
    made.commit([("a", 0, 0, 10), ("a-x-a", 0, 0, 2)])
    key = made.key(TopicPartition("a-x-a", 0), 5)
    assert place_of(made.settings).parse("a", key) is not None
    _put(made, key)
    assert _doomed(made) == set()
    made.commit([("a-x-a", 0, 2, 9)])
    assert _doomed(made) == {key}


def test_every_layout_that_plans_were_made_under_is_looked_at() -> None:
    """After topics.dir has changed, what dead runs left under the old one is found too, also under a voided plan's:
    where a person names the prefixes. Else they are named, and left alone."""
    made = _log()
    old = made.key(TP, 3)
    made.settings = settings_of(**{"topics.dir": "between"})
    planned = made.plan([("orders", 0, 20, 30)])
    between = made.key(TP, 20)
    made.settings = settings_of(**{"topics.dir": "now"})
    made.put(Kind.VOID, plan_sha256=planned.sha256, reason="the configuration has changed since")
    made.commit([("orders", 0, 20, 40)])
    new = made.key(TP, 30)
    _put(made, old, between, new)
    assert _doomed(made) == {new}
    notes = [note.partition(" ")[0] for note in _collect(made).notes]
    assert notes == ["between/", "topics/"]
    garbage = collect(made.settings, made.log, named=Named(tuple(notes)))
    assert garbage is not None
    assert {orphan.key for orphan in garbage.objects} == {old, between, new}


def test_an_unknown_configuration_is_said() -> None:
    """Where a plan's configuration is not known to this engine, its keys are not looked at, and a note says so."""
    made = _log()
    _put(made, made.key(TP, 3))
    resolved = {**made.settings.resolved, "no.such.property": "1"}
    made.settings = replace(
        settings_of(**{"topics.dir": "strange"}), resolved=resolved, configuration_sha256="of another engine"
    )
    made.commit([("orders", 0, 20, 30)])
    made.settings = settings_of()
    garbage = _collect(made)
    assert [orphan.key for orphan in garbage.objects] == [made.key(TP, 3)]
    assert any("not known to this engine" in note for note in garbage.notes)


def test_block_gzip_names_are_told_apart_by_topic() -> None:
    """All topics lie together under Block-GZIP's names: each key goes by the positions of its own topic."""
    layout = KeyLayout("systest", naming=Naming.BLOCK_GZIP)
    made = HandMade(replace(settings_of(topics="orders,big-orders"), layout=layout), folder="2016-02-24")
    big = TopicPartition("big-orders", 0)
    made.begin({"orders": 1, "big-orders": 1})
    made.commit([("orders", 0, 0, 10), ("big-orders", 0, 0, 2)])
    _put(made, made.key(TP, 3), made.key(big, 3), made.key(big, 1))
    _put(made, "systest/2016-02-24/readme.json", "systest/2016-13-24/orders-00000-000000000003.json")
    assert _doomed(made) == {made.key(TP, 3), made.key(big, 1)}


def test_what_adopt_took_over_stays() -> None:
    """Below an adopted position, and of every generation before the adopted one, nothing is an orphan."""
    made = HandMade()
    made.begin({"orders": 2}, at=100, kind=Kind.ADOPT, generation=2)
    made.commit([("orders", 0, 100, 110)])
    kept = [made.key(TP, 3), made.key(TP, 99), made.key(TP, 500, generation=1), made.key(TP, 7, generation=0)]
    doomed = [made.key(TP, 100, collision=1), made.key(TP, 105)]
    _put(made, *kept, *doomed)
    assert _doomed(made) == set(doomed)
    made.rewind(TP, 100)
    assert _doomed(made) == set(doomed), "a rewind makes the adopted generation an older one, and nothing an orphan"
    assert _collect(made).waiting == ()


@pytest.mark.parametrize("damage", ["edit", "cut", "delete", "newest", "oldest", "plan", "foreign", "kind"])
def test_a_log_that_is_not_whole_is_refused(damage: str) -> None:
    """With an entry unreadable, edited, gone or of an unknown kind nothing is found garbage: it may list anything."""
    made = _log()
    made.commit([("orders", 1, 0, 5)])
    _put(made, made.key(TP, 7))
    layout, store = made.log.layout, made.store
    match damage:
        case "edit":
            entry = decode(Entry, "", store.contents()[layout.log_key(2)])
            store.overwrite(layout.log_key(2), encode(msgspec.structs.replace(entry, ranges=())))
        case "cut":
            store.overwrite(layout.log_key(1), store.contents()[layout.log_key(1)][:-9])
        case "delete":
            store.delete(layout.log_key(1))
        case "newest":
            store.overwrite(layout.announced_key(3), b"")
            store.delete(layout.log_key(3))
        case "oldest":
            store.delete(layout.log_key(0))
        case "plan":
            store.delete(layout.plan_key(1))
        case "foreign":
            store.overwrite(f"{layout.log_prefix}copy.json", b"")
        case "kind":
            made.put(Kind.REPLACE)
    with pytest.raises(LogDamaged, match="Nothing was deleted"):
        collect(made.settings, made.log)


def test_without_a_log_there_is_no_garbage() -> None:
    """Before the first entry nothing is known of any key, so nothing is deleted."""
    made = HandMade()
    _put(made, "topics/orders/partition=0/orders+0+0000000003.json")
    assert collect(made.settings, made.log) is None


def test_open_uploads_go_by_the_same_rule() -> None:
    """An upload under a key that nobody can commit any more is aborted, also where the key is listed; others stay."""
    made = _log()
    stale, listed, ahead = made.key(TP, 3), made.key(TP, 10), made.key(TP, 20)
    for key in (stale, listed, ahead, "topics/orders/readme.txt"):
        made.store.start_multipart(key)
    garbage = _collect(made)
    assert sorted(upload.key for upload in garbage.uploads) == [stale, listed]
    assert delete(made.log, garbage).uploads == 2
    assert [upload.key for upload in made.store.uploads("")] == [ahead, "topics/orders/readme.txt"]
    assert listed in made.store.contents()


def test_the_upload_of_a_first_look_that_was_killed() -> None:
    """It lies under a log entry's key. Under the newest one's it may be at work, unless that entry closed a plan."""
    made = _log()
    made.put(Kind.CHECKPOINT)  # 3, after the commits 1 and 2
    made.store.start_multipart(made.log.layout.log_key(0))
    made.store.start_multipart(made.log.layout.log_key(3))
    made.store.start_multipart(f"{made.log.layout.log_prefix}readme.txt")
    made.store.start_multipart(made.log.layout.log_key(4))  # of a run that wrote its entry since
    assert [each.key for each in _collect(made).uploads] == [made.log.layout.log_key(0)]
    made.commit([("orders", 0, 20, 30)])
    assert len(_collect(made).uploads) == 3


def test_a_store_that_does_not_list_uploads_is_a_note() -> None:
    """Where listing uploads is not allowed, objects are collected all the same."""
    made = _log()
    _put(made, made.key(TP, 3))
    made.store.fail_next("ListMultipartUploads", StoreRefused("s3:ListBucketMultipartUploads is not allowed."))
    garbage = _collect(made)
    assert len(garbage.objects) == 1
    assert any("ListBucketMultipartUploads" in note for note in garbage.notes)


def test_what_cannot_be_deleted_is_named_and_the_rest_goes() -> None:
    """One refused deletion is told with its key and reason; all others are done, and the next call does the rest."""
    made = _log()
    keys = [made.key(TP, offset) for offset in range(1, 7)]
    _put(made, *keys)
    made.store.fail_next("DeleteObject", StoreUnavailable("out"))
    deleted = delete(made.log, _collect(made), parallel=1)
    assert (deleted.objects, [failed.key for failed in deleted.failed], deleted.left) == (5, keys[:1], 0)
    assert not deleted.complete
    assert delete(made.log, _collect(made)).objects == 1


def test_many_failures_end_it() -> None:
    """A store that refuses every deletion is not asked for each of them."""
    made = _log()
    _put(made, *(made.key(TP, 3, collision=number) for number in range(1, 80)))
    for _ in range(200):
        made.store.fail_next("DeleteObject", StoreRefused("AccessDenied"))
    made.store.requests.clear()
    deleted = delete(made.log, _collect(made), parallel=2)
    assert (deleted.objects, len(deleted.failed)) == (0, FAILURES_MAX)
    assert deleted.left == 79 - FAILURES_MAX
    assert sum(each.operation == "DeleteObject" for each in made.store.requests) < 30


def test_an_entry_written_since_that_lists_garbage_stops_it() -> None:
    """No exporter writes such an entry; should one be there all the same, nothing is deleted."""
    made = _log()
    key = made.key(TP, 3)
    _put(made, key)
    garbage = _collect(made)
    assert made.head is not None
    first = made.log.entry(1)
    assert first is not None
    (done,) = first.entry.ranges
    strange = msgspec.structs.replace(done.objects[0], key=key)
    made.put(Kind.COMMIT, ranges=(msgspec.structs.replace(done, objects=(strange,)),))
    with pytest.raises(LogDamaged, match="Nothing was deleted"):
        delete(made.log, garbage)
    assert key in made.store.contents()


# Against a model.

TOPICS = {"orders": 2, "orders-2": 1}
TPS = [TopicPartition(topic, p) for topic, count in TOPICS.items() for p in range(count)]


@dataclass
class Attacked:
    """A log made by hand, the names of everything that dead runs left, and what a collection found a while ago."""

    made: HandMade
    left: dict[str, tuple[TopicPartition, int, int]] = field(default_factory=dict)  # partition, generation, offset
    adopted: dict[TopicPartition, tuple[int, int]] = field(default_factory=dict)  # generation and position
    found: Garbage | None = None
    live: dict[TopicPartition, list[int]] = field(default_factory=dict)  # where ranges of the log begin
    ended: dict[tuple[TopicPartition, int], int] = field(default_factory=dict)  # logs that Kafka lost above this
    gaps: dict[TopicPartition, set[int]] = field(default_factory=dict)

    def commit(self, tp: TopicPartition, count: int, letters: bool) -> None:
        start = self.made.position(tp)
        self.live.setdefault(tp, []).append(start)
        self.made.commit([(*tp, start, start + count)], letters=letters)

    def leave(self, tp: TopicPartition, ahead: int, back: int, kind: str, collision: int) -> None:
        """What a driver of some plan left before it died: of this generation or of an older one, near the position."""
        generation = max(0, self.made.topics[tp.topic].generation - back)
        offset = max(0, self.made.position(tp) + ahead)
        if kind == "letters":
            key = self.made.letters_key(tp, offset, generation=generation)
        else:
            key = self.made.key(tp, offset, generation=generation, collision=collision)
        if key not in self.made.store.contents():
            self.made.store.overwrite(key, b"left behind")
            self.left[key] = (tp, generation, offset)

    def leave_the_same(self, tp: TopicPartition, count: int) -> None:
        """A dead driver wrote exactly what the next one will write: that one's commit lists it."""
        start = self.made.position(tp)
        key = self.made.key(tp, start)
        if key not in self.made.store.contents():
            self.made.store.overwrite(key, self.made.body(start, start + count))
            self.left[key] = (tp, self.made.topics[tp.topic].generation, start)

    def rewind(self, tp: TopicPartition, which: int) -> None:
        starts = self.live.get(tp)
        if starts:
            at = starts[which % len(starts)]
            self.live[tp] = [start for start in starts if start < at]
            self.made.rewind(tp, at)

    def truncate(self, tp: TopicPartition, back: int) -> None:
        self.live[tp] = []
        self._end(tp)
        self.made.truncated(tp, max(0, self.made.position(tp) - back))

    def recreate(self, tp: TopicPartition) -> None:
        self.live = {other: starts for other, starts in self.live.items() if other.topic != tp.topic}
        for other in TPS:
            if other.topic == tp.topic:
                self._end(other)
        self.made.recreated(tp.topic)

    def _end(self, tp: TopicPartition) -> None:
        self.ended[tp, self.made.topics[tp.topic].generation] = self.made.position(tp)

    def gap(self, tp: TopicPartition, count: int) -> None:
        start = self.made.position(tp)
        self.gaps.setdefault(tp, set()).update(range(start, start + count))
        self.made.gap((*tp, self.made.position(tp), self.made.position(tp) + count))

    def look(self) -> None:
        """A collection looks; what it found is deleted later, or never. What may be the last copy of lost records waits
        until it is asked for."""
        careful = _collect(self.made)
        waiting = {orphan.key for orphan in careful.waiting if orphan.fate is Fate.LOST}
        assert {orphan.key for orphan in careful.objects} == {key for key in self.allowed() if not self._is_lost(key)}
        assert waiting == {key for key in self.allowed() if self._is_lost(key)}
        self.found = collect(self.made.settings, self.made.log, with_lost=True)
        assert self.found is not None
        assert {orphan.key for orphan in self.found.objects} == self.allowed()

    def _is_lost(self, key: str) -> bool:
        tp, generation, offset = self.left[key]
        ended = self.ended.get((tp, generation))
        return offset in self.gaps.get(tp, ()) or (ended is not None and offset >= ended)

    def act(self) -> None:
        if self.found is not None:
            delete(self.made.log, self.found, parallel=1)
            for orphan in self.found.objects:
                self.left.pop(orphan.key, None)
            self.found = None
            self.check()

    def allowed(self) -> set[str]:
        """The rule, word by word, over what is known to have been left."""
        listed = self.listed()
        return {
            key
            for key, (tp, generation, offset) in self.left.items()
            if key in self.made.store.contents() and key not in listed and self._is_past(tp, generation, offset)
        }

    def _is_past(self, tp: TopicPartition, generation: int, offset: int) -> bool:
        if tp in self.adopted:
            adopted_generation, position = self.adopted[tp]
            if generation < adopted_generation or (generation == adopted_generation and offset < position):
                return False
        now = self.made.topics[tp.topic]
        return generation < now.generation or (generation == now.generation and offset < now.positions[tp.partition])

    def listed(self) -> set[str]:
        return {key for committed in self.made.log.entries() for key in keys_of(committed.entry)}

    def check(self) -> None:
        """Whatever any entry lists is in the bucket, and what is left is there unless it was garbage."""
        contents = self.made.store.contents()
        assert self.listed() <= contents.keys()
        assert all(key in contents for key in self.left)


tps = st.sampled_from(TPS)
small = st.integers(1, 6)
ops: st.SearchStrategy[Callable[[Attacked], None]] = st.one_of(
    st.builds(lambda tp, n, b: lambda a: a.commit(tp, n, b), tps, small, st.booleans()),
    st.builds(lambda tp, n, b: lambda a: a.commit(tp, n, b), tps, small, st.just(False)),
    st.builds(
        lambda tp, n, b, k, c: lambda a: a.leave(tp, n, b, k, c),
        tps,
        st.integers(-8, 4),
        st.integers(0, 2),
        st.sampled_from(["object", "letters"]),
        st.integers(0, 2),
    ),
    st.builds(lambda tp, n: lambda a: a.leave_the_same(tp, n), tps, small),
    st.builds(lambda tp, n: lambda a: a.rewind(tp, n), tps, st.integers(0, 5)),
    st.builds(lambda tp, n: lambda a: a.truncate(tp, n), tps, st.integers(0, 5)),
    st.builds(lambda tp: lambda a: a.recreate(tp), tps),
    st.builds(lambda tp, n: lambda a: a.gap(tp, n), tps, small),
    st.just(lambda a: a.look()),
    st.just(lambda a: a.act()),
)


@given(st.lists(ops, min_size=3, max_size=25), st.booleans())
@settings(max_examples=300, deadline=None, derandomize=True)
def test_a_collection_finds_exactly_what_the_rule_allows_and_takes_nothing_from_any_entry(
    history: list[Callable[[Attacked], None]], adopted: bool
) -> None:
    """Over commits, rewinds, truncated and recreated topics: garbage is what the rule says, no more and no less, and
    what a collection found stays deletable whatever is committed before it deletes."""
    attacked = Attacked(HandMade(settings_of(topics=",".join(TOPICS))))
    if adopted:
        attacked.made.begin(TOPICS, at=10, kind=Kind.ADOPT, generation=1)
        attacked.adopted = dict.fromkeys(TPS, (1, 10))
    else:
        attacked.made.begin(TOPICS)
    for tp in TPS:
        attacked.commit(tp, 3, letters=False)
    for operation in history:
        operation(attacked)
        attacked.check()
    attacked.act()
    attacked.look()
    attacked.act()
    assert attacked.allowed() == set()


# What a driver sweeps, after it has finished what another had begun.


class _DiedError(BaseException):
    """kill -9."""


def _left_open(partitioner: Partitioner, *, ranges_done: int) -> tuple[World, Plan]:
    """A plan whose driver died after so many ranges, in other bytes than the next driver's, with an upload open."""
    world = World(settings=make_settings(partitioner=partitioner, flush_size=2, range_records_max=4))
    world.produce(0, 4)
    world.run()
    world.produce(0, 8)
    world.produce(1, 4)
    strange = replace(world.settings, format=replace(world.settings.format, null_values=NullValues.IGNORE))

    def die(tasks: Sequence[RangeTask]) -> list[RangeResult]:
        for task in tasks[:ranges_done]:
            made = export_range(strange, task, _Altered(world.store), world.broker)  # type: ignore[arg-type]
            assert made.failure is None
        world.store.start_multipart(format_data_key(KeyLayout(), _name(tasks[-1])))
        raise _DiedError

    with contextlib.suppress(_DiedError):
        run(world.exporter, request("dies"), die, lambda _: None)
    head = world.exporter.log.newest()
    assert head is not None
    planned = world.exporter.log.open_plan(head)
    assert planned is not None
    return world, planned.plan


def _name(task: RangeTask) -> DataName:
    planned = task.planned
    return DataName(planned.topic, f"partition={planned.partition}", planned.partition, planned.start, ".json")


@dataclass
class _Altered:
    """A store through which a machine of another kind writes: other bytes of the same records."""

    inner: MemoryStore

    def put_if_absent(self, key: str, body: bytes, **more: object) -> Put:
        return self.inner.put_if_absent(key, body + b"\n", metadata={})

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)


@pytest.mark.parametrize("partitioner", [DefaultPartitioner(), FieldPartitioner(("o",))])
def test_a_sweep_deletes_what_the_earlier_driver_left(partitioner: Partitioner) -> None:
    """After the commit of its plan, objects in other bytes and open uploads of a dead driver are gone; what is listed,
    and what lies outside of the plan's offsets, stays."""
    world, plan = _left_open(partitioner, ranges_done=2)
    before = set(world.store.contents())
    outside = format_data_key(KeyLayout(), DataName("orders", "partition=0", 0, 1, ".json"))
    world.store.overwrite(outside, b"of another plan")
    world.run()
    listed = {key for committed in world.exporter.log.entries() for key in keys_of(committed.entry)}
    left = {key for key in before if key.startswith("topics/")} - listed
    assert len(left) > 1
    assert left <= world.store.contents().keys() or not left & world.store.contents().keys()
    sweep(world.exporter, plan)
    contents = world.store.contents()
    assert not left & contents.keys()
    assert world.store.uploads_open() == 0
    assert listed <= contents.keys()
    assert outside in contents
    assert sweep(world.exporter, plan) == []


def test_a_sweep_looks_at_its_own_offsets_alone() -> None:
    """Under the default partitioner a sweep lists the keys of the plan's offsets, whatever else is in the topic, and
    reads no entry before the plan's."""
    made = HandMade(settings_of())
    made.begin({"orders": 1})
    for start in range(0, 400, 10):
        made.commit([("orders", 0, start, start + 10)])
    assert made.head is not None
    plan = made.log.plan(made.head.entry.seq)
    assert plan is not None
    left = made.key(TP, 391)
    _put(made, left)
    exporter = Exporter(made.settings, made.store, MemoryBroker()).at_work()
    made.store.requests.clear()
    assert sweep(exporter, plan.plan) == [Swept(seq=plan.plan.seq, objects=1, uploads=0)]
    assert left not in made.store.contents()
    gets = [each.key for each in made.store.requests if each.operation == "GetObject"]
    assert len([key for key in gets if "/log/" in key]) == 1
    assert len(made.store.requests) < 12


def test_a_sweep_leaves_a_plan_alone_that_is_not_committed() -> None:
    """An open plan's objects will be committed, a voided one's lie above the positions: both stay."""
    made = _log()
    planned = made.plan([("orders", 0, 20, 30)])
    key = made.key(TP, 20)
    _put(made, key)
    exporter = Exporter(made.settings, made.store, MemoryBroker())
    assert sweep(exporter, planned.plan) == []
    made.put(Kind.VOID, plan_sha256=planned.sha256)
    assert sweep(exporter, planned.plan) == []
    assert key in made.store.contents()


def test_what_a_failed_range_left_stays_for_its_retry() -> None:
    """Above the position that its commit reached, a plan's objects are adopted by the next one."""
    made = _log()
    planned = made.plan([("orders", 0, 20, 30), ("orders", 0, 30, 40)])
    adoptable, doomed = made.key(TP, 30), made.key(TP, 22)
    _put(made, adoptable, doomed)
    made.commit([("orders", 0, 20, 30)], planned)
    sweep(Exporter(made.settings, made.store, MemoryBroker()), planned.plan)
    assert adoptable in made.store.contents()
    assert doomed not in made.store.contents()


def test_what_a_later_commit_took_over_stays() -> None:
    """A range that failed is committed by a later entry, under the keys of the plan that is swept: they stay."""
    made = _log()
    planned = made.plan([("orders", 0, 20, 30), ("orders", 0, 30, 40)])
    made.commit([("orders", 0, 20, 30)], planned)
    made.commit([("orders", 0, 30, 40)])
    made.commit([("orders", 0, 40, 50)])
    before = made.store.contents()
    assert sweep(Exporter(made.settings, made.store, MemoryBroker()), planned.plan) == []
    assert made.store.contents() == before


@pytest.mark.parametrize("operation", ["ListObjectsV2", "GetObject", "DeleteObject", "ListMultipartUploads"])
def test_a_sweep_that_fails_is_told_and_not_raised(operation: str) -> None:
    """The export is complete without it: what went wrong is a sentence, and gc finds the rest."""
    made = _log()
    plan = made.log.plan(2)
    assert plan is not None
    _put(made, made.key(TP, 12))
    made.store.fail_next(operation, StoreUnavailable("The store is out."))
    (told,) = sweep(Exporter(made.settings, made.store, MemoryBroker()), plan.plan)
    assert isinstance(told, SweepFailed)
    assert "The store is out." in told.reason


def test_a_sweep_that_may_not_list_uploads_deletes_objects() -> None:
    """That is a permission of its own, which no export needs."""
    made = _log()
    plan = made.log.plan(2)
    assert plan is not None
    left = made.key(TP, 12)
    _put(made, left)
    made.store.fail_next("ListMultipartUploads", StoreRefused("s3:ListBucketMultipartUploads is not allowed."))
    refused = "open uploads were not looked for: s3:ListBucketMultipartUploads is not allowed."
    assert sweep(Exporter(made.settings, made.store, MemoryBroker()), plan.plan) == [
        Swept(seq=2, objects=1, uploads=0),
        UploadsNotListed(seq=2, reason=refused),
    ]
    assert left not in made.store.contents()


# On real servers.


@pytest.mark.parametrize("server", ["moto", "versitygw"])
def test_real_stores_list_and_forget(server: str, request: pytest.FixtureRequest, bucket_name: str) -> None:
    """Objects and open uploads that are garbage are deleted on a real store; what the log lists stays."""
    real: S3Server = request.getfixturevalue(server)
    real.create_bucket(bucket_name)
    keys = {"access_key_id": real.access_key, "secret_access_key": real.secret_key}
    store = S3Store(S3Settings(bucket_name, real.region, real.endpoint_url, **keys))
    made = HandMade(settings_of())
    made.begin({"orders": 1})
    made.commit([("orders", 0, 0, 10)])
    doomed = [made.key(TP, 3, collision=number) for number in range(1, 20)]
    _put(made, *doomed, made.key(TP, 10))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda pair: store.put_if_absent(*pair), made.store.contents().items()))
    for offset in (5, 10):
        upload = store.start_multipart(made.key(TP, offset))
        upload.put_part(b"part")
    log = Log(store, made.log.layout)
    garbage = collect(made.settings, log)
    assert garbage is not None
    assert [orphan.key for orphan in garbage.objects] == sorted(doomed)
    deleted = delete(log, garbage)
    assert (deleted.objects, deleted.uploads, deleted.complete) == (len(doomed), 1, True)
    assert [info.key for info in store.list("topics/")] == [made.key(TP, 0), made.key(TP, 10)]
    assert [upload.key for upload in store.uploads("topics/")] == [made.key(TP, 10)]
