"""Whole runs over the ports in memory: whose topic and whose log it is, and what several runs at once end with."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafka_s3.adapters.memory import MemoryStore
from kafka_s3.errors import (
    EXIT_CONFIGURATION,
    EXIT_DATA,
    EXIT_DONE,
    EXIT_TEMPORARY,
    ConfigurationError,
    Fenced,
    KafkaUnavailable,
    LogMissing,
    StoreRefused,
    StoreUnavailable,
)
from kafka_s3.export.opening import begin
from kafka_s3.export.run import prepare
from kafka_s3.log.documents import decode, encode
from kafka_s3.log.entries import Kind, Owner, Plan
from kafka_s3.plan.planner import next_plan
from tests.export.place import TOPIC, SimpleExport
from tests.export.test_run import LAYOUT
from tests.support import make_settings, request

# Whose topic, whose log.


def test_a_topic_of_another_connector_is_refused() -> None:
    """The owner object names another connector: both are named, exit 78, no data."""
    place = SimpleExport()
    place.store.put_if_absent(
        LAYOUT.owner_key("topics", TOPIC), encode(Owner(connector="billing", log="_kafka_s3/billing/log/"))
    )
    place.produce(0, 5)
    with pytest.raises(ConfigurationError, match="belongs to connector billing .* not to orders") as caught:
        place.run()
    assert caught.value.exit_status == EXIT_CONFIGURATION
    assert "give one of them another topics.dir" in str(caught.value)
    assert place.data() == {}


def test_a_topic_of_another_connector_is_refused_later_too() -> None:
    """A topic added later that another connector exports: its owner is named, not a missing log."""
    place = SimpleExport()
    place.run("before")
    other = SimpleExport(topics=("more",), name="billing", store=place.store)
    other.broker = place.broker
    place.broker.create_topic("more")
    place.broker.delete_topic(TOPIC)
    place.produce(0, 2, topic="more")
    assert other.run("billing").exit_status == EXIT_DONE
    place.broker.create_topic(TOPIC)
    place.settings = make_settings(topics=("orders", "more"))
    with pytest.raises(ConfigurationError, match="belongs to connector billing"):
        place.run("after")


@pytest.mark.parametrize("left", ["plan", "owner", "data"])
def test_a_missing_log_is_never_a_first_run(left: str) -> None:
    """With a plan, an owner or data objects and no log entry, the run refuses to begin again from the start."""
    place = SimpleExport()
    place.produce(0, 5)
    place.run("before")
    keep = {"plan": LAYOUT.plan_prefix, "owner": "_kafka_s3/owners/", "data": "topics/"}[left]
    for key in place.store.contents():
        if not key.startswith(keep):
            place.store.delete(key)
    before = place.store.contents()
    assert before
    with pytest.raises(LogMissing) as caught:
        place.run("after")
    assert caught.value.exit_status == EXIT_DATA
    assert "A first run would export the topic a second time" in str(caught.value)
    assert place.store.contents() == before


def test_a_store_without_conditional_writes_is_refused() -> None:
    """Found by doing it, before any data is written; exit 78."""
    place = SimpleExport(store=MemoryStore(conditional_writes=False))
    place.produce(0, 5)
    with pytest.raises(StoreRefused, match="took a PUT with If-None-Match") as caught:
        place.run("one")
    assert caught.value.exit_status == EXIT_CONFIGURATION
    assert place.data() == {}


def test_a_store_without_conditional_writes_stays_refused() -> None:
    """A second run is refused as the first was."""
    place = SimpleExport(store=MemoryStore(conditional_writes=False))
    place.produce(0, 5)
    for run_id in ("one", "two"):
        with pytest.raises(StoreRefused):
            place.run(run_id)
    assert place.data() == {}


def test_owners_are_claimed_before_the_first_plan() -> None:
    """Once a plan is there, so is the owner of its topics; a topic without data is not said to be owned."""
    place = SimpleExport(topics=("orders", "more"))
    place.broker.create_topic("more")
    place.produce(0, 5)
    place.run()
    owner = place.store.get(LAYOUT.owner_key("topics", TOPIC))
    assert owner is not None
    assert decode(Owner, "owner", owner) == Owner(connector="orders", log=LAYOUT.log_prefix)
    for topic, state in place.newest.topics.items():
        assert state.owned == (LAYOUT.owner_key("topics", topic) in place.store.contents())


# Fencing.


def test_another_run_that_takes_the_slot_fences_this_one() -> None:
    """While a run reads, another voids its plan: the first stops, writes nothing more and says who it was."""
    place = SimpleExport(partitions=1)
    place.produce(0, 5)
    other = SimpleExport(partitions=1, store=place.store, flush_size=4)
    other.broker = place.broker
    place.while_reading = lambda: _once(place, lambda: other.run("other"))
    with pytest.raises(Fenced, match=r"Run other \(try 1\) wrote log entry 1 \(void\) first") as caught:
        place.run("slow")
    assert caught.value.exit_status == EXIT_TEMPORARY
    assert [(entry.kind, entry.run_id) for entry in place.entries()[1:]] == [
        (Kind.VOID, "other"),
        (Kind.COMMIT, "other"),
    ]


def _once(place: SimpleExport, act: Callable[[], object]) -> None:
    place.while_reading = lambda: None
    act()


def test_another_run_that_commits_the_same_plan_is_success() -> None:
    """The winner's commit of our plan holds all we had: done, whoever wrote it."""
    place = SimpleExport(partitions=1)
    place.produce(0, 5)
    other = SimpleExport(partitions=1, store=place.store)
    other.broker = place.broker
    place.while_reading = lambda: _once(place, lambda: other.run("other"))
    assert place.run("slow").exit_status == EXIT_DONE
    assert [(entry.kind, entry.run_id) for entry in place.entries()[1:]] == [(Kind.COMMIT, "other")]


def test_a_winner_that_holds_less_fences_this_one() -> None:
    """The winner committed the same plan, but its read failed where ours did not: stop."""
    place = SimpleExport(partitions=1)
    place.produce(0, 5)
    other = SimpleExport(partitions=1, store=place.store)
    other.broker = place.broker

    def fail_and_commit() -> None:
        place.broker.fail_next("open", KafkaUnavailable("no leader"))
        assert other.run("other").exit_status == EXIT_TEMPORARY

    place.while_reading = lambda: _once(place, fail_and_commit)
    with pytest.raises(Fenced, match="Run other"):
        place.run("slow")
    assert place.positions() == {0: 0}


def test_a_plan_that_another_run_wrote_first_fences() -> None:
    """Two runs plan at the same moment: one is told to stop, and a retry goes on."""
    place = SimpleExport(partitions=1)
    place.produce(0, 5)
    place.run("before")
    place.produce(0, 5)
    other = SimpleExport(partitions=1, store=place.store)
    other.broker = place.broker
    stale = next_plan_of(place)
    prepare(other.exporter(), request("other"))
    with pytest.raises(Fenced, match="Another run wrote plan 2 of connector orders first"):
        place.log.put_plan(stale)
    assert place.run("slow", try_number=2).exit_status == EXIT_DONE
    assert place.positions() == {0: 10}


def next_plan_of(place: SimpleExport) -> Plan:
    state = begin(place.exporter(), request("slow"))
    plan = next_plan(place.settings, place.broker, state.snapshot, state.head, request("slow"))
    assert isinstance(plan, Plan)
    return plan


@pytest.mark.parametrize("after_apply", [True, False], ids=["answer lost", "not done"])
def test_a_commit_without_an_answer_is_looked_up(after_apply: bool) -> None:
    """The store wrote the entry and its answer got lost: success. It did not: temporary, and the next run commits."""
    place = SimpleExport(partitions=1)
    place.produce(0, 5)
    place.while_reading = lambda: place.store.fail_next("PutObject", StoreUnavailable("out"), after_apply=after_apply)
    if after_apply:
        assert place.run("one").exit_status == EXIT_DONE
    else:
        with pytest.raises(StoreUnavailable):
            place.run("one")
        place.while_reading = lambda: None
        assert place.run("one", try_number=2).exit_status == EXIT_DONE
    assert place.positions() == {0: 5}
    assert len(place.entries()) == 2
    assert place.offsets_in_bucket(0) == list(range(5))
