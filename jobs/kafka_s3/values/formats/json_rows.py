"""JSON objects whose members change, by their text: what is copied is neither decoded nor written anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, overload

import msgspec
import numpy as np
import pyarrow as pa

from kafka_s3.avro.long_datums import as_longs
from kafka_s3.avro.pieces import Extents, Piece, Texts, joined, of_few
from kafka_s3.values.formats.json_members import Members, members_of
from kafka_s3.values.formats.json_text import as_jackson
from kafka_s3.values.rows import Excluded, Lines

#: Fewer rows than this are values: what is done for a whole batch has a price of its own.
BATCH_MIN: Final = 64
_DECODE: Final = msgspec.json.Decoder().decode
#: A value that msgspec does not know is one of Java's smaller integers.
_ENCODE: Final = msgspec.json.Encoder(enc_hook=int).encode


class Member:
    """The values of a new member of some rows, texts or whole numbers. `is_constant`: they are all the same."""

    def __init__(self, values: Sequence[Any], *, is_constant: bool = False) -> None:
        self.values = values
        self.is_constant = is_constant

    def texts(self) -> Texts:
        if not isinstance(self.values[0], int):
            return of_few(self.values, lambda some: list(map(_written, some)))
        texts = pa.array(as_longs(self.values)).cast(pa.string())
        _, ends, data = texts.buffers()
        found = np.frombuffer(ends, np.int32)[1 : len(texts) + 1]
        return Texts(bytes(memoryview(data)[: int(found[-1])]), found)


class JsonRows:
    """Rows of objects that have the same members in the same order; none is excluded, and they have no schema.

    `origins`: each member's name, and the number of the source's member that it is, or what it is otherwise.
    """

    schemas: None = None

    def __init__(self, source: Members, values: Sequence[bytes], origins: Mapping[str, int | Member]) -> None:
        self._source = source
        self._values = values  # of the batch, as they came
        self.origins = origins
        self.excluded: Mapping[int, Excluded] = {}

    def __len__(self) -> int:
        return len(self._source.indexes)

    def changed(self, origins: Mapping[str, int | Member]) -> JsonRows:
        """With other members, some of them these."""
        return JsonRows(self._source, self._values, origins)

    def pick(self, places: Sequence[int]) -> JsonRows:
        origins = {
            name: each if isinstance(each, int) else Member([each.values[place] for place in places])
            for name, each in self.origins.items()
        }
        return JsonRows(self._source.pick(np.asarray(places, np.int64)), self._values, origins)

    def values(self, schema: None) -> list[dict[str, Any]]:  # noqa: ARG002  # as other rows have it
        old = self._source.names
        found = [_DECODE(self._values[index]) for index in self._source.indexes.tolist()]
        columns = [
            [value[old[each]] for value in found] if isinstance(each, int) else each.values
            for each in self.origins.values()
        ]
        if not columns:
            return [{} for _ in found]
        return [dict(zip(self.origins, row, strict=True)) for row in zip(*columns, strict=True)]

    def text(self) -> bytes | None:
        """Each object, and a line feed behind it; `None` if it is too large to be made at once."""
        made = joined(self._source.data, self._pieces(), len(self))
        return None if made is None else made.data

    def _pieces(self) -> list[Piece]:
        """What an object is put together of. Members that stayed neighbors are one piece."""
        source = self._source
        made: list[Any] = [b""]
        for place, (name, origin) in enumerate(self.origins.items()):
            head = (b"," if place else b"{") + _written(name) + b":"
            if not isinstance(origin, int):
                made += [head, _written(origin.values[0]) if origin.is_constant else origin.texts()]
                continue
            has_head = name == source.names[origin] and (place == 0) == (origin == 0)
            last = made[-1]
            if has_head and isinstance(last, tuple) and last[1] == origin and origin - 1 not in source.cut:
                made[-1] = (last[0], origin + 1, last[2])
            elif has_head:
                made.append((origin, origin + 1, source.heads))
            else:
                made += [head, (origin, origin + 1, source.starts)]
        made.append(b"}\n" if self.origins else b"{}\n")
        merged: list[Piece] = []
        for each in made:
            if isinstance(each, tuple):
                first, last, begins = each
                merged.append(Extents(begins[first], source.ends[last - 1]))
            elif isinstance(each, bytes) and merged and isinstance(merged[-1], bytes):
                merged[-1] += each
            elif each != b"":
                merged.append(each)
        return merged


def _written(value: Any) -> bytes:
    return as_jackson([_ENCODE(value)])[0]


class TextLines(Sequence[bytes]):
    """Lines of a text, each of which ends with a line feed; cut apart once they are asked for."""

    def __init__(self, text: bytes, count: int) -> None:
        self.joined = text[:-1]
        self._count = count

    def __len__(self) -> int:
        return self._count

    @cached_property
    def _lines(self) -> list[bytes]:
        return self.joined.split(b"\n")

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._lines)

    @overload
    def __getitem__(self, place: int) -> bytes: ...
    @overload
    def __getitem__(self, place: slice) -> list[bytes]: ...
    def __getitem__(self, place: int | slice) -> bytes | list[bytes]:
        return self._lines[place]


def lines_of(rows: JsonRows) -> Lines | None:
    """`None` where values have to be made."""
    text = rows.text()
    if text is None:
        return None
    lines = TextLines(text, len(rows))
    return Lines(lines, joined=lines.joined)


def json_rows(values: Sequence[bytes | None]) -> list[tuple[Sequence[int], JsonRows]]:
    """The objects of a batch that may be changed by their text: their places, and their rows."""
    if len(values) < BATCH_MIN:
        return []
    given = [b"null" if value is None else value for value in values] if None in values else values
    return [
        (_places(each, len(given)), JsonRows(each, given, {name: at for at, name in enumerate(each.names)}))  # type: ignore[arg-type]  # no None is left
        for each in members_of(given)  # type: ignore[arg-type]
    ]


def _places(members: Members, count: int) -> Sequence[int]:
    return range(count) if len(members.indexes) == count else members.indexes.tolist()
