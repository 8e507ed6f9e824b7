"""All properties a connector file may hold, by name."""

from __future__ import annotations

from typing import Final

from kafka_s3.settings import block_gzip, client_names, connect, converter_names, credential_names, exporter, s3_sink
from kafka_s3.settings.properties import Family, Property, near_match

PROPERTIES: Final[dict[str, Property]] = {
    prop.name: prop
    for table in (
        connect.PROPERTIES,
        converter_names.PROPERTIES,
        s3_sink.PROPERTIES,
        s3_sink.BELIEVED,
        credential_names.PROPERTIES,
        block_gzip.PROPERTIES,
        exporter.PROPERTIES,
    )
    for prop in table
}

#: Read while Airflow builds the DAG, where no variable has a value.
READ_BY_THE_DAG: Final = frozenset(
    (
        "name",
        "rotate.schedule.interval.ms",
        "timezone",
        "export.schedule",
        "export.schedule.assets",
        "export.owner",
        "export.tags",
        "export.verify.schedule",
        "export.reexport.enable",
        "export.reexport.max.active.runs",
        "export.kafka.conn.id",
        "export.aws.conn.id",
    )
)

#: Never in the worker file: each connector has its own.
CONNECTOR_ONLY: Final = frozenset(("name", "topics", "topics.regex"))


def find(name: str) -> Property | Family | None:
    """The row of a property, else the family it belongs to, else `None`."""
    if name in PROPERTIES:
        return PROPERTIES[name]
    families = [family for family in (*connect.FAMILIES, *converter_names.FAMILIES) if name.startswith(family.prefix)]
    return max(families, key=lambda family: len(family.prefix)) if families else None


def unknown(name: str) -> str:
    """The sentence about a name that is none, with what was probably meant."""
    if not name:
        return "a property without a name: its name was lost, or the line begins with '=' or ':'"
    bare = name.removeprefix("consumer.")
    if bare in client_names.JAVA:
        return f"is the Kafka client's: write {connect.OVERRIDE}{bare}, or put it into the worker file"
    return f"unknown property.{near_match(name, PROPERTIES)}"


def near_member(name: str) -> str:
    """The near match of a converter's misspelt option: Connect would leave it out without a word."""
    family = find(name)
    if not isinstance(family, Family) or family.prefix not in converter_names.OPTIONS:
        return ""
    return near_match(name, [known for known in PROPERTIES if known.startswith(family.prefix)])
