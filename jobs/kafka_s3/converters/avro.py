"""Avro as a schema registry's serializers write it: a zero byte, a schema's id in four bytes, the datum.

A batch is checked all at once, by schema. Its bytes stay as they are; other forms are made when they are asked for,
once for the whole batch however it is parted after that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kafka_s3.ports import SchemaRegistry
from kafka_s3.rows import Excluded, Missing, Schemas, Stage, Tombstone, Unwritable
from kafka_s3.schemas.model import Avro, Schema, full_name
from kafka_s3.schemas.parse import SchemaError, parse_avro
from kafka_s3.schemas.walk import FEW
from kafka_s3.settings.content import SubjectNames

if TYPE_CHECKING:  # they load pyarrow
    from kafka_s3.schemas.columns import Scan
    from kafka_s3.schemas.datums import Codec

_HEAD: Final = 5
_ID_MAX: Final = 2**31 - 1  # a registry's ids are Java's int
_SHOWN: Final = 16
_IDS_MAX: Final = 10_000


class AvroValues:
    """The values, or keys, of one topic (AvroConverter).

    Registry errors end a batch; what a record alone is to blame for makes it `Unwritable`. `columns`: a record that
    Arrow's columns cannot hold is refused too, as Parquet needs it.
    """

    def __init__(
        self,
        registry: SchemaRegistry,
        subject_names: SubjectNames,
        topic: str,
        *,
        key: bool,
        columns: bool = False,
    ) -> None:
        self._registry = registry
        self._subject_names = subject_names
        self._topic = topic
        self._key = key
        self._columns = columns
        self._stage = Stage.KEY_CONVERTER if key else Stage.VALUE_CONVERTER
        self._known: dict[bytes, Schema | str] = {}  # by the five bytes at the beginning

    def __call__(self, values: Sequence[bytes | None]) -> AvroRows:
        excluded: dict[int, Excluded] = {}
        chosen: dict[Schema, list[int]] = {}
        for head, rows in _by_head(values).items():
            if head is None:
                excluded.update(dict.fromkeys(rows, Tombstone()))
            elif isinstance(found := self._schema(head), Schema):
                chosen.setdefault(found, []).extend(rows)
            else:
                for row in rows:
                    excluded[row] = Unwritable(f"{found} ({_shown(values[row])})", self._stage)
        groups: list[_Group] = []
        group_of: list[int] = [0] * len(values)
        places: Sequence[int] = range(len(values))
        if len(chosen) > 1 or excluded:
            places = [0] * len(values)
        for number, (schema, rows) in enumerate(chosen.items()):
            # All of them stand where they stood, whatever their ids.
            everything = len(rows) == len(values)
            chosen_values: Sequence[Any] = values if everything else [values[row] for row in rows]
            group = _Group(schema, chosen_values)
            groups.append(group)
            for place, refused in group.check(self._stage, self._columns).items():
                excluded[place if everything else rows[place]] = refused
            if isinstance(places, list):
                for place, row in enumerate(rows):
                    group_of[row], places[row] = number, place
        return AvroRows(groups, group_of if len(groups) > 1 else None, places, excluded)

    def _schema(self, head: bytes) -> Schema | str:
        """The schema that the beginning of a value names, or why there is none."""
        if head not in self._known:
            if len(self._known) >= _IDS_MAX:
                self._known.clear()
            self._known[head] = self._look_up(head)
        return self._known[head]

    def _look_up(self, head: bytes) -> Schema | str:
        if len(head) < _HEAD:
            return f"not Avro of a schema registry: {len(head)} bytes, where a zero byte and a schema's id take {_HEAD}"
        if head[0] != 0:
            return f"not Avro of a schema registry: the first byte is {head[0]:02x}, not 00"
        id = int.from_bytes(head[1:], "big")
        registered = self._registry.schema(id) if id <= _ID_MAX else None
        if registered is None:
            return f"the schema registry has no schema of the id {id}"
        if registered.type != "AVRO":
            return f"the schema of the id {id} is of the type {registered.type}, not AVRO"
        try:
            schema = parse_avro(registered.text, registered.references, id=id)
        except SchemaError as error:
            return f"the schema of the id {id} cannot be used: {error}"
        version = self._registry.versions(self._subject(schema)).get(id)
        return Schema(schema.text, id, version)

    def _subject(self, schema: Schema) -> str:
        match self._subject_names:
            case SubjectNames.TOPIC:
                return f"{self._topic}-{'key' if self._key else 'value'}"
            case SubjectNames.RECORD:
                return _type_name(schema)
            case SubjectNames.TOPIC_RECORD:
                return f"{self._topic}-{_type_name(schema)}"


def _type_name(schema: Schema) -> str:
    """As Avro for Java names types: what has no name of its own is called by its type."""
    avro = schema.avro
    if isinstance(avro, list):
        return "union"
    if isinstance(avro, str):
        return avro
    return full_name(avro) if avro["type"] in ("record", "enum", "fixed") else str(avro["type"])


def _by_head(values: Sequence[bytes | None]) -> Mapping[bytes | None, Sequence[int]]:
    """Rows by the first five bytes of their values; one schema as a rule, so that is looked for first."""
    if None not in values:
        heads = {value[:_HEAD] for value in values}  # type: ignore[index]  # no None is left
        if len(heads) == 1:
            return {heads.pop(): range(len(values))}
    rows: dict[bytes | None, list[int]] = {}
    for row, value in enumerate(values):
        rows.setdefault(None if value is None else value[:_HEAD], []).append(row)
    return rows


def _shown(value: bytes | None) -> str:
    assert value is not None
    if not value:
        return "the value is empty"
    return f"it begins with {value[:_SHOWN].hex(' ')}" if len(value) > _SHOWN else f"it is {value.hex(' ')}"


class _Group:
    """All the values of a batch that have one schema, heads and all; refused ones among them."""

    def __init__(self, schema: Schema, values: Sequence[bytes]) -> None:
        from kafka_s3.schemas.datums import codec

        self.schema = schema
        self.values = values
        self._codec: Codec = codec(schema)
        self._scan: Scan | None = None
        if self._codec.columns is not None and len(values) >= FEW:
            self._scan = self._codec.columns.scan(values, _HEAD)
        self._refused: dict[int, Excluded] = {}
        self._slow: list[int] = []  # valid, but not in the scan
        self._decoded: list[Any] | None = None
        self._arrow: Any = None
        self._fields: dict[tuple[str, ...], Sequence[Any]] = {}

    def check(self, stage: Stage, columns: bool) -> Mapping[int, Excluded]:
        """Which values are refused, and why; asked once, before anything else."""
        doubtful = range(len(self.values)) if self._scan is None else self._scan.doubtful()
        if doubtful:
            reasons = self._codec.reasons({place: self.values[place][_HEAD:] for place in doubtful}, doubtful)
            for place, reason in reasons.items():
                value = self.values[place]
                id = int.from_bytes(value[1:_HEAD], "big")
                text = f"not a value of the schema of the id {id}: {reason} ({_shown(value)})"
                self._refused[place] = Unwritable(text, stage)
            self._slow = [place for place in doubtful if place not in reasons]
        self._refused.update(dict.fromkeys(self._nulls(), Tombstone()))
        if columns:
            self._refused.update(self._misfits())
        self._slow = [place for place in self._slow if place not in self._refused]
        return self._refused

    def _nulls(self) -> Sequence[int]:
        """The values that are just null: to Connect these are tombstones, whatever schema they have."""
        avro = self.schema.avro
        valid = [place for place in range(len(self.values)) if place not in self._refused]
        if isinstance(avro, list):
            nulls = {number for number, each in enumerate(avro) if _is_null(each)}
            return [place for place in valid if _branch(self.values[place]) in nulls] if nulls else []
        return valid if _is_null(avro) else []

    def _misfits(self) -> dict[int, Excluded]:
        from kafka_s3.schemas.arrow import ColumnsError, arrow_type, can_misfit, misfits

        valid = [place for place in range(len(self.values)) if place not in self._refused]
        try:
            arrow_type(self.schema)
        except ColumnsError as error:
            return dict.fromkeys(valid, Unwritable(str(error), Stage.TASK_PUT))
        if not can_misfit(self.schema) or not valid:
            return {}
        try:
            self.arrow()
        except ColumnsError:
            found = misfits(self.decode(valid), self.schema)
            self._scan = None
            self._slow = valid
            return {valid[index]: Unwritable(reason, Stage.TASK_PUT) for index, reason in found.items()}
        return {}

    def datums(self, places: Sequence[int]) -> list[bytes]:
        return [value[_HEAD:] for value in _taken(self.values, places)]

    def decode(self, places: Sequence[int]) -> Sequence[Any]:
        """The values; kept if they are those of the whole batch, as those of its parts are asked for once each."""
        if self._decoded is not None:
            return _taken(self._decoded, places)
        decoded = self._codec.decode(self.datums(places))
        if isinstance(places, range) and len(places) == len(self.values):
            self._decoded = decoded
        return decoded

    def arrow(self) -> Any:
        """All valid rows as one array, at the places of their values; refused ones hold anything."""
        if self._arrow is None:
            self._arrow = self._make_arrow()
        return self._arrow

    def _make_arrow(self) -> Any:
        from kafka_s3.schemas.arrow import from_values
        from kafka_s3.schemas.columns import joined

        fast = None if self._scan is None else self._scan.arrow()
        if self._scan is None or fast is None:
            places = [place for place in range(len(self.values)) if place not in self._refused]
            return joined([from_values(self.decode(places), self.schema)], places, len(self.values))
        if self._scan.rows is None:
            return fast
        slow = from_values(self.decode(self._slow), self.schema)
        return joined([fast, slow], [*self._scan.rows.tolist(), *self._slow], len(self.values))

    def column(self, path: tuple[str, ...]) -> Sequence[Any]:
        """One field of all valid rows, at the places of their values."""
        if path not in self._fields:
            self._fields[path] = self._make_column(path)
        return self._fields[path]

    def _make_column(self, path: tuple[str, ...]) -> Sequence[Any]:
        fast = None if self._scan is None else self._scan.column(path)
        if self._scan is not None and self._scan.rows is None and fast is not None:
            return fast
        column: list[Any] = [None] * len(self.values)
        slow: Sequence[int] = self._slow
        if self._scan is None or fast is None:
            slow = [place for place in range(len(self.values)) if place not in self._refused]
        elif self._scan.rows is not None:
            for place, value in zip(self._scan.rows.tolist(), fast, strict=True):
                column[place] = value
        if slow:
            read = _reader(self.schema, path)
            for place, value in zip(slow, self.decode(slow), strict=True):
                column[place] = read(value)
        return column


def _is_null(avro: Avro) -> bool:
    return avro == "null" or (isinstance(avro, dict) and avro["type"] == "null")


def _branch(value: bytes) -> int:
    """Which branch of the union at its top a valid value has.

    >>> _branch(bytes(5) + b"\\x02"), _branch(bytes(5) + b"\\x82\\x01")
    (1, 65)
    """
    number = 0
    for place, byte in enumerate(value[_HEAD:]):
        number |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            break
    return number >> 1


def _reader(schema: Schema, path: tuple[str, ...]) -> Callable[[Any], Any]:
    from kafka_s3.schemas.fields import NoField, field_reader

    read = field_reader(schema, path)

    def read_or_say(value: Any) -> Any:
        try:
            return read(value)
        except NoField as error:
            return Missing(str(error))

    return read_or_say


def _taken(all_: Sequence[Any], places: Sequence[int]) -> Sequence[Any]:
    if isinstance(places, range) and places.step == 1:
        return all_ if len(places) == len(all_) else all_[places.start : places.stop]
    return [all_[place] for place in places]


class AvroRows:
    """A `Structs` over datums.

    Row i is the value at `places[i]` of the group `group_of[i]`; `group_of=None`: of the only group.
    """

    def __init__(
        self,
        groups: Sequence[_Group],
        group_of: Sequence[int] | None,
        places: Sequence[int],
        excluded: Mapping[int, Excluded],
    ) -> None:
        self._groups = groups
        self._group_of = group_of
        self._places = places
        self.excluded = excluded

    @property
    def schemas(self) -> Schemas:
        if not self._groups:
            return None
        if self._group_of is None:
            return self._groups[0].schema
        schemas = [group.schema for group in self._groups]
        return [None if row in self.excluded else schemas[group] for row, group in enumerate(self._group_of)]

    def part(self, start: int, stop: int) -> AvroRows:
        if start == 0 and stop == len(self._places) and not self.excluded:
            return self
        return self._some(self._places[start:stop], self._group_of and self._group_of[start:stop])

    def pick(self, indexes: Sequence[int]) -> AvroRows:
        if len(indexes) == len(self._places) and not self.excluded:
            return self
        places, group_of = self._places, self._group_of
        return self._some([places[index] for index in indexes], group_of and [group_of[index] for index in indexes])

    def _some(self, places: Sequence[int], group_of: Sequence[int] | None) -> AvroRows:
        if group_of and all(group == group_of[0] for group in group_of):
            return AvroRows([self._groups[group_of[0]]], None, places, {})
        return AvroRows(self._groups, group_of, places, {})

    def sizes(self) -> Sequence[int]:
        if self._group_of is not None:
            pairs = zip(self._group_of, self._places, strict=True)
            return [max(len(self._groups[group].values[place]) - _HEAD, 0) for group, place in pairs]
        if not self._groups:
            return [0] * len(self._places)
        return [max(len(value) - _HEAD, 0) for value in _taken(self._groups[0].values, self._places)]

    def datums(self, target: Schema) -> Sequence[bytes]:
        group = self._group()
        if target.text == group.schema.text:
            return group.datums(self._places)
        from kafka_s3.schemas.datums import codec

        return codec(target).encode(self.values(target))

    def values(self, target: Schema) -> Sequence[Any]:
        from kafka_s3.schemas.project import projector, unchanged

        group = self._group()
        values = group.decode(self._places)
        project = projector(group.schema, target)
        return values if project is unchanged else [project(value) for value in values]

    def arrow(self, target: Schema) -> Any:
        group = self._group()
        if target.text != group.schema.text:
            from kafka_s3.schemas.arrow import from_values

            return from_values(self.values(target), target)
        from kafka_s3.schemas.columns import taken

        return taken(group.arrow(), self._places)

    def column(self, path: tuple[str, ...]) -> Sequence[Any]:
        if not self._groups:
            return [None] * len(self._places)
        if self._group_of is None:
            return _taken(self._groups[0].column(path), self._places)
        columns = [group.column(path) for group in self._groups]
        return [columns[group][place] for group, place in zip(self._group_of, self._places, strict=True)]

    def _group(self) -> _Group:
        assert self._group_of is None, "only rows of one schema have another form"
        return self._groups[0]
