"""Topics that come, go, grow, and are somebody else's afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_s3.errors import EXIT_DATA
from tests.conditions.conftest import MOMENTS, Make, recreation
from tests.conditions.harness import LiveTopic
from tests.conditions.meanwhile import Meanwhile

pytestmark = pytest.mark.faults


@pytest.mark.parametrize("same_size", [True, False], ids=["as many records", "more records"])
def test_recreated_between_runs(world: LiveTopic, same_size: bool) -> None:
    """A topic that was deleted and created again is left out, with both ids, whatever offsets it has reached; what was
    exported before stays, and nothing of the new one is taken for it."""
    world.send(0, 1, 2)
    world.run_well()
    before = world.store.contents()
    (known,) = world.entries()[-1].topics.values()
    world.recreate()
    world.send(*range(90, 93 if same_size else 99))
    for _ in range(2):
        report = world.run()
        assert report.exit_status == EXIT_DATA
        (problem,) = report.problems()
        assert f"topic {world.topic} was deleted and created again (id {known.topic_id} before" in problem
    assert world.store.contents() == before
    assert world.numbers() == {0: [0, 1, 2]}
    assert not world.status().is_ok


@pytest.mark.parametrize("when", MOMENTS)
def test_recreated_during_a_run(make_world: Make, when: str) -> None:
    """Records of a topic that was created again during the run come without any error of Kafka's: none is committed,
    from whichever offset on."""
    world = make_world({"export.read.timeout.ms": "3000"}).create()
    report = world.run(meanwhile=recreation(world, when))
    assert report.exit_status == EXIT_DATA
    assert any("created again" in problem for problem in report.problems())
    assert world.numbers() == {0: [0, 1]}
    assert world.positions() == {0: 2}
    world.check_accounts()


def test_deleted_for_good(make_world: Make, topic_name: str) -> None:
    """A topic that is gone is named, and the others go on; out of `topics` it is forgotten, its export kept."""
    other = f"{topic_name}-b"
    world = make_world({"topics": f"{topic_name},{other}"}).create()
    beside = LiveTopic(world.part, other, store=world.store).create()
    world.send(0, 1)
    beside.send(5)
    world.run_well()
    world.part.delete_topic(topic_name)
    beside.send(6)
    report = world.run()
    assert report.exit_status == EXIT_DATA
    (problem,) = report.problems()
    assert f"topic {topic_name} (id " in problem
    assert "was deleted: remove it from `topics`, or create it again." in problem
    assert [row["n"] for row in world.rows()] == [0, 1, 5, 6]
    beside.send(7)
    beside.run_well()
    assert [row["n"] for row in world.rows()] == [0, 1, 5, 6, 7]
    assert world.entries()[-1].topics[topic_name].positions == {0: 2}
    assert beside.verified().findings == ()


def test_deleted_during_a_run(make_world: Make, topic_name: str) -> None:
    """A topic that goes between the plan and the reading fails alone: the other topic of the plan is committed."""
    other = f"{topic_name}-b"
    world = make_world({"topics": f"{topic_name},{other}", "export.read.timeout.ms": "5000"}).create()
    beside = LiveTopic(world.part, other, store=world.store).create()
    world.send(0, 1)
    beside.send(5)
    report = world.run(meanwhile=Meanwhile([lambda: world.part.delete_topic(topic_name)]))
    assert report.exit_status == EXIT_DATA
    assert any(topic_name in problem and "deleted" in problem for problem in report.problems())
    assert [row["n"] for row in world.rows()] == [5]


def test_partitions_added_between_runs(world: LiveTopic) -> None:
    """Partitions that are added are exported from their first offset on."""
    world.send(0, 1)
    world.run_well()
    world.add_partitions(3)
    world.send(2, partition=2)
    world.send(3)
    world.run_well()
    world.check({0: [0, 1, 3], 2: [2]})
    assert world.positions() == {0: 3, 1: 0, 2: 1}


def test_partitions_added_during_a_run(make_world: Make) -> None:
    """Partitions that are added between the plan and the reading, or between two batches, come with the next batch."""
    world = make_world({"export.batch.records.max": "3"}).create()
    world.send(*range(6))

    def add(total: int) -> None:
        world.add_partitions(total)
        world.send(100 * total, partition=total - 1)

    world.run_well(meanwhile=Meanwhile([lambda: add(2), lambda: add(3)]))
    world.check({0: range(6), 1: [200], 2: [300]})
    world.run_well()
    world.check({0: range(6), 1: [200], 2: [300]})


@pytest.mark.parametrize("suffix", [".a_b", "__x..y", "-_."])
def test_names(make_world: Make, topic_name: str, suffix: str) -> None:
    """Dots, underscores and dashes in the name of a topic stand in its keys as they are."""
    topic = topic_name.replace("-", "_") + suffix
    world = make_world(topic=topic).create(2)
    world.send(0, 1)
    world.send(2, partition=1)
    world.run_well()
    world.check({0: [0, 1], 1: [2]})
    assert {made.key for made in world.objects()} == {
        f"topics/{topic}/partition=0/{topic}+0+0000000000.json",
        f"topics/{topic}/partition=1/{topic}+1+0000000000.json",
    }
    world.send(3)
    world.run_well()
    world.check({0: [0, 1, 3], 1: [2]})


def test_names_that_differ_by_dot_and_underscore(make_world: Make, topic_name: str) -> None:
    """`a.b` and `a_b`, which Kafka's metrics mix up, and a name that is the beginning of another, stay apart."""
    base = topic_name.replace("-", "")
    names = [f"{base}.b", f"{base}b", base]
    world = make_world({"topics": ",".join(names)}, topic=names[0])
    topics = [LiveTopic(world.part, name, store=world.store).create() for name in names]
    for number, topic in enumerate(topics):
        topic.send(number)
    world.run_well()
    assert sorted(row["n"] for row in world.rows()) == [0, 1, 2]
    assert {Path(made.key).parts[1] for made in world.objects()} == set(names)
    verified = world.verified()
    assert (verified.findings, verified.orphans) == ((), ())


def test_no_records(world: LiveTopic) -> None:
    """A topic without a record is seen, its position kept, no object made; a second run writes nothing at all."""
    world.run_well()
    world.check([])
    assert world.positions() == {0: 0}
    written = world.store.contents()
    world.run_well()
    assert world.store.contents() == written
    world.send(0)
    world.run_well()
    world.check([0])


def test_a_thousand_partitions(make_world: Make) -> None:
    """Of 1,000 partitions 990 are idle: the plan has ten ranges, no idle partition costs a request to the store, and a
    second run with nothing new writes nothing."""
    world = make_world().create(1000, segment_index_bytes="1024")
    busy = range(0, 1000, 100)
    for number, partition in enumerate(busy):
        world.send(number, 100 + number, partition=partition)
    world.run_well()
    world.check({partition: [number, 100 + number] for number, partition in enumerate(busy)})
    assert len(world.positions()) == 1000
    assert len(world.ranges()) == len(world.objects()) == 10
    for _ in range(2):
        begin, written = len(world.store.requests), world.store.contents()
        world.run_well()
        assert world.store.contents() == written
        # Twice which log is the connector's, in between its newest entry and whether a plan is open.
        assert world.requests(begin) == {"ListObjectsV2": 3, "GetObject": 4}
    begin = len(world.store.requests)
    world.send(7, partition=999)
    world.run_well()
    # The plan, the topic's owner (it is there already), the object and the entry.
    assert world.requests(begin)["PutObject"] <= 4
    assert world.requests(begin)["ListObjectsV2"] <= 5
