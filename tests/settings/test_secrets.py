"""Canaries: no secret appears in an error, a repr, a report, or what plans show."""

import traceback
from collections.abc import Callable

import pytest

from kafka_s3.errors import ConfigurationError
from kafka_s3.settings import Loaded, Lookups

Load = Callable[..., Loaded]
CANARY = "canary-4711"
_AVRO = {"value.converter": "io.confluent.connect.avro.AvroConverter"}
_PROTOBUF = {"value.converter": "io.confluent.connect.protobuf.ProtobufConverter"}
_JSON_SCHEMA = {"value.converter": "io.confluent.connect.json.JsonSchemaConverter"}
_GLUE = {"value.converter": "com.amazonaws.services.schemaregistry.kafkaconnect.AWSKafkaAvroConverter"}
_AIVEN = {"connector.class": "io.aiven.kafka.connect.s3.AivenKafkaConnectS3SinkConnector", "storage.class": None}
_TEMPLATE = {"partitioner.class": "kafka_s3.FieldAndTimePartitioner"}


def _chain(type: str, **options: str) -> dict[str, str]:
    more = {f"transforms.x.{name.replace('_', '.')}": text for name, text in options.items()}
    return {"transforms": "x", "transforms.x.type": f"org.apache.kafka.connect.transforms.{type}", **more}


_SOURCE = "value.converter.basic.auth.credentials.source"
LOOKUPS = Lookups(
    env={"PASSWORD": CANARY},
    read_file=lambda path: f"key={CANARY}",
    secrets={"it": CANARY, "jaas": f'a.PlainLoginModule required username="u" password="{CANARY}";'}.get,
)


def _shown(loaded: Loaded) -> str:
    settings = loaded.settings
    return "\n".join(
        [
            repr(loaded),
            str(settings),
            repr(settings.s3),
            repr(settings.kafka),
            str(settings.resolved),
            str(loaded.report),
        ]
    )


def test_secrets_reach_the_settings_and_nothing_that_is_shown(load_with: Load) -> None:
    """Every way to hand in a secret works, and none of them shows it in reprs, report or resolved settings."""
    loaded = load_with(
        {
            "aws.access.key.id": "${secrets:it}",
            "aws.secret.access.key": "${env:PASSWORD}",
            "s3.proxy.url": f"http://u:{CANARY}@proxy:1",
            "s3.proxy.password": CANARY,
            "s3.sse.kms.key.id": "${file:/x:key}",
            "s3.ssea.name": "aws:kms",
            "consumer.override.security.protocol": "SASL_SSL",
            "consumer.override.sasl.mechanism": "PLAIN",
            "consumer.override.sasl.jaas.config": "${secrets:jaas}",
            "consumer.override.ssl.key.password": "${env:PASSWORD}",
            "confluent.license": CANARY,
            "key.converter.basic.auth.user.info": CANARY,
            "producer.override.sasl.jaas.config": CANARY,
            **_chain("InsertHeader", header="h", value_literal="${secrets:it}"),
        },
        worker={"admin.sasl.jaas.config": CANARY, "consumer.ssl.truststore.password": CANARY},
        aws_connection={"aws_session_token": CANARY},
        kafka_connection={"sasl.oauthbearer.client.secret": CANARY, "ssl.key.pem": CANARY},
        lookups=LOOKUPS,
    )
    settings = loaded.settings
    assert settings.s3.secret_access_key == settings.s3.access_key_id == CANARY
    assert settings.s3.put_arguments["SSEKMSKeyId"] == CANARY
    assert settings.kafka.client["sasl.password"] == settings.kafka.client["ssl.key.pem"] == CANARY
    assert CANARY not in _shown(loaded)
    hidden = {row.name for row in loaded.report if row.value == "[hidden]"}
    assert {"aws.access.key.id", "aws.secret.access.key", "s3.sse.kms.key.id"} <= hidden
    assert "transforms.x.value.literal" in hidden
    assert "consumer.override.sasl.jaas.config" in hidden


@pytest.mark.parametrize(
    "more",
    [
        {"aws.secret.acces.key": CANARY},
        {"aws.secret.access.key": CANARY},
        {"s3.sse.customer.key": CANARY, "s3.ssea.name": "AES256"},
        {"s3.proxy.url": f"ftp://u:{CANARY}@proxy"},
        {"store.url": f"https://u:{CANARY}@host"},
        {"store.url": f"u:{CANARY}@host"},
        {"s3.region": "eu", "flush.size": "${secrets:it}"},
        {"topics": "${secrets:it}/"},
        {"topics": None, "topics.regex": "(${secrets:it}"},
        {"timezone": "x${secrets:it}"},
        {"format.class": "${file:/x:key}"},
        {"s3.compression.type": "${secrets:it}"},
        {"s3.part.size": "${secrets:it}"},
        {"schema.compatibility": "${secrets:it}"},
        {**_AVRO, "value.converter.schema.registry.url": f"http://u:{CANARY},x@host"},
        {**_AVRO, "value.converter.schema.registry.url": f"u:{CANARY}@host"},
        {**_AVRO, "value.converter.schema.registry.url": f"http://u:{CANARY}@a, http://u:p@b:x"},
        {**_AVRO, "value.converter.basic.auth.user.info": CANARY, _SOURCE: "USER_INFO"},
        {**_AVRO, "value.converter.schema.registry.ssl.keystore.key": CANARY},
        {"value.converter": "JsonConverter", "value.converter.schemas.enable": "false"}
        | {"export.value.schema": "{${secrets:it}"},
        {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": "d"}
        | {"producer.override.sasl.jaas.config": CANARY},
        {"s3.endpoint": f"http://u:{CANARY}@host"},
        {"consumer.override.sasl.jaas.config": CANARY},
        {"consumer.override.sasl.pasword": CANARY},
        {"consumer.override.sasl.mechanism": "${secrets:it}"},
        {"consumer.override.security.protocol": "${secrets:it}"},
        {"consumer.override.fetch.min.bytes": "${secrets:it}"},
        {"bootstrap.servers": CANARY},
        {"transforms": "x", "transforms.x.password": CANARY},
        {"transforms": "x", "transforms.x.type": "${secrets:it}"},
        {"transforms": "x", "transforms.x.type": "com.example.Own", "transforms.x.token": CANARY},
        _chain("RegexRouter", regex="(${secrets:it}", replacement="x"),
        _chain("RegexRouter", regex="a", replacement="$9${secrets:it}"),
        _chain("Cast$Value", spec="a:${secrets:it}"),
        _chain("TimestampConverter$Value", target_type="unix", format="'${secrets:it}"),
        _chain("TimestampRouter", topic_format="a", timestamp_format="'${secrets:it}"),
        _chain("Filter", predicate="${secrets:it}"),
        _chain("ReplaceField$Value", renames="${secrets:it}"),
        _chain("HeaderFrom$Value", fields="a", headers="a,${secrets:it}", operation="move"),
        {"transforms": "x", "transforms.x.type": "io.confluent.connect.transforms.Filter$Value"}
        | {"transforms.x.filter.condition": "$..${secrets:it}", "transforms.x.filter.type": "include"},
        {"predicates": "p", "predicates.p.type": "${secrets:it}"},
        {**_PROTOBUF, "value.converter.schema.registry.url": f"http://u:{CANARY},x@host"},
        {**_PROTOBUF, "value.converter.int.for.enums": "${secrets:it}"},
        {**_JSON_SCHEMA, "value.converter.schema.registry.url": f"u:{CANARY}@host"},
        {**_JSON_SCHEMA, "value.converter.json.fail.invalid.schema": "${secrets:it}"},
        {**_GLUE, "value.converter.endpoint": f"https://me:{CANARY}@glue"},
        {**_GLUE, "value.converter.secondaryDeserializer": "${secrets:it}"},
        {**_AIVEN, "aws.secret.acces.key": CANARY},
        {**_AIVEN, "aws.s3.endpoint": f"https://u:{CANARY}@host"},
        {**_AIVEN, "file.name.template": "{{${secrets:it}}}"},
        {**_TEMPLATE, "export.path.template": "{header.}${secrets:it}"},
        {"file.name.template": "${secrets:it}"},
        {"export.value.schema": "infer", "export.value.schema.infer.misfit": "${secrets:it}"},
        {"value.converter.schema.enable": CANARY},
        {"aws.secret.access.key": "a${x:" + CANARY + "}"},
    ],
)
def test_no_error_shows_a_secret(load_with: Load, more: dict[str, str | None]) -> None:
    """However a secret gets into a wrong or misspelt property, no error, repr or traceback repeats it."""
    with pytest.raises(ConfigurationError) as raised:
        load_with(more, lookups=LOOKUPS, offline=False, kafka_connection={"bootstrap.servers": "a:1"})
    error = raised.value
    texts = [str(error), repr(error), repr(error.problems), "".join(traceback.format_exception(error))]
    assert CANARY not in "".join(texts)
    assert error.problems


def test_a_secret_never_changes_the_hash(load_with: Load) -> None:
    """The hash in every plan cannot be used to try passwords."""

    def hashed(secret: str) -> str:
        more = {"aws.access.key.id": "a", "aws.secret.access.key": secret, "topics.dir": "${secrets:dir}"}
        return load_with(more, lookups=Lookups(secrets={"dir": secret}.get)).settings.configuration_sha256

    assert hashed("one") == hashed("two")


def test_what_stays_unresolved_is_hidden_too(load_with: Load) -> None:
    """Offline, a secret that is partly written out is hidden as a whole, not shown with its variable."""
    more = {
        "aws.access.key.id": "x",
        "aws.secret.access.key": CANARY + "${env:NONE}",
        "consumer.override.sasl.jaas.config": CANARY + "${env:NONE}",
    }
    assert CANARY not in _shown(load_with(more))
