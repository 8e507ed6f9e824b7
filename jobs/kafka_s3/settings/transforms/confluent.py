"""Confluent's transforms, with the options that its documentation states."""

from __future__ import annotations

from typing import Final

from kafka_s3.settings.properties import REQUIRED, Kind, Property, choices
from kafka_s3.settings.transforms import dates, json_path
from kafka_s3.settings.transforms.classes import KEY_OR_VALUE, Fault, Options, TransformClass

_PACKAGE: Final = "io.confluent.connect.transforms"
SCHEMA_BEHAVIORS: Final = ("nullify", "retain", "validate", "force_optional")


def _extract_topic(options: Options) -> list[Fault]:
    if str(options["field.format"]).upper() != "JSON_PATH":
        return []
    field = str(options["field"] or "")
    found = json_path.problem(field)
    if found is None and not json_path.parse_path(field).is_definite:
        found = "leads to more than one place, where a topic needs one: it has names and places alone"
    return [] if found is None else [("field", found)]


def _extract_header(options: Options) -> list[Fault]:
    """Of `$Header`: its field is the header, read as it is."""
    faults = [] if options["field"] else [("field", "is required: the name of the header")]
    if str(options["field.format"]).upper() == "JSON_PATH":
        faults.append(("field.format", "must be PLAIN for a header"))
    return faults


def _filter(options: Options) -> list[Fault]:
    found = json_path.problem(str(options["filter.condition"]))
    return [] if found is None else [("filter.condition", found)]


def _timestamp_router(options: Options) -> list[Fault]:
    faults = [] if options["message.timestamp.keys"] else [("message.timestamp.keys", "Empty list")]
    for name in ("message.timestamp.format", "topic.timestamp.format"):
        found = dates.problem(str(options[name]))
        if found is None and name.startswith("message"):
            letter = dates.date_format(str(options[name])).not_read
            found = f"its {letter} is written, and cannot be read here" if letter else None
        if found is not None:
            faults.append((name, found))
    return faults


_TOPIC_OPTIONS: Final = (
    Property("field", Kind.STRING, "", "Field, path or header whose text becomes the topic; unless set, the whole."),
    Property(
        "field.format", Kind.STRING, "PLAIN", "How field is read.", choices=choices("PLAIN", "JSON_PATH"),
        ignore_case=True,
    ),
    Property("skip.missing.or.null", Kind.BOOLEAN, False, "Keep the topic where field is missing or null."),
)  # fmt: skip
_EXTRACT_TOPIC: Final = f"{_PACKAGE}.ExtractTopic"

TRANSFORMS: Final = (
    TransformClass(
        f"{_PACKAGE}.Drop",
        (
            Property(
                "schema.behavior",
                Kind.STRING,
                "nullify",
                "What becomes of the schema: nullify drops it, retain keeps it, validate makes bad records where it is"
                " not optional, force_optional makes it so.",
                choices=choices(*SCHEMA_BEHAVIORS),
                ignore_case=True,
            ),
        ),
        sides=KEY_OR_VALUE,
    ),
    TransformClass(
        _EXTRACT_TOPIC,
        _TOPIC_OPTIONS,
        sides=(*KEY_OR_VALUE, "Header"),
        keeps_keys=True,
        routes=True,
        check=_extract_topic,
        checks={"Header": _extract_header},
    ),
    TransformClass(
        f"{_PACKAGE}.Filter",
        (
            Property("filter.condition", Kind.STRING, REQUIRED, "JSONPath of the records that are meant."),
            Property(
                "filter.type",
                Kind.STRING,
                REQUIRED,
                "Whether these are kept, and the others dropped, or the other way round.",
                choices=choices("include", "exclude"),
                ignore_case=True,
            ),
            Property(
                "missing.or.null.behavior",
                Kind.STRING,
                "fail",
                "What becomes of records that lack a field of the path: fail makes bad records, include keeps them,"
                " exclude drops them.",
                choices=choices("fail", "include", "exclude"),
                ignore_case=True,
            ),
        ),
        sides=KEY_OR_VALUE,
        keeps_keys=True,
        drops=True,
        check=_filter,
    ),
    TransformClass(f"{_PACKAGE}.GzipDecompress", sides=KEY_OR_VALUE),
    TransformClass(
        f"{_PACKAGE}.MessageTimestampRouter",
        (
            Property(
                "topic.format",
                Kind.STRING,
                "${topic}-${timestamp}",
                "The topic's new name, of ${topic} and ${timestamp}.",
            ),
            Property(
                "message.timestamp.keys",
                Kind.LIST,
                REQUIRED,
                "Fields of the value; the first that is there has the time.",
            ),
            Property(
                "message.timestamp.format", Kind.STRING, REQUIRED, "Pattern of that text, as SimpleDateFormat has it."
            ),
            Property(
                "topic.timestamp.format", Kind.STRING, REQUIRED, "Pattern of ${timestamp}, as SimpleDateFormat has it."
            ),
        ),
        routes=True,
        check=_timestamp_router,
    ),
    TransformClass(
        f"{_PACKAGE}.TombstoneHandler",
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
