"""All connectors as a table for a browser that runs no script. Pure: everything that is shown is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from html import escape
from typing import Any, Final

STATES: Final = {
    "broken": "Broken configuration",
    "failed": "Failed",
    "kafka_down": "Kafka down",
    "late": "Late",
    "never_ran": "Never ran",
    "asking": "Looking …",
    "ok": "Healthy",
}
_COLUMNS: Final = (
    "Connector",
    "State",
    "Records waiting",
    "Oldest waiting record",
    "Retention deletes in",
    "Last commit",
    "As of",
)
_PAGE: Final = """<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta http-equiv="refresh" content="60">
    <title>Kafka to S3</title>
    <link rel="stylesheet" href="page.css">
  </head>
  <body>
    <main>
      <h1>Kafka to S3</h1>
      <p class="soft">Without JavaScript there is this table, as of {now}.
        For one connector, <code>kafka-s3 status</code> says more.</p>
      <table class="table">
        <thead><tr>{heads}</tr></thead>
        <tbody>{rows}</tbody>
      </table>
    </main>
  </body>
</html>
"""


def plain_page(connectors: Iterable[Mapping[str, Any]], now_ms: int) -> bytes:
    """The rows of the list, the worst first."""
    order = list(STATES)
    listed = sorted(connectors, key=lambda each: (order.index(each["state"]), each["name"]))
    rows = "".join(_row(each) for each in listed) or f'<tr><td colspan="{len(_COLUMNS)}">No connector.</td></tr>'
    heads = "".join(f'<th scope="col">{each}</th>' for each in _COLUMNS)
    return _PAGE.format(now=_time(now_ms), heads=heads, rows=rows).encode("utf-8", "backslashreplace")


def _row(each: Mapping[str, Any]) -> str:
    why = "".join(f'<div class="why small">{escape(text)}</div>' for text in each["why"][:3])
    cells = (
        escape(each["name"]) + (" (paused)" if each["is_paused"] else ""),
        f'<span class="state {each["state"]}">{STATES[each["state"]]}</span>{why}',
        "–" if each["lag_records"] is None else f"{each['lag_records']:,}",
        _duration(each["lag_ms"] or None),
        _duration(each["loss_in_ms"]),
        _time(each["last_commit_ms"]),
        _time(each["kafka_at_ms"] or each["log_at_ms"]),
    )
    labelled = zip(_COLUMNS, cells, strict=True)
    return "<tr>" + "".join(f'<td data-label="{name}"><div>{cell}</div></td>' for name, cell in labelled) + "</tr>"


def _duration(ms: int | None) -> str:
    if ms is None:
        return "–"
    minutes = ms // 60_000
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60:,} h"


def _time(ms: int | None) -> str:
    if ms is None:
        return "–"
    try:
        return f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):
        return f"{ms} ms"
