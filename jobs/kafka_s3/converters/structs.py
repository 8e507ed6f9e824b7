"""Rows over Python values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_s3.rows import Excluded, Schemas, some
from kafka_s3.schemas.model import Schema


class ValueRows:
    """A `Structs` over plain values."""

    def __init__(
        self,
        values: Sequence[Any],
        schemas: Schemas,
        excluded: Mapping[int, Excluded] | None = None,
        sizes: Sequence[int] | None = None,
    ) -> None:
        self._values = values
        self._sizes = sizes
        self.schemas = schemas
        self.excluded: Mapping[int, Excluded] = excluded or {}

    def part(self, start: int, stop: int) -> ValueRows:
        sizes = self._sizes[start:stop] if self._sizes is not None else None
        return ValueRows(self._values[start:stop], some(self.schemas, range(start, stop)), sizes=sizes)

    def pick(self, indexes: Sequence[int]) -> ValueRows:
        sizes = [self._sizes[index] for index in indexes] if self._sizes is not None else None
        return ValueRows([self._values[index] for index in indexes], some(self.schemas, indexes), sizes=sizes)

    def sizes(self) -> Sequence[int]:
        return self._sizes if self._sizes is not None else [0] * len(self._values)

    def values(self, target: Schema | None) -> Sequence[Any]:  # noqa: ARG002
        return self._values
