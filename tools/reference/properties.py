"""Every property, from the engine's own tables."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Final, assert_never

from kafka_s3.settings import block_gzip, catalogue
from kafka_s3.settings.properties import Ignored, Property, PropertyPrefix, Refused, Required, Status, Supported, render
from tools.reference import sink

_OPTIONS: Final = frozenset(prop.name for prop in catalogue.TOPICS["Converters"])


def reference() -> str:
    """The tables in Markdown, one for each topic, then what is known by its beginning."""
    parts = []
    for title, properties in catalogue.TOPICS.items():
        shown = [prop for prop in properties if not _is_twin(prop)]
        groups = [list(group) for _, group in itertools.groupby(shown, key=_sameness)]
        rows = [
            f"| {_names(group)} | {_type(group[0])} | {_default(group[0])} | {_in_the_sink(group[0])} "
            f"| {_meaning(group[0])} |\n"
            for group in groups
        ]
        parts.append(_table(title, rows))
    families = [
        f"| `{family.prefix}*` | | | | {_linked(_said(family.status) or family.doc)} |\n" for family in _families()
    ]
    parts.append(_table("Whatever else begins with", families))
    parts.append(sink.differences())
    return "\n".join(parts)


def _table(title: str, rows: Sequence[str]) -> str:
    return f"## {title}\n\n| property | type | default | in the sink | here |\n|---|---|---|---|---|\n{''.join(rows)}"


def _families() -> list[PropertyPrefix]:
    """Without the one that a class of the user's own reads: it has a page, docs/how-to/classes.md."""
    said = (each for each in catalogue.PREFIXES if not isinstance(each.status, Supported) or each.doc)
    return sorted(said, key=lambda family: family.prefix)


def _linked(text: str) -> str:
    """With each page that a text names as a link.

    >>> _linked("its class (docs/transforms.md)")
    'its class ([transforms](../transforms.md))'
    """
    return re.sub(r"docs/((?:[\w-]+/)*([\w-]+)\.md)", r"[\2](../\1)", text)


def _twin(name: str) -> str:
    """What the option of a converter of values is called for one of keys."""
    return name.replace("value.converter.", "key.converter.", 1)


def _is_twin(prop: Property) -> bool:
    return prop.name in {_twin(name) for name in _OPTIONS if name.startswith("value.converter.")}


def _sameness(prop: Property) -> object:
    """What rows in a row have in common that are one row here: ignored options of a converter, and why."""
    return (prop.status, prop.default) if prop.name in _OPTIONS and isinstance(prop.status, Ignored) else prop.name


def _names(group: Sequence[Property]) -> str:
    """Every name that a row is about, those of keys' converters among them."""
    names = [name for prop in group for name in (prop.name, _twin(prop.name)) if name == prop.name or name in _OPTIONS]
    return ", ".join(f"`{name}`" for name in dict.fromkeys(names))


def _type(prop: Property) -> str:
    return prop.kind.value.lower()


def _default(prop: Property) -> str:
    if isinstance(prop.default, Required):
        return "required"
    text = render(prop.default)
    return f"`{text.rpartition('.')[2] if prop.kind.value == 'CLASS' else text}`" if text else ""


def _in_the_sink(prop: Property) -> str:
    """Its importance there, with a link to what differs; nothing for what the sink does not have."""
    level = sink.importance(prop.name)
    return f"{level}, [differs](#where-the-sink-differs)" if prop.name in sink.DIFFERENCES else level


def _meaning(prop: Property) -> str:
    said = _said(prop.status)
    if said:
        return said
    known = [choice for choice in prop.choices if not choice.refused]
    names: list[str] = []
    for choice in known:  # of one last part only the first is called by it
        short = choice.short if prop.kind.value == "CLASS" else choice.name
        names.append(choice.name if short in names else short)
    allowed = ", ".join(f"`{name}`" for name in names if name)
    meaning = prop.doc
    if len(names) > 1:
        meaning += f" One of {allowed}{', or your own class as `module:Class`' if prop.user_defined else ''}."
    if prop.applies_when is not None:
        otherwise = "Refused" if prop.name in block_gzip.TODAY else "Ignored"
        meaning += f" {otherwise} unless {prop.applies_when.condition()}."
    return meaning.replace("|", "\\|")


def _said(status: Status) -> str:
    match status:
        case Supported():
            return ""
        case Ignored(reason):
            return f"Ignored: {reason}."
        case Refused(reason, way_out):
            return f"Refused: {reason}. {way_out[0].upper()}{way_out[1:]}."
        case _ as never:
            assert_never(never)
