"""The values of a batch that have one schema, in whichever form they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from kafka_s3.avro.datum_reader import FEW, LONG
from kafka_s3.avro.graph import graph
from kafka_s3.avro.model import Schema
from kafka_s3.avro.nodes import Union
from kafka_s3.shown import kind_and_length, quoted
from kafka_s3.values.rows import Excluded, Missing, Stage, Tombstone, Unwritable

if TYPE_CHECKING:  # they load pyarrow
    from kafka_s3.avro.batch_reader import Scan
    from kafka_s3.avro.datum_checker import Cuts
    from kafka_s3.avro.datums import Codec
    from kafka_s3.avro.pieces import Extents
    from kafka_s3.avro.splice import Copied, Splice
    from kafka_s3.values.converters.avro_weight import Weights

_SHOWN: Final = 16


class Group:
    """All the values of a batch that have one schema; refused ones among them.

    `head`: bytes in front of each datum. `valid`: each is known to be one; otherwise `check` is asked first.
    `named`: the id in a head, for people. `values_max`: how many values those at some places may hold, where these are
    fewer than by their bytes.
    """

    #: Whether what stands behind a value's head is a datum.
    has_datums: ClassVar[bool] = True

    def __init__(
        self,
        schema: Schema,
        values: Sequence[bytes],
        head: int,
        *,
        valid: bool = False,
        named: Callable[[bytes], str] = bytes.hex,
        values_max: Mapping[int, int] | None = None,
    ) -> None:
        from kafka_s3.avro.datums import codec

        self.schema = schema
        self.values = values
        self.head = head
        self._named = named
        self._values_max = values_max or {}
        self._codec: Codec = codec(schema)
        self._scan: Scan | None = None
        self._refused: dict[int, Excluded] = {}
        self._slow: list[int] = []  # valid, but not in the scan
        self._cuts: dict[int, Cuts] = {}  # of long ones, where `check` has found them
        self._decoded: list[Any] | None = None
        self._arrow: dict[str, Any] = {}  # by the text of the schema
        self._fields: dict[tuple[str, ...], Sequence[Any]] = {}
        self._projected: dict[str, Projected | None] = {}
        self._unseen = valid
        if not valid:
            self._make_scan()

    def _make_scan(self) -> None:
        if self._codec.columns is not None and len(self.values) >= FEW:
            self._scan = self._codec.columns.scan(self.values, self.head)

    def _look(self) -> None:
        """Scans values that are known to be valid, once that is needed."""
        if self._unseen:
            self._unseen = False
            self._make_scan()
            self._slow = [] if self._scan is None else self._scan.doubtful()

    @property
    def has_columns(self) -> bool:
        """Whether columns come without values."""
        self._look()
        return self._scan is not None

    def check(self, stage: Stage, columns: bool, weights: Weights | None = None) -> Mapping[int, Excluded]:
        """Which values are refused, and why; asked once, before anything else."""
        doubtful = range(len(self.values)) if self._scan is None else self._scan.doubtful()
        if doubtful:
            cuts = self._cuts if columns or self._scan is not None else None
            reasons = self._codec.reasons(
                {place: self.values[place][self.head :] for place in doubtful}, doubtful, cuts, self._values_max
            )
            for place, reason in reasons.items():
                value = self.values[place]
                id = self._named(value[: self.head])
                text = f"not a value of the schema of {id}: {reason} ({shown(value)})"
                self._refused[place] = Unwritable(text, stage)
            self._slow = [place for place in doubtful if place not in reasons]
        if weights is not None:
            self._weigh(weights, stage)
        self._refused.update(dict.fromkeys(self._nulls(), Tombstone()))
        if columns:
            self._refused.update(self._misfits())
        self._slow = [place for place in self._slow if place not in self._refused]
        return self._refused

    def _weigh(self, weights: Weights, stage: Stage) -> None:
        if max(map(len, self.values), default=0) <= weights.length_max:
            return
        for place, value in enumerate(self.values):
            if place not in self._refused and (problem := weights.problem(value[self.head :])):
                self._refused[place] = Unwritable(f"{problem} ({shown(value)})", stage)

    def _nulls(self) -> Sequence[int]:
        """The values that are just null: to Connect these are tombstones, whatever schema they have."""
        node = graph(self.schema)
        if not node.nullable:
            return []
        valid = [place for place in range(len(self.values)) if place not in self._refused]
        if not isinstance(node, Union):
            return valid
        nulls = {number for number, each in enumerate(node.branches) if each.nullable}
        return [place for place in valid if _branch(self.values[place][self.head :]) in nulls]

    def _misfits(self) -> dict[int, Excluded]:
        from kafka_s3.avro.arrow import ColumnsError, arrow_type, can_misfit, misfits

        valid = [place for place in range(len(self.values)) if place not in self._refused]
        try:
            arrow_type(self.schema)
        except ColumnsError as error:
            return dict.fromkeys(valid, Unwritable(str(error), Stage.TASK_PUT))
        if not can_misfit(self.schema) or not valid:
            return {}
        try:
            self.arrow(self.schema)
        except ColumnsError:
            found = misfits(self._decode_long(valid), self.schema)
            self._scan = None
            self._slow = valid
            return {valid[index]: Unwritable(reason, Stage.TASK_PUT) for index, reason in found.items()}
        return {}

    def datums(self, places: Sequence[int]) -> Sequence[bytes]:
        chosen, head = taken(self.values, places), self.head
        return [value[head:] for value in chosen] if head else chosen

    def projected(self, target: Schema) -> Projected | None:
        """The values under another schema, where their bytes are enough for that."""
        if target.text not in self._projected:
            self._projected[target.text] = self._project(target)
        return self._projected[target.text]

    def _project(self, target: Schema) -> Projected | None:
        from kafka_s3.avro.splice import splice

        way = splice(self.schema, target)
        self._look()
        return None if way is None else Projected(target, way)

    def spliced(self, way: Splice) -> tuple[list[bytes], Mapping[int, int] | None]:
        """The datums of valid values under another schema, and at which place each stands; `None`: where it stood."""
        scan = self._scan
        if scan is not None and scan.rows is None:
            return scan.spliced(way), None
        made: dict[int, bytes] = {}
        slow: Sequence[int] = self._slow
        if scan is None:
            slow = [place for place in range(len(self.values)) if place not in self._refused]
        elif scan.rows is not None:
            made.update(zip(scan.rows.tolist(), scan.spliced(way), strict=True))
        made.update((place, way.one(self.values[place][self.head :])) for place in slow)
        return list(made.values()), {place: number for number, place in enumerate(made)}

    def projected_arrow(self, way: Splice, target: Schema) -> Any:
        """All values under another schema, by the columns that there are; `None` if that takes more."""
        from kafka_s3.avro.arrow import from_values
        from kafka_s3.avro.datums import codec

        if self._scan is None or self._scan.rows is not None or not self.values:
            return None
        if target.text not in way.constants:
            one = from_values(codec(target).decode([way.one(self.values[0][self.head :])]), target)
            new = [number for number, origin in enumerate(way.origins) if origin is None]
            way.constants[target.text] = {number: one.field(number) for number in new}
        return self._scan.projected(way, target, way.constants[target.text])

    def extents(self, runs: Sequence[Copied], places: Sequence[int]) -> tuple[bytes, list[Extents]] | None:
        """Where those stand in some bytes, if they do in the batch's order."""
        self._look()
        if self._scan is None or self._scan.rows is not None or not isinstance(places, range) or places.step != 1:
            return None
        from kafka_s3.avro.pieces import Extents

        data, found = self._scan.extents(runs)
        some = slice(places.start, places.stop)
        return data, [Extents(each.starts[some], each.ends[some]) for each in found]

    def cut(self, runs: Sequence[Copied], places: Sequence[int]) -> list[Sequence[bytes]]:
        """The bytes of runs of fields, at least one, of some valid values, records: a list for each run."""
        self._look()
        if self._scan is not None and self._scan.rows is None:
            return [taken(each, places) for each in self._scan.cut(runs)]
        found: dict[int, Sequence[bytes]] = {}
        if self._scan is not None and self._scan.rows is not None:
            found.update(zip(self._scan.rows.tolist(), zip(*self._scan.cut(runs), strict=True), strict=True))
        from kafka_s3.avro.splice import cutter

        cut = cutter(self.schema.text)
        each = [found[at] if at in found else cut(self.values[at][self.head :], runs) for at in places]
        return [[row[number] for row in each] for number in range(len(runs))]

    def cut_sizes(self, runs: Sequence[Copied], places: Sequence[int]) -> Sequence[int]:
        """How many bytes those are, of each value."""
        self._look()
        if self._scan is not None and self._scan.rows is None:
            return taken(self._scan.cut_sizes(runs).tolist(), places)
        return [sum(map(len, row)) for row in zip(*self.cut(runs, places), strict=True)] or [0] * len(places)

    def fields(self, kinds: Mapping[int, Any]) -> list[Any] | None:
        """Some fields of all values, by their numbers and as columns of these types; `None` if it takes more than the
        columns that there are."""
        self._look()
        if self._scan is None or self._scan.rows is not None:
            return None
        return self._scan.fields(kinds)

    def decode(self, places: Sequence[int]) -> Sequence[Any]:
        """The values; kept if they are those of the whole batch, as those of its parts are asked for once each."""
        if self._decoded is not None:
            return taken(self._decoded, places)
        decoded = self._codec.decode(self.datums(places))
        if isinstance(places, range) and len(places) == len(self.values):
            self._decoded = decoded
        return decoded

    def decode_some(self, places: Sequence[int]) -> Sequence[Any]:
        """The values; where there are no datums to read instead, arrays of long ones make their items when they are
        read."""
        return self.decode(places)

    def _decode_long(self, places: Sequence[int]) -> Sequence[Any]:
        """The values, in long ones of which arrays and maps are made some items at a time: for columns."""
        if not self.has_datums or all(len(self.values[place]) < LONG for place in places):
            return self.decode(places)
        short = [place for place in places if len(self.values[place]) < LONG]
        made = dict(zip(short, self.decode(short), strict=True))
        head = self.head
        return [
            made[place] if place in made else self._codec.decode_long(self.values[place][head:], self._cuts.get(place))
            for place in places
        ]

    def arrow(self, schema: Schema) -> Any:
        """All valid rows as one array, at the places of their values; refused ones hold anything.

        `schema`: the group's own, or that without logical types (`bare`).
        """
        if schema.text not in self._arrow:
            self._look()
            self._arrow[schema.text] = self._make_arrow(schema)
        return self._arrow[schema.text]

    def _make_arrow(self, schema: Schema) -> Any:
        from kafka_s3.avro.batch_reader import joined

        fast = None if self._scan is None else self._scan.arrow(schema)
        if self._scan is None or fast is None:
            places = [place for place in range(len(self.values)) if place not in self._refused]
            return joined(self._slow_arrow(places, schema), places, len(self.values))
        if self._scan.rows is None:
            return fast
        slow = self._slow_arrow(self._slow, schema)
        return joined([fast, *slow], [*self._scan.rows.tolist(), *self._slow], len(self.values))

    def _slow_arrow(self, places: Sequence[int], schema: Schema) -> list[Any]:
        """Arrays of values that are read one by one, one after the other."""
        from kafka_s3.avro.arrow import from_values

        made: list[Any] = []
        waiting: list[int] = []
        for place in places:
            value, long = self.values[place], None
            if self.has_datums and len(value) >= LONG:
                long = self._codec.long_arrow(value[self.head :], self._cuts.get(place), schema)
            if long is None:
                waiting.append(place)
                continue
            if waiting:
                made.append(from_values(self._decode_long(waiting), schema))
                waiting = []
            made.append(long)
        return [*made, from_values(self._decode_long(waiting), schema)]

    def column(self, path: tuple[str, ...]) -> Sequence[Any]:
        """One field of all valid rows, at the places of their values."""
        if path not in self._fields:
            self._fields[path] = self._make_column(path)
        return self._fields[path]

    def _make_column(self, path: tuple[str, ...]) -> Sequence[Any]:
        self._look()
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
            for place, value in zip(slow, self._decode_long(slow), strict=True):
                column[place] = read(value)
        return column


class Projected:
    """The valid values of a group under another schema, by their bytes.

    It is told the group each time: one that it knew, and that knew it, would stay until Python looks for circles.
    """

    def __init__(self, target: Schema, way: Splice) -> None:
        self._target = target
        self._way = way
        self._made: tuple[Group, Mapping[int, int] | None] | None = None
        self._arrow: Any = None
        self._looked = False

    def datums(self, source: Group, places: Sequence[int]) -> Sequence[bytes]:
        group, moved = self._group(source, places)
        return group.datums(moved)

    def arrow(self, source: Group, places: Sequence[int]) -> Any:
        from kafka_s3.avro.batch_reader import taken

        if not self._looked:
            self._looked = True
            self._arrow = source.projected_arrow(self._way, self._target)
        if self._arrow is not None:
            return taken(self._arrow, places)
        group, moved = self._group(source, places)
        return taken(group.arrow(self._target), moved)

    def _group(self, source: Group, places: Sequence[int]) -> tuple[Group, Sequence[int]]:
        """The values put together anew, and the places of some of them there."""
        if self._made is None:
            datums, moved = source.spliced(self._way)
            self._made = Group(self._target, datums, 0, valid=True), moved
        group, moved = self._made
        return group, places if moved is None else [moved[place] for place in places]


def _reader(schema: Schema, path: tuple[str, ...]) -> Callable[[Any], Any]:
    from kafka_s3.avro.fields import NoField, field_reader

    read = field_reader(schema, path)

    def read_or_say(value: Any) -> Any:
        try:
            return read(value)
        except NoField as error:
            return Missing(str(error))

    return read_or_say


def taken(all_: Sequence[Any], places: Sequence[int]) -> Sequence[Any]:
    if isinstance(places, range) and places.step == 1:
        return all_ if len(places) == len(all_) else all_[places.start : places.stop]
    return [all_[place] for place in places]


def _branch(datum: bytes) -> int:
    """Which branch of the union at its top a valid datum has.

    >>> _branch(bytes([2])), _branch(bytes([0x82, 1]))
    (1, 65)
    """
    number = 0
    for place, byte in enumerate(datum):
        number |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            break
    return number >> 1


def shown(value: bytes | None) -> str:
    """A value's length, or its beginning where content is shown."""
    assert value is not None
    if not value:
        return "the value is empty"
    beginning = value[:_SHOWN].hex(" ")
    text = f"it begins with {beginning}" if len(value) > _SHOWN else f"it is {beginning}"
    return quoted(value, text, kind=f"the value has {kind_and_length(value)}")
