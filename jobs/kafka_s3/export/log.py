"""The commit log of one connector over an object store: the newest entry, the open plan, put-if-absent.

A put has three outcomes: written; lost to another writer, whose document is the answer; or unknown, which is
resolved here by reading the key back.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from kafka_s3.commit_log import Entry, Plan, decode, encode, sha256_of
from kafka_s3.errors import Fenced, LogDamaged, StoreUnavailable
from kafka_s3.export.ahead import in_order
from kafka_s3.naming import LogLayout, parse_seq
from kafka_s3.ports import ObjectStore, Put


@dataclass(frozen=True, slots=True)
class Committed:
    """An entry that is in the log, and the sha256 of its file."""

    entry: Entry
    sha256: str


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan that is in the bucket, and the sha256 of its file; `is_new`: it was written just now."""

    plan: Plan
    sha256: str
    is_new: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Lost:
    """Another writer took the slot; this is what it wrote."""

    winner: Committed


@dataclass(frozen=True, slots=True)
class Log:
    """Reads and extends the log. Nothing here edits or deletes."""

    store: ObjectStore
    layout: LogLayout

    def newest(self) -> Committed | None:
        """The newest entry: one LIST of one key and one GET, whatever the history."""
        for info in self.store.list(self.layout.log_prefix, limit=1):
            return self._entry_at(info.key)
        return None

    def entry(self, seq: int) -> Committed | None:
        key = self.layout.log_key(seq)
        data = self.store.get(key)
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
                raise LogDamaged(f"{info.key} is no key of a log entry.", next="Remove what does not belong there.")
            if seq <= after_seq:
                return
            committed = self._entry_at(info.key)
            if follower is not None:
                self._check_chain(committed, follower)
            yield committed
            follower = committed

    def back_from(self, head: Committed, pool: ThreadPoolExecutor, ahead: int) -> Iterator[Committed]:
        """`head` and every entry before it, each checked against the one that follows it, several read at once."""
        yield head
        follower = head
        for committed in in_order(pool, self.older, range(head.entry.seq - 1, -1, -1), ahead):
            self._check_chain(committed, follower)
            yield committed
            follower = committed

    def plan(self, seq: int) -> Planned | None:
        key = self.layout.plan_key(seq)
        data = self.store.get(key)
        if data is None:
            return None
        plan = decode(Plan, key, data)
        if (plan.seq, plan.connector) != (seq, self.layout.connector):
            raise LogDamaged(f"The plan {key} says it is number {plan.seq} of connector {plan.connector}.")
        return Planned(plan, sha256_of(data))

    def open_plan(self, head: Committed) -> Planned | None:
        """The plan that the next entry closes, if its driver left one."""
        planned = self.plan(head.entry.seq + 1)
        if planned is not None and planned.plan.previous_sha256 != head.sha256:
            raise LogDamaged(
                f"The plan {self.layout.plan_key(planned.plan.seq)} follows another entry than the newest one "
                f"({planned.plan.previous_sha256[:12]}…, not {head.sha256[:12]}…).",
                next="The log was edited or restored: compare it with the bucket's versions.",
            )
        if planned is not None:
            planned.plan.check_follows(head.entry)
        return planned

    def put_plan(self, plan: Plan) -> Planned:
        """Write a plan; `Fenced` if another run planned first."""
        key = self.layout.plan_key(plan.seq)
        data = encode(plan)
        stored = self._put(key, data)
        if stored != data:
            raise Fenced(
                f"Another run wrote plan {plan.seq} of connector {plan.connector} first.",
                next="Nothing was changed; a retry finds out where things stand.",
            )
        return Planned(plan, sha256_of(data), is_new=True)

    def put_entry(self, entry: Entry) -> Committed | Lost:
        """Write an entry, or say who took its slot."""
        key = self.layout.log_key(entry.seq)
        data = encode(entry)
        stored = self._put(key, data)
        committed = self._checked_entry(key, stored)
        return committed if stored == data else Lost(committed)

    def _put(self, key: str, data: bytes) -> bytes:
        """Put if absent; the bytes that stand under the key afterwards, whoever wrote them."""
        try:
            if self.store.put_if_absent(key, data) is Put.CREATED:
                return data
        except StoreUnavailable:
            # Unknown: the store may have written it before it fell silent.
            stored = self.store.get(key)
            if stored is None:
                raise
            return stored
        stored = self.store.get(key)
        if stored is None:
            raise StoreUnavailable(f"{key} exists by the PUT's answer and is missing by the GET's.", next="Try again.")
        return stored

    def _entry_at(self, key: str) -> Committed:
        data = self.store.get(key)
        if data is None:
            raise LogDamaged(f"{key} was listed and then gone: something deletes log entries.", next="Stop it.")
        return self._checked_entry(key, data)

    def _checked_entry(self, key: str, data: bytes) -> Committed:
        entry = decode(Entry, key, data)
        if (self.layout.log_key(entry.seq), entry.connector) != (key, self.layout.connector):
            raise LogDamaged(f"The log entry {key} says it is number {entry.seq} of connector {entry.connector}.")
        return Committed(entry, sha256_of(data))

    def _check_chain(self, older: Committed, newer: Committed) -> None:
        expected = (older.entry.seq + 1, older.sha256)
        if (newer.entry.seq, newer.entry.previous_sha256) != expected:
            raise LogDamaged(
                f"Log entry {newer.entry.seq} does not follow entry {older.entry.seq}: the chain of checksums breaks.",
                next="The log was edited or restored: compare it with the bucket's versions.",
            )
