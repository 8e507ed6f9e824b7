"""Java's key and trust stores, JKS and PKCS12: what TLS needs of them as PEM, in memory and nowhere else."""

from __future__ import annotations

import base64
import hashlib
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kafka_s3.errors import ConfigurationError
from kafka_s3.settings.files import ANYWHERE, read_bytes
from kafka_s3.settings.reach import Reach

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates
    from cryptography.x509 import Certificate

#: Java's names of the kinds that are read. Which of them a file is, its first bytes say, as to Java.
KINDS: Final = ("JKS", "PKCS12")
_JKS, _JCEKS, _DER_SEQUENCE = b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce", 0x30
_PEM = b"-----BEGIN"
_PRIVATE_KEY, _TRUSTED = 1, 2  # tags of a JKS's entries
_SHA1_BYTES: Final = 20
_WHITENER: Final = b"Mighty Aphrodite"  # what Java hashes between a JKS's password and its contents
_CONVERT: Final = "convert it: keytool -importkeystore -deststoretype PKCS12"


#: librdkafka's property for whom a token endpoint's certificate is to come from.
HTTPS_CA: Final = "https.ca.pem"


@dataclass(frozen=True, slots=True)
class JavaStore:
    """A key store (`holds_key`), or a trust store. `written` names the property with its place.

    `shown`: its place as a message may say it. `is_operators`: an Airflow connection names it, which is not bound by
    what connectors' files may open.
    """

    written: str
    path: str = field(repr=False)
    shown: str
    holds_key: bool
    password: str = field(default="", repr=False)
    key_password: str = field(default="", repr=False)  # the store's own where it is blank
    target: str = "ssl.ca.pem"  # what the certificates of a trust store become
    is_operators: bool = False

    @property
    def side(self) -> str:
        return "keystore" if self.holds_key else "truststore"


@dataclass(frozen=True, slots=True)
class _Key:
    alias: str
    protected: bytes = field(repr=False)
    chain: tuple[bytes, ...]  # DER, the key's own first


def read_store(store: JavaStore, reach: Reach = ANYWHERE) -> dict[str, str]:
    """librdkafka's properties that hold what is in a store; `ConfigurationError` in a sentence."""
    try:
        raw = read_bytes(Path(store.path), ANYWHERE if store.is_operators else reach)
    except OSError as error:
        raise ConfigurationError(f"{store.shown} cannot be read: {error.strerror or type(error).__name__}") from None
    if raw.startswith(_JKS):
        return _of_jks(store, raw)
    if raw.startswith(_JCEKS):
        raise ConfigurationError(f"{store.shown} is of Java's type JCEKS, which is not read here: {_CONVERT}")
    if raw.startswith(_PEM) and store.target == HTTPS_CA:  # Kafka's own is the client's affair
        return {store.target: raw.decode("utf-8", "replace")}
    if raw[:1] == bytes([_DER_SEQUENCE]):
        return _of_pkcs12(store, raw)
    raise ConfigurationError(
        f"{store.shown} is neither a JKS nor a PKCS12 store; for PEM set ssl.{store.side}.type=PEM"
    )


def _trusting(store: JavaStore, certificates: list[bytes]) -> dict[str, str]:
    if not certificates:
        raise ConfigurationError(f"{store.shown} holds no certificate to trust: import the CA of the servers")
    return {store.target: "".join(_pem("CERTIFICATE", each) for each in dict.fromkeys(certificates))}


def _identity(key: bytes, chain: tuple[bytes, ...]) -> dict[str, str]:
    certificates = "".join(_pem("CERTIFICATE", each) for each in chain)
    return {"ssl.certificate.pem": certificates, "ssl.key.pem": _pem("PRIVATE KEY", key)}


def _without_key(store: JavaStore) -> ConfigurationError:
    return ConfigurationError(f"{store.shown} holds no private key with a certificate: import one, or remove it")


def _wrong_password(store: JavaStore) -> ConfigurationError:
    said = f"{store.shown} cannot be opened with ssl.{store.side}.password"
    return ConfigurationError(f"{said}: correct it" if store.password else f"{said}, which is not set")


def _pem(label: str, der: bytes) -> str:
    lines = textwrap.wrap(base64.b64encode(der).decode("ascii"), 64)
    return "\n".join([f"-----BEGIN {label}-----", *lines, f"-----END {label}-----", ""])


# PKCS12.


def _of_pkcs12(store: JavaStore, raw: bytes) -> dict[str, str]:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
    from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12

    try:
        found = load_pkcs12(raw, store.password.encode() or None)
    except ValueError:  # of a wrong password and of bytes that are no store alike
        raise _wrong_password(store) from None
    except (UnsupportedAlgorithm, TypeError) as error:
        raise ConfigurationError(f"{store.shown} cannot be read: {error}; {_CONVERT}") from None
    if not store.holds_key:
        return _trusting(store, [each.public_bytes(Encoding.DER) for each in _certificates(found)])
    if found.key is None or found.cert is None:
        raise _without_key(store)
    key = found.key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    return _identity(key, tuple(each.public_bytes(Encoding.DER) for each in _chain(found)))


def _certificates(found: PKCS12KeyAndCertificates) -> list[Certificate]:
    own = [found.cert] if found.cert is not None else []
    return [each.certificate for each in (*own, *found.additional_certs)]


def _chain(found: PKCS12KeyAndCertificates) -> Iterator[Certificate]:
    """The key's certificate and those that issued it, one after the other: others may lie beside them."""
    last, *others = _certificates(found)
    yield last
    while last.issuer != last.subject:
        issuers = [each for each in others if each.subject == last.issuer]
        if not issuers:
            return
        last = issuers[0]
        others.remove(last)
        yield last


# JKS: big-endian numbers, texts with their length before them, a hash over everything at the end.


class _Cut:
    """Takes bytes off the front; `IndexError` where there are too few."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._at = 0

    def take(self, count: int) -> bytes:
        end = self._at + count
        if end > len(self._raw):
            raise IndexError
        taken = self._raw[self._at : end]
        self._at = end
        return taken

    def number(self, size: int = 4) -> int:
        return int.from_bytes(self.take(size), "big")

    def text(self) -> str:
        return self.take(self.number(2)).decode("utf-8", "replace")


def _of_jks(store: JavaStore, raw: bytes) -> dict[str, str]:
    contents, checked = raw[:-_SHA1_BYTES], raw[-_SHA1_BYTES:]
    given = _utf16(store.password)
    # Without a password Java reads the certificates of a trust store unchecked.
    if (store.password or store.holds_key) and _sha1(given + _WHITENER + contents) != checked:
        raise _wrong_password(store)
    try:
        keys, trusted = _entries(contents)
    except (IndexError, ValueError):
        raise _damaged(store) from None
    if not store.holds_key:
        return _trusting(store, trusted + [key.chain[0] for key in keys if key.chain])
    if not any(key.chain for key in keys):
        raise _without_key(store)
    if len(keys) > 1:
        aliases = ", ".join(sorted(key.alias for key in keys))
        raise ConfigurationError(f"{store.shown} holds {len(keys)} private keys ({aliases}): leave one in it")
    return _identity(_unprotected(store, keys[0]), keys[0].chain)


def _damaged(store: JavaStore) -> ConfigurationError:
    return ConfigurationError(f"{store.shown} is a JKS store that is damaged: copy it again")


def _entries(contents: bytes) -> tuple[list[_Key], list[bytes]]:
    cut = _Cut(contents)
    cut.take(len(_JKS))
    version, keys, trusted = cut.number(), list[_Key](), list[bytes]()

    def certificate() -> bytes:
        if version > 1:
            cut.text()  # X.509
        return cut.take(cut.number())

    for _ in range(cut.number()):
        tag, alias = cut.number(), cut.text()
        cut.take(8)  # when it was made
        if tag == _PRIVATE_KEY:
            protected = cut.take(cut.number())
            keys.append(_Key(alias, protected, tuple(certificate() for _ in range(cut.number()))))
        elif tag == _TRUSTED:
            trusted.append(certificate())
        else:
            raise ValueError(tag)
    return keys, trusted


def _unprotected(store: JavaStore, key: _Key) -> bytes:
    """The key as PKCS8: Java adds to it, bit by bit, the hashes of hashes that begin with the password and a salt."""
    given = _utf16(store.key_password or store.password)
    try:
        sealed = _octets(key.protected)
    except IndexError:
        raise _damaged(store) from None
    salt, hidden, checked = sealed[:_SHA1_BYTES], sealed[_SHA1_BYTES:-_SHA1_BYTES], sealed[-_SHA1_BYTES:]
    stream, last = bytearray(), salt
    while len(stream) < len(hidden):
        last = _sha1(given + last)
        stream += last
    plain = bytes(one ^ other for one, other in zip(hidden, stream, strict=False))
    if _sha1(given + plain) != checked:
        told = "ssl.key.password" if store.key_password else "ssl.keystore.password; where it has another, set"
        raise ConfigurationError(
            f"the private key {key.alias} in {store.shown} cannot be opened with {told}"
            + (": correct it" if store.key_password else " ssl.key.password")
        )
    return plain


def _octets(der: bytes) -> bytes:
    """The octets of an `EncryptedPrivateKeyInfo`: a sequence of an algorithm, which is always Java's, and them."""
    outer = _Cut(_content(_Cut(der)))
    _content(outer)
    return _content(outer)


def _content(cut: _Cut) -> bytes:
    """The content of the next DER element."""
    cut.take(1)
    length = cut.number(1)
    return cut.take(cut.number(length & 0x7F) if length & 0x80 else length)


def _utf16(text: str) -> bytes:
    return text.encode("utf-16-be", "surrogatepass")


def _sha1(data: bytes) -> bytes:
    return hashlib.sha1(data, usedforsecurity=False).digest()
