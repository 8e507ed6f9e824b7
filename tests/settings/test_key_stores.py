"""Java's key and trust stores, as keytool wrote them (`tests/adapters/stores/make.sh`)."""

from __future__ import annotations

import hashlib
import re
import ssl
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from kafka_s3.errors import ConfigurationError
from kafka_s3.settings import Loaded, Lookups
from kafka_s3.settings.converters import ConverterSettings
from kafka_s3.settings.reach import Reach
from tests.adapters.stores import STORES

Load = Callable[..., Loaded]

PASSWORD = "store-password"
CA = (STORES / "ca.pem").read_text()
OVERRIDE = "consumer.override."
AVRO = {
    "value.converter": "io.confluent.connect.avro.AvroConverter",
    "value.converter.schema.registry.url": "https://r:1",
}
REGISTRY = "value.converter.schema.registry."


def keys(name: str, *, password: str = PASSWORD, kind: str = "JKS", **more: str) -> dict[str, str]:
    given = {"location": str(STORES / name), "password": password, "type": kind}
    return {f"ssl.keystore.{each}": text for each, text in given.items()} | more


def trust(name: str, *, password: str | None = PASSWORD, kind: str = "JKS") -> dict[str, str]:
    given = {"location": str(STORES / name), "password": password, "type": kind}
    return {f"ssl.truststore.{each}": text for each, text in given.items() if text is not None}


def loaded(load_with: Load, given: dict[str, str], more: dict[str, str] | None = None) -> Loaded:
    client = {f"{OVERRIDE}{name}": text for name, text in given.items()}
    brokers = {f"{OVERRIDE}bootstrap.servers": "b:1"}
    return load_with({**brokers, **client, **(more or {})}, offline=False)


def is_of_the_key(certificate: str, key: str, folder: Path) -> bool:
    """Whether OpenSSL takes both for one identity, and librdkafka does as well."""
    (folder / "both.pem").write_text(key + certificate)
    ssl.create_default_context().load_cert_chain(folder / "both.pem")
    given = {"security.protocol": "ssl", "ssl.certificate.pem": certificate, "ssl.key.pem": key, "log_level": 0}
    Consumer({"group.id": "g", "bootstrap.servers": "127.0.0.1:1", **given}).close()
    return certificate.count("BEGIN CERTIFICATE") == 2  # its own and the CA's


@pytest.mark.parametrize(
    "store",
    [
        keys("client.jks", **{"ssl.key.password": "key-password"}),
        keys("client.p12", kind="PKCS12"),
        keys("client.p12", kind="JKS"),
        keys("two.p12", kind="pkcs12"),
    ],
    ids=["JKS", "PKCS12", "PKCS12 said to be a JKS", "two keys in one PKCS12"],
)
def test_a_key_store_becomes_certificate_and_key(load_with: Load, store: dict[str, str], tmp_path: Path) -> None:
    """A key and the certificates that issued its own come out as PEM, whatever the type says that it is."""
    client = loaded(load_with, store).settings.kafka.client
    assert {name for name in client if name.startswith("ssl.")} == {"ssl.certificate.pem", "ssl.key.pem"}
    assert is_of_the_key(client["ssl.certificate.pem"], client["ssl.key.pem"], tmp_path)


@pytest.mark.parametrize("store", [trust("trust.jks"), trust("trust.jks", password=None), trust("trust.p12")])
def test_a_trust_store_becomes_certificates(load_with: Load, store: dict[str, str]) -> None:
    """The CAs come out as keytool itself prints them; a JKS's without a password, as Java reads them."""
    assert loaded(load_with, store).settings.kafka.client["ssl.ca.pem"] == CA


def test_a_key_store_that_is_trusted_too(load_with: Load) -> None:
    """As Java does, the certificate of a key is trusted where its store is the trust store."""
    client = loaded(load_with, trust("client.jks")).settings.kafka.client
    assert client["ssl.ca.pem"].count("BEGIN") == 1
    assert client["ssl.ca.pem"] != CA


def test_stores_of_the_registry(load_with: Load) -> None:
    """The registry's stores are read as Kafka's are, by its own names."""
    given = {**trust("trust.p12"), **keys("client.jks", **{"ssl.key.password": "key-password"})}
    more = {f"{REGISTRY}{name}": text for name, text in given.items()}
    converter: ConverterSettings = loaded(load_with, {}, {**AVRO, **more}).settings.format.value
    assert converter.registry is not None
    client = converter.registry.client
    assert client.keys() == {"url", "ssl.ca.pem", "ssl.certificate.pem", "ssl.key.pem"}
    assert client["ssl.ca.pem"] == CA


WRONG = {
    "no such file": (trust("no.jks"), r"truststore.location: .*no.jks cannot be read: No such file or directory"),
    "a folder": (trust("."), "cannot be read: Is a directory"),
    "something else": (trust("make.sh"), "neither a JKS nor a PKCS12 store; for PEM set ssl.truststore.type=PEM"),
    "JCEKS": (keys("client.jceks"), "type JCEKS, which is not read here: convert it"),
    "wrong password": (trust("trust.jks", password="canary"), "opened with ssl.truststore.password: correct it"),
    "wrong password of PKCS12": (keys("client.p12", password="canary"), "with ssl.keystore.password: correct it"),
    "no password": (keys("client.jks", password=""), "with ssl.keystore.password, which is not set"),
    "wrong password of the key": (
        keys("client.jks", **{"ssl.key.password": "canary"}),
        "the private key client in .* cannot be opened with ssl.key.password: correct it",
    ),
    "no password of the key": (keys("client.jks"), "where it has another, set ssl.key.password"),
    "no key": (keys("trust.jks"), "holds no private key with a certificate"),
    "no key in PKCS12": (keys("trust.p12"), "holds no private key with a certificate"),
    "two keys": (keys("two.jks"), r"holds 2 private keys \(client, second\): leave one in it"),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("whose", ["Kafka's", "the registry's"])
def test_a_store_that_cannot_be_used(load_with: Load, name: str, whose: str) -> None:
    """Each is one problem of the property that names the store, with what to do, without a password."""
    given, said = WRONG[name]
    more = {f"{REGISTRY}{each}": text for each, text in given.items()}
    with pytest.raises(ConfigurationError) as caught:
        loaded(load_with, *(({}, {**AVRO, **more}) if whose == "the registry's" else (given,)))
    (problem,) = caught.value.problems
    assert problem.name.endswith("store.location")
    assert re.search(said, str(caught.value))
    assert "canary" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("name", ["client.jks", "trust.jks", "client.p12"])
def test_a_damaged_store_is_one_sentence(load_with: Load, tmp_path: Path, name: str) -> None:
    """Cut off anywhere, a store is refused in a sentence; nothing else is raised."""
    whole = (STORES / name).read_bytes()
    for length in (4, 5, 12, 30, len(whole) // 2, len(whole) - 1):
        (tmp_path / "cut").write_bytes(whole[:length])
        for side in ("key", "trust"):
            given = {f"ssl.{side}store.location": str(tmp_path / "cut")}
            with pytest.raises(ConfigurationError, match=r"cut (cannot|is)"):
                loaded(load_with, given)


def test_nothing_of_a_store_is_shown(load_with: Load) -> None:
    """Reports, plans and reprs hold the place of a store, and neither its passwords nor its key."""
    given = keys("client.jks", **{"ssl.key.password": "key-password"}) | trust("trust.jks")
    found = loaded(load_with, given)
    key = found.settings.kafka.client["ssl.key.pem"].splitlines()[1]
    texts = "".join([repr(found), str(found.settings), str(found.settings.resolved), str(found.report)])
    for secret in (key, PASSWORD, "key-password"):
        assert secret not in texts
    (row,) = [row for row in found.report if row.name == f"{OVERRIDE}ssl.keystore.location"]
    assert row.value == str(STORES / "client.jks")


def test_offline_no_store_is_opened(load_with: Load) -> None:
    """A configuration is right on a machine that lacks the stores: who runs it has them."""
    given = {f"{OVERRIDE}{name}": text for name, text in trust("no.jks").items()}
    assert "ssl.ca.pem" not in load_with(given).settings.kafka.client


def test_a_key_that_is_damaged_is_one_sentence(load_with: Load, tmp_path: Path) -> None:
    """A store whose hash is right and whose key says of itself that it is longer than it is."""
    whole = (STORES / "client.jks").read_bytes()
    at = whole.index(b"\x30\x7d\x30\x0e")  # the key: a sequence, and how long it is
    broken = bytearray(whole[:-20])
    broken[at + 1] = 0xFF
    digest = hashlib.sha1(PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + broken, usedforsecurity=False).digest()
    (tmp_path / "broken.jks").write_bytes(bytes(broken) + digest)
    given = {"ssl.keystore.location": str(tmp_path / "broken.jks"), "ssl.keystore.password": PASSWORD}
    with pytest.raises(ConfigurationError, match=r"broken\.jks is a JKS store that is damaged"):
        loaded(load_with, given)


JAAS = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"


@pytest.mark.parametrize("name", ["ssl.truststore.location", "registry", "sasl.jaas.config"])
def test_what_a_variable_stood_for_is_not_said(load_with: Load, name: str) -> None:
    """The place of a store may be a secret: a message has the property and the variable."""
    given = {f"{OVERRIDE}ssl.truststore.location": "/no/${env:PLACE}"}
    if name == "registry":
        given = {**AVRO, f"{REGISTRY}ssl.truststore.location": "/no/${env:PLACE}"}
    elif name == "sasl.jaas.config":
        login = {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.login.callback.handler.class": f"{JAAS.rpartition('.')[0]}.OAuthBearerLoginCallbackHandler",
            "sasl.oauthbearer.token.endpoint.url": "https://t",
            name: f'{JAAS} clientId="a" clientSecret="b" ssl.truststore.location="/no/${{env:PLACE}}";',
        }
        given = {f"{OVERRIDE}{each}": text for each, text in login.items()}
    with pytest.raises(ConfigurationError) as caught:
        load_with(
            {f"{OVERRIDE}bootstrap.servers": "b:1", **given}, lookups=Lookups(env={"PLACE": "canary"}), offline=False
        )
    (problem,) = caught.value.problems
    shown = "the trust store in it" if name == "sasl.jaas.config" else "the file of ${env:PLACE}"
    assert problem.message == f"{shown} cannot be read: No such file or directory"
    assert problem.name in given
    assert "canary" not in "".join(traceback.format_exception(caught.value))


def test_a_name_of_half_a_character(load_with: Load, tmp_path: Path) -> None:
    """JSON can write one; no file has such a name, with a list of folders and without."""
    for reach in (Reach(), Reach(file_roots=(str(tmp_path),))):
        with pytest.raises(ConfigurationError, match=r"half a character|not looked up here"):
            load_with(
                {f"{OVERRIDE}bootstrap.servers": "b:1", f"{OVERRIDE}ssl.truststore.location": "/a\ud800"},
                lookups=Lookups(reach=reach),
                offline=False,
            )
