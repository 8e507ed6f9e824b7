"""Patterns print what Joda-Time prints, letter by letter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_s3.joda import JodaError
from kafka_s3.joda.patterns import compile_pattern
from kafka_s3.joda.zones import zone
from tests.joda.tables import REFUSED, rows, same_rules
from tools.joda.cases import LETTERS


def test_every_letter_in_every_zone() -> None:
    """Each letter in each width, at changes of the clocks, around new year, before 1970, below year 1, beyond 9999."""
    table = rows("prints")
    skipped = 0
    for id, at, answer in table:
        if not same_rules(id, int(at)):
            skipped += 1
            continue
        ours = compile_pattern(LETTERS, zone(id), "en")(int(at)).split("|")
        theirs = answer.split("|")
        wrong = [
            (letters, mine, joda)
            for letters, mine, joda in zip(LETTERS.split("|"), ours, theirs, strict=True)
            if mine != joda
        ]
        assert wrong == [], (id, at)
    assert len(table) > 700
    assert skipped < 10


def test_odd_patterns() -> None:
    """Widths up to 19, quotes of all kinds, text that is not ASCII, and letters that mean nothing."""
    table = rows("patterns")
    refused = 0
    for pattern, at, answer in table:
        if answer.startswith(REFUSED):
            refused += 1
            with pytest.raises(JodaError) as error:
                compile_pattern(pattern, zone("America/St_Johns"), "en")
            if answer.startswith("!Illegal pattern component"):
                assert str(error.value).startswith(answer[1:] + ". ")
        else:
            assert compile_pattern(pattern, zone("America/St_Johns"), "en")(int(at)) == answer, (pattern, at)
    assert refused > 600
    assert len(table) - refused > 600


def test_short_names_of_zones() -> None:
    """CLDR's, else the database's abbreviation where it is one, else the offset."""

    def names(id: str) -> list[str]:
        printed = compile_pattern("z", zone(id), "en")
        return [printed(1_704_067_200_000), printed(1_720_000_000_000)]

    assert names("America/New_York") == ["EST", "EDT"]
    assert names("Europe/Berlin") == ["CET", "CEST"]
    assert names("Asia/Kolkata") == ["IST", "IST"]
    assert names("Europe/Dublin") == ["GMT", "IST"]
    assert names("America/Sao_Paulo") == ["-03:00", "-03:00"]
    assert names("UTC") == ["UTC", "UTC"]
    assert names("-03:30") == ["-03:30", "-03:30"]
    assert compile_pattern("z", zone("Europe/Berlin"), "de")(0) == "MEZ"


def test_patterns_that_say_nothing() -> None:
    """The reason names the letters, or that there are none."""
    with pytest.raises(JodaError, match=r"^Illegal pattern component: rr\. Letters that are meant as text stand in"):
        compile_pattern("yyyy/rr", zone("UTC"), "en")
    with pytest.raises(JodaError, match=r"^The pattern is empty: it has to name a field"):
        compile_pattern("", zone("UTC"), "en")
    with pytest.raises(JodaError, match=r"^The pattern has 1001 characters, allowed are 1000\."):
        compile_pattern("y" * 1001, zone("UTC"), "en")


@given(st.text("'yMdT/ é", min_size=1, max_size=12))
def test_any_pattern_is_read_or_refused(pattern: str) -> None:
    """Never a crash; and what is between quotes is printed as it stands."""
    refused = None
    try:
        compile_pattern(pattern, zone("UTC"), "en")(0)
    except JodaError as error:
        refused = str(error)
    assert refused is None or refused.startswith("Illegal pattern component: T") or pattern == "'"
    quoted = pattern.replace("'", "''")
    assert compile_pattern(f"'x{quoted}'yyyy", zone("UTC"), "en")(0) == f"x{pattern}1970"
