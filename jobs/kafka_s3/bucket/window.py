"""A window of time, its name, and the settings that its objects and its log are written under.

The log of a window lies under `<log dir>/<connector>/reexport/<window>/`, with the window in a connector's place; its
objects under `<export.reexport.topics.dir>/<window>/<topic>/`. So every window is an export of its own to all that
writes one, and neither the live log nor what looks after it (`verify`) meets any of its keys; `gc` has a rule of its
own for them (`leftovers`).
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from kafka_s3.errors import ConfigurationError
from kafka_s3.log.entries import Interval
from kafka_s3.naming import KeyLayout, LogLayout, Naming
from kafka_s3.settings.model import Settings

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_EDGE: Final = re.compile(r"(\d{8}T\d{6})(?:\.(\d{3}))?Z", re.ASCII)


def window_id(window: Interval) -> str:
    """
    >>> window_id(Interval(1_795_255_200_000, 1_795_258_800_000)), window_id(Interval(0, 250))
    ('20261121T100000Z-20261121T110000Z', '19700101T000000Z-19700101T000000.250Z')
    """
    return f"{_edge(window.start_ms)}-{_edge(window.end_ms)}"


def parse_window(text: str) -> Interval | None:
    """The window of that name, `None` if it is none. `window_id` is its inverse."""
    edges = [_EDGE.fullmatch(part) for part in text.split("-")]
    if len(edges) != 2 or edges[0] is None or edges[1] is None:
        return None
    try:
        start_ms, end_ms = (_parse(edge[1], edge[2]) for edge in edges if edge is not None)
    except ValueError:  # a 30th of February
        return None
    found = Interval(start_ms, end_ms)
    return found if start_ms < end_ms and window_id(found) == text else None


def check_window(window: Interval | None) -> Interval:
    """The window that a run is for; `ConfigurationError` if it has none."""
    if window is None:
        raise ConfigurationError(
            "There is no window of time to export again: the run has no data interval.",
            next="Start it as a backfill over the window, or trigger it with a logical date; `until: now` has no end.",
        )
    try:
        is_one = window.start_ms < window.end_ms and parse_window(window_id(window)) == window
    except OverflowError:
        is_one = False
    if not is_one:
        raise ConfigurationError(f"[{window.start_ms}, {window.end_ms}) is not a window of time in milliseconds.")
    return window


def log_root(settings: Settings) -> str:
    """Where the logs of all windows of a connector lie."""
    return f"{settings.log_root}/{settings.name}/reexport"


def log_layout(settings: Settings, window: Interval) -> LogLayout:
    """The log of one window."""
    return LogLayout(log_root(settings), window_id(window))


def claimed_layout(settings: Settings) -> KeyLayout:
    """Under which keys a topic's windows lie, as its owner object names them: all windows together."""
    return replace(settings.layout, topics_dir=settings.reexport_dir)


def of_window(settings: Settings, window: Interval) -> Settings:
    """The settings of a connector as those of one window's export. What shapes bytes, and its hash, stay."""
    name = window_id(window)
    delim = "/" if settings.layout.naming is Naming.BLOCK_GZIP else settings.layout.directory_delim
    layout = replace(settings.layout, topics_dir=f"{settings.reexport_dir}{delim}{name}")
    return replace(settings, name=name, log_root=log_root(settings), layout=layout)


def _edge(at_ms: int) -> str:
    at = _EPOCH + at_ms * _MILLISECOND
    rest = f".{at.microsecond // 1000:03d}" if at.microsecond else ""
    return f"{at.year:04d}{at:%m%dT%H%M%S}{rest}Z"


def _parse(text: str, milliseconds: str | None) -> int:
    at = datetime.strptime(text, "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
    return (at - _EPOCH) // _MILLISECOND + int(milliseconds or 0)
