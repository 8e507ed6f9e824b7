"""The rows about converters: what values, keys and headers are, and the options of those that read schemas."""

from __future__ import annotations

from typing import Final

from kafka_s3.settings import checks
from kafka_s3.settings.content import Converter, EnvelopeField, HeaderConverter, SubjectNames
from kafka_s3.settings.properties import HONOURED, Choice, Family, Kind, Needless, Only, Property

SIDES: Final = ("value", "key")
#: What the options of a converter begin with, a misspelt one among them.
OPTIONS: Final = tuple(f"{side}.converter." for side in SIDES)

AVRO: Final = Converter.AVRO.value
JSON: Final = Converter.JSON.value
_BYTES_WAY_OUT: Final = (
    f"have the producers write Avro or JSON, or export the bytes as they are with {Converter.BYTE_ARRAY.value} and"
    " ByteArrayFormat"
)

_CONVERTERS: Final = (
    *(Choice(converter.value) for converter in Converter),
    Choice(
        "io.confluent.connect.json.JsonSchemaConverter",
        refused=f"JSON under a schema of the registry is not read: {_BYTES_WAY_OUT}",
    ),
    Choice(
        "io.confluent.connect.protobuf.ProtobufConverter",
        refused=f"Protobuf is not read: {_BYTES_WAY_OUT}",
    ),
)
_NO_TEXT: Final = (
    f"headers are written as text or bytes, whatever they hold: set {HeaderConverter.SIMPLE.value},"
    f" {HeaderConverter.STRING.value} or {HeaderConverter.BYTE_ARRAY.value}"
)
_HEADER_CONVERTERS: Final = (
    *(Choice(converter.value) for converter in HeaderConverter),
    *(
        Choice(each.value, refused=_NO_TEXT)
        for each in Converter
        if each not in (Converter.STRING, Converter.BYTE_ARRAY)
    ),
)

KEYS: Final = Only(
    "store.kafka.keys",
    (True,),
    "only store.kafka.keys=true and export.envelope with key read keys",
    either=Only("export.envelope", (EnvelopeField.KEY.value,)),
)
_HEADERS: Final = Only(
    "store.kafka.headers",
    (True,),
    "only store.kafka.headers=true and export.envelope with headers read headers",
    either=Only("export.envelope", (EnvelopeField.HEADERS.value,)),
)

_NOT_WRITTEN = Needless("nothing is registered: only who writes to the topic reads it")
_AS_WRITTEN = Needless("schemas are kept as their writer made them")
_FEW = Needless("schemas are few and small")

USER_INFO: Final = "USER_INFO"
URL: Final = "URL"
STATIC_TOKEN: Final = "STATIC_TOKEN"  # noqa: S105  # the name of a kind of token
_TOKENS: Final = "is not supported: set bearer.auth.credentials.source=STATIC_TOKEN and bearer.auth.token"


def _converter(side: str) -> Property:
    name = f"{side}.converter"
    if side == "value":
        doc = "What values are; unless set, what suits the format: bytes, or JSON without a schema."
        return Property(name, Kind.CLASS, None, doc, choices=_CONVERTERS, shapes=True)
    doc = "What keys are; unless set, StringConverter, and ByteArrayConverter for keys.format.class=ByteArrayFormat."
    return Property(name, Kind.CLASS, None, doc, choices=_CONVERTERS, shapes=True, only=KEYS, lenient=True)


def _json_rows(side: str) -> tuple[Property, ...]:
    prefix = f"{side}.converter."
    only = Only(f"{side}.converter", (JSON,), "only JsonConverter reads it", own=False)
    envelope = Only(f"{prefix}schemas.enable", (True,), "only values with a schema have defaults")
    if side == "value":
        with_file = Only("export.value.schema.file", None, either=Only("export.value.schema", None))
        envelope = Only(envelope.name, envelope.values, envelope.reason, either=with_file)
    string = Only(f"{side}.converter", (Converter.STRING.value,), "only StringConverter reads it", own=False)
    return (
        Property(
            f"{prefix}schemas.enable",
            Kind.BOOLEAN,
            True,
            "Whether JsonConverter expects an envelope with a schema; false if value.converter is unset."
            if side == "value"
            else "Whether JsonConverter expects an envelope with a schema.",
            shapes=True,
            only=only,
            lenient=True,
        ),
        Property(
            f"{prefix}replace.null.with.default",
            Kind.BOOLEAN,
            True,
            "Whether a null becomes its field's default.",
            shapes=True,
            only=envelope,
            lenient=True,
        ),
        Property(
            f"{prefix}encoding",
            Kind.STRING,
            "UTF-8",
            "Encoding of StringConverter.",
            choices=(Choice("UTF-8", ("UTF8",)),),
            ignore_case=True,
            only=string,
            lenient=True,
        ),
        Property(f"{prefix}schemas.cache.size", Kind.INT, 1000, "Schemas kept at hand.", _FEW, lenient=True),
        Property(
            f"{prefix}decimal.format",
            Kind.STRING,
            "BASE64",
            "How a decimal is written in JSON.",
            Needless("decimals are read in either form; json.decimal.format says how they are written"),
            lenient=True,
        ),
    )


def _avro(side: str) -> Only:
    return Only(f"{side}.converter", (AVRO,), "only AvroConverter reads it", own=False)


def _avro_rows(side: str) -> tuple[Property, ...]:
    prefix, only = f"{side}.converter.", _avro(side)
    return (
        Property(
            f"{prefix}schema.registry.url",
            Kind.LIST,
            (),
            "Where the schema registry is; required.",
            check=checks.registry_url,
            only=only,
            lenient=True,
        ),
        Property(
            f"{prefix}{side}.subject.name.strategy",
            Kind.CLASS,
            SubjectNames.TOPIC.value,
            "Which of the registry's subjects says the version of a schema.",
            choices=tuple(Choice(names.value) for names in SubjectNames),
            shapes=True,
            only=only,
            lenient=True,
        ),
        *_login_rows(prefix, only),
        *_needless_rows(prefix),
    )


def _login_rows(prefix: str, only: Only) -> tuple[Property, ...]:
    """User and password, or a token: secrets but for where they are."""
    basic, bearer = f"{prefix}basic.auth.credentials.source", f"{prefix}bearer.auth.credentials.source"
    with_user = Only(basic, (USER_INFO,), "only basic.auth.credentials.source=USER_INFO reads it")
    with_token = Only(bearer, (STATIC_TOKEN,), "only bearer.auth.credentials.source=STATIC_TOKEN reads it")
    inherited = f"Kafka's login is not handed to the registry: set {USER_INFO} and {prefix}basic.auth.user.info"
    sources = (Choice(URL), Choice(USER_INFO), Choice("SASL_INHERIT", refused=inherited))
    tokens = ("OAUTHBEARER", "SASL_OAUTHBEARER_INHERIT", "CUSTOM")
    token_sources = (
        Choice(""),
        Choice(STATIC_TOKEN),
        *(Choice(source, refused=f"{source} {_TOKENS}") for source in tokens),
    )

    def user_info(name: str, doc: str) -> Property:
        check = checks.user_info
        return Property(f"{prefix}{name}", Kind.PASSWORD, None, doc, check=check, only=with_user, lenient=True)

    def token(name: str, kind: Kind, default: str | None, doc: str) -> Property:
        return Property(f"{prefix}bearer.auth.{name}", kind, default, doc, only=with_token, lenient=True)

    where = "Where user and password of the registry are: USER_INFO or the URL."
    instead = "STATIC_TOKEN: a token of the registry instead of user and password."
    return (
        Property(basic, Kind.STRING, URL, where, choices=sources, only=only, lenient=True),
        user_info("basic.auth.user.info", "user:password."),
        user_info("schema.registry.basic.auth.user.info", "The older name of basic.auth.user.info."),
        Property(bearer, Kind.STRING, "", instead, choices=token_sources, only=only, lenient=True),
        token("token", Kind.PASSWORD, None, "The token."),
        token("logical.cluster", Kind.STRING, "", "The registry's cluster that the token is for."),
        token("identity.pool.id", Kind.STRING, "", "The pool of identities of the token."),
    )


def _needless_rows(prefix: str) -> tuple[Property, ...]:
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
        "flatten.unions",
        "generalized.sum.type.support",
        "ignore.default.for.nullables",
        "avro.use.logical.type.converters",
        "specific.avro.reader",
    )
    cached = ("max.schemas.per.subject", "schemas.cache.config", "latest.cache.size", "latest.cache.ttl.sec")
    reading = {
        **dict.fromkeys(writing, _NOT_WRITTEN),
        **dict.fromkeys(as_written, _AS_WRITTEN),
        **dict.fromkeys(cached, _FEW),
        "use.latest.version": Needless("every value is read by the schema that it names"),
    }
    return tuple(
        Property(f"{prefix}{name}", Kind.STRING, "", "An option of AvroConverter.", status, lenient=True)
        for name, status in reading.items()
    )


PROPERTIES: Final[tuple[Property, ...]] = (
    *(row for side in SIDES for row in (_converter(side), *_json_rows(side), *_avro_rows(side))),
    Property(
        "header.converter",
        Kind.CLASS,
        HeaderConverter.SIMPLE.value,
        "What headers are: text, or bytes.",
        choices=_HEADER_CONVERTERS,
        shapes=True,
        only=_HEADERS,
        lenient=True,
    ),
)

FAMILIES: Final[tuple[Family, ...]] = (
    *(Family(prefix, Needless("no converter here reads it")) for prefix in OPTIONS),
    Family("header.converter.", Needless("headers are written as they are, whatever their converter would be told")),
    *(
        Family(
            f"{prefix}schema.registry.ssl.",
            HONOURED,
            "TLS of the registry, as of Kafka: ssl.truststore.location and ssl.keystore.location of type PEM,"
            " ssl.key.password.",
        )
        for prefix in OPTIONS
    ),
)
