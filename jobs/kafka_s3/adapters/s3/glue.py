"""Glue's schema registry, over boto3: versions of schemas by their ids, each asked for once."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

from botocore import exceptions as aws
from botocore.config import Config

from kafka_s3.adapters.retry import Retrying
from kafka_s3.adapters.retry_policy import GLUE, Again, again
from kafka_s3.adapters.s3.credentials import session_for
from kafka_s3.adapters.s3.translation import LIBRARY_ERRORS, is_temporary
from kafka_s3.errors import RegistryRefused, RegistryUnavailable, StoreRefused, StoreUnavailable
from kafka_s3.ports import KnownSchemas, RegisteredSchema, SchemaId
from kafka_s3.settings.credentials import Anonymous, AssumeRole, UserDefinedProvider
from kafka_s3.settings.glue import GlueSettings
from kafka_s3.settings.s3 import RetrySettings, S3Settings

T = TypeVar("T")
CONNECT_TIMEOUT_S: Final = 10
READ_TIMEOUT_S: Final = 30
#: Of one question, with all its tries.
RETRY_TIMEOUT_S: Final = 60.0
_BACKOFF_MS: Final = 100
_WAIT_MAX_S: Final = 5.0
_RETRIES_MAX: Final = 100_000  # the time is the limit
#: Schemas that are kept, and ids that are known to be missing; a schema has at most 170,000 characters (Glue's limit).
KEPT_MAX: Final = 1000
MISSING_MAX: Final = 100_000
#: Versions of one schema that a driver asks for in advance.
VERSIONS_MAX: Final = 10_000
_NOTHING: Final = KnownSchemas()
_MISSING: Final = "EntityNotFoundException"
_DENIED: Final = frozenset({"AccessDeniedException", "AccessDenied"})
_CHANCE: Final = random.SystemRandom()


class GlueRegistry:
    """A `SchemaRegistry` whose ids are those of schema versions. Thread-safe; pickles as what it knows.

    Credentials are those of the bucket, or a role that they assume.
    """

    def __init__(self, s3: S3Settings, glue: GlueSettings, known: KnownSchemas = _NOTHING) -> None:
        self._s3 = s3
        self._glue = glue
        self._schemas: dict[SchemaId, RegisteredSchema] = dict(known.schemas)
        self._versions: dict[str, Mapping[SchemaId, int]] = dict(known.versions)
        self._missing: set[SchemaId] = set()
        self._made: Any = None
        self._lock = threading.RLock()
        self._retrying = Retrying(
            RetrySettings(_RETRIES_MAX, _BACKOFF_MS),
            retry_on=RegistryUnavailable,
            time_max_s=RETRY_TIMEOUT_S,
            uniform=lambda low, high: _CHANCE.uniform(low, min(high, _WAIT_MAX_S)),
        )

    def __reduce__(self) -> tuple[object, ...]:
        return GlueRegistry, (self._s3, self._glue, self.known())

    def schema(self, id: SchemaId) -> RegisteredSchema | None:
        with self._lock:  # whoever waits here waits for the same answer, as a rule
            found = self._schemas.get(id)
            if found is not None or id in self._missing:
                return found
            found = self._retrying(lambda: self._ask_schema(str(id)))
            if found is None:
                if len(self._missing) >= MISSING_MAX:
                    self._missing.clear()
                self._missing.add(id)
                return None
            while len(self._schemas) >= KEPT_MAX:
                del self._schemas[next(iter(self._schemas))]
            self._schemas[id] = found
            return found

    def versions(self, subject: str) -> Mapping[SchemaId, int]:
        """The versions of the schema of this name; none where the credentials may not list them: `schema` needs no
        such right."""
        with self._lock:
            if subject not in self._versions:
                self._versions[subject] = self._retrying(lambda: dict(self._ask_versions(subject)))
            return self._versions[subject]

    def known(self) -> KnownSchemas:
        with self._lock:
            return KnownSchemas(dict(self._schemas), dict(self._versions))

    def _ask_schema(self, id: str) -> RegisteredSchema | None:
        what = f"schema version {id}"

        def ask() -> RegisteredSchema | None:
            answer = self._client.get_schema_version(SchemaVersionId=id)
            status = str(answer.get("Status", "AVAILABLE"))
            if status == "PENDING":  # for seconds, while Glue checks whether it is compatible
                raise RegistryUnavailable(
                    f"{self._place} is still checking {what} (PENDING).",
                    next="The next try goes on from here; `aws glue get-schema-version` shows its status.",
                )
            text, kind = answer["SchemaDefinition"], str(answer.get("DataFormat", "AVRO"))
            return RegisteredSchema(id, text, kind, version=answer.get("VersionNumber"), status=status)

        return self._translated(what, ask, missing=lambda: None)

    def _ask_versions(self, name: str) -> Iterator[tuple[SchemaId, int]]:
        which = {"RegistryName": self._glue.registry_name, "SchemaName": name}
        what = f"the versions of the schema {name!r:.100}"

        def ask() -> list[tuple[SchemaId, int]]:
            found: list[tuple[SchemaId, int]] = []
            for page in self._client.get_paginator("list_schema_versions").paginate(SchemaId=which):
                found += [(each["SchemaVersionId"], each["VersionNumber"]) for each in page.get("Schemas", ())]
                if len(found) > VERSIONS_MAX:
                    return []
            return found

        return iter(self._translated(what, ask, missing=list, denied=list))

    def _translated(
        self, what: str, ask: Callable[[], T], *, missing: Callable[[], T], denied: Callable[[], T] | None = None
    ) -> T:
        try:
            return ask()
        except aws.ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", ""))
            if code == _MISSING:
                return missing()
            if denied is not None and code in _DENIED:
                return denied()
            raise self._answered(error, code, what) from None  # its text may hold a secret
        except LIBRARY_ERRORS as error:
            text = f"{self._place} did not answer the question for {what}: {self._hidden(error)}."
            if is_temporary(error):
                raise RegistryUnavailable(text, next="Are the region and the endpoint of Glue right?") from None
            raise RegistryRefused(text, next="Correct the credentials, the region or the endpoint of Glue.") from None
        except StoreUnavailable as error:  # what the credentials said
            raise RegistryUnavailable(error.what, next=error.next) from None
        except StoreRefused as error:
            raise RegistryRefused(error.what, next=error.next) from None
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            raise RegistryRefused(
                f"{self._place} answered the question for {what} with something that is not Glue's:"
                f" {self._hidden(error)}.",
                next="Does the endpoint name Glue?",
            ) from None

    def _answered(self, error: aws.ClientError, code: str, what: str) -> RegistryRefused | RegistryUnavailable:
        status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
        said = self._hidden(str(error.response.get("Error", {}).get("Message", ""))) or "no reason given"
        text = f"{self._place} answered {status} {code} to the question for {what}: {said.rstrip('.')}."
        if again(GLUE, code, status) is Again.YES:
            return RegistryUnavailable(text, next="The next try goes on from here.")
        if code in _DENIED:
            return RegistryRefused(text, next="Allow glue:GetSchemaVersion to the credentials that the export uses.")
        return RegistryRefused(text, next="Correct the credentials, the region or the endpoint of Glue.")

    @property
    def _place(self) -> str:
        return f"AWS Glue in {self._region}" + (f" at {self._glue.endpoint}" if self._glue.endpoint else "")

    @property
    def _region(self) -> str:
        return self._glue.region or self._s3.region

    def _hidden(self, said: object) -> str:
        text = " ".join(str(said).split())[:200]
        for secret in (self._s3.secret_access_key, self._s3.session_token):
            if secret:
                text = text.replace(secret, "[hidden]")
        return text or type(said).__name__

    @property
    def _client(self) -> Any:
        if self._made is None:
            self._made = _make_client(self._s3, self._glue, self._region)
        return self._made


def _make_client(s3: S3Settings, glue: GlueSettings, region: str) -> Any:
    if glue.role_arn is not None:
        s3 = replace(s3, credentials=AssumeRole(glue.role_arn, glue.role_session_name, region=region))
    given = not isinstance(s3.credentials, AssumeRole | UserDefinedProvider)  # they get the keys themselves
    if isinstance(s3.credentials, Anonymous) and s3.access_key_id is None:
        raise StoreRefused(
            "Glue answers no anonymous requests, and s3.credentials.provider.class is anonymous.",
            next="Set aws.access.key.id and aws.secret.access.key, or another provider.",
        )
    proxies = {"http": s3.proxy_url, "https": s3.proxy_url} if s3.proxy_url else None
    return session_for(s3).client(
        "glue",
        region_name=region,
        endpoint_url=glue.endpoint,
        aws_access_key_id=s3.access_key_id if given else None,
        aws_secret_access_key=s3.secret_access_key if given else None,
        aws_session_token=s3.session_token if given else None,
        config=Config(
            connect_timeout=CONNECT_TIMEOUT_S,
            read_timeout=READ_TIMEOUT_S,
            retries={"total_max_attempts": 1, "mode": "standard"},
            proxies=proxies,
            use_fips_endpoint=s3.use_fips,
            use_dualstack_endpoint=s3.use_dualstack,
        ),
    )
