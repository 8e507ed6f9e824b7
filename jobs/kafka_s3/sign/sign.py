"""Signing a log that is older than its key: a person confirms the newest entry, and with it what is there.

    look      every document of the connector -> those without a signature of the key in use, and the newest entry
    confirm   a signed list of them (`confirmed`), if the newest entry is still the one that the person has named

Entries and their plans hang together by checksums, so the newest entry stands for all of them. Owners and marks do not;
they are counted, and listed as they are now. Nothing that is there is changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import msgspec

from kafka_s3.bucket.audit import walk
from kafka_s3.bucket.findings import Findings
from kafka_s3.errors import ConfigurationError, Fenced, LogDamaged, LogEmptied
from kafka_s3.log import confirmations
from kafka_s3.log.confirmations import Confirmed
from kafka_s3.log.documents import decode
from kafka_s3.log.entries import Owner, sha256_of
from kafka_s3.log.store import Log
from kafka_s3.ordered_pool import AHEAD, PARALLEL, map_ordered, workers
from kafka_s3.ports import Put
from kafka_s3.signing import LogKey, Signed

#: What is named before an entry is confirmed: enough of its SHA-256 that nobody makes another entry of the same.
HEAD_CHARS_MIN = 16


@dataclass(frozen=True, slots=True)
class Found:
    """What `look` found. `seq`, `sha256`: the newest entry, `None` without a log. `counts`: of documents, by what their
    signature is worth and by the folder that they lie in. `number`: of the list that comes next."""

    seq: int | None
    sha256: str | None
    documents: Mapping[str, str]
    counts: Mapping[tuple[Signed, str], int]
    number: int

    def is_named_by(self, head: str) -> bool:
        """Whether a person has named the newest entry by the beginning of its SHA-256; `none`: that there is none."""
        if self.sha256 is None:
            return head == "none"
        return len(head) >= HEAD_CHARS_MIN and self.sha256.startswith(head)


def look(plain: Log, log_key: LogKey, *, parallel: int = PARALLEL) -> Found:
    """Find what the key in use has not signed. Reads only; raises `LogDamaged` for a log that is not whole.

    `plain`: the log as it was found without a key.
    """
    if not log_key:
        raise ConfigurationError("export.log.key is not set.", next="Set the key that signs from now on; then sign.")
    log = replace(plain, log_key=log_key)
    try:
        findings, head = Findings(), plain.newest()
    except LogEmptied as error:
        raise LogDamaged(error.what, next=f"Nothing was signed. {error.next}") from None
    documents: dict[str, str] = {}
    counts: Counter[tuple[Signed, str]] = Counter()
    number, _ = confirmations.newest(log.store, log_key)
    with workers(parallel) as pool:
        if head is not None:  # without a log nothing can be whole; owners may be there all the same, for adopt
            for _ in walk(plain, 0, findings, pool, parallel * AHEAD):
                pass
        if findings.count:
            raise LogDamaged(
                f"The log of connector {log.layout.connector} is not as it should be: {findings.kept[0]}",
                next="Nothing was signed: `kafka-s3 verify` says what else is wrong.",
            )

        def read(key: str) -> tuple[str, bytes | None]:
            return key, plain.get(key)

        for key, data in map_ordered(pool, read, _documents(log), parallel * AHEAD):
            if data is None or (_is_owner(log, key) and not _is_ours(log, key, data)):
                continue
            worth = log.log_key.check(key, data)
            counts[worth, _folder(log, key)] += 1
            if worth is not Signed.NOW:
                documents[key] = sha256_of(data)
    return Found(
        None if head is None else head.entry.seq, None if head is None else head.sha256, documents, counts, number + 1
    )


def confirm(plain: Log, log_key: LogKey, found: Found, head: str) -> str:
    """Write the list; its key. Raises unless `head` names the entry that was found, and it is still the newest."""
    newest, log = plain.newest(), replace(plain, log_key=log_key)
    now = None if newest is None else newest.sha256
    if not found.is_named_by(head) or now != found.sha256:
        raise ConfigurationError(
            f"The newest entry is {now or 'none'}, not {head}.",
            next="Nothing was signed. Check the log again, and name the entry that you checked.",
        )
    key = confirmations.key_of(log.log_key, found.number)
    listed = Confirmed(seq=found.seq, sha256=found.sha256, documents=dict(found.documents))
    if log.put(key, msgspec.json.encode(listed, order="deterministic")) is Put.EXISTS:
        raise Fenced(f"Somebody else wrote {key} at the same moment.", next="Check the log again, then sign.")
    return key


def _documents(log: Log) -> Iterator[str]:
    """The keys of all documents: those in the connector's folder but for dead letters, and owners."""
    home = log.log_key.home
    for info in log.store.list(home):
        parts = info.key.removeprefix(home).split("/")
        is_letters = parts[0] == "rejected" or (parts[0] == "reexport" and parts[2:3] == ["rejected"])
        if not is_letters and parts[0] != "signed":
            yield info.key
    for info in log.store.list(_owners(log)):
        yield info.key


def _owners(log: Log) -> str:
    return log.layout.owner_key("", "x").removesuffix("x.json")


def _is_owner(log: Log, key: str) -> bool:
    return key.startswith(_owners(log))


def _is_ours(log: Log, key: str, data: bytes) -> bool:
    try:
        return decode(Owner, key, data).connector == log.layout.connector
    except LogDamaged:
        return False  # whoever needs it says so


def _folder(log: Log, key: str) -> str:
    return "owners" if _is_owner(log, key) else key.removeprefix(log.log_key.home).partition("/")[0]
