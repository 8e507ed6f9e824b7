"""What a class of transforms or predicates is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from kafka_s3.settings.properties import Property, Value

#: What is wrong with options together, or with one by itself: the option's name, and a sentence.
Fault = tuple[str, str]
KEY_OR_VALUE: Final = ("Key", "Value")
#: The values of all options, defaults included.
Options = Mapping[str, Value]
Check = Callable[[Options], list[Fault]]


@dataclass(frozen=True, slots=True)
class TransformClass:
    """One class.

    `name`: Java's, without its side. `sides`: it is asked for as `$Key` or `$Value`, say.
    `keeps_keys`: its `$Key` only reads them; `changes_keys`: it changes them, and has no `$Key` to say so.
    `routes`: it may give a record another topic; `routes_with`: it may where this option is set. `drops`: it may leave
    a record out. `older`: names of options that earlier releases had, and today's.
    `check`: what is wrong with the options, where it takes more than to look at one of them; `checks`: of one side.
    """

    name: str
    options: tuple[Property, ...] = ()
    sides: tuple[str, ...] = ()
    keeps_keys: bool = False
    changes_keys: bool = False
    routes: bool = False
    drops: bool = False
    routes_with: str | None = None
    is_predicate: bool = False
    older: Mapping[str, str] = field(default_factory=dict)
    check: Check | None = None
    checks: Mapping[str, Check] = field(default_factory=dict)

    @property
    def short(self) -> str:
        return self.name.rpartition(".")[2]

    def may_route(self, options: Options) -> bool:
        return self.routes or (self.routes_with is not None and bool(options.get(self.routes_with)))

    def faults(self, name: str, options: Options) -> list[Fault]:
        """What is wrong with the options together. `name`: what a configuration calls it."""
        check = self.checks.get(name.rpartition("$")[2], self.check)
        return [] if check is None else check(options)

    def may_change_keys(self, name: str) -> bool:
        """`name`: what a configuration calls it."""
        return self.changes_keys or (name.endswith("$Key") and not self.keeps_keys)

    @property
    def names(self) -> tuple[str, ...]:
        """What a configuration may call it, in full."""
        return tuple(f"{self.name}${side}" for side in self.sides) or (self.name,)
