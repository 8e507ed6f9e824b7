"""Where a connector's objects lie: under the keys of its configuration now, and of every one that a plan was made
under."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from kafka_s3.commit_log import Plan
from kafka_s3.errors import ConfigurationError
from kafka_s3.families import Member
from kafka_s3.formats.objects import format_for
from kafka_s3.letters import EXTENSION, letters_layout
from kafka_s3.naming import DataName, KeyLayout, LogLayout, parse_data_key
from kafka_s3.settings import from_mapping
from kafka_s3.settings.model import Settings


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
    extensions = {values.extension, *getattr(values, "companion_extensions", {}).values()}
    for member, file in ((Member.KEYS, form.keys), (Member.HEADERS, form.headers)):
        if file is not None:
            extensions.add(f".{member.value}{format_for(file).extension}")
    return Place(settings.layout, frozenset(extensions))


def letters_place(layout: LogLayout) -> Place:
    """Where dead letters lie: in the connector's own folder."""
    return Place(letters_layout(layout.root, layout.connector), frozenset({EXTENSION}), owned=False)


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
        try:
            then = from_mapping(plan.configuration, offline=True).settings
        except ConfigurationError:
            return None
        if then.configuration_sha256 != plan.configuration_sha256:
            return None
        return replace(then, kafka=self.now.kafka, s3=self.now.s3)


def _place_or_none(settings: Settings) -> Place | None:
    try:
        return place_of(settings)
    except ConfigurationError:
        return None


def prefixes(places: Iterable[tuple[Place, str]]) -> list[str]:
    """What every key of these places and topics begins with, none of them within another."""
    found: list[str] = []
    for prefix in sorted({place.layout.topic_prefix(topic) for place, topic in places}):
        if not found or not prefix.startswith(found[-1]):
            found.append(prefix)
    return found
