"""Times as the S3 sink's users know them, in Joda-Time's terms: zones, path patterns, buckets, timestamps in text.

Everything is integers: milliseconds since 1970-01-01T00:00Z, before it too, in the proleptic Gregorian calendar.
Joda-Time itself is the oracle (`python -m tools.joda`); where we differ on purpose, the module says so.

- `zones`: time zones, by the names that Joda takes.
- `patterns`: path patterns.
- `names`: names of months, days, eras and zones in a language.
- `days`: the calendar in whole days.
- `buckets`: time buckets, and the path of each.
- `printing`: instants as a pattern prints them, many at once.
- `periods`: the times that a path is for.
- `timestamps`: timestamps in text.
"""

from __future__ import annotations


class JodaError(ValueError):
    """A zone, locale, pattern or timestamp of the user's that says nothing we understand: a sentence for people."""


class LocaleUnknown(JodaError):
    """A pattern has names in it, and CLDR has none for the locale's language."""
