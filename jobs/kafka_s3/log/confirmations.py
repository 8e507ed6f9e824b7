"""What a log held before it was signed, or under a key that went out of use, as far as a person has confirmed it.

Nothing in a log is ever written again, so an old document gets no signature. Instead a list says which ones are to be
believed as they are: `signed/<number>.json` in the connector's folder, the newest first, each signed itself.

    {"format_version":1, "seq":…, "sha256":…, "documents":{<key>: <sha256>, …}, "hmac":…}

`kafka-s3 sign` makes it (`sign`), and `Log.get` believes what it lists, byte for byte.
"""

from __future__ import annotations

from typing import Final

import msgspec

from kafka_s3.bounds import Key, Number, Seq, Sha256
from kafka_s3.errors import LogDamaged, NotSigned
from kafka_s3.log.entries import FORMAT_VERSION
from kafka_s3.naming import invert_seq, parse_seq
from kafka_s3.ports import ObjectStore
from kafka_s3.signing import LogKey, Signed


class Confirmed(msgspec.Struct, frozen=True, kw_only=True):
    """The documents that a person confirmed, when the newest entry was the one named; none without a log."""

    format_version: Number = FORMAT_VERSION
    seq: Seq | None
    sha256: Sha256 | None
    documents: dict[Key, Sha256]


NOTHING: Final = Confirmed(seq=None, sha256=None, documents={})
_CONFIRMED: Final = msgspec.json.Decoder(Confirmed)  # on import, as those of `documents`
_RESTORE: Final = "Restore it from the bucket's versions, or remove it and confirm again: `kafka-s3 sign CONFIG`."


def prefix(log_key: LogKey) -> str:
    return f"{log_key.home}signed/"


def key_of(log_key: LogKey, number: int) -> str:
    return f"{prefix(log_key)}{invert_seq(number)}.json"


def newest(store: ObjectStore, log_key: LogKey) -> tuple[int, Confirmed]:
    """The newest list and its number; -1 and an empty one if there is none. A LIST and a GET."""
    for info in store.list(prefix(log_key), limit=1):
        number = parse_seq(info.key)
        if number is None:
            raise LogDamaged(
                f"{info.key} is not a list of confirmed documents.", next="Remove what does not belong there."
            )
        data = store.get(info.key) or b""
        if log_key.check(info.key, data) not in (Signed.NOW, Signed.EARLIER):
            raise NotSigned(f"{info.key} is not signed with a key of export.log.key.", next=_RESTORE)
        try:
            found = _CONFIRMED.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise LogDamaged(f"{info.key} is not a list of confirmed documents: {error}.", next=_RESTORE) from None
        if found.format_version > FORMAT_VERSION:
            raise LogDamaged(f"{info.key} has format version {found.format_version}.", next="Upgrade this exporter.")
        return number, found
    return -1, NOTHING
