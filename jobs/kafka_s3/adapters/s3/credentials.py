"""With whose keys requests are signed: the machine's, a role's, or those of a class of the user's own.

Keys that expire are asked for again before they do (botocore's refreshable credentials), in the middle of an upload
if need be. One set is kept per process and configuration: a role is not assumed anew for every range.
"""

from __future__ import annotations

import datetime
import functools
import json
import logging
import os
import traceback
from collections.abc import Callable
from typing import Any, Final, assert_never

import botocore.credentials
import botocore.session
from boto3.session import Session
from botocore.config import Config
from botocore.credentials import (
    AssumeRoleCredentialFetcher,
    AssumeRoleWithWebIdentityCredentialFetcher,
    CredentialResolver,
    DeferredRefreshableCredentials,
)
from botocore.utils import FileWebIdentityTokenLoader

from kafka_s3 import user_defined
from kafka_s3.errors import ConfigurationError, StoreRefused, StoreUnavailable, TemporaryError
from kafka_s3.ports import AwsCredentials
from kafka_s3.settings.credentials import Anonymous, AssumeRole, Chain, UserDefinedProvider
from kafka_s3.settings.s3 import S3Settings

#: botocore's names of the links of its chain.
_LINKS: Final = {
    Chain.ENVIRONMENT: {"env"},
    Chain.PROFILE: {"assume-role", "shared-credentials-file", "config-file", "custom-process", "sso", "login"},
    Chain.CONTAINER: {"container-role"},
    Chain.INSTANCE: {"iam-role"},
    Chain.CONTAINER_OR_INSTANCE: {"container-role", "iam-role"},
    Chain.WEB_IDENTITY: {"assume-role-with-web-identity"},
}
_STS: Final = Config(connect_timeout=10, read_timeout=30, retries={"total_max_attempts": 1, "mode": "standard"})
_NEVER: Final = datetime.datetime(9999, 12, 31, tzinfo=datetime.UTC)

_Keys = tuple[str | None, str | None, str | None]
_Metadata = dict[str, Any]  # botocore's: access_key, secret_key, token, expiry_time


def session_for(settings: S3Settings) -> Session:
    """The session whose credentials are those of the settings. Sessions are for one thread at a time."""
    match settings.credentials:
        case Chain.DEFAULT | Anonymous():
            return _default_session()
        case Chain() as chain:
            return _default_session() if settings.access_key_id else _chain_session(chain, settings.region)
        case AssumeRole() as role:
            how = settings.use_fips, settings.use_dualstack
            return _role_session(role, _keys(settings), settings.region, how)
        case UserDefinedProvider() as own:
            return _own_session(own, _keys(settings))
        case _:
            assert_never(settings.credentials)


def _keys(settings: S3Settings) -> _Keys:
    return settings.access_key_id, settings.secret_access_key, settings.session_token


@functools.cache
def _default_session() -> Session:
    # One for the process: its second client costs 10 ms, the first of each session 120.
    return Session()


@functools.lru_cache(maxsize=16)
def _chain_session(chain: Chain, region: str) -> Session:
    session = botocore.session.Session()
    links = botocore.credentials.create_credential_resolver(session, region_name=region).providers
    found = CredentialResolver([link for link in links if link.METHOD in _LINKS[chain]])
    session.register_component("credential_provider", found)
    return Session(botocore_session=session)


@functools.lru_cache(maxsize=16)
def _role_session(role: AssumeRole, keys: _Keys, region: str, sts: tuple[bool | None, bool | None]) -> Session:
    """STS is reached as the environment says (HTTPS_PROXY, AWS_ENDPOINT_URL_STS): `s3.proxy.url` is for S3. `sts`:
    whether by its FIPS and dual-stack endpoints."""
    who = {"RoleSessionName": role.session_name, **(json.loads(role.arguments) if role.arguments else {})}
    if role.external_id is not None:
        who["ExternalId"] = role.external_id
    fips, dualstack = sts
    config = _STS.merge(Config(use_fips_endpoint=fips, use_dualstack_endpoint=dualstack))

    def load() -> object | None:
        base = botocore.session.Session()
        access_key_id, secret_access_key, session_token = keys
        if access_key_id is not None and secret_access_key is not None:
            base.set_credentials(access_key_id, secret_access_key, session_token)

        def client(service: str, **more: Any) -> Any:
            merged = config.merge(more.pop("config", None) or Config())  # a web identity brings one: it signs nothing
            more |= {"region_name": role.region or region, "endpoint_url": role.endpoint}
            return base.create_client(service, config=merged, **more)

        if role.by_web_identity:
            token = FileWebIdentityTokenLoader(_token_file(role))
            by_token = AssumeRoleWithWebIdentityCredentialFetcher(client, token, role.arn, extra_args=who)
            return _refreshable("assume-role-with-web-identity", by_token.fetch_credentials)
        source = base.get_credentials()
        if source is None:
            return None
        fetcher = AssumeRoleCredentialFetcher(client, source, role.arn, extra_args=who)
        return _refreshable("assume-role", fetcher.fetch_credentials)

    return _session_with("assume-role", load)


def _token_file(role: AssumeRole) -> str:
    path = role.token_file or os.environ.get("AWS_WEB_IDENTITY_TOKEN_FILE")
    if not path:
        raise StoreRefused(
            f"{role.arn} is assumed with a web identity token, and no file of one is set.",
            next="Set assume_role_with_web_identity_token_file in the connection, or AWS_WEB_IDENTITY_TOKEN_FILE.",
        )
    return path


@functools.lru_cache(maxsize=16)
def _own_session(own: UserDefinedProvider, keys: _Keys) -> Session:
    options = dict(own.options)
    if keys[0] is not None and keys[1] is not None:
        options |= {"aws.access.key.id": keys[0], "aws.secret.access.key": keys[1]}

    def load() -> object:
        provider = _called(own, own.path, _found(own), options)
        return _refreshable(own.path, lambda: _asked(own, provider))

    return _session_with(own.path, load)


class _Link(botocore.credentials.CredentialProvider):
    """A chain of one link."""

    def __init__(self, method: str, load: Callable[[], object | None]) -> None:
        super().__init__()
        self.METHOD = method
        self._load = load

    def load(self) -> object | None:
        return self._load()


def _session_with(method: str, load: Callable[[], object | None]) -> Session:
    session = botocore.session.Session()
    session.register_component("credential_provider", CredentialResolver([_Link(method, load)]))
    return Session(botocore_session=session)


def _refreshable(method: str, fetch: Callable[[], _Metadata]) -> DeferredRefreshableCredentials:
    def checked() -> _Metadata:
        metadata = fetch()
        expires = datetime.datetime.fromisoformat(metadata["expiry_time"])
        now = datetime.datetime.now(datetime.UTC)
        if expires <= now:
            raise StoreUnavailable(
                f"The credentials of {method} expired at {expires.isoformat()}; it is {now.isoformat()} here.",
                next="Check this machine's clock.",
            )
        return metadata

    return DeferredRefreshableCredentials(refresh_using=checked, method=method)


def _found(own: UserDefinedProvider) -> type:
    try:
        return user_defined.find_class(own.path, *user_defined.CREDENTIALS_PROVIDER)
    except ConfigurationError as error:
        raise StoreRefused(error.what, next="Correct s3.credentials.provider.class.") from error


def _asked(own: UserDefinedProvider, provider: Any) -> _Metadata:
    answer = _called(own, f"{own.path}.credentials", provider.credentials)
    if not isinstance(answer, AwsCredentials):
        kind = f"{type(answer).__module__}.{type(answer).__qualname__}"
        raise StoreRefused(f"{own.path}.credentials must give kafka_s3.ports.AwsCredentials, and gave {kind}.")
    expires_at = answer.expires_at or _NEVER
    if not isinstance(expires_at, datetime.datetime) or expires_at.tzinfo is None:
        raise StoreRefused(f"{own.path}.credentials gave an expires_at that is not a datetime with a time zone.")
    if not answer.access_key_id or not answer.secret_access_key:
        raise StoreRefused(f"{own.path}.credentials gave a blank access_key_id or secret_access_key.")
    return {
        "access_key": answer.access_key_id,
        "secret_key": answer.secret_access_key,
        "token": answer.session_token,
        "expiry_time": expires_at.isoformat(),
    }


def _called(own: UserDefinedProvider, name: str, function: Callable[..., Any], *arguments: object) -> Any:
    """What the user's code answers; its own network trouble is tried again, anything else it raises is final.

    What it raised is not passed on as a cause, since the options may stand in it, but the place is.
    """
    try:
        return user_defined.call(name, function, *arguments)
    except ConfigurationError as error:
        cause = error.__cause__
        assert cause is not None
        where = traceback.extract_tb(cause.__traceback__)[-1]
        what = f"{error.what} ({where.filename}, line {where.lineno})"
        for secret in own.secrets():
            what = what.replace(secret, "[hidden]")
        if isinstance(cause, OSError | TemporaryError):
            raise StoreUnavailable(what) from None
        raise StoreRefused(what, next=f"s3.credentials.provider.class={own.path} is a class of your own.") from None


def _without_traceback(record: logging.LogRecord) -> bool:
    """botocore logs why keys could not be had again, with a traceback that may hold what nobody should see."""
    record.exc_info = None
    return True


logging.getLogger("botocore.credentials").addFilter(_without_traceback)
