"""A format of a user's own: each value behind its length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


class Framed:
    extension = ".framed"

    def __init__(self, properties: Mapping[str, str] | None = None) -> None: ...

    def begin(self) -> bytes:
        return b"framed:"

    def encode(self, values: Sequence[bytes]) -> bytes:
        return b"".join(len(value).to_bytes(4, "big") + value for value in values)

    def end(self) -> bytes:
        return b""


def unframed(body: bytes) -> list[bytes]:
    assert body.startswith(b"framed:")
    values, at = [], len(b"framed:")
    while at < len(body):
        size = int.from_bytes(body[at : at + 4], "big")
        values.append(body[at + 4 : at + 4 + size])
        at += 4 + size
    return values
