"""What an inferred schema never is, whatever was sampled, and which schemas of a log are none that was inferred."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kafka_s3.avro.model import schema_of
from kafka_s3.avro.parse import SchemaError, parse_avro
from kafka_s3.values.converters.inference import FIELDS_MAX, REST, TEXT_MAX, Sample, check_inferred, widened


def infer(*values: Any, before: str | None = None, rest: bool = True) -> str:
    sample = Sample()
    for value in values:
        sample.add(json.dumps(value).encode())
    return widened(before, sample, longs_become_doubles=True, rest=rest)


def names_in(text: str) -> list[str]:
    return [each["name"] for each in json.loads(text)["fields"]]


@pytest.mark.parametrize(("size", "is_list"), [(79, False), (80, False), (45, True), (46, True)])
def test_longs_stay_where_doubles_do_not_fit(size: int, is_list: bool) -> None:
    """A schema close to its limit does not grow beyond it when longs become doubles: what does not fit stays a long,
    and goes to the rest."""
    names = [f"f{number:03}".ljust(size, "x") for number in range(FIELDS_MAX)]
    before = infer({name: [1] if is_list else 1 for name in names})
    after = infer({name: [1.5] if is_list else 1.5 for name in names}, before=before)
    check_inferred(after)
    assert len(before) < len(after) <= TEXT_MAX
    assert names_in(after) == names_in(before)
    assert infer({name: [1.5] if is_list else 1.5 for name in names}, before=after) == after


@pytest.mark.parametrize("rest", [False, True])
def test_nothing_is_called_like_the_rest(rest: bool) -> None:
    """Not in another case either: readers of Parquet take the two for one. Inner objects may have such a field."""
    text = infer({"_Rest": 1, "_REST": 1, "a": {"_Rest": 1}}, rest=rest)
    assert names_in(text) == ["a", *([REST] if rest else [])]
    assert json.loads(text)["fields"][0]["type"][1]["fields"][0]["name"] == "_Rest"
    check_inferred(text)


def field(name: str, kind: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": ["null", kind], "default": None, **more}


def record(namespace: str, *fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": "Record", "namespace": namespace, "fields": list(fields)}


TEXTS = {"type": "map", "values": "string"}


@pytest.mark.parametrize(
    "fields",
    [
        [field(REST, {"type": "map", "values": "long"})],
        [field(REST, {"type": "map", "values": ["null", "string"]})],
        [{"name": REST, "type": TEXTS}],
        [field(REST, "string")],
        [field("_Rest", "long"), field(REST, TEXTS)],
        [field("_Rest", "long")],
        [field(REST, TEXTS), field("a", "long")],
        [field("m", TEXTS)],
        [field("a", "long"), field("A", "long")],
        [field("r", record("value.r", field("a", "long"), field("A", "long")))],
        [field("r", record("elsewhere", field("a", "long")))],
        [field("a", "long", aliases=["b"])],
        [field("a", {"type": "array", "items": "long"})],
        [field("a", {"type": "string", "logicalType": "uuid"})],
        [field("r", record("value.r", field("a", "long"))), field("s", "value.r.Record")],
    ],
)
def test_schemas_that_are_not_inferred(fields: list[Any]) -> None:
    """What is like an inferred one but for its last field, its names or a type would be written by, or locks readers
    out: it is refused."""
    with pytest.raises(SchemaError, match="inferred|differ only in case"):
        check_inferred(parse_avro(schema_of(record("value", *fields)).text).text)


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"a": 1, "b": [[1.5]], "c": {"d": [{"e": "x"}]}, "f": {"a-b": 1}},
        {"l": [[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]},
        {
            "a": {
                "a": {
                    "a": {
                        "a": {
                            "a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": 1}}}}}}}}}}}}
                        }
                    }
                }
            }
        },
    ],
)
@pytest.mark.parametrize("rest", [False, True])
def test_schemas_that_are(value: Any, rest: bool) -> None:
    """However deep: what is inferred passes."""
    text = infer(value, rest=rest)
    assert check_inferred(text).text == text
