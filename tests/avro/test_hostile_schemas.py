"""Records of a few bytes that stand for very many values take bounded memory in every format."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

# Of four records three have nearly as many values as they may, and one has more.
HOSTILE = """
import json, re, sys
sys.path[:0] = ["jobs", "."]
from kafka_s3.adapters.memory.registry import MemoryRegistry
from kafka_s3.ports import Registries
from kafka_s3.records import Record
from kafka_s3.avro.datum_writer import long_bytes
from tests.write.members import TOLERANT, settings_with, write

AVRO = {"value.converter": "AvroConverter", "value.converter.schema.registry.url": "http://none:1"}

def record(name, type):
    return {"type": "record", "name": name, "fields": [{"name": "f", "type": type}]}

deep = "int"
for level in range(40):
    deep = record(f"D{level}", deep)
items, item, fine, many = {
    "nulls": ("null", b"", 990, 60_000),
    "empty records": (record("R", record("S", "null")), b"", 198, 13_000),
    "deep records": (deep, b"\\x02", 12, 800),
}[sys.argv[1]]
schema = record("Top", {"type": "array", "items": items})
datums = [long_bytes(number) + item * number + b"\\0" for number in (many, fine, fine, fine)]
registry = MemoryRegistry()
registry.register("orders-value", json.dumps(schema))
records = [Record(n, b"\\0\\0\\0\\0\\1" + datums[n % 4], timestamp_ms=n) for n in range(2_000)]
settings = settings_with(AVRO, TOLERANT, {"format.class": sys.argv[2], "flush.size": "100000"})
made = write(settings, records, registries=Registries(registry, registry))
assert all("more values than" in each.reason for each in made.refused.values()), made.refused
print(json.dumps({
    "refused": len(made.refused),
    "written": sum(each.holds.records for each in made.written.objects),
    "rss_mib": int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) // 1024,
}))
"""


@pytest.mark.heavy
@pytest.mark.parametrize("form", ["JsonFormat", "AvroFormat", "ParquetFormat"])
@pytest.mark.parametrize("kind", ["nulls", "empty records", "deep records"])
def test_values_without_bytes_take_bounded_memory(kind: str, form: str) -> None:
    """A batch of records that claim all they can: what is too much is refused, and the process stays below 512 MiB."""
    command = [sys.executable, "-c", HOSTILE, kind, form]
    # The address space of a process that takes what it is asked for ends here, not the machine's memory.
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=120,
        cwd=Path(__file__).parents[2],
        preexec_fn=_limit,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    came = json.loads(done.stdout)
    assert (came["refused"], came["written"]) == (500, 1_500)
    assert came["rss_mib"] < 512


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
