"""`kafka-s3 iam`: what it allows is what the commands really ask of a store, no less and no more."""

from __future__ import annotations

import fnmatch
import json
import os
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any

import pytest

from kafka_s3.adapters.s3 import credentials
from kafka_s3.export.run import prepare
from kafka_s3.report.policy import least_policy
from kafka_s3.settings import Settings, from_mapping, load, lookups_of
from kafka_s3.wiring import make_exporter
from tests.cli.command import call
from tests.cli.conftest import ConnectorFile
from tests.support import MINIMAL, request

#: What IAM calls the operations of S3's API.
ACTIONS = {
    "GetObject": "s3:GetObject",
    "HeadObject": "s3:GetObject",
    "PutObject": "s3:PutObject",
    "CreateMultipartUpload": "s3:PutObject",
    "UploadPart": "s3:PutObject",
    "CompleteMultipartUpload": "s3:PutObject",
    "AbortMultipartUpload": "s3:AbortMultipartUpload",
    "DeleteObject": "s3:DeleteObject",
    "PutObjectTagging": "s3:PutObjectTagging",
    "ListObjectsV2": "s3:ListBucket",
    "ListMultipartUploads": "s3:ListBucketMultipartUploads",
}
ON_THE_BUCKET = ("s3:ListBucket", "s3:ListBucketMultipartUploads")
Asked = Set[tuple[str, str]]
LOGIN = {"consumer.override.security.protocol": "SASL_SSL", "consumer.override.sasl.jaas.config": "${env:NOT_SET_4711}"}


class Recorder:
    """What the process's clients of S3 are asked for: IAM's action, and the key or the prefix."""

    def __init__(self) -> None:
        self.asked: set[tuple[str, str]] = set()

    def note(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        place = params.get("Key", params.get("Prefix", ""))
        self.asked.add((ACTIONS[model.name], place))
        if "Tagging" in params:
            self.asked.add(("s3:PutObjectTagging", place))

    def take(self) -> Asked:
        taken, self.asked = self.asked, set()
        return taken


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    made = Recorder()
    credentials._default_session.cache_clear()
    credentials._default_session()._session.register("before-parameter-build.s3", made.note)
    yield made
    credentials._default_session.cache_clear()


def rules(connector: ConnectorFile, command: str) -> set[tuple[str, str]]:
    """The policy as actions with patterns of keys; what names the bucket has its prefixes as patterns."""
    result = call("iam", connector.config, "--for", command, env=connector.env)
    assert result.exit_code == 0, result.output
    found = set()
    bucket = f"arn:aws:s3:::{connector.bucket}"
    for statement in json.loads(result.stdout)["Statement"]:
        prefixes = statement.get("Condition", {}).get("StringLikeIfExists", {}).get("s3:prefix", ["*"])
        for action in statement["Action"]:
            if action in ON_THE_BUCKET:
                assert statement["Resource"] == [bucket]
                found |= {(action, prefix) for prefix in prefixes}
            else:
                found |= {(action, each.removeprefix(f"{bucket}/")) for each in statement["Resource"]}
    return found


def assert_least(connector: ConnectorFile, command: str, asked: Asked, unseen: Asked = frozenset()) -> None:
    """Every call is allowed, and every rule was needed but those that are `unseen` here, each for a reason."""
    allowed = rules(connector, command)

    def fits(rule: tuple[str, str], call: tuple[str, str]) -> bool:
        return rule[0] == call[0] and fnmatch.fnmatchcase(call[1], rule[1])

    assert [each for each in sorted(asked) if not any(fits(rule, each) for rule in allowed)] == []
    assert {rule for rule in allowed if not any(fits(rule, each) for each in asked)} == unseen


def done(connector: ConnectorFile, *arguments: object) -> None:
    result = call(arguments[0], connector.config, *arguments[1:], env=connector.env)
    assert result.exit_code == 0, result.output


@pytest.fixture
def exported(connector: ConnectorFile, recorder: Recorder) -> tuple[ConnectorFile, Asked]:
    """An export of two runs, the second one of which finds the plan, object, upload and letter of a driver that died;
    and all that they asked for."""
    more = {"errors.tolerance": "all", "s3.part.size": "5242880", "flush.size": "100", "s3.object.tagging": "true"}
    with connector.config.open("a") as file:
        file.writelines(f"{name}={text}\n" for name, text in more.items())
    connector.produce_values([b"{}", b"not json"])
    done(connector, "run", "--until-now")
    asked = recorder.take()
    connector.produce_values([json.dumps({"n": os.urandom(200_000).hex()}).encode() for _ in range(40)])
    prepare(make_exporter(settings_of(connector)), request("one-that-died"))
    name = f"{connector.topic}/partition=0/{connector.topic}+0+0000000007"
    connector.overwrite(f"topics/{name}.json.gz", b"left")
    connector.overwrite(f"_kafka_s3/orders/rejected/{name}.jsonl.gz", b"left")
    connector.client.create_multipart_upload(Bucket=connector.bucket, Key=f"topics/{name}.json.gz")
    done(connector, "run", "--until-now")
    return connector, asked | recorder.take()


def settings_of(connector: ConnectorFile) -> Settings:
    return load(connector.config, lookups=lookups_of({**os.environ, **connector.env})).settings


def test_each_command_is_allowed_what_it_asks_for(exported: tuple[ConnectorFile, Asked], recorder: Recorder) -> None:
    """Over one export: run, plan, status, verify, gc, redrive and rewind ask for what their policy allows, and
    for all of it."""
    connector, asked = exported
    assert_least(connector, "run", asked)
    folder = f"{connector.topic}/partition=0/{connector.topic}+0"
    for command, *more in (
        ("plan",),
        ("status",),
        ("verify", "--against-kafka"),
        ("redrive",),
        ("rewind", "--to", f"{connector.topic}-0=0", "--yes"),
    ):
        recorder.take()
        done(connector, command, *more)
        assert_least(connector, command, recorder.take())
    for place in (f"topics/{folder}+0000000001.json.gz", f"_kafka_s3/orders/rejected/{folder}+0000000000.jsonl.gz"):
        connector.overwrite(place, b"left")
        connector.client.create_multipart_upload(Bucket=connector.bucket, Key=place)
    recorder.take()
    done(connector, "gc", "--delete")
    letters, objects = "_kafka_s3/orders/reexport/*/rejected/*", "reexport/*"
    of_windows = {("s3:DeleteObject", letters), ("s3:DeleteObject", objects), ("s3:AbortMultipartUpload", objects)}
    of_windows |= {("s3:ListBucket", objects)}  # there is none
    assert_least(connector, "gc", recorder.take(), of_windows)


def test_a_window_and_an_adoption(connector: ConnectorFile, recorder: Recorder) -> None:
    """reexport of a window, and adopt of what a lost log has left, ask for what their policy allows."""
    with connector.config.open("a") as file:
        file.write("s3.object.tagging=true\nexport.timestamps.enable=true\n")
    connector.produce(2, timestamp_ms=1_700_000_000_000)
    connector.produce(1, timestamp_ms=1_700_010_000_000)
    done(connector, "run", "--until-now")
    recorder.take()
    done(connector, "reexport", "--from", "2023-11-14T22:00:00Z", "--to", "2023-11-14T23:00:00Z")
    letters, objects = "_kafka_s3/orders/reexport/*/rejected/*", "reexport/*"
    copied_or_left = {  # what Kafka still has is not copied, and no driver died
        *(("s3:GetObject", place) for place in ("topics/*", objects)),
        *(("s3:DeleteObject", place) for place in (letters, objects)),
        *(("s3:AbortMultipartUpload", place) for place in ("_kafka_s3/orders/*", objects)),
    }
    assert_least(connector, "reexport", recorder.take(), copied_or_left)
    for key in connector.keys("_kafka_s3/"):
        connector.client.delete_object(Bucket=connector.bucket, Key=key)
    done(connector, "adopt", "--from-objects", "--yes")
    again = call("adopt", connector.config, "--from-objects", "--yes", env=connector.env)
    assert again.exit_code == 1  # there is a log now, and it was read
    assert_least(connector, "adopt", recorder.take())


def of(command: str, **more: str) -> dict[str, Any]:
    given = {**MINIMAL, **{name.replace("__", "."): text for name, text in more.items()}}
    policy = least_policy(from_mapping(given, offline=True).settings, command)
    return {each["Sid"]: each for each in policy["Statement"]}


def test_what_is_configured_beside_s3() -> None:
    """A KMS key, Glue's schemas, Amazon MSK and a role appear where they are configured, and not elsewhere."""
    assert of("run").keys() == {"List", "ListUploads", "Read", "Write", "Delete", "Abort"}
    key = of("run", s3__ssea__name="aws:kms", s3__sse__kms__key__id="alias/exports", s3__region="cn-north-1")["Key"]
    assert key["Resource"] == ["arn:aws-cn:kms:cn-north-1:*:key/*"]
    assert key["Condition"] == {"ForAnyValue:StringEquals": {"kms:ResourceAliases": "alias/exports"}}
    assert of("status", s3__ssea__name="aws:kms", s3__sse__kms__key__id="k")["Key"]["Action"] == ["kms:Decrypt"]
    glue = {"value__converter": "com.amazonaws.services.schemaregistry.kafkaconnect.AWSKafkaAvroConverter"}
    assert "Schemas" in of("run", **glue)
    assert "Schemas" not in of("gc", **glue)
    msk = {
        "sasl.mechanism": "AWS_MSK_IAM",
        "security.protocol": "SASL_SSL",
        "bootstrap.servers": "b-1.o.ab.c2.kafka.eu-west-1.amazonaws.com:9098",
        "sasl.jaas.config": 'software.amazon.msk.auth.iam.IAMLoginModule required awsRoleArn="arn:aws:iam::1:role/m";',
    }
    kafka = {f"consumer__override__{name.replace('.', '__')}": text for name, text in msk.items()}
    found = of("run", **kafka, export__consumer__group__commit="true")
    assert found["Topics"]["Resource"] == ["arn:aws:kafka:eu-west-1:*:topic/*/*/orders"]
    assert found["Group"]["Resource"] == ["arn:aws:kafka:eu-west-1:*:group/*/*/kafka-s3-orders"]
    assert of("assume", **kafka)["Assume1"]["Resource"] == ["arn:aws:iam::1:role/m"]


def test_the_keys_of_a_role_need_its_name_alone() -> None:
    """With a role the policies are the role's, and its source may assume it, with tags where some are sent."""
    role = {"role_arn": "arn:aws:iam::1:role/r", "assume_role_kwargs": '{"Tags": [{"Key": "a", "Value": "b"}]}'}
    settings = from_mapping(MINIMAL, offline=True, aws_connection=role).settings
    (statement,) = least_policy(settings, "assume")["Statement"]
    assert (statement["Action"], statement["Resource"]) == (["sts:AssumeRole", "sts:TagSession"], [role["role_arn"]])
    assert least_policy(from_mapping(MINIMAL, offline=True).settings, "assume")["Statement"] == []


def test_an_access_point_and_a_bucket_without_a_folder() -> None:
    """Objects of an access point have ARNs of their own; data without a folder are the whole bucket."""
    point = "arn:aws:s3:eu-west-1:1:accesspoint/orders"
    read = of("run", s3__bucket__name=point)["Read"]["Resource"]
    assert f"{point}/object/topics/*" in read
    assert "arn:aws:s3:::archive/*" in of("run", topics__dir="")["Read"]["Resource"]


UNSET = "${env:NOT_SET_4711}"


@pytest.mark.parametrize(
    ("given", "refused"),
    [
        ({"s3.bucket.name": UNSET}, "s3.bucket.name"),
        ({"s3.ssea.name": "aws:kms", "s3.sse.kms.key.id": UNSET}, "s3.sse.kms.key.id"),
        ({"aws.access.key.id": UNSET, "aws.secret.access.key": UNSET, "store.url": UNSET}, None),
        ({"consumer.override.bootstrap.servers": UNSET}, None),
        ({**LOGIN, "consumer.override.sasl.mechanism": "AWS_MSK_IAM"}, "consumer.override.sasl.jaas.config"),
        ({**LOGIN, "consumer.override.sasl.mechanism": "PLAIN"}, None),
    ],
)
def test_a_variable_without_a_value(given: dict[str, str], refused: str | None, tmp_path: Path) -> None:
    """Where the policy depends on it, it is refused in a sentence; a password or an address may be missing."""
    file = tmp_path / "orders.properties"
    file.write_text("".join(f"{name}={text}\n" for name, text in {**MINIMAL, **given}.items()))
    result = call("iam", file)
    if refused is None:
        assert result.exit_code == 0, result.output
        assert "NOT_SET" not in result.output
    else:
        assert (result.exit_code, result.stdout) == (1, "")
        said = f"{refused}: the variable {UNSET} has no value: the environment variable is not set"
        assert said in result.output
