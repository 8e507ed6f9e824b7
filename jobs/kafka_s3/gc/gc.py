"""Garbage collection: deletes what dead runs left behind, and nothing that a reader or a run may need.

    collect   the whole log, then the keys -> objects that no entry lists and uploads that nobody will complete
    delete    the newest entries once more, then those objects and uploads

Why none of this can race with a run, a rewind or another collection is said in `orphans`. `collect` goes by the log
as it was when it began, so what is committed meanwhile is at or above its positions and is left alone; `delete` reads
what was committed since all the same, and stops if it lists a key that it must not.
Nothing is deleted once the log is another one (docs/protocol.md#epochs): that is looked at after all else.

`collect` goes over the windows that were exported again too, by a rule of their own: see `bucket.window_leftovers`.

Memory of `collect`: about 200 bytes for each object that the log lists, about 400 for each orphan, and the commits of
windows that have any."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from kafka_s3.bucket.audit import walk
from kafka_s3.bucket.findings import Findings
from kafka_s3.bucket.folders import NOTHING_NAMED, Configurations, Named, known
from kafka_s3.bucket.lost import Losses
from kafka_s3.bucket.orphans import Orphan, OwnedPrefixes, find, keys_of, open_uploads, survey
from kafka_s3.bucket.window import window_id
from kafka_s3.bucket.window_leftovers import Leftovers, left_in
from kafka_s3.bucket.window_listing import newest_first
from kafka_s3.errors import ExporterError, LogDamaged, TemporaryError
from kafka_s3.gc.withdrawn import Withdrawn
from kafka_s3.log.entries import Entry, Interval, Kind
from kafka_s3.log.store import Log
from kafka_s3.naming import parse_seq
from kafka_s3.ordered_pool import AHEAD, PARALLEL, map_ordered, workers
from kafka_s3.ports import OpenUpload
from kafka_s3.settings.model import Settings

#: Deletions that fail before the rest is left for another time: by then it is the store, or a permission.
FAILURES_MAX: Final = 10
_KNOWN: Final = frozenset({Kind.COMMIT, Kind.VOID, Kind.CHECKPOINT, Kind.ADOPT, Kind.REWIND})


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it is: so many log entries read, keys looked at, or objects deleted."""

    doing: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Garbage:
    """What was found, as of the newest entry `seq`. `waiting`: orphans that may not be deleted (yet).

    `windows`: those re-exported windows that some of the objects and uploads are from.
    """

    seq: int
    entries: int
    objects: tuple[Orphan, ...]
    uploads: tuple[OpenUpload, ...]
    waiting: tuple[Orphan, ...]
    notes: tuple[str, ...]
    windows: tuple[Leftovers, ...] = ()

    @property
    def bytes(self) -> int:
        return sum(orphan.size for orphan in self.objects)


@dataclass(frozen=True, slots=True)
class Failed:
    """A key that could not be deleted, and why."""

    key: str
    reason: str


@dataclass(frozen=True, slots=True)
class Deleted:
    """What became of the garbage. `left`: what was not tried any more after too many failures."""

    objects: int
    uploads: int
    failed: tuple[Failed, ...]
    left: int = 0

    @property
    def complete(self) -> bool:
        return not self.failed and not self.left


def collect(
    settings: Settings,
    log: Log,
    *,
    named: Named = NOTHING_NAMED,
    with_lost: bool = False,
    with_withdrawn: bool = False,
    parallel: int = PARALLEL,
    tell: Callable[[Progress], None] = lambda _: None,
) -> Garbage | None:
    """Find what may be deleted; `None` without a log. Reads only.

    Prefixes and topics that only older plans name are left alone: who may write a plan could point them anywhere.
    `named`: those that a person vouches for; `with_lost`, `with_withdrawn`: what goes only if it is asked for.

    Raises `LogDamaged` unless the whole log can be read and believed: an entry that is unknown may list anything.
    """
    configurations, findings = Configurations(settings), Findings()
    listed: set[str] = set()
    head: Entry | None = None
    adopted: list[Entry] = []
    lost, withdrawn, entries = Losses(), Withdrawn(with_withdrawn), 0
    with workers(parallel) as pool:
        for checked in walk(log, 0, findings, pool, parallel * AHEAD):
            entry = checked.entry
            head, entries = head or entry, entries + 1
            lost.take(entry)
            withdrawn.take(entry)
            if entry.kind not in _KNOWN:
                raise LogDamaged(
                    f"Entry {entry.seq} is of the kind {entry.kind}, and this exporter does not know what that lists.",
                    next="Nothing was deleted. A newer exporter wrote it: upgrade this one.",
                )
            if entry.kind is Kind.ADOPT:
                adopted.append(entry)
            if checked.plan is not None:
                configurations.of(checked.plan)
            listed.update(keys_of(entry))
            tell(Progress("log entries", entries, head.seq + 1))
    if findings.count:
        raise LogDamaged(
            f"The log of connector {log.layout.connector} is not as it should be: {findings.kept[0]}",
            next="Nothing was deleted: what cannot be read may list any object. `kafka-s3 verify` names the rest.",
        )
    if head is None:
        return None
    where = known(configurations.places(), head.topics, settings, named)
    territory = survey(log, head, where.places, topics=where.topics)
    notes = [*territory.notes, *where.notes]
    if configurations.unknown():
        notes.append(f"{configurations.unknown()} configurations of older plans are not known to this engine: what lies"
                     " under their keys alone was not looked at")  # fmt: skip

    def looked_at(keys: int) -> None:
        tell(Progress("keys", keys, len(listed)))

    gone = withdrawn.keys(head, lost.found)
    found = list(find(log, territory, listed, head, adopted, looked_at, () if with_lost else lost.found, gone))
    uploads, refused = _uploads(log, territory, head, adopted)
    left, said = _in_windows(settings, log, parallel, tell)
    return Garbage(
        head.seq,
        entries,
        (*(orphan for orphan in found if orphan.deletable), *(each for window in left for each in window.objects)),
        (*uploads, *(each for window in left for each in window.uploads)),
        tuple(orphan for orphan in found if not orphan.deletable),
        tuple(dict.fromkeys([*notes, *([refused] if refused else []), *said])),
        left,
    )


def _in_windows(
    settings: Settings, log: Log, parallel: int, tell: Callable[[Progress], None]
) -> tuple[tuple[Leftovers, ...], list[str]]:
    """The re-exported windows that are committed and have garbage; what was not looked at. `look` says what it costs.

    A window whose log is damaged is left alone: the others are none the worse for it.
    """

    def attempt(window: Interval) -> Leftovers | str | None:
        try:
            return left_in(settings, log, window)
        except LogDamaged as error:
            return f"window {window_id(window)} was not looked at: {error.what}"

    windows = newest_first(settings, log.store)
    left, said = [], []
    with workers(parallel) as pool:
        for done, found in enumerate(map_ordered(pool, attempt, windows, parallel * AHEAD), 1):
            tell(Progress("windows", done, len(windows)))
            if isinstance(found, str):
                said.append(found)
            elif found is not None:
                said += found.notes
                if found.objects or found.uploads:
                    left.append(found)
    return tuple(left), said


def _uploads(log: Log, territory: OwnedPrefixes, head: Entry, adopted: Sequence[Entry]) -> tuple[list[OpenUpload], str]:
    """Uploads whose key nobody can commit any more: one of a listed key is a second writer's, which has lost.

    One of a log entry's key tried the store out, which a run does with the newest entry unless that closed a plan
    (`owners.probe`): those of entries before it have lost.
    """

    def is_lost(key: str, prefix: str) -> bool:
        if prefix == log.layout.log_prefix:
            seq = parse_seq(key)
            return seq is not None and (seq < head.seq or (seq == head.seq and head.plan_sha256 is not None))
        what = territory.fate(key, head, adopted)
        return what is not None and what.deletable

    return open_uploads(log.store, (*territory.prefixes, log.layout.log_prefix), is_lost)


def delete(
    log: Log, garbage: Garbage, *, parallel: int = PARALLEL, tell: Callable[[Progress], None] = lambda _: None
) -> Deleted:
    """Delete the objects and abort the uploads that `collect` found. What fails is told, not raised.

    Raises `LogDamaged`, and deletes nothing, if an entry written since lists one of them after all; `TemporaryError`
    if one of their windows was deleted by hand since, and so may have been exported again.
    """
    log.check_current()
    _check_unlisted(log, garbage)
    for window in garbage.windows:
        if not window.is_current():
            raise TemporaryError(
                f"Window {window.log.layout.connector} is not the one any more that was looked at.",
                next="Nothing was deleted: look again.",
            )
    store = log.store
    jobs = [
        *((orphan.key, True, partial(store.delete, orphan.key)) for orphan in garbage.objects),
        *((upload.key, False, partial(store.abort_upload, upload)) for upload in garbage.uploads),
    ]
    failed: list[Failed] = []
    counts = {True: 0, False: 0}
    with workers(parallel) as pool:

        def attempt(job: tuple[str, bool, Callable[[], None]]) -> tuple[bool, Failed | None]:
            key, is_object, act = job
            try:
                act()
            except ExporterError as error:
                return is_object, Failed(key, str(error))
            return is_object, None

        for tried, (is_object, failure) in enumerate(map_ordered(pool, attempt, jobs, parallel * AHEAD), 1):
            if failure is None:
                counts[is_object] += 1
            else:
                failed.append(failure)
            tell(Progress("deleted", tried, len(jobs)))
            if len(failed) >= FAILURES_MAX:
                break
    left = len(jobs) - counts[True] - counts[False] - len(failed)
    return Deleted(counts[True], counts[False], tuple(failed), left)


def _check_unlisted(log: Log, garbage: Garbage) -> None:
    doomed = {orphan.key for orphan in garbage.objects}
    for committed in log.entries(after_seq=garbage.seq):
        for key in keys_of(committed.entry):
            if key in doomed:
                raise LogDamaged(
                    f"Entry {committed.entry.seq} lists {key}, which lies behind the positions of entry {garbage.seq}.",
                    next="Nothing was deleted. The exporter never writes this: keep the bucket as it is and report it.",
                )
