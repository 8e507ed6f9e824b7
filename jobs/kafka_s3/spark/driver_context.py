"""What Airflow knows and the Spark driver needs: connections and secrets, handed over in one environment variable.

Never as an argument, a template field or Spark configuration: those are stored, listed and logged.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, MutableMapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, TypeVar

VARIABLE: Final = "KAFKA_S3_HANDOVER"
#: Linux takes 128 KiB in one variable; a group's context is spread over as many as it needs.
VARIABLE_CHARS_MAX: Final = 100_000

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class DriverContext:
    """`kafka` and `aws` are connections as settings take them; `secrets` answers `${secrets:…}`."""

    kafka: Mapping[str, str] | None = field(default=None, repr=False)
    aws: Mapping[str, str] | None = field(default=None, repr=False)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)

    def to_environment(self) -> dict[str, str]:
        return {VARIABLE: json.dumps(asdict(self))}

    @classmethod
    def take(cls, environment: MutableMapping[str, str]) -> DriverContext:
        """Read the variable and remove it, so that no child of this process inherits it."""
        text = environment.pop(VARIABLE, None)
        return cls() if text is None else cls(**json.loads(text))


@dataclass(frozen=True, slots=True)
class Member:
    """A connector of a group: its name, its file, what Airflow knows for it, and whether its plan was written for this
    run (`RunRequest.planned_apart`)."""

    name: str
    path: str
    context: DriverContext = DriverContext()
    planned_apart: bool = False


@dataclass(frozen=True, slots=True)
class GroupContext:
    """The members of a group that its driver runs, in their order. What they share is handed over once: connections,
    and the values of secrets."""

    members: tuple[Member, ...] = ()

    def to_environment(self) -> dict[str, str]:
        connections: list[Mapping[str, str] | None] = []
        secrets: list[str] = []
        members = [
            {
                "name": each.name,
                "path": each.path,
                "kafka": _index(connections, each.context.kafka),
                "aws": _index(connections, each.context.aws),
                "secrets": {name: _index(secrets, value) for name, value in each.context.secrets.items()},
                "planned": each.planned_apart,
            }
            for each in self.members
        ]
        text = json.dumps({"connections": connections, "secrets": secrets, "members": members})
        starts = range(0, len(text), VARIABLE_CHARS_MAX)
        return {f"{VARIABLE}_{n}": text[start : start + VARIABLE_CHARS_MAX] for n, start in enumerate(starts)}

    @classmethod
    def take(cls, environment: MutableMapping[str, str]) -> GroupContext:
        """Read the variables and remove them, so that no child of this process inherits them."""
        names = itertools.takewhile(environment.__contains__, (f"{VARIABLE}_{n}" for n in itertools.count()))
        text = "".join([environment.pop(name) for name in list(names)])
        if not text:
            return cls()
        given = json.loads(text)
        connections, secrets = given["connections"], given["secrets"]

        def context(member: Mapping[str, Any]) -> DriverContext:
            values = {name: secrets[place] for name, place in member["secrets"].items()}
            return DriverContext(connections[member["kafka"]], connections[member["aws"]], values)

        made = (Member(each["name"], each["path"], context(each), each["planned"]) for each in given["members"])
        return cls(tuple(made))


def _index(shared: list[Value], one: Value) -> int:
    """Where a value is among those that are shared, to which a new one is added."""
    if one not in shared:
        shared.append(one)
    return shared.index(one)
