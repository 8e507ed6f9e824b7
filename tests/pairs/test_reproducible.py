"""A range's objects have the same bytes whoever writes them: that is what makes a retry adopt them."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_s3.settings.formats import FORMATS, AvroCodec, Format, ParquetCodec
from tests.pairs.plans import COUNT, every_hash, plans

ROOT = Path(__file__).parents[2]


def test_every_format_and_codec_has_a_plan() -> None:
    """A format or a codec that is new fails here until its bytes are looked at."""
    given = [plan.properties for plan in plans().values()]
    written = {each["format.class"] for each in given}
    assert {choice.name for choice in FORMATS} | {each.value for each in Format} <= written
    assert {each.get("avro.codec") for each in given} >= {codec.value for codec in AvroCodec}
    assert {each.get("parquet.codec") for each in given} >= {codec.value for codec in ParquetCodec}


@pytest.mark.parametrize("name", plans())
def test_two_runs_write_the_same_bytes(name: str) -> None:
    """However Kafka cuts a range into batches, and whatever the size of parts: the same keys with the same hashes, the
    same records refused for the same reasons."""
    plan = plans()[name]
    examples = 2 if name.startswith("beside") else 3

    @functools.cache
    def in_one_piece(flush_size: int) -> dict[str, str]:
        return plan.hashes((), flush_size)

    @settings(max_examples=examples, deadline=None)
    @given(
        st.lists(st.integers(1, COUNT - 1), max_size=12),
        st.sampled_from([64, 7, COUNT, 10 * COUNT, 1]),
        st.sampled_from([100, 10_000]),
    )
    def same_bytes(cuts: list[int], flush_size: int, part_size: int) -> None:
        once = in_one_piece(flush_size)
        assert once == plan.hashes(cuts, flush_size, part_size)
        assert len(once) >= COUNT // flush_size

    same_bytes()


@pytest.mark.parametrize("name", plans())
def test_reading_carefully_writes_the_same_bytes(name: str) -> None:
    """A range that is read once more for the record that is to blame: what its first try wrote comes again."""
    plan = plans()[name]
    assert plan.hashes(range(0, COUNT, 70), 64) == plan.hashes(range(0, COUNT, 23), 64, careful=True)


def test_two_processes_write_the_same_bytes() -> None:
    """Nothing depends on the order of a set, on an address, or on which schemas a process has met before."""
    path = os.pathsep.join([str(ROOT / "jobs"), str(ROOT)])
    found = [
        subprocess.run(
            [sys.executable, "-m", "tests.pairs.plans", *arguments],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path},
            cwd=ROOT,
            capture_output=True,
            check=True,
            timeout=300,
        ).stdout
        for seed, arguments in (("1", ["300"]), ("2", ["37", "--last-first"]))
    ]
    first, second = map(json.loads, found)
    assert first == second == every_hash(100)
