"""The rows of a batch that went different ways, in the batch's order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kafka_s3.avro.model import Schema
from kafka_s3.values.rows import Excluded, Schemas, some


def segmented(count: int, segments: Sequence[tuple[Sequence[int], Any]], excluded: Mapping[int, Excluded]) -> Any:
    """Rows of segments, each with the places of its rows among `count`; what is in none is excluded."""
    if len(segments) == 1 and len(segments[0][0]) == count and not excluded:
        return segments[0][1]
    segment_of, places = [0] * count, [0] * count
    for number, (indexes, _) in enumerate(segments):
        for place, index in enumerate(indexes):
            segment_of[index], places[index] = number, place
    return Segmented([rows for _, rows in segments], segment_of, places, excluded)


class Segmented:
    """A `rows.Structs`: row i is row `places[i]` of the segment `segment_of[i]`."""

    def __init__(
        self,
        segments: Sequence[Any],
        segment_of: Sequence[int],
        places: Sequence[int],
        excluded: Mapping[int, Excluded],
    ) -> None:
        self._segments = segments
        self._segment_of = segment_of
        self._places = places
        self.excluded = excluded
        self.schemas = self._schemas()

    def _schemas(self) -> Schemas:
        theirs = [each.schemas for each in self._segments]
        if not theirs:
            return None
        if all(isinstance(each, Schema | None) and each == theirs[0] for each in theirs):
            return theirs[0]  # type: ignore[no-any-return]
        return some([self._schema_at(row, theirs) for row in range(len(self._places))], range(len(self._places)))

    def _schema_at(self, row: int, theirs: Sequence[Schemas]) -> Schema | None:
        if row in self.excluded:
            return None
        found = theirs[self._segment_of[row]]
        return found if isinstance(found, Schema | None) else found[self._places[row]]

    def part(self, start: int, stop: int) -> Any:
        return self.pick(range(start, stop))

    def pick(self, indexes: Sequence[int]) -> Any:
        segment_of = [self._segment_of[index] for index in indexes]
        places = [self._places[index] for index in indexes]
        if segment_of and segment_of.count(segment_of[0]) == len(segment_of):
            return self._segments[segment_of[0]].pick(_as_range(places))
        return Segmented(self._segments, segment_of, places, {})

    def sizes(self) -> Sequence[int]:
        return self._scattered(lambda part: part.sizes())

    def datums(self, target: Schema) -> Sequence[bytes]:
        return self._scattered(lambda part: part.datums(target))

    def values(self, target: Schema | None) -> Sequence[Any]:
        return self._scattered(lambda part: part.values(target))

    def long_values(self, target: Schema) -> Sequence[Any]:
        return self._scattered(lambda part: part.long_values(target))

    def arrow(self, target: Schema) -> Any:
        from kafka_s3.avro.batch_reader import joined

        apart = self._apart()
        rows = [row for indexes, _ in apart for row in indexes]
        return joined([part.arrow(target) for _, part in apart], rows, len(self._places))

    def has_columns(self, target: Schema) -> bool:
        return all(part.has_columns(target) for _, part in self._apart())

    def has_datums(self, target: Schema) -> bool:
        return all(part.has_datums(target) for _, part in self._apart())

    def column(self, path: tuple[str, ...]) -> Sequence[Any]:
        return self._scattered(lambda part: part.column(path))

    def _apart(self) -> list[tuple[Sequence[int], Any]]:
        """The rows of each segment, those that are excluded left out."""
        found: dict[int, list[int]] = {}
        for row, number in enumerate(self._segment_of):
            if row not in self.excluded:
                found.setdefault(number, []).append(row)
        return [
            (rows, self._segments[number].pick(_as_range([self._places[row] for row in rows])))
            for number, rows in found.items()
        ]

    def _scattered(self, ask: Callable[[Any], Sequence[Any]]) -> list[Any]:
        made: list[Any] = [None] * len(self._places)
        for rows, part in self._apart():
            for row, each in zip(rows, ask(part), strict=True):
                made[row] = each
        return made


def _as_range(places: Sequence[int]) -> Sequence[int]:
    """Consecutive places as a range, which is taken without a copy."""
    first, count = places[0], len(places)
    if places[-1] - first == count - 1 and places == list(range(first, first + count)):
        return range(first, first + count)
    return places
