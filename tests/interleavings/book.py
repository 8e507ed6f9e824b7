"""The live log and the windows as a reader finds them, and what each entry and each mark may say.

The log itself is checked by the ledger of the generated histories (`tests.scenario.ledger`), entry by entry as they are
written. Here is what the claims are held against: the export as of every entry, the letters of every commit, windows.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_s3.bucket.window import parse_window
from kafka_s3.dead_letter import decode as decode_letter
from kafka_s3.log.documents import decode
from kafka_s3.log.entries import Entry, Interval, Kind, ObjectEntry, Plan, RangeEntry
from kafka_s3.naming import parse_seq
from tests.interleavings.truth import Snapshot, State, Truth
from tests.scenario.kafka import Fact
from tests.scenario.ledger import LOG, Ledger
from tests.support import rows_of

HOME = f"{LOG.root}/{LOG.connector}/"
WINDOWS = f"{HOME}reexport/"
WINDOW_DATA = "reexport/"


class Violation(AssertionError):
    """A rule is broken: which one, and by what."""

    def __init__(self, rule: str, what: str) -> None:
        super().__init__(f"{rule}: {what}")
        self.rule = rule


@dataclass
class Book(Ledger):
    """The ledger, and the export as it was at each entry."""

    states: dict[int, State] = field(default_factory=dict)
    letters: dict[int, list[int]] = field(default_factory=dict)  # of each commit
    records: int = 0  # in objects of all entries, whatever became of them

    @property
    def withdrawn_records(self) -> int:
        return self.records - sum(not key.startswith("_") for key in self.live.values())

    _reading: list[int] = field(default_factory=list)

    def read(self, contents: Mapping[str, bytes], deleted: set[str]) -> None:
        live = {key: body for key, body in contents.items() if not key.startswith((WINDOWS, WINDOW_DATA))}
        self.check(live, {key for key in deleted if not key.startswith((WINDOWS, WINDOW_DATA))})

    def _take(self, key: str, contents: Mapping[str, bytes]) -> None:
        self._reading = []
        super()._take(key, contents)
        entry = self.head
        assert entry is not None
        self.letters[entry.seq] = self._reading
        self.records += sum(made.records for done in entry.ranges for made in done.objects)
        lost = {tp: tuple((each.start, each.end) for each in taken if each.lost) for tp, taken in self.taken.items()}
        positions = {tp: entry.position(tp) or 0 for tp in self.kafka.now}
        ids = {name: topic.topic_id for name, topic in entry.topics.items()}
        self.states[entry.seq] = State(entry.seq, dict(self.live), positions, ids, lost)

    def _letters_in(self, made: ObjectEntry, contents: Mapping[str, bytes]) -> list[Fact]:
        found = super()._letters_in(made, contents)
        self._reading += [fact.number for fact in found]
        return found

    @property
    def newest(self) -> State:
        assert self.head is not None
        return self.states[self.head.seq]


@dataclass
class WindowBook:
    """Windows that were exported again: each is committed once, holds what the export held of its time, and stays."""

    truth: Truth
    book: Book
    listed: dict[str, str] = field(default_factory=dict)  # key -> sha256
    withdrawn: set[str] = field(default_factory=set)  # keys that no reader takes any more
    of: dict[Interval, set[str]] = field(default_factory=dict)  # what each window lists
    committed: dict[Interval, set[int]] = field(default_factory=dict)

    def entry(self, key: str, contents: Mapping[str, bytes], began: Mapping[str, Snapshot], head: int) -> None:
        """A new entry in the log of a window. `head`: the live log's newest entry when its program started."""
        folder, _, _ = key.removeprefix(WINDOWS).partition("/")
        window, entry = parse_window(folder), decode(Entry, key, contents[key])
        assert window is not None, key
        if entry.restarts and window in self.committed:
            self.withdrawn |= self.of.pop(window)
            self.listed = {made: sha256 for made, sha256 in self.listed.items() if made not in self.withdrawn}
            del self.committed[window]
        if entry.kind is not Kind.COMMIT:
            return
        if window in self.committed:
            raise Violation("window", f"window {folder} is committed twice: {key}")
        numbers: list[int] = []
        letters: list[int] = []
        before = set(self.listed)
        for done in entry.ranges:
            done.check_accounting()
            self._take(done, contents, numbers, letters)
        held = set(numbers)
        if len(held) != len(numbers):
            raise Violation("window", f"window {folder} holds a record twice: {sorted(numbers)}")
        self.committed[window] = held
        self.of[window] = set(self.listed) - before
        self._is_of_the_export(folder, window, held)
        since = [state.live for state in self.book.states.values() if state.seq >= head]
        withdrawn = sorted(number for number in held if not any(number in live for live in since))
        if withdrawn:
            what = f"window {folder} holds {withdrawn}, which were withdrawn before the program that commits it began"
            raise Violation("window holds", what)
        plan_key = key.replace("/log/", "/plan/")
        plan = decode(Plan, plan_key, contents[plan_key])
        due = began[plan.run.run_id].due(window.end_ms, window.start_ms)
        newest = self.book.newest
        state = State(newest.seq, dict.fromkeys([*held, *letters], key), {}, newest.topic_ids, newest.lost)
        refused = {number for number, where in newest.live.items() if where.startswith(LOG.root)}
        missing = [
            fact
            for fact in self.truth.missing(due, state)
            if fact.number not in refused and (fact.sort.value != "tombstone" or self.truth.sides)
        ]
        if missing:
            raise Violation("window lacks", f"window {folder} lacks {missing}, which were there before it was planned")

    def check_kept(self, contents: Mapping[str, bytes]) -> None:
        for key, sha256 in self.listed.items():
            if key not in contents or hashlib.sha256(contents[key]).hexdigest() != sha256:
                raise Violation("window", f"{key}, which a window lists, is gone or was changed")

    def _take(self, done: RangeEntry, contents: Mapping[str, bytes], numbers: list[int], letters: list[int]) -> None:
        for made in done.objects:
            rows = rows_of(self._body(made, contents), made.key)
            numbers += [int(row) if isinstance(row, str) else row["u"] for row in rows]
            for beside in made.companions:
                self._body(ObjectEntry(key=beside.key, size=beside.size, sha256=beside.sha256, records=made.records,
                                       first_offset=0, last_offset=0, closed_by=""), contents)  # fmt: skip
        if done.dead_letters is not None:
            body = self._body(done.dead_letters, contents)
            letters += [int(decode_letter(line).key or b"") for line in gzip.decompress(body).splitlines()]

    def _body(self, made: ObjectEntry, contents: Mapping[str, bytes]) -> bytes:
        body = contents.get(made.key)
        if body is None or (len(body), hashlib.sha256(body).hexdigest()) != (made.size, made.sha256):
            raise Violation("window", f"{made.key} of a window's commit is not there, or not as its entry says")
        if made.key in self.listed or made.key in self.withdrawn or made.key in self.book.listed:
            raise Violation("window", f"{made.key} of a window's commit is listed by another commit, too")
        self.listed[made.key] = made.sha256
        return body

    def _is_of_the_export(self, folder: str, window: Interval, held: set[int]) -> None:
        """It holds what the export held of its time, as of some entry."""
        stamps = self.truth.stamps
        for state in self.book.states.values():
            of_time = {
                number
                for number, where in state.live.items()
                if not where.startswith(LOG.root) and window.start_ms <= stamps[number] < window.end_ms
            }
            if of_time == held:
                return
        raise Violation(
            "window", f"window {folder} holds {sorted(held)}, which the export held as of no entry; now {of_time}"
        )


def check_reported(book: Book, key: str, sent: list[int]) -> None:
    """`reported/<seq>`: the letters of this entry, and of every one before, were sent."""
    seq = parse_seq(key)
    assert seq is not None, key
    for commit, letters in book.letters.items():
        unsent = set(letters) - set(sent)
        if commit <= seq and unsent:
            raise Violation(
                "letters", f"{key} says that the letters of entry {commit} are safe; these were not sent: {unsent}"
            )


def check_redriven(contents: Mapping[str, bytes], key: str, sent: list[int]) -> None:
    """`redriven/…`: the letters that it names were sent."""
    said = json.loads(contents[key])
    lines = gzip.decompress(contents[said["object"]]).splitlines()
    letters = [decode_letter(line) for line in lines]
    named = [
        int(letter.key or b"")
        for letter in letters
        if any(first <= letter.offset <= last for first, last in said["offsets"])
    ]
    if len(named) != said["letters"]:
        raise Violation("letters", f"{key} names {said['letters']} letters, {len(named)} are at those offsets")
    if set(named) - set(sent):
        raise Violation("letters", f"{key} says that these letters were sent, which were not: {set(named) - set(sent)}")
