"""The commit log of one connector over an object store: the newest entry, the open plan, put-if-absent.

Whatever is read of a log, or written to it, passes `get` and `put`: they sign, and refuse what is not signed, where a
key is configured (`signing`), and refuse what is larger than a document may be.

A put has three outcomes: written; lost to another writer, whose document is the answer; or unknown, which is
resolved here by reading the key back.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from kafka_s3.commit_log import Entry, Plan, sha256_of
from kafka_s3.documents import decode, encode
from kafka_s3.errors import ConfigurationError, Fenced, LogDamaged, NotSigned, StoreUnavailable
from kafka_s3.export.ahead import in_order
from kafka_s3.export.confirmed import Confirmed
from kafka_s3.export.confirmed import newest as newest_confirmed
from kafka_s3.naming import LogLayout, parse_seq
from kafka_s3.ports import GET_BYTES_MAX, ObjectStore, Put
from kafka_s3.signing import NO_KEY, SIGNATURE_BYTES_MAX, LogKey, Signed, is_signed


@dataclass(frozen=True, slots=True)
class Committed:
    """An entry that is in the log, and the sha256 of its file. `signed`: it carries a signature."""

    entry: Entry
    sha256: str
    signed: bool = field(default=False, compare=False)  # by whomever


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
    log_key: LogKey = NO_KEY
    _confirmed: list[Confirmed] = field(default_factory=list, init=False, repr=False, compare=False)

    def get(self, key: str) -> bytes | None:
        """A document of the log, or `None`; `NotSigned` where it has to be signed and is not, `TooLarge`."""
        data = self.store.get(key)
        if data is not None and self.log_key:
            self._check_signed(key, data)
        return data

    def put(self, key: str, document: bytes) -> Put:
        """Put a document, signed where a key is configured: JSON, or empty."""
        return self.store.put_if_absent(key, self._signed(key, document))

    def _signed(self, key: str, document: bytes) -> bytes:
        if len(document) > GET_BYTES_MAX - SIGNATURE_BYTES_MAX:
            raise ConfigurationError(
                f"{key} would have {len(document)} bytes; at most {GET_BYTES_MAX} can be read again.",
                next="Make fewer objects in one commit: raise flush.size, or partition by fewer values. The open plan"
                " is voided then, and its offsets are planned again.",
            )
        return self.log_key.sign(key, document)

    def _check_signed(self, key: str, data: bytes) -> None:
        worth = self.log_key.check(key, data)
        if worth in (Signed.NOW, Signed.EARLIER) or self.confirmed().documents.get(key) == sha256_of(data):
            return
        if worth is Signed.NOT:
            raise NotSigned(
                f"{key} is not signed, and export.log.key is set.",
                next="Nothing of it was used. Whoever wrote it had no key: compare it with the bucket's versions. A log"
                " that is older than its key is confirmed once: `kafka-s3 sign CONFIG`.",
            )
        raise NotSigned(
            f"{key} is signed, but not with a key of export.log.key, or it was changed or moved since.",
            next="Nothing of it was used. If another key signed it, add that one behind the first; else restore it from"
            " the bucket's versions.",
        )

    def confirmed(self) -> Confirmed:
        """What a person has confirmed of this log; asked for once, and only where something is not signed."""
        if not self._confirmed:
            self._confirmed.append(newest_confirmed(self.store, self.log_key)[1])
        return self._confirmed[0]

    def newest(self) -> Committed | None:
        """The newest entry: one LIST of one key and one GET, whatever the history."""
        for info in self.store.list(self.layout.log_prefix, limit=1):
            return self._entry_at(info.key)
        return None

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
        data = self.get(key)
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
        data = self._signed(key, encode(plan))
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
        data = self._signed(key, encode(entry))
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
            stored = self.get(key)
            if stored is None:
                raise
            return stored
        stored = self.get(key)
        if stored is None:
            raise StoreUnavailable(f"{key} exists by the PUT's answer and is missing by the GET's.", next="Try again.")
        return stored

    def _entry_at(self, key: str) -> Committed:
        data = self.get(key)
        if data is None:
            raise LogDamaged(f"{key} was listed and then gone: something deletes log entries.", next="Stop it.")
        return self._checked_entry(key, data)

    def _checked_entry(self, key: str, data: bytes) -> Committed:
        entry = decode(Entry, key, data)
        if (self.layout.log_key(entry.seq), entry.connector) != (key, self.layout.connector):
            raise LogDamaged(f"The log entry {key} says it is number {entry.seq} of connector {entry.connector}.")
        return Committed(entry, sha256_of(data), is_signed(data))

    def _check_chain(self, older: Committed, newer: Committed) -> None:
        expected = (older.entry.seq + 1, older.sha256)
        if (newer.entry.seq, newer.entry.previous_sha256) != expected:
            raise LogDamaged(
                f"Log entry {newer.entry.seq} does not follow entry {older.entry.seq}: the chain of checksums breaks.",
                next="The log was edited or restored: compare it with the bucket's versions.",
            )


def check_mark(log: Log, key: str) -> None:
    """Raise `NotSigned` if a mark, which says something by being there, has to be signed and is not."""
    if log.log_key:
        log.get(key)


def check_has_key(log: Log, head: Committed | None) -> None:
    """Raise `ConfigurationError` for a writer without a key after a signed entry: who has one would refuse the next."""
    if head is not None and head.signed and not log.log_key:
        raise ConfigurationError(
            f"Log entry {log.layout.log_key(head.entry.seq)} is signed, and export.log.key is not set.",
            next="Nothing was written: set the key that the connector's other programs have.",
        )
