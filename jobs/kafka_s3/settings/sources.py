"""Puts the places a configuration comes from in order: connector file, Airflow connections, worker file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from kafka_s3.errors import Problem
from kafka_s3.settings import aiven, catalogue, connect, credentials, kafka
from kafka_s3.settings.aws_connection import AwsConnection, read_connection
from kafka_s3.settings.kafka_client import ClientLayer
from kafka_s3.settings.properties import Property, ResolvedProperty, near_match
from kafka_s3.settings.reach import FILE_ROOTS
from kafka_s3.settings.variables import Given, Lookups, Refusal, Source, has_variable, resolve

#: What an Airflow AWS connection calls the connector's properties.
_AWS: Final = {
    "aws_access_key_id": "aws.access.key.id",
    "aws_secret_access_key": "aws.secret.access.key",
    "region_name": "s3.region",
    "endpoint_url": "store.url",
    "export.log.key": "export.log.key",
}
_SECRETS: Final = ("aws_secret_access_key", "export.log.key")
_KEYS: Final = ("aws.access.key.id", "aws.secret.access.key")
#: Of Kafka and of the registry: files that their clients open by themselves.
_PLACES: Final = (
    *("ssl.truststore.location", "ssl.keystore.location"),
    *(f"sasl.oauthbearer.assertion.{name}" for name in ("file", "private.key.file", "template.file")),
)


@dataclass(slots=True)
class Gathered:
    """Everything that was given: one text per connector property, client properties in layers, the first one wins."""

    properties: dict[str, Given] = field(default_factory=dict)
    client: list[ClientLayer] = field(default_factory=list)
    session_token: Given | None = None
    aws: AwsConnection = field(default_factory=AwsConnection)
    rows: list[ResolvedProperty] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    unresolved: list[Problem] = field(default_factory=list)  # of variables that need no value here
    aivens: aiven.Translated | None = None  # where the connector file is one of Aiven's S3 sink
    refused_client: list[str] = field(default_factory=list)  # why nothing can be asked of Kafka by a process that looks

    @property
    def hidden(self) -> frozenset[str]:
        """What variables stood for."""
        given = [*self.properties.values(), *(each for layer in self.client for _, each in layer.given.values())]
        return frozenset(text for each in given for text in each.found if text.strip())


def gather(
    connector: Mapping[str, str],
    worker: Mapping[str, str],
    *,
    lookups: Lookups | None,
    kafka_connection: Mapping[str, object] | None,
    aws_connection: Mapping[str, str] | None,
    offline: bool,
) -> Gathered:
    """Merge the places and resolve variables.

    Without `lookups` no variable is resolved. With `offline`, one that has no value is left as it stands, unless its
    property shapes bytes.
    """
    gathered = Gathered()
    defaults, worker_client = _split_worker(worker, gathered)
    own, overrides = _split_connector(connector)
    aivens = aiven.translated(own)
    if aivens.is_aivens:
        gathered.aivens = aivens
        gathered.rows += aivens.rows
        gathered.problems += aivens.problems
        defaults = {**aivens.defaults, **defaults}
    merged = _merge(credentials.translated(aivens.given), _from_connection(aws_connection or {}), defaults)
    for name, given in merged.items():
        prop = catalogue.find(name)
        lenient = offline and not (isinstance(prop, Property) and prop.shapes)
        resolved = _resolve(name, given, lookups, lenient, gathered)
        if resolved is not None:
            gathered.properties[name] = resolved
    airflow = {
        name: (name, Given(str(value).lower() if isinstance(value, bool) else str(value), Source.AIRFLOW))
        for name, value in (kafka_connection or {}).items()
        if value is not None
    }
    for layer, native in ((overrides, False), (airflow, True), (worker_client, False)):
        texts: dict[str, tuple[str, Given]] = {}
        for name, (written, given) in layer.items():
            resolved = given if native else _resolve(written, given, lookups, offline, gathered)
            if resolved is not None:
                texts[name] = (written, resolved)
        gathered.client.append(ClientLayer(texts, native))
    gathered.aws = _reached(aws_connection or {}, gathered)
    token = (aws_connection or {}).get("aws_session_token")
    if token and all(gathered.properties.get(key, _NOWHERE).source is Source.AIRFLOW for key in _KEYS):
        gathered.session_token = Given(token, Source.AIRFLOW, secret=True)
    return gathered


_NOWHERE: Final = Given("", Source.DEFAULT)


def _reached(given: Mapping[str, str], gathered: Gathered) -> AwsConnection:
    """How the AWS connection says that AWS is reached. The connector's own keys or provider stand above its role."""
    found = read_connection(given)
    gathered.problems += found.problems
    if found.role is None:
        return found
    given_here = (each for each in gathered.properties.items() if each[1].source is Source.CONNECTOR)
    own = sorted(name for name, each in given_here if name in (credentials.CLASS, *_KEYS) and each.text.strip())
    meaning = f"overridden by {own[0]}" if own else "The role that is assumed."
    gathered.rows.append(ResolvedProperty("role_arn", found.role.arn, Source.AIRFLOW.value, meaning, ignored=bool(own)))
    return replace(found, role=None) if own else found


def _resolve(name: str, given: Given, lookups: Lookups | None, lenient: bool, gathered: Gathered) -> Given | None:
    if name in catalogue.READ_BY_THE_DAG and has_variable(given.text):
        gathered.problems.append(
            Problem(name, given.text, "must not contain a variable: Airflow reads it while it builds the DAG")
        )
        return None
    resolved = _within_reach(name, resolve(given, lookups), lookups)
    if isinstance(resolved, Given):
        return resolved
    if isinstance(resolved, Refusal) and lookups is not None and lookups.reach.only_looks:
        if name.startswith(kafka.OVERRIDE) or catalogue.find(name) is None:
            gathered.refused_client.append(str(Problem(name, None, resolved)))
            lenient = True
        else:
            lenient = lenient or not _is_needed_to_look(name)
    if lenient:
        gathered.unresolved.append(Problem(name, None, resolved))
        return replace(given, resolved=False)
    gathered.problems.append(Problem(name, None, resolved))
    return None


def _within_reach(name: str, resolved: Given | str, lookups: Lookups | None) -> Given | str:
    """The same, unless it names a file that a client would open and this process may not.

    A connection of Airflow's is not asked about: whoever writes one may run code anyway.
    """
    if lookups is None or not isinstance(resolved, Given) or not name.endswith(_PLACES):
        return resolved
    place = resolved.text.strip()
    if not place or lookups.reach.has_file(place):
        return resolved
    return Refusal(f"names a file that is not looked up here: {FILE_ROOTS} does not allow it in this process")


def _is_needed_to_look(name: str) -> bool:
    """Whether a process that only looks at a connector's log needs the property: it says where and how the log is."""
    prop = catalogue.find(name)
    shapes = isinstance(prop, Property) and prop.shapes
    return name.startswith(("s3.", "aws.", "store.url", "export.log.")) and not shapes


def _split_connector(connector: Mapping[str, str]) -> tuple[dict[str, Given], dict[str, tuple[str, Given]]]:
    own: dict[str, Given] = {}
    overrides: dict[str, tuple[str, Given]] = {}
    for name, text in connector.items():
        given = Given(text, Source.CONNECTOR)
        if name.startswith(kafka.OVERRIDE):
            overrides[name.removeprefix(kafka.OVERRIDE)] = (name, given)
        else:
            own[name] = given
    return own, overrides


def _split_worker(
    worker: Mapping[str, str], gathered: Gathered
) -> tuple[dict[str, Given], dict[str, tuple[str, Given]]]:
    """The worker file's defaults for connectors, and its client properties (`consumer.` before plain ones)."""
    defaults: dict[str, Given] = {}
    plain: dict[str, tuple[str, Given]] = {}
    consumer: dict[str, tuple[str, Given]] = {}
    for name, text in worker.items():
        given = Given(text, Source.WORKER)
        if name.startswith("consumer."):
            bare = name.removeprefix(kafka.OVERRIDE).removeprefix("consumer.")
            consumer[bare] = (name, given)
        elif name in catalogue.CONNECTOR_ONLY:
            gathered.problems.append(Problem(name, text, "belongs in the connector file, not in the worker file"))
        elif name in connect.WORKER_NAMES or name.startswith(connect.WORKER_PREFIXES):
            gathered.rows.append(
                ResolvedProperty(name, "", given.source.value, "ignored: only a Connect worker uses it", ignored=True)
            )
        elif catalogue.find(name) is not None:
            defaults[name] = given
        elif name in kafka.JAVA:
            plain[name] = (name, given)
        else:
            known = [*catalogue.PROPERTIES, *connect.WORKER_NAMES, *kafka.JAVA]
            message = f"unknown property in the worker file.{near_match(name, known)}"
            gathered.problems.append(Problem(name, None, message))
    return defaults, {**plain, **consumer}


def _from_connection(aws: Mapping[str, str]) -> dict[str, Given]:
    return {
        ours: Given(aws[theirs], Source.AIRFLOW, secret=theirs in _SECRETS)
        for theirs, ours in _AWS.items()
        if aws.get(theirs)
    }


def _merge(own: dict[str, Given], aws: dict[str, Given], defaults: dict[str, Given]) -> dict[str, Given]:
    """One text per property. A pair of keys, or a converter with its options, comes from one place as a whole."""
    if any(own.get(key, _NOWHERE).text.strip() for key in _KEYS):
        aws = {name: given for name, given in aws.items() if name not in _KEYS}
        defaults = {name: given for name, given in defaults.items() if name not in _KEYS}
    elif any(key in aws for key in _KEYS):
        defaults = {name: given for name, given in defaults.items() if name not in _KEYS}
        own = {name: given for name, given in own.items() if name not in _KEYS}
    for converter in ("key.converter", "value.converter", "header.converter"):
        if converter in own:
            defaults = {name: given for name, given in defaults.items() if not name.startswith(converter)}
    return {**defaults, **aws, **own}
