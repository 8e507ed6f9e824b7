"""What an entry says of the inside of its objects: schemas, and why records were refused. Pure."""

from __future__ import annotations

from collections import Counter
from typing import Final

from kafka_s3.log.entries import Entry

REFUSALS_MAX: Final = 20
SCHEMAS_MAX: Final = 20
SCHEMA_CHARS_MAX: Final = 20_000


def refusals_of(entry: Entry) -> dict[str, object]:
    """The reasons that the log has, the commonest first, and how many records it names no reason for."""
    counted: Counter[tuple[str, str]] = Counter()
    for done in entry.ranges:
        for each in done.refusals:
            counted[each.stage, each.reason] += each.records
    listed = counted.most_common(REFUSALS_MAX)
    named = sum(records for _, records in listed)
    return {
        "reasons": [{"stage": stage, "reason": reason, "records": records} for (stage, reason), records in listed],
        "others": max(0, sum(done.rejected for done in entry.ranges) - named),
    }


def schemas_inferred(entry: Entry) -> list[dict[str, object]]:
    """The schemas that were inferred for the topics of an entry, as text."""
    topics = sorted({done.topic for done in entry.ranges})
    known = [(topic, state.schema_text) for topic in topics if (state := entry.topics.get(topic)) is not None]
    found = [(topic, text) for topic, text in known if text is not None]
    return [{"topic": topic, "schema": text[:SCHEMA_CHARS_MAX]} for topic, text in found[:SCHEMAS_MAX]]
