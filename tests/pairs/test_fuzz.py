"""Whatever bytes arrive: each record is written, left out for a reason, or a tombstone; its neighbours are written."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_s3.ports import Registries
from kafka_s3.records import Record
from kafka_s3.settings.formats import Format
from kafka_s3.settings.properties import UserDefined
from kafka_s3.values.rows import Stage
from kafka_s3.write.object_group import Member
from tests.pairs.exported import export, registries_of, settings_of
from tests.pairs.kinds import Batch, kinds
from tests.pairs.readers import avro_values, json_of, parquet_rows
from tests.pairs.test_round_trips import PAIRS, properties_of

_BITS = [b"\0", b"\xff", b"\x80" * 9, b"\xff" * 10, b"null", b"{", b"[", b'"', b"}", b"\xed\xa0\x80", b"\n", b"1e999"]
_BITS += [
    b'\\"',
    b"NaN",
    b"9" * 40,
    b"\0\0\0\0\1",
    b"\0\0\0\0\2",
    b'"schema"',
    b'{"schema":null,"payload":',
    b"\xef\xbb\xbf",
]


def damaged(raw: bytes, random: Random) -> bytes:
    """Bytes changed, left out, doubled or put in, once or a few times."""
    for _ in range(random.choice([1, 1, 2, 5])):
        at = random.randint(0, len(raw))
        cut = raw[at : at + random.choice([0, 1, 1, 4, 30])]
        new = random.choice([b"", cut * 2, random.choice(_BITS), random.randbytes(random.randint(1, 3))])
        raw = raw[:at] + new + raw[at + len(cut) :]
    return raw


def _batch(batch: Batch, foreign: list[bytes | None], random: Random) -> list[tuple[bytes | None, bool]]:
    """Values, and whether each is as it was produced."""
    good: list[tuple[bytes | None, bool]] = [(case.raw, True) for case in batch.cases] * random.choice([1, 4])
    bad: list[tuple[bytes | None, bool]] = [(damaged(case.raw, random), False) for case in batch.cases]
    mixed = [*good, *bad, *((value, False) for value in foreign)]
    random.shuffle(mixed)
    return mixed


@pytest.mark.parametrize(("side", "name", "format"), PAIRS, ids=str)
def test_no_bytes_are_too_odd(side: str, name: str, format: Format | UserDefined) -> None:
    """Random bytes, and values that were damaged, among good ones: nothing is raised, every refusal says why, the good
    ones are written, and readers take the objects."""
    kind = kinds()[name]

    @settings(max_examples=8 if side == "value" else 3, deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        kind.batches(format is Format.PARQUET),
        st.lists(st.none() | st.binary(max_size=40) | st.sampled_from(_BITS), max_size=4),
        st.integers(0, 2**64),
        st.sampled_from([1, 3, 1000]),
    )
    def survives(batch: Batch, foreign: list[bytes | None], seed: int, cut: int) -> None:
        mixed = _batch(batch, foreign, Random(seed))
        more = {"errors.tolerance": "all", "behavior.on.null.values": "ignore", "report.null.values.to.dlq": "false"}
        found_settings = settings_of({**properties_of(kind, format, side), **batch.properties, **more})
        records = [
            Record(offset, value) if side == "value" else Record(offset, b"{}", value)
            for offset, (value, _) in enumerate(mixed)
        ]
        registries = registries_of(batch.registered) if batch.registered else Registries()
        found = export(found_settings, records, registries=registries, cuts=range(0, len(records), cut))
        written = found.written
        assert written.records + written.rejected + written.tombstones == len(records)
        assert len(found.refused) == written.rejected
        for offset, why in found.refused.items():
            assert not mixed[offset][1], why
            assert why.reason
            assert isinstance(why.stage, Stage)
        member = Member.VALUES if side == "value" else Member.KEYS
        assert _count(found.bodies(member), format) in (written.records, None)

    survives()


def _count(bodies: list[bytes], format: Format | UserDefined) -> int | None:
    """How many records readers find; `None` where lines are what the producer made of them."""
    match format:
        case Format.JSON:
            return sum(len([json_of(line) for line in body.split(b"\n")[:-1]]) for body in bodies)
        case Format.AVRO:
            return sum(len(avro_values(body)) for body in bodies)
        case Format.PARQUET:
            return sum(len(parquet_rows(body)) for body in bodies)
    return None


@pytest.mark.parametrize(
    "partitioner",
    [
        {"partitioner.class": "FieldPartitioner", "partition.field.name": "f,a.b"},
        {
            "partitioner.class": "HourlyPartitioner",
            "timestamp.extractor": "RecordField",
            "timestamp.field": "f",
            "locale": "en",
            "timezone": "UTC",
        },
    ],
    ids=["fields", "time"],
)
@given(st.integers(0, 2**64), st.lists(st.binary(max_size=20), max_size=3))
def test_no_bytes_are_too_odd_for_a_path(partitioner: dict[str, str], seed: int, foreign: list[bytes]) -> None:
    """Fields are looked for in values that may be no JSON at all: those are left out, the others get their paths."""
    random = Random(seed)
    good = b'{"f": "2026-01-01T00:00:00Z", "a": {"b": "\xc3\xbc"}}'
    values = [good, *(damaged(good, random) for _ in range(4)), *foreign]
    plain = {"value.converter": "JsonConverter", "value.converter.schemas.enable": "false"}
    tolerant = {"errors.tolerance": "all", "behavior.on.null.values": "ignore", "report.null.values.to.dlq": "false"}
    records = [Record(offset, value) for offset, value in enumerate(values)]
    found = export(settings_of({**plain, **tolerant, **partitioner}), records)
    assert found.written.records + found.written.rejected + found.written.tombstones == len(values)
    assert 0 not in found.refused
