"""Debezium's transforms that are of use to a sink, with the options of its releases 3.3 and 2.7."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from kafka_s3.settings.properties import REQUIRED, Kind, Property, choices
from kafka_s3.settings.transforms import regex
from kafka_s3.settings.transforms.classes import Fault, Options, TransformClass

_PACKAGE: Final = "io.debezium.transforms"
MODES: Final = ("drop", "tombstone", "rewrite", "rewrite-with-tombstone", "delete-to-tombstone")
#: Of releases before 3.0.
OLDER_MODES: Final = ("drop", "rewrite", "none")
ADJUSTMENTS: Final = ("none", "avro", "avro_unicode")
#: Where a field is looked for whose struct is not said: in the envelope itself, in `transaction`; else in `source`.
_STRUCTS: Final = {
    **dict.fromkeys(("op", "ts_ms", "ts_us", "ts_ns")),
    **dict.fromkeys(("id", "data_collection_order", "total_order"), "transaction"),
    "updateDescription": "updateDescription",
}


@dataclass(frozen=True, slots=True)
class Reference:
    """A field of a change event that the new record has, too. `struct`: where in the envelope it is."""

    struct: str | None
    field: str
    name: str


def references(prefix: str, listed: tuple[str, ...]) -> tuple[Reference, ...]:
    """What `add.fields` and `add.headers` list. `ValueError` with the reason.

    >>> references("__", ("op", "source.ts_ms", "lsn:LSN"))[1]
    Reference(struct='source', field='ts_ms', name='__source_ts_ms')
    """
    return tuple(_reference(prefix, each) for each in listed if each)


def _reference(prefix: str, text: str) -> Reference:
    path, *renamed = _split(text, ":")
    steps = _split(path, ".")
    if len(renamed) > 1 or not steps[-1]:
        raise ValueError(f"{text} is not a field: write field, struct.field, or either with :newName")
    struct, field = (_STRUCTS.get(path, "source"), path) if len(steps) == 1 else (steps[0], steps[1])
    shown = renamed[0] if renamed else field if len(steps) == 1 else f"{struct}_{field}"
    return Reference(struct, field, f"{prefix}{shown}")


def _split(text: str, by: str) -> list[str]:
    """As Java splits: without empty parts at the end."""
    parts = text.split(by)
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return parts


def _unwrap(options: Options) -> list[Fault]:
    faults = []
    for name in ("add.fields", "add.headers"):
        listed = options[name]
        assert isinstance(listed, tuple)
        try:
            references("", listed)
        except ValueError as error:
            faults.append((name, str(error)))
    if options["drop.fields.header.name"]:
        faults.append(("drop.fields.header.name", "is not supported: use ReplaceField$Value to drop fields"))
    return faults


def _by_table(options: Options) -> list[Fault]:
    faults = []
    for what in ("topic", "key.field"):
        pattern, made = (str(options[f"{what}.{part}"] or "") for part in ("regex", "replacement"))
        if what == "topic":
            blank = [part for part in ("regex", "replacement") if not options[f"topic.{part}"]]
            faults += [(f"topic.{part}", "must not be blank") for part in blank]
        elif pattern.strip() and not made.strip():
            faults.append(("key.field.replacement", "must not be blank where key.field.regex is set"))
        if not pattern.strip():
            continue
        try:
            regex.replacement(made, regex.pattern(pattern))
        except regex.NoPattern as error:
            faults.append((f"{what}.{'regex' if regex.problem(pattern) else 'replacement'}", str(error)))
    if options["key.enforce.uniqueness"] and not options["key.field.name"]:
        faults.append(("key.field.name", "must not be blank"))
    return faults


def _text(name: str, doc: str, default: str | None = None) -> Property:
    return Property(name, Kind.STRING, default, doc)


def _flag(name: str, doc: str, default: bool | None) -> Property:
    return Property(name, Kind.BOOLEAN, default, doc)


def _of(name: str, *options: Property, **more: Any) -> TransformClass:
    return TransformClass(f"{_PACKAGE}.{name}", options, **more)


TRANSFORMS: Final = (
    _of(
        "ByLogicalTableRouter",
        Property("topic.regex", Kind.STRING, REQUIRED, "Pattern of whole topic names."),
        Property("topic.replacement", Kind.STRING, REQUIRED, "The topic's new name."),
        _flag("key.enforce.uniqueness", "Add a field to keys that says which topic they come from.", True),
        _text("key.field.name", "Name of that field.", "__dbz__physicalTableIdentifier"),
        _text("key.field.regex", "Pattern of whole topic names for that field; unless set, it is the topic's name."),
        _text("key.field.replacement", "What key.field.regex makes of the topic's name."),
        Property("schema.name.adjustment.mode", Kind.STRING, "none",
                 "What becomes of characters in schema names that Avro does not take.",
                 choices=choices(*ADJUSTMENTS), ignore_case=True),
        Property("logical.table.cache.size", Kind.INT, 16, "Ignored: what is kept has limits of its own."),
        changes_keys=True,
        routes=True,
        check=_by_table,
    ),
    _of(
        "ExtractNewRecordState",
        Property("delete.tombstone.handling.mode", Kind.STRING, None,
                 "What becomes of deletes and their tombstones: tombstone, unless one of the older options is set.",
                 choices=choices(*MODES), ignore_case=True),
        _flag("drop.tombstones", "Before 3.0: drop tombstones. Ignored if delete.tombstone.handling.mode is set.",
              None),
        Property("delete.handling.mode", Kind.STRING, None,
                 "Before 3.0: what becomes of deletes. Ignored if delete.tombstone.handling.mode is set.",
                 choices=choices(*OLDER_MODES), ignore_case=True),
        Property("add.fields", Kind.LIST, (), "Fields of the event to add, as field, struct.field or field:newName."),
        _text("add.fields.prefix", "What their names begin with.", "__"),
        Property("add.headers", Kind.LIST, (), "Fields of the event that become headers, written as in add.fields."),
        _text("add.headers.prefix", "What their names begin with.", "__"),
        _text("route.by.field", "Field whose value is the record's new topic."),
        _flag("replace.null.with.default", "In a rewritten record, read a null as its field's default.", True),
        _text("drop.fields.header.name", "Not supported."),
        _flag("drop.fields.from.key", "Ignored unless drop.fields.header.name is set.", False),
        _flag("drop.fields.keep.schema.compatible", "Ignored unless drop.fields.header.name is set.", True),
        routes_with="route.by.field",
        drops=True,
        check=_unwrap,
    ),
)  # fmt: skip
