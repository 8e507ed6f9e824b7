"""What lies among the keys of a committed window and is not the window: of runs that died, lost or slept.

A window has one commit, and what that does not list nobody can list any more: a run of the window that is still at
work has lost, whether it knows or not. It may be withdrawn and exported once more; then every name is of a generation
that no plan before had (`names`). So what the commit does not list of lower generations may be deleted, open uploads
too, at any time and by anybody: and again later, for a run that slept writes what it has when it wakes. Of a window
that was withdrawn that is all of the export before, listed or not; the next one is left alone while it is under way.

Left alone are keys that no configuration of the window's plans makes, and topics whose windows another connector owns:
two connectors have windows of the same name under the same prefix as a rule. They are told apart by `survey`, which
looks at owners, and these know nothing of windows; so it is asked about keys without the window in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from kafka_s3.bucket.folders import Configurations, Named, Place, known
from kafka_s3.bucket.orphans import Fate, Orphan, keys_of, open_uploads, survey
from kafka_s3.bucket.window import log_layout, of_window, window_id
from kafka_s3.bucket.window_names import over_generation
from kafka_s3.bucket.window_state import CommittedWindow
from kafka_s3.dead_letter import letters_layout
from kafka_s3.errors import ExporterError
from kafka_s3.events import Event, WhatIsLeft, WindowNotSearched, WindowReplaced, WindowSweepFailed, WindowSwept
from kafka_s3.log.entries import Interval
from kafka_s3.log.store import Committed, Log
from kafka_s3.ports import OpenUpload
from kafka_s3.settings.model import Settings


@dataclass(frozen=True, slots=True)
class Leftovers:
    """What of a window nobody lists, as of its newest entry then: a commit, or one after a withdrawal.
    `refused`: why nobody looked for open uploads, if that is so."""

    log: Log
    newest: Committed
    objects: tuple[Orphan, ...] = ()
    uploads: tuple[OpenUpload, ...] = ()
    notes: tuple[str, ...] = ()
    refused: str = ""

    def is_current(self) -> bool:
        """Whether the log still has that entry: one that somebody deletes by hand begins anew. One GET."""
        return self.log.entry(self.newest.entry.seq) == self.newest


def left_in(settings: Settings, live: Log, window: Interval) -> Leftovers | None:
    """What `look` finds in a window; `None` if nothing of it is over. Two requests more."""
    log = Log(live.store, log_layout(settings, window), live.log_key)
    head = log.newest()
    return look(settings, live, window, head) if head is not None and over_generation(log, head) else None


def look(settings: Settings, live: Log, window: Interval, newest: Committed) -> Leftovers:
    """Find what may be deleted of a window by its newest entry. Reads only; `settings` and `live` are the connector's.

    Costs, if the window has one plan: its GET, and no more if it is empty; else a LIST of owners, a GET for each topic,
    and a LIST of keys and one of uploads for objects and for dead letters each. One GET more for each voided plan, and
    for each live plan whose objects were copied.
    """
    log, store = Log(live.store, log_layout(settings, window), live.log_key), live.store
    plans = [planned.plan for seq in range(newest.entry.seq + 1) if (planned := log.plan(seq)) is not None]
    topics = {each.topic for plan in plans for each in plan.ranges}
    if not topics:
        return Leftovers(log, newest)
    configurations = Configurations(settings)
    here = [plan for plan in plans if (plan.live_epoch or "") == live.layout.epoch]
    copied = {each.live for plan in here for each in plan.ranges if each.is_copied and each.live is not None}
    for plan in [*plans, *(planned.plan for seq in sorted(copied) if (planned := live.plan(seq)) is not None)]:
        configurations.of(plan)
    mapped = {_of_all_windows(settings, place) for place in configurations.places()}
    # Under other delimiters they lie elsewhere, and yet in today's folder for windows.
    where = known(mapped, topics, settings, Named((settings.reexport_dir,)))
    territory, places = survey(live, newest.entry, where.places, topics=where.topics), where.places
    folders, listed = _folders(settings, window, places), set(keys_of(newest.entry))
    over = over_generation(log, newest)

    def is_ours(key: str, folder: str) -> bool:
        names = territory.names(folders[folder] + key.removeprefix(folder))
        return bool(names) and all(name.generation < over for name in names)

    objects = [
        Orphan(info.key, info.size, Fate.WINDOW)
        for folder in folders
        for info in store.list(folder)
        if info.key not in listed and is_ours(info.key, folder)
    ]
    uploads, refused = open_uploads(store, folders, is_ours)
    notes = (*territory.notes, *where.notes)
    if configurations.unknown():
        notes += ("a window's plan has a configuration that this engine does not know: its keys were not looked at",)
    return Leftovers(log, newest, tuple(objects), tuple(uploads), notes, refused)


def _of_all_windows(settings: Settings, place: Place) -> Place:
    """Where objects of a configuration lie in windows, without the window, as `claimed_layout` names it."""
    return replace(place, layout=replace(place.layout, topics_dir=settings.reexport_dir))


def _folders(settings: Settings, window: Interval, places: Iterable[Place]) -> dict[str, str]:
    """What the keys of a window begin with, and how the same keys would begin that are of no window."""
    mine = log_layout(settings, window)
    letters = letters_layout(mine.root, mine.connector)
    folders = {letters.topics_dir: letters_layout(settings.log_root, settings.name).topics_dir}
    for place in places:
        then = of_window(replace(settings, layout=place.layout), window)
        folders[then.layout.topics_dir] = settings.reexport_dir
    return folders


def sweep(settings: Settings, live: Log, window: Interval, exported: CommittedWindow) -> list[Event]:
    """Delete what `look` finds. What it did and what went wrong, to be told: it costs storage, so nothing is raised."""
    name, store = window_id(window), live.store
    try:
        left = look(settings, live, window, exported.commit)
        if (left.objects or left.uploads) and not left.is_current():
            return [WindowReplaced(window=name)]
    except ExporterError as error:
        return [WindowSweepFailed(window=name, reason=str(error))]
    unseen = [*left.notes, *([left.refused] if left.refused else [])]
    told: list[Event] = [WindowNotSearched(window=name, what=what) for what in unseen]
    jobs: Mapping[WhatIsLeft, Sequence[Callable[[], None]]] = {
        "objects": [partial(store.delete, each.key) for each in left.objects],
        "open uploads": [partial(store.abort_upload, each) for each in left.uploads],
    }
    for what, deletions in jobs.items():
        try:
            for each in deletions:
                each()
        except ExporterError as error:
            told.append(WindowSweepFailed(window=name, what=what, reason=str(error)))
        else:
            if deletions:
                told.append(WindowSwept(window=name, what=what, count=len(deletions)))
    return told
