"""A schema registry that is asked for each thing once."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kafka_s3.adapters.registry.answer_cache import AnswerCache
from kafka_s3.errors import RegistryRefused
from kafka_s3.ports import KnownSchemas, RegisteredSchema, SchemaId
from kafka_s3.settings.registry import RegistrySettings

if TYPE_CHECKING:
    from kafka_s3.adapters.registry.requests import Answer, Reference, Requests

ID_MAX: Final = 2**31 - 1  # four bytes of a record, signed
#: Ids that the registry does not have and that are remembered; bytes that are not Avro may look like any id.
#: At most about 100 bytes each.
MISSING_MAX: Final = 100_000
#: What one schema may refer to, directly and indirectly; and how far down.
REFERENCES_MAX: Final = 1000
REFERENCES_DEPTH_MAX: Final = 100
#: The texts of all that, together.
REFERENCES_CHARS_MAX: Final = 16 * 1024 * 1024
#: Versions of one subject: each costs a request.
VERSIONS_MAX: Final = 10_000
#: What is kept of schemas by id, of those that came with versions, of those referred to, and of versions, each; in
#: characters. The largest schema fits with all that it refers to. Beyond it the oldest are dropped, and asked for anew.
KEPT_MAX: Final = 32 * 1024 * 1024
#: What anything that is kept takes beside its characters.
_KEPT_EACH: Final = 256
_VERSION_SIZE: Final = 128
_LOCKS: Final = 16
_NOTHING: Final = KnownSchemas()


class ConfluentRegistry:
    """A `SchemaRegistry`: Confluent's, or one that answers as it does. Thread-safe; pickles as what it knows.

    An id, a subject and a reference are asked for once, unless `known` has the answer or more than `KEPT_MAX` came
    after it.
    """

    def __init__(self, settings: RegistrySettings, known: KnownSchemas = _NOTHING) -> None:
        self._settings = settings
        self._schemas = AnswerCache(KEPT_MAX, _schema_size, known.schemas)
        self._versions = AnswerCache(KEPT_MAX, _versions_size, known.versions)
        self._missing: set[SchemaId] = set()
        #: Schemas by id that a subject's versions brought along.
        self._answers: AnswerCache[int, Answer] = AnswerCache(KEPT_MAX, _answer_size, {})
        self._references: AnswerCache[Reference, Answer] = AnswerCache(KEPT_MAX, _answer_size, {})
        self._requests: Requests | None = None
        # One for each thing that may be asked for would be too many; two things that share one wait for each other.
        self._id_locks = [threading.Lock() for _ in range(_LOCKS)]
        self._subject_locks = [threading.Lock() for _ in range(_LOCKS)]
        self._requests_lock = threading.Lock()

    def __reduce__(self) -> tuple[object, ...]:
        return ConfluentRegistry, (self._settings, self.known())

    def schema(self, id: SchemaId) -> RegisteredSchema | None:
        found = self._schemas.get(id)
        if found is not None or id in self._missing or not isinstance(id, int) or not 0 < id <= ID_MAX:
            return found
        with _one_of(self._id_locks, id):
            found = self._schemas.get(id)
            if found is not None or id in self._missing:
                return found
            answer = self._answers.get(id) or self._client.schema(id)
            if answer is not None:
                found = RegisteredSchema(id, answer.text, answer.type, *self._texts(id, answer))
                self._schemas.put(id, found)
            else:
                if len(self._missing) >= MISSING_MAX:
                    self._missing = set()
                self._missing.add(id)
            return found

    def versions(self, subject: str) -> Mapping[SchemaId, int]:
        """Deleted versions are versions: records may have been written with them. Of two with one id the later."""
        found = self._versions.get(subject)
        if found is not None:
            return found
        with _one_of(self._subject_locks, subject):
            found = self._versions.get(subject)
            if found is None:
                found = self._versions_of(subject)
                self._versions.put(subject, found)
            return found

    def known(self) -> KnownSchemas:
        return KnownSchemas(self._schemas.all(), self._versions.all())

    @property
    def _client(self) -> Requests:
        with self._requests_lock:
            if self._requests is None:
                from kafka_s3.adapters.registry.requests import Requests

                self._requests = Requests(self._settings)
            return self._requests

    def _versions_of(self, subject: str) -> dict[SchemaId, int]:
        if not _is_name(subject):
            return {}
        numbers = self._client.versions(subject)
        if len(numbers) > VERSIONS_MAX:
            raise RegistryRefused(
                f"The subject {subject!r:.100} has {len(numbers)} versions; {VERSIONS_MAX} are the most.",
                next="Delete for good what no record needs.",
            )
        versions: dict[SchemaId, int] = {}
        for number in sorted(numbers):
            answer = self._client.version(subject, number)
            if answer is not None:
                versions[answer.id] = number
                if self._answers.get(answer.id) is None:
                    self._answers.put(answer.id, answer)
        return versions

    def _texts(self, id: int, answer: Answer) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """All that a schema refers to, each before those that need it; and, but of AVRO, what each is called there."""
        found: dict[Reference, Answer] = {}
        self._follow(f"schema {id}", answer.references, found, ())
        if answer.type not in ("PROTOBUF", "JSON"):
            return tuple(dict.fromkeys(each.text for each in found.values())), ()
        imported: dict[str, str] = {}
        for each in (answer, *reversed(found.values())):  # of two of one name that of the schema itself
            for name, reference in zip(each.names, each.references, strict=True):
                imported.setdefault(name, found[reference].text)
        return tuple(imported.values()), tuple(imported)

    def _follow(
        self, whose: str, references: Sequence[Reference], found: dict[Reference, Answer], path: tuple[Reference, ...]
    ) -> None:
        for reference in references:
            if reference in found:
                continue
            if reference in path:
                raise _unusable(whose, f"refers to itself by way of {_words(reference)}")
            if len(path) >= REFERENCES_DEPTH_MAX or len(found) >= REFERENCES_MAX:
                raise _unusable(
                    whose, f"refers to more than {REFERENCES_MAX} schemas or deeper than {REFERENCES_DEPTH_MAX}"
                )
            answer = self._referenced(whose, reference)
            self._follow(whose, answer.references, found, (*path, reference))
            found[reference] = answer
            if sum(len(each.text) for each in found.values()) > REFERENCES_CHARS_MAX:
                raise _unusable(whose, f"refers to schemas of more than {REFERENCES_CHARS_MAX} characters together")

    def _referenced(self, whose: str, reference: Reference) -> Answer:
        answer = self._references.get(reference)
        if answer is None:
            answer = self._client.version(*reference) if _is_name(reference[0]) else None
            if answer is None:
                raise _unusable(whose, f"refers to {_words(reference)}, which is not there")
            self._references.put(reference, answer)
        return answer


def _schema_size(schema: RegisteredSchema) -> int:
    return _KEPT_EACH + len(schema.text) + sum(map(len, (*schema.references, *schema.names)))


def _versions_size(versions: Mapping[SchemaId, int]) -> int:
    return _KEPT_EACH + _VERSION_SIZE * len(versions)


def _answer_size(answer: Answer) -> int:
    return _KEPT_EACH + len(answer.text) + _KEPT_EACH * len(answer.references) + sum(map(len, answer.names))


def _one_of(locks: Sequence[threading.Lock], key: Hashable) -> threading.Lock:
    return locks[hash(key) % len(locks)]


def _is_name(subject: str) -> bool:
    """Whether a URL can name it; names come out of schemas, and no registry takes others."""
    try:
        subject.encode()
    except UnicodeEncodeError:
        return False
    return subject not in ("", ".", "..")


def _words(reference: Reference) -> str:
    return f"version {reference[1]} of the subject {reference[0]!r:.100}"


def _unusable(whose: str, why: str) -> RegistryRefused:
    return RegistryRefused(
        f"The registry's {whose} {why}.", next="Correct it in the registry: records cannot be read without it."
    )
