"""The object store over boto3: the only file that imports it.

The SDK's own retries are off: `retries.py` has them all. Its default checksums are off, too, because many stores
refuse them; the log holds the SHA-256 of every object. Importing this costs 0.3 s, so who may not need S3 imports it
late.
"""

from __future__ import annotations

import contextlib
import functools
import io
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import boto3.session
from botocore import exceptions as aws
from botocore.config import Config
from botocore.parsers import ResponseParserError
from urllib3.exceptions import HTTPError

from kafka_s3.errors import ExporterError, StoreRefused, StoreUnavailable
from kafka_s3.ports import ObjectInfo, Put
from kafka_s3.retries import Retrying
from kafka_s3.settings.model import S3Settings

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

CONNECT_TIMEOUT_S: Final = 10
READ_TIMEOUT_S: Final = 60
CHUNK_BYTES: Final = 1024 * 1024
PAGE_KEYS_MAX: Final = 1000  # S3's own maximum
PARTS_MAX: Final = 10_000  # S3's own maximum
# A smaller body is sent sooner than "100 Continue" is waited for.
EXPECT_BYTES_MIN: Final = 1024 * 1024

_LIBRARY_ERRORS: Final = (
    aws.BotoCoreError,
    aws.ClientError,
    aws.UndefinedModelAttributeError,
    ResponseParserError,
    HTTPError,  # urllib3's, out of a response body
    OSError,
)
_EXISTS: Final = ("PreconditionFailed", "412")
_MISSING: Final = ("NoSuchKey", "NotFound", "404")
_UPLOAD_MISSING: Final = ("NoSuchUpload",)
# What of the put arguments every other request has to say again, where it knows the name.
_REPEATED: Final = ("SSECustomerAlgorithm", "SSECustomerKey", "RequestPayer", "ExpectedBucketOwner")

_Answer = Mapping[str, Any]


class S3Store:
    """One bucket: an `ObjectStore`. Thread-safe; pickles as its settings.

    `on_request` is called with the operation's name ("PutObject") before each request, retries included.
    A task holds one body and, while it reads, one chunk of `CHUNK_BYTES`.
    """

    def __init__(self, settings: S3Settings, *, on_request: Callable[[str], None] | None = None) -> None:
        self._settings = settings
        self._on_request = on_request
        self._retrying = Retrying(settings.retry, retry_on=StoreUnavailable)
        try:
            self._client = _client(settings)
        except (*_LIBRARY_ERRORS, ValueError) as error:
            raise _translate(settings, error, "create_client", "") from error
        self._client.meta.events.register("before-call.s3", functools.partial(_plain_body, settings.expect_continue))
        if on_request is not None:
            # A handler that answered something would replace the request.
            self._client.meta.events.register(
                "before-send.s3", lambda event_name, **_: on_request(event_name.rpartition(".")[2])
            )

    def __reduce__(self) -> tuple[object, ...]:
        return functools.partial(S3Store, on_request=self._on_request), (self._settings,)

    def put_if_absent(self, key: str, body: bytes, *, metadata: Mapping[str, str] | None = None) -> Put:
        answer = self._call("put_object", key, _EXISTS, Body=body, IfNoneMatch="*", Metadata=dict(metadata or {}))
        return Put.EXISTS if "Error" in answer else Put.CREATED

    def get(self, key: str) -> bytes | None:
        def attempt() -> bytes | None:
            answer = self._try("get_object", key, _MISSING)
            return None if "Error" in answer else b"".join(self._chunks(answer, key))

        return self._retrying(attempt)

    def read(self, key: str) -> Iterator[bytes]:
        answer = self._call("get_object", key, _MISSING)
        if "Error" in answer:
            raise StoreRefused(f"s3://{self._settings.bucket}/{key} does not exist.")
        yield from self._chunks(answer, key)

    def head(self, key: str) -> ObjectInfo | None:
        """S3 answers a HEAD without a reason: a bucket that does not exist looks like a key that does not."""
        answer = self._call("head_object", key, _MISSING)
        return None if "Error" in answer else ObjectInfo(key, answer["ContentLength"], answer["Metadata"])

    def list(self, prefix: str, *, start_after: str = "", limit: int | None = None) -> Iterator[ObjectInfo]:
        # Code points and UTF-8 bytes sort alike, so Python's order of the keys is S3's.
        last, left = start_after, limit
        where: dict[str, Any] = {"StartAfter": start_after} if start_after else {}
        while left is None or left > 0:
            count = PAGE_KEYS_MAX if left is None else min(left, PAGE_KEYS_MAX)
            page = self._call("list_objects_v2", prefix, Prefix=prefix, MaxKeys=count, **where)
            for item in page.get("Contents", ()):
                if item["Key"] <= last:
                    raise _unordered(self._settings, last, item["Key"])
                last = item["Key"]
                yield ObjectInfo(last, item["Size"])
            if not page["IsTruncated"]:
                return
            left = None if left is None else left - count
            where = {"ContinuationToken": page["NextContinuationToken"]}

    def start_multipart(self, key: str) -> S3Upload:
        answer = self._call("create_multipart_upload", key)
        return S3Upload(self, key, answer["UploadId"])

    def _call(self, operation: str, key: str, expected: tuple[str, ...] = (), **arguments: Any) -> _Answer:
        """One request, retried; an error of S3 whose code is `expected` is an answer that holds "Error"."""
        return self._retrying(lambda: self._try(operation, key, expected, **arguments))

    def _try(self, operation: str, key: str, expected: tuple[str, ...], **arguments: Any) -> _Answer:
        fixed = self._fixed_arguments(operation)
        if "Prefix" not in arguments:
            fixed = {"Key": key, **fixed}
        with self._translated(operation, key):
            try:
                answer: _Answer = getattr(self._client, operation)(**fixed, **arguments)
            except aws.ClientError as error:
                if error.response["Error"].get("Code") not in expected:
                    raise
                return error.response
        return answer

    def _chunks(self, answer: _Answer, key: str) -> Iterator[bytes]:
        received = 0
        with contextlib.closing(answer["Body"]) as body, self._translated("get_object", key):
            for chunk in body.iter_chunks(CHUNK_BYTES):
                received += len(chunk)
                yield chunk
        if received != answer["ContentLength"]:
            what = f"s3://{self._settings.bucket}/{key}: {received} bytes of {answer['ContentLength']} came."
            raise StoreUnavailable(what, next="The answer was cut; try again.")

    def _fixed_arguments(self, operation: str) -> dict[str, Any]:
        arguments = self._settings.put_arguments
        if operation not in ("put_object", "create_multipart_upload"):
            shape = self._client.meta.service_model.operation_model(_api_name(operation)).input_shape
            assert shape is not None
            arguments = {name: arguments[name] for name in _REPEATED if name in arguments and name in shape.members}
        return {"Bucket": self._settings.bucket, **arguments}

    @contextlib.contextmanager
    def _translated(self, operation: str, key: str) -> Iterator[None]:
        try:
            yield
        except _LIBRARY_ERRORS as error:
            raise _translate(self._settings, error, operation, key) from error


class S3Upload:
    """A `MultipartUpload`: each part is one request, sent and retried before the next."""

    def __init__(self, store: S3Store, key: str, upload_id: str) -> None:
        self._store = store
        self._key = key
        self._upload_id = upload_id
        self._parts: list[dict[str, Any]] = []
        self._ended = False

    def put_part(self, body: bytes) -> None:
        assert not self._ended, f"{self._key}: a part after the end"
        number = len(self._parts) + 1
        if number > PARTS_MAX:
            what = f"s3://{self._store._settings.bucket}/{self._key} would have more than {PARTS_MAX} parts."
            raise StoreRefused(what, next="Raise s3.part.size or lower flush.size.")
        answer = self._call("upload_part", PartNumber=number, Body=body)
        self._parts.append({"PartNumber": number, "ETag": answer["ETag"]})

    def complete_if_absent(self) -> Put:
        assert self._parts, f"{self._key}: nothing to complete"
        assert not self._ended, f"{self._key}: completed twice"
        expected = (*_EXISTS, *_UPLOAD_MISSING)
        answer = self._call(
            "complete_multipart_upload", expected, MultipartUpload={"Parts": self._parts}, IfNoneMatch="*"
        )
        if "Error" not in answer:
            self._ended = True
            return Put.CREATED
        self.abort()
        if answer["Error"]["Code"] in _UPLOAD_MISSING and self._store.head(self._key) is None:
            what = f"The multipart upload of s3://{self._store._settings.bucket}/{self._key} is gone."
            raise StoreUnavailable(
                what, next="Somebody, or a lifecycle rule, aborted it; it is written anew by a retry."
            )
        # Another writer's object, or ours and the answer to the first try got lost: the caller compares.
        return Put.EXISTS

    def abort(self) -> None:
        """Delete the parts if the upload has not ended; never raises what the store says.

        It is called where something else has failed, and that error counts. Parts that stay cost storage until a
        lifecycle rule (AbortIncompleteMultipartUpload) deletes them.
        """
        if not self._ended:
            self._ended = True
            with contextlib.suppress(ExporterError):
                self._call("abort_multipart_upload", _UPLOAD_MISSING)

    def _call(self, operation: str, expected: tuple[str, ...] = (), **arguments: Any) -> _Answer:
        return self._store._call(operation, self._key, expected, UploadId=self._upload_id, **arguments)


_session_lock = threading.Lock()


@functools.cache
def _session() -> boto3.session.Session:
    # One for the process: its second client costs 10 ms, the first of each session 120.
    return boto3.session.Session()


def _client(settings: S3Settings) -> S3Client:
    proxies = {"http": settings.proxy_url, "https": settings.proxy_url} if settings.proxy_url else None
    # Where TLS guards the body the signature leaves it out: hashing it once more would cost 2.5 ms per MiB.
    plain = settings.endpoint_url is not None and settings.endpoint_url.startswith("http:")
    config = Config(
        connect_timeout=CONNECT_TIMEOUT_S,
        read_timeout=READ_TIMEOUT_S,
        retries={"total_max_attempts": 1, "mode": "standard"},
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        s3={"addressing_style": "path" if settings.path_style else "virtual", "payload_signing_enabled": plain},
        proxies=proxies,
    )
    with _session_lock:  # boto3's clients may be shared between threads, its sessions may not
        return _session().client(
            "s3",
            region_name=settings.region,
            endpoint_url=settings.endpoint_url,
            aws_access_key_id=settings.access_key_id,
            aws_secret_access_key=settings.secret_access_key,
            aws_session_token=settings.session_token,
            config=config,
        )


def _plain_body(expect_continue: bool, params: dict[str, Any], **_: Any) -> None:
    """Send a body in one piece, and let the store refuse a large one first (`s3.http.send.expect.continue`).

    boto3 makes a file of every body, sends it in pieces of 16 KiB and always waits for "100 Continue".
    """
    body = params.get("body")
    if isinstance(body, io.BytesIO):
        params["body"] = body.getvalue()
        params["headers"].pop("Expect", None)
        if expect_continue and len(params["body"]) >= EXPECT_BYTES_MIN:
            params["headers"]["Expect"] = "100-continue"


def _api_name(operation: str) -> str:
    """
    >>> _api_name("list_objects_v2")
    'ListObjectsV2'
    """
    return "".join(word.capitalize() for word in operation.split("_"))


# Codes whose status would say something else; what is not here follows its status.
_UNAVAILABLE_CODES: Final = frozenset(
    {"ExpiredToken", "ExpiredTokenException", "RequestExpired", "RequestTimeTooSkewed", "TokenRefreshRequired"}
    | {"RequestTimeout", "RequestTimeoutException", "IncompleteBody", "BadDigest", "XAmzContentSHA256Mismatch"}
    | {"SlowDown", "TooManyRequestsException", "RequestLimitExceeded", "BandwidthLimitExceeded", "InternalError"}
)
_CREDENTIAL_CODES: Final = frozenset({"InvalidAccessKeyId", "InvalidToken", "XAdminUserNotFound"})  # last: versitygw
_REGION_CODES: Final = frozenset(
    {"PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "301", "307"}
)
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
_PERMISSIONS: Final = {
    "put_object": "s3:PutObject",
    "create_multipart_upload": "s3:PutObject",
    "upload_part": "s3:PutObject",
    "complete_multipart_upload": "s3:PutObject",
    "abort_multipart_upload": "s3:AbortMultipartUpload",
    "get_object": "s3:GetObject, and s3:ListBucket without which S3 does not tell that a key is missing",
    "head_object": "s3:GetObject, and s3:ListBucket without which S3 does not tell that a key is missing",
    "list_objects_v2": "s3:ListBucket",
}


def _translate(settings: S3Settings, error: BaseException, operation: str, key: str) -> StoreRefused | StoreUnavailable:
    """Any error of boto3, botocore or urllib3 as ours; no secret of the settings is in its message."""
    place = f"s3://{settings.bucket}/{key}" if key else f"s3://{settings.bucket}"
    at = f" at {settings.endpoint_url}" if settings.endpoint_url else ""
    doing = f"{_api_name(operation)} {place}{at}"
    if isinstance(error, aws.ClientError):
        translated = _translate_answer(settings, error, operation, doing)
    else:
        translated = _translate_failure(error, doing)
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
    what = f"S3 answered {said} to {doing}: {message or 'no reason given'}".rstrip(".") + "."
    if code == "NoSuchBucket":
        what = f"The bucket {settings.bucket!r} does not exist ({doing})."
        return StoreRefused(what, next="Create it, or set s3.bucket.name, s3.region and store.url to where it is.")
    if code in _UNAVAILABLE_CODES or "Throttl" in code:
        return StoreUnavailable(what)
    if code == "NotImplemented" or status == 501:
        return StoreRefused(what, next="Use a store that has If-None-Match on PUT and on multipart completion.")
    if code in _REGION_CODES or status in (301, 307):
        return StoreRefused(
            what, next=f"The bucket is not in s3.region={settings.region}: set its region or store.url."
        )
    if status in (401, 403) or code in _CREDENTIAL_CODES:
        tried = _credentials(settings)
        need = _PERMISSIONS.get(operation, "access")
        return StoreRefused(f"{what} Tried with {tried}.", next=f"Correct the credentials, or allow them {need}.")
    # 409 is a concurrent change (ConditionalRequestConflict, OperationAborted).
    if status >= 500 or status in (408, 409, 425, 429):
        return StoreUnavailable(what)
    return StoreRefused(what)


def _translate_failure(error: BaseException, doing: str) -> StoreRefused | StoreUnavailable:
    """No answer, or none that could be read."""
    kind = type(error).__name__
    what = f"{doing}: {kind}: {error}".rstrip(".") + "."
    if isinstance(error, aws.NoCredentialsError | aws.PartialCredentialsError):
        hint = "Set aws.access.key.id and aws.secret.access.key, or give the environment a profile or role."
        return StoreRefused(f"No credentials to {doing}: {error}", next=hint)
    if isinstance(error, aws.SSLError) and "CERTIFICATE_VERIFY_FAILED" in str(error):
        return StoreRefused(what, next="Trust the store's certificate: name its CA's file in AWS_CA_BUNDLE.")
    if isinstance(error, aws.InvalidProxiesConfigError):
        return StoreRefused(what, next="Correct s3.proxy.url.")
    if isinstance(error, _TEMPORARY):
        unreachable = isinstance(error, aws.ConnectionError)
        return StoreUnavailable(
            what, next="Check that the store runs and that store.url names it." if unreachable else ""
        )
    if isinstance(error, ValueError):  # boto3 has no class of its own for an endpoint that is no URL
        return StoreRefused(what, next="Correct store.url (https://host:port) and s3.region.")
    return StoreRefused(what)


def _credentials(settings: S3Settings) -> str:
    if settings.access_key_id is None:
        return "the credentials of the AWS default chain (environment, profile, role)"
    return f"access key {settings.access_key_id[:4]}… of the configuration"


def _secrets(settings: S3Settings) -> Iterator[str]:
    candidates = (
        settings.secret_access_key,
        settings.session_token,
        settings.proxy_url,
        settings.put_arguments.get("SSECustomerKey"),
    )
    yield from (secret for secret in candidates if secret)


def _unordered(settings: S3Settings, last: str, key: str) -> StoreRefused:
    return StoreRefused(
        f"s3://{settings.bucket} lists its keys out of order: {key!r} after {last!r}.",
        next="The newest commit is found by order: use a general purpose bucket (directory buckets have no order).",
    )
