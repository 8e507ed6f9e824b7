"""A schema registry in memory, and one of files."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from kafka_s3.errors import ConfigurationError
from kafka_s3.ports import KnownSchemas, RegisteredSchema

ID_MAX: Final = 2**31 - 1
_FILE_NAME: Final = re.compile(r"[1-9][0-9]{0,9}")
_EXAMPLE: Final = "Name each file by the id that the records carry: 1.avsc, 2.avsc, …"


class MemoryRegistry:
    """A `SchemaRegistry` that ends with the process. Thread-safe.

    `schemas` are there under their ids; `register` adds more, as a registry numbers them. `every_subject`: the version
    of every id, whichever subject is asked for. `requests` logs what was asked for, each once, by port method and id
    or subject: `schema 7`, `versions orders-value`.
    """

    def __init__(
        self, schemas: Mapping[int, RegisteredSchema] | None = None, *, every_subject: Mapping[int, int] | None = None
    ) -> None:
        self.requests: list[str] = []
        self._schemas = dict(schemas or {})
        self._every_subject = every_subject
        self._subjects: dict[str, list[int]] = {}  # the id of version 1, 2, …
        self._answered: dict[int, RegisteredSchema | None] = {}
        self._answered_versions: dict[str, Mapping[int, int]] = {}
        self._failures: list[Exception] = []
        self._lock = threading.RLock()

    def register(
        self, subject: str, text: str, *, type: str = "AVRO", references: Sequence[tuple[str, int]] = ()
    ) -> int:
        """The id of a schema, now the newest version of a subject unless it was one; the same one in every subject.

        `references`: subjects and versions of what it refers to.
        """
        with self._lock:
            texts: list[str] = []
            for referred, version in references:
                needed = self._schemas[self._subjects[referred][version - 1]]
                texts += [*needed.references, needed.text]
            schema = RegisteredSchema(0, text, type, tuple(dict.fromkeys(texts)))
            same = [id for id, each in self._schemas.items() if _content(each) == _content(schema)]
            id = same[0] if same else max(self._schemas, default=0) + 1
            self._schemas.setdefault(id, RegisteredSchema(id, text, type, schema.references))
            versions = self._subjects.setdefault(subject, [])
            if id not in versions:
                versions.append(id)
            return id

    def fail_next(self, error: Exception) -> None:
        """The next request fails, once; calls queue up."""
        with self._lock:
            self._failures.append(error)

    def again(self) -> MemoryRegistry:
        """The same registry for somebody who has not asked it yet; what is registered later is told to neither."""
        with self._lock:
            other = MemoryRegistry(self._schemas, every_subject=self._every_subject)
            other._subjects = {subject: list(ids) for subject, ids in self._subjects.items()}
            return other

    # SchemaRegistry.

    def schema(self, id: int) -> RegisteredSchema | None:
        with self._lock:
            if id not in self._answered:
                self._request(f"schema {id}")
                self._answered[id] = self._schemas.get(id)
            return self._answered[id]

    def versions(self, subject: str) -> Mapping[int, int]:
        with self._lock:
            if subject not in self._answered_versions:
                self._request(f"versions {subject}")
                numbered = {id: number for number, id in enumerate(self._subjects.get(subject, ()), 1)}
                self._answered_versions[subject] = numbered if self._every_subject is None else self._every_subject
            return self._answered_versions[subject]

    def known(self) -> KnownSchemas:
        with self._lock:
            schemas = {id: schema for id, schema in self._answered.items() if schema is not None}
            return KnownSchemas(schemas, dict(self._answered_versions))

    def _request(self, what: str) -> None:
        self.requests.append(what)
        if self._failures:
            raise self._failures.pop(0)


def folder_registry(path: Path) -> MemoryRegistry:
    """The Avro schemas of a folder's files `<id>.avsc`; ascending ids are the versions 1, 2, … of every subject."""
    try:
        files = sorted(each for each in path.iterdir() if each.suffix == ".avsc")
    except OSError as error:
        raise ConfigurationError(f"The folder of schemas {path} cannot be read: {error.strerror}.") from error
    if not files:
        raise ConfigurationError(f"There are no schemas in {path}.", next=_EXAMPLE)
    schemas = {}
    for file in files:
        id = int(file.stem) if _FILE_NAME.fullmatch(file.stem) else 0
        if not 0 < id <= ID_MAX:
            raise ConfigurationError(f"{file} is not named by an id from 1 to {ID_MAX}.", next=_EXAMPLE)
        schemas[id] = RegisteredSchema(id, _json_text(file))
    return MemoryRegistry(schemas, every_subject={id: number for number, id in enumerate(sorted(schemas), 1)})


def _json_text(file: Path) -> str:
    try:
        text = file.read_text("utf-8")
        json.loads(text)
    except OSError as error:
        raise ConfigurationError(f"The schema {file} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"The schema {file} is not JSON: {error}.", next="Write an Avro schema.") from error
    return text


def _content(schema: RegisteredSchema) -> tuple[str, str, tuple[str, ...]]:
    return schema.text, schema.type, schema.references
