"""What a class of transforms or predicates is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kafka_s3.settings.properties import Property, Value

#: What is wrong with options together, or with one by itself: the option's name, and a sentence.
Fault = tuple[str, str]
#: The values of all options, defaults included.
Options = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class TransformClass:
    """One class.

    `name`: Java's, without its side. `has_sides`: it is asked for as `$Key` or `$Value`.
    `routes`: it may give a record another topic; `routes_with`: it may where this option is set. `drops`: it may leave
    a record out. `older`: names of options that earlier releases had, and today's.
    `check`: what is wrong with the options, where it takes more than to look at one of them.
    """

    name: str
    options: tuple[Property, ...] = ()
    has_sides: bool = False
    routes: bool = False
    drops: bool = False
    routes_with: str | None = None
    is_predicate: bool = False
    older: Mapping[str, str] = field(default_factory=dict)
    check: Callable[[Options], list[Fault]] | None = None

    @property
    def short(self) -> str:
        return self.name.rpartition(".")[2]

    def may_route(self, options: Options) -> bool:
        return self.routes or (self.routes_with is not None and bool(options.get(self.routes_with)))

    @property
    def names(self) -> tuple[str, ...]:
        """What a configuration may call it, in full."""
        return (f"{self.name}$Key", f"{self.name}$Value") if self.has_sides else (self.name,)
