"""Which log is a connector's: the newest claim says so (docs/protocol.md#epochs)."""

from __future__ import annotations

from kafka_s3.errors import LogDamaged
from kafka_s3.log.documents import decode
from kafka_s3.log.entries import Epoch
from kafka_s3.log.signed_documents import RESTORE, SignedDocuments
from kafka_s3.naming import is_epoch


def newest_epoch(log: SignedDocuments) -> Epoch | None:
    """The claim that counts, of all logs of a connector."""
    layout = log.layout
    for info in log.store.list(layout.epoch_prefix, limit=1):
        data = log.get(info.key)
        if data is None:
            raise LogDamaged(f"{info.key} was listed and is gone: something deletes claims.", next="Stop it.")
        epoch = epoch_in(info.key, data)
        if (layout.epoch_key(epoch.number), epoch.connector) != (info.key, layout.connector):
            raise LogDamaged(
                f"The epoch {info.key} says it is number {epoch.number} of connector {epoch.connector}.", next=RESTORE
            )
        return epoch
    return None


def epoch_in(key: str, data: bytes) -> Epoch:
    epoch = decode(Epoch, key, data)
    if not is_epoch(epoch.id):
        raise LogDamaged(f"The epoch {key} has an invalid id.", next=RESTORE)
    return epoch
