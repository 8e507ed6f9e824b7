"""TombstoneHandler: drops records whose value is null, or makes bad ones of them."""

from __future__ import annotations

from collections.abc import Sequence

from kafka_s3.settings.transforms.chain import TransformSettings
from kafka_s3.values.transforms.base import text
from kafka_s3.values.transforms.records import Part, Records


class TombstoneHandler:
    """It looks at no value, so that none is converted for it alone."""

    parts: frozenset[Part] = frozenset()

    def __init__(self, settings: TransformSettings) -> None:
        self._fails = text(settings, "behavior").lower() == "fail"

    def __call__(self, records: Records, chosen: Sequence[int]) -> None:
        known = records.nulls()
        nulls = [index for index in chosen if index in known]
        if self._fails:
            records.fail(nulls, "the value is null")
        else:
            records.drop(nulls)
