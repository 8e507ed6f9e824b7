"""Every class of transforms and predicates, by each name that a configuration may use."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

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


_SCRIPTS: Final = "runs scripts, which do not run here"
#: Classes that configurations of sinks have, and that cannot be built in.
_NOT_HERE: Final[Mapping[str, str]] = {
    "io.debezium.transforms.Filter": f"{_SCRIPTS}: io.confluent.connect.transforms.Filter$Value takes a JSONPath",
    "io.debezium.transforms.ContentBasedRouter": (
        f"{_SCRIPTS}: io.confluent.connect.transforms.ExtractTopic$Value takes the topic from a field"
    ),
    "io.debezium.transforms.outbox.EventRouter": (
        "is for source connectors: where one has applied it already, leave it out"
    ),
}
_PACKAGES: Final = {each.name.rpartition(".")[0] for each in TRANSFORMS + PREDICATES}

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
    way_out = (
        f"Write the {what} in Python and name it as module:Class, or have records changed before they reach the topic."
        " docs/transforms.md lists the classes built in"
    )
    if text in _NOT_HERE:
        return f"{_NOT_HERE[text]}. {way_out}"
    near = _near(text, known)
    if near:
        return f"unknown class. Did you mean {near}?"
    if text.rpartition(".")[0] in _PACKAGES:
        return f"this class is not built in. {way_out}"
    return f"unknown class: Java code of your own does not run here. {way_out}"


def _near(text: str, known: Mapping[str, Found]) -> str:
    """The class whose last part is the most like a text's: packages are long, and make unlike classes alike."""
    package, _, last = text.rpartition(".")
    shorts = {name.rpartition(".")[2] for name in known}
    found = difflib.get_close_matches(last, sorted(shorts), n=1, cutoff=0.8)
    if not found:
        return ""
    own = f"{package}.{found[0]}" if package else found[0]
    return own if own in known else known[found[0]].name
