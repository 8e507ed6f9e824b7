"""A log has an epoch: whoever begins one anew fences the programs of the one before, whatever was deleted by hand."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from kafka_s3.adopt.adopt import adopt, look
from kafka_s3.adopt.decide import Basis, Choice
from kafka_s3.crash_points import CrashPoint
from kafka_s3.dead_letter import redriven_key, reported_key
from kafka_s3.errors import Fenced, LogDamaged, LogMissing, NotSigned
from kafka_s3.gc.gc import collect, delete
from kafka_s3.log.documents import decode, encode
from kafka_s3.log.entries import Entry, Epoch, Kind, Plan, sha256_of
from kafka_s3.log.store import Log, SlotTaken
from kafka_s3.naming import LogLayout
from kafka_s3.ports import Put
from kafka_s3.publish.announce import announcement, mark
from kafka_s3.publish.committed import announced
from kafka_s3.rewind.rewind import look as look_back
from kafka_s3.rewind.rewind import rewind
from kafka_s3.sign.sign import confirm
from kafka_s3.sign.sign import look as to_sign
from kafka_s3.signing import LogKey
from kafka_s3.verify.verify import verify
from tests.export.place import TOPIC, SimpleExport
from tests.log.sleepers import (
    EVERYTHING,
    FOLDER,
    LOG_ALONE,
    P0,
    PLAIN,
    Lose,
    adopted,
    lose,
    place_of,
    read,
    sleeper,
)
from tests.reexport.windows import WindowExport
from tests.support import request


@pytest.mark.parametrize("which", [LOG_ALONE, FOLDER], ids=["log", "folder"])
def test_a_sleeper_of_a_lost_log_is_fenced(which: Lose) -> None:
    """A log is lost and adopted while a driver sleeps in front of its commit. It wakes: its entry is in nobody's log,
    it says that it was fenced, nothing is there twice, and every reader of the chain goes on."""
    place = place_of()
    place.produce(0, 2)
    with ExitStack() as stack:
        wake = sleeper(stack, place, "put_if_absent", "/log/")
        lose(place, which)
        adopted(place, 6)
        for number in (4, 5):
            place.produce(0, 1)
            place.run(f"run-{number}")
        before = place.newest
        ended = wake()
    assert isinstance(ended, Fenced)
    assert "run adopt has begun another since" in str(ended)
    assert place.newest == before
    place.run("last")
    assert read(place) == [6, 7, 8, 9]
    assert verify(place.settings, place.log, None, tell=lambda _: None).findings == ()


def test_a_sleeper_of_a_connector_that_was_started_over() -> None:
    """Everything was deleted by hand, data too, and a first run has begun: the sleeper finishes a plan of the old log,
    and deletes nothing of the new one's, whose objects lie where its own would."""
    place = place_of()
    place.produce(0, 4)
    place.die_while_exporting("dead")
    with ExitStack() as stack:
        wake = sleeper(stack, place, "put_if_absent", "/log/")
        lose(place, EVERYTHING)
        place.settings = replace(place.settings, limits=replace(place.settings.limits, flush_size=1))
        place.run("anew")
        data = place.data()
        ended = wake()
    assert isinstance(ended, Fenced)
    assert place.data() == data
    assert read(place) == list(range(10))
    assert verify(place.settings, place.log, None, tell=lambda _: None).findings == ()


def test_a_sweep_of_a_lost_log_deletes_nothing() -> None:
    """A driver that has committed and sleeps in front of its sweep wakes when the log is another's."""
    place = place_of(1)
    place.produce(0, 4)
    place.die_while_exporting("dead")
    with ExitStack() as stack:
        wake = sleeper(stack, place, "list", "topics/")
        lose(place, EVERYTHING)
        place.settings = replace(place.settings, limits=replace(place.settings.limits, flush_size=1))
        place.run("anew")
        data = place.data()
        assert isinstance(wake(), Fenced)
    assert place.data() == data
    assert any("were not deleted" in line and "begun another since" in line for line in place.told)


def test_two_first_runs_at_once_begin_one_log() -> None:
    """One sleeps between its first entry and its claim: the other's log is the connector's, and it is fenced."""
    place = SimpleExport(partitions=1)
    place.produce(0, 2)
    with ExitStack() as stack:
        wake = sleeper(stack, place, "put_if_absent", "/epoch/")
        place.run("other")
        ended = wake()
    assert isinstance(ended, Fenced)
    assert "Run other (try 1) wrote log entry 0 (checkpoint) first." in str(ended)
    assert len(list(place.store.list(PLAIN.epoch_prefix))) == 1
    assert (place.newest.run_id, read(place)) == ("other", [0, 1])


def test_a_claim_whose_answer_got_lost_is_ones_own() -> None:
    """The store wrote the claim and fell silent: it is read back, and the run goes on."""

    place = SimpleExport(partitions=1)
    place.produce(0, 2)
    put = place.store.put_if_absent

    def twice(key: str, body: bytes, **more: Any) -> Put:
        made = put(key, body, **more)
        return put(key, body, **more) if "/epoch/" in key else made

    place.store.put_if_absent = twice  # type: ignore[method-assign]
    assert place.run().exit_status == 0
    assert read(place) == [0, 1]


def test_a_first_run_that_dies_before_its_claim_is_repeated() -> None:
    """Its first entry lies where nobody reads, and keeps no other run from beginning."""
    place = SimpleExport(partitions=1)
    place.produce(0, 2)
    lost = Log(place.store, replace(PLAIN, epoch="e0-0123456789abcdef"))
    entry = Entry(
        kind=Kind.CHECKPOINT,
        seq=0,
        connector=TOPIC,
        previous_sha256=None,
        cluster_id="memory",
        engine="1",
        configuration_sha256="",
        isolation_level="read_committed",
        run_id="dead",
        try_number=1,
        topics={},
    )
    assert not isinstance(lost.put_entry(entry), SlotTaken)
    assert place.run().exit_status == 0
    assert read(place) == [0, 1]


# What lies there of an older log.


@pytest.mark.parametrize("folder", ["announced", "reported", "complete", "redriven"])
@pytest.mark.parametrize("epoch", ["", "e0-0123456789abcdef"])
def test_traces_of_an_older_log_mean_nothing_for_a_new_one(folder: str, epoch: str) -> None:
    """A connector is started over, and one folder of marks was left: the new log's entries are all told, its letters
    are all sent, and its markers begin anew."""
    place = SimpleExport(partitions=1)
    old = replace(PLAIN, epoch=epoch)
    letters = "_kafka_s3/orders/rejected/orders/partition=0/orders+0+0000000000.jsonl.gz"
    keys = {
        "announced": old.announced_key(7),
        "reported": reported_key(old, 7),
        "complete": old.complete_key(7),
        "redriven": redriven_key(old, TOPIC, letters, 0),
    }
    place.store.put_if_absent(keys[folder], b"{}")
    place.produce(0, 2)
    place.run()
    assert announcement(place.log, "bucket", lambda _: True).seqs == (0, 1)
    mine = place.log.layout
    new = (mine.announced_prefix, mine.folder("reported"), mine.complete_prefix, mine.folder("redriven"))
    assert not any(list(place.store.list(prefix)) for prefix in new)


def test_a_log_of_an_earlier_release_goes_on_as_it_is() -> None:
    """Begun without a claim, it is continued in its own folders, and no claim is made; adopted when it is lost, it has
    one, and its own keys count no more."""
    place = SimpleExport(partitions=1)
    place.produce(0, 2)
    place.run()
    contents = {key.replace(f"/{place.log.layout.epoch}/", "/"): body for key, body in place.store.contents().items()}
    lose(place, EVERYTHING)
    previous: str | None = None
    for key in sorted((key for key in contents if "/log/" in key), reverse=True):
        entry = msgspec.structs.replace(decode(Entry, key, contents[key]), epoch=None, previous_sha256=previous)
        if entry.kind is Kind.COMMIT:  # its plan names the entry before it, too
            plan = next(plan for plan in contents if "/plan/" in plan)
            made = msgspec.structs.replace(decode(Plan, plan, contents[plan]), epoch=None, previous_sha256=previous)
            contents[plan] = encode(made)
            entry = msgspec.structs.replace(entry, plan_sha256=sha256_of(contents[plan]))
        contents[key] = encode(entry)
        previous = sha256_of(contents[key])
    for key, body in contents.items():
        if "/epoch/" not in key:
            place.store.overwrite(key, body)
    place.produce(0, 2)
    assert place.run("next").exit_status == 0
    assert (place.log.layout, read(place)) == (PLAIN, [0, 1, 2, 3])
    assert not list(place.store.list(PLAIN.epoch_prefix))
    assert verify(place.settings, place.log, None, tell=lambda _: None).findings == ()
    old = {key: body for key, body in place.store.contents().items() if "/log/" in key}
    lose(place, LOG_ALONE)
    adopted(place, 4)
    for key, body in old.items():
        place.store.overwrite(key, body)
    assert (place.log.epoch is not None, place.newest.kind) == (True, Kind.ADOPT)


# Nothing from the bucket is believed.


def test_an_entry_of_another_epoch_is_named() -> None:
    """Copied between two logs of a connector, an entry and a plan say where they are from."""
    place = place_of(1)
    old = place.log.layout
    lose(place, LOG_ALONE)
    adopted(place, 2)
    place.produce(0, 2)
    place.run()
    new = place.log.layout
    plan = place.store.contents()[old.plan_key(1)]
    place.store.overwrite(new.plan_key(1), plan)
    with pytest.raises(LogDamaged, match=f"number 1 of connector orders, epoch {old.epoch}"):
        place.log.plan(1)
    entry = msgspec.structs.replace(place.newest, epoch=old.epoch)
    place.store.overwrite(new.log_key(1), encode(entry))
    with pytest.raises(LogDamaged, match=f"epoch {old.epoch}"):
        place.log.newest()
    findings = verify(place.settings, place.log, None, tell=lambda _: None).findings
    assert any(old.epoch in finding.found for finding in findings)


@pytest.mark.parametrize("change", ["truncated", "climbs", "another number", "another connector", "another entry"])
def test_a_claim_is_not_believed_as_it_is(change: str) -> None:
    """A claim says which connector's and which number it is, and an id that leads nowhere else; and which entry is the
    log's first."""
    place = place_of(1)
    key = PLAIN.epoch_key(0)
    body = place.store.contents()[key]
    claim = decode(Epoch, key, body)
    wrong: dict[str, bytes] = {
        "truncated": body[:-9],
        "climbs": encode(msgspec.structs.replace(claim, id="../../other/log")),
        "another number": encode(msgspec.structs.replace(claim, number=1)),
        "another connector": encode(msgspec.structs.replace(claim, connector="refunds")),
        "another entry": encode(msgspec.structs.replace(claim, first_sha256="0" * 64)),
    }
    place.store.overwrite(key, wrong[change])
    with pytest.raises(LogDamaged):
        list(place.log.entries())


def test_claims_that_were_deleted() -> None:
    """Without its claims a log is lost: nothing begins it anew but adopt, and a program at work is fenced."""
    place = place_of(1)
    at_work = place.exporter().at_work()
    lose(place, lambda key: "/epoch/" in key)
    with pytest.raises(LogMissing, match="has a plan"):
        place.run("next")
    with pytest.raises(Fenced, match="somebody deleted that"):
        at_work.log.check_current()


# Everything else that looks first and acts later.


def test_a_collection_of_a_lost_log_deletes_nothing() -> None:
    """What gc found before the log was begun anew is left alone."""
    place = place_of(1)
    place.store.put_if_absent("topics/orders/partition=0/orders+0+0000000001.json", b"{}")
    log = place.log
    garbage = collect(place.settings, log, parallel=1)
    assert garbage is not None
    assert garbage.objects
    lose(place, LOG_ALONE)
    adopted(place, 2)
    before = place.data()
    with pytest.raises(Fenced):
        delete(log, garbage, parallel=1)
    assert place.data() == before


def test_a_rewind_of_a_lost_log_is_fenced() -> None:
    """What was asked about the old log is not written into the new one."""
    place = place_of(2)
    found = look_back(place.exporter(), {P0: 0})
    lose(place, LOG_ALONE)
    adopted(place, 4)
    with pytest.raises(Fenced):
        rewind(place.exporter(), found, request("back"))
    assert (place.newest.kind, place.positions()) == (Kind.ADOPT, {0: 4})


def test_an_event_of_an_older_log_is_still_read() -> None:
    """A reader that is late gets the entry that its event names, where that is still there."""
    place = place_of(1)
    told = announcement(place.log, "bucket", lambda _: True)
    for seq in told.seqs:
        mark(place.log, seq)
    lose(place, lambda key: "/epoch/" in key)
    found = look(place.exporter(), place.broker, Choice("g", Basis.AGREED, {P0: 2}), lambda _: None)
    adopt(place.exporter(), found, request("adopt"))
    event = next(each.extra for each in told.events if each.topic == TOPIC)
    [made] = announced(place.log, "bucket", event)
    assert made.object.key in place.data()


def test_a_claim_is_signed_as_all_else_is() -> None:
    """With a key, a claim that is not signed is refused until it is confirmed; and new ones are signed."""
    place = place_of(1)
    home = LogLayout(place.settings.log_root, place.settings.name).home
    unsigned = place.settings
    place.settings = replace(unsigned, log_key=LogKey((b"0" * 32,), home))
    with pytest.raises(NotSigned, match="epoch/"):
        place.run("next")
    plain = replace(place.exporter(), settings=unsigned).log
    found = to_sign(plain, place.settings.log_key, parallel=1)
    confirm(plain, place.settings.log_key, found, found.sha256 or "")
    assert place.run("next").exit_status == 0
    lose(place, EVERYTHING)
    place.run("anew")
    assert b'"hmac":"' in place.store.contents()[PLAIN.epoch_key(0)]


# Windows.


def test_a_window_planned_from_a_lost_log_is_planned_again() -> None:
    """Its plan names entries of the old log: it is voided, and the window is made from the new one."""
    place = WindowExport()
    place.export(120, 130, 300)
    assert place.dies_at(CrashPoint.WROTE_PLAN)
    lose(place, lambda key: key.startswith(PLAIN.log_prefix))
    adopted(place, 0)
    place.run("anew")
    assert place.again().exit_status == 0
    assert [entry.kind for entry in place.window_entries()] == [Kind.VOID, Kind.COMMIT]
    assert place.rows() == place.expected()


def test_a_window_of_a_lost_log_is_not_committed() -> None:
    """The log is begun anew while a window is read: its run is fenced, and the next one looks again."""
    place = WindowExport()
    place.export(120, 130, 300)

    def begin_anew() -> None:
        lose(place, lambda key: key.startswith(PLAIN.log_prefix))
        adopted(place, 0)

    place.before_again = begin_anew
    with pytest.raises(Fenced):
        place.again()
    assert place.commits() == []


def test_windows_have_a_log_of_their_own() -> None:
    """A window that is committed stays so when the live log is begun anew."""
    place = WindowExport()
    place.export(120, 130, 300)
    place.again()
    before = place.rows()
    lose(place, lambda key: key.startswith(PLAIN.log_prefix))
    adopted(place, 3)
    assert place.again("later").committed == []
    assert place.rows() == before
    assert (place.log.layout.epoch[:3], place.window_log().layout.epoch) == ("e1-", "")
