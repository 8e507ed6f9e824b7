"""Object groups into the store: put-if-absent, adopt what is already there, else the next free name.

Nothing is ever overwritten. An object below `s3.part.size` is one PUT. A larger one goes out in parts; its bytes are
gone once they are sent, so the question whether the name is free is asked before the first part, and once more by the
condition at the end. The members of an object group share the suffix of their name: one that is taken takes the whole
group to the next one.

Tags (`s3.object.tagging`) go with a PUT. Those of an object in parts are known at its end only, and follow in a
request of their own; so they do for an object that is adopted, whose first writer may have got no further, or may
have been told to write others. What counts is the commit log: tags that are refused are left out unless
`s3.object.behavior.on.tagging.error` is fail.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from kafka_s3.crash_points import CrashPoint, crash_point
from kafka_s3.errors import DataError, ExporterError, StoreRefused, StoreUnavailable
from kafka_s3.log.entries import Companion, ObjectEntry
from kafka_s3.naming import COLLISIONS_MAX, DataName, KeyLayout, format_data_key
from kafka_s3.ports import MultipartUpload, ObjectInfo, ObjectStore, Put
from kafka_s3.settings.s3 import BUILT_IN_TAGS, Tagging
from kafka_s3.write.object_group import Body, FinishedUpload, OffsetSpan, WrittenObject


class ObjectGroupUpload:
    """An `object_group.Upload` over an object store; `names` has one name for each member."""

    def __init__(
        self, store: ObjectStore, layout: KeyLayout, names: Sequence[DataName], *, tagging: Tagging | None = None
    ) -> None:
        self._store = store
        self._layout = layout
        self._names = tuple(names)
        self._tagging = tagging
        self._multiparts: dict[int, MultipartUpload] = {}
        self._taken: list[tuple[DataName, ...]] = []  # passed over before the first part, whose bytes they may hold

    def part(self, member: int, body: bytes) -> None:
        if not self._multiparts:
            while any(self._store.head(key) is not None for key in self._keys()):
                self._taken.append(self._names)
                self._use_next_name()
        if member not in self._multiparts:
            self._multiparts[member] = self._store.start_multipart(self._keys()[member])
            crash_point(CrashPoint.STARTED_UPLOAD)
        self._multiparts[member].put_part(body)
        crash_point(CrashPoint.SENT_PART)

    def finish(self, bodies: Sequence[Body], holds: OffsetSpan) -> FinishedUpload:
        tags = make_tags(self._tagging, holds)
        crash_point(CrashPoint.WRITING_OBJECT)
        if self._multiparts:
            self._complete(bodies, tags)
        else:
            while not self._put_all(bodies, tags):
                self._use_next_name()
        crash_point(CrashPoint.WROTE_OBJECT)
        return FinishedUpload.of(self._keys(), bodies)

    def abort(self) -> None:
        """Abort what is in parts; a part's upload that is completed or aborted is none any more."""
        for number in list(self._multiparts):
            self._multiparts.pop(number).abort()

    def _put_all(self, bodies: Sequence[Body], tags: Mapping[str, str]) -> bool:
        """Put those members that have no parts, the first one last; False if a name is taken by other bytes."""
        members = [number for number in range(len(bodies)) if number not in self._multiparts]
        return all(self._put(self._keys()[number], bodies[number], tags) for number in reversed(members))

    def _put(self, key: str, body: Body, tags: Mapping[str, str]) -> bool:
        if self._put_if_absent(key, body, tags) is Put.CREATED:
            return True
        info = self._store.head(key)
        if info is None:
            # Under the next name it would be there twice once the store has found its mind: a retry puts it here.
            raise StoreUnavailable(f"{key} is there by the answer to its PUT, and missing by that to a HEAD.")
        if not self._is(info, body):
            return False
        self._tag(key, tags)
        return True

    def _put_if_absent(self, key: str, body: Body, tags: Mapping[str, str]) -> Put:
        metadata = {"sha256": body.sha256}
        try:
            return self._store.put_if_absent(key, body.last, metadata=metadata, tags=tags)
        except StoreRefused:
            if not tags or self._tags_required:
                raise
        # It may be the tags alone that were refused: for want of s3:PutObjectTagging, or by a store without tags.
        return self._store.put_if_absent(key, body.last, metadata=metadata)

    def _complete(self, bodies: Sequence[Body], tags: Mapping[str, str]) -> None:
        """Adopt an object group that an earlier try completed, else complete ours."""
        ours = self._names
        for names in self._taken:
            self._names = names
            if self._adopts(bodies, tags):
                self.abort()
                return
        self._names = ours
        for number, multipart in self._multiparts.items():
            multipart.put_part(bodies[number].last)
        if all(self._finish(number, bodies[number], tags) for number in reversed(range(len(bodies)))):
            return
        self.abort()
        raise StoreUnavailable(
            f"{self._keys()[0]} was written by somebody else while it was uploaded.", next="The range is read again."
        )

    def _adopts(self, bodies: Sequence[Body], tags: Mapping[str, str]) -> bool:
        """Whether the names that were taken hold these bytes: members with parts already, the others at least now."""
        for number in self._multiparts:
            if not self._holds(self._keys()[number], bodies[number]):
                return False
        if not self._put_all(bodies, tags):
            return False
        for number in self._multiparts:
            self._tag(self._keys()[number], tags)
        return True

    def _finish(self, number: int, body: Body, tags: Mapping[str, str]) -> bool:
        """Make one member visible; False if its name is taken by other bytes."""
        key = self._keys()[number]
        if number not in self._multiparts:
            return self._put(key, body, tags)
        if self._multiparts[number].complete_if_absent() is Put.CREATED:
            del self._multiparts[number]  # there is nothing left to abort
        elif not self._holds(key, body):
            return False
        self._tag(key, tags)
        return True

    @property
    def _tags_required(self) -> bool:
        return self._tagging is not None and self._tagging.required

    def _tag(self, key: str, tags: Mapping[str, str]) -> None:
        if not tags:
            return
        forgiven = () if self._tags_required else (StoreRefused, StoreUnavailable)
        with contextlib.suppress(*forgiven):
            self._store.put_tags(key, tags)

    def _holds(self, key: str, body: Body) -> bool:
        info = self._store.head(key)
        return info is not None and self._is(info, body)

    def _is(self, info: ObjectInfo, body: Body) -> bool:
        """Whether an object is these bytes: by its metadata, else by reading it."""
        if info.size != body.size:
            return False
        recorded = (info.metadata or {}).get("sha256")
        if recorded is not None:
            return recorded == body.sha256
        digest = hashlib.sha256()
        for chunk in self._store.read(info.key):
            digest.update(chunk)
        return digest.hexdigest() == body.sha256

    def _keys(self) -> list[str]:
        return [format_data_key(self._layout, name) for name in self._names]

    def _use_next_name(self) -> None:
        if self._names[0].collision >= COLLISIONS_MAX:  # each a whole object that somebody else wrote under our name
            raise DataError(
                f"{COLLISIONS_MAX} names from {self._keys()[0]} back are taken by other bytes.",
                next="Something else writes under this prefix: give the connector a topics.dir of its own.",
            )
        self._names = tuple(name.next_free() for name in self._names)


def make_tags(tagging: Tagging | None, holds: OffsetSpan) -> dict[str, str]:
    """
    >>> make_tags(Tagging((("team", "data"), ("recordCount", "many"))), OffsetSpan(50, 42, 99))
    {'startOffset': '42', 'endOffset': '99', 'recordCount': 'many', 'team': 'data'}
    >>> make_tags(None, OffsetSpan(50, 42, 99))
    {}
    """
    if tagging is None:
        return {}
    values = (holds.first_offset, holds.last_offset, holds.records)
    return {**dict(zip(BUILT_IN_TAGS, map(str, values), strict=True)), **dict(tagging.extra)}


class _Open(Protocol):
    def abort(self) -> None: ...


@contextlib.contextmanager
def given_up_unless_finished(*files: _Open) -> Iterator[None]:
    """Aborts open uploads whatever ends a range early: an error of the world, a bug, Control-C, an exit."""
    with contextlib.ExitStack() as unfinished:
        for file in reversed(files):
            unfinished.callback(_give_up, file)
        yield
        unfinished.pop_all()


def _give_up(file: _Open) -> None:
    with contextlib.suppress(ExporterError):  # the first error is the one to tell; a sweep finds the rest
        file.abort()


def object_entry(made: WrittenObject) -> ObjectEntry:
    """What a range's entry says of an object that is in the store."""
    return ObjectEntry(
        key=made.stored.key,
        size=made.stored.size,
        sha256=made.stored.sha256,
        records=made.holds.records,
        first_offset=made.holds.first_offset,
        last_offset=made.holds.last_offset,
        min_timestamp_ms=None if made.times is None else made.times.min_ms,
        max_timestamp_ms=None if made.times is None else made.times.max_ms,
        closed_by=made.closed_by.value,
        schema_id=made.schema_id,
        companions=tuple(
            Companion(what=member.value, key=each.key, size=each.size, sha256=each.sha256)
            for member, each in made.beside
        ),
    )
