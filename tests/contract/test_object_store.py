"""What every `ObjectStore` does: in memory, over boto3 against two servers and against the interleavings' bucket."""

from __future__ import annotations

import concurrent.futures
import hashlib
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from kafka_s3.adapters.memory import MemoryStore
from kafka_s3.adapters.s3 import S3Store
from kafka_s3.errors import StoreRefused, StoreUnavailable, TooLarge
from kafka_s3.ports import ObjectInfo, ObjectStore, Put
from kafka_s3.settings.s3 import RetrySettings, S3Settings
from tests.interleavings.bucket import Bucket
from tests.interleavings.scheduler import Scheduler
from tests.interleavings.sides import CURRENT, Transport, Weather

PART_BYTES_MIN = 5 * 1024 * 1024
STRANGE_KEYS = [
    "a b/c  d",
    "a+b+0000000042.json",
    "year=2026/month=11",
    "100%/%2F/%41",
    "größe/日本語/🙂",
    "quote'\"&<>*?#;:@,$!()",
]


@dataclass(frozen=True)
class Subject:
    """One implementation: its store, how many multipart uploads its bucket holds open, and an object's tags."""

    store: ObjectStore
    uploads: Callable[[], int]
    tags: Callable[[str], dict[str, str]]


@pytest.fixture(params=["memory", "interleavings", "moto", "versitygw"])
def subject(request: pytest.FixtureRequest, bucket_name: str) -> Subject:
    if request.param == "memory":
        memory = MemoryStore()
        return Subject(memory, memory.uploads_open, memory.tags)
    if request.param == "interleavings":
        chance = random.Random(0)
        bucket = Bucket(lambda: int(time.time() * 1000), page_max=300, part_min=5 * 1024 * 1024)
        bucket.empty_page = lambda: chance.random() < 0.5
        transport = Transport(bucket, Scheduler(random.Random(0)), Weather(random.Random(0)))
        CURRENT[:] = [transport]
        return Subject(transport.store(), lambda: len(bucket.uploads), lambda key: bucket.tags[key])
    server: Any = request.getfixturevalue(request.param)
    server.create_bucket(bucket_name)
    settings = S3Settings(
        bucket=bucket_name,
        region=server.region,
        endpoint_url=server.endpoint_url,
        access_key_id=server.access_key,
        secret_access_key=server.secret_key,
        retry=RetrySettings(3, 1),
    )
    client = server.client()

    def uploads() -> int:
        return len(client.list_multipart_uploads(Bucket=bucket_name).get("Uploads", []))

    def tags(key: str) -> dict[str, str]:
        return {tag["Key"]: tag["Value"] for tag in client.get_object_tagging(Bucket=bucket_name, Key=key)["TagSet"]}

    return Subject(S3Store(settings), uploads, tags)


@pytest.fixture
def store(subject: Subject) -> ObjectStore:
    return subject.store


def keys(objects: Iterator[ObjectInfo]) -> list[str]:
    return [found.key for found in objects]


def test_put_creates(store: ObjectStore) -> None:
    """The first put of a key creates the object with exactly these bytes."""
    assert store.put_if_absent("a/b.json", b'{"a":1}\n') is Put.CREATED
    assert store.get("a/b.json") == b'{"a":1}\n'


def test_put_never_overwrites(store: ObjectStore) -> None:
    """A second put says EXISTS, with other bytes and with the same, and changes neither bytes nor metadata."""
    store.put_if_absent("k", b"first", metadata={"sha256": "1"})
    assert store.put_if_absent("k", b"second!", metadata={"sha256": "2"}) is Put.EXISTS
    assert store.put_if_absent("k", b"first", metadata={"sha256": "1"}) is Put.EXISTS
    assert store.get("k") == b"first"
    assert store.head("k") == ObjectInfo("k", 5, {"sha256": "1"})


def test_metadata_comes_back(store: ObjectStore) -> None:
    """What a put says of its object is what a head answers, with the size."""
    metadata = {"sha256": hashlib.sha256(b"12345").hexdigest(), "records": "100"}
    store.put_if_absent("k", b"12345", metadata=metadata)
    assert store.head("k") == ObjectInfo("k", 5, metadata)


def test_when_it_was_written(store: ObjectStore) -> None:
    """Head and listing agree, to the second that HTTP tells, and later objects are not older."""
    store.put_if_absent("a", b"1")
    store.put_if_absent("b", b"1")
    listed = {info.key: info.modified_ms for info in store.list("")}
    seen = {key: info.modified_ms for key in ("a", "b") if (info := store.head(key)) is not None}
    assert listed.keys() == seen.keys() == {"a", "b"}
    assert all(ms is not None and ms > 1_700_000_000_000 for ms in (*listed.values(), *seen.values()))
    assert {key: ms // 1000 for key, ms in listed.items() if ms} == {key: ms // 1000 for key, ms in seen.items() if ms}
    assert (listed["a"] or 0) <= (listed["b"] or 0)


def test_no_metadata(store: ObjectStore) -> None:
    """A put without metadata is an object with none."""
    store.put_if_absent("k", b"1")
    assert store.head("k") == ObjectInfo("k", 1, {})


def test_missing_key(store: ObjectStore) -> None:
    """A key that is not there: get and head answer None, read refuses and names it, list leaves it out."""
    store.put_if_absent("there/below", b"")
    assert store.get("not/there") is None
    assert store.head("not/there") is None
    assert keys(store.list("not/")) == []
    with pytest.raises(StoreRefused, match="not/there does not exist"):
        list(store.read("not/there"))


def test_a_large_object_is_refused_unread(store: ObjectStore) -> None:
    """Of an object above the limit nothing is read: the error names key, size, limit and what to do."""
    store.put_if_absent("k", b"x" * 1001)
    assert store.get("k", limit=1001) == b"x" * 1001
    assert b"".join(store.read("k", limit=1001)) == b"x" * 1001
    for reading in (lambda: store.get("k", limit=1000), lambda: next(store.read("k", limit=1000))):
        with pytest.raises(TooLarge, match=r"k has 1001 bytes; at most 1000 are read\. Nothing of it was read\."):
            reading()
    assert store.get("k") == b"x" * 1001, "the connection is of use afterwards"


def test_prefix_of_a_key_is_no_object(store: ObjectStore) -> None:
    """S3 has no folders: the first half of a key is missing like any other, and may become an object."""
    store.put_if_absent("there/below", b"1")
    assert store.get("there") is None
    assert store.head("there") is None


def test_empty_body(store: ObjectStore) -> None:
    """An object of no bytes exists: get answers b"" and not None, read ends at once."""
    assert store.put_if_absent("empty", b"") is Put.CREATED
    assert store.get("empty") == b""
    assert list(store.read("empty")) == []
    assert store.head("empty") == ObjectInfo("empty", 0, {})
    assert store.put_if_absent("empty", b"") is Put.EXISTS


def test_read_streams_the_bytes(store: ObjectStore) -> None:
    """A large object is read in chunks of 1 MiB that join to what was put."""
    body = random.Random(1).randbytes(3 * 1024 * 1024 + 17)
    assert store.put_if_absent("large", body) is Put.CREATED
    chunks = list(store.read("large"))
    assert [len(chunk) for chunk in chunks] == [1 << 20, 1 << 20, 1 << 20, 17]
    assert b"".join(chunks) == body
    assert store.get("large") == body


def test_large_put_never_overwrites(store: ObjectStore) -> None:
    """A body that is sent with `Expect: 100-continue` is refused like a small one."""
    body = bytes(2 * 1024 * 1024)
    assert store.put_if_absent("large", body) is Put.CREATED
    assert store.put_if_absent("large", b"x" * len(body)) is Put.EXISTS
    assert store.get("large") == body


@pytest.mark.parametrize("key", STRANGE_KEYS)
def test_strange_keys(store: ObjectStore, key: str) -> None:
    """Keys with spaces, +, =, %, quotes and letters of any script come back as they were written."""
    assert store.put_if_absent(key, key.encode()) is Put.CREATED
    assert store.put_if_absent(key, b"") is Put.EXISTS
    assert store.get(key) == key.encode()
    assert b"".join(store.read(key)) == key.encode()
    assert store.head(key) == ObjectInfo(key, len(key.encode()), {})
    assert list(store.list(key)) == [ObjectInfo(key, len(key.encode()))]


def test_list_is_ordered(store: ObjectStore) -> None:
    """Keys are listed in the order of their UTF-8 bytes, whatever the order of writing; sizes come along."""
    names = ["b", "a/2", "a-1", "a/10", "a.1", "A", "é", "z", "\U0001f642", "ｱ", "a/1/2", "a0", "a=1"]
    for size, name in enumerate(names):
        store.put_if_absent(name, bytes(size))
    expected = sorted(names, key=lambda name: name.encode())
    assert [(found.key, found.size) for found in store.list("")] == [(name, names.index(name)) for name in expected]


def test_list_prefix(store: ObjectStore) -> None:
    """A prefix is a prefix of the text, not a folder."""
    for name in ["log/1", "log/2", "log2/1", "lo", "other"]:
        store.put_if_absent(name, b"")
    assert keys(store.list("log/")) == ["log/1", "log/2"]
    assert keys(store.list("log")) == ["log/1", "log/2", "log2/1"]
    assert keys(store.list("none/")) == []


def test_list_start_after(store: ObjectStore) -> None:
    """`start_after` is left out itself, and need not exist."""
    for name in ["p/1", "p/3", "p/5"]:
        store.put_if_absent(name, b"")
    assert keys(store.list("p/", start_after="p/1")) == ["p/3", "p/5"]
    assert keys(store.list("p/", start_after="p/2")) == ["p/3", "p/5"]
    assert keys(store.list("p/", start_after="p/5")) == []


def test_list_limit(store: ObjectStore) -> None:
    """`limit` bounds the answer, after the prefix and `start_after`; 0 is nothing."""
    for name in ["o/0", "p/1", "p/3", "p/5"]:
        store.put_if_absent(name, b"")
    assert keys(store.list("p/", limit=1)) == ["p/1"]
    assert keys(store.list("p/", start_after="p/1", limit=1)) == ["p/3"]
    assert keys(store.list("p/", limit=9)) == ["p/1", "p/3", "p/5"]
    assert keys(store.list("p/", limit=0)) == []


def test_list_goes_on_after_1000_keys(store: ObjectStore) -> None:
    """One request answers at most 1000 keys; the listing has them all, once, in order, up to the limit."""
    names = [f"n/{number:04d}" for number in range(1003)]
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda name: store.put_if_absent(name, b""), random.Random(2).sample(names, len(names))))
    assert keys(store.list("n/")) == names
    assert keys(store.list("n/", limit=1000)) == names[:1000]
    assert keys(store.list("n/", limit=1001)) == names[:1001]
    assert keys(store.list("n/", start_after=names[100])) == names[101:]


def test_list_sees_a_put_at_once(store: ObjectStore) -> None:
    """LIST after PUT: the newest log entry is found by a list with limit 1."""
    for number in reversed(range(5)):
        store.put_if_absent(f"log/{number}", b"")
        assert keys(store.list("log/", limit=1)) == [f"log/{number}"]


def test_multipart(subject: Subject) -> None:
    """Two parts become one object of their bytes in order, and the upload is over."""
    parts = [random.Random(3).randbytes(PART_BYTES_MIN), b"the end"]
    upload = subject.store.start_multipart("large")
    for part in parts:
        upload.put_part(part)
    assert subject.store.head("large") is None
    assert upload.complete_if_absent() is Put.CREATED
    assert subject.store.get("large") == b"".join(parts)
    assert subject.uploads() == 0


def test_multipart_onto_an_existing_key(subject: Subject) -> None:
    """Completing where an object is says EXISTS, leaves that object alone and leaves no parts behind."""
    upload = subject.store.start_multipart("k")
    upload.put_part(b"mine")
    subject.store.put_if_absent("k", b"theirs", metadata={"by": "them"})
    assert upload.complete_if_absent() is Put.EXISTS
    assert subject.store.get("k") == b"theirs"
    assert subject.store.head("k") == ObjectInfo("k", 6, {"by": "them"})
    assert subject.uploads() == 0


def test_put_onto_a_completed_multipart(store: ObjectStore) -> None:
    """An object made of parts is protected from a put as any other."""
    upload = store.start_multipart("k")
    upload.put_part(b"parts")
    upload.complete_if_absent()
    assert store.put_if_absent("k", b"put") is Put.EXISTS
    assert store.get("k") == b"parts"


def test_abort_leaves_nothing(subject: Subject) -> None:
    """After an abort there is no object and no part, and aborting again is harmless."""
    upload = subject.store.start_multipart("k")
    upload.put_part(bytes(PART_BYTES_MIN))
    upload.put_part(b"more")
    upload.abort()
    upload.abort()
    assert subject.store.head("k") is None
    assert keys(subject.store.list("")) == []
    assert subject.uploads() == 0


def test_abort_after_completion_changes_nothing(subject: Subject) -> None:
    """An abort on the way out of a task does not take back what was completed."""
    upload = subject.store.start_multipart("k")
    upload.put_part(b"done")
    assert upload.complete_if_absent() is Put.CREATED
    upload.abort()
    assert subject.store.get("k") == b"done"


def start(store: ObjectStore, key: str, *parts: bytes) -> Any:
    upload = store.start_multipart(key)
    for part in parts:
        upload.put_part(part)
    return upload


def test_uploads_under_a_prefix(store: ObjectStore) -> None:
    """Uploads under way are listed by prefix, one of no part too, each of two of one key; what has ended is not."""
    done, given_up = start(store, "p/done", b"1"), start(store, "p/given up", b"1")
    for upload in ("p/a", "p/a", "p/b+0000000042.json", "other/c"):
        start(store, upload, b"1")
    start(store, "p/empty")
    done.complete_if_absent()
    given_up.abort()
    found = list(store.uploads("p/"))
    assert sorted(each.key for each in found) == ["p/a", "p/a", "p/b+0000000042.json", "p/empty"]
    assert len({each.id for each in found}) == 4
    assert [each.key for each in store.uploads("other/")] == ["other/c"]
    assert list(store.uploads("none/")) == []


def test_uploads_over_several_pages(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many uploads a page has, the listing has all of them, each once."""
    monkeypatch.setattr("kafka_s3.adapters.s3.store.PAGE_UPLOADS_MAX", 2)
    names = [f"p/{number}" for number in range(7)]
    for name in names:
        start(store, name, b"1")
    found = list(store.uploads("p/"))
    assert sorted(each.key for each in found) == names
    assert len({each.id for each in found}) == 7


def test_abort_of_somebodys_upload(subject: Subject) -> None:
    """It takes that upload and no other, not even of the same key; its owner finds out, and no object comes of it."""
    store = subject.store
    theirs, ours = start(store, "k", b"theirs"), start(store, "k", b"ours")
    first, second = store.uploads("k")
    store.abort_upload(first)
    assert [each.id for each in store.uploads("k")] == [second.id]
    answers = []
    for upload in (theirs, ours):
        try:
            answers.append(upload.complete_if_absent())
        except StoreUnavailable:
            continue
    assert answers == [Put.CREATED]
    assert store.get("k") in (b"theirs", b"ours")
    assert list(store.uploads("k")) == []


def test_a_part_of_an_upload_that_somebody_aborted(store: ObjectStore) -> None:
    """Garbage collection or a lifecycle rule took it under a run that slept: a retry writes it anew, and nothing says
    that the configuration is wrong."""
    upload = start(store, "k", b"first")
    for found in store.uploads("k"):
        store.abort_upload(found)
    with pytest.raises(StoreUnavailable):
        upload.put_part(b"second")
    upload.abort()
    assert store.get("k") is None


def test_abort_of_an_upload_that_has_ended(store: ObjectStore) -> None:
    """Completed or aborted meanwhile: nothing is to be done, and the object stays."""
    completed, aborted = start(store, "completed", b"1"), start(store, "aborted", b"1")
    found = {each.key: each for each in store.uploads("")}
    completed.complete_if_absent()
    aborted.abort()
    for upload in found.values():
        store.abort_upload(upload)
        store.abort_upload(upload)
    assert store.get("completed") == b"1"
    assert list(store.uploads("")) == []


def test_delete(store: ObjectStore) -> None:
    """Exactly that object is gone, at once and from the list; its name may be taken again."""
    names = ["a+1.json", "a/b", "a/b+1", "a/bc", "b"]
    for name in names:
        store.put_if_absent(name, name.encode())
    store.delete("a/b")
    assert (store.head("a/b"), store.get("a/b")) == (None, None)
    assert keys(store.list("")) == ["a+1.json", "a/b+1", "a/bc", "b"]
    assert all(store.get(name) == name.encode() for name in names if name != "a/b")
    assert store.put_if_absent("a/b", b"new") is Put.CREATED
    assert store.get("a/b") == b"new"


@pytest.mark.parametrize("key", ["missing", "not/there", "there", "there/below/deeper", *STRANGE_KEYS])
def test_delete_of_a_missing_key(store: ObjectStore, key: str) -> None:
    """It is fine, also where the key is a part of another one, or goes on from one; nothing else is touched."""
    store.put_if_absent("there/below", b"1")
    store.delete(key)
    assert keys(store.list("")) == ["there/below"]


def test_delete_leaves_uploads_alone(store: ObjectStore) -> None:
    """An object goes, an upload of the same key goes on."""
    upload = start(store, "k", b"new")
    store.put_if_absent("k", b"old")
    store.delete("k")
    assert upload.complete_if_absent() is Put.CREATED
    assert store.get("k") == b"new"


TAGS = {"startOffset": "42", "team": "data/über: a+b=c@d"}


def test_tags_come_with_a_put(subject: Subject) -> None:
    """An object has its tags from the start; a put that finds an object changes none."""
    assert subject.store.put_if_absent("k", b"1", metadata={"sha256": "0"}, tags=TAGS) is Put.CREATED
    assert subject.store.put_if_absent("k", b"2", tags={"other": "x"}) is Put.EXISTS
    assert subject.tags("k") == TAGS
    assert subject.store.head("k") == ObjectInfo("k", 1, {"sha256": "0"})


def test_tags_are_put_on_an_object(subject: Subject) -> None:
    """New tags take the place of the old ones and leave bytes and metadata alone; an object in parts has them too."""
    subject.store.put_if_absent("k", b"1", metadata={"sha256": "0"}, tags={"old": "x"})
    upload = subject.store.start_multipart("parts")
    upload.put_part(b"1")
    upload.complete_if_absent()
    for key in ("k", "parts"):
        subject.store.put_tags(key, TAGS)
        assert subject.tags(key) == TAGS
        assert subject.store.get(key) == b"1"
    assert subject.store.head("k") == ObjectInfo("k", 1, {"sha256": "0"})
    with pytest.raises(StoreRefused):
        subject.store.put_tags("missing", TAGS)


def race(count: int, enter: Callable[[int], Put]) -> list[Put]:
    """Let `count` threads go at the same moment; their answers by thread."""
    barrier = threading.Barrier(count)

    def one(number: int) -> Put:
        barrier.wait()
        return enter(number)

    with concurrent.futures.ThreadPoolExecutor(count) as threads:
        return list(threads.map(one, range(count)))


def test_compare_and_swap(store: ObjectStore) -> None:
    """Twenty writers of one key at once, ten rounds: exactly one creates it, and the object is that writer's."""
    for n in range(10):
        answers = race(20, lambda number, key=f"cas/{n}": store.put_if_absent(key, b"writer %d" % number))  # type: ignore[misc]
        assert answers.count(Put.CREATED) == 1, answers
        assert store.get(f"cas/{n}") == b"writer %d" % answers.index(Put.CREATED)


def test_compare_and_swap_of_multipart_completions(subject: Subject) -> None:
    """Ten multipart uploads of one key and ten puts end at once, three rounds: exactly one of all creates it."""
    store = subject.store
    for n in range(3):
        uploads = [store.start_multipart(f"cas/{n}") for _ in range(10)]
        for number, upload in enumerate(uploads):
            upload.put_part(b"writer %d" % number)

        def enter(number: int, key: str = f"cas/{n}", uploads: list[Any] = uploads) -> Put:
            if number < 10:
                done: Put = uploads[number].complete_if_absent()
                return done
            return store.put_if_absent(key, b"writer %d" % number)

        answers = race(20, enter)
        assert answers.count(Put.CREATED) == 1, answers
        assert store.get(f"cas/{n}") == b"writer %d" % answers.index(Put.CREATED)
    assert subject.uploads() == 0
