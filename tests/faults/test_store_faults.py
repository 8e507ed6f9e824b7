"""`S3Store` when the network and the store misbehave: what the caller sees, what was sent, what is in the bucket."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from kafka_s3.adapters.s3 import S3Store
from kafka_s3.errors import StoreUnavailable
from kafka_s3.naming import DataName, KeyLayout
from kafka_s3.ports import ObjectInfo, OpenUpload, Put
from kafka_s3.settings.s3 import RetrySettings, S3Settings
from kafka_s3.write.object_group import Body, OffsetSpan
from kafka_s3.write.uploads import ObjectGroupUpload
from tests.faults.s3_proxy import AFTER, BEFORE, Again, Cut, Delay, Fault, Refuse, Reset, Rule, S3Proxy, Silence
from tools.parts.s3 import VersityGateway

pytestmark = pytest.mark.faults

RETRIES = 2
PART = bytes(5 * 1024 * 1024)
#: The request comes to nothing.
LOST: dict[str, Fault] = {
    "reset before": Reset(BEFORE),
    "silence before": Silence(BEFORE),
    "500": Refuse(500, "InternalError"),
    "503": Refuse(503, "SlowDown"),
    "409": Refuse(409, "ConditionalRequestConflict"),
    "200 with an error": Refuse(200, "InternalError"),
}
#: It is done, and nobody hears of it.
UNHEARD: dict[str, Fault] = {
    "reset after": Reset(AFTER),
    "silence after": Silence(AFTER),
    "500 after": Refuse(500, "InternalError", AFTER),
    "200 with an error after": Refuse(200, "InternalError", AFTER),
    "cut": Cut(),
}
FAULTS = {**LOST, **UNHEARD}


@dataclass
class Bucket:
    """A bucket of versitygw, and the store that reaches it through the proxy."""

    store: S3Store
    proxy: S3Proxy
    server: VersityGateway
    name: str

    def contents(self) -> dict[str, bytes]:
        return self.server.objects(self.name)

    def uploads(self) -> list[tuple[str, str]]:
        """The uploads that are open, past the proxy."""
        found = self.server.client().list_multipart_uploads(Bucket=self.name).get("Uploads", [])
        return [(each["Key"], each["UploadId"]) for each in found]

    def put(self, key: str, body: bytes) -> None:
        self.server.client().put_object(Bucket=self.name, Key=key, Body=body, Metadata={"sha256": "0"})

    def sent(self, operation: str) -> int:
        return self.proxy.operations().count(operation)


@pytest.fixture
def proxy(versitygw: VersityGateway) -> Iterator[S3Proxy]:
    with S3Proxy(versitygw.endpoint_url) as proxy:
        yield proxy


@pytest.fixture
def bucket(
    proxy: S3Proxy, versitygw: VersityGateway, bucket_name: str, request: pytest.FixtureRequest, monkeypatch: Any
) -> Bucket:
    if "silence" in request.node.name:
        monkeypatch.setattr("kafka_s3.adapters.s3.client.READ_TIMEOUT_S", 1.5)
    versitygw.create_bucket(bucket_name)
    return Bucket(store_over(proxy, versitygw, bucket_name), proxy, versitygw, bucket_name)


def store_over(proxy: S3Proxy, server: VersityGateway, bucket: str, retries: int = RETRIES) -> S3Store:
    return S3Store(
        S3Settings(
            bucket,
            server.region,
            proxy.url,
            access_key_id=server.access_key,
            secret_access_key=server.secret_key,
            retry=RetrySettings(retries, 1),
        )
    )


# Each request by itself.


@dataclass
class Case:
    """One operation: what is there before it, the call, and what has to be true if it was done or if it was not."""

    call: Callable[[Bucket], object]
    before: Callable[[Bucket], Any] = lambda bucket: None
    answer: object = None
    answer_done: tuple[object, ...] = (None,)  # when an earlier try did it already
    done: Callable[[Bucket], bool] = lambda bucket: True
    undone: Callable[[Bucket], bool] = lambda bucket: True


def started(bucket: Bucket, *parts: bytes) -> Any:
    upload = bucket.store.start_multipart("k")
    for part in parts:
        upload.put_part(part)
    bucket.upload = upload  # type: ignore[attr-defined]
    return upload


def upload_of(bucket: Bucket) -> Any:
    return bucket.upload  # type: ignore[attr-defined]


def put_second_part(bucket: Bucket) -> None:
    upload_of(bucket).put_part(b"two")


def parts_of(bucket: Bucket) -> list[int]:
    ((key, upload_id),) = bucket.uploads()
    parts = bucket.server.client().list_parts(Bucket=bucket.name, Key=key, UploadId=upload_id).get("Parts", [])
    return [part["Size"] for part in parts]


def abort_it(bucket: Bucket) -> None:
    ((key, upload_id),) = bucket.uploads()
    bucket.store.abort_upload(OpenUpload(key, upload_id))


CASES = {
    "PutObject": Case(
        lambda bucket: bucket.store.put_if_absent("k", b"body", metadata={"sha256": "0"}),
        answer=Put.CREATED,
        answer_done=(Put.EXISTS,),
        done=lambda bucket: bucket.contents() == {"k": b"body"},
        undone=lambda bucket: bucket.contents() == {},
    ),
    "PutObjectTagging": Case(
        lambda bucket: bucket.store.put_tags("k", {"a": "b"}),
        before=lambda bucket: bucket.put("k", b"body"),
        done=lambda bucket: bool(
            bucket.server.client().get_object_tagging(Bucket=bucket.name, Key="k")["TagSet"]
            == [{"Key": "a", "Value": "b"}]
        ),
    ),
    "GetObject": Case(
        lambda bucket: bucket.store.get("k"),
        before=lambda bucket: bucket.put("k", PART),
        answer=PART,
        answer_done=(PART,),
    ),
    "HeadObject": Case(
        lambda bucket: bucket.store.head("k"),
        before=lambda bucket: bucket.put("k", b"body"),
        answer=ObjectInfo("k", 4, {"sha256": "0"}),
        answer_done=(ObjectInfo("k", 4, {"sha256": "0"}),),
    ),
    "ListObjectsV2": Case(
        lambda bucket: [each.key for each in bucket.store.list("")],
        before=lambda bucket: [bucket.put(key, b"") for key in "abc"],
        answer=["a", "b", "c"],
        answer_done=(["a", "b", "c"],),
    ),
    "UploadPart": Case(
        put_second_part,
        before=lambda bucket: started(bucket, PART),
        done=lambda bucket: parts_of(bucket) == [len(PART), 3],
        undone=lambda bucket: parts_of(bucket) == [len(PART)],
    ),
    "CompleteMultipartUpload": Case(
        lambda bucket: upload_of(bucket).complete_if_absent(),
        before=lambda bucket: started(bucket, PART, b"two"),
        answer=Put.CREATED,
        answer_done=(Put.EXISTS, Put.CREATED),  # versitygw completes what it completed
        done=lambda bucket: bucket.contents() == {"k": PART + b"two"} and bucket.uploads() == [],
        undone=lambda bucket: bucket.contents() == {},
    ),
    "AbortMultipartUpload": Case(
        abort_it,
        before=lambda bucket: started(bucket, PART),
        done=lambda bucket: bucket.uploads() == [],
        undone=lambda bucket: len(bucket.uploads()) == 1,
    ),
    "DeleteObject": Case(
        lambda bucket: bucket.store.delete("k"),
        before=lambda bucket: [bucket.put(key, b"") for key in ("k", "other")],
        done=lambda bucket: list(bucket.contents()) == ["other"],
        undone=lambda bucket: list(bucket.contents()) == ["k", "other"],
    ),
    "ListMultipartUploads": Case(
        lambda bucket: [each.key for each in bucket.store.uploads("")],
        before=lambda bucket: started(bucket, PART),
        answer=["k"],
        answer_done=(["k"],),
    ),
}
#: S3 has no way to fail in these once it has begun to answer.
BODIES = ("GetObject", "HeadObject")


def cases() -> Iterator[Any]:
    for operation in CASES:
        for name in FAULTS:
            if not (operation in BODIES and "200 with an error" in name):
                yield pytest.param(operation, name, id=f"{operation}-{name}")


@pytest.mark.parametrize(("operation", "name"), cases())
def test_once_is_made_good_by_a_retry(bucket: Bucket, operation: str, name: str) -> None:
    """A request that failed is sent once more, whether the store had done it or not; the end is as if it had not."""
    case = CASES[operation]
    case.before(bucket)
    bucket.proxy.clear()
    bucket.proxy.add(Rule(FAULTS[name], operation))
    assert case.call(bucket) in (case.answer_done if name in UNHEARD else (case.answer,))
    assert bucket.sent(operation) == 2
    assert case.done(bucket)


@pytest.mark.parametrize(("operation", "name"), cases())
def test_for_ever_is_an_error(bucket: Bucket, operation: str, name: str) -> None:
    """After 1 + retries requests the caller gets an error, never an answer; what is in the bucket is what was done."""
    case = CASES[operation]
    case.before(bucket)
    bucket.proxy.clear()
    bucket.proxy.add(Rule(FAULTS[name], operation, times=0))
    with pytest.raises(StoreUnavailable, match=rf"{operation}.*\({1 + RETRIES} tries\)"):
        case.call(bucket)
    assert bucket.sent(operation) == 1 + RETRIES
    bucket.proxy.clear()
    assert case.done(bucket) if name in UNHEARD else case.undone(bucket)


@pytest.mark.parametrize("operation", CASES)
@pytest.mark.parametrize("fault", [Delay(0.3), Again(hears_second=False), Again(hears_second=True)], ids=str)
def test_late_and_twice(bucket: Bucket, operation: str, fault: Fault) -> None:
    """A request that is late, or that is delivered twice, changes nothing: at most the caller hears EXISTS."""
    case = CASES[operation]
    case.before(bucket)
    bucket.proxy.clear()
    bucket.proxy.add(Rule(fault, operation))
    assert case.call(bucket) in (case.answer_done if fault == Again(hears_second=True) else (case.answer,))
    assert case.done(bucket)
    assert bucket.sent(operation) == 1


def test_an_error_that_is_final_is_sent_once(bucket: Bucket) -> None:
    """A 412 where nothing is says EXISTS, after one request: whoever asked compares, and finds nothing."""
    bucket.proxy.add(Rule(Refuse(412, "PreconditionFailed")))
    assert bucket.store.put_if_absent("k", b"body") is Put.EXISTS
    assert bucket.proxy.operations() == ["PutObject"]
    upload = started(bucket, b"body")
    for status in (412, 200):
        bucket.proxy.clear()
        upload = started(bucket, b"body")
        bucket.proxy.add(Rule(Refuse(status, "PreconditionFailed"), "CompleteMultipartUpload"))
        assert upload.complete_if_absent() is Put.EXISTS
        assert bucket.proxy.operations()[-2:] == ["CompleteMultipartUpload", "AbortMultipartUpload"]
    assert bucket.contents() == {}


@pytest.mark.parametrize("name", FAULTS)
def test_an_upload_whose_id_got_lost_stays_open(bucket: Bucket, name: str) -> None:
    """All that a lost answer leaves behind: an upload without parts, which a list shows and a sweep aborts."""
    bucket.proxy.add(Rule(FAULTS[name], "CreateMultipartUpload"))
    upload = started(bucket, b"body")
    assert upload.complete_if_absent() is Put.CREATED
    assert bucket.sent("CreateMultipartUpload") == 2
    left = list(bucket.store.uploads(""))
    assert len(left) == (1 if name in UNHEARD else 0)
    for each in left:
        bucket.store.abort_upload(each)
    assert bucket.uploads() == []
    assert bucket.contents() == {"k": b"body"}


def test_parts_are_retried_one_by_one(bucket: Bucket) -> None:
    """Of four parts the second fails twice: it is sent three times, the others once, and the object is whole."""
    bucket.proxy.add(Rule(Refuse(503, "SlowDown"), "UploadPart", first=2, times=2))
    parts = [bytes([number]) * len(PART) for number in range(3)]
    upload = started(bucket, *parts, b"end")
    assert upload.complete_if_absent() is Put.CREATED
    numbers = [each.number for each in bucket.proxy.passed if each.operation == "UploadPart"]
    assert numbers == [1, 2, 2, 2, 3, 4]
    assert bucket.contents() == {"k": b"".join(parts) + b"end"}


def test_a_body_that_is_streamed_and_cut(bucket: Bucket) -> None:
    """`read` hands out what came and then fails: nobody takes half an object for a whole one."""
    bucket.put("k", PART)
    bucket.proxy.add(Rule(Cut(), "GetObject"))
    received: list[bytes] = []
    with pytest.raises(StoreUnavailable, match="GetObject"):
        received.extend(bucket.store.read("k"))
    assert len(b"".join(received)) < len(PART)
    assert b"".join(bucket.store.read("k")) == PART


# A data object, whatever happens to the n-th of its requests.

NAME = DataName("orders", "partition=0", 0, 42, ".json")
FIRST = "topics/orders/partition=0/orders+0+0000000042.json"
HELD = OffsetSpan(records=9, first_offset=42, last_offset=52)
LARGE, SMALL = [PART, PART, b"end"], [b"small"]
ODD: dict[str, Fault] = {
    "412": Refuse(412, "PreconditionFailed"),
    "412 in a 200": Refuse(200, "PreconditionFailed"),
    "twice": Again(hears_second=True),
    "delay": Delay(0.05),
}


#: S3 says these of a write, and has no way to fail in a HEAD or a GET once it has begun to answer.
_WRITES = r"PutObject|CompleteMultipartUpload"
_ONLY = {
    "412": _WRITES,
    "412 in a 200": _WRITES,
    **dict.fromkeys(("200 with an error", "200 with an error after"), r"(?!GetObject|HeadObject)"),
}


def write(store: S3Store, pieces: list[bytes]) -> str:
    """As the writer does: an abort when it fails."""
    whole = b"".join(pieces)
    made = ObjectGroupUpload(store, KeyLayout(), [NAME])
    try:
        for piece in pieces[:-1]:
            made.part(0, piece)
        body = Body(pieces[-1], len(whole), hashlib.sha256(whole).hexdigest())
        return made.finish([body], HELD).objects[0].key
    except StoreUnavailable:
        made.abort()
        raise


@pytest.mark.parametrize("pieces", [SMALL, LARGE], ids=["one put", "in parts"])
@pytest.mark.parametrize("name", [*FAULTS, *ODD])
@pytest.mark.parametrize("retries", [0, RETRIES])
def test_an_object_is_written_once(
    bucket: Bucket, versitygw: VersityGateway, pieces: list[bytes], name: str, retries: int
) -> None:
    """Whichever request meets the fault: at most a few tries later there is one object, the right one, under the first
    name; no upload is left but one whose id never came."""
    store, fault = store_over(bucket.proxy, versitygw, bucket.name, retries), {**FAULTS, **ODD}[name]
    place, struck = 0, True
    while struck:
        place += 1
        bucket.proxy.clear()
        bucket.proxy.add(Rule(fault, _ONLY.get(name, ""), first=place))
        for _ in range(3):
            try:
                key = write(store, pieces)
                break
            except StoreUnavailable:
                continue
        assert key == FIRST
        assert bucket.contents() == {FIRST: b"".join(pieces)}, f"request {place}"
        for each in bucket.proxy.passed:
            if each.operation in ("PutObject", "CompleteMultipartUpload"):
                assert each.headers["if-none-match"] == "*"
        struck = bool(bucket.proxy.struck)
        lost = [each for each in bucket.proxy.struck if each.operation == "CreateMultipartUpload"]
        allowed = len(lost) if name in UNHEARD or name == "twice" else 0
        assert len(bucket.uploads()) <= allowed, f"request {place}"
        sweep(bucket)
    assert place > (1 if pieces is SMALL or _ONLY.get(name) == _WRITES else 5)


def sweep(bucket: Bucket) -> None:
    client = bucket.server.client()
    client.delete_object(Bucket=bucket.name, Key=FIRST)
    for key, upload_id in bucket.uploads():
        client.abort_multipart_upload(Bucket=bucket.name, Key=key, UploadId=upload_id)
