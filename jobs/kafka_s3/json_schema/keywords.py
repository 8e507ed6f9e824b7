"""Words of schemas, by the type of what they say something about."""

from __future__ import annotations

from typing import Final

TYPES: Final = ("string", "integer", "number", "boolean", "null", "array", "object")
OF_ARRAYS: Final = ("items", "additionalItems", "minItems", "maxItems", "uniqueItems", "contains")
OF_TEXT: Final = ("minLength", "maxLength", "pattern", "format")
OF_NUMBERS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
OF_OBJECTS: Final = (
    "properties",
    "required",
    "additionalProperties",
    "minProperties",
    "maxProperties",
    "patternProperties",
    "propertyNames",
    "dependencies",
)
#: Of these, what draft 4 does not have.
SINCE_6: Final = ("contains", "propertyNames")
#: What 2019-09 and 2020-12 have beside these; `format` says nothing there.
MODERN_ARRAYS: Final = (*OF_ARRAYS, "prefixItems", "unevaluatedItems", "minContains", "maxContains")
MODERN_TEXT: Final = ("minLength", "maxLength", "pattern")
MODERN_OBJECTS: Final = (*OF_OBJECTS, "dependentRequired", "dependentSchemas", "unevaluatedProperties")
CRITERIA: Final = ("allOf", "anyOf", "oneOf")
