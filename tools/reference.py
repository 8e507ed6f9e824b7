"""README's reference of properties, from the tables themselves: `python -m tools.reference` writes it anew."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final, assert_never

from kafka_s3.settings import block_gzip, connect, converter_names, credential_names, exporter, s3_sink
from kafka_s3.settings.properties import Family, Honoured, Needless, Property, Refused, Required, Status, render

README: Final = Path(__file__).resolve().parents[1] / "README.md"
BEGIN: Final = "<!-- properties: python -m tools.reference -->\n"
END: Final = "<!-- end of properties -->\n"
TABLES: Final = {
    "The sink's": (*s3_sink.PROPERTIES, *s3_sink.BELIEVED, *credential_names.PROPERTIES),
    "Connect's": (*connect.PROPERTIES, *converter_names.PROPERTIES),
    "The older Block-GZIP connector's": block_gzip.PROPERTIES,
    "Our own": exporter.PROPERTIES,
}


def reference() -> str:
    """The tables in Markdown, one for each origin of properties."""
    parts = []
    for title, properties in TABLES.items():
        rows = [f"| `{prop.name}` | {_default(prop)} | {_meaning(prop)} |\n" for prop in properties]
        if title == "Connect's":
            rows += [f"| `{family.prefix}*` | | {_said(family.status) or family.doc} |\n" for family in _families()]
        parts.append(f"**{title}**\n\n| property | default | here |\n|---|---|---|\n{''.join(rows)}")
    return "\n".join(parts)


def replaced(text: str) -> str:
    """README's text with the reference as it is now."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{README} has no place for the reference: {BEGIN.strip()} … {END.strip()}")
    return f"{before}{BEGIN}{reference()}{END}{after}"


def _families() -> list[Family]:
    """Without the one that a class of the user's own reads: it has a sentence in README."""
    families = (*connect.FAMILIES, *converter_names.FAMILIES)
    said = (each for each in families if not isinstance(each.status, Honoured) or each.doc)
    return sorted(said, key=lambda family: family.prefix)


def _default(prop: Property) -> str:
    if isinstance(prop.default, Required):
        return "required"
    text = render(prop.default)
    return f"`{text.rpartition('.')[2] if prop.kind.value == 'CLASS' else text}`" if text else ""


def _meaning(prop: Property) -> str:
    said = _said(prop.status)
    if said:
        return said
    known = [choice for choice in prop.choices if not choice.refused]
    names = [choice.short if prop.kind.value == "CLASS" else choice.name for choice in known]
    allowed = ", ".join(f"`{name}`" for name in names if name)
    meaning = prop.doc
    if len(names) > 1:
        meaning += f" One of {allowed}{', or your own class as `module:Class`' if prop.own else ''}."
    if prop.only is not None:
        meaning += f" Needless elsewhere: {prop.only.reason}."
    return meaning.replace("|", "\\|")


def _said(status: Status) -> str:
    match status:
        case Honoured():
            return ""
        case Needless(reason):
            return f"accepted, has no effect: {reason}"
        case Refused(reason, way_out):
            return f"refused: {reason}; {way_out}"
        case _ as never:
            assert_never(never)


if __name__ == "__main__":
    made = replaced(README.read_text())
    if made != README.read_text():
        README.write_text(made)
        print("README.md: properties written anew", file=sys.stderr)
