"""A schema registry in memory, and one of files."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from kafka_s3.errors import ConfigurationError
from kafka_s3.ports import KnownSchemas, RegisteredSchema, SchemaId

ID_MAX: Final = 2**31 - 1
_FILE_NAME: Final = re.compile(r"[1-9][0-9]{0,9}")
_GLUE_NAME: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PROTO_NAME: Final = re.compile(rf"(?:{_FILE_NAME.pattern}|{_GLUE_NAME.pattern})\.proto")
_JSON_NAME: Final = re.compile(rf"(?:{_FILE_NAME.pattern}|{_GLUE_NAME.pattern})\.json")
_TYPES: Final = {".proto": "PROTOBUF", ".json": "JSON", ".avsc": "AVRO"}
_EXAMPLE: Final = "Name each file by the id that the records carry: 1.avsc, 1.proto or 1.json, …"


class MemoryRegistry:
    """A `SchemaRegistry` that ends with the process. Thread-safe.

    `schemas` are there under their ids; `register` adds more, as a registry numbers them. `every_subject`: the version
    of every id, whichever subject is asked for. `requests` logs what was asked for, each once, by port method and id
    or subject: `schema 7`, `versions orders-value`.
    """

    def __init__(
        self,
        schemas: Mapping[SchemaId, RegisteredSchema] | None = None,
        *,
        every_subject: Mapping[SchemaId, int] | None = None,
    ) -> None:
        self.requests: list[str] = []
        self._schemas = dict(schemas or {})
        self._every_subject = every_subject
        self._subjects: dict[str, list[SchemaId]] = {}  # the id of version 1, 2, …
        self._answered: dict[SchemaId, RegisteredSchema | None] = {}
        self._answered_versions: dict[str, Mapping[SchemaId, int]] = {}
        self._failures: list[Exception] = []
        self._lock = threading.RLock()

    def register(
        self,
        subject: str,
        text: str,
        *,
        type: str = "AVRO",
        references: Sequence[tuple[str, int]] = (),
        names: Sequence[str] = (),
    ) -> int:
        """The id of a schema, now the newest version of a subject unless it was one; the same one in every subject.

        `references`: subjects and versions of what it refers to. `names`: what a schema of PROTOBUF or JSON
        calls each.
        """
        with self._lock:
            texts: list[str] = []
            imported: dict[str, str] = {}
            for number, (referred, version) in enumerate(references):
                needed = self._schemas[self._subjects[referred][version - 1]]
                texts += [*needed.references, needed.text]
                if type in ("PROTOBUF", "JSON"):
                    imported = {**dict(zip(needed.names, needed.references, strict=True)), **imported}
                    imported[names[number]] = needed.text
            if type in ("PROTOBUF", "JSON"):
                schema = RegisteredSchema(0, text, type, tuple(imported.values()), tuple(imported))
            else:
                schema = RegisteredSchema(0, text, type, tuple(dict.fromkeys(texts)))
            numbered = [(id, each) for id, each in self._schemas.items() if isinstance(id, int)]
            same = [id for id, each in numbered if _content(each) == _content(schema)]
            id = same[0] if same else max((id for id, _ in numbered), default=0) + 1
            self._schemas.setdefault(id, RegisteredSchema(id, text, type, schema.references, schema.names))
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

    def schema(self, id: SchemaId) -> RegisteredSchema | None:
        with self._lock:
            if id not in self._answered:
                self._request(f"schema {id}")
                self._answered[id] = self._schemas.get(id)
            return self._answered[id]

    def versions(self, subject: str) -> Mapping[SchemaId, int]:
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
    """The schemas of a folder's files `<id>.avsc`, `<id>.proto` and `<id>.json` (JSON Schema); ascending ids are the
    versions 1, 2, … of every subject. All other `.proto` and `.json` files below the folder may be referred to, by
    their paths in it. Files named by the id of a version in Glue are that version, numbered in the order of their
    names."""
    try:
        protos = {each.relative_to(path).as_posix(): each for each in sorted(path.rglob("*.proto"))}
        jsons = {each.relative_to(path).as_posix(): each for each in sorted(path.rglob("*.json"))}
        files = sorted(each for each in path.iterdir() if each.suffix == ".avsc")
    except OSError as error:
        raise ConfigurationError(f"The folder of schemas {path} cannot be read: {error.strerror}.") from error
    files += [protos.pop(name) for name in list(protos) if _PROTO_NAME.fullmatch(name)]
    own = [jsons.pop(name) for name in list(jsons) if _JSON_NAME.fullmatch(name)]
    files += own
    if not files:
        raise ConfigurationError(f"There are no schemas in {path}.", next=_EXAMPLE)
    imported = {name: _text(each) for name, each in protos.items()}
    referred = {name: _json_text(each) for name, each in jsons.items()} if own else {}
    schemas: dict[SchemaId, RegisteredSchema] = {}
    for number, file in enumerate(files, 1):
        if _GLUE_NAME.fullmatch(file.stem):
            type = _TYPES[file.suffix]
            text = _text(file) if type == "PROTOBUF" else _json_text(file)
            schemas[file.stem] = RegisteredSchema(file.stem, text, type, version=number)
            continue
        id = int(file.stem) if _FILE_NAME.fullmatch(file.stem) else 0
        if not 0 < id <= ID_MAX:
            raise ConfigurationError(f"{file} is not named by an id from 1 to {ID_MAX}.", next=_EXAMPLE)
        if id in schemas:
            raise ConfigurationError(f"{file} has the id of another schema, {id}.", next=_EXAMPLE)
        if file.suffix == ".proto":
            schemas[id] = RegisteredSchema(id, _text(file), "PROTOBUF", tuple(imported.values()), tuple(imported))
        elif file.suffix == ".json":
            schemas[id] = RegisteredSchema(id, _json_text(file), "JSON", tuple(referred.values()), tuple(referred))
        else:
            schemas[id] = RegisteredSchema(id, _json_text(file))
    ids = sorted(id for id in schemas if isinstance(id, int))
    return MemoryRegistry(schemas, every_subject={id: number for number, id in enumerate(ids, 1)})


def _json_text(file: Path) -> str:
    text = _text(file)
    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        kind = "a JSON Schema" if file.suffix == ".json" else "an Avro schema"
        raise ConfigurationError(f"The schema {file} is not JSON: {error}.", next=f"Write {kind}.") from error
    return text


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except OSError as error:
        raise ConfigurationError(f"The schema {file} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        kind = "text" if file.suffix == ".proto" else "JSON"
        raise ConfigurationError(f"The schema {file} is not {kind}: {error}.") from error


def _content(schema: RegisteredSchema) -> tuple[str, str, tuple[str, ...], tuple[str, ...]]:
    return schema.text, schema.type, schema.references, schema.names
