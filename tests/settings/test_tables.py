"""The property tables against the S3 sink's own list."""

import pytest

from kafka_s3.settings import catalogue, converters, credentials, schedule, validators
from kafka_s3.settings.properties import REQUIRED, Ignored, Property, Refused, Wrong, parse

_AVRO = "io.confluent.connect.s3.format.avro.AvroFormat"
_LONG_MAX = 9_223_372_036_854_775_807

# The merged ConfigDef of the sink, written down by hand from the reference: name, type, default.
SINK = [
    ("format.class", "CLASS", REQUIRED),
    ("flush.size", "INT", REQUIRED),
    ("rotate.interval.ms", "LONG", -1),
    ("rotate.schedule.interval.ms", "LONG", -1),
    ("schemas.cache.config", "INT", 1000),
    ("enhanced.avro.schema.support", "BOOLEAN", True),
    ("connect.meta.data", "BOOLEAN", True),
    ("retry.backoff.ms", "LONG", 5000),
    ("filename.offset.zero.pad.width", "INT", 10),
    ("avro.codec", "STRING", "null"),
    ("allow.optional.map.keys", "BOOLEAN", False),
    ("schema.compatibility", "STRING", "NONE"),
    ("parquet.codec", "STRING", "snappy"),
    ("s3.bucket.name", "STRING", REQUIRED),
    ("s3.object.tagging", "BOOLEAN", False),
    ("s3.object.tagging.key.value.pairs", "LIST", ()),
    ("s3.object.behavior.on.tagging.error", "STRING", "ignore"),
    ("s3.region", "STRING", "us-west-2"),
    ("s3.part.size", "INT", 26214400),
    (
        "s3.credentials.provider.class",
        "CLASS",
        "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider",
    ),
    ("aws.access.key.id", "STRING", ""),
    ("aws.secret.access.key", "PASSWORD", None),
    ("s3.ssea.name", "STRING", ""),
    ("s3.sse.customer.key", "PASSWORD", None),
    ("s3.sse.kms.key.id", "STRING", ""),
    ("s3.acl.canned", "STRING", None),
    ("s3.wan.mode", "BOOLEAN", False),
    ("s3.compression.type", "STRING", "none"),
    ("s3.compression.level", "INT", -1),
    ("json.decimal.format", "STRING", "BASE64"),
    ("s3.part.retries", "INT", 3),
    ("s3.retry.backoff.ms", "LONG", 200),
    ("format.bytearray.extension", "STRING", ".bin"),
    ("format.bytearray.separator", "STRING", None),
    ("s3.proxy.url", "STRING", ""),
    ("s3.proxy.user", "STRING", None),
    ("s3.proxy.password", "PASSWORD", None),
    ("s3.http.send.expect.continue", "BOOLEAN", True),
    ("behavior.on.null.values", "STRING", "fail"),
    ("report.null.values.to.dlq", "BOOLEAN", True),
    ("max.write.duration.ms", "LONG", _LONG_MAX),
    ("rotate.file.on.partition.change", "BOOLEAN", True),
    ("tombstone.encoded.partition", "STRING", "tombstone"),
    ("s3.schema.partition.affix.type", "STRING", "NONE"),
    ("s3.send.digest", "BOOLEAN", False),
    ("enable.conditional.writes", "BOOLEAN", True),
    ("max.files.scan.limit", "INT", 100),
    ("store.kafka.keys", "BOOLEAN", False),
    ("store.kafka.headers", "BOOLEAN", False),
    ("keys.format.class", "CLASS", _AVRO),
    ("headers.format.class", "CLASS", _AVRO),
    ("s3.path.style.access.enabled", "BOOLEAN", True),
    ("s3.elastic.buffer.enable", "BOOLEAN", False),
    ("s3.elastic.buffer.init.capacity", "INT", 131072),
    ("partitioner.max.open.files", "INT", -1),
    ("storage.class", "CLASS", REQUIRED),
    ("topics.dir", "STRING", "topics"),
    ("store.url", "STRING", None),
    ("directory.delim", "STRING", "/"),
    ("file.delim", "STRING", "+"),
    ("partitioner.class", "CLASS", "io.confluent.connect.storage.partitioner.DefaultPartitioner"),
    ("partition.field.name", "LIST", ()),
    ("partition.duration.ms", "LONG", -1),
    ("path.format", "STRING", ""),
    ("locale", "STRING", ""),
    ("timezone", "STRING", ""),
    ("timestamp.extractor", "STRING", "Wallclock"),
    ("timestamp.field", "STRING", "timestamp"),
]


def test_all_68_properties_of_the_sink_are_known() -> None:
    """Each of the sink's 68 properties has a row, with the sink's type and default."""
    assert len({name for name, _, _ in SINK}) == 68 == len(SINK)
    rows = [catalogue.PROPERTIES[name] for name, _, _ in SINK]
    assert [(prop.name, prop.kind.value, prop.default) for prop in rows] == SINK


def test_own_properties_have_the_documented_defaults() -> None:
    """Our own properties all begin with `export.` and have the defaults that the design names."""
    ours = {name: prop for name, prop in catalogue.PROPERTIES.items() if name.startswith("export.")}
    assert {name: prop.default for name, prop in ours.items()} == {
        "export.log.dir": "_kafka_s3",
        "export.log.key": "",
        "export.range.records.max": 1_000_000,
        "export.batch.records.max": 20_000_000,
        "export.spark.records.min": 1_000_000,
        "export.batch.bytes.max": 17_179_869_184,
        "export.object.bytes.max": -1,
        "export.object.bytes.of": "records",
        "export.path.template": "",
        "export.catchup.batches.max": 168,
        "export.on.data.loss": "fail",
        "export.on.topic.recreated": "fail",
        "export.schedule": "",
        "export.schedule.assets": (),
        "export.owner": "",
        "export.group": "",
        "export.tags": (),
        "export.verify.schedule": "",
        "export.reexport.enable": True,
        "export.reexport.topics.dir": "reexport",
        "export.reexport.max.active.runs": 4,
        "export.operations.enable": True,
        "export.timestamps.enable": False,
        "export.completeness.marker.enable": False,
        "export.completeness.lateness.ms": 0,
        "export.read.timeout.ms": 60_000,
        "export.consumer.group.commit": False,
        "export.consumer.group.id": "",
        "export.kafka.conn.id": "kafka_default",
        "export.aws.conn.id": "aws_default",
        "export.spark.conn.id": "spark_default",
        "export.json.array": False,
        "export.csv.value.encoding": "base64",
        "export.file.extension": None,
        "export.record.fields": (),
        "export.record.wrapped": True,
        "export.topic.folder": True,
        "export.parquet.row.group.bytes": 134_217_728,
        "export.value.schema.file": "",
        "export.value.schema": "",
        "export.value.schema.infer.misfit": "rest",
        "export.value.schema.infer.records": 1000,
        "export.value.schema.infer.bytes": 16_777_216,
        "export.envelope": (),
        "export.envelope.prefix": "_kafka_",
        "export.errors.fraction.max": "1",
        "export.errors.fraction.attention": "0.5",
    }


def test_no_property_has_two_rows() -> None:
    """Every name stands in one table only, so that no row hides another."""
    tables = catalogue.TOPICS.values()
    assert sum(map(len, tables)) == len(catalogue.PROPERTIES)


@pytest.mark.parametrize("prop", catalogue.PROPERTIES.values(), ids=lambda prop: prop.name)
def test_every_default_passes_its_own_check(prop: Property) -> None:
    """A default is a legal value of its property, every property is described, and no status lacks its reason."""
    assert prop.doc.endswith(".")
    match prop.status:
        case Ignored(reason) | Refused(reason, _):
            assert reason
    if isinstance(prop.default, str) and prop.default:
        assert parse(prop, prop.default) == prop.default
    elif isinstance(prop.default, int):
        assert parse(prop, str(prop.default)) == prop.default


# What the sink's validators were seen to say.
@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("s3.part.size", "5242879", "Part size must be at least: 5242880 bytes (5MB)"),
        ("s3.compression.type", "GZIP", "Value must be one of: [none, gzip, zstd, snappy, lz4, bzip2]"),
        ("s3.schema.partition.affix.type", "prefix", "Value must be one of: [NONE, PREFIX, SUFFIX]"),
        ("parquet.codec", "uncompressed", "Value must be one of:"),
        ("avro.codec", "lz4", "Value must be one of: [null, deflate, snappy, bzip2, zstandard]"),
        ("parquet.codec", "lz4", "set lz4_raw"),
        ("parquet.codec", "lzo", "set snappy"),
        ("timezone", "Mars/X", "The datetime zone id is not recognised"),
        ("timezone", "Europe", "The datetime zone id is not recognised"),
        ("timezone", "../../etc/passwd", "The datetime zone id is not recognised"),
        ("flush.size", "abc", "Not a number of type INT"),
        ("flush.size", "2147483648", "Not a number of type INT"),
        ("flush.size", "9" * 5000, "Not a number of type INT"),
        ("flush.size", "\N{ARABIC-INDIC DIGIT FIVE}", "Not a number of type INT"),
        ("s3.compression.level", "23", "Value must be no more than 22"),
        ("s3.elastic.buffer.init.capacity", "4095", "Value must be at least 4096"),
        ("value.converter.encoding", "latin1", "Value must be one of: [UTF-8]"),
        ("key.converter.encoding", "UTF-16", "Value must be one of: [UTF-8]"),
        ("json.decimal.format", "hex", "Value must be one of: [BASE64, NUMERIC]"),
        ("connect.meta.data", "yes", "Expected value to be either true or false"),
        # accepted by the sink, and nonsense
        ("flush.size", "0", "Value must be at least 1"),
        ("flush.size", "-1", "Value must be at least 1"),
        ("schema.compatibility", "bogus", "Value must be one of: [NONE, BACKWARD, FORWARD, FULL]"),
        ("schema.compatibility", "full", "Value must be one of: [NONE, BACKWARD, FORWARD, FULL]"),
        ("schema.compatibility", "FULL_TRANSITIVE", "set FULL"),
        ("schema.compatibility", "BACKWARD_TRANSITIVE", "set BACKWARD"),
        ("partition.duration.ms", "0", "Partition duration needs to be a positive."),
        ("partitioner.max.open.files", "0", "must be positive"),
        ("s3.region", "  ", "must not be blank"),
        ("file.delim", "0", "could not be parsed"),
        ("format.bytearray.extension", "bin", "begin with a dot"),
        ("export.file.extension", ".1.keys.json", "objects beside the data are called so"),
        ("rotate.schedule.interval.ms", "59999", "at least 60000"),
        # known and never accepted
        ("header.converter", "io.confluent.connect.json.JsonSchemaConverter", "Connect does not take it for headers"),
        (
            "header.converter",
            "io.confluent.connect.avro.AvroConverter",
            "Connect does not take it for headers",
        ),
        ("headers.format.class", "ByteArrayFormat", "the headers of a record are not bytes"),
        ("value.converter.basic.auth.credentials.source", "SASL_INHERIT", "set USER_INFO"),
        ("key.converter.bearer.auth.credentials.source", "OAUTHBEARER", "bearer.auth.credentials.source=STATIC_TOKEN"),
        # wrong by itself
        ("value.converter.value.subject.name.strategy", "com.example.Own", "unknown class; known: "),
        ("value.converter.schema.registry.url", "registry:8081", "must be a URL like http://host:port"),
        ("value.converter.basic.auth.user.info", "alone", "must be user:password"),
        ("keys.format.class", "BlockGzipFormat", "unknown class"),
        ("tombstone.encoded.partition", "a/../b", "no '.' or '..'"),
        ("tombstone.encoded.partition", " ", "not blank"),
        ("export.envelope", "topic,size", "topic, partition, offset, timestamp, key, headers"),
        ("export.envelope.prefix", "0-", "must begin a field name"),
        ("export.errors.fraction.max", "1.5", "must be between 0 and 1"),
        ("export.errors.fraction.max", "1e-3", "must be between 0 and 1"),
        ("export.parquet.row.group.bytes", "1048575", "Value must be at least 1048576"),
        ("export.parquet.row.group.bytes", "1073741825", "Value must be no more than 1073741824"),
        ("export.schedule", "0 0 30 2 *", "names a day that does not exist: it would never run; or none"),
        ("export.schedule.assets", "orders", "an invalid asset URI"),
        ("export.schedule.assets", "s3://user:password@bucket/key", "must not contain a user name or password"),
        ("export.tags", "mine,broken", "the tag of connectors that cannot run"),
        ("export.tags", "x" * 101, "1 to 100 characters"),
        ("export.owner", "two\nlines", "on one line"),
        ("export.group", "at night", "for the DAG <group>__group"),
        ("export.group", "n" * 244, "1 to 243"),
        ("compressed_block_size", "0", "Value must be at least 1"),
        ("errors.deadletterqueue.topic.replication.factor", "0", "must be positive, or -1"),
        ("errors.deadletterqueue.topic.name", "a b", "an invalid topic name"),
        ("format.class", "com.example.Own", "unknown class; known: io.confluent.connect.s3.format.json.JsonFormat"),
        ("format.class", "com.example.JsonFormat", "unknown class"),
        ("partitioner.class", "com.example.Own", "or a class of your own as module:Class"),
        (
            "timestamp.extractor",
            "wallclock",
            "unknown class; known: Wallclock, Record, RecordField, or a class of your own",
        ),
    ],
)
def test_a_wrong_value_is_refused_in_the_words_of_the_sink(name: str, text: str, said: str) -> None:
    """What the sink's validators refuse is refused in its words, and so is what it accepts but cannot do."""
    answer = parse(catalogue.PROPERTIES[name], text)
    assert isinstance(answer, Wrong)
    assert said in answer.message


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("behavior.on.null.values", "IGNORE", "ignore"),
        ("json.decimal.format", "numeric", "NUMERIC"),
        ("connect.meta.data", " TRUE ", True),
        ("flush.size", " +7 ", 7),
        ("filename.offset.zero.pad.width", "0", 0),
        ("s3.part.retries", "0", 0),
        ("topics", " a , b ", ("a", "b")),
        ("topics", "", ()),
        ("format.bytearray.separator", " \t", " \t"),
        ("format.bytearray.separator", "", ""),
        ("timezone", "Europe/Berlin", "Europe/Berlin"),
        ("format.class", "JsonFormat", "io.confluent.connect.s3.format.json.JsonFormat"),
        ("format.class", "BlockGzipFormat", "kafka_s3.formats.BlockGzipFormat"),
        ("connector.class", "S3SinkConnector", "io.confluent.connect.s3.S3SinkConnector"),
        (
            "key.converter.key.subject.name.strategy",
            "TopicRecordNameStrategy",
            "io.confluent.kafka.serializers.subject.TopicRecordNameStrategy",
        ),
        ("avro.codec", "zstandard", "zstandard"),
        ("errors.deadletterqueue.topic.replication.factor", "-1", -1),
        ("export.errors.fraction.max", "0.01", "0.01"),
        ("connector.class", "S3Sink", "io.confluent.connect.s3.S3SinkConnector"),
        (
            "partitioner.class",
            "io.confluent.connect.hdfs.partitioner.DefaultPartitioner",
            "io.confluent.connect.storage.partitioner.DefaultPartitioner",
        ),
        *(
            ("s3.credentials.provider.class", name, credentials.DEFAULT)
            for name in (
                "com.amazonaws.auth.DefaultAWSCredentialsProviderChain",
                "com.amazon.auth.DefaultAWSCredentialsProviderChain",
                "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider",
                "DefaultAWSCredentialsProviderChain",
            )
        ),
    ],
)
def test_a_right_value_is_read_by_connects_rules(name: str, text: str, value: object) -> None:
    """Values are trimmed, booleans and some modes read in any case, classes found by older and short names."""
    assert parse(catalogue.PROPERTIES[name], text) == value


def test_messages_of_single_checks_never_repeat_the_value() -> None:
    """No check of a single value echoes it: the value may have come from a backend for secrets."""
    canary = "canary-\x00?"
    for check in (
        validators.topic,
        validators.connector_name,
        validators.timezone,
        validators.folder,
        validators.url,
        validators.store_url,
        validators.customer_key,
        validators.extension,
        validators.file_delim,
        validators.field_path,
        validators.user_info,
        validators.registry_url,
        validators.envelope_prefix,
        converters.envelope_field,
        validators.fraction,
        validators.path_parts,
        validators.file_name,
        schedule.schedule,
        validators.asset_uri,
        validators.owner,
        validators.dag_tag,
    ):
        assert "canary" not in (check(canary) or "")
