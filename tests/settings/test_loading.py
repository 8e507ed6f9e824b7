"""From texts to settings."""

import base64
import pickle
from collections.abc import Callable

import pytest

from kafka_s3.errors import EXIT_CONFIGURATION, ConfigurationError
from kafka_s3.naming import KeyLayout
from kafka_s3.settings import Loaded
from kafka_s3.settings.converters import Converter
from kafka_s3.settings.formats import Format, Gzip, NoCompression
from kafka_s3.settings.s3 import RetrySettings
from kafka_s3.settings.schedule import ScheduleSettings
from kafka_s3.settings.values import NullValues

Load = Callable[..., Loaded]
Problems = Callable[..., dict[str, str]]
BYTE_ARRAY = "io.confluent.connect.s3.format.bytearray.ByteArrayFormat"


def test_the_smallest_configuration_has_the_sinks_defaults(load_with: Load) -> None:
    """What has no default is enough; everything else is the sink's default."""
    settings = load_with().settings
    assert settings.topics == ("orders",)
    assert settings.format.value.converter is Converter.JSON
    assert settings.format.file.compression == NoCompression()
    assert settings.format.null_values is NullValues.FAIL
    assert settings.layout == KeyLayout()
    assert settings.log_root == "_kafka_s3"
    assert settings.limits.part_size_bytes == 26_214_400
    assert settings.limits.tasks_max == 1
    assert settings.schedule == ScheduleSettings(3_600_000, "UTC")
    assert (settings.s3.region, settings.s3.endpoint_url, settings.s3.path_style) == ("us-west-2", None, True)
    assert settings.s3.retry == RetrySettings(3, 200)
    assert settings.kafka.idle_timeout_ms == 60_000
    assert not settings.tolerate_bad_records


def test_every_property_that_is_built_reaches_its_setting(load_with: Load) -> None:
    """Each honoured property ends up in the settings, in the type and unit they ask for."""
    settings = load_with(
        {
            "format.class": "ByteArrayFormat",
            "format.bytearray.extension": ".log",
            "format.bytearray.separator": " \t",
            "value.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
            "s3.compression.type": "gzip",
            "s3.compression.level": "6",
            "behavior.on.null.values": "Ignore",
            "topics.dir": "",
            "directory.delim": "|",
            "file.delim": "-",
            "filename.offset.zero.pad.width": "0",
            "store.url": "minio:9000",
            "s3.path.style.access.enabled": "false",
            "s3.part.retries": "0",
            "s3.retry.backoff.ms": "7",
            "s3.part.size": "5242880",
            "s3.http.send.expect.continue": "false",
            "aws.access.key.id": "id",
            "aws.secret.access.key": "secret",
            "rotate.schedule.interval.ms": "600000",
            "timezone": "Europe/Berlin",
            "tasks.max": "9",
            "export.log.dir": "logs/kafka",
            "export.read.timeout.ms": "5000",
        }
    ).settings
    assert settings.format.file.format is Format.BYTE_ARRAY
    assert (settings.format.file.byte_array_extension, settings.format.file.byte_array_separator) == (".log", b" \t")
    assert settings.format.file.compression == Gzip(6)
    assert settings.format.null_values is NullValues.IGNORE
    assert settings.layout == KeyLayout("", "|", "-", 0)
    assert settings.s3.endpoint_url == "https://minio:9000"
    assert (settings.s3.path_style, settings.s3.expect_continue) == (False, False)
    assert (settings.s3.access_key_id, settings.s3.secret_access_key) == ("id", "secret")
    assert settings.s3.retry == RetrySettings(0, 7)
    assert settings.limits.part_size_bytes == 5_242_880
    assert settings.limits.tasks_max == 9
    assert settings.schedule == ScheduleSettings(600_000, "Europe/Berlin")
    assert settings.log_root == "logs/kafka"
    assert settings.kafka.idle_timeout_ms == 5000


def test_the_converter_suits_the_format_unless_it_is_set(load_with: Load) -> None:
    """Without value.converter, ByteArrayFormat gets bytes and JsonFormat JSON without a schema."""
    assert load_with({"format.class": BYTE_ARRAY}).settings.format.value.converter is Converter.BYTE_ARRAY
    string = "org.apache.kafka.connect.storage.StringConverter"
    assert load_with({"value.converter": string}).settings.format.value.converter is Converter.STRING


def test_a_schedule_is_at_most_a_day_and_hourly_unless_set(load_with: Load) -> None:
    """The sink starts anew at each local midnight; 0 and -1 turn its schedule off, which is hourly here."""
    two_days = {"rotate.schedule.interval.ms": "172800000", "timezone": "UTC"}
    assert load_with(two_days).settings.schedule.interval_ms == 86_400_000
    assert load_with({"rotate.schedule.interval.ms": "0"}).settings.schedule.interval_ms == 3_600_000


def test_put_arguments_are_those_of_boto3(load_with: Load) -> None:
    """ACL and encryption become boto3's arguments; a customer's key goes with its MD5, so it is sent as it is."""
    kms = {"s3.acl.canned": "private", "s3.ssea.name": "aws:kms", "s3.sse.kms.key.id": "k"}
    assert load_with(kms).settings.s3.put_arguments == {
        "ACL": "private",
        "ServerSideEncryption": "aws:kms",
        "SSEKMSKeyId": "k",
    }
    key = base64.b64encode(bytes(32)).decode()
    assert load_with({"s3.ssea.name": "AES256", "s3.sse.customer.key": key}).settings.s3.put_arguments == {
        "SSECustomerAlgorithm": "AES256",
        "SSECustomerKey": key,
        "SSECustomerKeyMD5": "cLyPS3KoaSFGi/joRB3OUQ==",
    }


def test_a_proxys_user_and_password_override_those_of_its_url(load_with: Load) -> None:
    """The URL that boto3 gets holds user and password, escaped."""
    more = {"s3.proxy.url": "http://a:b@proxy:3128", "s3.proxy.user": "u@x", "s3.proxy.password": "p:w"}
    assert load_with(more).settings.s3.proxy_url == "http://u%40x:p%3Aw@proxy:3128"
    assert load_with({"s3.proxy.url": "http://a:b@proxy:3128"}).settings.s3.proxy_url == "http://a:b@proxy:3128"


@pytest.mark.parametrize(
    ("more", "name", "said"),
    [
        ({"topics": None}, "topics", "either topics or topics.regex must be set"),
        ({"topics.regex": "o.*"}, "topics.regex", "cannot be combined"),
        ({"topics": "a/b"}, "topics", "an invalid topic name"),
        ({"topics": "a,"}, "topics", "an invalid topic name"),
        ({"topics": None, "topics.regex": "("}, "topics.regex", "regular expression"),
        ({"name": "a b"}, "name", "Airflow DAG id"),
        ({"name": "x" * 251}, "name", "Airflow DAG id"),
        ({"name": "owners"}, "name", "all connectors share"),
        ({"s3.bucket.name": None}, "s3.bucket.name", "is required"),
        ({"storage.class": None}, "storage.class", "is required"),
        (
            {"rotate.schedule.interval.ms": "3600000"},
            "timezone",
            "timezone configuration must be set when using rotate.schedule.interval.ms",
        ),
        ({"s3.wan.mode": "true"}, "s3.wan.mode", ""),
        (
            {"s3.compression.type": "gzip", "format.class": "AvroFormat"},
            "s3.compression.type",
            "gzip not valid for data format class: ( io.confluent.connect.s3.format.avro.AvroFormat ).",
        ),
        *(
            (
                {"s3.compression.type": "gzip", f"store.kafka.{kind}": "true", **more},
                f"{kind}.format.class",
                f"gzip not valid for {kind} format class: ( io.confluent.connect.s3.format.{found} ).",
            )
            for kind, more, found in (
                ("keys", {}, "avro.AvroFormat"),
                ("headers", {"headers.format.class": "ParquetFormat"}, "parquet.ParquetFormat"),
            )
        ),
        ({"behavior.on.null.values": "write"}, "behavior.on.null.values", "store.kafka.keys=true"),
        (
            {"partitioner.class": "FieldPartitioner"},
            "partition.field.name",
            "Partition field name cannot be null or empty when using FieldPartitioner.",
        ),
        (
            {"format.class": BYTE_ARRAY, "value.converter": "org.apache.kafka.connect.storage.StringConverter"},
            "value.converter",
            "set value.converter=org.apache.kafka.connect.converters.ByteArrayConverter",
        ),
        ({"value.converter.schema.enable": "false"}, "value.converter.schema.enable", "value.converter.schemas.enable"),
        ({"aws.access.key.id": "x"}, "aws.secret.access.key", "together with aws.access.key.id"),
        ({"s3.ssea.name": "aws:kms"}, "s3.sse.kms.key.id", "the sink would not encrypt"),
        ({"s3.sse.kms.key.id": "x"}, "s3.sse.kms.key.id", "requires s3.ssea.name=aws:kms"),
        ({"s3.sse.customer.key": "x"}, "s3.sse.customer.key", "32 bytes in base64"),
        ({"topics.dir": "_kafka_s3"}, "export.log.dir", "mixed with the logs"),
        ({"topics.dir": "", "topics": "_kafka_s3"}, "export.log.dir", "mixed with the logs"),
        ({"directory.delim": "+"}, "file.delim", "directory.delim"),
        ({"transforms": "a"}, "transforms.a.type", "is required"),
        ({"transforms": "a", "transforms.a.type": "my.Own"}, "transforms.a.type", "module:Class"),
        ({"partition.field.format.path": "false"}, "partition.field.format.path", "always name=value"),
        ({"flush.sise": "3"}, "flush.sise", "Did you mean flush.size?"),
        ({"rotate.scheduled.interval.ms": "1"}, "rotate.scheduled.interval.ms", "mean rotate.schedule.interval.ms?"),
        ({"": "archive"}, '""', "a property without a name"),
        ({"export.log.dri": "3"}, "export.log.dri", "Did you mean export.log.dir?"),
        ({"wholly.unknown": "3"}, "wholly.unknown", "unknown property."),
        ({"bootstrap.servers": "a:1"}, "bootstrap.servers", "use consumer.override.bootstrap.servers"),
        ({"consumer.override.fetch.min.byte": "1"}, "consumer.override.fetch.min.byte", "fetch.min.bytes"),
    ],
)
def test_what_is_wrong_is_a_problem_of_its_property(
    problems_of: Problems, more: dict[str, str | None], name: str, said: str
) -> None:
    """Every rule of the sink, and every limit of what is built, is a problem named after the property to change."""
    assert said in problems_of(more)[name]


@pytest.mark.parametrize(
    "more",
    [
        {"schema.compatibility": "NONE", "errors.tolerance": "none", "store.kafka.keys": "false"},
        {"transforms": "", "errors.deadletterqueue.topic.name": "", "s3.wan.mode": "false"},
        {"s3.elastic.buffer.enable": "true", "schemas.cache.config": "50", "enable.conditional.writes": "false"},
        {"hive.integration": "true", "confluent.license": "x", "shutdown.timeout.ms": "1", "hive.home": ""},
        {"schema.generator.class": "io.confluent.connect.storage.hive.schema.DefaultSchemaGenerator"},
        {"key.converter": "io.confluent.connect.avro.AvroConverter", "key.converter.schema.registry.url": "u"},
        {"value.converter.schema.registry.url": "u", "value.converter.basic.auth.credentials.source": "URL"},
        {"producer.override.x": "1", "admin.override.x": "1", "errors.retry.timeout": "-1"},
        {"rotate.interval.ms": "600000", "path.format": "YYYY", "locale": "en", "parquet.codec": "gzip"},
        {"consumer.override.max.poll.records": "1", "consumer.override.group.id": "x"},
        {"s3.acl.canned": "", "store.url": "", "aws.access.key.id": "", "aws.secret.access.key": ""},
    ],
)
def test_defaults_and_ignored_properties_are_accepted(load_with: Load, more: dict[str, str]) -> None:
    """A default may always be written out, and what has no meaning here is listed with the reason."""
    rows = {row.name: row for row in load_with(more).report}
    for name in more:
        if name in rows:
            assert rows[name].meaning


def test_all_problems_are_reported_at_once(problems_of: Problems) -> None:
    """Unknown, missing and wrong properties, rules and the client's: one error names them all."""
    assert set(
        problems_of(
            {
                "flush.size": "none",
                "s3.bucket.name": None,
                "flash.size": "1",
                "format.class": "OrcFormat",
                "rotate.schedule.interval.ms": "60000",
                "consumer.override.isolation.level": "x",
                "s3.region": "${env:NOWHERE_SET}",
                "timezone": "${env:NOWHERE_SET}",
            },
            offline=False,
            worker={"wrong": "1"},
        )
    ) == {
        "bootstrap.servers",
        "consumer.override.isolation.level",
        "flash.size",
        "flush.size",
        "format.class",
        "s3.bucket.name",
        "s3.region",
        "timezone",
        "wrong",
    }


def test_the_error_is_one_for_people(load_with: Load) -> None:
    """The error says how many problems there are, one per line with the value, and is not to be retried."""
    with pytest.raises(ConfigurationError) as raised:
        load_with({"flush.size": "0"}, origin="orders.json")
    assert str(raised.value) == "orders.json has 1 problem:\n  flush.size=0: Value must be at least 1"
    assert raised.value.exit_status == EXIT_CONFIGURATION


def test_missing_brokers_are_a_problem_that_says_where(problems_of: Problems) -> None:
    """Without bootstrap.servers the message names all three places."""
    message = problems_of({"export.kafka.conn.id": "my_kafka"}, offline=False)["bootstrap.servers"]
    for place in ("consumer.override.bootstrap.servers", "the connection my_kafka; kafka-s3 does not", "worker file"):
        assert place in message


def test_precedence_is_connector_then_airflow_then_worker(load_with: Load) -> None:
    """For S3 and Kafka alike, the connector file wins over the Airflow connections, these over the worker file."""
    worker = {"s3.region": "w", "store.url": "http://w", "tasks.max": "7", "bootstrap.servers": "w:1", "client.id": "w"}
    aws = {"region_name": "a", "endpoint_url": "http://a"}
    kafka = {"bootstrap.servers": "a:1"}
    own = {"s3.region": "c", "consumer.override.bootstrap.servers": "c:1"}

    def seen(loaded: Loaded) -> tuple[object, ...]:
        s3, client = loaded.settings.s3, loaded.settings.kafka.client
        return s3.region, s3.endpoint_url, loaded.settings.limits.tasks_max, client["bootstrap.servers"]

    assert seen(load_with(worker=worker)) == ("w", "http://w", 7, "w:1")
    assert seen(load_with(worker=worker, aws_connection=aws, kafka_connection=kafka)) == ("a", "http://a", 7, "a:1")
    everything = load_with(own, worker=worker, aws_connection=aws, kafka_connection=kafka)
    assert seen(everything) == ("c", "http://a", 7, "c:1")
    sources = {row.name: row.source for row in everything.report}
    assert sources["s3.region"] == "connector file"
    assert sources["store.url"] == "Airflow connection"
    assert sources["tasks.max"] == "worker file"
    assert sources["s3.part.size"] == "default"


def test_a_pair_of_keys_comes_from_one_place(load_with: Load) -> None:
    """Keys are never mixed: the connector's pair leaves out the connection's, with its session token."""
    aws = {"aws_access_key_id": "ai", "aws_secret_access_key": "as", "aws_session_token": "at"}
    own = {"aws.access.key.id": "ci", "aws.secret.access.key": "cs"}
    worker = {"aws.access.key.id": "wi", "aws.secret.access.key": "ws"}

    def keys(loaded: Loaded) -> tuple[str | None, ...]:
        s3 = loaded.settings.s3
        return s3.access_key_id, s3.secret_access_key, s3.session_token

    assert keys(load_with(own, aws_connection=aws, worker=worker)) == ("ci", "cs", None)
    assert keys(load_with(aws_connection=aws, worker=worker)) == ("ai", "as", "at")
    assert keys(load_with(worker=worker)) == ("wi", "ws", None)
    assert keys(load_with()) == (None, None, None)


def test_consumer_properties_of_the_worker_come_first(load_with: Load) -> None:
    """`consumer.` in the worker file wins over the worker's own property, as in Connect."""
    worker = {"client.rack": "plain", "consumer.client.rack": "consumer", "group.id": "connect", "rest.port": "1"}
    assert load_with(worker=worker).settings.kafka.client["client.rack"] == "consumer"


def test_a_connectors_converter_brings_its_own_options(load_with: Load) -> None:
    """The worker's converter options go with the worker's converter; a connector's option refines the worker's."""
    avro = {"value.converter": "io.confluent.connect.avro.AvroConverter", "value.converter.schema.registry.url": "u"}
    json_worker = {"value.converter": "JsonConverter", "value.converter.schemas.enable": "true"}
    own = {"value.converter": "JsonConverter", "value.converter.schemas.enable": "false"}
    assert load_with(own, worker=avro).settings.format.value.converter is Converter.JSON
    refined = load_with({"value.converter.schemas.enable": "false"}, worker=json_worker)
    assert not refined.settings.format.value.schemas_enable
    envelope = load_with(
        {"value.converter": "JsonConverter"}, worker={**json_worker, "value.converter": "StringConverter"}
    )
    assert envelope.settings.format.value.schemas_enable  # JsonConverter's own default


@pytest.mark.parametrize("name", ["name", "topics", "topics.regex"])
def test_what_makes_a_connector_is_not_the_workers(problems_of: Problems, name: str) -> None:
    """A name or topics for all connectors at once would be a mistake."""
    assert "belongs in the connector file" in problems_of(worker={name: "x"})[name]


def test_resolved_is_sorted_and_holds_what_is_in_effect(load_with: Load) -> None:
    """Plans show every property with an effect, canonical and sorted, with defaults filled in."""
    resolved = load_with({"format.class": "JsonFormat", "behavior.on.null.values": "IGNORE"}).settings.resolved
    assert list(resolved) == sorted(resolved)
    assert resolved["format.class"] == "io.confluent.connect.s3.format.json.JsonFormat"
    assert resolved["value.converter"] == "org.apache.kafka.connect.json.JsonConverter"
    assert resolved["behavior.on.null.values"] == "ignore"
    assert resolved["consumer.override.isolation.level"] == "read_committed"
    assert "path.format" not in resolved
    assert "aws.secret.access.key" not in resolved


@pytest.mark.parametrize(
    ("more", "same"),
    [
        ({"format.class": "JsonFormat", "s3.region": "eu-central-1", "tasks.max": "8", "s3.part.retries": "9"}, True),
        ({"rotate.schedule.interval.ms": "60000", "timezone": "UTC", "export.batch.records.max": "5"}, True),
        ({"aws.access.key.id": "i", "aws.secret.access.key": "s", "s3.acl.canned": "private"}, True),
        ({"consumer.override.bootstrap.servers": "b:1", "consumer.override.auto.offset.reset": "latest"}, True),
        ({"value.converter": "JsonConverter", "value.converter.schemas.enable": "false"}, True),
        ({"flush.size": "4"}, False),
        ({"topics": "orders,more"}, False),
        ({"s3.compression.type": "gzip"}, False),
        ({"s3.part.size": "5242880"}, False),
        ({"topics.dir": "other"}, False),
        ({"behavior.on.null.values": "ignore"}, False),
        ({"value.converter": "StringConverter"}, False),
        ({"export.range.records.max": "5"}, False),
        ({"consumer.override.isolation.level": "read_uncommitted"}, False),
    ],
)
def test_the_hash_changes_with_what_shapes_objects_only(load_with: Load, more: dict[str, str], same: bool) -> None:
    """An unfinished plan is finished under another region or password, and voided under another flush.size."""
    ours, theirs = (load_with(given).settings.configuration_sha256 for given in ({}, more))
    assert (ours == theirs) is same


def test_settings_cross_process_borders(load_with: Load) -> None:
    """Settings reach Spark's tasks by pickle."""
    settings = load_with().settings
    assert pickle.loads(pickle.dumps(settings)) == settings


def test_offline_needs_only_what_shapes_objects(load_with: Load, problems_of: Problems) -> None:
    """A preview runs where no secret and no broker is at hand, but what shapes bytes must be known."""
    more = {"aws.access.key.id": "${env:NONE}", "aws.secret.access.key": "${secrets:none}", "tasks.max": "${env:NONE}"}
    settings = load_with(more, worker={"bootstrap.servers": "${env:NONE}"}).settings
    assert settings.limits.tasks_max == 1
    assert "tasks.max" not in settings.resolved
    assert "${env:NONE}" in problems_of({"flush.size": "${env:NONE}"})["flush.size"]
