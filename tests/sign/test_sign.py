"""Signing a log that is older than its key, and changing the key: what a person confirms is believed as it is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafka_s3.bucket import owners
from kafka_s3.errors import ConfigurationError, LogDamaged, NotSigned
from kafka_s3.gc.gc import collect
from kafka_s3.log.entries import Kind
from kafka_s3.log.store import Log
from kafka_s3.publish.announce import announcement, mark
from kafka_s3.sign.sign import Found, confirm, look
from kafka_s3.signing import NO_KEY, LogKey, Signed
from kafka_s3.verify.verify import Verified, verify
from tests.log.logs import HandMade, settings_of

OLD, NEW = "o" * 40, "n" * 40


def _log(key: str | None = None) -> HandMade:
    """Two commits, one of them with dead letters, and one of them announced."""
    made = HandMade(settings_of(**({} if key is None else {"export_log_key": key})))
    made.begin({"orders": 1})
    made.commit([("orders", 0, 0, 10)], letters=True)
    made.commit([("orders", 0, 10, 20)])
    mark(made.log, 1)
    return made


def _under(made: HandMade, key: str) -> HandMade:
    """The same bucket for somebody with a key."""
    return replace(made, settings=settings_of(export_log_key=key))


def _look(made: HandMade) -> Found:
    return look(Log(made.store, made.log.layout, NO_KEY), made.settings.log_key)


def _confirm(made: HandMade, found: Found, head: str) -> None:
    confirm(Log(made.store, made.log.layout, NO_KEY), made.settings.log_key, found, head)


def _sign(made: HandMade) -> Found:
    found = _look(made)
    assert found.sha256 is not None
    _confirm(made, found, found.sha256)
    return found


def _verify(made: HandMade) -> Verified:
    return verify(made.settings, made.log, None, tell=lambda _: None)


def test_an_unsigned_log_is_shown_and_confirmed() -> None:
    """Once a key is set all of an older log is refused, by name; after a person has confirmed it, none of it is."""
    keyed = _under(_log(), NEW)
    with pytest.raises(NotSigned, match="kafka-s3 sign"):
        keyed.log.newest()
    named = {finding.where for finding in _verify(keyed).findings}
    assert named == {*(keyed.log.layout.log_key(seq) for seq in range(3)), keyed.log.layout.announced_key(1)}
    before = keyed.store.contents()
    found = _look(keyed)
    assert keyed.store.contents() == before, "looking writes nothing"
    unsigned = {folder: many for (worth, folder), many in found.counts.items() if worth is Signed.NOT}
    assert unsigned == {"log": 3, "plan": 2, "announced": 1, "owners": 1}
    _sign(keyed)
    changed = keyed.store.contents().keys() - before.keys()
    assert [key.split("/")[2] for key in changed] == ["signed"]
    assert {key: body for key, body in keyed.store.contents().items() if key in before} == before
    verified = _verify(keyed)
    assert verified.ok
    assert "7 documents without a signature of the key in use were confirmed as of entry 2" in verified.notes
    assert collect(keyed.settings, keyed.log) is not None
    assert announcement(keyed.log, "bucket", lambda _: True).seqs == (2,)
    assert _look(keyed).number == 1


def test_the_log_goes_on_signed() -> None:
    """After it was confirmed, new entries are signed, follow the old ones, and are read without the list."""
    keyed = _under(_log(), NEW)
    _sign(keyed)
    keyed.commit([("orders", 0, 20, 30)])
    [signed] = [key for key in keyed.store.contents() if "/signed/" in key]
    assert _verify(keyed).ok
    newest = keyed.log.newest()
    assert newest is not None
    assert newest.signed
    keyed.store.delete(signed)
    assert keyed.log.newest() == newest
    with pytest.raises(NotSigned):
        keyed.log.entry(2)


@pytest.mark.parametrize("head", ["", "none", "abc", "0" * 64, "0" * 16])
def test_another_head_than_the_confirmed_one_signs_nothing(head: str) -> None:
    """The person names the entry that was checked: with another one, or too little of it, nothing is written."""
    keyed = _under(_log(), NEW)
    before = keyed.store.contents()
    with pytest.raises(ConfigurationError, match="Nothing was signed"):
        _confirm(keyed, _look(keyed), head)
    assert keyed.store.contents() == before


def test_what_comes_after_the_look_is_not_confirmed() -> None:
    """An entry that somebody adds between the look and the word of the person is not among what is believed."""
    old = _log()
    keyed = _under(old, NEW)
    found = _look(keyed)
    assert found.sha256 is not None
    old.put(Kind.CHECKPOINT)
    with pytest.raises(ConfigurationError, match="Nothing was signed"):
        _confirm(keyed, found, found.sha256)


def test_a_stranger_cannot_confirm() -> None:
    """A list that nobody with a key has signed, or one of another connector, makes nothing believed."""
    keyed, other = _under(_log(), NEW), _under(_log(), OLD)
    _sign(other)
    [theirs] = [key for key in other.store.contents() if "/signed/" in key]
    keyed.store.overwrite(theirs, other.store.contents()[theirs])
    with pytest.raises(NotSigned, match=theirs):
        keyed.log.newest()
    moved = HandMade(settings_of(name="refunds", topics="refunds", export_log_key=NEW), store=keyed.store)
    moved.begin({"refunds": 1})
    moved.store.overwrite(theirs.replace("orders", "refunds"), other.store.contents()[theirs])
    moved.store.overwrite(moved.log.layout.log_key(0), b"{}")
    with pytest.raises(NotSigned, match=theirs.replace("orders", "refunds")):
        moved.log.newest()


def test_confirmed_documents_are_believed_byte_for_byte() -> None:
    """One that is changed after it was confirmed is refused as any other."""
    keyed = _under(_log(), NEW)
    _sign(keyed)
    key = keyed.log.layout.log_key(1)
    keyed.store.overwrite(key, keyed.store.contents()[keyed.log.layout.log_key(2)])
    with pytest.raises(NotSigned, match=key):
        keyed.log.entry(1)


def test_a_damaged_log_is_not_confirmed() -> None:
    """A log that is not whole is said to be so: signing it would make that hard to see."""
    old = _log()
    old.store.delete(old.log.layout.log_key(1))
    with pytest.raises(LogDamaged, match="Nothing was signed"):
        _look(_under(old, NEW))


def test_a_key_is_changed() -> None:
    """The new key in front, everything confirmed, the old key away: nothing is refused, and new entries need the new
    key alone."""
    made = _log(OLD)
    both = _under(made, f"{NEW},{OLD}")
    assert _verify(both).ok
    both.commit([("orders", 0, 20, 30)])
    found = _sign(both)
    assert {worth for worth, _ in found.counts} == {Signed.NOW, Signed.EARLIER}
    after = _under(both, NEW)
    assert _verify(after).ok
    assert not _verify(_under(both, OLD)).ok
    assert Log(made.store, made.log.layout, LogKey((OLD.encode(),), after.settings.log_key.home)).entry(0) is not None


def test_an_owner_without_a_log_is_confirmed_for_adopt() -> None:
    """Where the log is lost, what it left is confirmed by saying that there is none: adopt can begin a signed log."""
    old = _log()
    for key in [key for key in old.store.contents() if "/owners/" not in key]:
        old.store.delete(key)
    keyed = _under(old, NEW)
    with pytest.raises(NotSigned, match="kafka-s3 sign"):
        owners.is_ours(keyed.log, keyed.settings, "orders")
    found = _look(keyed)
    assert (found.seq, list(found.documents)) == (None, ["_kafka_s3/owners/topics/orders.json"])
    _confirm(keyed, found, "none")
    assert owners.is_ours(keyed.log, keyed.settings, "orders")


def test_dead_letters_are_covered_by_their_entry() -> None:
    """A dead-letter object needs no signature: the signed entry names its SHA-256, and it is read against that."""
    made = _log(NEW)
    [key] = [key for key in made.store.contents() if "/rejected/" in key]
    assert _verify(made).ok
    made.store.overwrite(key, made.store.contents()[key] + b"x")
    assert [finding.where for finding in _verify(made).findings] == [key]
