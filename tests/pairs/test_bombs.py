"""A record may be made to take memory or time, and takes neither: no more than its bytes, and a limit, account for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pairs.kinds import ENVELOPE, GLUE_JSON, PLAIN, TYPED

ROOT = Path(__file__).parents[2]
#: Of memory for each of a record's: its bytes as they came, decoded, encoded, compressed, and as a part of an object.
_TIMES_MAX = 9
#: The values that a record may hold, as objects (`converters.json_limits`).
_VALUES_MIB = 1000


@pytest.mark.heavy
@pytest.mark.timeout(300)  # what is tried in vain takes hours
@pytest.mark.parametrize(
    ("kind", "format"),
    [
        (PLAIN, "JsonFormat"),
        (PLAIN, "AvroFormat"),
        (TYPED, "ParquetFormat"),
        (ENVELOPE, "JsonFormat"),
        ("AvroConverter", "AvroFormat"),
        ("AvroConverter", "ParquetFormat"),
        ("JsonSchemaConverter", "ParquetFormat"),
        (GLUE_JSON, "JsonFormat"),
        ("ProtobufConverter", "JsonFormat"),
        ("ProtobufConverter", "ParquetFormat"),
    ],
)
def test_no_record_takes_memory_or_time(kind: str, format: str) -> None:
    """Long texts and numbers, deep nesting, lengths and counts of billions: each record is written, or refused with a
    reason, in bounded memory, in a process of its own."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.pairs.bombs", kind, format],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "jobs"), str(ROOT)])},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    told = [json.loads(line) for line in run.stdout.splitlines()]
    assert len(told) > 10
    for bomb in told:
        assert bomb["records"] + len(bomb["said"]) == 1, bomb
        assert all(bomb["said"]), bomb
        assert bomb["grown"] <= _TIMES_MAX * bomb["mib"] + _VALUES_MIB, bomb
