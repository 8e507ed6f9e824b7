"""Garbage collection: exactly what no reader and no run can need, whatever the history and whoever is at work."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from kafka_s3.bucket.folders import Named, place_of
from kafka_s3.errors import LogDamaged, StoreRefused, StoreUnavailable
from kafka_s3.gc.gc import FAILURES_MAX, Garbage, collect, delete
from kafka_s3.log.documents import decode, encode
from kafka_s3.log.entries import Entry, Kind, Owner
from kafka_s3.naming import KeyLayout, Naming
from kafka_s3.ranges import TopicPartition
from tests.log.logs import HandMade, settings_of

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


def test_below_the_position_goes_what_no_commit_can_list() -> None:
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


def test_a_connector_inside_our_folder_loses_nothing() -> None:
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


def test_a_key_of_two_topics_has_to_be_garbage_of_both() -> None:
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
