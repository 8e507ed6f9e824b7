"""Credentials of a role and of a class of the user's own."""

from __future__ import annotations

import datetime
import pickle
import textwrap
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_s3.adapters.s3 import S3Store
from kafka_s3.adapters.s3.client import make_client
from kafka_s3.errors import StoreRefused, StoreUnavailable
from kafka_s3.ports import Put
from kafka_s3.settings import from_mapping
from kafka_s3.settings.credentials import UserDefinedProvider
from tests.adapters import test_s3_credentials
from tests.adapters.loopback import answer, refusal
from tests.adapters.test_s3_credentials import BASE, KEYS, PROVIDER, ROLE, Aws, MakeStore, forget, in_seconds
from tools.parts.s3 import MotoServer

aws = test_s3_credentials.aws
machine = test_s3_credentials.machine
store_with = test_s3_credentials.store_with


# A role.


def test_assume_role(aws: Aws, store_with: MakeStore) -> None:
    """The configured keys assume the role, in the session's name and with the external id, once for all stores."""
    for _ in range(2):
        store = store_with({**ROLE, **KEYS, f"{PROVIDER}.sts.region": "us-east-1"})
        store.put_if_absent("k", b"body")
        store.get("k")
    (form,) = aws.asked("AssumeRole")
    assert (form["RoleArn"], form["RoleSessionName"], form["ExternalId"]) == (
        "arn:aws:iam::123456789012:role/exporter",
        "kafka-s3",
        "external-4711",
    )
    authorization = aws.sts()[0].headers["authorization"]
    assert "Credential=AKIASTATIC/" in authorization
    assert "/us-east-1/sts/" in authorization
    assert aws.signers() == ["ASIAROLE1"] * 4
    assert {seen.headers.get("x-amz-security-token") for seen in aws.seen[1:]} == {"token1"}


@pytest.mark.usefixtures("machine")
def test_assume_role_from_the_default_chain(aws: Aws, store_with: MakeStore) -> None:
    """Without keys the machine's own credentials assume it, at the STS of `s3.region`; no external id, none sent."""
    store_with({**ROLE, f"{PROVIDER}.sts.role.external.id": ""}).put_if_absent("k", b"body")
    (form,) = aws.asked("AssumeRole")
    assert "ExternalId" not in form
    authorization = aws.sts()[0].headers["authorization"]
    assert "Credential=AKIAENVIRONMENT/" in authorization
    assert "/eu-central-1/sts/" in authorization


def test_a_role_is_assumed_anew_before_it_expires(aws: Aws, store_with: MakeStore) -> None:
    """Five minutes before the end the next request asks for new keys, in the middle of an upload if need be."""
    aws.lifetime_s = 300
    store = store_with({**ROLE, **KEYS})
    upload = store.start_multipart("k")
    upload.put_part(b"one")
    aws.lifetime_s = 3600
    upload.put_part(b"two")
    assert upload.complete_if_absent() is Put.CREATED
    assert aws.signers() == ["ASIAROLE1", "ASIAROLE2", "ASIAROLE3", "ASIAROLE3"]


def test_a_role_that_may_not_be_assumed(aws: Aws, store_with: MakeStore) -> None:
    """A refusal of STS is final, is called one, and names the role; no request goes to S3."""
    aws.server.answers = [
        answer(
            403, b"<ErrorResponse><Error><Code>AccessDenied</Code><Message>no trust</Message></Error></ErrorResponse>"
        )
    ]
    with pytest.raises(
        StoreRefused, match=r"403 AccessDenied to AssumeRole, for Put[\s\S]*exporter: allow them AssumeRole"
    ):
        store_with({**ROLE, **KEYS}).put_if_absent("k", b"body")
    assert aws.signers() == []


def test_sts_that_is_down_is_tried_again(aws: Aws, store_with: MakeStore) -> None:
    """A 503 of STS or no answer is temporary: `s3.part.retries` tries, then unavailable."""
    aws.server.answers = [refusal(503, "ServiceUnavailable")]
    assert store_with({**ROLE, **KEYS}).put_if_absent("k", b"body") is Put.CREATED
    forget()
    aws.server.answers = [None, None]
    with pytest.raises(StoreUnavailable, match="2 tries"):
        store_with({**ROLE, **KEYS}).put_if_absent("k", b"body")


def test_keys_that_have_expired_already(aws: Aws, store_with: MakeStore) -> None:
    """A clock that is wrong by hours is said to be, and nothing is signed with dead keys."""
    aws.lifetime_s = -60
    with pytest.raises(StoreUnavailable, match=r"expired at .* Check this machine's clock"):
        store_with({**ROLE, **KEYS}).put_if_absent("k", b"body")
    assert aws.signers() == []


def test_assume_role_at_moto(
    aws: Aws, moto: MotoServer, bucket_name: str, store_with: MakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server with an STS of its own gives keys that its S3 takes."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", moto.endpoint_url)
    moto.create_bucket(bucket_name)
    store = store_with({**ROLE, **KEYS, "store.url": moto.endpoint_url, "s3.bucket.name": bucket_name})
    assert store.put_if_absent("k", b"body") is Put.CREATED
    assert store.get("k") == b"body"


# A role of an Airflow connection.


def of_airflow(aws: Aws, **connection: str) -> S3Store:
    """A store whose connector names nothing, with an Airflow connection."""
    given = {**BASE, "store.url": aws.server.url}
    connection = {"role_arn": ROLE_ARN, "assume_role_kwargs": TAGGED, **connection}
    return S3Store(from_mapping(given, offline=True, aws_connection=connection).settings.s3)


ROLE_ARN = "arn:aws:iam::123456789012:role/of-airflow"
TAGGED = '{"RoleSessionName": "airflow", "DurationSeconds": 900, "Tags": [{"Key": "team", "Value": "orders"}]}'
GIVEN_KEYS = {"aws_access_key_id": "AKIASTATIC", "aws_secret_access_key": "secret"}


def test_a_role_of_airflow(aws: Aws) -> None:
    """The connection's keys assume its role, with its tags, and again before the role's time is over."""
    aws.lifetime_s = 300
    store: S3Store = pickle.loads(pickle.dumps(of_airflow(aws, **GIVEN_KEYS)))  # as an executor gets it
    upload = store.start_multipart("k")
    aws.lifetime_s = 3600
    upload.put_part(b"one")
    upload.put_part(b"two")
    assert upload.complete_if_absent() is Put.CREATED
    assert aws.signers() == ["ASIAROLE1", "ASIAROLE2", "ASIAROLE2", "ASIAROLE2"]
    first, again = aws.asked("AssumeRole")
    assert first == again
    assert (first["RoleArn"], first["RoleSessionName"], first["DurationSeconds"]) == (ROLE_ARN, "airflow", "900")
    assert (first["Tags.member.1.Key"], first["Tags.member.1.Value"]) == ("team", "orders")


def test_a_web_identity_of_airflow(aws: Aws, tmp_path: Path) -> None:
    """The token's file is read when the role is assumed; no key signs that request."""
    (tmp_path / "token").write_text("a-token")
    method = {"assume_role_method": "assume_role_with_web_identity", "assume_role_kwargs": "{}"}
    place = {"assume_role_with_web_identity_token_file": str(tmp_path / "token")}
    of_airflow(aws, **method, **place).put_if_absent("k", b"body")
    (form,) = aws.asked("AssumeRoleWithWebIdentity")
    assert (form["WebIdentityToken"], form["RoleArn"]) == ("a-token", ROLE_ARN)
    assert aws.signers() == ["ASIAROLE1"]
    forget()
    with pytest.raises(StoreRefused, match="AWS_WEB_IDENTITY_TOKEN_FILE"):
        of_airflow(aws, **method).put_if_absent("k", b"body")


def test_a_web_identity_at_a_fips_endpoint(aws: Aws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """STS is asked where the connection says, seen by a proxy that hangs up."""
    monkeypatch.delenv("AWS_ENDPOINT_URL_STS")
    monkeypatch.setenv("HTTPS_PROXY", aws.server.url)
    aws.server.answers = [None] * 5
    (tmp_path / "token").write_text("a-token")
    connection = {
        "role_arn": ROLE_ARN,
        "assume_role_method": "assume_role_with_web_identity",
        "assume_role_with_web_identity_token_file": str(tmp_path / "token"),
        "use_fips_endpoint": "true",
    }
    with pytest.raises(StoreUnavailable, match="2 tries"):
        S3Store(from_mapping(BASE, offline=True, aws_connection=connection).settings.s3).put_if_absent("k", b"body")
    assert [seen.path for seen in aws.seen] == ["sts-fips.eu-central-1.amazonaws.com:443"] * 2


def test_a_role_of_airflow_that_may_not_be_assumed(aws: Aws) -> None:
    """It is refused in a sentence with the role, as one of the connector's file is."""
    aws.server.answers = [answer(403, b"<R><Error><Code>AccessDenied</Code><Message>no</Message></Error></R>")]
    with pytest.raises(StoreRefused, match=r"403 AccessDenied to AssumeRole[\s\S]*of-airflow: allow them AssumeRole"):
        of_airflow(aws, **GIVEN_KEYS).put_if_absent("k", b"body")


def test_the_connectors_own_credentials_stand_above(aws: Aws) -> None:
    """Keys or a provider in the connector's file are used as they are, and the report says that the role is not."""
    given = {**BASE, **KEYS, "store.url": aws.server.url}
    loaded = from_mapping(given, offline=True, aws_connection={"role_arn": ROLE_ARN})
    S3Store(loaded.settings.s3).put_if_absent("k", b"body")
    assert aws.signers() == ["AKIASTATIC"]
    (row,) = [row for row in loaded.report if row.name == "role_arn"]
    assert (row.ignored, row.meaning) == (True, "overridden by aws.access.key.id")


def test_role_of_airflow_at_moto(aws: Aws, moto: MotoServer, bucket_name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An STS of another address, as `service_config` names it, gives keys that S3 takes."""
    monkeypatch.delenv("AWS_ENDPOINT_URL_STS")
    moto.create_bucket(bucket_name)
    given = {**BASE, "store.url": moto.endpoint_url, "s3.bucket.name": bucket_name}
    connection = {**GIVEN_KEYS, "role_arn": ROLE_ARN, "sts_endpoint_url": moto.endpoint_url}
    store = S3Store(from_mapping(given, offline=True, aws_connection=connection).settings.s3)
    assert store.put_if_absent("k", b"body") is Put.CREATED


@pytest.mark.parametrize(
    ("given", "connection", "host"),
    [
        ({}, {"use_fips_endpoint": "true"}, "s3-fips.us-east-1.amazonaws.com"),
        ({}, {"use_dualstack_endpoint": "true"}, "s3.dualstack.us-east-1.amazonaws.com"),
        (
            {"s3.bucket.name": "arn:aws:s3:eu-west-1:123456789012:accesspoint/orders"},
            {},
            "orders-123456789012.s3-accesspoint.eu-west-1.amazonaws.com",
        ),
    ],
)
def test_endpoints_of_amazon(given: dict[str, str], connection: dict[str, str], host: str) -> None:
    """FIPS, dual-stack and access points have host names of their own; no request is sent here."""
    base = {**BASE, **KEYS, "s3.region": "us-east-1", **given}
    s3 = from_mapping(base, offline=True, aws_connection=connection).settings.s3
    asked: list[str] = []

    def keep(request: object, **_: object) -> None:
        asked.append(request.url)  # type: ignore[attr-defined]
        raise ConnectionError

    client = make_client(s3)
    client.meta.events.register("before-send.s3", keep)
    with pytest.raises(ConnectionError):
        client.get_object(Bucket=s3.bucket, Key="k")
    assert asked[0].startswith(f"https://{host}/")


# A class of the user's own.

VAULT = """
    import datetime
    from kafka_s3.errors import KafkaUnavailable, TemporaryError
    from kafka_s3.ports import AwsCredentials

    made, calls, script = [], [], []

    class Keys:
        def __init__(self, options):
            made.append(options)

        def credentials(self):
            calls.append(1)
            answer = script.pop(0) if script else AwsCredentials("AKIAVAULT", "s", "t")
            if isinstance(answer, Exception):
                raise answer
            return answer

    class NoOptions:
        def credentials(self):
            raise AssertionError

    class Other:
        pass
"""
PASSWORD = "hunter2"
OWN = {f"{PROVIDER}.class": "company_vault:Keys"}


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """A module of the user's."""
    import importlib
    import sys

    (tmp_path / "company_vault.py").write_text(textwrap.dedent(VAULT))
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("company_vault")
    del sys.modules["company_vault"]


def test_own_provider(aws: Aws, store_with: MakeStore, vault: object) -> None:
    """It is made with its properties and the keys, and asked once while its answer lasts."""
    options = {f"{PROVIDER}.vault.path": "aws/export", f"{PROVIDER}.sts.region": "eu"}
    for _ in range(2):
        store_with({**OWN, **options, **KEYS}).put_if_absent("k", b"body")
    assert vault.made == [  # type: ignore[attr-defined]
        {
            "vault.path": "aws/export",
            "sts.region": "eu",
            "aws.access.key.id": "AKIASTATIC",
            "aws.secret.access.key": "secret",
        }
    ]
    assert len(vault.calls) == 1  # type: ignore[attr-defined]
    assert aws.signers() == ["AKIAVAULT"] * 2
    assert [seen.headers["x-amz-security-token"] for seen in aws.seen] == ["t", "t"]


def test_own_provider_without_keys_and_token(aws: Aws, store_with: MakeStore, vault: object) -> None:
    """Keys that are not configured are absent, not blank; no token, none sent."""
    from kafka_s3.ports import AwsCredentials

    vault.script.append(AwsCredentials("AKIAVAULT", "s"))  # type: ignore[attr-defined]
    store_with(OWN).put_if_absent("k", b"body")
    assert vault.made == [{}]  # type: ignore[attr-defined]
    assert "x-amz-security-token" not in aws.seen[0].headers


def test_own_provider_is_asked_again_before_its_answer_expires(aws: Aws, store_with: MakeStore, vault: object) -> None:
    """The next answer signs the next request."""
    from kafka_s3.ports import AwsCredentials

    vault.script[:] = [  # type: ignore[attr-defined]
        AwsCredentials("AKIAONE", "s", "t", in_seconds(60)),
        AwsCredentials("AKIATWO", "s", "t", in_seconds(7200)),
    ]
    store = store_with(OWN)
    for _ in range(3):
        store.put_if_absent("k", b"body")
    assert aws.signers() == ["AKIAONE", "AKIATWO", "AKIATWO"]


def test_what_own_code_may_do_wrong(
    aws: Aws, store_with: MakeStore, vault: object, caplog: pytest.LogCaptureFixture
) -> None:
    """Each mistake is a message with the class's path and what is wrong; options are in none, nor in a traceback."""
    from kafka_s3.ports import AwsCredentials

    naive = datetime.datetime.now() + datetime.timedelta(hours=1)  # noqa: DTZ005  # the mistake
    for mistake, said in [
        (
            {"access_key": "x"},
            r"Keys.credentials must give kafka_s3.ports.AwsCredentials, and gave .*dict",
        ),
        (None, "and gave builtins.NoneType"),
        (AwsCredentials("", "s"), "blank access_key_id"),
        (AwsCredentials("a", "s", None, naive), "not a datetime with a time zone"),
        (
            KeyError(f"no such lease of {PASSWORD}"),
            r"Keys.credentials raised KeyError: .*\[hidden\].*company_vault.py, line \d+",
        ),
    ]:
        forget()
        vault.script[:] = [mistake]  # type: ignore[attr-defined]
        with pytest.raises(StoreRefused, match=said) as caught:
            store_with({**OWN, f"{PROVIDER}.password": PASSWORD}).put_if_absent("k", b"body")
        assert PASSWORD not in "".join(traceback.format_exception(caught.value)) + caplog.text
    forget()
    with pytest.raises(StoreRefused, match=r"company_vault:NoOptions raised TypeError"):
        store_with({f"{PROVIDER}.class": "company_vault:NoOptions"})
    assert aws.signers() == []


def test_own_trouble_with_the_network_is_tried_again(aws: Aws, store_with: MakeStore, vault: object) -> None:
    """An OSError or a temporary error of the class's is tried `s3.part.retries` times, then it is unavailable."""
    store = store_with(OWN)
    vault.script[:] = [ConnectionResetError("vault hung up")]  # type: ignore[attr-defined]
    assert store.put_if_absent("k", b"body") is Put.CREATED
    forget()
    vault.script[:] = [StoreUnavailable("vault is sealed"), TimeoutError("vault is slow")]  # type: ignore[attr-defined]
    with pytest.raises(StoreUnavailable, match="vault is slow.*2 tries"):
        store_with(OWN).put_if_absent("k", b"body")


def test_own_provider_reaches_a_spark_task(store_with: MakeStore, vault: object) -> None:
    """A store with a class of the user's own travels as its settings, options included, and shows none of them."""
    store = store_with({**OWN, f"{PROVIDER}.password": PASSWORD})
    again: S3Store = pickle.loads(pickle.dumps(store))
    assert again.put_if_absent("k", b"body") is Put.CREATED
    assert again._settings.credentials == UserDefinedProvider("company_vault:Keys", (("password", PASSWORD),))
    assert PASSWORD not in repr(again._settings)
