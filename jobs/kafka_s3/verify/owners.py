"""Do the topics that were written belong to this connector, and who could make all of this up?"""

from __future__ import annotations

from collections.abc import Iterable

from kafka_s3.bucket.findings import RESTORE, Findings
from kafka_s3.dead_letter import reported_prefix
from kafka_s3.errors import LogDamaged
from kafka_s3.log.confirmations import prefix as prefix_of
from kafka_s3.log.documents import decode
from kafka_s3.log.entries import Owner
from kafka_s3.log.store import Log

_MISSING = "Restore it from the bucket's versions: without it, another connector could write the same keys."
_SHARED = "Two connectors must never write the same keys: stop one of them, and give it a topics.dir of its own."


def check_owners(log: Log, claims: Iterable[tuple[str, str]], findings: Findings) -> None:
    """`claims`: topics.dir and topic of every object of the log. Each has an owner, and it is this connector."""
    ours = Owner(connector=log.layout.connector, log=log.layout.name)
    for topics_dir, topic in sorted(claims):
        key = log.layout.owner_key(topics_dir, topic)
        expected = f"connector {ours.connector} as the owner of topic {topic}"
        try:
            data = log.get(key)
            if data is None:
                findings.add(key, expected=expected, found="no owner", next=_MISSING)
                continue
            owner = decode(Owner, key, data)
        except LogDamaged as error:
            findings.add(key, expected=expected, found=error.what.rstrip("."), next=error.next or RESTORE)
            continue
        if owner != ours:
            findings.add(key, expected=expected, found=f"connector {owner.connector}, log {owner.log}", next=_SHARED)


def check_marks(log: Log, findings: Findings) -> str:
    """Where a log is signed, so are the marks that are gone by, the newest of each kind; what a person has confirmed
    although it is not is a note."""
    if not log.log_key:
        return ""
    for prefix in (log.layout.announced_prefix, reported_prefix(log.layout), log.layout.complete_prefix):
        for info in log.store.list(prefix, limit=1):
            try:
                log.get(info.key)
            except LogDamaged as error:
                findings.add(info.key, expected="a signed mark", found=error.what.rstrip("."), next=error.next)
    try:
        confirmed = log.confirmed()
    except LogDamaged as error:
        findings.add(prefix_of(log.log_key), expected="a signed list", found=error.what.rstrip("."), next=error.next)
        return ""
    if not confirmed.documents:
        return ""
    many = len(confirmed.documents)
    as_of = "" if confirmed.seq is None else f" as of entry {confirmed.seq}"
    return f"{many} documents without a signature of the key in use were confirmed{as_of}"


def trust(log: Log) -> str:
    """Whom a check believes: without a key everybody who may write where the log and the owners lie."""
    root, home = log.layout.root, f"{log.layout.root}/{log.layout.connector}/"
    if log.log_key:
        return (
            f"The log is signed (export.log.key): nobody without a key can change or add to it. Who may delete under "
            f"{home} could still bring back an older state."
        )
    return (
        f"The log is not signed: the check trusts everyone who may write under {home} and {root}/owners/. They could"
        " rewrite it so that it is sound and says something else. Give s3:PutObject and s3:DeleteObject there to the"
        " exporter alone, with Object Lock or versions kept; or sign the log (export.log.key)."
    )
