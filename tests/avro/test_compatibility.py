"""Which schemas share an object: the sink's table, in every mode and both directions, and what Avro adds to it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kafka_s3.avro.compatibility import Changed, Incompatible, Keep, Reason, Verdict, compare
from kafka_s3.avro.model import Avro, Compatibility, Schema, schema_of

DIFFERENT = Reason.DIFFERENT_SCHEMA
VERSION = Reason.DIFFERENT_VERSION
NAME = Reason.DIFFERENT_NAME
TYPE = Reason.DIFFERENT_TYPE
PARAMS = Reason.DIFFERENT_PARAMS
MISSING = Reason.MISSING_REQUIRED_FIELD
OPTIONALITY = Reason.INCOMPATIBLE_OPTIONALITY
KEEP = Keep()

STRING_W = {"name": "w", "type": "string"}
OPTIONAL_W = {"name": "w", "type": ["null", "string"], "default": None}


def record(*fields: dict[str, Any], name: str = "n.R", **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": "i", "type": "int"}, *fields], **more}


def v(version: int | None, avro: Avro | None = None) -> Schema:
    return schema_of(record() if avro is None else avro, version=version)


def of(kind: Avro, **more: Any) -> dict[str, Any]:
    """A record whose field x has this type."""
    return record({"name": "x", "type": kind, **more})


def parameters(**named: str) -> dict[str, Any]:
    return record(**{"connect.parameters": {name.replace("_", "."): value for name, value in named.items()}})


def decimal(precision: int, scale: int) -> dict[str, Any]:
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}


def enum_of(*symbols: str) -> dict[str, Any]:
    return {"type": "enum", "name": "n.E", "symbols": list(symbols)}


# What the sink was seen to do: (case, record's schema, object's schema, BACKWARD, FORWARD), FULL being as BACKWARD.
# Where nothing else is said both have the version 1, and NONE finds them different.
SINK: list[tuple[str, Schema, Schema, Reason | Keep, Reason | Keep]] = [
    ("record newer version, same fields", v(2), v(1), VERSION, KEEP),
    ("record older version, same fields", v(1), v(2), KEEP, VERSION),
    ("name differs", v(1, record(name="n.S")), v(1), NAME, NAME),
    ("top doc differs", v(1, record(doc="told")), v(1), KEEP, KEEP),
    ("param differs", v(1, parameters(p="1")), v(1, parameters(p="2")), PARAMS, PARAMS),
    ("param is one more", v(1, parameters(p="1")), v(1), PARAMS, PARAMS),
    ("param connect.record.doc", v(1, parameters(connect_record_doc="1")), v(1), KEEP, KEEP),
    ("param connect.record.aliases", v(1, parameters(connect_record_aliases="1")), v(1), KEEP, KEEP),
    ("param connect.record.namespace", v(1, parameters(connect_record_namespace="1")), v(1), KEEP, KEEP),
    ("param field.doc.i", v(1, parameters(io_confluent_connect_avro_field_doc_i="1")), v(1), KEEP, KEEP),
    ("record has extra optional field", v(1, record(OPTIONAL_W)), v(1), KEEP, KEEP),
    ("record has extra required field", v(1, record(STRING_W)), v(1), KEEP, KEEP),
    ("file has extra optional field", v(1), v(1, record(OPTIONAL_W)), KEEP, KEEP),
    ("file has extra required field", v(1), v(1, record(STRING_W)), MISSING, MISSING),
    ("the same with default", v(1), v(1, record({**STRING_W, "default": "x"})), KEEP, KEEP),
    ("int32 -> int64", v(1, of("int")), v(1, of("long")), KEEP, KEEP),
    ("int64 -> int32", v(1, of("long")), v(1, of("int")), TYPE, TYPE),
    ("int32 -> float32", v(1, of("int")), v(1, of("float")), KEEP, KEEP),
    ("int64 -> float32", v(1, of("long")), v(1, of("float")), KEEP, KEEP),
    ("string vs int32", v(1, of("string")), v(1, of("int")), TYPE, TYPE),
    ("optional vs required", v(1, of(["null", "int"])), v(1, of("int")), OPTIONALITY, OPTIONALITY),
    ("required vs optional", v(1, of("int")), v(1, of(["null", "int"])), KEEP, KEEP),
    (
        "fields reordered",
        v(1, record(fields=[STRING_W, {"name": "i", "type": "int"}])),
        v(1, record(STRING_W)),
        KEEP,
        KEEP,
    ),
    ("decimal scale differs", v(1, of(decimal(9, 2))), v(1, of(decimal(9, 3))), PARAMS, PARAMS),
    ("default value differs", v(1, of("int", default=1)), v(1, of("int", default=2)), KEEP, KEEP),
]

# What its rules come to for the rest of Avro: (case, record, object, one way, the other way) under BACKWARD with
# equal versions; FORWARD and FULL say the same.
AVRO: list[tuple[str, Avro, Avro, Reason | Keep, Reason | Keep]] = [
    ("nested field more", of(record(STRING_W, name="n.A")), of(record(name="n.A")), KEEP, MISSING),
    ("nested promotion", of(of("int") | {"name": "n.A"}), of(of("double") | {"name": "n.A"}), KEEP, TYPE),
    ("nested name", of(record(name="n.A")), of(record(name="n.B")), NAME, NAME),
    ("namespace alone", record(name="n.R"), record(name="m.R"), NAME, NAME),
    ("optional nested", of(["null", record(name="n.A")]), of(record(name="n.A")), OPTIONALITY, KEEP),
    ("null first or last", of(["null", "int"]), of(["int", "null"]), KEEP, KEEP),
    ("optional to a default", of(["null", "int"]), of("int", default=4), KEEP, KEEP),
    ("optional promotion", of(["null", "int"]), of(["null", "double"]), KEEP, TYPE),
    ("only nulls", of("null"), of(["null", "int"]), KEEP, TYPE),
    ("items", of({"type": "array", "items": "int"}), of({"type": "array", "items": "long"}), KEEP, TYPE),
    (
        "optional items",
        of({"type": "array", "items": ["null", "int"]}),
        of({"type": "array", "items": "int"}),
        OPTIONALITY,
        KEEP,
    ),
    ("values", of({"type": "map", "values": "float"}), of({"type": "map", "values": "double"}), KEEP, TYPE),
    ("array or map", of({"type": "array", "items": "int"}), of({"type": "map", "values": "int"}), TYPE, TYPE),
    ("fewer symbols", of(enum_of("A")), of(enum_of("B", "A")), KEEP, PARAMS),
    ("symbols reordered", of(enum_of("A", "B")), of(enum_of("B", "A")), KEEP, KEEP),
    (
        "size of a fixed",
        of({"type": "fixed", "name": "F", "size": 2}),
        of({"type": "fixed", "name": "F", "size": 3}),
        PARAMS,
        PARAMS,
    ),
    ("fixed or bytes", of({"type": "fixed", "name": "F", "size": 2}), of("bytes"), TYPE, TYPE),
    ("string or bytes", of("string"), of("bytes"), TYPE, TYPE),
    ("precision", of(decimal(9, 2)), of(decimal(8, 2)), PARAMS, PARAMS),
    (
        "a scale of 0 or none",
        of(decimal(9, 0)),
        of({"type": "bytes", "logicalType": "decimal", "precision": 9}),
        KEEP,
        KEEP,
    ),
    ("decimal or bytes", of(decimal(9, 2)), of("bytes"), PARAMS, PARAMS),
    (
        "days or milliseconds",
        of({"type": "int", "logicalType": "date"}),
        of({"type": "long", "logicalType": "timestamp-millis"}),
        PARAMS,
        TYPE,
    ),
    ("uuid is text", of({"type": "string", "logicalType": "uuid"}), of("string"), KEEP, KEEP),
    (
        "INT8 and INT16",
        of({"type": "int", "connect.type": "int8"}),
        of({"type": "int", "connect.type": "int16"}),
        KEEP,
        TYPE,
    ),
    ("INT16 and INT32", of({"type": "int", "connect.type": "int16"}), of("int"), KEEP, TYPE),
    ("connect.name", of({"type": "int", "connect.name": "a"}), of({"type": "int", "connect.name": "b"}), NAME, NAME),
    ("a branch more", of(["int", "string"]), of(["string", "null", "int"]), KEEP, OPTIONALITY),
    ("a branch less", of(["null", "int", "string"]), of(["null", "int", "boolean"]), TYPE, TYPE),
    ("optional or union", of(["null", "int"]), of(["null", "int", "string"]), TYPE, TYPE),
    ("branches' fields", of(["int", record(STRING_W, name="n.A")]), of(["int", record(name="n.A")]), KEEP, MISSING),
    ("an alias is a name", of("int"), record({"name": "y", "type": "long", "aliases": ["x"]}), KEEP, MISSING),
    ("aliases alone", record(aliases=["Old"]), record(), KEEP, KEEP),
    ("a list without end", of(["null", "n.R"]), of(["null", "n.R"], doc="told"), KEEP, KEEP),
    (
        "an end within",
        record({"name": "next", "type": ["null", "n.R"]}, STRING_W),
        record({"name": "next", "type": ["null", "n.R"]}),
        KEEP,
        MISSING,
    ),
    ("primitives", "int", "double", KEEP, TYPE),
]


def verdict(reason: Reason | Keep, found: Verdict) -> Verdict:
    """What is expected, wherever the difference was found."""
    if isinstance(reason, Keep):
        return reason
    return Changed(reason, found.where if isinstance(found, Changed) else "")


@pytest.mark.parametrize(
    ("record", "current", "backward", "forward"), [pytest.param(*row[1:], id=row[0]) for row in SINK]
)
def test_the_sinks_table(record: Schema, current: Schema, backward: Reason | Keep, forward: Reason | Keep) -> None:
    """Every case that the sink was observed in ends as it did there."""
    assert compare(record, current, Compatibility.NONE) == Changed(DIFFERENT)
    for mode, expected in (
        (Compatibility.BACKWARD, backward),
        (Compatibility.FULL, backward),
        (Compatibility.FORWARD, forward),
    ):
        found = compare(record, current, mode)
        assert found == verdict(expected, found)


@pytest.mark.parametrize(("one", "other", "there", "back"), [pytest.param(*row[1:], id=row[0]) for row in AVRO])
def test_what_avro_adds(one: Avro, other: Avro, there: Reason | Keep, back: Reason | Keep) -> None:
    """Nested types, unions, enums, maps, arrays, defaults and promotions, in both directions."""
    for mode in (Compatibility.BACKWARD, Compatibility.FORWARD, Compatibility.FULL):
        for record, current, expected in ((one, other, there), (other, one, back)):
            found = compare(v(1, record), v(1, current), mode)
            assert found == verdict(expected, found)


def test_the_same_schema_is_kept() -> None:
    """Also where the registry calls it by another id, or its text is spaced and ordered differently."""
    for mode in Compatibility:
        assert compare(v(1), Schema(v(1).text, id=7, version=1), mode) == KEEP
    reordered = {"name": "R", "namespace": "n", **record()} | {"name": "n.R"}
    assert compare(v(None), schema_of(dict(reversed(record().items()))), Compatibility.NONE) == KEEP
    assert compare(v(1, record()), v(1, reordered), Compatibility.BACKWARD) == KEEP


def test_a_difference_says_where() -> None:
    """The place of a nested difference is its dotted path."""
    one = of({"type": "array", "items": record({"name": "y", "type": "string"}, name="n.A")})
    other = of({"type": "array", "items": record({"name": "y", "type": "int"}, name="n.A")})
    assert compare(v(1, one), v(1, other), Compatibility.FULL) == Changed(TYPE, "x[].y")


@pytest.mark.parametrize("mode", [Compatibility.BACKWARD, Compatibility.FORWARD, Compatibility.FULL])
@pytest.mark.parametrize(("record", "current"), [(None, 1), (1, None), (None, None)])
def test_versions_are_needed(mode: Compatibility, record: int | None, current: int | None) -> None:
    """Without a version on either side the sink throws, whether or not the schemas are the same; NONE needs none."""
    refused = compare(v(record), v(current), mode)
    assert isinstance(refused, Incompatible)
    assert re.match(rf"Schema version required for {mode.value} compatibility: n\.R has none", refused.sentence)
    kept = compare(v(record), v(current), Compatibility.NONE)
    assert kept == (KEEP if record == current else Changed(DIFFERENT))


@pytest.mark.parametrize("mode", Compatibility)
def test_values_without_a_schema_keep_to_themselves(mode: Compatibility) -> None:
    """Both without: nothing changes. One without: the sink throws."""
    assert compare(None, None, mode) == KEEP
    assert isinstance(compare(None, v(1), mode), Incompatible)
    assert isinstance(compare(v(1), None, mode), Incompatible)
