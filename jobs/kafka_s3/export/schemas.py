"""What a driver asks a schema registry before its tasks start, so that they need not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kafka_s3.ports import KnownSchemas, RegisteredSchema, SchemaRegistry
from kafka_s3.settings.content import Converter, SubjectNames
from kafka_s3.settings.model import Settings

#: What goes to every task, in characters of schemas; tasks ask for the rest. With values and keys it stays well below
#: the 1 MiB up to which Spark keeps a task in memory.
KNOWN_CHARS_MAX: Final = 256 * 1024


def known_schemas(registry: SchemaRegistry, settings: Settings, topics: Iterable[str], *, key: bool) -> KnownSchemas:
    """All versions of the subjects of these topics' values or keys, and their schemas, the newest first.

    Asked after a plan has its ends it is all that the plan's records need: their schemas were registered before them.
    Nothing where the converter needs no registry, or where only a record tells its subject.
    """
    converter = settings.format.key if key else settings.format.value
    if converter.converter is not Converter.AVRO or converter.subject_names is not SubjectNames.TOPIC:
        return KnownSchemas()
    versions = {}
    for topic in topics:
        subject = f"{topic}-key" if key else f"{topic}-value"
        versions[subject] = registry.versions(subject)
    newest_first = sorted(((number, id) for each in versions.values() for id, number in each.items()), reverse=True)
    schemas: dict[int, RegisteredSchema] = {}
    chars = 0
    for _, id in newest_first:
        schema = None if id in schemas else registry.schema(id)
        if schema is None:
            continue
        chars += len(schema.text) + sum(map(len, schema.references))
        if chars > KNOWN_CHARS_MAX:
            break
        schemas[id] = schema
    return KnownSchemas(schemas, versions)


def merge(*parts: KnownSchemas) -> KnownSchemas:
    """All that is known together, of one registry: ids mean nothing in another."""
    merged = KnownSchemas({}, {})
    for part in parts:
        merged = KnownSchemas({**merged.schemas, **part.schemas}, {**merged.versions, **part.versions})
    return merged
