"""Confluent's transforms, with the options that its documentation states."""

from __future__ import annotations

from typing import Final

from kafka_s3.settings.properties import Kind, Property, choices
from kafka_s3.settings.transforms.classes import TransformClass

TRANSFORMS: Final = (
    TransformClass(
        "io.confluent.connect.transforms.TombstoneHandler",
        (
            Property(
                "behavior",
                Kind.STRING,
                "warn",
                "What becomes of records whose value is null: warn and ignore drop them, fail makes bad records.",
                choices=choices("warn", "ignore", "fail"),
                ignore_case=True,
            ),
        ),
        drops=True,
    ),
)
