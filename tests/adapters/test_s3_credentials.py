"""Whose keys requests are signed with, for every provider class, seen in the requests as sent."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from kafka_s3.adapters.s3 import S3Store, credentials
from kafka_s3.errors import StoreRefused
from kafka_s3.ports import Put
from kafka_s3.settings import from_mapping
from tests.adapters.loopback import ScriptedServer, Seen, answer, as_s3_does
from tests.support import MINIMAL

SDK1, SDK2 = "com.amazonaws.auth", "software.amazon.awssdk.auth.credentials"
ASSUME_ROLE = "io.confluent.connect.s3.auth.AwsAssumeRoleCredentialsProvider"
PROVIDER = "s3.credentials.provider"
ROLE = {
    f"{PROVIDER}.class": ASSUME_ROLE,
    f"{PROVIDER}.sts.role.arn": "arn:aws:iam::123456789012:role/exporter",
    f"{PROVIDER}.sts.role.session.name": "kafka-s3",
    f"{PROVIDER}.sts.role.external.id": "external-4711",
}
KEYS = {"aws.access.key.id": "AKIASTATIC", "aws.secret.access.key": "secret"}
BASE = {
    **MINIMAL,
    "s3.region": "eu-central-1",
    "s3.retry.backoff.ms": "0",
    "s3.part.retries": "1",
}

MakeStore = Callable[[dict[str, str]], S3Store]


def in_seconds(seconds: int) -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=seconds)


class Aws:
    """S3, STS and the two metadata services in one; `lifetime_s` is how long the keys live that it gives."""

    def __init__(self) -> None:
        self.lifetime_s = 3600
        self.given = 0
        self.server = ScriptedServer(self._answer)

    @property
    def seen(self) -> list[Seen]:
        return self.server.seen

    def asked(self, action: str) -> list[dict[str, str]]:
        """The forms of an action's requests to STS."""
        forms = [{name: value[0] for name, value in parse_qs(seen.body.decode()).items()} for seen in self.sts()]
        return [form for form in forms if form["Action"] == action]

    def sts(self) -> list[Seen]:
        return [seen for seen in self.seen if b"Action=" in seen.body]

    def signers(self) -> list[str | None]:
        """The access keys behind the requests to S3."""
        headers = [seen.headers for seen in self.seen if seen.path.startswith("/archive")]
        signed = [header.get("authorization") for header in headers]
        return [each and each.split("Credential=")[1].split("/")[0] for each in signed]

    def _answer(self, seen: Seen) -> bytes:
        if seen.path.startswith("/archive"):
            return as_s3_does(seen)
        if b"Action=" in seen.body:
            self.given += 1
            action = parse_qs(seen.body.decode())["Action"][0]
            expires = in_seconds(self.lifetime_s).strftime("%Y-%m-%dT%H:%M:%SZ")
            keys = f"<AccessKeyId>ASIAROLE{self.given}</AccessKeyId><SecretAccessKey>s</SecretAccessKey>"
            keys += f"<SessionToken>token{self.given}</SessionToken><Expiration>{expires}</Expiration>"
            result = f"<{action}Result><Credentials>{keys}</Credentials></{action}Result>"
            return answer(200, f"<{action}Response>{result}</{action}Response>".encode())
        return self._metadata(seen)

    def _metadata(self, seen: Seen) -> bytes:
        whose = "ASIACONTAINER" if seen.path == "/container" else "ASIAINSTANCE"
        if seen.path == "/latest/api/token":
            return answer(200, b"a-token")
        if seen.path.endswith("/security-credentials/"):
            return answer(200, b"a-role")
        expires = in_seconds(self.lifetime_s).strftime("%Y-%m-%dT%H:%M:%SZ")
        keys = {"AccessKeyId": whose, "SecretAccessKey": "s", "Token": "t", "Expiration": expires, "Code": "Success"}
        return answer(200, json.dumps(keys).encode())


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[Aws]:
    service = Aws()
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", service.server.url)
    forget()
    yield service
    forget()
    service.server.stop()


def forget() -> None:
    """As in a new process: credentials are kept for a process's life."""
    for cache in ("_default_session", "_chain_session", "_role_session", "_own_session"):
        getattr(credentials, cache).cache_clear()


@pytest.fixture
def store_with(aws: Aws) -> MakeStore:
    def make(more: dict[str, str]) -> S3Store:
        given = {**BASE, "store.url": aws.server.url, **more}
        return S3Store(from_mapping(given, offline=True).settings.s3)

    return make


@pytest.fixture
def machine(aws: Aws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that has credentials at every place at once."""
    (tmp_path / "credentials").write_text(
        "[default]\naws_access_key_id=AKIADEFAULT\naws_secret_access_key=s\n"
        "[export]\naws_access_key_id=AKIAPROFILE\naws_secret_access_key=s\n"
    )
    (tmp_path / "token").write_text("web-token")
    environment = {
        "AWS_ACCESS_KEY_ID": "AKIAENVIRONMENT",
        "AWS_SECRET_ACCESS_KEY": "s",
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "credentials"),
        "AWS_PROFILE": "export",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{aws.server.url}/container",
        "AWS_EC2_METADATA_SERVICE_ENDPOINT": aws.server.url,
        "AWS_WEB_IDENTITY_TOKEN_FILE": str(tmp_path / "token"),
        "AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/web",
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_EC2_METADATA_DISABLED")


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize(
    ("names", "signer"),
    [
        (("", f"{SDK1}.DefaultAWSCredentialsProviderChain", f"{SDK2}.DefaultCredentialsProvider"), "AKIAENVIRONMENT"),
        (
            (f"{SDK1}.EnvironmentVariableCredentialsProvider", f"{SDK2}.EnvironmentVariableCredentialsProvider"),
            "AKIAENVIRONMENT",
        ),
        ((f"{SDK1}.profile.ProfileCredentialsProvider", f"{SDK2}.ProfileCredentialsProvider"), "AKIAPROFILE"),
        ((f"{SDK1}.ContainerCredentialsProvider", f"{SDK2}.ContainerCredentialsProvider"), "ASIACONTAINER"),
        ((f"{SDK1}.EC2ContainerCredentialsProviderWrapper",), "ASIACONTAINER"),
        (
            (f"{SDK1}.InstanceProfileCredentialsProvider", f"{SDK2}.InstanceProfileCredentialsProvider"),
            "ASIAINSTANCE",
        ),
        (
            (f"{SDK1}.WebIdentityTokenCredentialsProvider", f"{SDK2}.WebIdentityTokenFileCredentialsProvider"),
            "ASIAROLE1",
        ),
        ((f"{SDK1}.AnonymousAWSCredentials", f"{SDK2}.AnonymousCredentialsProvider"), None),
    ],
)
def test_a_class_of_the_sdk_takes_its_own_place_and_no_other(
    aws: Aws, store_with: MakeStore, names: tuple[str, ...], signer: str | None
) -> None:
    """On a machine with credentials everywhere, each class (old name, new name) uses the ones it stands for."""
    for name in names:
        forget()
        aws.given = 0
        more = {f"{PROVIDER}.class": name} if name else {}
        assert store_with(more).put_if_absent("k", b"body") is Put.CREATED
    assert aws.signers() == [signer] * len(names)


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize(
    "name", ["ProfileCredentialsProvider", "AnonymousCredentialsProvider", "DefaultCredentialsProvider"]
)
def test_configured_keys_come_before_the_machines(aws: Aws, store_with: MakeStore, name: str) -> None:
    """As in the sink: a pair of keys wins over a class that takes none."""
    store_with({**KEYS, f"{PROVIDER}.class": name}).put_if_absent("k", b"body")
    assert aws.signers() == ["AKIASTATIC"]


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("EnvironmentVariableCredentialsProvider", "the environment"),
        ("ProfileCredentialsProvider", "the profile"),
        ("ContainerCredentialsProvider", "the container"),
        ("InstanceProfileCredentialsProvider", "the EC2 instance's profile"),
        ("WebIdentityTokenFileCredentialsProvider", "the web identity"),
    ],
)
def test_nothing_at_that_place(aws: Aws, store_with: MakeStore, name: str, where: str) -> None:
    """Without credentials where the class looks, the message says where that is, and no request is sent."""
    with pytest.raises(StoreRefused, match=f"Looked for the credentials of {where}"):
        store_with({f"{PROVIDER}.class": name}).put_if_absent("k", b"body")
    assert aws.signers() == []
