"""A format of the user's own.

    class Tab:
        extension = ".tsv"
        def begin(self) -> bytes: ...                          # what stands in front of an object's records
        def encode(self, values: Sequence[bytes]) -> bytes: ...  # the records' bytes, as the converter made them
        def end(self) -> bytes: ...                            # what stands behind them

One is made for every object. How records are cut into calls of `encode` must not show: a retry cuts them elsewhere.
Compression is ours.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kafka_s3.avro.model import Schema
from kafka_s3.errors import ConfigurationError
from kafka_s3.settings.formats import Compression
from kafka_s3.user_defined import FORMAT, call, call_on_records, find_class
from kafka_s3.values.formats.compression import Compressor, extension_suffix, open_stream
from kafka_s3.values.rows import Lines


@dataclass(frozen=True, slots=True)
class UserDefinedFormat:
    """An `ObjectFormat` around a class."""

    path: str
    compression: Compression
    _class: type = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_class", find_class(self.path, *FORMAT))

    @property
    def extension(self) -> str:
        return f"{getattr(self._class, 'extension', '')}{extension_suffix(self.compression)}"

    def open(self, schema: Schema | None) -> UserDefinedEncoder:  # noqa: ARG002  # its values have none
        return UserDefinedEncoder(self.path, call(f"{self.path}()", self._class), open_stream(self.compression))


class UserDefinedEncoder:
    """One object. A row's size is that of its value: what the format adds to it is not known before it is encoded.

    So where an object ends does not depend on how its records were cut into calls of `encode`.
    """

    def __init__(self, path: str, own: Any, stream: Compressor) -> None:
        self._path = path
        self._own = own
        self._stream = stream
        self._begun = False

    def encode(self, rows: Lines, start: int, stop: int) -> tuple[bytes, int]:
        lines = rows.lines[start:stop]
        data = self._bytes(self._own.encode, lines)
        if not self._begun:
            self._begun = True
            data = self._bytes(self._own.begin) + data
        return self._stream.compress(data), sum(map(len, lines))

    def rows_until(self, rows: Lines, start: int, stop: int, room: int) -> int | None:
        for count, line in enumerate(rows.lines[start:stop], start=1):
            room -= len(line)
            if room <= 0:
                return count
        return None

    def finish(self) -> bytes:
        return self._stream.compress(self._bytes(self._own.end)) + self._stream.finish()

    def _bytes(self, method: Any, *arguments: object) -> bytes:
        made = call_on_records(f"{self._path}.{method.__name__}", method, *arguments)
        if not isinstance(made, bytes):
            raise ConfigurationError(f"{self._path}.{method.__name__} must give bytes, and gave {type(made).__name__}.")
        return made
