"""What schema a record is written under: one open object per group of schemas that go together.

The sink ends an object whenever the schema changes back or forth, so that two producers on two versions make an object
of each record. Here a group has one target and stays open; what is of another version is projected to it.
"""

from __future__ import annotations

from typing import Final

from kafka_s3.schemas.compatibility import Keep, Refused, compare, lacks_version, name_of
from kafka_s3.schemas.model import Compatibility, Schema
from kafka_s3.schemas.parse import SchemaError
from kafka_s3.schemas.project import projector

#: Groups of one path that are kept in mind. A schema of a group that is forgotten, the oldest first, makes a new one,
#: which costs an object. Memory: twice as many schemas at most, which are shared with their converter and other paths.
GROUPS_MAX: Final = 1024
#: Schemas whose group is remembered; beyond that they are compared again, with the same outcome.
_KNOWN_MAX: Final = 2 * GROUPS_MAX


class Groups:
    """The groups of one encoded partition in one range.

    What `target` answers follows from the schemas it was asked for before, in their order. How often each was asked
    for in a row makes no difference, so whoever asks once per run of records gets what asking for each would give.
    """

    def __init__(self, mode: Compatibility) -> None:
        self._mode = mode
        self._targets: list[tuple[str | None, Schema]] = []  # with their names: others need not be compared
        self._known: dict[Schema | None, Schema | Refused | None] = {None: None}

    def target(self, schema: Schema | None) -> Schema | Refused | None:
        """The schema to write values of this schema under; `None` for those without one.

        `NONE` keeps every schema by itself. The target of a group is the newest version that came (`BACKWARD`,
        `FULL`), or the oldest (`FORWARD`). What cannot be projected to it begins a group of its own.
        """
        try:
            return self._known[schema]
        except KeyError:
            pass
        assert schema is not None
        found = lacks_version(schema, self._mode) or self._find(schema)
        if len(self._known) >= _KNOWN_MAX:
            self._forget()
        self._known[schema] = found
        return found

    def _find(self, schema: Schema) -> Schema:
        name = name_of(schema)
        alike = [(index, target) for index, (other, target) in enumerate(self._targets) if other == name]
        for _, target in alike:
            if self._fits(schema, target):
                return target
        for index, target in alike:
            if self._supersedes(schema, target):
                self._targets[index] = name, schema
                self._forget()
                return schema
        self._targets.append((name, schema))
        if len(self._targets) > GROUPS_MAX:
            del self._targets[0]
            self._forget()
        return schema

    def _fits(self, schema: Schema, target: Schema) -> bool:
        try:
            if not isinstance(compare(schema, target, self._mode), Keep):
                return False
            if self._mode is not Compatibility.NONE:
                projector(schema, target)
        except SchemaError:
            return False
        return True

    def _supersedes(self, schema: Schema, target: Schema) -> bool:
        """Of two that each could be the target, the version decides; so no group ever goes back to a target it had."""
        if self._mode is Compatibility.NONE or schema.version == target.version:
            return False
        return self._fits(target, schema)

    def _forget(self) -> None:
        self._known = {None: None}
