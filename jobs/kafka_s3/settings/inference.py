"""Schemas that are inferred: `export.value.schema=infer`."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

from kafka_s3.settings.formats import AVRO, PARQUET
from kafka_s3.settings.properties import AppliesWhen, Choice, Kind, Property
from kafka_s3.settings.validation import ParsedConfig

SCHEMA: Final = "export.value.schema"
#: Of SCHEMA: there is none, and one is inferred.
INFER: Final = "infer"
INFERRED: Final = AppliesWhen(SCHEMA, (INFER,))


class Misfit(enum.Enum):
    """`export.value.schema.infer.misfit`: what becomes of what an inferred schema has no place for."""

    REST = "rest"
    REJECT = "reject"


@dataclass(frozen=True, slots=True)
class InferenceSettings:
    """How the schema of values is inferred; `records_max` and `bytes_max`: of a topic's sample before each plan."""

    misfit: Misfit = Misfit.REST
    records_max: int = 1000
    bytes_max: int = 16_777_216


PROPERTIES: Final[tuple[Property, ...]] = (
    Property(
        "export.value.schema.infer.misfit",
        Kind.STRING,
        "rest",
        "What to do with what an inferred schema has no place for: rest writes it as JSON text into the column _rest,"
        " reject makes the record a bad one.",
        choices=(Choice("rest"), Choice("reject")),
        shapes=True,
        applies_when=INFERRED,
    ),
    Property(
        "export.value.schema.infer.records",
        Kind.INT,
        1000,
        "Maximum number of records per topic that are sampled before a plan.",
        minimum=1,
        maximum=100_000,
        applies_when=INFERRED,
    ),
    Property(
        "export.value.schema.infer.bytes",
        Kind.LONG,
        16_777_216,
        "Maximum number of bytes of values per topic that are sampled before a plan.",
        minimum=1,
        maximum=1_073_741_824,
        applies_when=INFERRED,
    ),
)


def infers(config: ParsedConfig) -> bool:
    """Whether the schema of values is inferred."""
    return config.optional(SCHEMA) == INFER and config.reads(SCHEMA)


def build_inference(config: ParsedConfig) -> InferenceSettings | None:
    if not infers(config):
        return None
    return InferenceSettings(
        Misfit(config.text("export.value.schema.infer.misfit")),
        config.number("export.value.schema.infer.records"),
        config.number("export.value.schema.infer.bytes"),
    )


def apply_inference_rules(config: ParsedConfig) -> None:
    written = config.text("format.class") if config.sure("format.class") else None
    if config.sure(SCHEMA) and infers(config) and written not in (None, AVRO, PARQUET):
        config.add_problem(
            SCHEMA, f"infer is for AvroFormat and ParquetFormat: {written.rpartition('.')[2]} needs no schema"
        )
