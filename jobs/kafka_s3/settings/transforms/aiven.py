"""Aiven's transforms, with the options of its transforms-for-apache-kafka-connect."""

from __future__ import annotations

from typing import Final

from kafka_s3.settings.properties import REQUIRED, Kind, Property, choices
from kafka_s3.settings.transforms.classes import KEY_OR_VALUE, Fault, Options, TransformClass

_PACKAGE: Final = "io.aiven.kafka.connect.transforms"
#: Names of hash functions, as `hashlib` has them too.
HASHES: Final = ("md5", "sha1", "sha256")


def steps(path: str) -> tuple[str, ...]:
    """The names on the way to a field; a dot in front of a name is part of it.

    >>> steps("a.b.c"), steps(".a")
    (('a', 'b', 'c'), ('.a',))
    """
    found: list[str] = []
    while (dot := path.find(".")) > 0:
        found.append(path[:dot])
        path = path[dot + 1 :]
    return (*found, path)


def _named(options: Options) -> list[Fault]:
    return [] if options["field.name"] else [("field.name", "String must be non-empty")]


def _hash(options: Options) -> list[Fault]:
    if len(steps(str(options["field.name"] or ""))) > 1:
        return [("field.name", "is a path: only a field at the top can be hashed")]
    return []


def _skip(doc: str) -> Property:
    return Property("skip.missing.or.null", Kind.BOOLEAN, False, doc)


TRANSFORMS: Final = (
    TransformClass(
        f"{_PACKAGE}.ExtractTimestamp",
        (
            Property("field.name", Kind.STRING, REQUIRED, "Field, or path with dots, that has the record's timestamp."),
            Property(
                "timestamp.resolution",
                Kind.STRING,
                "milliseconds",
                "Unit of numbers.",
                choices=choices("milliseconds", "seconds"),
            ),
        ),
        sides=KEY_OR_VALUE,
        keeps_keys=True,
        check=_named,
    ),
    TransformClass(
        f"{_PACKAGE}.ExtractTopic",
        (
            Property("field.name", Kind.STRING, None, "Field, or path with dots, of the topic; unless set, the whole."),
            _skip("Keep the topic where that is missing, null or blank."),
        ),
        sides=KEY_OR_VALUE,
        keeps_keys=True,
        routes=True,
    ),
    TransformClass(
        f"{_PACKAGE}.Hash",
        (
            Property("field.name", Kind.STRING, None, "Field to hash; unless set, the whole."),
            Property("function", Kind.STRING, REQUIRED, "Hash function.", choices=choices(*HASHES)),
            _skip("Leave records as they are where that is missing or null."),
        ),
        sides=KEY_OR_VALUE,
        check=_hash,
    ),
    TransformClass(f"{_PACKAGE}.MakeTombstone"),
    TransformClass(
        f"{_PACKAGE}.TombstoneHandler",
        (
            Property(
                "behavior",
                Kind.STRING,
                REQUIRED,
                "What becomes of records whose value is null: drop_silent and drop_warn drop them, fail makes bad"
                " records.",
                choices=choices("drop_silent", "drop_warn", "fail"),
                ignore_case=True,
            ),
        ),
        drops=True,
    ),
)
