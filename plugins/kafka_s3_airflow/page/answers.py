"""The bodies of answers: JSON with a tag, so that a page which follows is told in a few bytes that nothing has changed.

The time of the answer is in the body and not in its tag: ages grow in the browser.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fastapi import Request, Response

_JSON: Final = "application/json"


def encoded(value: object) -> bytes:
    """Compact JSON."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def tagged(request: Request, now_ms: int, content: Mapping[str, object]) -> Response:
    """An answer, or 304 where the browser has it already. Values that are bytes are JSON."""
    parts = [
        encoded(name) + b":" + (each if isinstance(each, bytes) else encoded(each)) for name, each in content.items()
    ]
    body = b",".join(parts)
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    # A proxy that compresses makes the tag a weak one.
    if request.headers.get("if-none-match", "").removeprefix("W/") == tag:
        return Response(status_code=304, headers={"ETag": tag})
    return Response(b'{"now_ms":%d,%b}' % (now_ms, body), media_type=_JSON, headers={"ETag": tag})


def listed(rows: list[bytes]) -> bytes:
    """A list of values that are JSON already."""
    return b"[" + b",".join(rows) + b"]"


@dataclass(frozen=True, slots=True)
class _Row:
    made_of: tuple[Any, ...]
    body: bytes


class Rows:
    """Rows of the list as JSON, each made anew when something that it is made of has changed. One for each DAG id."""

    def __init__(self, kept_max: int) -> None:
        self._kept_max = kept_max
        self._lock = threading.Lock()
        self._rows: dict[str, _Row] = {}

    def row(self, dag_id: str, made_of: tuple[Any, ...], make: Callable[[], object]) -> bytes:
        """`made_of`: compared by what each is, so that nothing large is looked at."""
        with self._lock:
            known = self._rows.get(dag_id)
        if known is not None and all(
            one is other or _same(one, other) for one, other in zip(known.made_of, made_of, strict=True)
        ):
            return known.body
        body = encoded(make())
        with self._lock:
            if len(self._rows) >= self._kept_max:
                self._rows.clear()
            self._rows[dag_id] = _Row(made_of, body)
        return body


def _same(one: Any, other: Any) -> bool:
    return isinstance(one, bool | int | str | tuple) and bool(one == other)
