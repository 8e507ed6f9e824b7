"""Garbage collection where transforms route: a topic's objects may lie in any folder, and whose they are is said by the
name of the file."""

from __future__ import annotations

import pytest

from kafka_s3.adapters.memory import MemoryBroker
from kafka_s3.events import Swept
from kafka_s3.export.exporter import Exporter
from kafka_s3.export.sweep import sweep
from kafka_s3.gc.gc import collect, delete
from kafka_s3.log.documents import encode
from kafka_s3.log.entries import Owner
from kafka_s3.log.plans import InheritedPlan
from kafka_s3.ranges import TopicPartition
from tests.log.logs import HandMade, settings_of

TP = TopicPartition("orders", 0)
ROUTER = {
    "transforms": "r",
    "transforms.r.type": "RegexRouter",
    "transforms.r.regex": "(.*)",
    "transforms.r.replacement": "all",
}


def log_of(more: dict[str, str] = ROUTER, topics: str = "orders,returns") -> HandMade:
    """Offsets [0, 10) of both topics are exported."""
    made = HandMade(settings_of(**{"topics": topics, **more}))
    made.begin(dict.fromkeys(topics.split(","), 1))
    made.commit([(topic, 0, 0, 10) for topic in topics.split(",")])
    return made


def doomed(made: HandMade) -> set[str]:
    garbage = collect(made.settings, made.log)
    assert garbage is not None
    return {orphan.key for orphan in garbage.objects}


def left(made: HandMade, folder: str, topic: str, offset: int, path: str = "partition=0") -> str:
    key = f"topics/{folder}/{path}/{topic}+0+{offset:010d}.json"
    made.store.overwrite(key, b"left behind")
    return key


@pytest.mark.parametrize("folder", ["orders", "returns", "all", "a.folder-that-no_plan.names"])
def test_what_is_below_goes_in_any_folder(folder: str) -> None:
    """Every folder of topics.dir is looked at; the position is that of the topic in the file's name."""
    made = log_of()
    below, above = left(made, folder, "orders", 7), left(made, folder, "orders", 10)
    garbage = collect(made.settings, made.log)
    assert garbage is not None
    assert {orphan.key for orphan in garbage.objects} == {below}
    assert {orphan.key for orphan in garbage.waiting} == {above}
    assert delete(made.log, garbage).complete
    assert below not in made.store.contents()
    assert above in made.store.contents()


def test_without_routing_other_folders_are_strange() -> None:
    """The same keys are nobody's, for a connector whose transforms do not route."""
    made = log_of({})
    left(made, "all", "orders", 7)
    assert doomed(made) == set()


def test_each_topic_of_a_folder_has_its_own_position() -> None:
    """Two topics in one folder: the same offset is behind one, and before the other."""
    made = log_of()
    made.commit([("returns", 0, 10, 20)])
    left(made, "all", "orders", 15)
    behind = left(made, "all", "returns", 15)
    assert doomed(made) == {behind}


def test_a_folder_belongs_to_nobody() -> None:
    """Another connector owns the topic that records are routed to: its own objects stay, ours beside them go."""
    made = log_of()
    theirs = Owner(connector="other", log="_kafka_s3/other")
    made.store.overwrite(made.log.layout.owner_key("topics", "all"), encode(theirs))
    left(made, "all", "all", 3)
    mine = left(made, "all", "orders", 3)
    assert doomed(made) == {mine}


def test_what_is_no_key_of_ours_stays_in_any_folder() -> None:
    """Files of other programs, of topics that are not exported, and of other extensions."""
    made = log_of()
    left(made, "all", "payments", 3)
    for name in ("orders+0+0000000003.avro", "orders+0+3.json", "orders.json", "x-orders+0+0000000003.json"):
        made.store.overwrite(f"topics/all/partition=0/{name}", b"of somebody else")
    made.store.overwrite("elsewhere/all/partition=0/orders+0+0000000003.json", b"of somebody else")
    assert doomed(made) == set()


def test_folders_of_earlier_routes_are_looked_at() -> None:
    """The transforms were taken out of the configuration since: what they left is found by the plans of then."""
    made = log_of()
    mine = left(made, "all", "orders", 3)
    now = HandMade(settings_of(topics="orders,returns"), made.store, made.topics, made.head)
    assert doomed(now) == {mine}
    kept = left(now, "all", "orders", 12)
    now.commit([("orders", 0, 10, 11)])
    assert kept not in doomed(now)


def test_an_upload_in_any_folder_is_given_up() -> None:
    """Uploads that nobody completes are found where routed objects are."""
    made = log_of()
    made.store.start_multipart("topics/all/partition=0/orders+0+0000000007.json")
    made.store.start_multipart("topics/all/partition=0/orders+0+0000000010.json")
    garbage = collect(made.settings, made.log)
    assert garbage is not None
    assert [upload.key for upload in garbage.uploads] == ["topics/all/partition=0/orders+0+0000000007.json"]


@pytest.mark.parametrize("path", ["orders/partition=0", "prod/orders/year=2026/month=01"])
def test_another_program_in_a_deeper_folder_loses_nothing(path: str) -> None:
    """The Connect sink writes the same topic under topics.dir=topics/backup: no owner says so, and its keys look as if
    orders had been routed to a topic backup."""
    made = log_of()
    left(made, "backup", "orders", 3, path)
    assert doomed(made) == set()
    mine = left(made, "backup", "orders", 3)
    assert doomed(made) == {mine}


def test_routes_in_a_deeper_folder_are_their_owners() -> None:
    """Another connector exports the same topic under topics/backup, and routes it there: all of that is its own."""
    made = log_of()
    theirs = Owner(connector="other", log="_kafka_s3/other")
    made.store.overwrite(made.log.layout.owner_key("topics/backup", "orders"), encode(theirs))
    left(made, "backup", "orders", 3, "all/partition=0")
    left(made, "backup", "orders", 3)
    assert doomed(made) == set()


def test_another_owner_within_our_own_folder_keeps_its_own() -> None:
    """A deeper topics.dir that is inside a topic's own folder is the other connector's as well."""
    made = log_of()
    theirs = Owner(connector="other", log="_kafka_s3/other")
    made.store.overwrite(made.log.layout.owner_key("topics/orders", "orders"), encode(theirs))
    left(made, "orders", "orders", 3, "all/partition=0")
    left(made, "orders", "orders", 3, "orders/partition=0")
    assert doomed(made) == set()


@pytest.mark.parametrize("dir", ["topics/orders", "topics/orders/backup"])
def test_routes_of_another_in_our_topics_folder_are_theirs(dir: str) -> None:
    """We route nothing; another connector exports the same topic under a topics.dir in that topic's folder, and routes
    it: what lies in a folder with a topic's name there may be its own. A folder that is none is ours as ever."""
    made = log_of({})
    theirs = Owner(connector="other", log="_kafka_s3/other")
    made.store.overwrite(made.log.layout.owner_key(dir, "orders"), encode(theirs))
    inner = dir.removeprefix("topics/orders").removeprefix("/")
    for path in ("all/partition=0", "orders/partition=0", "returns/year=2026/month=01"):
        left(made, "orders", "orders", 3, f"{inner}/{path}".removeprefix("/"))
    assert doomed(made) == set()
    mine = {left(made, "orders", "orders", 3), left(made, "returns", "returns", 3, "orders/partition=0")}
    assert doomed(made) == mine


def test_another_owner_of_other_topics_takes_nothing_from_us() -> None:
    """Its objects carry its own topics' names: ours beside them go, whatever their folder is called."""
    made = log_of({})
    theirs = Owner(connector="other", log="_kafka_s3/other")
    made.store.overwrite(made.log.layout.owner_key("topics/orders", "payments"), encode(theirs))
    left(made, "orders", "payments", 3, "all/partition=0")
    mine = left(made, "orders", "orders", 3, "all/partition=0")
    assert doomed(made) == {mine}


@pytest.mark.parametrize("folder", ["orders", "all", "no-plan-names-it"])
def test_a_sweep_looks_into_every_folder(folder: str) -> None:
    """What an earlier driver of the plan left goes right after the commit, wherever transforms had put it; what begins
    before or behind the plan stays, and so does what lies in a deeper folder of another program."""
    made = log_of()
    planned = made.plan([("orders", 0, 10, 20)])
    made.commit([("orders", 0, 10, 20)], planned)
    mine = left(made, folder, "orders", 15)
    left(made, folder, "orders", 5)
    left(made, folder, "orders", 25)
    if folder != "orders":
        left(made, folder, "orders", 15, "orders/partition=0")
    before = set(made.store.contents())
    exporter = Exporter(made.settings, made.store, MemoryBroker())
    told = sweep(exporter, InheritedPlan(planned.plan, planned.sha256))
    assert [each for each in told if isinstance(each, Swept)] == [Swept(seq=planned.plan.seq, objects=1, uploads=0)]
    assert before - set(made.store.contents()) == {mine}
