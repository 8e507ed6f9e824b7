"""Values checked by their JSON Schema, as `json.fail.invalid.schema=true` asks for it.

What checking takes is bounded: patterns take time that is linear in the text (`patterns`), and what a value takes is
counted before it is checked (`effort`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import jsonschema_rs

from kafka_s3.json_schema.documents import Documents, NoReference
from kafka_s3.json_schema.effort import Effort
from kafka_s3.json_schema.load import dialect
from kafka_s3.json_schema.patterns import options_for
from kafka_s3.json_schema.shapes import JsonSchemaError
from kafka_s3.shown import named

_BASE: Final = "json-schema:///"
_VALIDATORS: Final[Mapping[str, Any]] = {
    "http://json-schema.org/draft-04/schema": jsonschema_rs.Draft4Validator,
    "http://json-schema.org/draft-06/schema": jsonschema_rs.Draft6Validator,
    "https://json-schema.org/draft/2019-09/schema": jsonschema_rs.Draft201909Validator,
    "https://json-schema.org/draft/2020-12/schema": jsonschema_rs.Draft202012Validator,
}
_MODERN: Final = (jsonschema_rs.Draft201909Validator, jsonschema_rs.Draft202012Validator)
#: Of a place in a schema, in a reason.
_WORDS_MAX: Final = 12
#: To say where a value is not valid, the library copies it for each check of `anyOf` and `oneOf` that failed: so many
#: bytes, at most.
_COPIED_MAX: Final = 10_000_000


class Validation:
    """Of values of one schema. `JsonSchemaError` where it cannot be had. `kept_bytes`: what its patterns may take."""

    def __init__(self, root: Any, referred: Mapping[str, Any], *, ignore_modern_dialects: bool = False) -> None:
        kind = _VALIDATORS.get(dialect(root) or "", jsonschema_rs.Draft7Validator)
        if ignore_modern_dialects and kind in _MODERN:
            kind = jsonschema_rs.Draft7Validator
        word = "id" if kind is jsonschema_rs.Draft4Validator else "$id"
        try:
            documents = Documents(root, referred, word)
        except NoReference as error:
            raise JsonSchemaError(str(error)) from None
        self._effort = Effort(documents, ref_alone=kind not in _MODERN)
        self._has_choices = any(map(_has_choices, (root, *referred.values())))
        patterns, self.kept_bytes = options_for((root, *referred.values()))
        base = root.get(word) if isinstance(root, dict) else None
        base = base if isinstance(base, str) and "://" in base else _BASE
        try:
            self._is_valid = (made := self._made(kind, root, referred, base, patterns)).is_valid
        except (ValueError, jsonschema_rs.ReferencingError, RecursionError) as error:
            raise JsonSchemaError(f"it is not a valid JSON Schema: {named(str(error).splitlines()[0])}") from None
        self._validate = made.validate

    @staticmethod
    def _made(kind: Any, root: Any, referred: Mapping[str, Any], base: str, patterns: Any) -> Any:
        # A reference is known by its name and by what that is where it is relative to the schema.
        registry = jsonschema_rs.Registry(
            [(address, json_) for name, json_ in referred.items() for address in {name, _beside(base, name)}]
        )
        return kind(
            root,
            validate_formats=kind not in _MODERN,
            registry=registry,
            base_uri=base,
            pattern_options=patterns,
            offline=True,
        )

    def problem(self, payload: bytes) -> str | None:
        """Why a value is not valid, by the place in the schema that it breaks; nothing of the value is in it."""
        value = json.loads(payload)
        heavy = self._effort.problem(payload, value)
        if heavy is not None:
            return heavy
        if self._is_valid(value):
            return None
        most = _COPIED_MAX // len(payload)
        if self._has_choices and self._effort.checks(value, most) > most:
            return "not valid by its schema"
        path: list[str] = []
        try:
            self._validate(value)
        except jsonschema_rs.ValidationError as error:
            path = [str(each) for each in error.schema_path]
        return f"not valid by its schema at {named('/'.join(path[:_WORDS_MAX]))}"


def _beside(base: str, name: str) -> str:
    return name if "://" in name else base.rpartition("/")[0] + "/" + name


def _has_choices(document: Any) -> bool:
    waiting = [document]
    while waiting:
        here = waiting.pop()
        if isinstance(here, dict):
            if "anyOf" in here or "oneOf" in here:
                return True
            waiting += here.values()
        elif isinstance(here, list):
            waiting += here
    return False
