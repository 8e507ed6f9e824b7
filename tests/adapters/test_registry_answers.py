"""What the registry is asked, how often, and what its answers are taken for."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka.schema_registry import Schema
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_s3.adapters.registry import ConfluentRegistry, confluent
from kafka_s3.errors import ExporterError, RegistryRefused, RegistryUnavailable
from kafka_s3.ports import KnownSchemas, RegisteredSchema
from tests.adapters.loopback import ScriptedServer, Seen, answer
from tests.adapters.registry_side import NO_SUBJECT, STRING, forwarding, registry_at, scripted
from tools.parts.registry import SchemaRegistry

NO_SCHEMA = answer(404, b'{"error_code":40403,"message":"Schema not found"}')


@pytest.fixture
def subject(registry_server: SchemaRegistry, topic_name: str) -> str:
    """A subject of the real registry with two versions."""
    client = registry_server.client()
    for text in ('"int"', '"long"'):
        client.register_schema(topic_name, Schema(text))
    return topic_name


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
        answer(400, b'{"error_code":40403,"message":"Not found"}'),
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
    """What is not HTTP, or ends too early, is not an answer: it is asked again."""
    with scripted(noise, STRING) as server:
        assert registry_at(server.url, retry_timeout_ms=60_000).schema(7) is not None
    assert len(server.seen) == 2


def test_an_endless_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer is read up to a limit."""
    from kafka_s3.adapters.registry import requests

    monkeypatch.setattr(requests, "ANSWER_BYTES_MAX", 100_000)
    with (
        scripted(answer(200, b" " * 200_000 + b'{"schema":"x"}')) as server,
        pytest.raises(RegistryRefused, match="larger than 100000 bytes"),
    ):
        registry_at(server.url).schema(7)


def test_an_answer_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that comes too slowly is given up, though the server is never silent."""
    from kafka_s3.adapters.registry import requests

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


@settings(max_examples=20, deadline=None)
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
    """Bytes that are not Avro may look like any id: those that no registry gives cost no request."""
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


def test_schemas_take_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of very many large schemas, by whichever way they come, the newest are kept; an older one is asked for anew."""
    monkeypatch.setattr(confluent, "KEPT_MAX", 5_000)
    text = "x" * 1_000

    def large(seen: Seen) -> bytes:
        path = seen.path.partition("?")[0]
        if path.endswith("/versions"):
            return answer(200, json.dumps(list(range(1, 21))).encode())
        number = int(path.rpartition("/")[2])
        references = [{"name": "r", "subject": "r", "version": number}] if path.startswith("/schemas") else []
        found = {"id": number + 100, "schema": f'"{number}{text}"', "references": references}
        return answer(200, json.dumps(found).encode())

    with scripted(otherwise=large) as server:
        registry = registry_at(server.url)
        found = [registry.schema(id) for id in range(1, 21)]
        assert len(registry.versions("s")) == 20
        kept = registry.known().schemas
        assert list(kept) == [19, 20]
        for cache in (registry._answers, registry._references):
            assert sum(len(each.text) for each in cache.all().values()) <= 5_000
        asked = len(server.seen)
        assert registry.schema(20) == found[19]
        assert len(server.seen) == asked
        assert registry.schema(1) == found[0]
        assert len(server.seen) == asked + 2  # and what it refers to


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
        "from kafka_s3.adapters.registry import ConfluentRegistry; from kafka_s3.ports import *; import sys\n"
        "from kafka_s3.settings.registry import RegistrySettings\n"
        "known = KnownSchemas({1: RegisteredSchema(1, 'x')})\n"
        "assert ConfluentRegistry(RegistrySettings({}), known).schema(1)\n"
        "assert 'confluent_kafka' not in sys.modules"
    )
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", code], check=True, cwd=root / "jobs", timeout=60)
