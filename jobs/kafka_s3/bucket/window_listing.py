"""The windows that were exported again, out of the bucket alone."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from kafka_s3.bucket.window import log_layout, log_root, of_window, parse_window
from kafka_s3.bucket.window_state import CommittedWindow, window_state
from kafka_s3.log.entries import Interval
from kafka_s3.log.store import Log
from kafka_s3.ports import ObjectStore
from kafka_s3.settings.model import Settings


@dataclass(frozen=True, slots=True)
class ReexportedWindow:
    """One window `[start_ms, end_ms)`. Until it is committed its counts are 0, and `run_id` is the last run's.

    `prefix`: what its data keys begin with; `entry_key`: its newest log entry, a commit or a void, if there is one.
    """

    start_ms: int
    end_ms: int
    is_committed: bool
    records: int
    objects: int
    bytes: int
    prefix: str
    entry_key: str | None
    run_id: str


def windows(settings: Settings, store: ObjectStore, limit: int | None = None) -> tuple[ReexportedWindow, ...]:
    """The windows of a connector, the newest time first, at most `limit`. `settings` are the connector's.

    Lists all keys of its windows (a thousand a request), and reads one or two objects of each window that it returns.
    """
    known = (_look(settings, store, window) for window in newest_first(settings, store))
    return tuple(islice((each for each in known if each is not None), limit))


def newest_first(settings: Settings, store: ObjectStore) -> list[Interval]:
    """The windows of which anything is in a connector's logs, the newest time first."""
    prefix = f"{log_root(settings)}/"
    found: dict[Interval, None] = {}
    for info in store.list(prefix):
        window = parse_window(info.key.removeprefix(prefix).partition("/")[0])
        if window is not None:
            found[window] = None
    return sorted(found, key=lambda window: (window.start_ms, window.end_ms), reverse=True)


def _look(settings: Settings, store: ObjectStore, window: Interval) -> ReexportedWindow | None:
    log = Log(store, log_layout(settings, window), settings.log_key)
    head = log.newest()
    planned = log.plan(0) if head is None else None
    if head is None and planned is None:  # dead letters, say, of a run whose log somebody deleted
        return None
    ranges = head.entry.ranges if head is not None else ()
    made = [each for done in ranges for each in done.objects]
    layout = of_window(settings, window).layout
    home = layout.topic_prefix("x").removesuffix(f"x{layout.directory_delim}")
    return ReexportedWindow(
        start_ms=window.start_ms,
        end_ms=window.end_ms,
        is_committed=isinstance(window_state(head), CommittedWindow),
        records=sum(done.records for done in ranges),
        objects=len(made),
        bytes=sum(each.size for each in made),
        prefix=home,
        entry_key=None if head is None else log.layout.log_key(head.entry.seq),
        run_id=head.entry.run_id if head is not None else planned.plan.run.run_id if planned is not None else "",
    )
