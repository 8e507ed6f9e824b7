"""A log with a key: whoever has none cannot add to it, and whatever reads it refuses what they wrote."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from kafka_s3.adopt import adopt
from kafka_s3.adopt.decide import Basis, Choice
from kafka_s3.bucket import owners
from kafka_s3.bucket.dead_letter_objects import commits_with_letters
from kafka_s3.dead_letters.live import letters_of_export
from kafka_s3.errors import ConfigurationError, LogDamaged, NotSigned
from kafka_s3.export.run import prepare
from kafka_s3.gc.gc import collect
from kafka_s3.log.entries import Kind
from kafka_s3.publish import committed
from kafka_s3.publish.announce import announcement, mark
from kafka_s3.ranges import TopicPartition
from kafka_s3.reexport import run as again
from kafka_s3.report import status
from kafka_s3.rewind import rewind
from kafka_s3.sign.sign import confirm, look
from kafka_s3.signing import NO_KEY, LogKey, is_signed
from kafka_s3.verify.verify import verify
from tests.export.harness import MemoryExport
from tests.log.logs import HandMade, settings_of
from tests.support import HOUR_MS, request

KEY, OTHER_KEY = "k" * 40, "o" * 40


def _log(**more: str) -> HandMade:
    """Offsets [0, 20) of two partitions' first are exported in two commits."""
    made = HandMade(settings_of(**{"export_log_key": KEY, **more}))
    made.begin({"orders": 2})
    made.commit([("orders", 0, 0, 10)])
    made.commit([("orders", 0, 10, 20)])
    return made


def test_all_that_a_log_holds_is_signed() -> None:
    """Plans, entries, owners and marks carry a signature; data objects stay as they are."""
    made = _log()
    mark(made.log, 2)
    contents = made.store.contents()
    documents = {key for key in contents if key.startswith("_kafka_s3/")}
    assert {key for key, body in contents.items() if is_signed(body)} == documents
    assert len(documents) == 3 + 2 + 1 + 1


def test_what_one_without_the_key_writes_is_refused() -> None:
    """An entry in the next slot that nobody signed is named, and nothing goes by it."""
    made, stranger = _log(), HandMade(settings_of())
    stranger.begin({"orders": 2})
    stranger.commit([("orders", 0, 0, 20)])
    forged = stranger.store.contents()[made.log.layout.log_key(1)]
    key = made.log.layout.log_key(3)
    made.store.overwrite(key, forged)
    with pytest.raises(NotSigned, match=f"{key} is not signed, and export.log.key is set"):
        made.log.newest()


@pytest.mark.parametrize("what", ["entry", "plan", "owner", "announced"])
def test_every_kind_is_refused_unsigned_moved_or_changed(what: str) -> None:
    """Without its signature, under another key, or signed by a stranger's key, no document is read."""
    made = _log()
    mark(made.log, 2)
    layout = made.log.layout
    owner = layout.owner_key("topics", "orders")
    key, moved = {
        "entry": (layout.log_key(2), layout.log_key(1)),
        "plan": (layout.plan_key(2), layout.plan_key(1)),
        "owner": (owner, owner),
        "announced": (layout.announced_key(2), layout.log_key(2)),
    }[what]
    good = made.store.contents()[key]
    strangers = replace(made.settings, log_key=LogKey((OTHER_KEY.encode(),)))
    for wrong in (_unsigned(good), made.store.contents()[moved], strangers.log_key.sign(key, _unsigned(good))):
        if wrong == good:
            continue
        made.store.overwrite(key, wrong)
        with pytest.raises(NotSigned, match=key):
            _read(made, what)
    made.store.overwrite(key, good)
    _read(made, what)


def _unsigned(document: bytes) -> bytes:
    """A document without its signature."""
    parsed = msgspec.json.decode(document, type=dict[str, msgspec.Raw])
    del parsed["hmac"]
    return msgspec.json.encode(parsed)


def _read(made: HandMade, what: str) -> None:
    match what:
        case "entry":
            made.log.newest()
        case "plan":
            made.log.plan(2)
        case "owner":
            owners.is_ours(made.log, made.settings, "orders")
        case _:
            announcement(made.log, "bucket", lambda _: True)


def test_a_signed_log_without_the_key_is_read_and_not_written() -> None:
    """Readers need no key; a run that lost it stops before it writes what all the others would refuse."""
    world = MemoryExport(settings=settings_of(export_log_key=KEY))
    world.produce(0, 10)
    assert world.run().exit_status == 0
    signed = world.exporter.log.newest()
    assert signed is not None
    without = MemoryExport(settings=settings_of(), store=world.store)
    without.produce(0, 20)
    assert without.exporter.log.newest() == signed
    before = world.store.contents()
    with pytest.raises(ConfigurationError, match=r"is signed, and export\.log\.key is not set"):
        without.run()
    assert world.store.contents() == before


def _forged(what: str) -> tuple[MemoryExport, str]:
    """A connector with a key, whose newest entry, or open plan, somebody without it has put there; and its key."""
    world = MemoryExport(settings=settings_of(export_log_key=KEY))
    world.produce(0, 10)
    assert world.run().exit_status == 0
    log = world.exporter.log
    head, plain = log.newest(), replace(log, log_key=NO_KEY)
    assert head is not None
    seq = head.entry.seq + 1
    if what == "entry":
        forged = {
            "kind": Kind.CHECKPOINT,
            "seq": seq,
            "previous_sha256": head.sha256,
            "plan_sha256": None,
            "ranges": (),
        }
        plain.put_entry(msgspec.structs.replace(head.entry, **forged))
        return world, log.layout.log_key(seq)
    planned = log.plan(head.entry.seq)
    assert planned is not None
    plain.put_plan(msgspec.structs.replace(planned.plan, seq=seq))
    return world, log.layout.plan_key(seq)


def test_a_running_connector_gets_a_key() -> None:
    """A log that runs made, its epoch too, is confirmed once; then runs go on and sign, and verify finds it well."""
    world = MemoryExport(settings=settings_of())
    world.produce(0, 10)
    assert world.run().exit_status == 0
    world.settings = settings_of(export_log_key=KEY)
    with pytest.raises(NotSigned):
        world.run()
    plain = replace(world.exporter, settings=settings_of()).log
    found = look(plain, world.settings.log_key)
    assert found.sha256 is not None
    confirm(plain, world.settings.log_key, found, found.sha256)
    world.produce(0, 10)
    assert world.run().exit_status == 0
    log = world.exporter.log
    newest = log.newest()
    assert newest is not None
    assert newest.signed
    verified = verify(world.settings, log, None, tell=lambda _: None)
    assert (verified.ok, verified.records) == (True, 20)


READERS: dict[str, Callable[[MemoryExport], object]] = {
    "run": lambda world: world.run(),
    "plan": lambda world: prepare(world.exporter, request("another")),
    "status": lambda world: status.look(world.settings, world.exporter.log, lambda: world.broker, entries_max=5),
    "gc": lambda world: collect(world.settings, world.exporter.log),
    "redrive": lambda world: letters_of_export(world.exporter.log),
    "reports": lambda world: commits_with_letters(world.exporter.log),
    "rewind": lambda world: rewind.look(world.exporter, {TopicPartition("orders", 0): 3}),
    "adopt": lambda world: adopt.look(
        world.exporter, world.broker, Choice("connect-orders", Basis.AGREED, {}), lambda _: None
    ),
    "events": lambda world: announcement(world.exporter.log, "archive", lambda _: True),
    "readers": lambda world: committed.newest(world.exporter.log),
    "reexport": lambda world: again.prepare(world.exporter, request("w", interval=(0, HOUR_MS))),
}


@pytest.mark.parametrize("reader", READERS)
def test_whatever_reads_refuses_a_forged_entry(reader: str) -> None:
    """Every use of the log stops at an entry that nobody with the key has signed, names it, and writes nothing."""
    world, key = _forged("entry")
    before = world.store.contents()
    with pytest.raises(LogDamaged, match=f"{key} is not signed"):
        READERS[reader](world)
    assert world.store.contents() == before


@pytest.mark.parametrize("reader", ["run", "plan"])
def test_whoever_plans_refuses_a_forged_plan(reader: str) -> None:
    """A plan in the next slot that nobody signed is not executed, and not voided either."""
    world, key = _forged("plan")
    before = world.store.contents()
    with pytest.raises(LogDamaged, match=f"{key} is not signed"):
        READERS[reader](world)
    assert world.store.contents() == before


def test_tasks_on_spark_get_no_key() -> None:
    """Tasks write data and dead letters, which entries list: what travels to other machines holds no key of the log."""
    from kafka_s3.spark.execute import SparkExecute

    context: Any = None
    kept = SparkExecute(context, settings_of(export_log_key=KEY))._settings
    assert not kept.log_key
    assert KEY.encode() not in pickle.dumps(kept)
