"""What schema a record is written under: one open object per group of schemas that go together.

The sink ends an object whenever the schema changes back or forth, so that two producers on two versions make an object
of each record. Here a group has one target and stays open; what is of another version is projected to it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from kafka_s3.avro.compatibility import Incompatible, Keep, compare, lacks_version, name_of
from kafka_s3.avro.model import Compatibility, Schema
from kafka_s3.avro.parse import SchemaError
from kafka_s3.avro.project import projector

#: Groups of one path and one name that are kept in mind, each of which a new schema is compared with. One of a group
#: that is forgotten, the oldest first, makes a new one, which costs an object.
GROUPS_MAX: Final = 16
#: Of all targets of all paths. Beyond it the path whose records are longest ago is forgotten, groups and all.
#: Memory: twice this, since what is remembered of schemas that are no targets may take as much; where every character
#: takes four bytes, four times that. Schemas are counted for each path, though paths share them.
SIZE_MAX: Final = 32 * 1024 * 1024
_OVERHEAD: Final = 2048  # of an entry beside its schema's text: a path of 1 KiB, and what holds them


class _Path:
    """The groups of one path."""

    def __init__(self) -> None:
        #: By name, since others need not be compared; the name that got a new group longest ago first.
        self.targets: OrderedDict[str | None, list[Schema]] = OrderedDict()
        self.size = 0
        self.known: dict[Schema, Schema] = {}
        self.known_size = 0

    def copy(self) -> _Path:
        other = _Path()
        other.targets = OrderedDict((name, list(targets)) for name, targets in self.targets.items())
        other.size, other.known, other.known_size = self.size, dict(self.known), self.known_size
        return other


class Groups:
    """The groups of every path in one range.

    What `target` answers follows from what it was asked for before, in that order. How often each was asked for in a
    row makes no difference, so whoever asks once per run of records gets what asking for each would give.
    """

    def __init__(self, mode: Compatibility, size_max: int = SIZE_MAX) -> None:
        self._mode = mode
        self._size_max = size_max
        self._paths: OrderedDict[str, _Path] = OrderedDict()  # the one whose records are longest ago first
        self._size = 0  # of all targets
        self._known_size = 0  # of all schemas whose group is remembered

    def copy(self) -> Groups:
        """The same groups, which what this one is asked from now on does not change."""
        other = Groups(self._mode, self._size_max)
        other._paths = OrderedDict((name, path.copy()) for name, path in self._paths.items())
        other._size, other._known_size = self._size, self._known_size
        return other

    def target(self, path: str, schema: Schema | None) -> Schema | Incompatible | None:
        """The schema to write values of this schema under; `None` for those without one.

        `NONE` keeps every schema by itself, and nothing in mind. The target of a group is the newest version that came
        (`BACKWARD`, `FULL`), or the oldest (`FORWARD`). What cannot be projected to it begins a group of its own.
        """
        if schema is None or self._mode is Compatibility.NONE:
            return schema
        here = self._paths.get(path)
        if here is not None:
            self._paths.move_to_end(path)
            known = here.known.get(schema)
            if known is not None:
                return known
        if (refused := lacks_version(schema, self._mode)) is not None:
            return refused
        if here is None:
            here = self._paths[path] = _Path()
        found = self._find(here, schema)
        self._make_room(here)
        self._remember(here, schema, found)
        return found

    def targets(self, paths: Iterable[str], schema: Schema | None) -> dict[str, Schema | Incompatible | None] | None:
        """The target in each path for records of one schema, as if asked for each in turn; `None` where that cannot be
        said in advance, since a path may have to be forgotten in between."""
        if schema is None or self._mode is Compatibility.NONE:
            return dict.fromkeys(paths, schema)
        paths = list(paths)
        distinct = dict.fromkeys(paths)
        new = sum(1 for path in distinct if (here := self._paths.get(path)) is None or schema not in here.known)
        if self._size + new * _size(schema) > self._size_max:
            return None
        found = {path: self.target(path, schema) for path in distinct}
        for path in reversed(dict.fromkeys(reversed(paths))):  # by the last record of each
            if path in self._paths:
                self._paths.move_to_end(path)
        return found

    def _find(self, here: _Path, schema: Schema) -> Schema:
        name = name_of(schema)
        alike = here.targets.get(name, [])
        for target in alike:
            if _fits(schema, target, self._mode):
                return target
        for index, target in enumerate(alike):
            # Of two that each could be the target the version decides; so no group goes back to a target it had.
            if schema.version != target.version and _fits(target, schema, self._mode):
                alike[index] = schema
                self._count(here, _size(schema) - _size(target))
                self._forget_known(here)
                return schema
        here.targets.setdefault(name, alike).append(schema)
        here.targets.move_to_end(name)
        self._count(here, _size(schema))
        if len(alike) > GROUPS_MAX:
            self._drop_oldest(here, name)
        return schema

    def _make_room(self, here: _Path) -> None:
        while self._size > self._size_max and len(self._paths) > 1:
            _, forgotten = self._paths.popitem(last=False)
            self._size -= forgotten.size
            self._known_size -= forgotten.known_size
        # The last target is that of this very record.
        while self._size > self._size_max and (len(here.targets) > 1 or len(next(iter(here.targets.values()))) > 1):
            self._drop_oldest(here, next(iter(here.targets)))

    def _drop_oldest(self, here: _Path, name: str | None) -> None:
        dropped = here.targets[name].pop(0)
        if not here.targets[name]:
            del here.targets[name]
        self._count(here, -_size(dropped))
        self._forget_known(here)

    def _count(self, here: _Path, size: int) -> None:
        here.size += size
        self._size += size

    def _remember(self, here: _Path, schema: Schema, target: Schema) -> None:
        """What is not remembered is compared again, with the same outcome."""
        if self._known_size + _size(schema) > self._size_max:
            for each in self._paths.values():
                self._forget_known(each)
        here.known[schema] = target
        here.known_size += _size(schema)
        self._known_size += _size(schema)

    def _forget_known(self, here: _Path) -> None:
        self._known_size -= here.known_size
        here.known, here.known_size = {}, 0


def _size(schema: Schema) -> int:
    return _OVERHEAD + len(schema.text)


def _fits(schema: Schema, target: Schema, mode: Compatibility) -> bool:
    """Whether values of one schema can be written under another; what its version rules out is not compared."""
    if schema == target:
        return True
    assert schema.version is not None
    assert target.version is not None
    if schema.version < target.version if mode is Compatibility.FORWARD else schema.version > target.version:
        return False
    return _compared(schema, target, mode)


@lru_cache(maxsize=256)  # the paths of a range ask for the same pairs
def _compared(schema: Schema, target: Schema, mode: Compatibility) -> bool:
    try:
        if not isinstance(compare(schema, target, mode), Keep):
            return False
        projector(schema, target)
    except SchemaError:
        return False
    return True
