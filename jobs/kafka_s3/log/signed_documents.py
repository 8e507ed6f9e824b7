"""The documents of a log as they lie in the bucket: signed, and refused where they are not, if a key is configured.

Whatever is read of a log, or written to it, passes `SignedDocuments`, which also refuses what is larger than a
document may be. What a signature is: `signing`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from kafka_s3.errors import ConfigurationError, NotSigned
from kafka_s3.log.confirmations import Confirmed
from kafka_s3.log.confirmations import newest as newest_confirmed
from kafka_s3.log.entries import sha256_of
from kafka_s3.naming import LogLayout
from kafka_s3.ports import GET_BYTES_MAX, ObjectStore, Put
from kafka_s3.signing import NO_KEY, SIGNATURE_BYTES_MAX, LogKey, Signed

#: What to do about a document that is not what it was.
RESTORE: Final = "The log was edited or restored: compare it with the bucket's versions."


@dataclass(frozen=True, slots=True)
class SignedDocuments:
    """Reads and writes the documents of one log."""

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
        return self.store.put_if_absent(key, self.signed(key, document))

    def signed(self, key: str, document: bytes) -> bytes:
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

    def check_mark(self, key: str) -> None:
        """Raise `NotSigned` if a mark, which says something by being there, has to be signed and is not."""
        if self.log_key:
            self.get(key)
