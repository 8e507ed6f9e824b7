"""Signatures over what a log holds (`export.log.key`): who may write to the bucket, and has no key, cannot make one.

A signature is HMAC-SHA256 over the key under which a document lies and over its bytes. A copy under another key (of
another number, connector, window or epoch) is therefore no better than a forgery. It stands at the end of the document,
which is JSON with or without one:

    {"sha256":"…","body":{…}}    ->    {"sha256":"…","body":{…},"hmac":"<64 hexadecimal digits>"}
    nothing (a mark)             ->    {"hmac":"…"}

What a signature cannot say: that a document is the newest. Who may delete can bring back an older state of a log.
"""

from __future__ import annotations

import enum
import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

#: What NIST SP 800-107 asks of a key for HMAC-SHA256: no fewer bytes than the hash has.
KEY_BYTES_MIN: Final = 32
_DOMAIN: Final = b"kafka-s3 log 1"
_SIGNATURE: Final = re.compile(rb'[,{]"hmac":"([0-9a-f]{64})"\}\Z')
#: What a signature adds to a document at most.
SIGNATURE_BYTES_MAX: Final = 75


class Signed(enum.Enum):
    """What a document's signature is worth."""

    NOW = "signed with the key in use"
    EARLIER = "signed with an earlier key"
    NOT = "not signed"
    WRONG = "signed with another key, or changed or moved since"


@dataclass(frozen=True, slots=True)
class LogKey:
    """The keys of one connector: the first signs, all verify. Without any, nothing is signed and nothing is refused.

    `home`: the folder of the connector's log, where it stands which older documents a person has confirmed.
    """

    secrets: tuple[bytes, ...] = field(default=(), repr=False)
    home: str = ""

    def __bool__(self) -> bool:
        return bool(self.secrets)

    def sign(self, key: str, document: bytes) -> bytes:
        """The document with its signature; as it is where there is no key."""
        if not self.secrets:
            return document
        body = document or b"{}"
        assert (body[:1], body[-1:]) == (b"{", b"}"), f"{key}: only a JSON object can be signed"
        comma = b"" if body == b"{}" else b","
        return b'%s%s"hmac":"%s"}' % (body[:-1], comma, _hmac(self.secrets[0], key, body).encode())

    def check(self, key: str, data: bytes) -> Signed:
        """Whether the bytes that lie under a key were signed for it."""
        found = _SIGNATURE.search(data)
        if found is None:
            return Signed.NOT
        end = found.start() + (data[found.start() : found.start() + 1] == b"{")
        body = data[:end] + b"}"
        for number, secret in enumerate(self.secrets):
            if hmac.compare_digest(_hmac(secret, key, body), found[1].decode()):
                return Signed.EARLIER if number else Signed.NOW
        return Signed.WRONG


NO_KEY: Final = LogKey()


def is_signed(data: bytes) -> bool:
    """Whether a document carries a signature, whoever made it."""
    return _SIGNATURE.search(data) is not None


def problem_of(keys: Sequence[str]) -> str | None:
    """What is wrong with a list of keys, in a sentence that repeats none of them.

    >>> problem_of(["too short"])
    'holds a key of 9 bytes: at least 32 are needed (openssl rand -hex 32)'
    """
    for each in keys:
        size = len(each.encode("utf-8", "surrogatepass"))
        if size < KEY_BYTES_MIN:
            return f"holds a key of {size} bytes: at least {KEY_BYTES_MIN} are needed (openssl rand -hex 32)"
    return None


def _hmac(secret: bytes, key: str, body: bytes) -> str:
    # The length keeps apart where the key ends and the body begins.
    name = key.encode("utf-8", "surrogatepass")
    return hmac.new(secret, b"%s\n%d\n%s\n%s" % (_DOMAIN, len(name), name, body), hashlib.sha256).hexdigest()
