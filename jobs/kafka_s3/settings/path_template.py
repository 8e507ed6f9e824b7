"""`export.path.template`: text and placeholders that make up a path, in any order.

    region={region}/day={timestamp:yyyy-MM-dd}/{header.tenant}

Placeholders: `{field}` or `{value.field}`, `{key}`, `{key.field}`, `{header.name}`, `{topic}`, `{partition}` (Kafka's)
and `{timestamp:<Joda pattern>}`, in which a brace may stand in quotes. Nested fields are `a.b`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

#: A template is a path, of which a key has 1,024 bytes; each placeholder costs a column of a batch.
_CHARS_MAX: Final = 1024
PLACEHOLDERS_MAX: Final = 32
_KNOWN: Final = "{field}, {key}, {key.field}, {header.name}, {topic}, {partition} and {timestamp:pattern}"


class TemplateError(ValueError):
    """The template means nothing, and why, for people."""


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class ValueField:
    name: str


@dataclass(frozen=True, slots=True)
class WholeKey:
    """The key as text."""


@dataclass(frozen=True, slots=True)
class KeyField:
    """A field of a key that is JSON."""

    name: str


@dataclass(frozen=True, slots=True)
class HeaderText:
    """The last header of that name, as text."""

    name: str


@dataclass(frozen=True, slots=True)
class TopicName:
    """The topic."""


@dataclass(frozen=True, slots=True)
class KafkaPartition:
    """The number of the Kafka partition."""


@dataclass(frozen=True, slots=True)
class TimeText:
    """The time that the extractor tells, by a Joda pattern."""

    pattern: str


Placeholder = ValueField | WholeKey | KeyField | HeaderText | TopicName | KafkaPartition | TimeText
Part = Text | Placeholder


def parse_template(template: str) -> tuple[Part, ...]:
    """The parts of a template, in order. Raises `TemplateError`.

    >>> parse_template("r={region}/{timestamp:'{'yyyy}")
    (Text(text='r='), ValueField(name='region'), Text(text='/'), TimeText(pattern="'{'yyyy"))
    """
    if len(template) > _CHARS_MAX:
        raise TemplateError(f"has {len(template)} characters: the limit is {_CHARS_MAX}")
    parts: list[Part] = []
    at = 0
    while at < len(template):
        brace = template.find("{", at)
        text = template[at:] if brace < 0 else template[at:brace]
        if "}" in text:
            raise TemplateError("contains a '}' without a '{' in front of it")
        if text:
            parts.append(Text(text))
        if brace < 0:
            break
        end = _end(template, brace + 1)
        parts.append(_placeholder(template[brace + 1 : end]))
        at = end + 1
    if sum(not isinstance(part, Text) for part in parts) > PLACEHOLDERS_MAX:
        raise TemplateError(f"has more than {PLACEHOLDERS_MAX} placeholders")
    return tuple(parts)


def _end(template: str, start: int) -> int:
    """Where a placeholder ends that begins in front of `start`."""
    quoted = False
    is_time = template.startswith("timestamp:", start)
    for at in range(start, len(template)):
        if is_time and template[at] == "'":
            quoted = not quoted
        elif template[at] == "}" and not quoted:
            return at
    raise TemplateError(f"{template[start - 1 :]} has no closing '}}'")


def _placeholder(said: str) -> Placeholder:
    kind, _, pattern = said.partition(":")
    if kind == "timestamp":
        if not pattern:
            raise TemplateError("{timestamp} needs a pattern, as {timestamp:yyyy-MM-dd}; a field is {value.timestamp}")
        return TimeText(pattern)
    match said:
        case "key":
            return WholeKey()
        case "topic":
            return TopicName()
        case "partition":
            return KafkaPartition()
    if re.search(r"[{:\x00-\x1f]", said) or not all(part.strip() for part in said.split(".")):
        raise TemplateError(f"{{{said}}} is not a placeholder; known placeholders: {_KNOWN}")
    first, dot, rest = said.partition(".")
    match first if dot else "":
        case "value":
            return ValueField(rest)
        case "key":
            return KeyField(rest)
        case "header":
            return HeaderText(rest)
    return ValueField(said)
