"""The commit log of one connector over an object store: the newest entry, the open plan, put-if-absent.

A put has three outcomes: written; lost to another writer, whose document is the answer; or unknown, which is
resolved here by reading the key back.

Which log is the connector's is claimed, under a number that only one can have and with an id that nobody else has
(docs/protocol.md#epochs): the first entry is written where nobody reads, under the id, and then `epoch/<number>` names
it. A program finds the newest claim when it begins and stays with it, so one that slept while its log was lost, deleted
or adopted writes where nobody reads, too. What it must not do then is delete, or say that all is well: it looks at the
claims again before (`check_current`).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import msgspec

from kafka_s3.errors import ConfigurationError, Fenced, LogDamaged, LogEmptied, StoreUnavailable
from kafka_s3.log.documents import decode, encode
from kafka_s3.log.emptied import LOOKED_BACK, check_before, emptied
from kafka_s3.log.entries import Entry, Epoch, Plan, sha256_of
from kafka_s3.log.epochs import epoch_in, newest_epoch
from kafka_s3.log.plans import ClosedPlan, NewPlan, OpenPlan, StoredPlan
from kafka_s3.log.signed_documents import RESTORE, SignedDocuments
from kafka_s3.naming import LogLayout, format_epoch, parse_seq
from kafka_s3.ordered_pool import map_ordered
from kafka_s3.ports import ObjectInfo, ObjectStore, Put
from kafka_s3.signing import NO_KEY, LogKey, is_signed


@dataclass(frozen=True, slots=True)
class Committed:
    """An entry that is in the log, and the sha256 of its file. `signed`: it carries a signature."""

    entry: Entry
    sha256: str
    signed: bool = field(default=False, compare=False)  # by whomever


@dataclass(frozen=True, slots=True)
class SlotTaken:
    """Another writer took the slot; this is what it wrote."""

    winner: Committed


Chance = Callable[[], str]
#: Sixteen hexadecimal digits.
by_chance: Final[Chance] = partial(secrets.token_hex, 8)


@dataclass(frozen=True, slots=True)
class Log(SignedDocuments):
    """Reads and extends one log. Nothing here edits or deletes.

    `epoch`: the claim that says it is the connector's. `claims`: of a log that is not begun, the number that the
    writer of its first entry claims. Neither: a log in folders without an epoch.
    """

    epoch: Epoch | None = None
    claims: int | None = None

    def check_current(self) -> None:
        """Raise `Fenced` if the connector's log is another one by now. A LIST and a GET; ask where it has entries."""
        now = newest_epoch(self)
        if (now.id if now is not None else "") == self.layout.epoch:
            return
        began = "somebody deleted that" if now is None else f"run {now.run_id} has begun another since"
        raise Fenced(
            f"The log under {self.layout.log_prefix} is not the one of connector {self.layout.connector} any more: "
            f"{began}.",
            next="What this run wrote is not part of the export; a retry reads the log again.",
        )

    def newest(self) -> Committed | None:
        """The newest entry: one LIST of a few keys and one GET, whatever the history.

        Raises `LogEmptied` if one of the entries right before it is gone: somebody emptied the log, and programs that
        slept meanwhile wrote into it.
        """
        keys = self._first_keys()
        head = self._entry_at(keys[0]) if keys else None
        if head is not None:
            check_before(self.layout, head.entry, keys[1:])
        return head

    def _first_keys(self) -> list[str]:
        """The keys of the newest entries, up to `LOOKED_BACK` before the newest one. Folders of epochs, in the one that
        all of them are in, come behind entries."""
        return self._keys(self.store.list(self.layout.log_prefix, limit=1 + LOOKED_BACK))

    def _keys(self, listed: Iterator[ObjectInfo]) -> list[str]:
        return [info.key for info in listed if "/" not in info.key.removeprefix(self.layout.log_prefix)]

    def _check_follows(self, written: Entry) -> None:
        """Raise `LogEmptied` if the log was emptied before an entry was written: nobody may go on behind it."""
        if written.previous_sha256 is None:
            return
        key = self.layout.log_key(written.seq)
        found = self._keys(self.store.list(self.layout.log_prefix, start_after=key, limit=LOOKED_BACK))
        try:
            check_before(self.layout, written, found)
        except LogEmptied:
            self.check_current()
            raise

    @property
    def where(self) -> str:
        """The folder to name to a person."""
        return self.layout.log_prefix if self.claims is None else self.layout.name

    def current(self) -> Log:
        """The connector's log as it is found now: another run may have begun it meanwhile."""
        return open_log(self.store, self.layout.root, self.layout.connector, self.log_key)

    def entry(self, seq: int) -> Committed | None:
        key = self.layout.log_key(seq)
        data = self.get(key)
        return None if data is None else self._checked_entry(key, data)

    def older(self, seq: int) -> Committed:
        """An entry below the newest one, which has to be there."""
        committed = self.entry(seq)
        if committed is None:
            raise LogDamaged(
                f"Log entry {self.layout.log_key(seq)} is missing although newer ones are there.",
                next="Something deletes log entries: stop it, and restore the entry from the bucket's versions.",
            )
        return committed

    def entries(self, *, after_seq: int = -1) -> Iterator[Committed]:
        """Entries newer than `after_seq`, newest first, each checked against the one that follows it."""
        follower: Committed | None = None
        for info in self.store.list(self.layout.log_prefix):
            seq = parse_seq(info.key)
            if seq is None:
                raise LogDamaged(f"{info.key} is not a log entry's key.", next="Remove what does not belong there.")
            if seq <= after_seq:
                return
            committed = self._entry_at(info.key)
            if follower is not None:
                self._check_chain(committed, follower)
            yield committed
            follower = committed
        if follower is not None and follower.entry.previous_sha256 is not None:
            raise emptied(self.layout, follower.entry, self.layout.log_key(follower.entry.seq - 1))

    def back_from(self, head: Committed, pool: ThreadPoolExecutor, ahead: int) -> Iterator[Committed]:
        """`head` and every entry before it, each checked against the one that follows it, several read at once."""
        yield head
        follower = head
        for committed in map_ordered(pool, self.older, range(head.entry.seq - 1, -1, -1), ahead):
            self._check_chain(committed, follower)
            yield committed
            follower = committed

    def plan(self, seq: int) -> StoredPlan | None:
        key = self.layout.plan_key(seq)
        data = self.get(key)
        if data is None:
            return None
        plan = decode(Plan, key, data)
        if (plan.seq, plan.connector, plan.epoch or "") != (seq, self.layout.connector, self.layout.epoch):
            raise LogDamaged(
                f"The plan {key} says it is number {plan.seq} of connector {plan.connector}, epoch {plan.epoch}.",
                next=RESTORE,
            )
        return StoredPlan(plan, sha256_of(data))

    def closed_plan(self, entry: Entry) -> ClosedPlan | None:
        """The plan that an entry closed, if there is one in its slot."""
        found = self.plan(entry.seq) if entry.plan_sha256 is not None else None
        return None if found is None else ClosedPlan(found.plan, found.sha256, entry)

    def open_plan(self, head: Committed) -> OpenPlan | None:
        """The plan that the next entry closes, if its driver left one."""
        planned = self.plan(head.entry.seq + 1)
        if planned is not None and planned.plan.previous_sha256 != head.sha256:
            raise LogDamaged(
                f"The plan {self.layout.plan_key(planned.plan.seq)} follows another entry than the newest one "
                f"({planned.plan.previous_sha256[:12]}…, not {head.sha256[:12]}…).",
                next=RESTORE,
            )
        if planned is None:
            return None
        planned.plan.check_follows(head.entry)
        return OpenPlan(planned.plan, planned.sha256)

    def put_plan(self, plan: Plan) -> NewPlan:
        """Write a plan; `Fenced` if another run planned first."""
        plan = msgspec.structs.replace(plan, epoch=self.layout.epoch or None)
        key = self.layout.plan_key(plan.seq)
        data = self.signed(key, encode(plan))
        stored = self._put(key, data)
        if stored != data:
            raise Fenced(
                f"Another run wrote plan {plan.seq} of connector {plan.connector} first.",
                next="Nothing was changed; a retry reads the log again.",
            )
        return NewPlan(plan, sha256_of(data))

    def put_entry(self, entry: Entry) -> Committed | SlotTaken:
        """Write an entry, or say who took its slot; the first one of a log that is not begun: who began one instead.

        Raises `LogEmptied` if the log was emptied meanwhile: the entry is there, and nothing goes on from it.
        """
        key = self.layout.log_key(entry.seq)
        data = self.signed(key, encode(msgspec.structs.replace(entry, epoch=self.layout.epoch or None)))
        stored = self._put(key, data)
        committed = self._checked_entry(key, stored)
        self._check_follows(committed.entry)
        if stored != data:
            return SlotTaken(committed)
        return committed if self.claims is None or entry.seq else self._claim(committed, self.claims)

    def _claim(self, first: Committed, number: int) -> Committed | SlotTaken:
        key = self.layout.epoch_key(number)
        claim = Epoch(
            connector=self.layout.connector,
            number=number,
            id=self.layout.epoch,
            first_sha256=first.sha256,
            run_id=first.entry.run_id,
        )
        data = self.signed(key, encode(claim))
        stored = self._put(key, data)
        return first if stored == data else SlotTaken(self._of(epoch_in(key, stored)).older(0))

    def _of(self, epoch: Epoch) -> Log:
        """The log of this connector that a claim names."""
        layout = LogLayout(self.layout.root, self.layout.connector, epoch.id)
        return replace(self, layout=layout, epoch=epoch, claims=None)

    def _not_begun(self, number: int, chance: Chance) -> Log:
        layout = LogLayout(self.layout.root, self.layout.connector, format_epoch(number, chance()))
        return replace(self, layout=layout, epoch=None, claims=number)

    def _put(self, key: str, data: bytes) -> bytes:
        """Put if absent; the bytes that stand under the key afterwards, whoever wrote them."""
        try:
            if self.store.put_if_absent(key, data) is Put.CREATED:
                return data
        except StoreUnavailable:
            # Unknown: the store may have written it before it fell silent.
            stored = self.get(key)
            if stored is None:
                raise
            return stored
        stored = self.get(key)
        if stored is None:
            raise StoreUnavailable(f"The store answered 412 to a PUT of {key}, 404 to a GET.", next="Try again.")
        return stored

    def _entry_at(self, key: str) -> Committed:
        data = self.get(key)
        if data is None:
            raise LogDamaged(f"{key} was listed and is gone: something deletes log entries.", next="Stop it.")
        return self._checked_entry(key, data)

    def _checked_entry(self, key: str, data: bytes) -> Committed:
        entry, sha256 = decode(Entry, key, data), sha256_of(data)
        says = (self.layout.log_key(entry.seq), entry.connector, entry.epoch or "")
        if says != (key, self.layout.connector, self.layout.epoch):
            raise LogDamaged(
                f"The log entry {key} says it is number {entry.seq} of connector {entry.connector}, epoch "
                f"{entry.epoch}.",
                next=RESTORE,
            )
        if entry.seq == 0 and self.epoch is not None and self.epoch.first_sha256 != sha256:
            raise LogDamaged(
                f"The log entry {key} is not the one that {self.layout.epoch_key(self.epoch.number)} names.",
                next=RESTORE,
            )
        return Committed(entry, sha256, is_signed(data))

    def _check_chain(self, older: Committed, newer: Committed) -> None:
        expected = (older.entry.seq + 1, older.sha256)
        if (newer.entry.seq, newer.entry.previous_sha256) != expected:
            raise LogDamaged(
                f"Log entry {newer.entry.seq} does not follow entry {older.entry.seq}: the chain of checksums breaks.",
                next=RESTORE,
            )


def check_has_key(log: Log, head: Committed | None) -> None:
    """Raise `ConfigurationError` for a writer without a key after a signed entry: who has one would refuse the next."""
    if head is not None and head.signed and not log.log_key:
        raise ConfigurationError(
            f"Log entry {log.layout.log_key(head.entry.seq)} is signed, and export.log.key is not set.",
            next="Nothing was written: set the key that the connector's other programs have.",
        )


def open_log(
    store: ObjectStore, root: str, connector: str, log_key: LogKey = NO_KEY, chance: Chance = by_chance
) -> Log:
    """The log of a connector; where there is none, one that is not begun. A LIST and a GET."""
    plain = Log(store, LogLayout(root, connector), log_key)
    epoch = newest_epoch(plain)
    if epoch is not None:
        return plain._of(epoch)
    return plain if plain._first_keys() else plain._not_begun(0, chance)


def next_log(log: Log, chance: Chance = by_chance) -> Log:
    """A log that is not begun, to be the connector's instead of this one, which is lost."""
    epoch = newest_epoch(log)
    return log._not_begun(0 if epoch is None else epoch.number + 1, chance)
