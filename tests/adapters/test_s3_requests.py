"""Every S3 property of a configuration file, seen in the requests that are sent."""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import ssl
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from kafka_s3.adapters.s3 import S3Store
from kafka_s3.errors import StoreRefused, StoreUnavailable
from kafka_s3.ports import Put
from kafka_s3.settings import from_mapping
from tests.adapters.loopback import ScriptedServer, answer, as_s3_does, refusal
from tests.support import MINIMAL
from tools.parts.s3 import VersityGateway

BASE = {
    **MINIMAL,
    "s3.region": "eu-central-1",
    "aws.access.key.id": "AKIAEXAMPLE",
    "aws.secret.access.key": "secret",
    "s3.retry.backoff.ms": "0",
    "s3.part.retries": "0",
}
KEY = base64.b64encode(bytes(range(32))).decode()

MakeStore = Callable[..., S3Store]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    scripted = ScriptedServer(as_s3_does)
    yield scripted
    scripted.stop()


@pytest.fixture
def store_with(server: ScriptedServer) -> MakeStore:
    """A store as a configuration file says, at the server unless it says another place."""

    def make(more: dict[str, str] | None = None, **options: object) -> S3Store:
        whole = {**BASE, "store.url": server.url, **(more or {})}
        given = {name: text for name, text in whole.items() if text}
        return S3Store(from_mapping(given, offline=True, **options).settings.s3)  # type: ignore[arg-type]

    return make


def write_in_parts(store: S3Store) -> None:
    upload = store.start_multipart("k")
    upload.put_part(b"one")
    upload.put_part(b"two")
    assert upload.complete_if_absent() is Put.CREATED


def fails(store: S3Store) -> None:
    with pytest.raises(StoreUnavailable):
        store.put_if_absent("k", b"body")


# Where requests go.


def test_region(server: ScriptedServer, store_with: MakeStore) -> None:
    """`s3.region` is what requests are signed for, with the configured keys."""
    store_with().put_if_absent("k", b"body")
    authorization = server.seen[0].headers["authorization"]
    assert authorization.startswith("AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE/")
    assert "/eu-central-1/s3/aws4_request" in authorization


def test_session_token_of_the_airflow_connection(server: ScriptedServer, store_with: MakeStore) -> None:
    """Temporary keys of a connection go with their token."""
    aws = {"aws_access_key_id": "ASIAEXAMPLE", "aws_secret_access_key": "s", "aws_session_token": "token"}
    keyless = {"aws.access.key.id": "", "aws.secret.access.key": ""}
    store_with(keyless, aws_connection=aws).put_if_absent("k", b"body")
    assert server.seen[0].headers["x-amz-security-token"] == "token"
    assert "Credential=ASIAEXAMPLE/" in server.seen[0].headers["authorization"]


@pytest.mark.parametrize(
    ("path_style", "url"), [("true", "http://store.invalid/archive/k"), ("false", "http://archive.store.invalid/k")]
)
def test_path_style_at_another_store(server: ScriptedServer, store_with: MakeStore, path_style: str, url: str) -> None:
    """`s3.path.style.access.enabled`: the bucket in the path, or in the host's name, of `store.url`."""
    more = {"store.url": "http://store.invalid", "s3.proxy.url": server.url}
    store_with({**more, "s3.path.style.access.enabled": path_style}).put_if_absent("k", b"body")
    assert server.seen[0].path == url


@pytest.mark.parametrize(
    ("more", "host"),
    [
        ({}, "s3.eu-central-1.amazonaws.com:443"),
        ({"s3.path.style.access.enabled": "false"}, "archive.s3.eu-central-1.amazonaws.com:443"),
        (
            {"s3.path.style.access.enabled": "false", "s3.wan.mode": "true"},
            "archive.s3-accelerate.amazonaws.com:443",
        ),
        ({"store.url": "store.invalid:9443"}, "store.invalid:9443"),
    ],
)
def test_hosts(server: ScriptedServer, store_with: MakeStore, more: dict[str, str], host: str) -> None:
    """Amazon's endpoint of the region, the bucket's own, the accelerate one; a `store.url` without scheme is https."""
    server.answers = [answer(403)]
    fails(store_with({"store.url": "", "s3.proxy.url": server.url, **more}))
    assert [(seen.method, seen.path) for seen in server.seen] == [("CONNECT", host)]


@pytest.mark.parametrize("store_url", ["http://store.invalid", ""])
@pytest.mark.parametrize("written", ["in the url", "beside it", "beside it, before the url's"])
def test_proxy_with_credentials(server: ScriptedServer, store_with: MakeStore, store_url: str, written: str) -> None:
    """User and password reach the proxy, not the store, over plain HTTP and with CONNECT."""
    plain = server.url.removeprefix("http://")
    more = {
        "in the url": {"s3.proxy.url": f"http://u%40x:p%3Aw@{plain}"},
        "beside it": {"s3.proxy.url": server.url, "s3.proxy.user": "u@x", "s3.proxy.password": "p:w"},
        "beside it, before the url's": {
            "s3.proxy.url": f"http://a:b@{plain}",
            "s3.proxy.user": "u@x",
            "s3.proxy.password": "p:w",
        },
    }[written]
    if not store_url:
        server.answers = [answer(403)]
        fails(store_with({"store.url": "", **more}))
    else:
        store_with({"store.url": store_url, **more}).put_if_absent("k", b"body")
    expected = "Basic " + base64.b64encode(b"u@x:p:w").decode()
    assert [seen.headers["proxy-authorization"] for seen in server.seen] == [expected]


@pytest.mark.parametrize("retries", [0, 2])
def test_retries(server: ScriptedServer, store_with: MakeStore, retries: int) -> None:
    """`s3.part.retries` are tries after the first."""
    server.answers = [refusal(503, "SlowDown")] * (retries + 1)
    fails(store_with({"s3.part.retries": str(retries)}))
    assert len(server.seen) == 1 + retries


# What is said of an object.


@pytest.mark.parametrize("acl", ["private", "public-read", "bucket-owner-full-control", ""])
def test_acl(server: ScriptedServer, store_with: MakeStore, acl: str) -> None:
    """`s3.acl.canned` goes with what creates an object, and with nothing else."""
    store = store_with({"s3.acl.canned": acl})
    store.put_if_absent("k", b"body")
    write_in_parts(store)
    assert [seen.headers.get("x-amz-acl") for seen in server.seen] == [acl or None, acl or None, None, None, None]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, (None, None)),
        ({"s3.ssea.name": "AES256"}, ("AES256", None)),
        ({"s3.ssea.name": "aws:kms", "s3.sse.kms.key.id": "a-key"}, ("aws:kms", "a-key")),
        ({"s3.ssea.name": "aws:kms:dsse", "s3.sse.kms.key.id": "a-key"}, ("aws:kms:dsse", "a-key")),
    ],
)
def test_encryption(
    server: ScriptedServer, store_with: MakeStore, more: dict[str, str], said: tuple[str | None, str | None]
) -> None:
    """`s3.ssea.name` and `s3.sse.kms.key.id` go with what creates an object."""
    store = store_with(more)
    store.put_if_absent("k", b"body")
    write_in_parts(store)
    name = "x-amz-server-side-encryption"
    sent = [(seen.headers.get(name), seen.headers.get(f"{name}-aws-kms-key-id")) for seen in server.seen]
    assert sent == [said, said, (None, None), (None, None), (None, None)]


def test_customers_key(server: ScriptedServer, store_with: MakeStore) -> None:
    """`s3.sse.customer.key` goes with every request that S3 wants it in, as it was given, with its MD5."""
    store = store_with({"s3.ssea.name": "AES256", "s3.sse.customer.key": KEY})
    store.put_if_absent("k", b"body")
    write_in_parts(store)
    store.head("k")
    store.get("k")
    name = "x-amz-server-side-encryption-customer"
    md5 = base64.b64encode(hashlib.md5(bytes(range(32))).digest()).decode()
    assert len(server.seen) == 7
    for seen in server.seen:
        sent = tuple(seen.headers.get(f"{name}-{part}") for part in ("algorithm", "key", "key-md5"))
        assert sent == ("AES256", KEY, md5), seen
        assert "x-amz-server-side-encryption" not in seen.headers


def test_digest(server: ScriptedServer, store_with: MakeStore) -> None:
    """`s3.send.digest` sends the MD5 of every body, of parts too; unset, none."""
    for more in ({"s3.send.digest": "true"}, {}):
        store = store_with(more)
        store.put_if_absent("k", b"body")
        write_in_parts(store)
    bodies = (b"body", b"one", b"two")
    md5s = [base64.b64encode(hashlib.md5(body).digest()).decode() for body in bodies]
    sent = [seen.headers.get("content-md5") for seen in server.seen if seen.body in bodies]
    assert sent == [*md5s, None, None, None]


def test_tags(server: ScriptedServer, store_with: MakeStore) -> None:
    """Tags go with a PUT in one header, escaped, and alone as a document; unset, there is neither."""
    tags = {"startOffset": "42", "team": "a & b", "größe": "x=1"}
    store = store_with()
    store.put_if_absent("k", b"body", tags=tags)
    store.put_tags("k", tags)
    store.put_if_absent("k", b"body")
    first, second, third = server.seen
    assert dict(parse_qsl(first.headers["x-amz-tagging"])) == tags
    assert "%26%20" in first.headers["x-amz-tagging"]
    assert (second.method, second.path) == ("PUT", "/archive/k?tagging")
    assert "<Tag><Key>team</Key><Value>a &amp; b</Value></Tag>" in second.body.decode()
    assert "x-amz-tagging" not in third.headers


def test_what_a_refused_put_would_have_needed(server: ScriptedServer, store_with: MakeStore) -> None:
    """A refusal names every permission that the configuration asks for."""
    more = {"s3.object.tagging": "true", "s3.acl.canned": "private"}
    more |= {"s3.ssea.name": "aws:kms", "s3.sse.kms.key.id": "a-key"}
    server.answers = [refusal(403, "AccessDenied")]
    need = "s3:PutObject, s3:PutObjectAcl, s3:PutObjectTagging, kms:GenerateDataKey"
    with pytest.raises(StoreRefused, match=f"allow them {need}"):
        store_with(more).put_if_absent("k", b"body", tags={"a": "b"})


# The signature.


@pytest.mark.parametrize("known", [hashlib.sha256(b"other").hexdigest(), "0", None])
def test_the_body_is_hashed_once(server: ScriptedServer, store_with: MakeStore, known: str | None) -> None:
    """A whole hash in the metadata is what is signed, without a look at the body; otherwise the body's own is."""
    store_with().put_if_absent("k", b"body", metadata={"sha256": known} if known else None)
    expected = known if known and len(known) == 64 else hashlib.sha256(b"body").hexdigest()
    assert server.seen[0].headers["x-amz-content-sha256"] == expected


def test_a_store_that_checks_the_hash(versitygw: VersityGateway, bucket_name: str, store_with: MakeStore) -> None:
    """A right hash signs the request, with and without retries of it; a wrong one is refused by the store."""
    versitygw.create_bucket(bucket_name)
    more = {"store.url": versitygw.endpoint_url, "s3.bucket.name": bucket_name, "s3.region": versitygw.region}
    more |= {"aws.access.key.id": versitygw.access_key, "aws.secret.access.key": versitygw.secret_key}
    store = store_with({**more, "s3.send.digest": "true"})
    right, wrong = (hashlib.sha256(body).hexdigest() for body in (b"body", b"other"))
    assert store.put_if_absent("k", b"body", metadata={"sha256": right}) is Put.CREATED
    assert store.get("k") == b"body"
    with pytest.raises(StoreUnavailable, match="XAmzContentSHA256Mismatch"):
        store.put_if_absent("other", b"body", metadata={"sha256": wrong})
    assert store.head("other") is None


# TLS.

_USES = (
    *("digital_signature", "content_commitment", "key_encipherment"),
    *("data_encipherment", "key_cert_sign", "crl_sign"),
)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A private CA (ca.pem) and a certificate of 127.0.0.1 that it signed (server.pem, server.key)."""
    folder = tmp_path_factory.mktemp("certificates")
    ca_key, server_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    ca_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Private CA")])
    server_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "store")])
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    now = datetime.now(UTC)

    def builder(name: x509.Name, key: ec.EllipticCurvePrivateKey, *, is_ca: bool) -> x509.CertificateBuilder:
        begun = x509.CertificateBuilder(issuer_name=ca_name, subject_name=name, public_key=key.public_key())
        dated = begun.not_valid_before(now - timedelta(hours=1)).not_valid_after(now + timedelta(days=2))
        numbered = dated.serial_number(x509.random_serial_number())
        subject = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key())
        named = numbered.add_extension(subject, critical=False).add_extension(issuer, critical=False)
        uses = dict.fromkeys((*_USES, "key_agreement", "encipher_only", "decipher_only"), False)
        uses |= {"key_cert_sign": True, "crl_sign": True} if is_ca else {"digital_signature": True}
        usable = named.add_extension(x509.KeyUsage(**uses), critical=True)
        return usable.add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)

    ca = builder(ca_name, ca_key, is_ca=True).sign(ca_key, hashes.SHA256())
    server = builder(server_name, server_key, is_ca=False).add_extension(address, critical=False)
    (folder / "ca.pem").write_bytes(ca.public_bytes(serialization.Encoding.PEM))
    signed = server.sign(ca_key, hashes.SHA256())
    (folder / "server.pem").write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    key = server_key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    (folder / "server.key").write_bytes(key)
    return folder


@pytest.fixture
def tls_server(certificates: Path) -> Iterator[ScriptedServer]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "server.pem", certificates / "server.key")
    scripted = ScriptedServer(as_s3_does, tls=context)
    yield scripted
    scripted.stop()


def test_a_private_ca(
    tls_server: ScriptedServer, certificates: Path, store_with: MakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store behind a private CA is refused until AWS_CA_BUNDLE names it, and the message says so."""
    with pytest.raises(StoreRefused, match="name its CA's file in AWS_CA_BUNDLE"):
        store_with({"store.url": tls_server.url}).put_if_absent("k", b"body")
    assert tls_server.seen == []
    monkeypatch.setenv("AWS_CA_BUNDLE", str(certificates / "ca.pem"))
    assert store_with({"store.url": tls_server.url}).put_if_absent("k", b"body") is Put.CREATED
    (seen,) = tls_server.seen
    assert (seen.path, seen.body) == ("/archive/k", b"body")
    assert seen.headers["x-amz-content-sha256"] == "UNSIGNED-PAYLOAD"


def test_an_empty_page_is_not_the_end(server: ScriptedServer, store_with: MakeStore) -> None:
    """A store may answer with a page that holds nothing and is not the last: what it is asked for still comes."""
    item = b"<Contents><Key>log/1</Key><Size>2</Size></Contents>"
    empty = b"<R><IsTruncated>true</IsTruncated><NextContinuationToken>%d</NextContinuationToken></R>"
    server.answers = [
        answer(200, empty % 1),
        answer(200, empty % 2),
        answer(200, b"<R>" + item + b"<IsTruncated>true</IsTruncated>"
               b"<NextContinuationToken>3</NextContinuationToken></R>"),
    ]  # fmt: skip
    assert [info.key for info in store_with().list("log/", limit=1)] == ["log/1"]
    asked = [dict(parse_qsl(seen.path.partition("?")[2])) for seen in server.seen]
    assert [each.get("continuation-token") for each in asked] == [None, "1", "2"]
    assert [each["max-keys"] for each in asked] == ["1", "1", "1"]
