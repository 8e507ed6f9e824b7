"""A schema of any draft to its shape, as the libraries below JsonSchemaConverter read it.

Drafts 4, 6 and 7, and schemas that name no draft: every type that a schema speaks of, in `type` or by words that are
only of that type, is a part of it; what has several parts is an `allOf` of them, and the words of a `type` with several
names hold for each. Beside a `$ref` nothing counts.

2019-09 and 2020-12: parts of one type are one, a `type` with several names is only these, and `$ref` is a part like
others. `tests/json_schema/test_load_oracle.py` compares the former with the library.

The library knows the words of draft 7 in every schema where JsonSchemaConverter asks it; where AWS Glue's converter
does, those of the draft that a schema names alone (`by_draft`), which is 4 where it names none, and no defaults.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from kafka_s3.json_schema.documents import Documents, NoReference, Place
from kafka_s3.json_schema.keywords import (
    CRITERIA,
    MODERN_ARRAYS,
    MODERN_OBJECTS,
    MODERN_TEXT,
    OF_ARRAYS,
    OF_NUMBERS,
    OF_OBJECTS,
    OF_TEXT,
    SINCE_6,
    TYPES,
)
from kafka_s3.json_schema.shapes import (
    ABSENT,
    ArrayOf,
    Boolean,
    Combined,
    Constant,
    JsonSchemaError,
    Null,
    Numeric,
    ObjectOf,
    OneOfValues,
    Reference,
    Shape,
    Text,
    Untyped,
    Words,
)

_DRAFT_4: Final = "http://json-schema.org/draft-04/schema"
_DRAFTS: Final = {f"http{s}://json-schema.org/draft-0{draft}/schema": draft for draft in (4, 6, 7) for s in ("", "s")}
_MODERN: Final = ("https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema")
#: Schemas within each other by `allOf` and its like, which are read at once.
_LEVELS_MAX: Final = 64
#: Schemas that one may stand for, those that it refers to counted each time.
SCHEMAS_MAX: Final = 20_000


class Schemas:
    """The shapes of a schema and of those that it refers to. `JsonSchemaError` where there is none."""

    def __init__(
        self, root: Any, referred: Mapping[str, Any], *, ignore_modern_dialects: bool = False, by_draft: bool = False
    ) -> None:
        draft = (dialect(root) or _DRAFT_4) if by_draft else dialect(root)
        if by_draft and draft not in _DRAFTS:
            raise JsonSchemaError("its $schema is not one of the drafts 4, 6 and 7")
        self._modern = draft in _MODERN and not ignore_modern_dialects
        self._by_draft = by_draft
        #: The draft whose words count, up to 7.
        self._draft = _DRAFTS.get(draft or "", 7) if by_draft else 7
        try:
            self._documents = Documents(root, referred, "id" if _DRAFTS.get(draft or "") == 4 else "$id")
        except NoReference as error:
            raise JsonSchemaError(str(error)) from None
        self._shapes: dict[int, Shape] = {}
        self._combined = 0
        self.root = self.of(self._documents.root)

    def of(self, place: Place) -> Shape:
        """The shape of a place; the same one for the same place, so that a schema inside itself is known again."""
        try:
            return self._known(place, 0)
        except NoReference as error:  # of an `$id` within it
            raise JsonSchemaError(str(error)) from None

    def _known(self, place: Place, level: int) -> Shape:
        if not isinstance(place.json, dict):
            return self._load(place, level)
        known = self._shapes.get(id(place))
        if known is None:
            known = self._shapes[id(place)] = self._load(place, level)
        return known

    def referred(self, reference: Reference) -> Shape:
        try:
            return self.of(self._documents.find(reference.to, reference.base.base))
        except NoReference as error:
            raise JsonSchemaError(str(error)) from None

    def _load(self, place: Place, level: int) -> Shape:
        json = place.json
        if isinstance(json, bool):
            return Untyped("true" if json else "false")
        if not isinstance(json, dict):
            raise JsonSchemaError("a schema is neither an object nor true or false")
        if level > _LEVELS_MAX:
            raise JsonSchemaError(f"schemas lie more than {_LEVELS_MAX} levels deep in allOf, anyOf or oneOf")
        parts = self._modern_parts(place, level) if self._modern else self._parts(place, level)
        words = _words(json, defaults=not self._by_draft)
        match parts:
            case []:
                return Untyped("a schema that names no type", words)
            case [part]:
                return replace(part, words=words)
            case _:
                return Combined("allOf", parts, words)

    # Drafts 4, 6 and 7.

    def _parts(self, place: Place, level: int) -> list[Shape]:
        json = place.json
        if "$ref" in json:
            return [_reference(place)]
        parts = [*self._beside_types(place, level)]
        kinds = json.get("type", [])
        for kind in kinds if isinstance(kinds, list) else [kinds]:
            if kind not in TYPES:
                raise JsonSchemaError("'type' is not a JSON Schema type")
        if isinstance(kinds, list):
            if "type" in json:
                parts.append(Combined("anyOf", [self._typed(kind, place) for kind in kinds]))
            told = set(kinds)
        else:
            parts.append(self._typed(kinds, place))
            told = {kinds}
        parts += [
            self._typed(kind, place)
            for kind, words in (("array", OF_ARRAYS), ("string", OF_TEXT), ("object", OF_OBJECTS))
            if kind not in told and any(word in json for word in words if self._draft > 4 or word not in SINCE_6)
        ]
        if not told & {"number", "integer"} and any(word in json for word in OF_NUMBERS):
            parts.append(Numeric())
        if self._draft > 6 and any(word in json for word in ("if", "then", "else")):
            parts.append(Untyped("if"))
        return parts

    def _typed(self, kind: str, place: Place) -> Shape:
        match kind:
            case "array":
                return self._array(place, tuples=True)
            case "object":
                return self._object(place)
            case _:
                return _plain(kind)

    # 2019-09 and 2020-12.

    def _modern_parts(self, place: Place, level: int) -> list[Shape]:
        json = place.json
        parts: list[Shape] = []
        if "$ref" in json:
            parts.append(_reference(place))
        parts += self._beside_types(place, level)
        kinds = json.get("type", [])
        for kind in kinds if isinstance(kinds, list) else [kinds]:
            if kind not in TYPES:
                raise JsonSchemaError("'type' is not a JSON Schema type")
        if isinstance(kinds, list) and "type" in json:
            parts.append(Combined("anyOf", [_plain(kind) for kind in kinds]))
        told = "" if isinstance(kinds, list) else kinds
        if told == "array" or any(word in json for word in MODERN_ARRAYS):
            parts.append(self._array(place, tuples=False))
        if told == "object" or any(word in json for word in MODERN_OBJECTS):
            parts.append(self._object(place))
        if told == "string" or any(word in json for word in MODERN_TEXT):
            parts.append(Text())
        if told in ("number", "integer") or any(word in json for word in OF_NUMBERS):
            parts.append(Numeric(told == "integer"))
        if told in ("boolean", "null"):
            parts.append(_plain(told))
        if any(word in json for word in ("if", "then", "else")):
            parts.append(Untyped("if"))
        return parts

    # Both.

    def _beside_types(self, place: Place, level: int) -> Iterable[Shape]:
        json = place.json
        if "enum" in json:
            if not isinstance(json["enum"], list):
                raise JsonSchemaError("'enum' is not an array")
            yield OneOfValues(tuple(json["enum"]))
        for word in CRITERIA:
            if word in json:
                if not isinstance(json[word], list):
                    raise JsonSchemaError(f"'{word}' is not an array")
                self._combined += len(json[word])
                if self._combined > SCHEMAS_MAX:
                    raise JsonSchemaError(f"the schema stands for more than {SCHEMAS_MAX} schemas")
                inner = [self._documents.place(each, place.base) for each in json[word]]
                yield Combined(word, [self._known(each, level + 1) for each in inner])
        if "not" in json:
            yield Untyped("not")
        if "const" in json and self._draft > 4:
            yield Constant()

    def _array(self, place: Place, *, tuples: bool) -> ArrayOf:
        json = place.json
        items = json.get("items")
        if items is None or (tuples and isinstance(items, list)):
            return ArrayOf()
        if not isinstance(items, dict) and not (isinstance(items, bool) and self._draft > 4):
            raise JsonSchemaError("'items' is not a schema")
        if not tuples and (isinstance(items, bool) or "prefixItems" in json):
            return ArrayOf()
        return ArrayOf(self._documents.place(items, place.base))

    def _object(self, place: Place) -> ObjectOf:
        json = place.json
        properties, required = json.get("properties", {}), json.get("required", [])
        if not isinstance(properties, dict):
            raise JsonSchemaError("'properties' is not an object")
        if not isinstance(required, list) or not all(isinstance(each, str) for each in required):
            raise JsonSchemaError("'required' is not an array of names")
        rest = json.get("additionalProperties")
        if rest is not None and not isinstance(rest, dict | bool):
            raise JsonSchemaError("'additionalProperties' is not a schema")
        return ObjectOf(
            {name: self._documents.place(each, place.base) for name, each in properties.items()},
            frozenset(required),
            self._documents.place(rest, place.base) if isinstance(rest, dict) else None,
        )


def dialect(json: Any) -> str | None:
    """The draft that a schema names, without the mark at its end."""
    name = json.get("$schema") if isinstance(json, dict) else None
    return name.rstrip("#") if isinstance(name, str) else None


def _reference(place: Place) -> Reference:
    to = place.json["$ref"]
    if not isinstance(to, str):
        raise JsonSchemaError("'$ref' is not a string")
    return Reference(to, place)


def _plain(kind: str) -> Shape:
    """A type, with nothing said of it."""
    match kind:
        case "array":
            return ArrayOf()
        case "object":
            return ObjectOf()
        case "string":
            return Text()
        case "boolean":
            return Boolean()
        case "null":
            return Null()
        case _:
            return Numeric(kind == "integer")


def _words(json: dict[str, Any], *, defaults: bool) -> Words:
    for name in ("title", "description"):
        if not isinstance(json.get(name, ""), str):
            raise JsonSchemaError(f"'{name}' is not a string")
    connect = {name: each for name, each in json.items() if name.startswith("connect.")}
    default = json.get("default", ABSENT) if defaults else ABSENT
    return Words(json.get("title"), json.get("description"), default, connect)
