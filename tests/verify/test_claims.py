"""What docs/reference/guarantees.md says that `verify` proves, change by change; and what it says that it does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from kafka_s3.errors import LogDamaged, LogMissing
from kafka_s3.log.replay import newest_first
from kafka_s3.publish.announce import mark
from kafka_s3.ranges import TopicPartition
from kafka_s3.records import Record
from kafka_s3.rewind.rewind import look, rewind
from kafka_s3.settings.formats import FileSettings, Format
from kafka_s3.verify.verify import Kafka, verify
from tests.export.harness import MemoryExport
from tests.support import make_settings, request


def exported(*, announced: bool = True) -> MemoryExport:
    """Commits with keys beside values and dead letters, and a rewind among them."""
    made = make_settings(tolerate=True, flush_size=2)
    world = MemoryExport(replace(made, format=replace(made.format, keys=FileSettings(Format.JSON))))
    for run in range(2):
        for number in range(4):
            world.broker.append("orders", 0, Record(world.end(0), b"%d" % number, key=b"k"))
            value = b"%d" % number if number else b"{oops"
            world.broker.append("orders", 1, Record(world.end(1), value, key=b"k"))
        world.run()
        if run == 0:
            exporter = world.exporter
            rewind(exporter, look(exporter, {TopicPartition("orders", 0): 2}), request("by hand"))
            world.run()
    if announced:
        mark(world.exporter.log, 4)
    return world


def wrong(world: MemoryExport, against: Kafka | None = None) -> int:
    try:
        verified = verify(world.settings, world.exporter.log, against, tell=lambda _: None)
        return verified.findings_count or int(not verified.entries)
    except (LogDamaged, LogMissing):  # no log can be told from what is left
        return 1


def newest(world: MemoryExport) -> str:
    return world.exporter.log.layout.log_key(4)


def proved(world: MemoryExport) -> list[str]:
    """The keys of all that verify looks at: not those that a rewind withdrew, nor marks."""
    taken = newest_first(each.entry for each in world.exporter.log.entries())
    withdrawn = [made.key for each in taken for done in each.withdrawn for made in done.objects]
    assert withdrawn
    beside = [key.replace(".json", ".keys.json") for key in withdrawn]
    return [key for key in world.store.contents() if key not in (*withdrawn, *beside) and "/announced/" not in key]


def changed(body: bytes) -> bytes:
    middle = len(body) // 2
    return body[:middle] + bytes([body[middle] ^ 1]) + body[middle + 1 :]


def test_it_finds_nothing_in_what_is_whole() -> None:
    """Or the rest of this file would show nothing."""
    world = exported()
    assert wrong(world) == wrong(world, Kafka(world.broker, world.broker)) == 0
    assert newest(world) in world.store.contents()
    sorts = ("/plan/", "/log/", "/rejected/", ".keys.", "owners/")
    parts = {part for part in sorts for key in proved(world) if part in key}
    assert len(parts) == 5


@pytest.mark.parametrize("change", [changed, lambda body: body[:-1], lambda _: b"", lambda body: body + b"x"])
def test_no_byte_of_what_was_exported_changes_unseen(change: Callable[[bytes], bytes]) -> None:
    """Every object, companion, dead letter, plan, entry and owner: another byte, one less, one more, none."""
    for number in range(len(proved(exported()))):
        world = exported()
        key = proved(world)[number]
        world.store.overwrite(key, change(world.store.contents()[key]))
        assert wrong(world), key


def test_nothing_of_what_was_exported_vanishes_unseen() -> None:
    """The newest entry, too, once it was announced or followed by a plan."""
    for number in range(len(proved(exported()))):
        world = exported()
        key = proved(world)[number]
        world.store.delete(key)
        assert wrong(world), key


def test_what_it_cannot_see_is_as_readme_says() -> None:
    """The newest entry with all that was written for it, and what Kafka no longer has to compare with."""
    world = exported(announced=False)
    world.store.delete(newest(world))
    assert wrong(world) == 0
    world = exported()
    world.broker.set_log_start("orders", 0, world.end(0))
    verified = verify(world.settings, world.exporter.log, Kafka(world.broker, world.broker), tell=lambda _: None)
    assert verified.findings == ()
    assert any("of which Kafka no longer has" in note for note in verified.notes)
