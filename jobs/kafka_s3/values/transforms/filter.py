"""Filter: drops every record that its predicate lets through."""

from __future__ import annotations

from collections.abc import Sequence

from kafka_s3.settings.transforms.chain import TransformSettings
from kafka_s3.values.transforms.records import Part, Records


class Filter:
    parts: frozenset[Part] = frozenset()

    def __init__(self, settings: TransformSettings) -> None:
        pass

    def __call__(self, records: Records, chosen: Sequence[int]) -> None:
        records.drop(chosen)
