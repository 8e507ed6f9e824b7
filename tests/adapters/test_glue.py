"""AWS Glue's schema registry: moto's, and what stands in its place."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import boto3
import pytest

from kafka_s3.adapters.known_schemas import known_schemas
from kafka_s3.adapters.s3 import glue
from kafka_s3.adapters.s3.glue import GlueRegistry
from kafka_s3.errors import RegistryRefused, RegistryUnavailable
from kafka_s3.settings.glue import GlueSettings
from kafka_s3.wiring import make_registries
from tests.adapters.loopback import Seen, answer
from tests.adapters.registry_side import scripted
from tests.write.members import settings_with
from tools.parts.s3 import MotoServer

CONVERTER = "com.amazonaws.services.schemaregistry.kafkaconnect.AWSKafkaAvroConverter"
SECRET = "a-secret-access-key"
KEYS = {"aws.access.key.id": "AKIAEXAMPLE", "aws.secret.access.key": SECRET}
ID = str(UUID(int=7))
ORDER = '{"type":"record","name":"Order","fields":[{"name":"id","type":"int"}]}'
WIDER = ORDER.replace("}]", '},{"name":"note","type":"string","default":""}]')


def registry_at(url: str, **more: str) -> GlueRegistry:
    """The registry of the values of a connector whose Glue is at a URL."""
    options = {f"value.converter.{name.replace('_', '.')}": text for name, text in more.items()}
    settings = settings_with(KEYS, {"value.converter": CONVERTER, "value.converter.endpoint": url, **options})
    made = make_registries(settings).values
    assert isinstance(made, GlueRegistry)
    return made


def answered(**body: Any) -> bytes:
    return answer(200, json.dumps(body).encode())


def failed(status: int, code: str, message: str = "Because.") -> bytes:
    return answer(status, json.dumps({"__type": code, "Message": message}).encode())


AVAILABLE = answered(SchemaVersionId=ID, SchemaDefinition=ORDER, DataFormat="AVRO", VersionNumber=3, Status="AVAILABLE")


@pytest.fixture
def client(moto: MotoServer) -> Any:
    region, keys = "us-west-2", {"aws_access_key_id": "AKIAEXAMPLE", "aws_secret_access_key": SECRET}
    return boto3.client("glue", region_name=region, endpoint_url=moto.endpoint_url, **keys)


@pytest.fixture
def no_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(glue, "RETRY_TIMEOUT_S", 0.0)


def two_versions(client: Any, registry: str, schema: str) -> list[str]:
    client.create_registry(RegistryName=registry)
    which = {"RegistryName": registry}
    first = client.create_schema(
        RegistryId=which, SchemaName=schema, DataFormat="AVRO", Compatibility="NONE", SchemaDefinition=ORDER
    )
    second = client.register_schema_version(SchemaId={**which, "SchemaName": schema}, SchemaDefinition=WIDER)
    return [first["SchemaVersionId"], second["SchemaVersionId"]]


def test_versions_by_their_ids_at_moto(moto: MotoServer, client: Any, topic_name: str) -> None:
    """The definition, its format and number; an id that Glue does not know, or no more, is not a schema."""
    one, two = two_versions(client, f"r-{topic_name}", topic_name)
    registry = registry_at(moto.endpoint_url, registry_name=f"r-{topic_name}")
    found = [registry.schema(each) for each in (one, two)]
    assert [each and (each.id, each.text, each.type, each.version) for each in found] == [
        (one, ORDER, "AVRO", 1),
        (two, WIDER, "AVRO", 2),
    ]
    assert registry.schema(str(uuid4())) is None
    client.delete_schema(SchemaId={"RegistryName": f"r-{topic_name}", "SchemaName": topic_name})
    assert registry_at(moto.endpoint_url).schema(one) is None
    assert registry.schema(one) == found[0]  # asked for once


def versions_of(schema: str, registry: str) -> Callable[[Seen], bytes]:
    """A Glue with two versions of one schema, listed on two pages (moto lists none)."""
    ids = [str(UUID(int=1)), str(UUID(int=2))]

    def glue(seen: Seen) -> bytes:
        asked = json.loads(seen.body)
        if seen.headers["x-amz-target"] == "AWSGlue.GetSchemaVersion":
            number = ids.index(asked["SchemaVersionId"]) + 1
            return answered(SchemaDefinition=ORDER, DataFormat="AVRO", VersionNumber=number, Status="AVAILABLE")
        if asked["SchemaId"] != {"RegistryName": registry, "SchemaName": schema}:
            return failed(400, "EntityNotFoundException")
        place = int(asked.get("NextToken", 0))
        page = {"Schemas": [{"SchemaVersionId": ids[place], "VersionNumber": place + 1, "Status": "AVAILABLE"}]}
        return answered(**page, **({} if place else {"NextToken": "1"}))

    return glue


@pytest.mark.parametrize(
    ("options", "topic"),
    [({}, "orders"), ({"schemaName": "orders"}, "another"), ({"registry.name": "shop"}, "orders")],
    ids=["the topic's name", "schemaName", "registry.name"],
)
def test_the_driver_asks_for_a_topics_versions(options: dict[str, str], topic: str) -> None:
    """Of the schema that is called as the topic is, or by schemaName; tasks get the answers and ask nothing."""
    given = {f"value.converter.{name}": text for name, text in options.items()}
    with scripted(otherwise=versions_of("orders", options.get("registry.name", "default-registry"))) as server:
        converter = {"value.converter": CONVERTER, "value.converter.endpoint": server.url}
        settings = settings_with(KEYS, converter, given)
        registry = make_registries(settings).values
        assert registry is not None
        known = known_schemas(registry, settings, [topic], key=False)
        assert registry_at(server.url, registry_name="none").versions("orders") == {}
        asked = len(server.seen)
        task = pickle.loads(pickle.dumps(GlueRegistry(settings.s3, GlueSettings(endpoint=server.url), known)))
        ids = list(known.schemas)
        assert sorted(task.schema(each).version for each in ids) == [1, 2]
        assert len(server.seen) == asked
    assert known.versions == {"orders": {str(UUID(int=1)): 1, str(UUID(int=2)): 2}}


def test_what_the_request_is() -> None:
    """The id, the region of the converter and the connector's keys, in one signed request; asked once."""
    with scripted(AVAILABLE) as server:
        registry = registry_at(server.url, region="eu-central-1")
        found = [registry.schema(ID) for _ in range(2)]
    assert found[0] == found[1]
    [seen] = server.seen
    assert json.loads(seen.body) == {"SchemaVersionId": ID}
    assert seen.headers["x-amz-target"] == "AWSGlue.GetSchemaVersion"
    assert "Credential=AKIAEXAMPLE/" in seen.headers["authorization"]
    assert "/eu-central-1/glue/" in seen.headers["authorization"]


def test_the_region_is_the_buckets_unless_set() -> None:
    """As the endpoint is Amazon's."""
    with scripted(AVAILABLE) as server:
        registry_at(server.url).schema(ID)
    assert "/us-west-2/glue/" in server.seen[0].headers["authorization"]


def test_a_role_for_glue(monkeypatch: pytest.MonkeyPatch) -> None:
    """assumeRoleArn is assumed with the connector's keys, under assumeRoleSessionName."""
    keys = "<AccessKeyId>ASIAROLE</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>"
    expires = "<Expiration>2999-01-01T00:00:00Z</Expiration>"
    assumed = f"<R><AssumeRoleResult><Credentials>{keys}{expires}</Credentials></AssumeRoleResult></R>"
    with scripted(answer(200, assumed.encode())) as sts, scripted(AVAILABLE) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.url)
        role = {"assumeRoleArn": f"arn:aws:iam::123456789012:role/{uuid4().hex}", "assumeRoleSessionName": "exporter"}
        assert registry_at(server.url, **role).schema(ID) is not None
    assert b"RoleSessionName=exporter" in sts.seen[0].body
    assert "Credential=AKIAEXAMPLE/" in sts.seen[0].headers["authorization"]
    assert "Credential=ASIAROLE/" in server.seen[0].headers["authorization"]


PENDING = answered(SchemaVersionId=ID, SchemaDefinition=ORDER, DataFormat="AVRO", VersionNumber=3, Status="PENDING")


def test_a_version_that_is_pending_is_waited_for() -> None:
    """Glue checks a new version for seconds; then it is there."""
    with scripted(PENDING, PENDING, AVAILABLE) as server:
        found = registry_at(server.url).schema(ID)
    assert found is not None
    assert (found.version, len(server.seen)) == (3, 3)


def test_what_passes_is_tried_again() -> None:
    """Throttling, trouble of Glue's own, an answer that never came."""
    with scripted(
        failed(400, "ThrottlingException"), failed(500, "InternalServiceException"), None, AVAILABLE
    ) as server:
        assert registry_at(server.url).schema(ID) is not None
    assert len(server.seen) == 4


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (PENDING, "is still checking schema version"),
        (failed(400, "ThrottlingException"), "answered 400 ThrottlingException"),
        (failed(503, "ServiceUnavailable"), "answered 503"),
        (failed(400, "ExpiredTokenException"), "answered 400 ExpiredTokenException"),
        (None, "did not answer"),
    ],
)
@pytest.mark.usefixtures("no_retries")
def test_what_may_pass_ends_the_run_for_now(said: bytes | None, why: str) -> None:
    """No record is bad for it: the run ends with 75, and the next one goes on."""
    with scripted(otherwise=lambda _: said) as server, pytest.raises(RegistryUnavailable, match=why):
        registry_at(server.url).schema(ID)


@pytest.mark.parametrize("code", ["AccessDeniedException", "UnrecognizedClientException", "InvalidInputException"])
def test_what_cannot_pass_is_final(code: str) -> None:
    """A denied request, keys that are none: asked once, with what to do, and without the secret."""
    with scripted(failed(400, code, f"not {SECRET}")) as server, pytest.raises(RegistryRefused) as raised:
        registry_at(server.url).schema(ID)
    assert len(server.seen) == 1
    assert code in str(raised.value)
    assert SECRET not in str(raised.value) + repr(raised.value)
    assert ("glue:GetSchemaVersion" in str(raised.value)) == (code == "AccessDeniedException")


def test_what_is_no_answer_of_glues_is_final() -> None:
    """A page in the place of Glue."""
    with (
        scripted(answered(hello="world")) as server,
        pytest.raises(RegistryRefused, match="something that is not Glue's"),
    ):
        registry_at(server.url).schema(ID)


def test_listing_versions_is_no_right_that_is_needed() -> None:
    """Connect's converter never lists; without the right the tasks ask for the ids that they meet."""
    with scripted(failed(400, "AccessDeniedException"), AVAILABLE) as server:
        registry = registry_at(server.url)
        assert registry.versions("orders") == {}
        assert registry.schema(ID) is not None


def test_anonymous_credentials_cannot_ask_glue() -> None:
    """Said before anything is sent."""
    anonymous = {
        "s3.credentials.provider.class": "software.amazon.awssdk.auth.credentials.AnonymousCredentialsProvider"
    }
    with scripted() as server:
        settings = settings_with(anonymous, {"value.converter": CONVERTER, "value.converter.endpoint": server.url})
        registry = make_registries(settings).values
        assert registry is not None
        with pytest.raises(RegistryRefused, match="anonymous"):
            registry.schema(ID)
    assert server.seen == []
