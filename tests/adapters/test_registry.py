"""How the registry is reached: credentials, TLS, time-outs and retries."""

from __future__ import annotations

import base64
import pickle
import ssl
import threading
import traceback
from pathlib import Path

import pytest
from confluent_kafka.schema_registry import Schema

from kafka_s3.adapters.registry import ConfluentRegistry
from kafka_s3.adapters.retry_policy import REGISTRY, Again
from kafka_s3.errors import RegistryRefused, RegistryUnavailable
from kafka_s3.ports import RegisteredSchema
from kafka_s3.settings.registry import RegistrySettings
from tests.adapters import test_s3_requests
from tests.adapters.loopback import Seen, answer
from tests.adapters.registry_side import STRING, forwarding, registry_at, scripted
from tools.parts.process import ReservedPort
from tools.parts.registry import SchemaRegistry

certificates = test_s3_requests.certificates  # a private CA, and what it signed for 127.0.0.1

USER, PASSWORD, TOKEN = "exporter", "p@ss:word/%41", "a-secret-token"


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def shown(error: BaseException) -> str:
    """All that anybody could get to see of an error."""
    return "".join(traceback.format_exception(error)) + repr(error) + pickle.dumps(error).decode("latin-1")


@pytest.fixture
def subject(registry_server: SchemaRegistry, topic_name: str) -> str:
    """A subject of the real registry with two versions."""
    client = registry_server.client()
    for text in ('"int"', '"long"'):
        client.register_schema(topic_name, Schema(text))
    return topic_name


# Who asks.


def test_basic_authentication(registry_server: SchemaRegistry, subject: str) -> None:
    """User and password open the registry."""
    with scripted(otherwise=forwarding(registry_server, authorization=basic(USER, PASSWORD))) as proxy:
        registry = registry_at(proxy.url, basic_auth_user_info=f"{USER}:{PASSWORD}")
        assert len(registry.versions(subject)) == 2


@pytest.mark.parametrize("password", ["not-it-7", PASSWORD + "x", "a"])
def test_wrong_password(registry_server: SchemaRegistry, password: str) -> None:
    """A wrong password is refused at once, with a hint and without the password, even if the server repeats it."""
    with scripted(otherwise=forwarding(registry_server, authorization=basic(USER, PASSWORD))) as proxy:
        registry = registry_at(proxy.url, retry_timeout_ms=60_000, basic_auth_user_info=f"{USER}:{password}")
        with pytest.raises(RegistryRefused, match=r"(?s)answered 401 .* schema 7.*basic\.auth\.user\.info") as refused:
            registry.schema(7)
    assert len(proxy.seen) == 1
    assert base64.b64encode(f"{USER}:{password}".encode()).decode() not in shown(refused.value)
    assert len(password) == 1 or password not in shown(refused.value)


def test_password_in_the_url(registry_server: SchemaRegistry, subject: str) -> None:
    """User and password may stand in the URL, and no message repeats them."""
    with scripted(otherwise=forwarding(registry_server, authorization=basic(USER, "p@ss"))) as proxy:
        registry = registry_at(proxy.url.replace("//", "//exporter:p%40ss@"))
        assert len(registry.versions(subject)) == 2
        wrong = registry_at(proxy.url.replace("//", "//exporter:wr%40ng@"))
        with pytest.raises(RegistryRefused, match="at http://127") as refused:
            wrong.versions(subject)
    assert not {"wr%40ng", "wr@ng"} & set(shown(refused.value).replace("'", " ").split())
    assert "ng@" not in shown(refused.value)


def test_token() -> None:
    """A token of one's own goes with every request, without Confluent Cloud's header."""
    with scripted(STRING) as server:
        source = {"bearer_auth_credentials_source": "STATIC_TOKEN", "bearer_auth_token": TOKEN}
        registry = registry_at(server.url, **source)
        assert registry.schema(7) == RegisteredSchema(7, '"string"')
    headers = server.seen[0].headers
    assert headers["authorization"] == f"Bearer {TOKEN}"
    assert "target-sr-cluster" not in headers


def test_token_for_confluent_cloud() -> None:
    """Confluent Cloud's cluster goes with the token where it is configured."""
    with scripted(STRING) as server:
        source = {"bearer_auth_credentials_source": "STATIC_TOKEN", "bearer_auth_token": TOKEN}
        registry_at(server.url, bearer_auth_logical_cluster="lsrc-1", **source).schema(7)
    assert server.seen[0].headers["target-sr-cluster"] == "lsrc-1"


def test_token_that_cannot_be_sent() -> None:
    """A token with a line break is refused before it is sent, and is not shown."""
    with scripted() as server:
        source = {"bearer_auth_credentials_source": "STATIC_TOKEN", "bearer_auth_token": f"{TOKEN}\n"}
        with pytest.raises(RegistryRefused, match="line break") as refused:
            registry_at(server.url, **source).schema(7)
    assert TOKEN not in shown(refused.value)
    assert server.seen == []


@pytest.fixture
def tls(certificates: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "server.pem", certificates / "server.key")
    return context


def test_private_ca(registry_server: SchemaRegistry, subject: str, certificates: Path, tls: ssl.SSLContext) -> None:
    """A registry behind a private CA is refused until that is trusted, and the message says so."""
    with scripted(otherwise=forwarding(registry_server), tls=tls) as proxy:
        with pytest.raises(RegistryRefused, match="Trust its CA"):
            registry_at(proxy.url, retry_timeout_ms=60_000).versions(subject)
        assert proxy.seen == []
        trusting = registry_at(proxy.url, ssl_ca_location=str(certificates / "ca.pem"))
        assert len(trusting.versions(subject)) == 2
        with_text = registry_at(proxy.url, ssl_ca_pem=(certificates / "ca.pem").read_text())
        assert len(with_text.versions(subject)) == 2


def test_client_certificate(certificates: Path, tls: ssl.SSLContext) -> None:
    """A registry that wants to know who asks gets the certificate; without one it refuses, and the message says so."""
    tls.verify_mode = ssl.CERT_REQUIRED
    tls.load_verify_locations(certificates / "ca.pem")
    trust = {"ssl_ca_location": str(certificates / "ca.pem")}
    own = {
        "ssl_certificate_location": str(certificates / "server.pem"),
        "ssl_key_location": str(certificates / "server.key"),
    }
    with scripted(STRING, tls=tls) as server:
        assert registry_at(server.url, **trust, **own).schema(7) is not None
        server.answers.append(STRING)
        written_out = {name.replace("location", "pem"): Path(place).read_text() for name, place in own.items()}
        assert registry_at(server.url, **trust, **written_out).schema(7) is not None
        with pytest.raises(RegistryRefused, match="give it one with"):
            registry_at(server.url, retry_timeout_ms=60_000, **trust).schema(7)


def test_https_where_http_is_spoken() -> None:
    """A wrong scheme is a wrong configuration, not an outage."""
    with scripted(otherwise=lambda seen: STRING) as server, pytest.raises(RegistryRefused, match="https or http"):
        registry_at(server.url.replace("http:", "https:"), retry_timeout_ms=60_000).schema(7)


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({"url": "registry:8081"}, "Invalid url registry:8081"),
        ({"url": f"registry://{USER}:{PASSWORD}@host"}, "Invalid url"),
        ({"url": ""}, "Invalid url"),
        ({"url": "mock://one"}, "UnsupportedProtocol"),
        ({"url": "http://["}, "schema.registry.url"),
        ({"url": "http://host:port"}, "schema.registry.url"),
        ({"basic.auth.user.info": PASSWORD.replace(":", "")}, "username"),
        ({"ssl.ca.location": "/no/such/file"}, "ssl.ca.location=/no/such/file"),
        ({"ssl.key.location": "/no/such/file"}, "ssl.certificate.location"),
        ({"no.such.property": "1"}, "no.such.property"),
        ({"timeout": "soon"}, "soon"),
    ],
)
def test_wrong_property(properties: dict[str, str], said: str) -> None:
    """What the client refuses is a wrong configuration, said at once, without the password."""
    settings = RegistrySettings({"url": "http://127.0.0.1:9", **properties}, 60_000)
    with pytest.raises(RegistryRefused) as refused:
        ConfluentRegistry(settings).schema(1)
    assert said in str(refused.value)
    assert PASSWORD not in shown(refused.value)
    assert PASSWORD.replace(":", "") not in shown(refused.value)


def test_wrong_password_of_a_key(certificates: Path) -> None:
    """A key that cannot be opened is a wrong configuration, and its password is not shown."""
    own = {name: str(certificates / "ca.pem") for name in ("ssl_certificate_location", "ssl_key_location")}
    with pytest.raises(RegistryRefused, match=r"ssl\.key\.location=") as refused:
        registry_at("https://127.0.0.1:9", ssl_key_password=PASSWORD, **own).schema(1)
    assert PASSWORD not in shown(refused.value)
    text = {"ssl_certificate_pem": (certificates / "ca.pem").read_text(), "ssl_key_pem": PASSWORD}
    with pytest.raises(RegistryRefused, match="cannot be asked as it is configured") as refused:
        registry_at("https://127.0.0.1:9", **text).schema(1)
    assert PASSWORD not in shown(refused.value)


# When it does not answer.


def test_registry_is_down() -> None:
    """Where nobody listens it is tried until the time is over, and then it is unavailable, with its address."""
    port = ReservedPort()
    with pytest.raises(RegistryUnavailable, match=rf"127\.0\.0\.1:{port.number} did not answer .*\d+ tries"):
        registry_at(f"http://127.0.0.1:{port.number}", retry_timeout_ms=400).schema(1)
    port.close()


def test_no_time_for_retries() -> None:
    """Without time for retries there is one try."""
    with scripted(None) as server, pytest.raises(RegistryUnavailable):
        registry_at(server.url).schema(1)
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    "status", [*(status for status, each in REGISTRY.items() if each is Again.YES), 500, 501, 502, 503, 504]
)
def test_busy_then_fine(status: int) -> None:
    """A registry that asks for time is asked again, as is one that hangs up."""
    busy = answer(status, b'{"error_code":50001,"message":"Error in the backend"}')
    with scripted(busy, None, answer(status, b"<html>Bad gateway</html>"), STRING) as server:
        assert registry_at(server.url, retry_timeout_ms=60_000).schema(7) == RegisteredSchema(7, '"string"')
    assert [seen.path for seen in server.seen] == ["/schemas/ids/7"] * 4


def test_busy_for_too_long() -> None:
    """What the registry says last is in the message, and the next request is a new one."""
    with scripted(answer(503, b'{"error_code":50302,"message":"No leader"}'), STRING) as server:
        registry = registry_at(server.url)
        with pytest.raises(RegistryUnavailable, match=r"answered 503 \(code 50302\) .* schema 7: No leader"):
            registry.schema(7)
        assert registry.schema(7) is not None


def test_silence() -> None:
    """A registry that accepts and says nothing is unavailable after the time-out."""
    over = threading.Event()

    def wait(seen: Seen) -> None:
        over.wait(60)

    with (
        scripted(otherwise=wait) as server,
        pytest.raises(RegistryUnavailable, match="ReadTimeout"),
    ):
        registry_at(server.url, timeout="0.2").schema(7)
    over.set()


@pytest.mark.parametrize("broken", [None, answer(503), answer(200, b"<html>")])
def test_the_next_url(broken: bytes | None) -> None:
    """Of several addresses the next one is asked where the first does not answer."""
    with scripted(broken) as first, scripted(STRING) as second:
        assert registry_at(f"{first.url}, {second.url}/").schema(7) == RegisteredSchema(7, '"string"')
    assert len(first.seen) == len(second.seen) == 1
