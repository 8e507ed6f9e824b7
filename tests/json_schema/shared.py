"""Schemas that several tests look at."""

from __future__ import annotations

from typing import Any, Final

_A: Final = {"type": "object", "title": "A", "properties": {"next": {"$ref": "#/definitions/A"}}}
#: Of drafts up to 7.
JSON_SCHEMAS: Final[list[dict[str, Any]]] = [
    {},
    {"title": "t"},
    {"type": []},
    {"type": ["null"]},
    {"oneOf": []},
    {"enum": []},
    {"$ref": 3},
    {"$ref": "#/definitions/A", "title": "R", "connect.index": 3, "definitions": {"A": _A}},
    {
        "$id": "http://x/y.json",
        "properties": {"a": {"$ref": "#/definitions/D"}},
        "definitions": {"D": {"type": "null"}},
    },
    {"properties": {"a": {"$ref": "#foo"}}, "definitions": {"D": {"$id": "#foo", "type": "string"}}},
    {"properties": {"a": {"$ref": "#/definitions/a~1b"}}, "definitions": {"a/b": {"type": "string"}}},
    {"properties": {"a": {"$ref": "#/definitions/a%20b"}}, "definitions": {"a b": {"type": "string"}}},
    {"properties": {"a": {"$ref": "#/items/1"}}, "items": [{"type": "string"}, {"type": "integer"}]},
    {"properties": {"a": {"$ref": "#/definitions/gone"}}},
    {"type": "object", "properties": {"a": {"type": "string", "default": None}}, "default": {"a": "x"}},
    {"type": ["object", "null"], "properties": {"a": {"type": "integer"}}, "required": ["a"], "minimum": 1},
    {"type": "integer", "format": "int32", "connect.type": "int32"},
    {"type": "string", "enum": ["a", "b"], "default": "a", "title": "E"},
    {"type": "array", "connect.type": "map", "items": {"properties": {"key": {}, "value": {}}}},
]
