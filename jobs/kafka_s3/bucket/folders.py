"""Where a connector's objects lie: under the keys of its configuration now, and of every one that a plan was made
under, as far as today's configuration or a person names what these keys begin with.

A plan comes out of the bucket. What it says of formats and names is read; that it names a prefix, a topic, a file or a
class is no reason to look there, to open or to import it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from kafka_s3.dead_letter import EXTENSION, letters_layout
from kafka_s3.errors import ConfigurationError
from kafka_s3.log.entries import Plan
from kafka_s3.naming import DataName, KeyLayout, LogLayout, parse_data_key
from kafka_s3.settings.loading import settings_from_plan
from kafka_s3.settings.model import Settings
from kafka_s3.values.formats.companions import FormatWithCompanions
from kafka_s3.values.formats.objects import format_for
from kafka_s3.write.object_group import Member


@dataclass(frozen=True, slots=True)
class Place:
    """What the keys of one configuration look like. `owned`: an owner object says whose they are, per topic."""

    layout: KeyLayout
    extensions: frozenset[str]
    owned: bool = True

    def parse(self, topic: str, key: str) -> DataName | None:
        """The name behind a key that this configuration makes for a topic; `None` for every other key."""
        name = parse_data_key(self.layout, topic, key)
        return name if name is not None and name.extension in self.extensions else None


def place_of(settings: Settings) -> Place:
    """Where data objects and their companions lie. `ConfigurationError` if a class of the user's own is not here."""
    form = settings.format
    values = format_for(form.file)
    extensions = {values.extension}
    if isinstance(values, FormatWithCompanions):
        extensions.update(values.companion_extensions.values())
    for member, file in ((Member.KEYS, form.keys), (Member.HEADERS, form.headers)):
        if file is not None:
            extensions.add(f".{member.value}{format_for(file).extension}")
    return Place(settings.layout, frozenset(extensions))


def letters_place(layout: LogLayout) -> Place:
    """Where dead letters lie: in the connector's own folder."""
    return Place(letters_layout(layout.root, layout.connector), frozenset({EXTENSION}), owned=False)


@dataclass(frozen=True, slots=True)
class Named:
    """What a person names beside today's configuration: what keys begin with, and topics."""

    prefixes: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()


NOTHING_NAMED: Final = Named()


@dataclass(frozen=True, slots=True)
class Known:
    """Where to look, and for which topics; a note for every prefix and topic that only the log names."""

    places: frozenset[Place]
    topics: tuple[str, ...]
    notes: tuple[str, ...]


def known(places: Iterable[Place], topics: Iterable[str], settings: Settings, named: Named) -> Known:
    """Of places and topics that the log names, those that today's configuration or a person names too."""
    ours = _home(settings.layout)
    kept, notes, looked_at = set[Place](), set[str](), list[str]()
    for place in places:
        home = _home(place.layout)
        if home == ours or any(home.startswith(prefix) for prefix in named.prefixes):
            kept.add(place)
        else:
            prefix = home.removesuffix("x")
            notes.add(
                f"{prefix} was not looked at: a plan names it, and today's configuration does not; gc --prefix {prefix}"
                " looks there"
            )
    for topic in sorted(topics):
        if settings.exports(topic) or topic in named.topics:
            looked_at.append(topic)
        else:
            notes.add(
                f"topic {topic} was not looked at: today's configuration does not export it; gc --topic {topic} looks"
            )
    return Known(frozenset(kept), tuple(looked_at), tuple(sorted(notes)))


def _home(layout: KeyLayout) -> str:
    """What keys of a topic x begin with, without the delimiter behind it."""
    prefix = layout.topic_prefix("x")
    return prefix.removesuffix(layout.directory_delim) if prefix.endswith(f"x{layout.directory_delim}") else prefix


@dataclass(slots=True)
class Configurations:
    """The configurations that plans were made under, each read once. Memory: one `Settings` for each."""

    now: Settings
    _known: dict[str, Settings | None] = field(default_factory=dict)

    def of(self, plan: Plan) -> Settings | None:
        """The settings that a plan's ranges are written under, or `None` if this engine cannot make them again."""
        sha256 = plan.configuration_sha256
        if sha256 not in self._known:
            self._known[sha256] = self._read(plan)
        return self._known[sha256]

    def places(self) -> set[Place]:
        """Where the objects of all of them lie, those of today's configuration included."""
        known = [self.now, *(each for each in self._known.values() if each is not None)]
        return {place for each in known if (place := _place_or_none(each)) is not None}

    def unknown(self) -> int:
        """Of how many it is not known where their objects lie."""
        places = [None if each is None else _place_or_none(each) for each in self._known.values()]
        return sum(place is None for place in places)

    def _read(self, plan: Plan) -> Settings | None:
        if plan.configuration_sha256 == self.now.configuration_sha256:
            return self.now
        return settings_from_plan(plan.configuration, plan.configuration_sha256, self.now)


def _place_or_none(settings: Settings) -> Place | None:
    try:
        return place_of(settings)
    except ConfigurationError:
        return None


def prefixes(places: Iterable[tuple[Place, str]]) -> list[str]:
    """What every key of these places and topics begins with, none of them within another."""
    found: list[str] = []
    for prefix in sorted({place.layout.listed_prefix(topic) for place, topic in places}):
        if not found or not prefix.startswith(found[-1]):
            found.append(prefix)
    return found
