"""A connector whose objects are named by a template: a death, a retry, garbage, proof, and a log that is lost."""

from __future__ import annotations

import pytest

from kafka_s3.errors import EXIT_DONE
from kafka_s3.file_template import parse_file_template
from kafka_s3.naming import KeyLayout
from kafka_s3.ranges import TopicPartition
from kafka_s3.verify.verify import Kafka, verify
from tests.adopt.test_adopt import find, positions, said
from tests.export.harness import MemoryExport
from tests.export.place import DiedError, SimpleExport, die
from tests.support import make_settings, objects_of

_TP = TopicPartition("orders", 0)
LAYOUT = KeyLayout(file_template=parse_file_template("n_{{start_offset}}-{{topic}}-{{partition}}"))


def test_a_retry_finds_what_a_dead_run_left() -> None:
    """Under names of the template, and only once."""
    place = SimpleExport(partitions=1, flush_size=4, layout=LAYOUT)
    place.produce(0, 9)
    place.while_reading = die
    with pytest.raises(DiedError):
        place.run("dead")
    place.while_reading = lambda: None
    left = set(place.data())
    assert left == {f"topics/orders/partition=0/n_{start}-orders-0.json" for start in (0, 4, 8)}
    assert place.run("next").exit_status == EXIT_DONE
    assert {made.key for made in objects_of(place.log.entries())} == left == set(place.data())
    found = verify(place.settings, place.log, Kafka(place.broker, place.broker), tell=lambda _: None)
    assert (found.findings, found.notes, found.orphans) == ((), (), ())


def test_other_bytes_under_a_name_of_the_template() -> None:
    """Take a second name; what has the first one is an orphan that `verify` and `gc` know by it."""
    place = SimpleExport(partitions=1, flush_size=4, layout=LAYOUT)
    place.produce(0, 4)
    assert place.run("first").exit_status == EXIT_DONE
    place.produce(0, 5)
    place.store.overwrite("topics/orders/partition=0/n_4-orders-0.json", b"{}\n")
    assert place.run("second").exit_status == EXIT_DONE
    listed = {made.key.rpartition("/")[2] for made in objects_of(place.log.entries())}
    assert listed == {"n_0-orders-0.json", "n_4-orders-0+1.json", "n_8-orders-0.json"}
    found = verify(place.settings, place.log, Kafka(place.broker, place.broker), tell=lambda _: None)
    assert found.findings == ()
    assert [orphan.key.rpartition("/")[2] for orphan in found.orphans or ()] == ["n_4-orders-0.json"]


def test_adopt_counts_objects_by_their_own_names() -> None:
    """And refuses those that have the sink's names, which this configuration does not make."""
    world = MemoryExport(make_settings(layout=LAYOUT))
    world.produce(0, 3)
    body = b"".join(record.value + b"\n" for record in world.broker._partition(_TP).records if record.value)
    world.store.overwrite("topics/orders/partition=0/n_0-orders-0.json", body)
    assert positions(find(world))[_TP] == 3
    world.store.overwrite("topics/orders/partition=0/orders+0+0000000000.json", body)
    assert "names that this configuration does not make" in said(find(world))
