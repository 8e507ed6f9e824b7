"""The schema registry behind AvroConverter, ProtobufConverter and JsonSchemaConverter: its properties, rules about
them, and what they are in the settings."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Final, TypeVar
from urllib.parse import unquote, urlsplit

from kafka_s3.errors import Problem
from kafka_s3.json_schema.options import Options as JsonSchemaOptions
from kafka_s3.protobuf.options import Options
from kafka_s3.settings import validators
from kafka_s3.settings.client_checks import Client
from kafka_s3.settings.kafka_client import ClientLayer, read_stores, translate_stores
from kafka_s3.settings.properties import (
    HIDDEN,
    SUPPORTED,
    AppliesWhen,
    Choice,
    Ignored,
    Kind,
    Property,
    PropertyPrefix,
    ResolvedProperty,
)
from kafka_s3.settings.reach import Reach
from kafka_s3.settings.validation import ParsedConfig
from kafka_s3.settings.variables import Given

#: Whose options these are.
AVRO_CONVERTER: Final = "io.confluent.connect.avro.AvroConverter"
PROTOBUF_CONVERTER: Final = "io.confluent.connect.protobuf.ProtobufConverter"
JSON_SCHEMA_CONVERTER: Final = "io.confluent.connect.json.JsonSchemaConverter"
CONVERTERS: Final = (AVRO_CONVERTER, PROTOBUF_CONVERTER, JSON_SCHEMA_CONVERTER)
SIDES: Final = ("value", "key")
#: What the options of a converter begin with, a misspelt one among them.
OPTIONS: Final = tuple(f"{side}.converter." for side in SIDES)
USER_INFO: Final = "USER_INFO"
URL: Final = "URL"
STATIC_TOKEN: Final = "STATIC_TOKEN"  # noqa: S105  # the name of a kind of token
_TOKENS: Final = "is not supported: set bearer.auth.credentials.source=STATIC_TOKEN and bearer.auth.token"
_NOT_WRITTEN = Ignored("nothing is registered: only producers use it")
_AS_WRITTEN = Ignored("schemas are kept as their producers wrote them")
_FEW = Ignored("schemas are few and small")
_Options = TypeVar("_Options", Options, JsonSchemaOptions)
#: An option of ProtobufConverter and of JsonSchemaConverter.
_OF_BOTH: Final = "generalized.sum.type.support"
_URL: Final = "schema.registry.url"
_SOURCE: Final = "basic.auth.credentials.source"
_USER_INFO: Final = ("basic.auth.user.info", "schema.registry.basic.auth.user.info")
_BEARER: Final = "bearer.auth.credentials.source"
_TOKEN: Final = "bearer.auth.token"  # noqa: S105  # the name of a property
_CLUSTER: Final = "bearer.auth.logical.cluster"
_POOL: Final = "bearer.auth.identity.pool.id"
_SSL: Final = "schema.registry.ssl."
_HOST_CHECK: Final = "ssl.endpoint.identification.algorithm"
#: librdkafka's properties that are the registry's client's as well, and those that `adapters.registry` adds to it.
_FILES: Final = ("ssl.ca.location", "ssl.certificate.location", "ssl.key.location", "ssl.key.password")
_TEXTS: Final = ("ssl.ca.pem", "ssl.certificate.pem", "ssl.key.pem")


class SubjectNames(enum.Enum):
    """Which subject of the registry holds the versions of a schema."""

    TOPIC = "io.confluent.kafka.serializers.subject.TopicNameStrategy"
    RECORD = "io.confluent.kafka.serializers.subject.RecordNameStrategy"
    TOPIC_RECORD = "io.confluent.kafka.serializers.subject.TopicRecordNameStrategy"


@dataclass(frozen=True, slots=True)
class RegistrySettings:
    """How to reach a schema registry: confluent-kafka's own properties, `url` among them, secrets too."""

    client: Mapping[str, str] = field(default_factory=dict, repr=False)
    retry_timeout_ms: int = 60_000


def properties(side: str) -> tuple[Property, ...]:
    """Those of one side's converter with a registry."""
    prefix = f"{side}.converter."
    only = AppliesWhen(f"{side}.converter", CONVERTERS)
    return (
        Property(
            f"{prefix}schema.registry.url",
            Kind.LIST,
            (),
            "URLs of the schema registry; required.",
            check=validators.registry_url,
            applies_when=only,
            lenient=True,
        ),
        Property(
            f"{prefix}{side}.subject.name.strategy",
            Kind.CLASS,
            SubjectNames.TOPIC.value,
            "Which subject of the registry holds the versions of a schema.",
            choices=tuple(Choice(names.value) for names in SubjectNames),
            shapes=True,
            applies_when=only,
            lenient=True,
        ),
        *_login_rows(prefix, only),
        *_protobuf_rows(side),
        *_json_schema_rows(side),
        *_ignored_rows(prefix),
    )


def _login_rows(prefix: str, only: AppliesWhen) -> tuple[Property, ...]:
    """User and password, or a token: secrets but for where they are."""
    basic, bearer = f"{prefix}basic.auth.credentials.source", f"{prefix}bearer.auth.credentials.source"
    with_user = AppliesWhen(basic, (USER_INFO,))
    with_token = AppliesWhen(bearer, (STATIC_TOKEN,))
    inherited = f"Kafka's login is not handed to the registry: set {USER_INFO} and {prefix}basic.auth.user.info"
    sources = (Choice(URL), Choice(USER_INFO), Choice("SASL_INHERIT", refused=inherited))
    tokens = ("OAUTHBEARER", "SASL_OAUTHBEARER_INHERIT", "CUSTOM")
    token_sources = (
        Choice(""),
        Choice(STATIC_TOKEN),
        *(Choice(source, refused=f"{source} {_TOKENS}") for source in tokens),
    )

    def user_info(name: str, doc: str) -> Property:
        check = validators.user_info
        return Property(f"{prefix}{name}", Kind.PASSWORD, None, doc, check=check, applies_when=with_user, lenient=True)

    def token(name: str, kind: Kind, default: str | None, doc: str) -> Property:
        return Property(f"{prefix}bearer.auth.{name}", kind, default, doc, applies_when=with_token, lenient=True)

    where = "Where the user name and password for the registry come from: USER_INFO or the URL."
    instead = "STATIC_TOKEN: authenticate with a token instead of a user name and password."
    return (
        Property(basic, Kind.STRING, URL, where, choices=sources, applies_when=only, lenient=True),
        user_info("basic.auth.user.info", "User name and password for the registry, as user:password."),
        user_info("schema.registry.basic.auth.user.info", "Older name of basic.auth.user.info."),
        Property(bearer, Kind.STRING, "", instead, choices=token_sources, applies_when=only, lenient=True),
        token("token", Kind.PASSWORD, None, "Token for the registry."),
        token("logical.cluster", Kind.STRING, "", "Logical cluster of the registry that the token is for."),
        token("identity.pool.id", Kind.STRING, "", "Identity pool of the token."),
    )


def _protobuf_rows(side: str) -> tuple[Property, ...]:
    """What changes the fields of a message (`protobuf.options`)."""
    docs = {
        "enhanced.protobuf.schema.support": "Keep packages in the names of messages and enums.",
        _OF_BOTH: "Mark enums and oneofs as Connect's own, for other converters.",
        "flatten.unions": "Make the fields of a oneof fields of its message, not of a struct of their own.",
        "generate.index.for.unions": "Append the index of a oneof to the name of its struct.",
        "generate.struct.for.nulls": "Replace an absent message by a struct of defaults.",
        "int.for.enums": "Read enums as numbers, not as names.",
        "optional.for.nullables": "Make only fields with the label optional nullable.",
        "optional.for.proto2": "Read an absent optional field of proto2 as null, not as its default.",
        "wrapper.for.nullables": "Make only wrappers (google.protobuf.Int32Value …) nullable, not plain numbers.",
        "wrapper.for.raw.primitives": "Read a wrapper as the value inside, also at the root.",
    }
    both = (PROTOBUF_CONVERTER, JSON_SCHEMA_CONVERTER)
    return tuple(
        _option(side, name, doc, both if name == _OF_BOTH else both[:1], default=_default(Options(), name))
        for name, doc in docs.items()
    )


def _json_schema_rows(side: str) -> tuple[Property, ...]:
    """What changes the schema that a JSON Schema becomes (`json_schema.options`)."""
    docs = {
        "use.optional.for.nonrequired": "Read a property that is missing as null unless it is required; otherwise its"
        " record is bad.",
        "ignore.modern.dialects": "Read schemas of 2019-09 and 2020-12 as those of draft 7.",
    }
    only = (JSON_SCHEMA_CONVERTER,)
    defaults = JsonSchemaOptions()
    validated = _option(side, "json.fail.invalid.schema", "Validate values by their JSON Schema.", only, default=False)
    return (
        *(_option(side, name, doc, only, default=_default(defaults, name)) for name, doc in docs.items()),
        replace(validated, quiet=True),
    )


def _option(side: str, name: str, doc: str, converters: tuple[str, ...], *, default: bool) -> Property:
    only = AppliesWhen(f"{side}.converter", converters)
    return Property(
        f"{side}.converter.{name}", Kind.BOOLEAN, default, doc, shapes=True, applies_when=only, lenient=True
    )


def _default(options: Options | JsonSchemaOptions, name: str) -> bool:
    return bool(getattr(options, name.replace(".", "_")))


def build_options(kind: type[_Options], config: ParsedConfig, side: str) -> _Options:
    """The options of a converter; the defaults where there is another."""
    names = [each.name for each in fields(kind)]
    return kind(**{name: config.in_effect(f"{side}.converter.{name.replace('_', '.')}") is True for name in names})


def _ignored_rows(prefix: str) -> tuple[Property, ...]:
    writing = (
        "auto.register.schemas",
        "normalize.schemas",
        "id.compatibility.strict",
        "latest.compatibility.strict",
        "avro.remove.java.properties",
    )
    as_written = (
        "enhanced.avro.schema.support",
        "connect.meta.data",
        "scrub.invalid.names",
        "discard.type.doc.default",
        "allow.optional.map.keys",
        "flatten.singleton.unions",
        "ignore.default.for.nullables",
        "avro.use.logical.type.converters",
        "specific.avro.reader",
    )
    json_only = ("object.additional.properties", "json.write.dates.iso8601", "json.oneof.for.nullables")
    cached = ("max.schemas.per.subject", "schemas.cache.config", "latest.cache.size", "latest.cache.ttl.sec")
    reading = {
        **dict.fromkeys(writing, _NOT_WRITTEN),
        **dict.fromkeys(as_written, _AS_WRITTEN),
        **dict.fromkeys(json_only, _NOT_WRITTEN),
        "json.fail.unknown.properties": Ignored("properties without a schema are left out, as Connect does"),
        **dict.fromkeys(cached, _FEW),
        "use.latest.version": Ignored("every value is read with the schema that it names"),
    }
    return tuple(
        Property(f"{prefix}{name}", Kind.STRING, "", "An option of a converter with a registry.", status, lenient=True)
        for name, status in reading.items()
    )


PREFIXES: Final[tuple[PropertyPrefix, ...]] = tuple(
    PropertyPrefix(
        f"{prefix}schema.registry.ssl.",
        SUPPORTED,
        "TLS for the registry, as for Kafka: ssl.truststore.* and ssl.keystore.* of type JKS, PKCS12 or PEM,"
        " ssl.key.password.",
    )
    for prefix in OPTIONS
)


def apply_registry_rules(config: ParsedConfig) -> None:
    for side in SIDES:
        if _asks(config, side):
            _login_rules(config, side)
            _tls_rules(config, side)
        else:
            for name in _tls_given(config, side):
                meaning = f"ignored unless {AppliesWhen(f'{side}.converter', CONVERTERS).condition()}"
                source = config.given[name].source.value
                config.rows.append(ResolvedProperty(name, HIDDEN, source, meaning, ignored=True))


def build_registry(config: ParsedConfig, side: str) -> RegistrySettings | None:
    """How to reach the registry of one side's converter; `None` where it has none."""
    if not _asks(config, side):
        return None
    prefix = f"{side}.converter."
    urls = config.listed(f"{prefix}{_URL}")
    client = {"url": ",".join(without_login(url) for url in urls)}
    if config.text(f"{prefix}{_SOURCE}") == USER_INFO:
        logins = [login for name in _USER_INFO if (login := config.optional(f"{prefix}{name}"))]
    else:
        logins = _logins(urls)
    if config.text(f"{prefix}{_BEARER}") == STATIC_TOKEN:
        client["bearer.auth.credentials.source"] = STATIC_TOKEN
        client[_TOKEN] = config.text(f"{prefix}{_TOKEN}").strip()
        client[_CLUSTER] = config.text(f"{prefix}{_CLUSTER}").strip()  # Java can do without, the client here cannot
        if pool := config.optional(f"{prefix}{_POOL}"):
            client[_POOL] = pool
    elif logins:
        client["basic.auth.user.info"] = logins[0]
    stores = config.made[_made(side)].properties if _made(side) in config.made else _stores(config, side).properties
    return RegistrySettings({**client, **{name: stores[name] for name in (*_FILES, *_TEXTS) if name in stores}})


def read_registry_stores(config: ParsedConfig, reach: Reach) -> None:
    """Read the Java stores of both sides' registries."""
    for side in SIDES:
        if _asks(config, side):
            client = _stores(config, side)
            config.problems += read_stores(client, reach)
            config.made[_made(side)] = client


def _made(side: str) -> str:
    return f"{__name__}.{side}"


def without_login(url: str) -> str:
    """
    >>> without_login("https://user:pass@registry:8081/api")
    'https://registry:8081/api'
    """
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"


def _logins(urls: Iterable[str]) -> list[str]:
    """The different logins in some addresses, in their order."""
    return list(dict.fromkeys(login for url in urls if (login := _login(url))))


def _login(url: str) -> str | None:
    parts = urlsplit(url)
    if not parts.username:
        return None
    return f"{unquote(parts.username)}:{unquote(parts.password or '')}"


def _asks(config: ParsedConfig, side: str) -> bool:
    name = f"{side}.converter"
    return config.sure(name) and config.reads(name) and config.text(name) in CONVERTERS


def _login_rules(config: ParsedConfig, side: str) -> None:
    prefix, converter = f"{side}.converter.", config.text(f"{side}.converter").rpartition(".")[2]
    url, source, bearer = f"{prefix}{_URL}", f"{prefix}{_SOURCE}", f"{prefix}{_BEARER}"
    if config.sure(url) and not config.listed(url):
        config.add_problem(url, f"is required by {converter}")
    by_user = config.sure(source) and config.text(source) == USER_INFO
    if by_user and not any(f"{prefix}{name}" in config.given for name in _USER_INFO):
        config.add_problem(f"{prefix}{_USER_INFO[0]}", f"is required by {_SOURCE}=USER_INFO")
    by_token = config.sure(bearer) and config.text(bearer) == STATIC_TOKEN
    if by_token and f"{prefix}{_TOKEN}" not in config.given:
        config.add_problem(f"{prefix}{_TOKEN}", f"is required by {_BEARER}={STATIC_TOKEN}")
    by_url = config.sure(url, source, bearer) and not by_user and not by_token
    if by_url and len(_logins(config.listed(url))) > 1:
        message = (
            "contains different logins, but the registry's client uses one for all URLs: use the same login in each, "
        )
        config.add_hidden_problem(url, f"{message}or set {_SOURCE}=USER_INFO and {_USER_INFO[0]}")
    if by_user and by_token:
        config.add_problem(bearer, f"cannot be combined with {_SOURCE}=USER_INFO: set one of them")


def _tls_rules(config: ParsedConfig, side: str) -> None:
    prefix = f"{side}.converter.{_SSL.removesuffix('ssl.')}"
    client = _stores(config, side)
    config.rows += client.rows
    config.problems += client.problems
    if client.properties.get(_HOST_CHECK, "https") != "https":
        message = "the registry's certificate is always verified: remove it"
        config.problems.append(Problem(f"{prefix}{_HOST_CHECK}", None, message))
    with_key = {"ssl.key.location", "ssl.key.pem", "ssl.key.password"} & client.properties.keys()
    certified = {"ssl.certificate.location", "ssl.certificate.pem"} & client.properties.keys()
    if with_key and not certified and not any(store.holds_key for store in client.stores):
        location = f"{prefix}ssl.keystore.location"
        config.problems.append(Problem(location, None, "must contain the certificate that the key belongs to"))


def _tls_given(config: ParsedConfig, side: str) -> list[str]:
    return [name for name in config.given if name.startswith(f"{side}.converter.{_SSL}")]


def _stores(config: ParsedConfig, side: str) -> Client:
    """What TLS comes to, by the rules of Kafka's client: names, types of stores and messages are the same."""
    cut = len(f"{side}.converter.{_SSL}") - len("ssl.")
    given: dict[str, tuple[str, Given]] = {name[cut:]: (name, config.given[name]) for name in _tls_given(config, side)}
    return translate_stores(ClientLayer(given))
