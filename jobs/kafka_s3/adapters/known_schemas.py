"""What a driver asks a schema registry before its tasks start, so that they need not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from kafka_s3.ports import KnownSchemas, RegisteredSchema, SchemaId, SchemaRegistry
from kafka_s3.settings.converters import WITH_REGISTRY, ConverterSettings
from kafka_s3.settings.glue import GlueSettings
from kafka_s3.settings.model import Settings
from kafka_s3.settings.registry import SubjectNames


@dataclass(frozen=True, slots=True)
class Known:
    """What a driver hands to its tasks, of the registries of values and of keys."""

    values: KnownSchemas = field(default_factory=KnownSchemas)
    keys: KnownSchemas = field(default_factory=KnownSchemas)


NOTHING_KNOWN: Final = Known()

#: What goes to every task of values or of keys, about in bytes; tasks ask for the rest. Both together stay below the
#: 1 MiB up to which Spark keeps a task in memory.
KNOWN_CHARS_MAX: Final = 256 * 1024
KNOWN_VERSIONS_CHARS_MAX: Final = 128 * 1024
#: What a schema takes beside its texts, and a version at most: an id and a number.
_SCHEMA_CHARS: Final = 64
_VERSION_CHARS: Final = 10
_GLUE_VERSION_CHARS: Final = 50


def known_schemas(registry: SchemaRegistry, settings: Settings, topics: Iterable[str], *, key: bool) -> KnownSchemas:
    """All versions of the subjects of these topics' values or keys, and their schemas, the newest first.

    Asked after a plan has its ends it is all that the plan's records need: their schemas were registered before them.
    Nothing where the converter needs no registry, or where only a record tells its subject.

    Its size: at most `KNOWN_CHARS_MAX` of schemas, each with 64 and the characters of its texts, and
    `KNOWN_VERSIONS_CHARS_MAX` of versions, each subject with the characters of its name and 10 for each version. A
    subject that does not fit is left out as a whole: tasks ask for what is not there, and take what is there for all.
    """
    converter = settings.format.key if key else settings.format.value
    if converter.converter not in WITH_REGISTRY or converter.subject_names is not SubjectNames.TOPIC:
        return KnownSchemas()
    subjects = _subjects(converter, topics, key=key)
    versions = {subject: registry.versions(subject) for subject in subjects}
    numbered = [(number, id) for each in versions.values() for id, number in each.items()]
    newest_first = sorted(numbered, key=lambda pair: (pair[0], str(pair[1]).rjust(_VERSION_CHARS)), reverse=True)
    return KnownSchemas(_newest(registry, newest_first), _fitting(versions))


def _subjects(converter: ConverterSettings, topics: Iterable[str], *, key: bool) -> list[str]:
    if isinstance(converter.registry, GlueSettings):  # Glue's serializers call keys and values by the topic alike
        name = converter.registry.schema_name
        return list(topics) if name is None else [name]
    return [f"{topic}-key" if key else f"{topic}-value" for topic in topics]


def _newest(registry: SchemaRegistry, newest_first: Iterable[tuple[int, SchemaId]]) -> dict[SchemaId, RegisteredSchema]:
    schemas: dict[SchemaId, RegisteredSchema] = {}
    chars = 0
    for _, id in newest_first:
        schema = None if id in schemas else registry.schema(id)
        if schema is None:
            continue
        chars += _SCHEMA_CHARS + len(schema.text) + sum(map(len, (*schema.references, *schema.names)))
        if chars > KNOWN_CHARS_MAX:
            break
        schemas[id] = schema
    return schemas


def _fitting(versions: Mapping[str, Mapping[SchemaId, int]]) -> dict[str, Mapping[SchemaId, int]]:
    """The subjects that go along, in their order; a smaller one may fit where a larger one does not."""
    fitting = {}
    left = KNOWN_VERSIONS_CHARS_MAX
    for subject, each in versions.items():
        chars = len(subject) + sum(_GLUE_VERSION_CHARS if isinstance(id, str) else _VERSION_CHARS for id in each)
        if chars <= left:
            left -= chars
            fitting[subject] = each
    return fitting


def merge(*parts: KnownSchemas) -> KnownSchemas:
    """All that is known together, of one registry: ids mean nothing in another."""
    merged = KnownSchemas({}, {})
    for part in parts:
        merged = KnownSchemas({**merged.schemas, **part.schemas}, {**merged.versions, **part.versions})
    return merged
