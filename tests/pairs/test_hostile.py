"""A record can only fail itself: whatever schemas, values and bytes come, no exception leaves a range, the offsets add
up, and no record takes long or much."""

from __future__ import annotations

import os
import sys
import time
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from kafka_s3.settings.formats import Format
from kafka_s3.settings.properties import UserDefined
from tests.pairs.exported import is_allowed, settings_of
from tests.pairs.hostile import OPTIONS, PARTITIONERS, Figures, record_of, tried, values_of
from tests.pairs.kinds import Batch, kinds
from tests.pairs.test_fuzz import damaged
from tests.pairs.test_round_trips import VALUES, properties_of

TRIAL_S = float(os.environ.get("HOSTILE_SECONDS", "600"))


def one(name: str, format: Format | UserDefined, batch: Batch, random: Random, figures: Figures) -> None:
    """One range of a pair, under a partitioner and options that are allowed with it."""
    by, more = _chosen(name, format, batch, random)
    values, schemas = values_of(name, batch, random, damaged)
    records = [record_of(offset, value, random) for offset, value in enumerate(values)]
    figures.combinations.add(f"{name} {format} {by}")
    result = tried(settings_of(more), records, schemas, figures, traced=random.random() < 0.05)
    for text in (*result.refused, result.failure.reason if result.failure else ""):
        if "please report" in text:
            figures.contained[text.partition(" raised ")[2][:80]] = figures.contained.get(text, 0) + 1


def _chosen(name: str, format: Format | UserDefined, batch: Batch, random: Random) -> tuple[str, dict[str, str]]:
    """A partitioner and options that the settings take with this pair."""
    while True:
        by = random.choice(list(PARTITIONERS))
        tolerant = {"errors.tolerance": "all", "errors.log.enable": "true"} if random.random() < 0.8 else {}
        more = {
            **properties_of(kinds()[name], format, "value"),
            **batch.properties,
            **PARTITIONERS[by],
            **random.choice(OPTIONS),
            **tolerant,
            "behavior.on.null.values": "ignore",
            "flush.size": random.choice(["1", "3", "1000"]),
        }
        if is_allowed(more):
            return by, more


def _hunt(name: str, format: Format | UserDefined, examples: int, seed: int, figures: Figures) -> None:
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(kinds()[name].batches(format is Format.PARQUET), st.integers(0, 2**64))
    def hunted(batch: Batch, number: int) -> None:
        one(name, format, batch, Random(f"{number} {seed} {name} {format}"), figures)

    hunted()


@pytest.mark.parametrize(("name", "format"), VALUES, ids=str)
def test_no_record_stops_more_than_itself(name: str, format: Format | UserDefined) -> None:
    """A few ranges of every pair of converter and format, the same each time."""
    figures = Figures()
    _hunt(name, format, 3, 0, figures)
    assert not figures.contained
    assert figures.records


@pytest.mark.trial
@pytest.mark.timeout(int(TRIAL_S) + 600)
def test_hostile_records_for_minutes() -> None:
    """The same for HOSTILE_SECONDS seconds (600), over every converter, format and partitioner."""
    figures, end, seed = Figures(), time.monotonic() + TRIAL_S, 0
    while time.monotonic() < end:
        seed += 1
        for name, format in VALUES:
            _hunt(name, format, 10, seed, figures)
            if time.monotonic() > end:
                break
    sys.stdout.write(f"\nhostile: {figures}; exceptions that left a range: 0\n")
    assert not figures.contained
