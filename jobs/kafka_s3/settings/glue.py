"""AWS Glue's schema registry behind its converters: their properties, and what they are in the settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from kafka_s3.settings import validators
from kafka_s3.settings.properties import AppliesWhen, Ignored, Kind, Property, Refused
from kafka_s3.settings.validation import ParsedConfig

#: Whose options these are.
GLUE_AVRO_CONVERTER: Final = "com.amazonaws.services.schemaregistry.kafkaconnect.AWSKafkaAvroConverter"
GLUE_PROTOBUF_CONVERTER: Final = "com.amazonaws.services.schemaregistry.kafkaconnect.protobuf.ProtobufSchemaConverter"
GLUE_JSON_SCHEMA_CONVERTER: Final = "com.amazonaws.services.schemaregistry.kafkaconnect.jsonschema.JsonSchemaConverter"
CONVERTERS: Final = (GLUE_AVRO_CONVERTER, GLUE_PROTOBUF_CONVERTER, GLUE_JSON_SCHEMA_CONVERTER)
DEFAULT_REGISTRY: Final = "default-registry"
_NOT_WRITTEN = Ignored("nothing is registered: only producers use it")
_AS_WRITTEN = Ignored("values are read with the schema that they name, as they were written")
_FEW = Ignored("schemas are few and small")
_JACKSON = Ignored("JSON is read as it is written, every digit of it")


@dataclass(frozen=True, slots=True)
class GlueSettings:
    """Which registry of Glue, and as whom. `region`: unless set, the bucket's.

    `schema_name`: of the schema whose versions a driver asks for in advance; unless set, each topic's name. `role_arn`:
    assumed with the connector's own credentials for AWS, which are used as they are where it is not set.
    """

    region: str | None = None
    endpoint: str | None = None
    registry_name: str = DEFAULT_REGISTRY
    schema_name: str | None = None
    role_arn: str | None = field(default=None, repr=False)
    role_session_name: str = "kafka-connect-session"


def properties(side: str) -> tuple[Property, ...]:
    """Those of one side's converter."""
    prefix = f"{side}.converter."
    only = AppliesWhen(f"{side}.converter", CONVERTERS, f"{side}.converter is one of AWS Glue's")

    def row(name: str, default: str | None, doc: str, **more: object) -> Property:
        return Property(f"{prefix}{name}", Kind.STRING, default, doc, applies_when=only, lenient=True, **more)  # type: ignore[arg-type]

    return (
        row("region", None, "Region of Glue's schema registry; unless set, s3.region."),
        row("endpoint", None, "Endpoint of Glue, where it is not Amazon's own.", check=validators.store_url),
        row("registry.name", DEFAULT_REGISTRY, "Registry of Glue whose schemas are read before the first record."),
        row(
            "schemaName", None, "Schema whose versions are read before the first record; unless set, the topic's name."
        ),
        row("assumeRoleArn", None, "Role to assume for Glue; unless set, the connector's credentials are used."),
        row("assumeRoleSessionName", "kafka-connect-session", "Session name of that role."),
        Property(
            f"{prefix}secondaryDeserializer",
            Kind.STRING,
            None,
            "Java class for values that are not Glue's.",
            Refused("it is a Java class", "have the producers write one kind of value, and remove it"),
            lenient=True,
        ),
        *_ignored(prefix),
    )


def _ignored(prefix: str) -> tuple[Property, ...]:
    rows = {
        **dict.fromkeys(
            ("schemaAutoRegistrationEnabled", "compatibility", "description", "schemaNameGenerationClass"), _NOT_WRITTEN
        ),
        **dict.fromkeys(("tags", "metadata", "dataFormat"), _NOT_WRITTEN),
        "compression": Ignored("each value says whether it is compressed"),
        "avroRecordType": _AS_WRITTEN,
        "protobufMessageType": _AS_WRITTEN,
        **dict.fromkeys(("jacksonSerializationFeatures", "jacksonDeserializationFeatures"), _JACKSON),
        **dict.fromkeys(("cacheSize", "timeToLiveMillis"), _FEW),
        "userAgentApp": Ignored("it names the caller to Amazon alone"),
    }
    return tuple(
        Property(f"{prefix}{name}", Kind.STRING, "", "An option of AWS Glue's converters.", status, lenient=True)
        for name, status in rows.items()
    )


def build_glue(config: ParsedConfig, side: str) -> GlueSettings | None:
    """Glue's registry of one side's converter; `None` where it has none."""
    name = f"{side}.converter"
    if not (config.sure(name) and config.reads(name) and config.text(name) in CONVERTERS):
        return None
    endpoint = config.optional(f"{name}.endpoint")
    return GlueSettings(
        region=config.optional(f"{name}.region"),
        endpoint=validators.with_scheme(endpoint) if endpoint else None,
        registry_name=config.text(f"{name}.registry.name"),
        schema_name=config.optional(f"{name}.schemaName"),
        role_arn=config.optional(f"{name}.assumeRoleArn"),
        role_session_name=config.text(f"{name}.assumeRoleSessionName"),
    )
