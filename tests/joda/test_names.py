"""Names in other languages: CLDR's, checked against the JDK's own edition of it, as Joda-Time prints it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kafka_s3.joda import LocaleUnknown
from kafka_s3.joda.names import names_of, zone_name
from kafka_s3.joda.patterns import compile_pattern
from kafka_s3.joda.zones import zone
from tests.joda.tables import rows

LOCALES = ["en", "en-GB", "de", "fr", "fr-FR", "ja", "ar", "pt-BR", "es", "zh-CN"]
# What CLDR 39 (the JDK's) said otherwise: JDK -> ours.
NEWER = {
    "heure d’été de l’Est": "heure d’été de l’Est nord-américain",
    "Temps universel coordonné": "temps universel coordonné",
}


def plain(text: str) -> str:
    """Editions differ in which space they put into `a. m.`"""
    return text.replace("\u00a0", " ").replace("\u202f", " ")


@pytest.mark.parametrize("locale", LOCALES)
def test_names_are_those_of_the_jdk(locale: str) -> None:
    """Months and days, short and long, half days, eras, and long names of zones in summer and winter."""
    compared = 0
    for pattern, id, language, at, answer in rows("names"):
        if language == locale and pattern != "z":
            ours = compile_pattern(pattern, zone(id), locale)(int(at))
            assert plain(ours) == plain(NEWER.get(answer, answer)), (pattern, id, at)
            compared += 1
    assert compared == 33


def test_a_tag_is_a_tag() -> None:
    """Java's underscore, an unknown region, extensions and capitals lead to the language; fr-FR is French."""
    for tag in ("fr", "fr-FR", "fr_FR", "FR", "fr-XX", "fr-FR-u-ca-buddhist"):
        assert names_of(tag).months_long[7] == "août"
    assert names_of("pt-BR").days_short[6] == "dom."
    assert names_of("iw") == names_of("he")


def test_digits_stay_ascii() -> None:
    """In Arabic and Japanese too: paths are read by programs."""
    assert compile_pattern("yyyy/MM/dd", zone("UTC"), "ar")(0) == "1970/01/01"
    assert compile_pattern("yyyy/MMM/dd", zone("UTC"), "ja")(0) == "1970/1月/01"


@pytest.mark.parametrize("tag", ["xx", "", "english", "-", "de/../..", "german", "e", "\0"])
def test_an_unknown_language_is_an_error_for_people(tag: str) -> None:
    """It names the tag and what is allowed."""
    with pytest.raises(LocaleUnknown) as refused:
        names_of(tag)
    assert str(refused.value) == (
        f"The locale {tag!r} is not known. Allowed are language tags such as en, de, fr-FR or pt-BR."
    )


def test_a_zone_without_a_name() -> None:
    """CLDR has no name for it: said so, not made up."""
    assert zone_name("en", "Africa/Casablanca", "long", False) is None
    assert compile_pattern("zzzz", zone("Africa/Casablanca"), "en")(1_720_000_000_000) == "+01:00"


def test_names_cost_nothing_where_none_are_printed() -> None:
    """A pattern of numbers loads no language, so its locale may be any: babel takes longer than a small task."""
    code = (
        "import sys; sys.path.insert(0, 'jobs')\n"
        "from kafka_s3.joda.buckets import Bucketer\n"
        "from kafka_s3.joda.zones import zone\n"
        "print(Bucketer(3600000, 'YYYY-MM-dd', zone('UTC'), 'no such').path(0), 'babel' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "1970-01-01 False\n"
