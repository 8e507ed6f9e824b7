"""adopt over generated histories of the sink: what is not refused loses nothing and doubles nothing."""

from __future__ import annotations

import enum
import random
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_s3.adopt.adopt import adopt, look
from kafka_s3.adopt.decide import Choice
from kafka_s3.errors import ConfigurationError
from kafka_s3.ranges import TopicPartition
from tests.adopt.sink import Sink
from tests.export.harness import MemoryExport
from tests.support import identified, request, rows_of

P0 = TopicPartition("orders", 0)
GROUP = "connect-orders"
EXAMPLES = 250


class Fault(enum.Enum):
    """What may have happened to the sink, the bucket or Kafka."""

    NONE = "nothing"
    SKIPPED = "the sink left out records that can be read"
    UNCOMMITTED = "it died between its files and its commit"
    DELETED = "objects are gone"
    RETENTION = "Kafka's oldest records are gone"


def exported(world: MemoryExport) -> Counter[int]:
    bodies = {key: body for key, body in world.store.contents().items() if key.startswith("topics/")}
    return Counter(row["o"] for key, body in bodies.items() for row in rows_of(body, key))


@given(
    chance=st.randoms(use_true_random=False),
    count=st.integers(1, 24),
    flush_size=st.integers(1, 6),
    encoded_partitions=st.integers(1, 3),
    fault=st.sampled_from(Fault),
    with_group=st.booleans(),
)
@settings(deadline=None, max_examples=EXAMPLES)
def test_what_is_adopted_is_neither_lost_nor_doubled(
    chance: random.Random, count: int, flush_size: int, encoded_partitions: int, fault: Fault, with_group: bool
) -> None:
    """Holes, rotations at any time, and one fault: refused, or the run that follows makes each record once."""
    world = MemoryExport()
    encoded = [chance.randrange(encoded_partitions) for _ in range(count)]
    sink = Sink("orders", flush_size, world.store.overwrite, lambda offset: f"f={encoded[offset]}")
    wanted = set()
    for offset in range(count):
        if chance.random() < 0.1:
            world.broker.append_holes("orders", 0)
            continue
        world.broker.append("orders", 0, identified(0, offset))
        if fault is Fault.SKIPPED and chance.random() < 0.15:
            continue
        wanted.add(offset)
        sink.put(0, [offset])
        if chance.random() < 0.1:
            sink.rotate(0)
    wanted -= _happens(fault, world, sink, chance)
    if with_group:
        world.broker.set_group(GROUP, sink.committed)
    try:
        found = look(world.exporter, world.broker, Choice(GROUP), lambda _: None)
    except ConfigurationError:  # nothing to adopt
        assert not exported(world)
        return
    if not found.is_settled:
        return
    adopt(world.exporter, found, request("adopt"))
    world.run()
    made = exported(world)
    assert [offset for offset, times in made.items() if times > 1] == []
    assert wanted - set(made) == set()


def _happens(fault: Fault, world: MemoryExport, sink: Sink, chance: random.Random) -> set[int]:
    """Let the fault happen; the offsets whose records nobody can expect afterwards."""
    if fault is Fault.UNCOMMITTED:
        sink.rotate(0, commit=False)
    objects = world.store.contents()
    if fault is Fault.DELETED and objects:
        gone = chance.sample(sorted(objects), min(len(objects), chance.randint(1, 2)))
        for key in gone:
            world.store.delete(key)
        return {row["o"] for key in gone for row in rows_of(objects[key], key)}
    if fault is Fault.RETENTION:
        start = chance.randrange(world.end(0))
        world.broker.set_log_start("orders", 0, start)
        return set(range(start)) - set(exported(world))
    return set()
