"""The options of Confluent's ProtobufConverter that change what a sink sees."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """Each is called as the converter's own option, with `.` for `_`, and has its default."""

    enhanced_protobuf_schema_support: bool = False
    generalized_sum_type_support: bool = False
    flatten_unions: bool = False
    generate_index_for_unions: bool = True
    generate_struct_for_nulls: bool = False
    int_for_enums: bool = False
    optional_for_nullables: bool = False
    optional_for_proto2: bool = True
    wrapper_for_nullables: bool = False
    wrapper_for_raw_primitives: bool = True
