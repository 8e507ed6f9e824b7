"""Answers of an S3 server that get lost, are cut short, or are no answer."""

from __future__ import annotations

import hashlib
import pickle
import socket
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders

from kafka_s3.adapters.s3 import S3Store
from kafka_s3.errors import StoreRefused, StoreUnavailable
from kafka_s3.ports import ObjectInfo, Put
from kafka_s3.settings.s3 import RetrySettings
from tests.adapters import test_s3_errors
from tests.adapters.loopback import COMPLETED, CREATED_UPLOAD, PART, WRITTEN, ScriptedServer, answer, refusal
from tests.adapters.test_s3_credentials import forget
from tests.adapters.test_s3_errors import SETTINGS

server = test_s3_errors.server
store = test_s3_errors.store


# No answer, or half of one


def test_nobody_listens() -> None:
    """A port where nobody listens is temporary: each try is made, and the message names address and property."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, not listening: connections are refused, and nobody else gets it
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        requests: list[str] = []
        store = S3Store(replace(SETTINGS, endpoint_url=url), on_request=requests.append)
        with pytest.raises(StoreUnavailable, match=rf"EndpointConnectionError.*{url}.*3 tries.*store\.url"):
            store.put_if_absent("k", b"")
    assert requests == ["PutObject"] * 3


def test_slow_down_then_success(server: ScriptedServer, store: S3Store) -> None:
    """503 SlowDown is retried with the same bytes under the same condition, and then passes."""
    server.answers = [refusal(503, "SlowDown"), refusal(409, "ConditionalRequestConflict"), answer(200, ETag='"e"')]
    assert store.put_if_absent("k", b"body") is Put.CREATED
    assert [(seen.method, seen.body, seen.headers["if-none-match"]) for seen in server.seen] == [
        ("PUT", b"body", "*")
    ] * 3


def test_no_retries(server: ScriptedServer) -> None:
    """With `s3.part.retries=0` there is one request: the SDK's own retries are off."""
    server.answers = [refusal(503, "SlowDown")] * 9
    store = S3Store(replace(SETTINGS, endpoint_url=server.url, retry=RetrySettings(0, 0)))
    with pytest.raises(StoreUnavailable):
        store.put_if_absent("k", b"")
    assert len(server.seen) == 1


def test_lost_answer(server: ScriptedServer, store: S3Store) -> None:
    """A put whose answer got lost is tried again and says EXISTS: the caller compares the bytes."""
    server.answers = [None, refusal(412, "PreconditionFailed")]
    assert store.put_if_absent("k", b"body") is Put.EXISTS
    assert len(server.seen) == 2


@pytest.mark.parametrize("size", [10, 3_000_000])
def test_cut_body_of_get(server: ScriptedServer, store: S3Store, size: int) -> None:
    """A body that ends early is never taken for the object: get starts again, and gives up after its retries."""
    whole, cut = answer(200, b"x" * size), answer(200, b"x" * (size - 1), length=size)
    server.answers = [cut, whole]
    assert store.get("k") == b"x" * size
    server.answers = [cut] * 3
    with pytest.raises(StoreUnavailable, match=r"GetObject s3://lake/k .*3 tries"):
        store.get("k")


def test_cut_body_of_read(server: ScriptedServer, store: S3Store) -> None:
    """A streamed body that ends early raises; what came before was handed out, nothing is made up or left out."""
    server.answers = [answer(200, b"x" * 1_500_000, length=3_000_000)]
    chunks = store.read("k")
    assert len(next(chunks)) == 1 << 20
    with pytest.raises(StoreUnavailable, match=r"s3://lake/k"):
        list(chunks)
    assert len(server.seen) == 1


def test_answer_that_is_no_xml(server: ScriptedServer, store: S3Store) -> None:
    """Half an XML document (a proxy's page, a cut answer) is temporary, not a crash."""
    server.answers = [answer(200, b"<ListBucketResult><Contents><Key>a")] * 3
    with pytest.raises(StoreUnavailable, match="3 tries"):
        list(store.list(""))


def test_unordered_list(server: ScriptedServer, store: S3Store) -> None:
    """A store whose lists have no order is refused: the newest commit could not be found in it."""
    entries = b"".join(b"<Contents><Key>%s</Key><Size>1</Size></Contents>" % key for key in (b"a", b"c", b"b"))
    server.answers = [answer(200, b"<ListBucketResult><IsTruncated>false</IsTruncated>%s</ListBucketResult>" % entries)]
    listing = store.list("")
    assert [next(listing), next(listing)] == [ObjectInfo("a", 1), ObjectInfo("c", 1)]
    with pytest.raises(StoreRefused, match="out of order: 'b' after 'c'"):
        next(listing)


# Multipart


def test_completion_that_answers_200_with_an_error(server: ScriptedServer, store: S3Store) -> None:
    """S3 may send 200 first and fail afterwards: the error in the body counts, and is retried."""
    server.answers = [CREATED_UPLOAD, PART, refusal(200, "InternalError"), COMPLETED]
    upload = store.start_multipart("k")
    upload.put_part(b"x")
    assert upload.complete_if_absent() is Put.CREATED
    assert [seen.headers.get("if-none-match") for seen in server.seen] == [None, None, "*", "*"]


def test_completion_that_answers_200_with_a_lost_race(server: ScriptedServer, store: S3Store) -> None:
    """A 412 inside a 200 is a lost race like any other: EXISTS, and the parts are deleted."""
    server.answers = [CREATED_UPLOAD, PART, refusal(200, "PreconditionFailed"), answer(204)]
    upload = store.start_multipart("k")
    upload.put_part(b"x")
    assert upload.complete_if_absent() is Put.EXISTS
    assert server.seen[-1].method == "DELETE"


@pytest.mark.parametrize("exists", [True, False])
def test_completion_whose_answer_got_lost(server: ScriptedServer, store: S3Store, exists: bool) -> None:
    """The upload is gone at the second try: EXISTS if an object is there, else temporary, all is to be sent again."""
    gone = refusal(404, "NoSuchUpload")
    server.answers = [CREATED_UPLOAD, PART, None, gone, gone, answer(200, ETag='"e"') if exists else answer(404)]
    upload = store.start_multipart("k")
    upload.put_part(b"x")
    if exists:
        assert upload.complete_if_absent() is Put.EXISTS
    else:
        with pytest.raises(StoreUnavailable, match="multipart upload of s3://lake/k is gone"):
            upload.complete_if_absent()
    assert server.answers == []


def test_parts_are_retried_one_by_one(server: ScriptedServer, store: S3Store) -> None:
    """A part that fails is sent again alone, under its own number."""
    server.answers = [CREATED_UPLOAD, PART, refusal(500, "InternalError"), None, PART, COMPLETED]
    upload = store.start_multipart("k")
    upload.put_part(b"one")
    upload.put_part(b"two")
    assert upload.complete_if_absent() is Put.CREATED
    assert [seen.body for seen in server.seen[1:5]] == [b"one", b"two", b"two", b"two"]
    assert all("partNumber=2" in seen.path for seen in server.seen[2:5])


def test_abort_never_masks_the_first_error(server: ScriptedServer, store: S3Store) -> None:
    """An abort that is refused raises nothing: what the caller sees is the error that made it abort."""
    server.answers = [CREATED_UPLOAD, refusal(403, "AccessDenied", "First."), refusal(403, "AccessDenied", "Second.")]
    upload = store.start_multipart("k")

    def attempt() -> None:
        try:
            upload.put_part(b"x")
        except StoreRefused:
            upload.abort()
            raise

    with pytest.raises(StoreRefused, match=r"First\."):
        attempt()
    assert [seen.method for seen in server.seen] == ["POST", "PUT", "DELETE"]


# Settings


def test_put_arguments(server: ScriptedServer) -> None:
    """What is added to a put goes to PUT and to the start of a multipart upload, a customer's key to every request."""
    arguments = {"ACL": "private", "SSECustomerAlgorithm": "AES256", "SSECustomerKey": "k" * 32}
    store = S3Store(replace(SETTINGS, endpoint_url=server.url, put_arguments=arguments))
    server.answers = [WRITTEN, CREATED_UPLOAD, PART, COMPLETED, answer(200), answer(200, b"x")]
    store.put_if_absent("k", b"x")
    upload = store.start_multipart("k")
    upload.put_part(b"x")
    upload.complete_if_absent()
    store.head("k")
    store.get("k")
    key_headers = "x-amz-server-side-encryption-customer-key"
    assert [key_headers in seen.headers for seen in server.seen] == [True] * 6
    assert [seen.headers.get("x-amz-acl") for seen in server.seen] == ["private", "private", None, None, None, None]


def test_requests_are_plain(server: ScriptedServer, store: S3Store) -> None:
    """No checksum trailer and no chunked body, which many stores refuse: the bytes with their length."""
    server.answers = [WRITTEN]
    store.put_if_absent("k", b"body", metadata={"sha256": "0"})
    (seen,) = server.seen
    assert seen.path == "/lake/k"  # path style
    assert (seen.headers["content-length"], seen.headers["x-amz-meta-sha256"]) == ("4", "0")
    assert not {name for name in seen.headers if "checksum" in name or name in ("transfer-encoding", "content-type")}


@pytest.mark.parametrize(
    ("expect", "size", "sent"), [(True, 1 << 20, True), (True, 1000, False), (False, 1 << 20, False)]
)
def test_expect_continue(server: ScriptedServer, expect: bool, size: int, sent: bool) -> None:
    """A large body waits for the store's "100 Continue" unless that is switched off; a small one never does."""
    server.answers = [WRITTEN]
    S3Store(replace(SETTINGS, endpoint_url=server.url, expect_continue=expect)).put_if_absent("k", bytes(size))
    (seen,) = server.seen
    assert ("expect" in seen.headers) == sent
    assert seen.body == bytes(size)


@pytest.mark.parametrize(("scheme", "signed"), [("https", False), ("http", True)])
def test_the_body_is_signed_only_without_tls(scheme: str, signed: bool) -> None:
    """The signature covers the body's SHA-256 over plain HTTP and leaves it out under TLS, which guards the body."""
    hashes: list[str] = []

    def reply(request: Any, **_: object) -> Any:
        hashes.append(request.headers["X-Amz-Content-SHA256"].decode())
        return AWSResponse(
            request.url, 200, HTTPHeaders.from_dict({"ETag": "e"}), SimpleNamespace(stream=lambda: iter(()))
        )

    store = S3Store(replace(SETTINGS, endpoint_url=f"{scheme}://store.invalid"))
    store._client.meta.events.register("before-send.s3", reply)
    assert store.put_if_absent("k", b"body") is Put.CREATED
    assert hashes == [hashlib.sha256(b"body").hexdigest() if signed else "UNSIGNED-PAYLOAD"]


def test_proxy(server: ScriptedServer) -> None:
    """With `s3.proxy.url` requests go there, with the store's address in them."""
    server.answers = [WRITTEN]
    S3Store(replace(SETTINGS, endpoint_url="http://store.invalid", proxy_url=server.url)).put_if_absent("k", b"")
    assert server.seen[0].path == "http://store.invalid/lake/k"


@pytest.mark.parametrize("url", ["127.0.0.1:9000", "http://", "minio"])
def test_endpoint_that_is_no_url(url: str) -> None:
    """A `store.url` that is not a URL is refused when the store is made, by name."""
    with pytest.raises(StoreRefused, match=r"store\.url"):
        S3Store(replace(SETTINGS, endpoint_url=url))


def test_no_credentials() -> None:
    """Without credentials anywhere the message says which properties to set."""
    forget()  # what an earlier test's environment had
    store = S3Store(replace(SETTINGS, access_key_id=None, secret_access_key=None))
    with pytest.raises(StoreRefused, match=r"aws\.access\.key\.id and aws\.secret\.access\.key"):
        store.put_if_absent("k", b"")


def test_half_of_the_credentials() -> None:
    """An access key without its secret is refused when the store is made."""
    with pytest.raises(StoreRefused, match=r"aws\.secret\.access\.key"):
        S3Store(replace(SETTINGS, secret_access_key=None))


def test_pickle(server: ScriptedServer, store: S3Store) -> None:
    """A store travels to a Spark task as its settings and works there."""
    server.answers = [WRITTEN]
    assert pickle.loads(pickle.dumps(store)).put_if_absent("k", b"") is Put.CREATED
