"""What the errors of boto3, botocore and urllib3 mean: refused, or unavailable for now. No secret gets into them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from botocore import exceptions as aws
from botocore.parsers import ResponseParserError
from urllib3.exceptions import HTTPError

from kafka_s3.adapters.retry_policy import S3, Again, again
from kafka_s3.errors import StoreRefused, StoreUnavailable
from kafka_s3.settings.credentials import Anonymous, AssumeRole, Chain, UserDefinedProvider
from kafka_s3.settings.s3 import S3Settings

LIBRARY_ERRORS: Final = (
    aws.BotoCoreError,
    aws.ClientError,
    aws.UndefinedModelAttributeError,
    ResponseParserError,
    HTTPError,  # urllib3's, out of a response body
    OSError,
)


def api_name(operation: str) -> str:
    """
    >>> api_name("list_objects_v2")
    'ListObjectsV2'
    """
    return "".join(word.capitalize() for word in operation.split("_"))


_CREDENTIAL_CODES: Final = frozenset({"InvalidAccessKeyId", "InvalidToken", "XAdminUserNotFound"})  # last: versitygw
_REGION_CODES: Final = frozenset(
    {"PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "301", "307"}
)
_RENEW: Final = (
    "The credentials have expired. Renew those that were set by hand (AWS_SESSION_TOKEN, the Airflow connection, `aws"
    " sso login`); a role, of the machine or assumed (s3.credentials.provider.class), renews its own."
)
_CLOCK: Final = "This machine's clock and the store's differ by more than 15 minutes: set the wrong one (NTP)."
#: What to do where trying again alone cures nothing.
_CURES: Final = {
    "ExpiredToken": _RENEW,
    "ExpiredTokenException": _RENEW,
    "TokenRefreshRequired": _RENEW,
    "RequestTimeTooSkewed": _CLOCK,
    "RequestExpired": _CLOCK,
}
#: No answer, or none that can be read: tried again.
_TEMPORARY: Final = (
    aws.HTTPClientError,
    aws.ConnectionError,
    aws.IncompleteReadError,
    aws.ChecksumError,
    aws.FlexibleChecksumError,
    aws.MetadataRetrievalError,
    aws.CredentialRetrievalError,
    aws.TokenRetrievalError,
    ResponseParserError,
    HTTPError,
    OSError,
)


def is_temporary(error: BaseException) -> bool:
    """Whether it means no answer, or none that can be read: the same request may pass."""
    return isinstance(error, _TEMPORARY)


_PERMISSIONS: Final = {
    "put_object": "s3:PutObject",
    "create_multipart_upload": "s3:PutObject",
    "upload_part": "s3:PutObject",
    "complete_multipart_upload": "s3:PutObject",
    "abort_multipart_upload": "s3:AbortMultipartUpload",
    "list_multipart_uploads": "s3:ListBucketMultipartUploads",
    "delete_object": "s3:DeleteObject",
    "get_object": "s3:GetObject, and s3:ListBucket without which S3 does not tell that a key is missing",
    "head_object": "s3:GetObject, and s3:ListBucket without which S3 does not tell that a key is missing",
    "list_objects_v2": "s3:ListBucket",
    "put_object_tagging": "s3:PutObjectTagging",
}


def translate(settings: S3Settings, error: BaseException, operation: str, key: str) -> StoreRefused | StoreUnavailable:
    """Any error of boto3, botocore or urllib3 as ours; no secret of the settings is in its message."""
    place = f"s3://{settings.bucket}/{key}" if key else f"s3://{settings.bucket}"
    at = f" at {settings.endpoint_url}" if settings.endpoint_url else ""
    doing = f"{api_name(operation)} {place}{at}"
    if isinstance(error, aws.ClientError):
        translated = _translate_answer(settings, error, operation, doing)
    else:
        translated = _translate_failure(settings, error, doing)
    for secret in _secrets(settings):
        translated.what = translated.what.replace(secret, "[hidden]")
        translated.next = translated.next.replace(secret, "[hidden]")
    return translated


def _translate_answer(
    settings: S3Settings, error: aws.ClientError, operation: str, doing: str
) -> StoreRefused | StoreUnavailable:
    """An answer of the store that is an error, by its code first: a 200 may carry one, and a 403 may be a clock."""
    code = str(error.response.get("Error", {}).get("Code", ""))
    message = str(error.response.get("Error", {}).get("Message", ""))
    status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    said = f"{status} {code}" if code != str(status) else code  # a HEAD's answer has no code
    asked = error.operation_name
    if asked and asked != api_name(operation):  # credentials are asked for on the way to S3
        what = f"AWS answered {said} to {asked}, for {doing}: {message or 'no reason given'}".rstrip(".") + "."
        if again(S3, code, status) is Again.YES:
            return StoreUnavailable(what, next=_CURES.get(code, ""))
        return StoreRefused(what, next=f"The export uses {_credentials(settings)}: allow them {asked}.")
    what = f"S3 answered {said} to {doing}: {message or 'no reason given'}".rstrip(".") + "."
    if code == "NoSuchBucket":
        what = f"The bucket {settings.bucket!r} does not exist ({doing})."
        return StoreRefused(what, next="Create it, or set s3.bucket.name, s3.region and store.url to where it is.")
    if again(S3, code, status) is Again.YES:
        return StoreUnavailable(what, next=_CURES.get(code, ""))
    if code == "NotImplemented" or status == 501:
        return StoreRefused(what, next="Use a store that has If-None-Match on PUT and on multipart completion.")
    if code in _REGION_CODES or status in (301, 302, 307):
        return StoreRefused(
            what, next=f"The bucket is not in s3.region={settings.region}: set its region or store.url."
        )
    if status in (401, 403) or code in _CREDENTIAL_CODES:
        tried, need = _credentials(settings), _needed(settings, operation)
        return StoreRefused(f"{what} Tried with {tried}.", next=f"Correct the credentials, or allow them {need}.")
    return StoreRefused(what)


def _translate_failure(settings: S3Settings, error: BaseException, doing: str) -> StoreRefused | StoreUnavailable:
    """No answer, or none that could be read."""
    kind = type(error).__name__
    what = f"{doing}: {kind}: {error}".rstrip(".") + "."
    if isinstance(error, aws.NoCredentialsError | aws.PartialCredentialsError):
        hint = "Set aws.access.key.id and aws.secret.access.key, or give the environment a profile or role."
        where = "" if settings.credentials is Chain.DEFAULT else f" Looked for {_credentials(settings)}."
        return StoreRefused(f"No credentials to {doing}: {error}{where}", next=hint)
    if isinstance(error, aws.SSLError) and "CERTIFICATE_VERIFY_FAILED" in str(error):
        return StoreRefused(what, next="Trust the store's certificate: name its CA's file in AWS_CA_BUNDLE.")
    if isinstance(error, aws.InvalidProxiesConfigError):
        return StoreRefused(what, next="Correct s3.proxy.url.")
    if isinstance(error, _TEMPORARY):
        unreachable = isinstance(error, aws.ConnectionError)
        return StoreUnavailable(
            what, next="Check that the store runs and that store.url names it." if unreachable else ""
        )
    if isinstance(error, ValueError):  # boto3 has no class of its own for an endpoint that is not a URL
        return StoreRefused(what, next="Correct store.url (https://host:port) and s3.region.")
    return StoreRefused(what)


def _needed(settings: S3Settings, operation: str) -> str:
    """The permissions that a request asks for."""
    needed = [_PERMISSIONS.get(operation, "access")]
    if operation in ("put_object", "create_multipart_upload"):
        if "ACL" in settings.put_arguments:
            needed.append("s3:PutObjectAcl")
        if settings.tagging is not None and operation == "put_object":
            needed.append("s3:PutObjectTagging")
        if "SSEKMSKeyId" in settings.put_arguments:
            needed.append("kms:GenerateDataKey")
    return ", ".join(needed)


def _credentials(settings: S3Settings) -> str:
    """What requests are signed with, in words."""
    match settings.credentials:
        case AssumeRole(arn):
            return f"the role {arn}"
        case UserDefinedProvider(path):
            return f"the credentials of {path}"
    if settings.access_key_id is not None:
        return f"access key {settings.access_key_id[:4]}… of the configuration"
    match settings.credentials:
        case Anonymous():
            return "no credentials (AnonymousCredentialsProvider)"
        case Chain() as chain:
            return f"the credentials of {chain.value}"


def _secrets(settings: S3Settings) -> Iterator[str]:
    candidates = (
        settings.secret_access_key,
        settings.session_token,
        settings.proxy_url,
        settings.put_arguments.get("SSECustomerKey"),
    )
    yield from (secret for secret in candidates if secret)
    if isinstance(settings.credentials, UserDefinedProvider):
        yield from settings.credentials.secrets()
