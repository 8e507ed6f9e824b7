"""Under which schemas the values of a commit were written, as its entry says. Pure."""

from __future__ import annotations

from typing import Final

from kafka_s3.log.entries import Entry

NAMED_MAX: Final = 20  # topics, and schemas of each


def schemas_of(entry: Entry) -> dict[str, str]:
    """What values were written under, by topic: ids of a registry, or the fingerprint of what was inferred."""
    found: dict[str, str] = {}
    for topic in sorted({done.topic for done in entry.ranges if done.records})[:NAMED_MAX]:
        made = {made.schema_id for done in entry.ranges if done.topic == topic for made in done.objects}
        ids = sorted(each for each in made if each is not None)
        state = entry.topics.get(topic)
        if ids:
            found[topic] = f"id {', '.join(map(str, ids[:NAMED_MAX]))}{' …' if len(ids) > NAMED_MAX else ''}"
        elif state is not None and state.value_schema is not None:
            found[topic] = f"inferred {state.value_schema.sha256[:12]}"
    return found
