"""adopt under transforms: what they drop is in no object, and what they route in no folder that a name tells."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kafka_s3.adopt.decide import Basis
from kafka_s3.errors import ConfigurationError
from kafka_s3.settings.transforms.chain import ChainSettings
from tests.adopt.test_adopt import GROUP, P0, P1, adopted, find, positions, said, sink_of, verified
from tests.export.harness import MemoryExport
from tests.values.transforms.chains import configured, one

FILTER = {
    **one("Filter", predicate="p"),
    "predicates": "p",
    "predicates.p.type": "HasHeaderKey",
    "predicates.p.name": "drop",
}
OWN = one("tests.scenario.routed:ToAll")
ROUTER = one("RegexRouter", regex="(.*)", replacement="all-$1")
FIELD = one("InsertField$Value", static_field="s", static_value="x")


def world_of(more: dict[str, str]) -> MemoryExport:
    """Ten offsets of the first partition."""
    world = MemoryExport(configured(more))
    world.produce(0, 10)
    return world


@pytest.mark.parametrize(
    ("more", "drops", "routes"),
    [(FILTER, True, False), (OWN, True, True), (ROUTER, False, True), (FIELD, False, False), ({}, False, False)],
)
def test_a_chain_says_what_it_may_do(more: dict[str, str], drops: bool, routes: bool) -> None:
    """Filter drops, routers route, and a class of the user's own may do both."""
    chain = configured(more).chain
    assert (chain.drops, chain.routes) == (drops, routes)
    assert isinstance(chain, ChainSettings)


@pytest.mark.parametrize("basis", [Basis.AGREED, Basis.OBJECTS])
def test_dropped_records_make_counting_useless(basis: Basis) -> None:
    """Four records in the objects, of eight offsets: counted, they would be exported twice. So it is refused, and says
    what to give."""
    world = world_of(FILTER)
    sink_of(world).put(0, [0, 2, 4, 6])
    world.broker.set_log_start("orders", 0, 3)  # Kafka cannot tell any more, and --from-objects would take the count
    found = find(world, basis=basis)
    assert not found.is_settled
    assert positions(found)[P0] is None
    assert "Transforms may drop records" in said(found)
    assert "--positions FILE" in said(found)


def test_dropped_records_leave_the_groups_word() -> None:
    """The sink's group counts what was dropped: a person may say that it is right, and then nothing is twice."""
    world = world_of(FILTER)
    sink_of(world).put(0, [0, 2, 4, 6])
    world.broker.set_group(GROUP, {P0: 8, P1: 0})
    assert "transforms" in said(find(world))
    assert positions(find(world, basis=Basis.GROUP)) == {P0: 8, P1: 0}


def test_positions_settle_what_was_dropped() -> None:
    """Given positions are taken, and the export goes on there."""
    world = world_of(FILTER)
    sink_of(world).put(0, [0, 2, 4, 6])
    assert positions(adopted(world, given={P0: 8, P1: 0})) == {P0: 8, P1: 0}
    assert world.run().exit_status == 0
    assert sorted(world.store.contents())[-1].endswith("orders+0+0000000008.json")


@pytest.mark.parametrize("choice", [{}, {"basis": Basis.OBJECTS}, {"given": {P0: 3}}])
def test_routed_topics_need_every_position(choice: dict[str, Any]) -> None:
    """The objects of a topic lie in folders that its name does not tell: every partition's position, or nothing."""
    world = world_of(ROUTER)
    sink_of(world).put(0, range(4))
    with pytest.raises(ConfigurationError, match="--positions FILE") as raised:
        find(world, **choice)
    assert ("orders-0" in str(raised.value)) is ("given" not in choice)
    assert "orders-1" in str(raised.value)


def test_routed_topics_are_adopted_by_their_positions() -> None:
    """What lay in the routed folder stays, and is nobody's to delete; the next run goes on behind it."""
    world = world_of(ROUTER)
    old = "topics/all-orders/partition=0/orders+0+0000000000.json"
    world.store.overwrite(old, b'{"o":0}\n')
    assert positions(adopted(world, given={P0: 4, P1: 0})) == {P0: 4, P1: 0}
    assert world.run().exit_status == 0
    result = verified(world)
    assert (result.findings, result.orphans, result.records) == ((), (), 6)
    from kafka_s3.gc.gc import collect

    garbage = collect(world.settings, world.exporter.log)
    assert garbage is not None
    assert (garbage.objects, garbage.waiting) == ((), ())
    assert old in world.store.contents()


def test_without_drops_objects_are_counted_as_ever() -> None:
    """A chain that drops nothing and changes nothing of the value's fields leaves counting as it is."""
    world = world_of({})
    world.settings = replace(world.settings, chain=configured(one("DropHeaders", headers="h")).chain)
    sink_of(world).put(0, range(4))
    found = find(world)
    assert (positions(found)[P0], said(found)) == (4, "")


def test_changed_records_are_not_found_in_kafka() -> None:
    """The objects hold what a transform made, Kafka what it was made of: as many, and not the same ones. Refused."""
    world = world_of(FIELD)
    world.store.overwrite("topics/orders/partition=0/orders+0+0000000000.json", b'{"p":0,"o":0,"s":"x"}\n')
    found = find(world)
    assert not found.is_settled
    assert "they do not end with these records" in said(found)
    assert "--positions FILE" in said(found)
