"""JSONPath: what is found is what com.jayway.jsonpath finds, and what is not known is refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_s3.settings.transforms.json_path import NoPath, parse_path, problem
from kafka_s3.values.converters.connect_schema import ConnectField, ConnectSchema
from kafka_s3.values.transforms.connect import TransformError, new_schema, primitive
from kafka_s3.values.transforms.json_paths import NotThere, found_in, view_of
from tests.values.transforms.path_cases import path_cases
from tools.connect.path_oracle import PathQuestion, ask_paths

CASES = 4000


def ours(question: PathQuestion) -> dict[str, Any]:
    try:
        path = parse_path(question.path)
        found = found_in(path, question.document)
    except NotThere:
        return {"missing": True}
    except TransformError:
        return {"error": ""}
    return {"definite": path.is_definite, "found": found[0] if path.is_definite else found}


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one == other or ("error" in one and "error" in other)


@pytest.mark.heavy
def test_paths_find_what_the_java_library_finds() -> None:
    """Generated paths, conditions and documents; a null where a condition should apply counts as missing here."""
    questions = list(path_cases(1, CASES))
    answers = ask_paths(questions)
    different = [
        (each.path, each.document, mine, answer)
        for each, answer in zip(questions, answers, strict=True)
        if not same(mine := ours(each), answer)
        and not ("missing" in mine and "Current context is: null" in answer.get("error", ""))
    ]
    assert not different, f"{len(different)} differ, the first: {different[0]}"
    assert sum("found" in answer and answer["found"] not in ([], None) for answer in answers) > CASES // 8


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("$..a", ".. is not known here: name every step"),
        ("$.a[0:2]", "slices are not known here"),
        ("$.a[0,1]", "a list of names or places is not known here"),
        ("$['a','b']", "a list of names or places is not known here"),
        ("$.a.length()", "functions are not known here"),
        ("$[?(@.a === 1)]", "the operator === is not known here"),
        ("$[?(@.a contains 'x')]", "the operator contains is not known here"),
        ("$[?(@.a == @.b)]", "a path is compared with a literal, not with another path"),
        ("$[?($.a)]", "cannot ask whether a path from $ is there"),
        ("$[?(@.a[?(@.b)])]", "a condition within another is not known here"),
        ("$[?(@.a[*] == 1)]", "a path of a condition has names and places alone"),
        ("$[?(@.a =~ /x/s)]", "the flags s of a pattern are not known here"),
        ("$[?(@.a =~ /[[a]]/)]", "its pattern: a class of characters within another"),
        ("$[?(@.a == 'it\\'s')]", "a backslash within quotes is not known here"),
        ("$[?(1 == @.a)]", "expected a path"),
        ("$[?(!@.a == 1)]", "! stands before a path alone"),
        ("$[?(@.a == )]", "expected a literal"),
        ("$.a b", "cannot be read at ' b'"),
        ("@.a", "a path begins with $"),
        (" ", "must not be blank"),
        ("$[?(" + "(" * 40, "nested in more than 32 parentheses"),
    ],
)
def test_what_is_not_known_is_refused_by_name(path: str, reason: str) -> None:
    """`validate` says which part of a path it is."""
    with pytest.raises(NoPath, match="^(?s:.*)$") as refused:
        parse_path(path)
    assert reason in str(refused.value)
    assert problem(path) == str(refused.value)


def test_a_path_may_leave_out_its_beginning() -> None:
    """As the Java library: `a.b` is `$.a.b`."""
    assert parse_path("a['b']") == parse_path("$.a.b")


def test_values_under_a_schema_are_documents_too() -> None:
    """Fields by Connect's names, decimals and floats as numbers, maps with text as keys as objects."""
    number = ConnectSchema("bytes", name="org.apache.kafka.connect.data.Decimal", parameters={"scale": "2"})
    fields = (
        ConnectField("a-b", "a_b", primitive("FLOAT32")),
        ConnectField("price", "price", number),
        ConnectField("tags", "tags", ConnectSchema("map", keys=primitive("STRING"), items=primitive("INT32"))),
    )
    view = view_of(new_schema(ConnectSchema("struct", fields=fields)))
    assert view is not None
    document = view({"a_b": 0.10000000149011612, "price": b"\x03\xe8", "tags": {"n": 1}})
    for condition in ("@['a-b'] == 0.1", "@.price == 10", "@.price == '10.00'", "@.tags.n < 2"):
        assert found_in(parse_path(f"$[?({condition})]"), document) == [document], condition
