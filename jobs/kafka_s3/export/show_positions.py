"""Positions for others, after a commit (`export.consumer.group.commit`)."""

from __future__ import annotations

from kafka_s3.events import GroupNotSet, Tell
from kafka_s3.export.exporter import Exporter
from kafka_s3.log.entries import Entry
from kafka_s3.ranges import TopicPartition


def show_positions(exporter: Exporter, entry: Entry, tell: Tell) -> None:
    """Show others what is exported. A commit is one without it, and nothing reads it again."""
    if exporter.show is None:
        return
    asked = {topic: state for topic, state in entry.topics.items() if exporter.settings.exports(topic)}
    positions = {TopicPartition(topic, p): at for topic, state in asked.items() for p, at in state.positions.items()}
    if positions and (why := exporter.show(positions)):
        tell(GroupNotSet(seq=entry.seq, reason=why))
