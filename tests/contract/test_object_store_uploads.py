"""Multipart uploads as every `ObjectStore` has them: atomic when they complete, gone when they are aborted."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kafka_s3.errors import StoreUnavailable
from kafka_s3.ports import ObjectInfo, ObjectStore, Put
from tests.contract import object_stores
from tests.contract.object_stores import PART_BYTES_MIN, Subject, keys, race, start

subject = object_stores.subject
store = object_stores.store


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


def test_delete_leaves_uploads_alone(store: ObjectStore) -> None:
    """An object goes, an upload of the same key goes on."""
    upload = start(store, "k", b"new")
    store.put_if_absent("k", b"old")
    store.delete("k")
    assert upload.complete_if_absent() is Put.CREATED
    assert store.get("k") == b"new"


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
