"""Avro as a schema registry's serializers write it: a zero byte, a schema's id in four bytes, the datum.

A batch is checked all at once, by schema. Its bytes stay as they are; other forms are made when they are asked for,
once for the whole batch however it is parted after that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from kafka_s3.avro.graph import graph
from kafka_s3.avro.model import Schema
from kafka_s3.avro.parse import SchemaError, parse_avro
from kafka_s3.ports import SchemaRegistry
from kafka_s3.settings.registry import SubjectNames
from kafka_s3.values.converters.avro_group import Group, shown, taken
from kafka_s3.values.converters.registry_head import HEAD, KnownHeads, RegistryHead
from kafka_s3.values.rows import Excluded, Schemas, Stage, Tombstone, Unwritable

if TYPE_CHECKING:
    from kafka_s3.avro.pieces import Extents
    from kafka_s3.avro.splice import Copied
    from kafka_s3.values.converters.avro_weight import Weights


class Framing(Protocol):
    """What stands in front of a datum."""

    @property
    def head(self) -> int:
        """How many bytes."""

    def look_up(self, head: bytes) -> Schema | str:
        """The schema that they name, or why there is none; there may be fewer of them. Registry errors."""

    def named(self, head: bytes) -> str:
        """The id in them, for people."""


class ConfluentFraming:
    """A zero byte, and a schema's id in four."""

    head = HEAD

    def __init__(self, registry_head: RegistryHead) -> None:
        self._head = registry_head

    @staticmethod
    def named(head: bytes) -> str:
        return f"the id {int.from_bytes(head[1:], 'big')}"

    def look_up(self, head: bytes) -> Schema | str:
        found = self._head.look_up(head)
        if isinstance(found, str):
            return found
        id, registered = found
        try:
            schema = parse_avro(registered.text, registered.references, id=id)
        except SchemaError as error:
            return f"the schema of the id {id} cannot be used: {error}"
        # What has no name of its own is called by its type, as Avro for Java names types.
        version = self._head.version(id, lambda: graph(schema).name)
        return Schema(schema.text, id, version)


class FramedAvro:
    """The values, or keys, of one topic.

    `framing` reads what stands in front of each. Registry errors end a batch; what a record alone is to blame for makes
    it `Unwritable`. `columns`: a record that Arrow's columns cannot hold is refused too, as Parquet needs it. `binary`:
    the datums themselves are written, so that there is nothing to weigh.
    """

    def __init__(
        self,
        framing: Framing,
        *,
        key: bool,
        columns: bool = False,
        binary: bool = False,
    ) -> None:
        self._framing = framing
        self._columns = columns
        self._binary = binary
        self._stage = Stage.KEY_CONVERTER if key else Stage.VALUE_CONVERTER
        self._known = KnownHeads(framing.look_up, lambda schema: len(schema.text))

    def __call__(self, values: Sequence[bytes | None], values_max: Mapping[int, int] | None = None) -> AvroRows:
        """`values_max`: how many values some datums may hold, where these are fewer than by their bytes."""
        excluded: dict[int, Excluded] = {}
        chosen: dict[Schema, list[int]] = {}
        named: list[tuple[Schema, Sequence[int]]] = []
        for head, rows in _by_head(values, self._framing.head).items():
            if head is None:
                excluded.update(dict.fromkeys(rows, Tombstone()))
            elif isinstance(found := self._known[head], Schema):
                chosen.setdefault(found, []).extend(rows)
                named.append((found, rows))
            else:
                for row in rows:
                    excluded[row] = Unwritable(f"{found} ({shown(values[row])})", self._stage)
        groups: list[Group] = []
        group_of: list[int] = [0] * len(values)
        places: Sequence[int] = range(len(values))
        if len(chosen) > 1 or excluded:
            places = [0] * len(values)
        for number, (schema, rows) in enumerate(chosen.items()):
            # All of them stand where they stood, whatever their ids.
            everything = len(rows) == len(values)
            chosen_values: Sequence[Any] = values if everything else [values[row] for row in rows]
            limits = values_max
            if values_max and not everything:
                limits = {place: values_max[row] for place, row in enumerate(rows) if row in values_max}
            group = Group(schema, chosen_values, self._framing.head, named=self._framing.named, values_max=limits)
            groups.append(group)
            for place, refused in group.check(self._stage, self._columns, self._weights(schema)).items():
                excluded[place if everything else rows[place]] = refused
            if isinstance(places, list):
                for place, row in enumerate(rows):
                    group_of[row], places[row] = number, place
        own = _own(named, len(values)) if len(named) > len(chosen) else None
        return AvroRows(groups, group_of if len(groups) > 1 else None, places, excluded, own)

    def _weights(self, schema: Schema) -> Weights | None:
        if self._binary:
            return None
        from kafka_s3.values.converters.avro_weight import weights_of

        return weights_of(schema, self._columns)


class AvroValues(FramedAvro):
    """AvroConverter."""

    def __init__(
        self,
        registry: SchemaRegistry,
        subject_names: SubjectNames,
        topic: str,
        *,
        key: bool,
        columns: bool = False,
        binary: bool = False,
    ) -> None:
        framing = ConfluentFraming(RegistryHead(registry, subject_names, topic, "AVRO", key))
        super().__init__(framing, key=key, columns=columns, binary=binary)


def _by_head(values: Sequence[bytes | None], head: int) -> Mapping[bytes | None, Sequence[int]]:
    """Rows by the first bytes of their values; one schema as a rule, so that is looked for first."""
    if None not in values:
        heads = {value[:head] for value in values}  # type: ignore[index]  # no None is left
        if len(heads) == 1:
            return {heads.pop(): range(len(values))}
    rows: dict[bytes | None, list[int]] = {}
    for row, value in enumerate(values):
        rows.setdefault(None if value is None else value[:head], []).append(row)
    return rows


def _own(named: Iterable[tuple[Schema, Sequence[int]]], count: int) -> Sequence[Schema | None]:
    own: list[Schema | None] = [None] * count
    for schema, rows in named:
        for row in rows:
            own[row] = schema
    return own


class AvroRows:
    """A `Structs` over datums.

    Row i is the value at `places[i]` of the group `group_of[i]`; `group_of=None`: of the only group. `own`: the schema
    of each row with the id that the row names, where rows of one group name several: an object says that of its first.
    """

    def __init__(
        self,
        groups: Sequence[Group],
        group_of: Sequence[int] | None,
        places: Sequence[int],
        excluded: Mapping[int, Excluded],
        own: Sequence[Schema | None] | None = None,
    ) -> None:
        self._own = own
        self._groups = groups
        self._group_of = group_of
        self._places = places
        self.excluded = excluded

    @property
    def schemas(self) -> Schemas:
        if not self._groups:
            return None
        if self._own is not None:
            return [None if row in self.excluded else schema for row, schema in enumerate(self._own)]
        if self._group_of is None:
            return self._groups[0].schema
        schemas = [group.schema for group in self._groups]
        return [None if row in self.excluded else schemas[group] for row, group in enumerate(self._group_of)]

    def part(self, start: int, stop: int) -> AvroRows:
        if start == 0 and stop == len(self._places) and not self.excluded and self._own is None:
            return self
        return self._some(self._places[start:stop], self._group_of and self._group_of[start:stop])

    def pick(self, indexes: Sequence[int]) -> AvroRows:
        if len(indexes) == len(self._places) and not self.excluded and self._own is None:
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
            heads = [group.head for group in self._groups]
            return [max(len(self._groups[group].values[place]) - heads[group], 0) for group, place in pairs]
        if not self._groups:
            return [0] * len(self._places)
        values, head = taken(self._groups[0].values, self._places), self._groups[0].head
        if not self.excluded:
            return [len(value) - head for value in values]
        return [max(len(value) - head, 0) for value in values]

    def datums(self, target: Schema) -> Sequence[bytes]:
        if self._group_of is not None:
            return self._mixed(lambda part: part.datums(target))
        group = self._groups[0]
        if target.text == group.schema.text:
            return group.datums(self._places)
        projected = group.projected(target)
        if projected is not None:
            return projected.datums(group, self._places)
        from kafka_s3.avro.datums import codec

        return codec(target).encode(self.long_values(target))

    def values(self, target: Schema) -> Sequence[Any]:
        if self._group_of is not None:
            return self._mixed(lambda part: part.values(target))
        group = self._groups[0]
        return self._projected(group.decode(self._places), target)

    def long_values(self, target: Schema) -> Sequence[Any]:
        if self._group_of is not None:
            return self._mixed(lambda part: part.long_values(target))
        return self._projected(self._groups[0].decode_some(self._places), target)

    def _projected(self, values: Sequence[Any], target: Schema) -> Sequence[Any]:
        from kafka_s3.avro.project import projector, unchanged

        group = self._groups[0]
        project = projector(group.schema, target)
        return values if project is unchanged else [project(value) for value in values]

    def arrow(self, target: Schema) -> Any:
        """`target` may also be a schema without its logical types (`bare`)."""
        from kafka_s3.avro.batch_reader import joined, taken

        if self._group_of is not None:
            parts = self._apart()
            rows = [row for indexes, _ in parts for row in indexes]
            return joined([part.arrow(target) for _, part in parts], rows, len(self._places))
        group = self._groups[0]
        if _reads(target, group.schema):
            return taken(group.arrow(target), self._places)
        projected = group.projected(target)
        if projected is not None:
            return projected.arrow(group, self._places)
        from kafka_s3.avro.arrow import from_values

        return from_values(self.values(target), target)

    def has_columns(self, target: Schema) -> bool:
        """Whether `arrow` comes without values, which then cost more than it."""
        if self._group_of is not None or not self._groups:
            return False
        group = self._groups[0]
        return group.has_columns and (_reads(target, group.schema) or group.projected(target) is not None)

    def has_datums(self, target: Schema) -> bool:
        """Whether `datums` come without values, which take more memory than they."""
        return all(
            group.has_datums and (target.text == group.schema.text or group.projected(target) is not None)
            for group in self._groups
        )

    def column(self, path: tuple[str, ...]) -> Sequence[Any]:
        if not self._groups:
            return [None] * len(self._places)
        if self._group_of is None:
            return taken(self._groups[0].column(path), self._places)
        columns = [group.column(path) for group in self._groups]
        return [columns[group][place] for group, place in zip(self._group_of, self._places, strict=True)]

    def extents(self, runs: Sequence[Copied]) -> tuple[bytes, list[Extents]] | None:
        """Where runs of fields of rows whose one schema is a record's stand in some bytes, if in their order."""
        return None if self._group_of is not None else self._groups[0].extents(runs, self._places)

    def cut(self, runs: Sequence[Copied]) -> list[Sequence[bytes]]:
        """The bytes of runs of fields of rows whose one schema is a record's: a list for each run."""
        if self._group_of is None:
            return self._groups[0].cut(runs, self._places)
        rows = self._mixed(lambda part: list(zip(*part.cut(runs), strict=True)))
        return [[row[number] for row in rows] for number in range(len(runs))]

    def cut_sizes(self, runs: Sequence[Copied]) -> Sequence[int]:
        """How many bytes those are, of each row."""
        if self._group_of is None:
            return self._groups[0].cut_sizes(runs, self._places)
        return self._mixed(lambda part: part.cut_sizes(runs))

    def fields(self, kinds: Mapping[int, Any]) -> list[Any] | None:
        """Some fields as columns, by their numbers; `None` if it takes more than the columns that there are."""
        from kafka_s3.avro.batch_reader import taken

        found = None if self._group_of is not None else self._groups[0].fields(kinds)
        return None if found is None else [taken(each, self._places) for each in found]

    def _apart(self) -> list[tuple[list[int], AvroRows]]:
        """The rows of each group: several may have one schema, where their bytes are read in different ways."""
        assert self._group_of is not None
        indexes: dict[int, list[int]] = {}
        for row, group in enumerate(self._group_of):
            indexes.setdefault(group, []).append(row)
        return [
            (rows, AvroRows([self._groups[group]], None, [self._places[row] for row in rows], {}))
            for group, rows in indexes.items()
        ]

    def _mixed(self, form: Callable[[AvroRows], Sequence[Any]]) -> list[Any]:
        """A form of rows of several groups."""
        made: list[Any] = [None] * len(self._places)
        for rows, part in self._apart():
            for row, each in zip(rows, form(part), strict=True):
                made[row] = each
        return made


def _reads(target: Schema, schema: Schema) -> bool:
    """Whether a schema is another one, or that without its logical types."""
    from kafka_s3.avro.physical_schema import bare

    return target.text == schema.text or target.text == bare(schema).text
