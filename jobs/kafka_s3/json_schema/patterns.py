"""Patterns of JSON Schemas: what matching one takes, and what all of them take compiled.

They are matched in time that is linear in the text (no lookaround, no back references), times their length.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

import jsonschema_rs

from kafka_s3.json_schema.shapes import JsonSchemaError
from kafka_s3.shown import named

#: Bytes that a compiled pattern may take: it counts as the first of these that is enough.
_SIZES: Final = tuple(4**power * 1024 for power in (2, 3, 4, 5, 6))
#: All patterns of a schema together, and what they remember of texts while they match.
_TOGETHER_MAX: Final = 128 * 1024 * 1024
_REMEMBERED_MAX: Final = 64 * 1024 * 1024
#: By one of them: where there are very many, where all are small, and the most; and how many times its own size.
_REMEMBERED_BY_ONE: Final = 64 * 1024, 256 * 1024, 2 * 1024 * 1024
_REMEMBERED_TIMES: Final = 4
#: Beside its steps, what it takes to begin with a text.
_BEGIN: Final = 10

_TOKEN: Final = re.compile(
    r"\\[pP]\{[^}]*\}|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|(?P<times>\{(?P<from>\d{1,9})(?P<to>,\d{0,9})?\})|(?P<sign>[()|?*+])|.",
    re.DOTALL,
)


def steps_of(pattern: str) -> int:
    """The length of a pattern whose repetitions are written out: what matching takes for each character, at most.

    >>> steps_of("^[A-Z]{2}$"), steps_of("(a|b){10}"), steps_of("a{2,}"), steps_of("(a{3}b){4}")
    (4, 20, 2, 16)
    """
    groups = [[0, 0]]  # of each open group: its length, and that of what is repeated next
    for token in _TOKEN.finditer(pattern):
        here = groups[-1]
        if token["times"]:
            most = max(int(token["from"]), int((token["to"] or ",0")[1:] or 0))
            here[0] += here[1] * max(most - 1, 0)
        elif token["sign"] == "(":
            groups.append([0, 0])
        elif token["sign"] == ")" and len(groups) > 1:
            length = groups.pop()[0]
            groups[-1][0] += length
            groups[-1][1] = length
        elif not token["sign"]:
            here[0] += 1
            here[1] = 1
    return sum(length for length, _ in groups)


def matching_of(patterns: Iterable[str]) -> int:
    """What it takes to match each of some patterns with a text, for each of its bytes, and one more."""
    return sum(steps_of(each) + _BEGIN for each in patterns)


def options_for(documents: Iterable[Any]) -> tuple[jsonschema_rs.RegexOptions, int]:
    """How the patterns of some documents are matched, and the bytes that they may take. `JsonSchemaError` where they
    cannot be."""
    patterns = {each for document in documents for each in _patterns(document)}
    together = largest = 0
    for each in sorted(patterns):
        size = _size(each)
        together += size
        largest = max(largest, size)
        if together > _TOGETHER_MAX:
            raise JsonSchemaError(f"its {len(patterns)} patterns take too much memory together")
    low, small, high = _REMEMBERED_BY_ONE
    remembered = min(high, max(small, _REMEMBERED_TIMES * largest))
    remembered = min(remembered, max(low, _REMEMBERED_MAX // max(len(patterns), 1)))
    options = jsonschema_rs.RegexOptions(size_limit=_SIZES[-1], dfa_size_limit=remembered)
    return options, together + len(patterns) * remembered


def _size(pattern: str) -> int:
    for size in _SIZES:
        try:
            options = jsonschema_rs.RegexOptions(size_limit=size)
            jsonschema_rs.Draft7Validator({"pattern": pattern}, pattern_options=options)
        except ValueError:
            continue
        return size
    raise JsonSchemaError(
        f"the pattern {named(pattern)} cannot be matched in linear time: it is too large, not valid, or looks"
        " around or back"
    )


def _patterns(document: Any) -> Iterator[str]:
    """Everything in a document that may be a pattern."""
    waiting = [document]
    while waiting:
        here = waiting.pop()
        if isinstance(here, dict):
            if isinstance(here.get("pattern"), str):
                yield here["pattern"]
            properties = here.get("patternProperties")
            if isinstance(properties, dict):
                yield from properties
            waiting += here.values()
        elif isinstance(here, list):
            waiting += here
