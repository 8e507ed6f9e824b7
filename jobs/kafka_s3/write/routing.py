"""Which object group each record of a batch belongs to: by its path, and by what its values are written under."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from kafka_s3.avro.compatibility import Incompatible
from kafka_s3.avro.groups import Groups
from kafka_s3.avro.model import Compatibility, Schema
from kafka_s3.records import RecordBatch
from kafka_s3.settings.model import Settings
from kafka_s3.settings.values import NullValues
from kafka_s3.values.formats.companions import FormatWithCompanions
from kafka_s3.values.formats.objects import ObjectFormat, format_for
from kafka_s3.values.partitioners.paths import Paths
from kafka_s3.values.rows import ChangedBatch, Excluded, Rows, Schemas, Stage, Unwritable, topics_of
from kafka_s3.write.object_group import Member


@dataclass(frozen=True, slots=True)
class GroupKind:
    """The members of an object group and their formats; `columns` are the numbers of the columns that these write."""

    members: tuple[Member, ...]
    extensions: tuple[str, ...]
    formats: tuple[ObjectFormat, ...]
    columns: tuple[int, ...]

    @property
    def has_index(self) -> bool:
        return Member.INDEX in self.members


_Identity = tuple[str, bool, tuple[Schema | None, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class GroupKey:
    """Which group a record belongs to: its path, whether it is a tombstone, and what each column is written under.

    There is one for each identity at a time, so that it is looked up by what it is and not by what it says.
    """

    identity: _Identity
    kind: GroupKind

    @property
    def path(self) -> str:
        path = self.identity[0]
        return path.path if isinstance(path, _InFolder) else path

    @property
    def folder(self) -> str | None:
        """The topic that a transform gave the records, where it is another than they came from."""
        path = self.identity[0]
        return path.folder if isinstance(path, _InFolder) else None

    @property
    def is_tombstone(self) -> bool:
        return self.identity[1]

    @property
    def targets(self) -> tuple[Schema | None, ...]:
        return self.identity[2]


class _InFolder(str):
    """A path in the folder of another topic. As text it is both, so that each folder has groups of its own."""

    __slots__ = ("folder", "path")
    folder: str
    path: str

    @classmethod
    def of(cls, folder: str, path: str) -> _InFolder:
        made = cls(f"{folder}\0{path}")
        made.folder, made.path = folder, path
        return made


def in_folders(paths: Paths, batch: RecordBatch) -> Paths:
    """The same paths; those of records with another topic are in that topic's folder."""
    if not isinstance(batch, ChangedBatch):
        return paths
    own, topics = batch.tp.topic, batch.topics
    if isinstance(topics, str):
        if topics == own:
            return paths
        if isinstance(paths.each, str):
            return replace(paths, each=_InFolder.of(topics, paths.each))
    pairs = list(zip(topics_of(batch), _each(paths, len(batch)), strict=True))
    made = {pair: pair[1] if pair[0] == own else _InFolder.of(*pair) for pair in set(pairs)}
    return replace(paths, each=list(map(made.__getitem__, pairs)))


def _each(paths: Paths, count: int) -> Sequence[str]:
    return [paths.each] * count if isinstance(paths.each, str) else paths.each


class ObjectRouter:
    """The object groups of one range. Memory: a key for each open one and those of one batch, and groups of schemas."""

    def __init__(self, settings: Settings) -> None:
        self._mode = settings.format.compatibility
        self._with_value, self._without_value = _kinds(settings)
        self._groups = Groups(self._mode)
        self._known: dict[_Identity, GroupKey] = {}

    @property
    def extensions(self) -> tuple[str, ...]:
        """Of an object group's objects, that of the values first."""
        return self._with_value.extensions

    @property
    def longest_extension(self) -> str:
        return max(self._with_value.extensions, key=len)

    def keys(
        self,
        columns: Sequence[Rows],
        paths: Paths,
        nulls: frozenset[int],
        excluded: dict[int, Excluded],
        count: int,
    ) -> GroupKey | Sequence[GroupKey | None]:
        """The group of every record, one for all if they have the same; `excluded` gets those that have none.

        `nulls`: tombstones that are written. In the records' order: a newer schema changes what later ones are written
        under.
        """
        schemas = [column.schemas for column in columns]
        uniform = not nulls and all(map(_is_single, schemas))
        if uniform and isinstance(paths.each, str):
            if len(excluded) == count:
                return [None] * count
            key = self._key(paths.each, False, schemas)  # type: ignore[arg-type]  # each is a single one
            if isinstance(key, GroupKey):
                return key
        elif uniform:
            wanted = (
                [path for index, path in enumerate(paths.each) if index not in excluded] if excluded else paths.each
            )
            targets = self._groups.targets(wanted, schemas[0])  # type: ignore[arg-type]  # it is a single one
            if targets is not None and not any(isinstance(each, Incompatible) for each in targets.values()):
                made = {
                    path: self._keyed(path, False, (target, *schemas[1:]))  # type: ignore[arg-type]
                    for path, target in targets.items()
                }
                return list(map(made.get, paths.each))  # those excluded have none
        return self._one_by_one(schemas, paths, nulls, excluded, count)

    def _one_by_one(
        self,
        schemas: Sequence[Schemas],
        paths: Paths,
        nulls: frozenset[int],
        excluded: dict[int, Excluded],
        count: int,
    ) -> Sequence[GroupKey | None]:
        known: dict[object, GroupKey | Incompatible] = {}
        keys: list[GroupKey | None] = [None] * count
        for index in range(count):
            if index in excluded:
                continue
            path = paths.each if isinstance(paths.each, str) else paths.each[index]
            theirs = tuple(_at(each, index) for each in schemas)
            asked = (path, index in nulls, theirs)
            found = known.get(asked)
            if found is None or self._mode is not Compatibility.NONE:
                found = known[asked] = self._key(path, index in nulls, theirs)
            if isinstance(found, GroupKey):
                keys[index] = found
            else:
                excluded[index] = Unwritable(found.sentence, Stage.TASK_PUT)
        return keys

    def kept(self) -> Groups:
        """What earlier records decided about later ones, for `restore`."""
        return self._groups.copy()

    def restore(self, kept: Groups) -> None:
        self._groups = kept

    def opened(self, key: GroupKey) -> None:
        self._known[key.identity] = key

    def closed(self, key: GroupKey) -> None:
        del self._known[key.identity]

    def _key(self, path: str, is_null: bool, schemas: Sequence[Schema | None]) -> GroupKey | Incompatible:
        if is_null:
            return self._keyed(path, True, schemas)
        target = self._groups.target(path, schemas[0])
        return target if isinstance(target, Incompatible) else self._keyed(path, False, (target, *schemas[1:]))

    def _keyed(self, path: str, is_null: bool, targets: Sequence[Schema | None]) -> GroupKey:
        """The key of a path and what each column is written under."""
        kind = self._without_value if is_null else self._with_value
        assert kind is not None, "a tombstone without a key's file"
        identity = (path, is_null, tuple(targets[number] for number in kind.columns))
        key = self._known.get(identity)
        if key is None:
            key = self._known[identity] = GroupKey(identity, kind)
        return key


#: What the sink calls the only column of a Parquet file of keys that are no records, and of headers.
_COLUMNS: Final = {Member.KEYS: "key", Member.HEADERS: "headers"}


def _kinds(settings: Settings) -> tuple[GroupKind, GroupKind | None]:
    """The object groups of this configuration: of records with a value, and of tombstones where these are written."""
    values = format_for(settings.format.file)
    members, extensions, formats = [Member.VALUES], [values.extension], [values]
    for member, file in ((Member.KEYS, settings.format.keys), (Member.HEADERS, settings.format.headers)):
        if file is not None:
            made = format_for(file, wrap=_COLUMNS[member])
            members.append(member)
            extensions.append(f".{member.value}{made.extension}")
            formats.append(made)
    numbers = tuple(range(len(formats)))
    without = None
    if settings.format.null_values is NullValues.WRITE:
        without = GroupKind(tuple(members[1:]), tuple(extensions[1:]), tuple(formats[1:]), numbers[1:])
    if isinstance(values, FormatWithCompanions):
        members += map(Member, values.companion_extensions)
        extensions += values.companion_extensions.values()
    return GroupKind(tuple(members), tuple(extensions), tuple(formats), numbers), without


def _at(schemas: Schemas, index: int) -> Schema | None:
    return schemas if isinstance(schemas, Schema | None) else schemas[index]


def _is_single(schemas: Schemas) -> bool:
    return isinstance(schemas, Schema | None)
