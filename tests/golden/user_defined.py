"""A format, a partitioner and an extractor as a user would write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class FramedFormat:
    extension = ".framed"

    def __init__(self, properties: Mapping[str, str] | None = None) -> None: ...

    def begin(self) -> bytes:
        return b"framed:"

    def encode(self, values: Sequence[bytes]) -> bytes:
        return b"".join(len(value).to_bytes(4, "big") + value for value in values)

    def end(self) -> bytes:
        return b"."


class BySize:
    """The path says how many bytes a value has; every eleventh record has none."""

    def __init__(self, properties: Mapping[str, str]) -> None: ...

    def encode(self, batch: Any) -> list[str | None]:
        return [
            None if batch.offset_at(index) % 11 == 10 else f"odd={len(value or b'') % 2}"
            for index, value in enumerate(batch.values())
        ]


class ByOffset:
    """Twenty minutes lie between two offsets."""

    def __init__(self, properties: Mapping[str, str]) -> None: ...

    def extract(self, batch: Any) -> list[int | None]:
        return [1_767_225_600_000 + batch.offset_at(index) * 1_200_000 for index in range(len(batch))]
