"""Kafka's own transforms and predicates, with the options of its release 4.1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kafka_s3.settings.properties import REQUIRED, Kind, Property, choices
from kafka_s3.settings.transforms import dates, field_paths, regex
from kafka_s3.settings.transforms.classes import KEY_OR_VALUE, Fault, Options, TransformClass

_PACKAGE: Final = "org.apache.kafka.connect.transforms"
CAST_TYPES: Final = ("int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string")
TIMESTAMP_TYPES: Final = ("string", "unix", "Date", "Time", "Timestamp")
PRECISIONS: Final = ("nanoseconds", "microseconds", "milliseconds", "seconds")
_DEFAULTS: Final = Property(
    "replace.null.with.default", Kind.BOOLEAN, True, "Read a null as the default of its field, where it has one."
)
_NON_EMPTY: Final = "Empty list"


def _text(name: str, doc: str, default: str | None = None) -> Property:
    return Property(name, Kind.STRING, default, doc)


def _required(name: str, doc: str, kind: Kind = Kind.STRING) -> Property:
    return Property(name, kind, REQUIRED, doc)


def _filled(*names: str) -> Callable[[Options], list[Fault]]:
    """A check that lists have an element."""

    def check(options: Options) -> list[Fault]:
        return [(name, _NON_EMPTY) for name in names if not options[name]]

    return check


def casts(spec: tuple[str, ...]) -> dict[str | None, str]:
    """The type of each field, `None` for the value as a whole. `ValueError` with Connect's reason."""
    found: dict[str | None, str] = {}
    for each in spec:
        parts = each.split(":")
        if len(parts) > 2:
            raise ValueError(f"Invalid cast mapping: {each}")
        type = parts[-1].strip().lower()
        if type not in CAST_TYPES:
            raise ValueError(f"Cast to {type!r} is not one of {', '.join(CAST_TYPES)}")
        found[parts[0].strip() if len(parts) == 2 else None] = type
    if None in found and len(found) > 1:
        raise ValueError("Cast transformations that specify a type to cast the entire value to may only specify one")
    return found


def renames(pairs: tuple[str, ...]) -> dict[str, str]:
    """Old names and new ones. `ValueError` with Connect's reason."""
    found = {}
    for each in pairs:
        parts = each.split(":")
        while len(parts) > 1 and not parts[-1]:  # as Java splits
            parts.pop()
        if len(parts) != 2:
            raise ValueError(f"Invalid rename mapping: {each}")
        found[parts[0]] = parts[1]
    return found


def _cast(options: Options) -> list[Fault]:
    spec = options["spec"]
    assert isinstance(spec, tuple)
    if not spec:
        return [("spec", "Must specify at least one field to cast")]
    try:
        casts(spec)
    except ValueError as error:
        return [("spec", str(error))]
    return []


def _replace_field(options: Options) -> list[Fault]:
    pairs = options["renames"]
    assert isinstance(pairs, tuple)
    try:
        renames(pairs)
    except ValueError as error:
        return [("renames", str(error))]
    return []


def _header_from(options: Options) -> list[Fault]:
    fields, headers = options["fields"], options["headers"]
    assert isinstance(fields, tuple)
    assert isinstance(headers, tuple)
    empty = [(name, _NON_EMPTY) for name in ("fields", "headers") if not options[name]]
    if empty or len(fields) == len(headers):
        return empty
    return [("headers", "must have the same number of elements as fields")]


def _set_schema(options: Options) -> list[Fault]:
    if options["schema.name"] is None and options["schema.version"] is None:
        return [("schema.name", "neither schema.name nor schema.version is set")]
    return []


def _timestamp_converter(options: Options) -> list[Fault]:
    pattern = str(options["format"] or "").strip()
    if not pattern:
        if options["target.type"] == "string":
            return [("format", "is required where target.type is string")]
        return []
    found = dates.problem(str(options["format"]))
    return [] if found is None else [("format", found)]


def _timestamp_router(options: Options) -> list[Fault]:
    found = dates.problem(str(options["timestamp.format"]))
    return [] if found is None else [("timestamp.format", found)]


def _regex_router(options: Options) -> list[Fault]:
    try:
        regex.replacement(str(options["replacement"]), regex.pattern(str(options["regex"])))
    except regex.NoPattern as error:
        return [("regex" if regex.problem(str(options["regex"])) else "replacement", str(error))]
    return []


def _extract_field(options: Options) -> list[Fault]:
    try:
        field_paths.steps(str(options["field"]), str(options["field.syntax.version"]))
    except ValueError as error:
        return [("field", str(error))]
    return []


def _pattern(options: Options) -> list[Fault]:
    if not options["pattern"]:
        return [("pattern", "String must be non-empty")]
    found = regex.problem(str(options["pattern"]))
    return [] if found is None else [("pattern", found)]


def _mask(options: Options) -> list[Fault]:
    faults = [("fields", _NON_EMPTY)] if not options["fields"] else []
    return faults + ([("replacement", "String must be non-empty")] if options["replacement"] == "" else [])


def _name_filled(options: Options) -> list[Fault]:
    return [] if options["name"] else [("name", "String must be non-empty")]


def _of(name: str, *options: Property, **more: Any) -> TransformClass:
    return TransformClass(f"{_PACKAGE}.{name}", options, **more)


TRANSFORMS: Final = (
    _of("Cast", _required("spec", "Fields and their types, or a type for the value.", Kind.LIST), _DEFAULTS,
        sides=KEY_OR_VALUE, check=_cast),
    _of("DropHeaders", _required("headers", "Names of headers to drop.", Kind.LIST), check=_filled("headers")),
    _of(
        "ExtractField",
        _required("field", "Field to extract."),
        _DEFAULTS,
        Property("field.syntax.version", Kind.STRING, "V1", "How the field's name is read: V2 has paths with dots.",
                 choices=choices("V1", "V2"), ignore_case=True),
        sides=KEY_OR_VALUE,
        check=_extract_field,
    ),
    _of("Filter", drops=True),
    _of("Flatten", _text("delimiter", "What stands between names.", "."), sides=KEY_OR_VALUE),
    _of(
        "HeaderFrom",
        _required("fields", "Fields that become headers.", Kind.LIST),
        _required("headers", "What these are called as headers.", Kind.LIST),
        Property("operation", Kind.STRING, REQUIRED, "Whether the fields stay.", choices=choices("move", "copy")),
        _DEFAULTS,
        sides=KEY_OR_VALUE,
        check=_header_from,
    ),
    _of("HoistField", _required("field", "Name of the only field."), sides=KEY_OR_VALUE),
    _of(
        "InsertField",
        _text("topic.field", "Field for the topic."),
        _text("partition.field", "Field for Kafka's partition."),
        _text("offset.field", "Field for the offset."),
        _text("timestamp.field", "Field for the record's timestamp."),
        _text("static.field", "Field for static.value."),
        _text("static.value", "What is in static.field."),
        _DEFAULTS,
        sides=KEY_OR_VALUE,
    ),
    _of("InsertHeader", _required("header", "Name of the header."), _required("value.literal", "Its value.")),
    _of(
        "MaskField",
        _required("fields", "Fields to mask.", Kind.LIST),
        _text("replacement", "What stands in their place."),
        _DEFAULTS,
        sides=KEY_OR_VALUE,
        check=_mask,
    ),
    _of("RegexRouter", _required("regex", "Pattern of whole topic names."),
        _required("replacement", "The topic's new name."), routes=True, check=_regex_router),
    _of(
        "ReplaceField",
        Property("exclude", Kind.LIST, (), "Fields to drop."),
        Property("include", Kind.LIST, (), "Fields to keep; unless set, all."),
        Property("renames", Kind.LIST, (), "Old and new names, as old:new."),
        _DEFAULTS,
        sides=KEY_OR_VALUE,
        older={"blacklist": "exclude", "whitelist": "include"},
        check=_replace_field,
    ),
    _of(
        "SetSchemaMetadata",
        _text("schema.name", "Name of the schema."),
        Property("schema.version", Kind.INT, None, "Version of the schema."),
        _DEFAULTS,
        sides=KEY_OR_VALUE,
        check=_set_schema,
    ),
    _of(
        "TimestampConverter",
        _text("field", "Field with the timestamp; unless set, the value is one.", ""),
        Property("target.type", Kind.STRING, REQUIRED, "What it becomes.", choices=choices(*TIMESTAMP_TYPES)),
        Property("format", Kind.STRING, "", "Pattern of text, as SimpleDateFormat has it."),
        Property("unix.precision", Kind.STRING, "milliseconds", "Unit of numbers.", choices=choices(*PRECISIONS)),
        _DEFAULTS,
        sides=KEY_OR_VALUE,
        check=_timestamp_converter,
    ),
    _of(
        "TimestampRouter",
        _text("topic.format", "The topic's new name, of ${topic} and ${timestamp}.", "${topic}-${timestamp}"),
        _text("timestamp.format", "Pattern of the timestamp, as SimpleDateFormat has it.", "yyyyMMdd"),
        routes=True,
        check=_timestamp_router,
    ),
    _of("ValueToKey", _required("fields", "Fields of the value that become the key.", Kind.LIST), _DEFAULTS,
        changes_keys=True, check=_filled("fields")),
)  # fmt: skip

PREDICATES: Final = (
    _of("predicates.HasHeaderKey", _required("name", "Name of the header."), is_predicate=True, check=_name_filled),
    _of("predicates.RecordIsTombstone", is_predicate=True),
    _of("predicates.TopicNameMatches", _required("pattern", "Pattern of whole topic names."), is_predicate=True,
        check=_pattern),
)  # fmt: skip
