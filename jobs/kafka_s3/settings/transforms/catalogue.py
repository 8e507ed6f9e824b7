"""Every class of transforms and predicates, by each name that a configuration may use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kafka_s3.settings.properties import near_match
from kafka_s3.settings.transforms import aiven, confluent, debezium, kafka
from kafka_s3.settings.transforms.classes import TransformClass

#: A file with more classes is a line here.
TRANSFORMS: Final[tuple[TransformClass, ...]] = (
    *kafka.TRANSFORMS,
    *debezium.TRANSFORMS,
    *confluent.TRANSFORMS,
    *aiven.TRANSFORMS,
)
PREDICATES: Final[tuple[TransformClass, ...]] = (*kafka.PREDICATES,)


@dataclass(frozen=True, slots=True)
class Found:
    """A class and the full name that was meant."""

    of: TransformClass
    name: str


def _by_name(classes: tuple[TransformClass, ...]) -> Mapping[str, Found]:
    found: dict[str, Found] = {}
    for each in classes:
        for name in each.names:
            found[name] = Found(each, name)
            found.setdefault(name.rpartition(".")[2], Found(each, name))
    return found


_TRANSFORMS: Final = _by_name(TRANSFORMS)
_PREDICATES: Final = _by_name(PREDICATES)


def find(text: str, *, predicate: bool = False) -> Found | str:
    """The class that a text names, in full or by its last part; else the sentence that says what is wrong."""
    known = _PREDICATES if predicate else _TRANSFORMS
    found = known.get(text)
    if found is not None:
        return found
    sided = next((each for each in (TRANSFORMS if not predicate else ()) if text in (each.name, each.short)), None)
    if sided is not None:
        return f"is a class for a part of records: {' or '.join(f'{sided.short}${side}' for side in sided.sides)}"
    if not text:
        return "must not be blank"
    what = "predicate" if predicate else "transform"
    near = near_match(text, known)
    if near:
        return f"unknown class.{near}"
    return (
        f"unknown class: Java code of your own does not run here. Write the {what} in Python and name it as"
        f" module:Class, or have records changed before they reach the topic. Built in:"
        f" {', '.join(sorted({each.of.short for each in known.values()}))}"
    )
