"""The bytes of plans, log entries, owners and epochs: how they are written, and when some are not to be believed.

All are JSON in an envelope `{"sha256": <of the bytes of the body>, "body": {...}}`: a truncated or edited file shows.
Nothing from the bucket is trusted: types, bounds (`bounds`), format version and checksum are checked before anything is
used. Who wrote it is another question, which `signing` answers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeVar

import msgspec

from kafka_s3.errors import LogDamaged
from kafka_s3.log.entries import (
    FORMAT_VERSION,
    Entry,
    Epoch,
    FailedRange,
    Owner,
    Plan,
    PlannedRange,
    RangeGap,
    sha256_of,
    to_builtins,
)

Document = TypeVar("Document", Plan, Entry, Owner, Epoch)


class _Envelope(msgspec.Struct, frozen=True):
    sha256: str
    body: msgspec.Raw


class _Version(msgspec.Struct, frozen=True):
    format_version: int


# Made here, while one thread alone imports this: msgspec makes the tables of a type when it first decodes one, and
# two threads that do so at the same time end the process (SIGSEGV).
_ENVELOPES: Final = msgspec.json.Decoder(_Envelope)
_VERSIONS: Final = msgspec.json.Decoder(_Version)
_DOCUMENTS: Final[dict[type, msgspec.json.Decoder[Any]]] = {
    kind: msgspec.json.Decoder(kind) for kind in (Plan, Entry, Owner, Epoch)
}


def encode(document: Plan | Entry | Owner | Epoch) -> bytes:
    """The bytes of a plan, an entry, an owner or an epoch; the same document always makes the same bytes."""
    built = (
        to_builtins(document) if isinstance(document, Plan | Entry) else msgspec.to_builtins(document, str_keys=True)
    )
    for done in built.get("ranges", ()):
        if not done.get("filtered", True):  # where nothing is dropped, entries say what they always said
            del done["filtered"]
    body = msgspec.json.encode(built, order="deterministic")
    return msgspec.json.encode(_Envelope(sha256_of(body), msgspec.Raw(body)))


def decode(kind: type[Document], key: str, data: bytes) -> Document:
    """The document in `data`; `LogDamaged` names the key if it is not what it should be."""
    what = {Plan: "plan", Entry: "log entry", Owner: "owner", Epoch: "epoch"}[kind]
    way_out = "Nothing was written. Restore it from the bucket's versions or a backup; it is never edited by hand."
    try:
        envelope = _ENVELOPES.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise LogDamaged(
            f"The {what} {key} is truncated or not JSON ({len(data)} bytes): {error}.", next=way_out
        ) from None
    body = bytes(envelope.body)
    if sha256_of(body) != envelope.sha256:
        raise LogDamaged(f"The {what} {key} was edited: its checksum does not match its content.", next=way_out)
    try:
        version = _VERSIONS.decode(body).format_version
        if version > FORMAT_VERSION:
            raise LogDamaged(
                f"The {what} {key} has format version {version}, this exporter knows up to {FORMAT_VERSION}.",
                next="A newer exporter wrote it: upgrade this one.",
            )
        document: Document = _DOCUMENTS[kind].decode(body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise LogDamaged(f"The {what} {key} is not a {what}: {error}.", next=way_out) from None
    if isinstance(document, Plan | Entry):
        _check_spans(document, f"The {what} {key}", way_out)
        _check_schemas(document, f"The {what} {key}", way_out)
    return document


def _check_spans(document: Plan | Entry, name: str, way_out: str) -> None:
    """Raise `LogDamaged` for a range that ends before it begins, or is of a topic that the document does not know."""
    planned: Iterable[PlannedRange | FailedRange | RangeGap] = ()
    if isinstance(document, Plan):
        planned = document.ranges
    else:
        planned = (*document.failed, *document.gaps)
        for done in document.ranges:
            made = (*done.objects, *([done.dead_letters] if done.dead_letters else []))
            if done.next_offset < done.start or any(each.last_offset < each.first_offset for each in made):
                raise LogDamaged(
                    f"{name} has a range that ends before it begins: {done.tp} {done.start}.", next=way_out
                )
            if done.topic not in document.topics:
                raise LogDamaged(f"{name} has a range of {done.tp} and no state of that topic.", next=way_out)
    for each in planned:
        if each.end < each.start:
            raise LogDamaged(f"{name} has a range that ends before it begins: {each.tp} {each.start}.", next=way_out)
        if each.topic not in document.topics:
            raise LogDamaged(f"{name} has a range of {each.tp} and no state of that topic.", next=way_out)


def _check_schemas(document: Plan | Entry, name: str, way_out: str) -> None:
    """Raise `LogDamaged` for a schema that has another fingerprint; whether it is one is found by who reads by it."""
    for topic, state in document.topics.items():
        if state.value_schema is not None and not state.value_schema.is_whole:
            raise LogDamaged(f"{name} has a schema of topic {topic} that its fingerprint is not of.", next=way_out)
