"""How the registry is reached: credentials, TLS, time-outs, retries, and answers that are none."""

from __future__ import annotations

import base64
import http.client
import json
import pickle
import ssl
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from confluent_kafka.schema_registry import Schema
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_s3.errors import ExporterError, RegistryRefused, RegistryUnavailable
from kafka_s3.ports import KnownSchemas, RegisteredSchema
from kafka_s3.registry import ConfluentRegistry, confluent
from kafka_s3.settings.content import RegistrySettings
from tests.adapters import test_s3_requests
from tests.adapters.loopback import ScriptedServer, Seen, answer
from tools.parts.process import ReservedPort
from tools.parts.registry import SchemaRegistry

certificates = test_s3_requests.certificates  # a private CA, and what it signed for 127.0.0.1

USER, PASSWORD, TOKEN = "exporter", "p@ss:word/%41", "a-secret-token"
STRING = answer(200, b'{"schema":"\\"string\\""}')
NO_SCHEMA = answer(404, b'{"error_code":40403,"message":"Schema not found"}')
NO_SUBJECT = answer(404, b'{"error_code":40401,"message":"Subject not found"}')


def registry_at(url: str, *, retry_timeout_ms: int = 0, **properties: str) -> ConfluentRegistry:
    """A registry with some of confluent-kafka's properties, `_` for `.`."""
    client = {"url": url, **{name.replace("_", "."): value for name, value in properties.items()}}
    return ConfluentRegistry(RegistrySettings(client, retry_timeout_ms))


@contextmanager
def scripted(
    *answers: bytes | None, otherwise: Callable[[Seen], bytes | None] | None = None, tls: ssl.SSLContext | None = None
) -> Iterator[ScriptedServer]:
    server = ScriptedServer(otherwise, tls=tls)
    server.answers.extend(answers)
    try:
        yield server
    finally:
        server.stop()


def forwarding(to: SchemaRegistry, *, authorization: str | None = None) -> Callable[[Seen], bytes]:
    """What a proxy in front of a real registry answers, which may ask for credentials."""
    place = urlsplit(to.url)

    def forward(seen: Seen) -> bytes:
        if authorization is not None and seen.headers.get("authorization") != authorization:
            said = f"not {seen.headers.get('authorization')}"  # the worst that a server could say
            return answer(401, json.dumps({"error_code": 401, "message": said}).encode())
        connection = http.client.HTTPConnection(place.netloc, timeout=30)
        try:
            connection.request(seen.method, place.path + seen.path, seen.body, {"Accept": seen.headers["accept"]})
            found = connection.getresponse()
            return answer(found.status, found.read())
        finally:
            connection.close()

    return forward


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


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
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


# When the answer is none.


@pytest.mark.parametrize(
    "page",
    [
        answer(200, b"<html>Welcome</html>"),
        answer(200, b""),
        answer(200, b"null"),
        answer(200, b"[]"),
        answer(200, b"{}"),
        answer(200, b'{"schema":7}'),
        answer(200, b'{"schema":"\\"int\\"","schemaType":[]}'),
        answer(200, b'{"schema":"\\"int\\"","references":[1]}'),
        answer(200, b'{"schema":"\\"int\\"","references":{"a":"b"}}'),
        answer(200, b'{"schema":"\\"int\\"","references":[{"name":"a","subject":1,"version":1}]}'),
        answer(200, b'{"schema":"\\"int\\"","references":[{"name":"a","subject":"a","version":"1"}]}'),
        answer(200, b"[" * 100_000),
        answer(200, b'{"a":' * 100_000),
        answer(200, b"\xff\xfe\x00"),
        answer(200, b"\x1f\x8b", **{"Content-Encoding": "gzip"}),
        answer(302, b"", Location="https://login.invalid/"),
        answer(301, b"", Location="http://["),
        answer(404, b"<html>Not found</html>"),
        answer(404, b'{"error_code":0,"message":"Could not find resource"}'),
        answer(404, b'{"error_code":[40403],"message":{}}'),
        answer(404, b"[]"),
        answer(400, b'{"error_code":"x"}'),
        answer(405, b""),
    ],
)
def test_a_page_that_is_no_registry(page: bytes) -> None:
    """Whatever else answers under that address is refused at once, and the message asks about the address."""
    with scripted(page) as server, pytest.raises(RegistryRefused, match=r"schema\.registry\.url"):
        registry_at(server.url, retry_timeout_ms=60_000).schema(7)
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    "noise",
    [
        b"garbage\r\n\r\n",
        b"\x00" * 100,
        b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}",
        b"HTTP/1.1 200 OK\r\nA: " + b"x" * 1_000_000,
        answer(200, b'{"schema":', length=100),
    ],
)
def test_noise(noise: bytes) -> None:
    """What is no HTTP, or ends too early, is no answer: it is asked again."""
    with scripted(noise, STRING) as server:
        assert registry_at(server.url, retry_timeout_ms=60_000).schema(7) is not None
    assert len(server.seen) == 2


def test_an_endless_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer is read up to a limit."""
    from kafka_s3.registry import requests

    monkeypatch.setattr(requests, "ANSWER_BYTES_MAX", 100_000)
    with (
        scripted(answer(200, b" " * 200_000 + b'{"schema":"x"}')) as server,
        pytest.raises(RegistryRefused, match="larger than 100000 bytes"),
    ):
        registry_at(server.url).schema(7)


def test_an_answer_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that comes too slowly is given up, though the server is never silent."""
    from kafka_s3.registry import requests

    monkeypatch.setattr(requests, "ANSWER_TIMEOUT_S", 0.0)
    with scripted(STRING) as server, pytest.raises(RegistryUnavailable, match="did not end"):
        registry_at(server.url).schema(7)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["AVRO", '"int"']),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["schema", "schemaType", "references", "id", "version", "subject", "metadata", "ruleSet", "error_code"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=40, deadline=None)
@given(status=st.sampled_from([200, 204, 302, 404, 422, 500]), body=JSON.map(json.dumps) | st.text())
def test_any_answer_is_an_answer_or_an_error_of_ours(any_answer: ScriptedServer, status: int, body: str) -> None:
    """Whatever comes back, a caller gets a schema, versions, nothing, or an `ExporterError`."""
    any_answer.answers[:] = [answer(status, body.encode())] * 10
    registry = registry_at(any_answer.url)
    schema, versions = outcome(lambda: registry.schema(7)), outcome(lambda: registry.versions("s"))
    assert schema is None or 0 < len(str(schema)) < 1000
    if isinstance(schema, RegisteredSchema):
        assert (schema.id, type(schema.text), type(schema.type)) == (7, str, str)
    if isinstance(versions, dict):
        assert all(type(each) is int for pair in versions.items() for each in pair)


def outcome(ask: Callable[[], object]) -> object:
    """What was answered, or the error of ours."""
    try:
        return ask()
    except ExporterError as error:
        return error


@pytest.fixture(scope="module")
def any_answer() -> Iterator[ScriptedServer]:
    with scripted(otherwise=lambda seen: answer(404)) as server:
        yield server


# References that lead nowhere.


def schema_with(id: int, *references: tuple[str, int]) -> bytes:
    named = [{"name": subject, "subject": subject, "version": version} for subject, version in references]
    return answer(200, json.dumps({"id": id, "schema": f'"{id}"', "references": named}).encode())


def test_a_cycle_of_references() -> None:
    """A schema that refers to itself by way of others is refused."""
    with (
        scripted(schema_with(1, ("a", 1)), schema_with(2, ("b", 1)), schema_with(3, ("a", 1))) as server,
        pytest.raises(RegistryRefused, match="schema 1 refers to itself by way of version 1 of the subject 'a'"),
    ):
        registry_at(server.url).schema(1)


@pytest.mark.parametrize("missing", [NO_SUBJECT, answer(404, b'{"error_code":40402,"message":"Version not found"}')])
def test_a_reference_that_is_not_there(missing: bytes) -> None:
    """What a schema refers to has to be there."""
    with (
        scripted(schema_with(1, ("a", 7)), missing) as server,
        pytest.raises(RegistryRefused, match="refers to version 7 of the subject 'a', which is not there"),
    ):
        registry_at(server.url).schema(1)


@pytest.mark.parametrize("deep", [True, False])
def test_references_without_end(monkeypatch: pytest.MonkeyPatch, deep: bool) -> None:
    """Neither a chain without end nor a crowd of references is followed for ever."""
    monkeypatch.setattr(confluent, "REFERENCES_MAX", 20)

    def more(seen: Seen) -> bytes:
        number = len(server.seen)
        wide = [(f"s{n}", 1) for n in range(1000)] if number == 1 else []
        return schema_with(number, *([(f"s{number}", 1)] if deep else wide))

    with (
        scripted(otherwise=more) as server,
        pytest.raises(RegistryRefused, match="refers to more than 20 schemas or deeper than 100"),
    ):
        registry_at(server.url).schema(1)
    assert len(server.seen) <= 102


def test_large_references(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a schema refers to has a limit in characters, too."""
    monkeypatch.setattr(confluent, "REFERENCES_CHARS_MAX", 5)
    with (
        scripted(schema_with(1, ("a", 1), ("b", 1)), schema_with(2), schema_with(3)) as server,
        pytest.raises(RegistryRefused, match="more than 5 characters"),
    ):
        registry_at(server.url).schema(1)


def test_a_long_name_in_a_message() -> None:
    """A name out of a schema may be long, and a message is not."""
    with scripted(schema_with(1, ("a" * 10_000, 1)), NO_SUBJECT) as server, pytest.raises(RegistryRefused) as refused:
        registry_at(server.url).schema(1)
    assert len(str(refused.value)) < 500


def test_too_many_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    """A subject with more versions than anybody has is refused before each of them costs a request."""
    monkeypatch.setattr(confluent, "VERSIONS_MAX", 2)
    with scripted(answer(200, b"[1,2,3]")) as server, pytest.raises(RegistryRefused, match="has 3 versions"):
        registry_at(server.url).versions("s")
    assert len(server.seen) == 1


# What is asked, and how often.


def test_asked_once(registry_server: SchemaRegistry, subject: str) -> None:
    """Every id and every subject is asked for once, unknown ones too; a subject's schemas come with its versions."""
    with scripted(otherwise=forwarding(registry_server)) as proxy:
        registry = registry_at(proxy.url)
        for _ in range(3):
            first, second = registry.versions(subject)
            assert registry.versions("no-such-subject") == {}
            assert registry.schema(2**31 - 1) is None
            assert registry.schema(first) == RegisteredSchema(first, '"int"')
            assert registry.schema(second) == RegisteredSchema(second, '"long"')
        assert [seen.path.partition("?")[0] for seen in proxy.seen] == [
            f"/subjects/{subject}/versions",
            f"/subjects/{subject}/versions/1",
            f"/subjects/{subject}/versions/2",
            "/subjects/no-such-subject/versions",
            f"/schemas/ids/{2**31 - 1}",
        ]


def test_asked_once_by_many_threads() -> None:
    """Threads that need the same at the same time share one request."""
    with scripted(otherwise=lambda seen: STRING if seen.path.startswith("/schemas") else NO_SUBJECT) as server:
        registry = registry_at(server.url)
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda n: (registry.schema(n % 5 + 1), registry.versions(f"s{n % 3}")), range(400)))
    assert {schema.id for schema, _ in found if schema} == {1, 2, 3, 4, 5}
    assert len(server.seen) == len({seen.path for seen in server.seen}) == 8


def test_a_shared_reference_is_asked_for_once() -> None:
    """Two schemas that refer to the same third one cost one request for it."""
    with scripted(schema_with(1, ("a", 1)), schema_with(9), schema_with(2, ("a", 1))) as server:
        registry = registry_at(server.url)
        assert [registry.schema(id) for id in (1, 2)] == [
            RegisteredSchema(1, '"1"', references=('"9"',)),
            RegisteredSchema(2, '"2"', references=('"9"',)),
        ]
    assert len(server.seen) == 3


def test_what_is_known_is_not_asked_for() -> None:
    """What a driver asked goes to its tasks, also through pickle, and they ask for the rest."""
    known = KnownSchemas({7: RegisteredSchema(7, '"int"')}, {"s": {7: 1}, "none": {}})
    with scripted(STRING) as server:
        asked = registry_at(server.url)
        registry = pickle.loads(pickle.dumps(ConfluentRegistry(asked._settings, known)))
        assert registry.schema(7) == known.schemas[7]
        assert (registry.versions("s"), registry.versions("none")) == ({7: 1}, {})
        assert server.seen == []
        assert registry.schema(8) == RegisteredSchema(8, '"string"')
        assert registry.known() == replace(known, schemas={**known.schemas, 8: RegisteredSchema(8, '"string"')})


def test_no_id_is_asked_for_that_cannot_be() -> None:
    """Bytes that are no Avro may look like any id: those that no registry gives cost no request."""
    with scripted() as server:
        assert [registry_at(server.url).schema(id) for id in (0, -1, -(2**31), 2**31)] == [None] * 4
    assert server.seen == []


def test_unknown_ids_take_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many ids are unknown, so many are remembered."""
    monkeypatch.setattr(confluent, "MISSING_MAX", 10)
    with scripted(otherwise=lambda seen: NO_SCHEMA) as server:
        registry = registry_at(server.url)
        assert [registry.schema(id) for id in range(1, 36)] == [None] * 35
        assert len(registry._missing) <= 10


def test_the_latest_of_two_versions_with_one_id() -> None:
    """A schema that was deleted and registered again has its last version."""
    versions = (answer(200, f'{{"id":5,"version":{n},"schema":"1"}}'.encode()) for n in (1, 3))
    with scripted(answer(200, b"[3,1]"), *versions) as server:
        assert registry_at(server.url).versions("s") == {5: 3}


def test_a_version_that_is_gone_meanwhile() -> None:
    """A version that was deleted for good between two requests is left out."""
    gone = answer(404, b'{"error_code":40402,"message":"Version not found"}')
    with scripted(answer(200, b"[1,2]"), gone, answer(200, b'{"id":5,"schema":"1"}')) as server:
        assert registry_at(server.url).versions("s") == {5: 2}


def test_the_client_is_loaded_by_the_first_request() -> None:
    """A task that was told all it needs does not load the client, which costs a fifth of a second."""
    code = (
        "from kafka_s3.registry import ConfluentRegistry; from kafka_s3.ports import *; import sys\n"
        "from kafka_s3.settings.content import RegistrySettings\n"
        "known = KnownSchemas({1: RegisteredSchema(1, 'x')})\n"
        "assert ConfluentRegistry(RegistrySettings({}), known).schema(1)\n"
        "assert 'confluent_kafka' not in sys.modules"
    )
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", code], check=True, cwd=root / "jobs", timeout=60)
