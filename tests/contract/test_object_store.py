"""What every `ObjectStore` does: in memory, over boto3 against two servers and against the interleavings' bucket."""

from __future__ import annotations

import concurrent.futures
import hashlib
import random

import pytest

from kafka_s3.errors import StoreRefused, TooLarge
from kafka_s3.ports import ObjectInfo, ObjectStore, Put
from tests.contract import object_stores
from tests.contract.object_stores import Subject, keys, race

subject = object_stores.subject
store = object_stores.store

STRANGE_KEYS = [
    "a b/c  d",
    "a+b+0000000042.json",
    "year=2026/month=11",
    "100%/%2F/%41",
    "größe/日本語/🙂",
    "quote'\"&<>*?#;:@,$!()",
]


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


@pytest.mark.heavy
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


def test_compare_and_swap(store: ObjectStore) -> None:
    """Twenty writers of one key at once, ten rounds: exactly one creates it, and the object is that writer's."""
    for n in range(10):
        answers = race(20, lambda number, key=f"cas/{n}": store.put_if_absent(key, b"writer %d" % number))  # type: ignore[misc]
        assert answers.count(Put.CREATED) == 1, answers
        assert store.get(f"cas/{n}") == b"writer %d" % answers.index(Put.CREATED)
