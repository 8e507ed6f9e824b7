"""What goes wrong between the exporter and S3, as the exporter says it."""

from __future__ import annotations

import inspect
import string
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import botocore.exceptions
import botocore.parsers
import pytest
import urllib3.exceptions

from kafka_s3.adapters.retry_policy import S3, Again
from kafka_s3.adapters.s3 import S3Store
from kafka_s3.errors import ExporterError, StoreRefused, StoreUnavailable
from kafka_s3.ports import OpenUpload
from kafka_s3.settings.s3 import RetrySettings, S3Settings
from tests.adapters.loopback import CREATED_UPLOAD, PART, ScriptedServer, answer, refusal

SECRET = "SeCrEtSeCrEt"
SETTINGS = S3Settings(
    bucket="lake",
    region="eu-west-1",
    endpoint_url="http://127.0.0.1:9",
    access_key_id="AKIAEXAMPLE",
    secret_access_key=SECRET,
    retry=RetrySettings(retries=2, backoff_ms=0),
)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    scripted = ScriptedServer()
    yield scripted
    scripted.stop()


@pytest.fixture
def store(server: ScriptedServer) -> S3Store:
    return S3Store(replace(SETTINGS, endpoint_url=server.url))


# Every error is translated


def made(kind: type[Exception]) -> Exception:
    """An instance of an error class of botocore or urllib3, with everything its message needs."""
    if issubclass(kind, botocore.exceptions.ClientError):
        return kind({"Error": {"Code": "Odd", "Message": "m"}}, "PutObject")
    if kind.__module__.startswith("botocore."):
        fields = {name: "x" for _, name, _, _ in string.Formatter().parse(getattr(kind, "fmt", "")) if name}
        return kind(**fields, **({"last_response": {}} if kind is botocore.exceptions.WaiterError else {}))
    wanted = [name for name in inspect.signature(kind.__init__).parameters if name not in ("self", "args", "kwargs")]
    given = {"response": SimpleNamespace(tell=lambda: 1, length_remaining=1), "length": b"1"}
    return kind(**{name: given.get(name, 1) for name in wanted})


def error_classes() -> list[type[Exception]]:
    """Every error class that botocore and urllib3 define for requests and answers, and the ones under the former."""
    found = [kind for _, kind in inspect.getmembers(botocore.exceptions, inspect.isclass)]
    found += [kind for _, kind in inspect.getmembers(urllib3.exceptions, inspect.isclass)]
    roots = (urllib3.exceptions.HTTPError, OSError)
    return [
        kind
        for kind in [*found, botocore.parsers.ResponseParserError, ConnectionResetError, TimeoutError]
        if not issubclass(kind, Warning)
        and (issubclass(kind, roots) or (issubclass(kind, Exception) and kind.__module__.startswith("botocore.")))
    ]


OPERATIONS: dict[str, Callable[[S3Store], object]] = {
    "put_object": lambda store: store.put_if_absent("k", b""),
    "get_object": lambda store: store.get("k"),
    "head_object": lambda store: store.head("k"),
    "list_objects_v2": lambda store: list(store.list("")),
    "create_multipart_upload": lambda store: store.start_multipart("k"),
}


@pytest.mark.parametrize("kind", error_classes(), ids=lambda kind: f"{kind.__module__}.{kind.__name__}")
def test_no_library_error_leaks(kind: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever class botocore or urllib3 raises, the exporter raises one of its two, and the message is not empty."""
    store = S3Store(replace(SETTINGS, retry=RetrySettings(0, 0)))

    def fail(**_: object) -> None:
        raise made(kind)

    meta = store._client.meta
    monkeypatch.setattr(store, "_client", SimpleNamespace(meta=meta, **dict.fromkeys(OPERATIONS, fail)))
    for operation in OPERATIONS.values():
        with pytest.raises((StoreRefused, StoreUnavailable)) as caught:
            operation(store)
        assert "s3://lake" in str(caught.value)


@pytest.mark.parametrize(
    ("status", "code", "expected", "words"),
    [
        (404, "NoSuchBucket", StoreRefused, "bucket 'lake' does not exist"),
        (403, "AccessDenied", StoreRefused, "s3:PutObject"),
        (403, "InvalidAccessKeyId", StoreRefused, "access key AKIA…"),
        (403, "SignatureDoesNotMatch", StoreRefused, "access key AKIA…"),
        (403, "RequestTimeTooSkewed", StoreUnavailable, "403 RequestTimeTooSkewed"),
        (400, "ExpiredToken", StoreUnavailable, "400 ExpiredToken"),
        (400, "RequestTimeout", StoreUnavailable, "400 RequestTimeout"),
        (400, "KMS.ThrottlingException", StoreUnavailable, "Throttling"),
        (409, "ConditionalRequestConflict", StoreUnavailable, "409 ConditionalRequestConflict"),
        (409, "OperationAborted", StoreUnavailable, "409 OperationAborted"),
        (429, "TooManyRequests", StoreUnavailable, "429"),
        (500, "InternalError", StoreUnavailable, "500 InternalError"),
        (503, "SlowDown", StoreUnavailable, "503 SlowDown"),
        (501, "NotImplemented", StoreRefused, "If-None-Match"),
        (400, "AuthorizationHeaderMalformed", StoreRefused, "s3.region=eu-west-1"),
        (400, "EntityTooLarge", StoreRefused, "400 EntityTooLarge"),
    ],
)
def test_answers(
    server: ScriptedServer, store: S3Store, status: int, code: str, expected: type[ExporterError], words: str
) -> None:
    """An error of S3 is temporary, and tried 1 + retries times, or final, and tried once; the message tells which."""
    server.answers = [refusal(status, code)] * 3
    with pytest.raises(expected) as caught:
        store.put_if_absent("topics/k", b"x")
    assert type(caught.value) is expected
    assert words in str(caught.value)
    assert len(server.seen) == (3 if expected is StoreUnavailable else 1)
    assert ("(3 tries)" in str(caught.value)) == (expected is StoreUnavailable)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("ExpiredToken", "The credentials have expired. Renew"),
        ("TokenRefreshRequired", "The credentials have expired. Renew"),
        ("RequestTimeTooSkewed", "clock and the store's differ by more than 15 minutes"),
        ("RequestExpired", "clock and the store's differ by more than 15 minutes"),
    ],
)
def test_answers_that_time_alone_cures_not(server: ScriptedServer, store: S3Store, code: str, words: str) -> None:
    """They are tried again, since somebody may renew a token or set a clock; the message says that somebody has to."""
    server.answers = [refusal(403, code)] * 3
    with pytest.raises(StoreUnavailable) as caught:
        store.put_if_absent("topics/k", b"x")
    assert words in caught.value.next


@pytest.mark.parametrize("status", [301, 302, 307])
def test_a_store_that_redirects_for_ever(status: int) -> None:
    """botocore asks for the bucket's region, is redirected again, asks again: once is enough, and then it is said."""
    server = ScriptedServer(lambda _: answer(status, **{"x-amz-bucket-region": "us-west-2", "Location": "/"}))
    try:
        store = S3Store(replace(SETTINGS, endpoint_url=server.url))
        with pytest.raises(StoreRefused) as caught:
            list(store.list("topics/"))
    finally:
        server.stop()
    assert "set its region or store.url" in caught.value.next
    assert len(server.seen) < 10


ROWS = [(row, S3[row]) for row in S3]


@pytest.mark.parametrize("status", [200, 400, 503])
@pytest.mark.parametrize(("code", "expected"), [row for row in ROWS if isinstance(row[0], str)])
def test_every_code_of_the_table(
    server: ScriptedServer, store: S3Store, code: str, expected: Again, status: int
) -> None:
    """A code that the table says is to be tried again is sent 1 + retries times, a final one once, under any status."""
    server.answers = [refusal(status, code)] * 3
    with pytest.raises(StoreUnavailable if expected is Again.YES else StoreRefused):
        store.delete("k")
    sent = [seen for seen in server.seen if seen.method == "DELETE"]  # botocore looks for the bucket's region, once
    assert len(sent) == (3 if expected is Again.YES else 1)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        *[row for row in ROWS if isinstance(row[0], int)],
        *[(status, Again.YES) for status in (500, 502, 503, 504, 509, 599)],
        *[(status, Again.NO) for status in (400, 401, 403, 405, 406, 410, 411, 413, 416, 422)],
    ],
)
@pytest.mark.parametrize("code", ["", "NeverHeardOf"])
def test_every_status_of_the_table(
    server: ScriptedServer, store: S3Store, status: int, expected: Again, code: str
) -> None:
    """Where the code says nothing, or there is none (a HEAD, a gateway's page), the status decides."""
    server.answers = [refusal(status, code) if code else answer(status)] * 3
    with pytest.raises(StoreUnavailable if expected is Again.YES else StoreRefused, match=str(status)):
        store.delete("k")
    assert len(server.seen) == (3 if expected is Again.YES else 1)


NO_ANSWERS: dict[str, bytes | None] = {
    "hangs up": None,
    "noise": b"\x00\x01\x02 noise\r\n\r\n",
    "half a header": b"HTTP/1.1 200 OK\r\nContent-Le",
    "half a body": answer(200, b"<ListBucketResult>", length=1000),
    "half a chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n<ListBucketResult>",
    "half a document": answer(200, b"<ListBucketResult><Contents>"),
    "an empty document": answer(200),
    "another document": answer(200, b"<html><body>Please log in.</body></html>"),
    "half an error": answer(503, b"<Error><Code>Slow"),
    "an error that is a page": answer(502, b"<html><body><h1>Bad gateway</h1></body></html>"),
}


@pytest.mark.parametrize("kind", NO_ANSWERS)
def test_what_is_no_answer_is_tried_again(server: ScriptedServer, store: S3Store, kind: str) -> None:
    """No answer, half of one, or something else's: it is asked again, and never taken for an empty list."""
    empty = b"<R><IsTruncated>false</IsTruncated></R>"
    for look in (store.list, store.uploads):
        server.answers = [NO_ANSWERS[kind], NO_ANSWERS[kind], answer(200, empty)]
        assert list(look("")) == []
        server.answers = [NO_ANSWERS[kind]] * 3
        with pytest.raises(StoreUnavailable, match="3 tries"):
            list(look(""))
    assert len(server.seen) == 12


@pytest.mark.parametrize(("status", "code"), [(404, "NoSuchUpload"), (400, "RequestTimeout"), (403, "AccessDenied")])
@pytest.mark.parametrize("kept", [0, 10, -1])
def test_half_an_error_is_no_error(server: ScriptedServer, store: S3Store, status: int, code: str, kept: int) -> None:
    """An error whose end is missing may have lost what it is: it is asked for again, and the whole one counts."""
    document = f"<Error><Code>{code}</Code></Error>".encode()
    half = answer(status, document[:kept], length=len(document))
    server.answers = [half, half, answer(204)]
    store.abort_upload(OpenUpload("k", "u1"))
    server.answers = [half] * 3
    with pytest.raises(StoreUnavailable, match=r"IncompleteRead.*3 tries"):
        store.abort_upload(OpenUpload("k", "u1"))
    assert len(server.seen) == 6


@pytest.mark.parametrize("body", [b"", b"<html>Please log in.</html>"])
def test_success_without_what_belongs_to_it(server: ScriptedServer, store: S3Store, body: bytes) -> None:
    """A 200 without the upload's id or an ETag (a proxy's page) is no success of a write: it is tried again."""
    server.answers = [answer(200, body)] * 3
    with pytest.raises(StoreUnavailable, match="no ETag"):
        store.put_if_absent("k", b"x")
    server.answers = [answer(200, body)] * 3
    with pytest.raises(StoreUnavailable, match="no UploadId"):
        store.start_multipart("k")
    server.answers = [CREATED_UPLOAD, *[answer(200, body)] * 3]
    upload = store.start_multipart("k")
    with pytest.raises(StoreUnavailable, match="no ETag"):
        upload.put_part(b"x")
    server.answers = [CREATED_UPLOAD, PART, *[answer(200, body)] * 3]
    upload = store.start_multipart("k")
    upload.put_part(b"x")
    with pytest.raises(StoreUnavailable, match="no ETag"):
        upload.complete_if_absent()


def test_a_list_of_uploads_that_goes_round(server: ScriptedServer, store: S3Store) -> None:
    """A store whose next page is the same page again is refused, after the second look."""
    page = (
        b"<R><IsTruncated>true</IsTruncated><NextKeyMarker>a</NextKeyMarker><NextUploadIdMarker>1</NextUploadIdMarker>"
    )
    server.answers = [answer(200, page + b"<Upload><Key>a</Key><UploadId>1</UploadId></Upload></R>")] * 9
    with pytest.raises(StoreRefused, match="again and again"):
        list(store.uploads(""))
    assert len(server.seen) == 2


PERMISSIONS: dict[str, Callable[[S3Store], object]] = {
    "s3:DeleteObject": lambda store: store.delete("k"),
    "s3:ListBucketMultipartUploads": lambda store: list(store.uploads("p/")),
    "s3:AbortMultipartUpload": lambda store: store.abort_upload(OpenUpload("k", "u1")),
    "s3:ListBucket": lambda store: list(store.list("p/")),
    "s3:GetObject": lambda store: store.get("k"),
    "s3:PutObjectTagging": lambda store: store.put_tags("k", {"a": "b"}),
}


@pytest.mark.parametrize("permission", PERMISSIONS)
def test_a_permission_that_is_missing_has_a_name(server: ScriptedServer, store: S3Store, permission: str) -> None:
    """A 403 is final, says what the credentials need, and for garbage collection that is more than for an export."""
    server.answers = [refusal(403, "AccessDenied")]
    with pytest.raises(StoreRefused, match=rf"allow them {permission}\b"):
        PERMISSIONS[permission](store)
    assert len(server.seen) == 1


def test_delete_where_missing_is_an_error(server: ScriptedServer, store: S3Store) -> None:
    """Amazon's answer to a missing key is 204; a store that says 404 says the same. A missing bucket is refused."""
    server.answers = [refusal(404, "NoSuchKey"), answer(404)]
    store.delete("k")
    store.delete("k")
    server.answers = [refusal(404, "NoSuchBucket")]
    with pytest.raises(StoreRefused, match="bucket 'lake' does not exist"):
        store.delete("k")


def test_all_calls_of_a_store_share_an_hour(server: ScriptedServer) -> None:
    """A store that has been ill for an hour of a process gets one request a call from then on, and a note says why."""
    store = S3Store(replace(SETTINGS, endpoint_url=server.url))
    store._retrying._budget.spend(3600)
    server.answers = [refusal(503, "SlowDown"), answer(204)]
    with pytest.raises(StoreUnavailable, match=r"SlowDown.*no retry: 3600 s of this process"):
        store.delete("k")
    store.delete("k")
    assert len(server.seen) == 2


def test_secrets_never_show(server: ScriptedServer) -> None:
    """A secret that a server or a library repeats is hidden in the message, and in the settings' own text."""
    settings = replace(
        SETTINGS, endpoint_url=server.url, session_token="ToKeN", put_arguments={"SSECustomerKey": "KeYkEy"}
    )
    server.answers = [refusal(403, "AccessDenied", f"secret {SECRET}, token ToKeN, key KeYkEy.")]
    with pytest.raises(StoreRefused) as caught:
        S3Store(settings).head("k") or S3Store(settings).get("k")
    for secret in (SECRET, "ToKeN", "KeYkEy"):
        assert secret not in str(caught.value)
        assert secret not in repr(settings)


# Real servers


@pytest.fixture(params=["moto", "versitygw"])
def settings(request: pytest.FixtureRequest) -> S3Settings:
    real: Any = request.getfixturevalue(request.param)
    return replace(
        SETTINGS,
        endpoint_url=real.endpoint_url,
        region=real.region,
        access_key_id=real.access_key,
        secret_access_key=real.secret_key,
    )


@pytest.mark.parametrize("operation", [name for name in OPERATIONS if name != "head_object"])
def test_missing_bucket(settings: S3Settings, operation: str) -> None:
    """A bucket that is not there is refused at once, by name, with what to do."""
    requests: list[str] = []
    store = S3Store(replace(settings, bucket="no-such-bucket"), on_request=requests.append)
    with pytest.raises(StoreRefused, match=r"bucket 'no-such-bucket' does not exist [\s\S]*s3\.bucket\.name"):
        OPERATIONS[operation](store)
    assert len(requests) == 1


def test_wrong_secret(versitygw: Any) -> None:
    """A wrong secret key is refused with the access key's beginning, and neither secret is shown."""
    settings = replace(SETTINGS, endpoint_url=versitygw.endpoint_url, region=versitygw.region)
    store = S3Store(replace(settings, access_key_id=versitygw.access_key, secret_access_key=SECRET))
    with pytest.raises(StoreRefused, match=r"SignatureDoesNotMatch.*access key test… of the configuration") as caught:
        store.put_if_absent("k", b"")
    assert SECRET not in str(caught.value)


def test_unknown_access_key(versitygw: Any) -> None:
    """An access key that the store does not know is refused, with what was tried."""
    store = S3Store(replace(SETTINGS, endpoint_url=versitygw.endpoint_url, region=versitygw.region))
    with pytest.raises(StoreRefused, match=r"access key AKIA… of the configuration"):
        store.put_if_absent("k", b"")


def test_one_request_per_object(settings: S3Settings, request: pytest.FixtureRequest, bucket_name: str) -> None:
    """An object below the part size is one PUT and nothing else; the newest log entry is one LIST."""
    request.getfixturevalue("moto" if "moto" in request.node.name else "versitygw").create_bucket(bucket_name)
    requests: list[str] = []
    store = S3Store(replace(settings, bucket=bucket_name), on_request=requests.append)
    store.put_if_absent("k", b"x" * 2_000_000, metadata={"sha256": "0"})
    list(store.list("", limit=1))
    assert requests == ["PutObject", "ListObjectsV2"]
