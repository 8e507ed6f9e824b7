"""Schemas as registries and files have them: what becomes of them, and what is refused."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import fastavro
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_s3.avro.model import Schema
from kafka_s3.avro.parse import BRACKETS_MAX, EXPANDED_MAX, NESTING_MAX, TEXT_MAX, SchemaError, parse_avro
from kafka_s3.shown import plain
from tests.avro.strategies import avro_schemas

calm = settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)


def parsed(avro: Any, *references: Any) -> Any:
    return parse_avro(json.dumps(avro), [json.dumps(reference) for reference in references]).avro


def record(name: str, **fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": field, "type": kind} for field, kind in fields.items()]}


@calm
@given(avro_schemas(logical=True, recursive=True), st.booleans())
def test_a_complete_schema_stays_as_it_is(schema: Schema, spaced: bool) -> None:
    """A schema that defines each type where it is first used comes out word for word, white space aside."""
    text = json.dumps(schema.avro, indent=2 if spaced else None)
    assert parse_avro(text, id=7, version=3) == Schema(schema.text, 7, 3)
    assert parse_avro(text, id=7).id == 7


@calm
@given(st.data())
def test_what_comes_out_is_read_by_others(data: st.DataObject) -> None:
    """Definitions taken out into references come back where they are first used: fastavro reads the result."""
    schema = data.draw(avro_schemas(record=True, recursive=True))
    references: list[str] = []

    def taken_out(node: Any) -> Any:
        if isinstance(node, list):
            return [taken_out(each) for each in node]
        if not isinstance(node, dict):
            return node
        node = {key: taken_out(each) if key in ("type", "items", "values") else each for key, each in node.items()}
        if "fields" in node:
            node["fields"] = [{**field, "type": taken_out(field["type"])} for field in node["fields"]]
        if node["type"] in ("record", "enum", "fixed"):
            references.append(json.dumps(node))
            return f"{node['namespace']}.{node['name']}" if "namespace" in node else node["name"]
        return node

    text = json.dumps(taken_out(schema.avro))
    again = parse_avro(text, references)
    assert again.avro == schema.avro
    fastavro.parse_schema(again.avro)


def test_everything_an_author_wrote_is_kept() -> None:
    """Order, documentation, defaults, aliases, logical types, properties that nobody knows."""
    avro = {
        "type": "record",
        "name": "Order",
        "namespace": "shop",
        "doc": "An order.",
        "aliases": ["Bestellung"],
        "fields": [
            {
                "name": "id",
                "type": {"type": "string", "avro.java.string": "String"},
                "default": "",
                "x": [1, {"y": 2.5}],
            },
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}, "order": "ignore"},
            {"name": "größe", "type": ["null", "float"], "default": None, "aliases": ["size"]},
        ],
        "connect.version": 3,
    }
    assert parse_avro(json.dumps(avro)).text == json.dumps(avro, separators=(",", ":"), ensure_ascii=False)


def test_names_become_full_ones() -> None:
    """A name without a dot is of the namespace around it, or of none; after its definition a type is its full name."""
    avro = {
        **record(
            "R", a=record("A", self=["null", "A"]), b="A", c="n.A", d={"type": "A"}, e={"type": "array", "items": "A"}
        ),
        "namespace": "n",
    }
    fields = parsed(avro)["fields"]
    assert fields[0]["type"]["fields"][0]["type"] == ["null", "n.A"]
    assert [field["type"] for field in fields[1:]] == ["n.A", "n.A", "n.A", {"type": "array", "items": "n.A"}]


def test_references_are_defined_where_they_are_used_first() -> None:
    """References may refer to each other, lie in other namespaces or none, and be superfluous."""
    money = {**record("Money", currency={"type": "enum", "name": "Currency", "symbols": ["EUR"]}), "namespace": "bank"}
    plain = record("Plain", x="int")
    order = {**record("Order", paid="bank.Money", p="Plain", c="bank.Currency", m="bank.Money"), "namespace": "shop"}
    made = parsed(order, plain, money, record("Unused", x="string"))
    paid, plain_type, currency, again = (field["type"] for field in made["fields"])
    assert paid == money
    assert plain_type == {"type": "record", "name": "Plain", "namespace": "", "fields": [{"name": "x", "type": "int"}]}
    assert (currency, again) == ("bank.Currency", "bank.Money")


def test_a_reference_may_come_several_times() -> None:
    """The same definition in two references is one; two that differ are an error."""
    reference = record("n.A", x="int")
    assert parsed(["null", "n.A"], reference, reference) == ["null", reference]
    with pytest.raises(SchemaError, match="n.A is defined twice, and not in the same way"):
        parsed(["null", "n.A"], reference, record("n.A", x="long"))


def test_a_type_may_be_used_before_it_is_defined() -> None:
    """Within one text the definition moves to the first use."""
    made = parsed(record("R", a="B", b=record("B", x="int")))
    assert [field["type"] for field in made["fields"]] == [record("B", x="int"), "B"]


REFUSED: list[tuple[Any, str]] = [
    ("{", "the schema is not JSON"),
    ("NaN", "the schema is not JSON: NaN is not a JSON number"),
    ('{"type":"int","x":1e999}', "the schema is not JSON: a number is too long"),
    (r'{"type":"int","doc":"\ud800"}', "half of a surrogate pair"),
    (17, "the schema is not a type: 17"),
    ("null", "the schema is not a type: null"),
    ({"name": "x"}, "the schema has no type"),
    ([], "a union of no types"),
    (["int", ["null"]], "a union within a union"),
    (["int", {"type": "int", "logicalType": "date"}], "a union that has int twice"),
    ([record("A"), "A"], "a union that has A twice"),
    ({"type": "Other"}, "is of type 'Other', which is not defined, nor among the references"),
    (record("R", a="missing.Type"), "R.a is of type 'missing.Type', which is not defined, nor among the references"),
    ({"type": "record", "fields": []}, "a type 'record' has no name"),
    (record("a-b"), "'a-b' is not a name of a type"),
    (record("string"), "'string' is the name of one of Avro's own types"),
    ({"type": "record", "name": "R"}, "the record R has no list of fields"),
    ({"type": "record", "name": "R", "fields": [{"name": "a"}]}, "has a field without a name or a type"),
    (record("R", **{"a b": "int"}), "the record R has a field 'a b', which is not a name"),
    ({"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}] * 2}, "the record R has two fields 'a'"),
    (record("R", a=record("R", b="int")), "R is defined twice"),
    ({"type": "enum", "name": "E", "symbols": []}, "the enum E has no list of symbols"),
    ({"type": "enum", "name": "E", "symbols": ["A", "A"]}, "the enum E has a symbol twice"),
    ({"type": "enum", "name": "E", "symbols": ["1"]}, "the enum E has a symbol '1', which is not a name"),
    ({"type": "fixed", "name": "F", "size": -1}, "the fixed type F has the size -1"),
    ({"type": "fixed", "name": "F", "size": True}, "the fixed type F has the size true"),
    ({"type": "array"}, "is of type array, but does not say its items"),
    ({**record("R"), "aliases": "x"}, "the aliases of R are not a list of names"),
    ({**record("R"), "namespace": 3}, "the namespace 3 of 'R' is not text"),
]


@pytest.mark.parametrize(("avro", "said"), REFUSED)
def test_what_is_no_schema_is_refused_for_a_reason(avro: Any, said: str) -> None:
    """Each mistake is named, with the place and the value."""
    with pytest.raises(SchemaError) as refused:
        parse_avro(avro if isinstance(avro, str) else json.dumps(avro))
    assert said in plain(str(refused.value), content=True)


def doubled(levels: int) -> dict[str, Any]:
    """A few records that stand for 2**levels."""
    fields = {"r0": record("R0", x="int")}
    for level in range(1, levels):
        fields[f"r{level}"] = record(f"R{level}", a=f"R{level - 1}", b=f"R{level - 1}")
    return record("Top", **fields)


def chained(levels: int) -> dict[str, Any]:
    fields = {"r0": record("R0", x="int")}
    for level in range(1, levels):
        fields[f"r{level}"] = record(f"R{level}", a=f"R{level - 1}")
    return record("Top", **fields)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 100_000, f"nested more than {BRACKETS_MAX} brackets deep"),
        ('{"type":"array","items":' * 200 + '"int"' + "}" * 200, f"nested more than {NESTING_MAX} deep"),
        ('{"type":' * 100 + '"int"' + "}" * 100, f"nested more than {NESTING_MAX} deep"),
        (json.dumps(doubled(40)), f"more than {EXPANDED_MAX:,} types"),
        (json.dumps(chained(100)), f"nested more than {NESTING_MAX} deep"),
        ('"' + "x" * TEXT_MAX + '"', f"longer than {TEXT_MAX:,} characters"),
        ("9" * 10_000, "the schema is not JSON"),
        ('"' + "\\" * 100_000, "the schema is not JSON"),
    ],
)
def test_hostile_schemas_are_refused_before_they_cost_anything(text: str, said: str) -> None:
    """Depth, size, and what names stand for have limits."""
    with pytest.raises(SchemaError) as refused:
        parse_avro(text)
    assert said in plain(str(refused.value), content=True)
    assert len(str(refused.value)) < 500


def test_references_may_go_in_circles() -> None:
    """Two texts that refer to each other are one recursive schema."""
    made = parsed(record("A", b=["null", "B"]), record("B", a=["null", "A"]))
    assert made == record("A", b=["null", record("B", a=["null", "A"])])


@calm
@given(st.text(max_size=60) | st.text('{}[]":,typenamfildsr', max_size=60))
def test_any_text_is_a_schema_or_an_error(text: str) -> None:
    """Nothing but `SchemaError` comes of any text."""
    with suppress(SchemaError):
        parse_avro(text)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["int", "record", "array", "A", "n.A", "", ".", "a."]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "name", "namespace", "fields", "items", "values", "symbols", "size", "aliases"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@calm
@given(json_values, st.lists(json_values, max_size=2))
def test_any_json_is_a_schema_or_an_error(value: Any, references: list[Any]) -> None:
    """Avro's own words in any order: a complete schema that parses to itself, or `SchemaError`."""
    try:
        made = parse_avro(json.dumps(value), [json.dumps(reference) for reference in references])
    except SchemaError:
        return
    assert parse_avro(made.text).text == made.text
