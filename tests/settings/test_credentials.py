"""Provider classes, what they read, tags and the accelerate endpoint: what becomes of them, and what is wrong."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafka_s3.settings import Loaded, Lookups
from kafka_s3.settings.credentials import Anonymous, AssumeRole, Chain, UserDefinedProvider
from kafka_s3.settings.s3 import Tagging

Load = Callable[..., Loaded]
Problems = Callable[..., dict[str, str]]
CLASS = "s3.credentials.provider.class"
PREFIX = "s3.credentials.provider."
STS = "s3.credentials.provider.sts"
ASSUME_ROLE = "io.confluent.connect.s3.auth.AwsAssumeRoleCredentialsProvider"
ARN = "arn:aws:iam::123456789012:role/path/exporter"
PAIRS = "s3.object.tagging.key.value.pairs"
CANARY = "canary-4711"


@pytest.fixture
def company(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Modules of a user's own, good and bad."""
    import sys

    (tmp_path / "company_keys.py").write_text(
        textwrap.dedent("""
            class Keys:
                def credentials(self): ...
            class Keyless: ...
            def function(): ...
        """)
    )
    (tmp_path / "company_broken.py").write_text("import no_such_library_of_theirs")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    for name in ("company_keys", "company_broken"):
        sys.modules.pop(name, None)


def test_the_default_is_the_default_chain(load_with: Load) -> None:
    """Nothing set, no tags, no digest, no accelerate endpoint."""
    s3 = load_with().settings.s3
    assert (s3.credentials, s3.tagging, s3.send_digest, s3.accelerate) == (Chain.DEFAULT, None, False, False)


def test_classes(load_with: Load) -> None:
    """A class may be named by its package, the older package's name, or its last part."""
    for name, expected in [
        ("com.amazonaws.auth.profile.ProfileCredentialsProvider", Chain.PROFILE),
        ("InstanceProfileCredentialsProvider", Chain.INSTANCE),
        ("com.amazonaws.auth.EC2ContainerCredentialsProviderWrapper", Chain.CONTAINER_OR_INSTANCE),
        ("com.amazonaws.auth.AnonymousAWSCredentials", Anonymous()),
    ]:
        assert load_with({CLASS: name}).settings.s3.credentials == expected


def test_a_role(load_with: Load) -> None:
    """The role, its session's name, the external id and the region of STS; the latter two may be left out."""
    more = {CLASS: ASSUME_ROLE, f"{STS}.role.arn": ARN, f"{STS}.role.session.name": "kafka-s3"}
    assert load_with(more).settings.s3.credentials == AssumeRole(ARN, "kafka-s3", None, None)
    more |= {f"{STS}.role.external.id": "id-1", f"{STS}.region": "us-east-1"}
    loaded = load_with(more)
    assert loaded.settings.s3.credentials == AssumeRole(ARN, "kafka-s3", "id-1", "us-east-1")
    assert not [name for name in loaded.settings.resolved if name.startswith("s3.credentials.provider.")]
    assert "id-1" not in repr(loaded.settings)


def test_keys_of_aivens_provider(load_with: Load) -> None:
    """Aiven's class is given a pair of keys under names of its own: they are used, hidden, and in no plan."""
    aiven = "io.aiven.kafka.connect.util.AivenAWSCredentialsProvider"
    loaded = load_with({CLASS: aiven, f"{PREFIX}access_key_id": "AKIA1", f"{PREFIX}secret_access_key": CANARY})
    s3 = loaded.settings.s3
    assert (s3.access_key_id, s3.secret_access_key, s3.credentials) == ("AKIA1", CANARY, Chain.DEFAULT)
    assert CANARY not in repr(loaded) + str(loaded.settings.resolved)


def test_keys_under_aivens_names_go_with_its_class(problems_of: Problems) -> None:
    """One key without the other is a problem, and another class's options are not taken for keys."""
    aiven = "AivenAWSCredentialsProvider"
    assert problems_of({CLASS: aiven, f"{PREFIX}access_key_id": "AKIA1"}) == {
        "aws.secret.access.key": "must be set together with aws.access.key.id"
    }


@pytest.mark.usefixtures("company")
def test_a_class_of_ones_own_gets_what_begins_with_the_prefix(load_with: Load) -> None:
    """Any property of the prefix is an option, resolved, and hidden wherever it would show."""
    more = {
        CLASS: "company_keys:Keys",
        "s3.credentials.provider.vault.token": "${env:TOKEN}",
        f"{STS}.region": "eu-west-1",
    }
    loaded = load_with(more, lookups=Lookups(env={"TOKEN": CANARY}))
    options = (("sts.region", "eu-west-1"), ("vault.token", CANARY))
    assert loaded.settings.s3.credentials == UserDefinedProvider("company_keys:Keys", options)
    rows = {row.name: row for row in loaded.report}
    assert rows["s3.credentials.provider.vault.token"].value == "[hidden]"
    assert rows["s3.credentials.provider.vault.token"].meaning == "Passed to company_keys:Keys."
    assert CANARY not in repr(loaded) + str(loaded.settings.resolved)


@pytest.mark.usefixtures("company")
@pytest.mark.parametrize(
    ("more", "name", "said"),
    [
        ({CLASS: ""}, CLASS, "a class of your own as module:Class"),
        ({CLASS: ":"}, CLASS, "a class of your own as module:Class"),
        ({CLASS: ":Keys"}, CLASS, "a class of your own as module:Class"),
        ({CLASS: "company_keys:"}, CLASS, "a class of your own as module:Class"),
        ({CLASS: "com.example.OurProvider"}, CLASS, "a class of your own as module:Class"),
        ({CLASS: "no_such_module:Keys"}, CLASS, "importing no_such_module raised ModuleNotFoundError"),
        ({CLASS: "company_broken:Keys"}, CLASS, "No module named 'no_such_library_of_theirs'"),
        ({CLASS: "company_keys:Missing"}, CLASS, "has no class Missing"),
        ({CLASS: "company_keys:function"}, CLASS, "has no class function"),
        ({CLASS: "company_keys:Keyless"}, CLASS, "has no method credentials"),
        ({CLASS: "SystemPropertyCredentialsProvider"}, CLASS, "there is no Java here: set aws.access.key.id"),
        ({CLASS: "com.amazonaws.auth.SystemPropertiesCredentialsProvider"}, CLASS, "there is no Java here"),
        ({CLASS: ASSUME_ROLE}, f"{STS}.role.arn", "is required by AwsAssumeRoleCredentialsProvider"),
        ({CLASS: ASSUME_ROLE}, f"{STS}.role.session.name", "is required by AwsAssumeRoleCredentialsProvider"),
        ({f"{STS}.role.arn": "exporter"}, f"{STS}.role.arn", "arn:aws:iam::123456789012:role/name"),
        ({f"{STS}.role.session.name": "a b"}, f"{STS}.role.session.name", "2 to 64"),
        ({f"{STS}.role.external.id": "x"}, f"{STS}.role.external.id", "2 to 1224"),
        ({f"{STS}.role.anr": ARN}, f"{STS}.role.anr", "Did you mean sts.role.arn?"),
        ({PAIRS: "team"}, PAIRS, "key:value pairs"),
        ({PAIRS: ":data"}, PAIRS, "key:value pairs"),
        ({PAIRS: "a" * 129 + ":b"}, PAIRS, "1 to 128"),
        ({PAIRS: "a:" + "b" * 257}, PAIRS, "0 to 256"),
        ({PAIRS: "a:b?"}, PAIRS, "S3 does not allow in tags"),
        ({PAIRS: "a:1,b:2,a:3"}, PAIRS, "contains a tag twice"),
        ({PAIRS: ",".join(f"k{n}:v" for n in range(8))}, PAIRS, "S3 allows 10 tags per object"),
        ({"s3.object.behavior.on.tagging.error": "warn"}, "s3.object.behavior.on.tagging.error", "[ignore, fail]"),
        ({"s3.wan.mode": "true"}, "s3.wan.mode", "cannot be combined with s3.path.style.access.enabled"),
        (
            {"s3.wan.mode": "true", "s3.path.style.access.enabled": "false", "store.url": "http://minio"},
            "s3.wan.mode",
            "cannot be combined with store.url",
        ),
        (
            {"s3.wan.mode": "true", "s3.path.style.access.enabled": "false", "s3.bucket.name": "a.b"},
            "s3.wan.mode",
            "a bucket name without dots",
        ),
    ],
)
def test_what_is_wrong_is_named(problems_of: Problems, more: dict[str, str], name: str, said: str) -> None:
    """Each mistake is a problem of its property, with what is allowed or what to do."""
    assert said in problems_of(more)[name]


def test_tags(load_with: Load) -> None:
    """Pairs are cut at the first colon and trimmed; a value may hold colons and be empty; the policy in any case."""
    more = {"s3.object.tagging": "true", PAIRS: "team : data, url:s3://x , empty:, recordCount:many"}
    extra = (("team", "data"), ("url", "s3://x"), ("empty", ""), ("recordCount", "many"))
    assert load_with(more).settings.s3.tagging == Tagging(extra)
    strict = {**more, "s3.object.behavior.on.tagging.error": "FAIL"}
    assert load_with(strict).settings.s3.tagging == Tagging(extra, required=True)


def test_tags_without_tagging_are_ignored(load_with: Load) -> None:
    """As in the sink they have no effect, and the report says so."""
    loaded = load_with({PAIRS: "team:data"})
    assert loaded.settings.s3.tagging is None
    assert {row.name: row.meaning for row in loaded.report}[PAIRS] == "ignored unless s3.object.tagging=true"
    assert PAIRS not in loaded.settings.resolved


def test_roles_properties_under_another_class_are_ignored(load_with: Load) -> None:
    """A file that is switched from one class to another keeps loading."""
    rows = {row.name: row for row in load_with({f"{STS}.role.arn": ARN, f"{PREFIX}vault.path": CANARY}).report}
    assert (
        rows[f"{STS}.role.arn"].meaning
        == "ignored unless s3.credentials.provider.class is AwsAssumeRoleCredentialsProvider or your own class"
    )
    assert rows[f"{PREFIX}vault.path"].meaning == "ignored unless s3.credentials.provider.class is your own class"
    assert rows[f"{PREFIX}vault.path"].value == "[hidden]"


@pytest.mark.parametrize(
    "more",
    [
        {"s3.object.tagging": "true", PAIRS: "a:b"},
        {"s3.send.digest": "true"},
        {"s3.wan.mode": "true", "s3.path.style.access.enabled": "false"},
        {CLASS: "ProfileCredentialsProvider"},
    ],
)
def test_how_s3_is_reached_shapes_no_object(load_with: Load, more: dict[str, str]) -> None:
    """A plan made before is finished after: what it writes is the same."""
    assert load_with(more).settings.configuration_sha256 == load_with().settings.configuration_sha256


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"s3.bucket.name": "orders--use1-az4--x-s3"},
            "directory bucket (S3 Express One Zone), which lists keys in no",
        ),
        ({"s3.bucket.name": "arn:aws:s3:eu-west-1:1:accesspoint/o", "store.url": "http://s"}, "names an access point"),
    ],
)
def test_buckets_that_cannot_be_used(problems_of: Problems, given: dict[str, str], said: str) -> None:
    """A bucket without an order of keys is refused with the reason, as is an access point with another endpoint."""
    assert said in problems_of(given)["s3.bucket.name"]
