"""What records hold is in no reason, log line, log entry or header of a dead letter, unless the user asks for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

import pytest

from kafka_s3.records import RecordBatch
from kafka_s3.settings.formats import Format
from kafka_s3.settings.properties import UserDefined
from tests.pairs.cards import CARD, exported, own_properties, records_of, refused, registries_of, told
from tests.pairs.exported import is_allowed, settings_of
from tests.pairs.hostile import OPTIONS, PARTITIONERS
from tests.pairs.kinds import ENVELOPE, kinds
from tests.pairs.test_round_trips import PAIRS, properties_of

_TOLERANT = {"errors.tolerance": "all", "errors.log.enable": "true", "behavior.on.null.values": "ignore"}


class Careless:
    """A partitioner of a user's that says in its exceptions what it was given."""

    def __init__(self, properties: Mapping[str, str]) -> None: ...

    def encode(self, batch: RecordBatch) -> Sequence[str | None]:
        for value in batch.values():
            if value is not None and CARD.encode() in value:
                raise KeyError(value, CARD)
        return ["p"] * len(batch)


BY = {**PARTITIONERS, "a class of one's own": {"partitioner.class": f"{__name__}:Careless"}}


def _range(kind: str, side: str, format: Format | UserDefined, number: int, more: Mapping[str, str]) -> tuple[str, int]:
    """All that is said of a range, and how many records were refused."""
    random = Random(f"{kind} {side} {format} {number}")
    while True:
        properties = {
            **properties_of(kinds()[kind], format, side),
            **own_properties(kind, number),
            **random.choice(list(BY.values())),
            **random.choice(OPTIONS),
            **random.choice([{}, {"store.kafka.headers": "true"}]),
            **more,
        }
        if is_allowed(properties):
            break
    said, result = exported(settings_of(properties), records_of(kind, side, number), registries_of(kind, number))
    return said, refused(result)


@pytest.mark.parametrize(("side", "kind", "format"), PAIRS, ids=str)
def test_no_reason_says_what_a_record_holds(side: str, kind: str, format: Format | UserDefined) -> None:
    """A card's number as values, keys, headers, names of fields, numbers and lengths, under every pair: each record is
    written or refused, and what is said of it does not hold six digits of the number."""
    count = 0
    for number in range(8):
        tolerant = _TOLERANT if number % 4 else {"behavior.on.null.values": "ignore"}
        said, some = _range(kind, side, format, number, tolerant)
        count += some
        assert not told(said), told(said)[0]
        assert said.isprintable() or all(map(str.isprintable, said.splitlines()))
    assert count


def test_what_is_quoted_is_asked_for() -> None:
    """errors.log.include.messages=true: the same reasons quote what is wrong."""
    quoting = {**_TOLERANT, "errors.log.include.messages": "true"}
    said = [_range(ENVELOPE, "value", Format.JSON, number, quoting)[0] for number in range(6)]
    assert any(f'"{CARD}" is no' in each for each in said)
