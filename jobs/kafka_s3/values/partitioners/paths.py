"""What a partitioner answers, and the two rules that hold for every path: it stays one part of a key, and fits one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from kafka_s3.naming import COLLISIONS_MAX, DataName, KeyLayout, format_data_key, leads_out
from kafka_s3.records import RecordBatch
from kafka_s3.shown import quoted
from kafka_s3.values.rows import Rows

#: S3's own limit, in bytes of UTF-8.
KEY_BYTES_MAX: Final = 1024
# Room for the longest offset and every suffix that a name can get, so that a record's fate depends on its path alone.
_LONGEST_OFFSET: Final = 2**63 - 1
_LONGEST_GENERATION: Final = 10**6
_LONGEST_TOPIC: Final = "x" * 249
_NOT_IN_KEYS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


class Unpartitionable(str):
    """Stands in the place of a path, or of a field's text: why the record has none."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Paths:
    """The encoded partitions of a batch.

    `each`: one for all records, or one a record; where `i in bad` it means nothing. `times`: the record's time in
    milliseconds, where the partitioner has one (as `each`: for all, or one a record).
    """

    each: str | Sequence[str]
    bad: Mapping[int, str] = field(default_factory=dict)
    times: int | Sequence[int] | None = None


class Partitioner(Protocol):
    """Makes the encoded partitions of a batch. Rows that are excluded will not be written anyway."""

    def __call__(self, batch: RecordBatch, rows: Rows) -> Paths: ...


_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")


def escape_for(directory_delim: str) -> Callable[[str], str]:
    """Percent-encodes what would break a key's structure: the delimiter of directories, control characters and `%`.

    >>> escape_for("/")("a/b 100%é")
    'a%2Fb 100%25é'
    """
    risky = re.compile(rf"[%\x00-\x1f\x7f-\x9f]|{re.escape(directory_delim)}")

    def encode(match: re.Match[str]) -> str:
        return "".join(f"%{byte:02X}" for byte in match[0].encode())

    def escape(text: str) -> str:
        if _SURROGATE.search(text):
            return Unpartitionable("holds half a surrogate pair, which no key can")
        return risky.sub(encode, text)

    return escape


def _shown(path: str) -> str:
    return quoted(path, repr(path[:60]))


@dataclass(slots=True)
class FittingKeys:
    """A partitioner whose paths all fit into a key; one that is too long is a bad record's."""

    inner: Partitioner
    layout: KeyLayout
    extension: str
    _known: dict[tuple[str, str], str | None] = field(default_factory=dict)

    def __call__(self, batch: RecordBatch, rows: Rows) -> Paths:
        paths = self.inner(batch, rows)
        if isinstance(paths.each, str):
            problem = self._problem(batch, paths.each)
            return paths if problem is None else Paths(paths.each, dict.fromkeys(range(len(batch)), problem))
        distinct = set(paths.each)
        problems = {path: problem for path in distinct if (problem := self._problem(batch, path)) is not None}
        if not problems:
            return paths
        bad = {index: problems[path] for index, path in enumerate(paths.each) if path in problems}
        return Paths(paths.each, {**bad, **paths.bad}, paths.times)

    def _problem(self, batch: RecordBatch, path: str) -> str | None:
        if len(path) > KEY_BYTES_MAX:  # however many there are, and they may be megabytes each: none is kept
            return self._look_at(batch, path)
        known = (batch.tp.topic, path)
        if known not in self._known:
            if len(self._known) > 100_000:
                self._known.clear()
            self._known[known] = self._look_at(batch, path)
        return self._known[known]

    def _look_at(self, batch: RecordBatch, path: str) -> str | None:
        name = DataName(
            batch.tp.topic,
            path,
            batch.tp.partition,
            _LONGEST_OFFSET,
            self.extension,
            generation=_LONGEST_GENERATION,
            collision=COLLISIONS_MAX,
            folder=_LONGEST_TOPIC if self.layout.routed else None,
        )
        if leads_out(path, self.layout.directory_delim):
            return f"its path {_shown(path)} has a part '.' or '..', which would lead out of its folder"
        if _NOT_IN_KEYS.search(path):
            return f"its path {_shown(path)} holds a control character or half a surrogate pair, which no key can"
        size = len(format_data_key(self.layout, name).encode())
        if size <= KEY_BYTES_MAX:
            return None
        return f"its key would have {size} bytes, and S3 takes {KEY_BYTES_MAX}: the path begins {_shown(path)}"
