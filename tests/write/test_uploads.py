"""Data objects into the store: put if absent, adopt one's own bytes, else the next free name; never overwrite."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_s3.adapters.memory import MemoryStore
from kafka_s3.errors import DataError, StoreRefused, StoreUnavailable
from kafka_s3.naming import COLLISIONS_MAX, DataName, KeyLayout
from kafka_s3.ports import Put
from kafka_s3.settings.s3 import Tagging
from kafka_s3.write.object_group import Body, OffsetSpan
from kafka_s3.write.uploads import ObjectGroupUpload, given_up_unless_finished

NAME = DataName("orders", "partition=0", 0, 42, ".json")
FIRST = "topics/orders/partition=0/orders+0+0000000042.json"
SECOND = "topics/orders/partition=0/orders+0+0000000042+1.json"
THIRD = "topics/orders/partition=0/orders+0+0000000042+2.json"
OUT = StoreUnavailable("out")
HELD = OffsetSpan(records=9, first_offset=42, last_offset=52)


def store() -> MemoryStore:
    return MemoryStore(part_bytes_min=1)


def body_of(pieces: Sequence[bytes]) -> Body:
    whole = b"".join(pieces)
    return Body(pieces[-1], len(whole), hashlib.sha256(whole).hexdigest())


def upload(into: MemoryStore, pieces: Sequence[bytes], tagging: Tagging | None = None) -> str:
    """Upload as the writer does: all pieces but the last are parts; an abort if it fails."""
    made = ObjectGroupUpload(into, KeyLayout(), [NAME], tagging=tagging)
    try:
        for piece in pieces[:-1]:
            made.part(0, piece)
        (stored,) = made.finish([body_of(pieces)], HELD).objects
        return stored.key
    except (StoreUnavailable, StoreRefused):
        made.abort()
        raise


def operations(of: MemoryStore) -> list[str]:
    return [request.operation for request in of.requests]


WAYS = [pytest.param([b"hello world"], id="put"), pytest.param([b"hello ", b"world"], id="multipart")]


# One PUT.


def test_a_small_object_is_one_request() -> None:
    """Below the part size: one PUT and nothing else, with the sha256 in the metadata."""
    bucket = store()
    assert upload(bucket, [b"abc"]) == FIRST
    assert operations(bucket) == ["PutObject"]
    found = bucket.head(FIRST)
    assert found is not None
    assert found.metadata == {"sha256": hashlib.sha256(b"abc").hexdigest()}


def test_a_large_object_is_its_parts() -> None:
    """The name is looked at first; then the parts, and the condition at the end."""
    bucket = store()
    assert upload(bucket, [b"ab", b"cd", b"e"]) == FIRST
    assert operations(bucket) == [
        "HeadObject",
        "CreateMultipartUpload",
        *["UploadPart"] * 3,
        "CompleteMultipartUpload",
    ]
    assert bucket.contents() == {FIRST: b"abcde"}


# The name is taken.


@pytest.mark.parametrize("pieces", WAYS)
@pytest.mark.parametrize("earlier", WAYS)
def test_the_same_bytes_are_adopted(pieces: list[bytes], earlier: list[bytes]) -> None:
    """An object of an earlier try with the same bytes is ours, however it was uploaded; nothing is written again."""
    bucket = store()
    upload(bucket, earlier)
    assert upload(bucket, pieces) == FIRST
    assert bucket.contents() == {FIRST: b"hello world"}
    assert bucket.uploads_open() == 0


def test_adopting_a_single_put_reads_no_body() -> None:
    """Its metadata has the hash; a multipart object has none and is read."""
    bucket = store()
    upload(bucket, [b"abc"])
    upload(bucket, [b"abc"])
    assert operations(bucket) == ["PutObject", "PutObject", "HeadObject"]


@pytest.mark.parametrize("pieces", WAYS)
@pytest.mark.parametrize("other", [b"HELLO WORLD", b"hello worl", b""], ids=["same size", "shorter", "empty"])
def test_other_bytes_keep_their_name_and_we_take_the_next(pieces: list[bytes], other: bytes) -> None:
    """A name that holds other bytes, of the same size or not, is left alone."""
    bucket = store()
    bucket.put_if_absent(FIRST, other)
    bucket.put_if_absent(SECOND, other)
    assert upload(bucket, pieces) == THIRD
    assert bucket.contents() == {FIRST: other, SECOND: other, THIRD: b"hello world"}


@pytest.mark.parametrize("pieces", WAYS)
def test_our_bytes_under_a_later_name_are_adopted_too(pieces: list[bytes]) -> None:
    """A retry of a try that had to take the second name finds it there."""
    bucket = store()
    bucket.put_if_absent(FIRST, b"other")
    assert [upload(bucket, pieces) for _ in range(3)] == [SECOND] * 3
    assert len(bucket.contents()) == 2


@pytest.mark.parametrize("theirs", [b"hello world", b"HELLO WORLD"])
def test_a_name_taken_while_parts_are_sent(theirs: bytes) -> None:
    """Somebody completes the same name meanwhile: the same bytes are adopted, others make the range fail for now."""
    bucket = store()
    made = ObjectGroupUpload(bucket, KeyLayout(), [NAME])
    made.part(0, b"hello ")
    bucket.put_if_absent(FIRST, theirs)
    body = body_of([b"hello ", b"world"])
    if theirs == b"hello world":
        assert [each.key for each in made.finish([body], HELD).objects] == [FIRST]
    else:
        with pytest.raises(StoreUnavailable, match="was written by somebody else while it was uploaded"):
            made.finish([body], HELD)
        assert upload(bucket, [b"hello ", b"world"]) == SECOND  # the range is read again
    assert bucket.contents()[FIRST] == theirs
    made.abort()
    assert bucket.uploads_open() == 0


def test_there_is_an_end_to_trying_names() -> None:
    """After a hundred taken names it is an error that no retry cures, and says what to do."""
    bucket = store()
    for taken in range(COLLISIONS_MAX + 1):
        bucket.put_if_absent(FIRST.replace(".json", f"+{taken}.json" if taken else ".json"), b"other")
    for pieces in ([b"hello"], [b"hel", b"lo"]):
        with pytest.raises(
            DataError, match=f"{COLLISIONS_MAX} names .* are taken by other bytes.*topics.dir of its own"
        ):
            upload(bucket, pieces)


# Lost answers.


@pytest.mark.parametrize(
    ("pieces", "operation"),
    [
        ([b"hello world"], "PutObject"),
        ([b"hello ", b"world"], "HeadObject"),
        ([b"hello ", b"world"], "CreateMultipartUpload"),
        ([b"hello ", b"world"], "UploadPart"),
        ([b"hello ", b"world"], "CompleteMultipartUpload"),
    ],
)
@pytest.mark.parametrize("after_apply", [True, False], ids=["answer lost", "not done"])
def test_a_retry_after_any_failure_makes_one_object(pieces: list[bytes], operation: str, after_apply: bool) -> None:
    """Whether the store had done it or not, the next try ends with the one object under the first name."""
    bucket = store()
    bucket.fail_next(operation, OUT, after_apply=after_apply)
    with pytest.raises(StoreUnavailable):
        upload(bucket, pieces)
    assert upload(bucket, pieces) == FIRST
    assert bucket.contents() == {FIRST: b"hello world"}


class Contradicting(MemoryStore):
    """Says once that an object is there which is not."""

    def __init__(self) -> None:
        super().__init__()
        self.lies = 1

    def put_if_absent(self, key: str, body: bytes, **more: Any) -> Put:
        if self.lies:
            self.lies -= 1
            return Put.EXISTS
        return super().put_if_absent(key, body, **more)


def test_a_store_that_contradicts_itself_gets_no_second_name() -> None:
    """EXISTS where nothing is: the range fails for now, and its next try writes the object under the first name."""
    bucket = Contradicting()
    with pytest.raises(StoreUnavailable, match="missing by that to a HEAD"):
        upload(bucket, [b"abc"])
    assert bucket.contents() == {}
    assert upload(bucket, [b"abc"]) == FIRST
    assert bucket.contents() == {FIRST: b"abc"}


def test_an_abort_without_parts_asks_nothing() -> None:
    """Giving up an object of which nothing was sent costs no request."""
    bucket = store()
    ObjectGroupUpload(bucket, KeyLayout(), [NAME]).abort()
    assert bucket.requests == []


failures = st.tuples(
    st.sampled_from(["PutObject", "HeadObject", "GetObject", "CreateMultipartUpload", "UploadPart"])
    | st.sampled_from(["CompleteMultipartUpload", "PutObjectTagging"]),
    st.booleans(),
    st.integers(0, 2),
)


@given(st.lists(failures, max_size=5), st.lists(st.sampled_from([b"other", b"hello world"]), max_size=3), st.booleans())
def test_whatever_fails_each_object_is_made_once(
    failing: list[tuple[str, bool, int]], before: list[bytes], parts: bool
) -> None:
    """Tries under failures: objects that were there never change, and ours is in the bucket once in the end."""
    bucket = store()
    for key, body in zip([FIRST, SECOND, THIRD], before, strict=False):
        bucket.put_if_absent(key, body)
    standing = bucket.contents()
    for operation, after_apply, skip in failing:
        bucket.fail_next(operation, OUT, after_apply=after_apply, skip=skip)
    pieces = [b"hello ", b"world"] if parts else [b"hello world"]
    key = None
    for _ in range(40):
        try:
            key = upload(bucket, pieces, STRICT)
            break
        except StoreUnavailable:
            continue
    assert key is not None
    after = bucket.contents()
    assert after[key] == b"hello world"
    assert bucket.tags(key) == TAGS
    assert {name: after[name] for name in standing} == standing
    assert len(after) == len(standing) + (b"hello world" not in before)


# Tags.

TAGS = {"startOffset": "42", "endOffset": "52", "recordCount": "9", "team": "data"}
TAGGED = Tagging((("team", "data"),))
STRICT = Tagging((("team", "data"),), required=True)
REFUSED = StoreRefused("no tags here")


def test_tags_go_with_a_put_and_follow_a_multipart_upload() -> None:
    """One PUT stays one request; what is in parts is tagged once it is whole."""
    small, large = store(), store()
    assert upload(small, [b"hello world"], TAGGED) == upload(large, [b"hello ", b"world"], TAGGED) == FIRST
    assert small.tags(FIRST) == large.tags(FIRST) == TAGS
    assert operations(small) == ["PutObject"]
    assert operations(large)[-2:] == ["CompleteMultipartUpload", "PutObjectTagging"]


def test_configured_tags_win_over_those_of_the_same_name() -> None:
    """As in the sink."""
    bucket = store()
    upload(bucket, [b"hello world"], Tagging((("recordCount", "many"),)))
    assert bucket.tags(FIRST) == {"startOffset": "42", "endOffset": "52", "recordCount": "many"}


def test_without_tagging_nothing_is_tagged() -> None:
    """No tag, no request for one."""
    bucket = store()
    upload(bucket, [b"hello ", b"world"])
    assert bucket.tags(FIRST) == {}
    assert "PutObjectTagging" not in operations(bucket)


@pytest.mark.parametrize("pieces", WAYS)
@pytest.mark.parametrize("earlier", WAYS)
def test_an_adopted_object_gets_its_tags(pieces: list[bytes], earlier: list[bytes]) -> None:
    """An earlier try that wrote the bytes and no tags, or other ones, is made good."""
    bucket = store()
    upload(bucket, earlier, Tagging((("other", "x"),)))
    assert upload(bucket, pieces, TAGGED) == FIRST
    assert bucket.tags(FIRST) == TAGS
    assert bucket.contents() == {FIRST: b"hello world"}


def test_a_strangers_object_is_not_tagged() -> None:
    """Tags are for our bytes only."""
    bucket = store()
    bucket.put_if_absent(FIRST, b"other")
    assert upload(bucket, [b"hello world"], TAGGED) == upload(bucket, [b"hello ", b"world"], TAGGED) == SECOND
    assert bucket.tags(FIRST) == {}
    assert bucket.tags(SECOND) == TAGS


@pytest.mark.parametrize("error", [REFUSED, OUT], ids=["refused", "unavailable"])
def test_tags_that_fail_after_the_last_part(error: StoreRefused | StoreUnavailable) -> None:
    """`ignore`: the object stands without tags. `fail`: the range fails, and the next try adopts it and tags it."""
    bucket = store()
    bucket.fail_next("PutObjectTagging", error)
    assert upload(bucket, [b"hello ", b"world"], TAGGED) == FIRST
    assert bucket.tags(FIRST) == {}
    strict = store()
    strict.fail_next("PutObjectTagging", error)
    with pytest.raises(type(error)):
        upload(strict, [b"hello ", b"world"], STRICT)
    assert strict.uploads_open() == 0
    assert upload(strict, [b"hello ", b"world"], STRICT) == FIRST
    assert strict.tags(FIRST) == TAGS
    assert strict.contents() == {FIRST: b"hello world"}


def test_a_put_that_is_refused_for_its_tags() -> None:
    """`ignore`: it is put again without them. `fail`, or no tags in it: the refusal stands."""
    bucket = store()
    bucket.fail_next("PutObject", REFUSED)
    assert upload(bucket, [b"hello world"], TAGGED) == FIRST
    assert (bucket.tags(FIRST), bucket.contents()) == ({}, {FIRST: b"hello world"})
    for tagging in (STRICT, None):
        strict = store()
        strict.fail_next("PutObject", REFUSED)
        with pytest.raises(StoreRefused):
            upload(strict, [b"hello world"], tagging)
        assert strict.contents() == {}


def test_a_put_that_is_unavailable_is_not_put_without_tags() -> None:
    """A store that does not answer says nothing about tags."""
    bucket = store()
    bucket.fail_next("PutObject", OUT)
    with pytest.raises(StoreUnavailable):
        upload(bucket, [b"hello world"], TAGGED)
    assert operations(bucket) == ["PutObject"]


@pytest.mark.parametrize("raised", [DataError("changed"), KeyboardInterrupt()])
def test_what_ends_a_range_is_told_and_every_file_is_given_up(raised: BaseException) -> None:
    """An abort that the store refuses too hides neither the first error nor what else is to be aborted; what was
    finished is left alone."""
    given_up: list[str] = []

    class File:
        def __init__(self, name: str) -> None:
            self.name = name

        def abort(self) -> None:
            given_up.append(self.name)
            raise StoreUnavailable("the store is gone")

    with pytest.raises(type(raised)), given_up_unless_finished(File("data"), File("letters")):
        raise raised
    assert given_up == ["data", "letters"]
    with given_up_unless_finished(File("finished")):
        pass
    assert given_up == ["data", "letters"]
