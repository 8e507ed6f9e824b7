"""The chain of transforms that every record goes through, as frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kafka_s3.settings.properties import Value


@dataclass(frozen=True, slots=True)
class PredicateSettings:
    """A condition. `type`: a class's full name, or `module:Class`; `options`: its values, defaults included."""

    alias: str
    type: str
    options: Mapping[str, Value] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class TransformSettings:
    """One transform of the chain. It is for the records that its predicate holds for, or does not (`negate`)."""

    alias: str
    type: str
    options: Mapping[str, Value] = field(default_factory=dict, repr=False)
    predicate: PredicateSettings | None = None
    negate: bool = False


@dataclass(frozen=True, slots=True)
class ChainSettings:
    """The transforms in their order. `routes`: one of them may give a record another topic; `drops`: leave one out."""

    transforms: tuple[TransformSettings, ...] = ()
    routes: bool = False
    drops: bool = False


NO_CHAIN: Final = ChainSettings()
