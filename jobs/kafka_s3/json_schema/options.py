"""The options of Confluent's JsonSchemaConverter that change what a sink sees."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """Each is called as the converter's own option, with `.` for `_`, and has its default."""

    generalized_sum_type_support: bool = False
    ignore_modern_dialects: bool = False
    json_fail_invalid_schema: bool = False
    use_optional_for_nonrequired: bool = False
