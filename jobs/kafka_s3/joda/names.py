"""Names of months, days, half days, eras and zones in a language: the Unicode CLDR's, through babel.

Beside the sink, which makes `new Locale("fr-FR")` of the whole tag and then prints root names, a tag is read as such:
`fr-FR`, Java's `fr_FR`, `pt-BR`. Subtags that CLDR has no names for are dropped, as Java does it; an unknown language
is refused. CLDR changes names now and then, and each JVM and each babel carries its own edition: a language's names
may differ in a dot or a space.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from kafka_s3.joda import LocaleUnknown

if TYPE_CHECKING:
    from babel import Locale

Width: TypeAlias = Literal["short", "long"]


@dataclass(frozen=True, slots=True)
class Names:
    """A language's words, in the forms used within a date."""

    months_short: tuple[str, ...]  # January first
    months_long: tuple[str, ...]
    days_short: tuple[str, ...]  # Monday first
    days_long: tuple[str, ...]
    half_days: tuple[str, str]
    eras: tuple[str, str]  # before Christ first


@functools.cache
def names_of(locale: str) -> Names:
    """The words of a language tag; LocaleUnknown for one that CLDR does not know."""
    found = _locale(locale)
    months, days = found.months["format"], found.days["format"]
    half_days = found.day_periods["format"]["abbreviated"]
    return Names(
        months_short=tuple(months["abbreviated"][month] for month in range(1, 13)),
        months_long=tuple(months["wide"][month] for month in range(1, 13)),
        days_short=tuple(days["abbreviated"][day] for day in range(7)),
        days_long=tuple(days["wide"][day] for day in range(7)),
        half_days=(half_days["am"], half_days["pm"]),
        eras=(found.eras["abbreviated"][0], found.eras["abbreviated"][1]),
    )


@functools.cache
def zone_name(locale: str, zone: str, width: Width, daylight: bool) -> str | None:
    """What people who speak a language call a zone of the time-zone database, None where CLDR has no such name."""
    found = _locale(locale)
    zones, meta_zone = _cldr_zones(zone)
    kind = "daylight" if daylight else "standard"
    tables = [found.time_zones.get(each) for each in zones]
    if meta_zone:
        tables.append(found.meta_zones.get(meta_zone))
    for table in tables:
        name = _words(_words(table).get(width)).get(kind)
        if name:
            return str(name)
    return None


def _words(table: Any) -> Mapping[str, Any]:
    return table or {}


@functools.cache
def _cldr_zones(zone: str) -> tuple[tuple[str, ...], str | None]:
    """A zone's ids, CLDR's among them (often an older one), and the group of zones that it shares names with."""
    from babel.core import get_global

    aliases, meta_zones = get_global("zone_aliases"), get_global("meta_zones")
    newest = aliases.get(zone, zone)
    zones = (zone, newest, *(old for old, new in aliases.items() if new == newest))
    return zones, next((meta_zones[each] for each in zones if each in meta_zones), None)


@functools.cache
def _locale(tag: str) -> Locale:
    from babel import Locale, UnknownLocaleError

    subtags = tag.replace("_", "-").split("-")
    extensions = next((index for index, subtag in enumerate(subtags) if index and len(subtag) == 1), len(subtags))
    for length in range(extensions, 0, -1):
        try:
            return Locale.parse("-".join(subtags[:length]), sep="-")
        except (UnknownLocaleError, ValueError):
            continue
    raise LocaleUnknown(f"The locale {tag!r} is not known. Allowed are language tags such as en, de, fr-FR or pt-BR.")
