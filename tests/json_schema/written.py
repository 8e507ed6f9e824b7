"""JSON Schemas and values as JsonSchemaConverter writes those of Connect, for reading them again."""

from __future__ import annotations

import json
from typing import Any

_NUMBERS = {"int8": "integer", "int16": "integer", "int32": "integer", "int64": "integer"}
_FLOATS = {"float": "float32", "double": "float64"}


def written_schema(connect: dict[str, Any], index: int | None = None, name_word: str = "title") -> dict[str, Any]:
    """The JSON Schema of an envelope's schema. `name_word`: where the name of a schema goes."""

    def below(inner: dict[str, Any], index: int | None = None) -> dict[str, Any]:
        return written_schema(inner, index, name_word)

    made: dict[str, Any]
    match connect["type"]:
        case "boolean":
            made = {"type": "boolean"}
        case "string":
            made = {"type": "string"}
        case "bytes":
            kind = "number" if connect.get("name", "").endswith(".Decimal") else "string"
            made = {"type": kind, "connect.type": "bytes"}
        case "float" | "double" as kind:
            made = {"type": "number", "connect.type": _FLOATS[kind]}
        case "array":
            made = {"type": "array", "items": below(connect["items"])}
        case "map" if connect["keys"]["type"] == "string":
            made = {"type": "object", "additionalProperties": below(connect["values"]), "connect.type": "map"}
        case "map":
            entry = {"key": below(connect["keys"], 0), "value": below(connect["values"], 1)}
            items = {"type": "object", "properties": entry}
            made = {"type": "array", "items": items, "connect.type": "map"}
        case "struct":
            fields = enumerate(connect["fields"])
            made = {
                "type": "object",
                "properties": {each["field"]: below(each, number) for number, each in fields},
            }
        case kind:
            made = {"type": "integer", "connect.type": kind}
    for word, name in (("name", name_word), ("version", "connect.version"), ("parameters", "connect.parameters")):
        if word in connect:
            made[name] = connect[word]
    if "default" in connect:
        made["default"] = connect["default"]
    if connect.get("optional"):
        made = {"oneOf": [{"type": "null"}, made]}
    return made if index is None else {**made, "connect.index": index}


def glue_written_schema(connect: dict[str, Any]) -> dict[str, Any]:
    """The same as AWS Glue's converter writes it."""
    return written_schema(connect, name_word="connect.name")


def without_defaults(connect: dict[str, Any]) -> dict[str, Any]:
    """An envelope's schema without defaults, which AWS Glue's converter does not read."""
    made = {name: each for name, each in connect.items() if name != "default"}
    for name in ("items", "keys", "values"):
        if name in made:
            made[name] = without_defaults(made[name])
    if "fields" in made:
        made["fields"] = [without_defaults(each) for each in made["fields"]]
    return made


def written_value(connect: dict[str, Any], payload: str) -> str:
    """An envelope's payload as the converter writes it: a map with other keys as objects."""
    return json.dumps(_entries(connect, json.loads(payload)))


def _entries(connect: dict[str, Any], value: Any) -> Any:
    if value is None:
        return None
    match connect["type"]:
        case "array":
            return [_entries(connect["items"], each) for each in value]
        case "map" if connect["keys"]["type"] == "string":
            return {key: _entries(connect["values"], each) for key, each in value.items()}
        case "map":
            return [{"key": key, "value": _entries(connect["values"], each)} for key, each in value]
        case "struct":
            fields = {each["field"]: each for each in connect["fields"]}
            return {name: _entries(fields[name], each) for name, each in value.items() if name in fields}
    return value
