"""Redriving: dead letters go back to their topic, or to another, and what went where is written down.

Sent are the letters of the export. One that a rewind withdrew is not: its record is exported again, well or as another
letter, and would be in the export twice.

`redriven/<topic>/<object of dead letters>/<n>.json` says which letters of an object were sent to a topic. It is
written once they are safe there, so whoever dies between the two sends them twice; otherwise a record goes to the
same topic once, unless it is asked for again. That holds over rewinds, after which its letter lies in another object:
if what was sent of it was exported well, it would be exported once more. A topic that was created again has other
records under the same offsets; what was sent of the former says nothing of those.
"""

from __future__ import annotations

import heapq
import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from kafka_s3.bucket.dead_letter_objects import check_entry, read_letters
from kafka_s3.dead_letter import DeadLetter, redriven_key, redriven_prefix
from kafka_s3.dead_letters.live import DeadLettersOf, ExportedDeadLetters, letters_of_export
from kafka_s3.errors import Fenced, LogDamaged
from kafka_s3.events import DeadLettersRedriven, Tell
from kafka_s3.log.entries import FORMAT_VERSION, ObjectEntry, RangeEntry
from kafka_s3.log.store import Log
from kafka_s3.ports import DeadLetterSink, Put

_OFFSETS: Final = re.compile(r"(\d{1,19})(?:-(\d{1,19}))?", re.ASCII)
NAMES_MAX: Final = 100  # others that redrive the same object to the same topic at the same moment


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which letters; what is `None` does not matter. `offsets`, `[since_ms, until_ms)`: half-open.

    The times are those of the records; one without a timestamp lies in no interval. `error`: a part of the reason, in
    whichever case.
    """

    topic: str | None = None
    partition: int | None = None
    offsets: tuple[int, int] | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    stage: str | None = None
    error: str | None = None

    def may_be_in(self, done: RangeEntry) -> bool:
        """Whether the letters of a range are worth reading."""
        made = done.dead_letters
        return (
            made is not None
            and self.topic in (None, done.topic)
            and self.partition in (None, done.partition)
            and (self.offsets is None or (made.first_offset < self.offsets[1] and self.offsets[0] <= made.last_offset))
        )

    def holds(self, letter: DeadLetter) -> bool:
        return (
            self.topic in (None, letter.topic)
            and self.partition in (None, letter.partition)
            and (self.offsets is None or self.offsets[0] <= letter.offset < self.offsets[1])
            and self._is_timely(letter.timestamp_ms)
            and self.stage in (None, letter.stage)
            and (self.error is None or self.error.casefold() in letter.error.casefold())
        )

    def _is_timely(self, timestamp_ms: int | None) -> bool:
        if self.since_ms is None and self.until_ms is None:
            return True
        return (
            timestamp_ms is not None
            and (self.since_ms is None or self.since_ms <= timestamp_ms)
            and (self.until_ms is None or timestamp_ms < self.until_ms)
        )


def parse_offsets(text: str) -> tuple[int, int] | None:
    """`A-B`, both included, or `A`, as a half-open range.

    >>> parse_offsets("17-42"), parse_offsets("17"), parse_offsets("42-17"), parse_offsets("all")
    ((17, 43), (17, 18), None, None)
    """
    match = _OFFSETS.fullmatch(text)
    if match is None:
        return None
    first = int(match[1])
    last = int(match[2] or first)
    return (first, last + 1) if first <= last else None


class Redrive(msgspec.Struct, frozen=True, kw_only=True):
    """What was sent: of each `(first, last)` of `offsets`, every letter of the object from the one to the other."""

    format_version: int = FORMAT_VERSION
    to: str
    object: str
    sha256: str
    offsets: tuple[tuple[int, int], ...]
    letters: int
    at_ms: int

    @property
    def is_gapless(self) -> bool:
        """Whether every offset of its runs was a letter."""
        return self.letters == sum(last - first + 1 for first, last in self.offsets)


_REDRIVES: Final = msgspec.json.Decoder(Redrive)  # on import, as in `log.documents`


@dataclass(slots=True)
class Redriven:
    """What came of it. `matched` letters are wanted; `before` of them were sent to the same topic earlier.

    `sent`: how many letters went to which topic; in a dry run, how many would. `foreign`: of how many ranges the
    letters were left alone, by topic, because neither the connector nor a person names that.
    """

    matched: int = 0
    before: int = 0
    sent: dict[str, int] = field(default_factory=dict)
    foreign: dict[str, int] = field(default_factory=dict)


def redrive(
    log: Log,
    wanted: Wanted,
    *,
    exports: Callable[[str], bool],
    to: str | None,
    again: bool,
    sink: DeadLetterSink | None,
    at_ms: int,
    tell: Tell,
) -> Redriven:
    """Send the wanted letters to `to`, or each to its own topic, oldest first; without a sink only count them.

    `exports`: whether today's configuration exports a topic. The log alone is no reason to write to one: who may write
    to the bucket could name any.
    """
    report = Redriven()
    found = letters_of_export(log)
    for each in found.live:
        if not wanted.may_be_in(each.done):
            continue
        target = to if to is not None else each.done.topic
        if to is None and wanted.topic is None and not exports(target):
            report.foreign[target] = report.foreign.get(target, 0) + 1
            continue
        letters = read_letters(log, each.done)  # first: it refuses a key that is none
        picked = _Picked(letters, wanted, _Sent(()) if again else _sent_before(log, target, found, each))
        if sink is None:
            picked.exhaust()
        else:
            sink.send(picked)
        report.matched += picked.matched
        report.before += picked.matched - picked.sent
        if not picked.sent:
            continue
        report.sent[target] = report.sent.get(target, 0) + picked.sent
        if sink is not None:
            _write_down(log, each.made, target, picked, at_ms)
            tell(DeadLettersRedriven(key=each.made.key, topic=target, count=picked.sent))
    return report


class _Sent:
    """Offsets that were sent before: all of each run `[first, last]`, and single ones, which ascend."""

    def __init__(self, runs: Iterable[tuple[int, int]], single: Sequence[int] = ()) -> None:
        self._first: list[int] = []
        self._last: list[int] = []
        self._single = single
        for first, last in sorted(runs):
            if self._last and first <= self._last[-1]:
                self._last[-1] = max(self._last[-1], last)
            else:
                self._first.append(first)
                self._last.append(last)

    def __contains__(self, offset: int) -> bool:
        at = bisect_right(self._first, offset) - 1
        if at >= 0 and offset <= self._last[at]:
            return True
        at = bisect_left(self._single, offset)
        return at < len(self._single) and self._single[at] == offset


class _Picked:
    """The letters to send, and which those were once they have been read."""

    def __init__(self, letters: Iterable[DeadLetter], wanted: Wanted, before: _Sent) -> None:
        self._letters = letters
        self._wanted = wanted
        self._before = before
        self.matched = 0
        self.sent = 0
        self.runs: list[tuple[int, int]] = []

    def __iter__(self) -> Iterator[DeadLetter]:
        running = False
        for letter in self._letters:
            matches = self._wanted.holds(letter)
            self.matched += matches
            if not matches or letter.offset in self._before:
                running = False
                continue
            self.sent += 1
            if running:
                self.runs[-1] = (self.runs[-1][0], letter.offset)
            else:
                self.runs.append((letter.offset, letter.offset))
            running = True
            yield letter

    def exhaust(self) -> None:
        for _ in self:
            pass


def _sent_before(log: Log, to: str, found: ExportedDeadLetters, each: DeadLettersOf) -> _Sent:
    """Which letters of a range were sent to a topic: out of its object, or of one with the same records that a rewind
    withdrew since.

    A run of an object means the letters of that object. Where other offsets lie among them, which may be letters of
    this one, the withdrawn object is read. Memory: the runs, and eight bytes for each letter that is found so.
    """
    runs = [run for earlier in _earlier(log, to, each.made.key) for run in earlier.offsets]
    single: list[array[int]] = []
    for other in found.withdrawn_beside(each):
        check_entry(log, other.done, other.made)
        among: list[tuple[int, int]] = []
        for earlier in _earlier(log, to, other.made.key):
            (runs if earlier.is_gapless else among).extend(earlier.offsets)
        if among:
            single.append(_letters_among(log, other, _Sent(among)))
    return _Sent(runs, array("q", heapq.merge(*single)))


def _letters_among(log: Log, withdrawn: DeadLettersOf, sent: _Sent) -> array[int]:
    """The offsets of those letters of a withdrawn range that were sent."""
    try:
        return array("q", (letter.offset for letter in read_letters(log, withdrawn.done) if letter.offset in sent))
    except LogDamaged as error:
        raise LogDamaged(
            f"Which dead letters of {withdrawn.made.key} were sent before it was withdrawn is unknown: {error.what}",
            next="Restore it from the bucket's versions; --again sends whatever was sent before.",
        ) from None


def _earlier(log: Log, to: str, letters_key: str) -> Iterator[Redrive]:
    """What was sent of an object to a topic."""
    for info in log.store.list(redriven_prefix(log.layout, to, letters_key)):
        way_out = "Restore it from the bucket's versions; --again sends whatever was sent before."
        data = log.get(info.key)
        if data is None:
            raise LogDamaged(
                f"{info.key} was listed and is gone.", next="Something deletes records of what was sent: stop it."
            )
        try:
            found = _REDRIVES.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise LogDamaged(f"{info.key} is not a record of a redrive: {error}.", next=way_out) from None
        if (found.to, found.object) != (to, letters_key) or found.format_version > FORMAT_VERSION:
            raise LogDamaged(f"{info.key} is a record of {found.object} sent to {found.to}.", next=way_out)
        yield found


def _write_down(log: Log, made: ObjectEntry, to: str, picked: _Picked, at_ms: int) -> None:
    record = Redrive(
        to=to, object=made.key, sha256=made.sha256, offsets=tuple(picked.runs), letters=picked.sent, at_ms=at_ms
    )
    data = msgspec.json.encode(record)
    taken = sum(1 for _ in log.store.list(redriven_prefix(log.layout, to, made.key)))
    for number in range(taken, taken + NAMES_MAX):
        key = redriven_key(log.layout, to, made.key, number)
        if log.put(key, data) is Put.CREATED or log.store.get(key) == log.log_key.sign(key, data):
            return
    raise Fenced(
        f"{picked.sent} dead letters of {made.key} were sent to {to}, but others write down theirs all the time."
    )
