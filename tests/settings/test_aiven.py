"""Configurations of Aiven's S3 sink run: what its properties become, and what is refused by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from kafka_s3.errors import ConfigurationError
from kafka_s3.naming import DataName, format_data_key
from kafka_s3.settings import Loaded, Lookups, from_mapping, load, outline
from kafka_s3.settings.credentials import AssumeRole, Chain
from kafka_s3.settings.formats import AvroCodec, Format, Gzip, NoCompression, ParquetCodec, Snappy, Zstd
from kafka_s3.settings.loading import settings_from_plan
from kafka_s3.settings.model import Settings
from kafka_s3.settings.paths import RecordTime, RunTime, TemplatePartitioner
from kafka_s3.settings.s3 import RetrySettings
from kafka_s3.settings.values import NullValues
from tests.cli.command import call, write_properties

CONNECTOR = "io.aiven.kafka.connect.s3.AivenKafkaConnectS3SinkConnector"
LEAST = {
    "name": "orders",
    "topics": "orders",
    "connector.class": CONNECTOR,
    "aws.s3.bucket.name": "archive",
    "value.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
}
JSON = {
    **LEAST,
    "format.output.type": "jsonl",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}
REGISTRY = {
    "value.converter": "io.confluent.connect.avro.AvroConverter",
    "value.converter.schema.registry.url": "http://registry:8081",
    "format.output.envelope": "false",
}


def loaded(base: Mapping[str, str] = LEAST, **more: str) -> Loaded:
    """`_` stands for `.`, as in no name of Aiven's older ones."""
    return from_mapping({**base, **{name.replace("_", "."): text for name, text in more.items()}}, offline=True)


def settings(base: Mapping[str, str] = LEAST, **more: str) -> Settings:
    return loaded(base, **more).settings


def key(made: Settings, path: str = "", offset: int = 42) -> str:
    extension = made.format.file.extension
    assert extension is not None
    return format_data_key(made.layout, DataName("orders", path, 3, offset, extension))


def problems(base: Mapping[str, str] = LEAST, **more: str) -> dict[str, str]:
    with pytest.raises(ConfigurationError) as raised:
        loaded(base, **more)
    return {problem.name: problem.message for problem in raised.value.problems}


def test_the_least_configuration_runs_with_aivens_defaults() -> None:
    """CSV of values in base64, gzip, one object for each range, and names without a folder."""
    made = settings()
    assert (made.s3.bucket, made.s3.region) == ("archive", "us-east-1")
    assert made.format.file.format is Format.CSV
    assert made.format.file.compression == Gzip()
    assert made.format.record_fields is not None
    assert [each.value for each in made.format.record_fields.fields] == ["value"]
    assert made.format.record_fields.value_base64
    assert made.format.null_values is NullValues.WRITE
    assert made.limits.flush_size == 1_000_000
    assert key(made) == "orders-3-42.gz"


def test_the_example_of_its_readme_runs() -> None:
    """A template with folders, fields, a zone, and properties that mean nothing here."""
    made = settings(
        JSON,
        tasks_max="1",
        aws_s3_region="eu-central-1",
        key_converter="org.apache.kafka.connect.storage.StringConverter",
        file_name_template="dir1/dir2/{{topic}}-{{partition:padding=true}}-{{start_offset:padding=true}}.gz",
        format_output_fields="key,value,offset,timestamp",
        format_output_envelope="true",
        file_compression_type="gzip",
        file_max_records="500",
        timestamp_timezone="Europe/Berlin",
        timestamp_source="wallclock",
        kafka_retry_backoff_ms="100",
    )
    assert key(made) == "dir1/dir2/orders-0000000003-00000000000000000042.gz"
    assert made.format.record_fields is not None
    assert [each.value for each in made.format.record_fields.fields] == ["offset", "value", "key", "timestamp"]
    assert (made.limits.flush_size, made.schedule.timezone) == (500, "Europe/Berlin")


def test_names_of_before_2_6_mean_the_same() -> None:
    """A prefix has its own names, with zeros; the template is not looked at."""
    older = {name: text for name, text in LEAST.items() if name != "aws.s3.bucket.name"}
    more = {
        "aws_access_key_id": "AKIA",
        "aws_secret_access_key": "very secret",
        "aws_s3_bucket": "old",
        "aws_s3_region": "eu-west-1",
        "aws_s3_endpoint": "http://127.0.0.1:9000",
        "aws_s3_prefix": "lake/pre-",
        "output_compression": "zstd",
        "output_fields": "value,offset",
        "file.name.template": "{{key}}",
    }
    made = from_mapping({**older, **more}, offline=True).settings
    assert (made.s3.bucket, made.s3.region, made.s3.endpoint_url) == ("old", "eu-west-1", "http://127.0.0.1:9000")
    assert (made.s3.access_key_id, made.s3.secret_access_key) == ("AKIA", "very secret")
    assert made.format.file.compression == Zstd()
    assert key(made) == "lake/pre-orders-3-00000000000000000042.zst"


@pytest.mark.parametrize(
    ("template", "path", "made"),
    [
        ("{{topic}}-{{partition}}-{{start_offset}}", "", "orders-3-42"),
        ("{{topic}}/{{partition}}-{{start_offset}}.csv.gz", "", "orders/3-42.csv.gz"),
        ("a/{{ topic }}/b/{{partition}}-{{start_offset}}", "b", "a/orders/b/3-42"),
        ("{{topic}}/{{partition}}/{{partition}}-{{start_offset}}", "3", "orders/3/3-42"),
        ("a/{{topic}}-{{partition}}-{{start_offset}}-{{timestamp:unit=yyyy}}{{timestamp:unit=MM}}.gz", "2026/11",
         "a/orders-3-42-202611.gz"),
        ("{{timestamp:unit=yyyy}}/{{topic}}-{{partition}}-{{start_offset}}", "2026", "2026/orders-3-42"),
        ("{{topic}}/{{timestamp:unit=YYYY}}-{{timestamp:unit=MM}}/{{partition}}-{{start_offset}}.x", "2026-11",
         "orders/2026-11/3-42.x"),
    ],
)  # fmt: skip
def test_keys_are_those_of_the_template(template: str, path: str, made: str) -> None:
    """The whole key, its extension included."""
    assert key(settings(file_name_template=template), path) == made


def test_times_in_names_are_of_the_run_or_of_records() -> None:
    """WALLCLOCK is the logical time of the run, so that a retry makes the same names."""
    template = "{{topic}}/{{timestamp:unit=dd}}/{{timestamp:unit=HH}}/{{partition}}-{{start_offset}}"
    for source, extractor in (("wallclock", RunTime()), ("EVENT", RecordTime())):
        partitioner = settings(file_name_template=template, file_name_timestamp_source=source).partitioner
        assert isinstance(partitioner, TemplatePartitioner)
        assert partitioner.extractor == extractor
        assert partitioner.timezone == "UTC"


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{key}}", "keeps only the latest record of each key"),
        ("{{topic}}/{{partition}}/{{key}}", "no object is overwritten"),
        ("{{topic}}/{{partition}}/{{start_offset}}", "needs {{partition}} once"),
        ("{{topic}}/{{start_offset}}/{{partition}}", "{{start_offset}} belongs in the last part"),
        ("{{partition}}-{{start_offset}}", "needs {{topic}} once"),
        ("{{topic}}{{partition}}-{{start_offset}}", "two topics could have one name"),
        ("/{{topic}}-{{partition}}-{{start_offset}}", "has an empty folder"),
        ("{{topic}}-{{partition}}-{{start_offset}}{{timestamp:unit=dd}}", "begins with no digit between numbers"),
        ("{{topic}}/{{timestamp:unit=mm}}/{{partition}}-{{start_offset}}", "unit=mm}} is not a placeholder"),
        ("{{topic}}/{region}/{{partition}}-{{start_offset}}", "contains a brace that belongs to no placeholder"),
        ("{{topic}}/{{{partition}}}/{{partition}}-{{start_offset}}", "contains a brace"),
        ("{{topic}}/{{partition}}-{{start_offset}}.g\x01z", "must not contain control characters"),
        ("a /{{topic}}/{{partition}}-{{start_offset}}", "has a space beside a slash"),
        ("{{topic}}/{{partition:padding=true}}/{{partition}}-{{start_offset}}", "has no zeros in a folder"),
        ("${env:FOLDER}/{{topic}}-{{partition}}-{{start_offset}}", "must not contain a variable"),
    ],
)  # fmt: skip
def test_names_that_cannot_be_made_say_the_way_out(template: str, said: str) -> None:
    """Nothing is overwritten here, and every name says which records it holds."""
    found = problems(file_name_template=template)
    assert list(found) == ["file.name.template"]
    assert said in found["file.name.template"]


DATED = "{{topic}}/{{utc_date}}/{{local_date}}/{{partition}}-{{start_offset}}"


@pytest.mark.parametrize("zone", [{}, {"file.name.timestamp.timezone": "UTC"}, {"timestamp.timezone": "Z"}])
def test_dates_of_aivens_are_those_of_the_run(zone: Mapping[str, str]) -> None:
    """The first in UTC, which no worker file changes."""
    made = from_mapping({**LEAST, **zone, "file.name.template": DATED}, worker={"timezone": "Asia/Tokyo"}, offline=True)
    partitioner = made.settings.partitioner
    assert isinstance(partitioner, TemplatePartitioner)
    assert (partitioner.extractor, partitioner.timezone) == (RunTime(), "UTC")


@pytest.mark.parametrize(
    ("name", "more", "said"),
    [
        ("utc_date", {"file.name.timestamp.source": "EVENT"}, "{{utc_date}} requires file.name.timestamp.source"),
        ("local_date", {"file.name.timestamp.source": "EVENT"}, "{{local_date}} requires file.name.timestamp.source"),
        ("utc_date", {"file.name.timestamp.timezone": "Asia/Tokyo"}, "requires file.name.timestamp.timezone=UTC"),
        ("utc_date", {"timezone": "Asia/Tokyo"}, "requires file.name.timestamp.timezone=UTC"),
    ],
)
def test_dates_that_would_differ_are_refused(name: str, more: Mapping[str, str], said: str) -> None:
    """They are those on which Aiven's sink writes, whatever is said of other times."""
    found = problems(
        {**LEAST, **more}, file_name_template=f"{{{{{name}}}}}/{{{{topic}}}}-{{{{partition}}}}-{{{{start_offset}}}}"
    )
    assert list(found) == ["file.name.template"]
    assert said in found["file.name.template"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("file.name.template", "../{{topic}}-{{partition}}-{{start_offset}}"),
        ("aws.s3.prefix", "../x-"),
        ("file.name.template", "{{topic}}-{{partition}}-{{start_offset}}.g\x01z"),
        ("aws.s3.endpoint", "ftp://minio"),
    ],
)
def test_a_problem_shows_what_the_file_says(name: str, text: str) -> None:
    """Not what became of it."""
    with pytest.raises(ConfigurationError) as raised:
        loaded({**LEAST, name: text})
    [problem] = raised.value.problems
    assert (problem.name, problem.value) == (name, text.replace("\x01", "\\x01"))


def test_a_problem_shows_no_password_under_aivens_names() -> None:
    """Neither in an address nor out of a variable."""
    given = {**LEAST, "aws.s3.endpoint": "http://u:canary@minio", "aws.s3.region": "${env:PLACE}"}
    with pytest.raises(ConfigurationError) as raised:
        from_mapping(given, lookups=Lookups(env={"PLACE": "canary 2"}), offline=True)
    assert "aws.s3.endpoint" in {problem.name for problem in raised.value.problems}
    assert "canary" not in str(raised.value)


@pytest.mark.parametrize(
    ("codec", "compression"), [("none", NoCompression()), ("gzip", Gzip()), ("SNAPPY", Snappy()), ("zstd", Zstd())]
)
def test_objects_are_compressed_as_aivens(codec: str, compression: object) -> None:
    """The extension of its default names says so too."""
    made = settings(JSON, file_compression_type=codec, format_output_type="json")
    assert made.format.file.compression == compression
    assert made.format.file.json_array
    ending = {"none": "", "gzip": ".gz", "snappy": ".snappy", "zstd": ".zst"}[codec.lower()]
    assert key(made) == f"orders-3-42{ending}"


def test_a_value_alone_goes_into_avro_and_parquet() -> None:
    """Codecs are within the files; a name says of which kind these are, as Aiven's does."""
    made = settings({**LEAST, **REGISTRY}, format_output_type="parquet", file_compression_type="zstd")
    assert (made.format.file.format, made.format.file.parquet_codec) == (Format.PARQUET, ParquetCodec.ZSTD)
    avro = settings({**LEAST, **REGISTRY}, format_output_type="avro", file_compression_type="gzip")
    assert (avro.format.file.format, avro.format.file.avro_codec) == (Format.AVRO, AvroCodec.DEFLATE)
    assert (avro.format.record_fields, avro.format.null_values) == (None, NullValues.FAIL)
    assert key(avro) == "orders-3-42.avro"


@pytest.mark.parametrize("kind", ["avro", "parquet"])
def test_an_envelope_goes_into_avro_and_parquet(kind: str) -> None:
    """Its fields stand in the order of the configuration, as in Aiven's."""
    more = {**REGISTRY, "format.output.envelope": "true", "format.output.fields": "key,value,timestamp"}
    made = settings({**LEAST, **more}, format_output_type=kind)
    assert made.format.record_fields is not None
    assert [each.value for each in made.format.record_fields.fields] == ["key", "value", "timestamp"]
    assert made.format.null_values is NullValues.FAIL


def test_credentials_are_keys_a_role_or_a_provider() -> None:
    """With the region of STS from its endpoint."""
    role = settings(
        aws_sts_role_arn="arn:aws:iam::123456789012:role/writer",
        aws_sts_role_session_name="kafka",
        aws_sts_role_external_id="x1",
        aws_sts_role_session_duration="900",
        aws_sts_config_endpoint="https://sts.eu-west-1.amazonaws.com",
    )
    assert role.s3.credentials == AssumeRole("arn:aws:iam::123456789012:role/writer", "kafka", "x1", "eu-west-1")
    provider = settings(aws_credentials_provider="com.amazonaws.auth.EnvironmentVariableCredentialsProvider")
    assert provider.s3.credentials is Chain.ENVIRONMENT
    assert settings().s3.credentials is Chain.DEFAULT


def test_what_has_another_unit_or_limit_is_fitted() -> None:
    """A part of less than S3's least is that; retries are those of requests."""
    made = settings(aws_s3_part_size_bytes="1", aws_s3_backoff_max_retries="7", aws_s3_backoff_delay_ms="50")
    assert made.s3.retry == RetrySettings(7, 50)
    assert made.limits.part_size_bytes == 5_242_880


@pytest.mark.parametrize(
    ("more", "name", "said"),
    [
        ({"format.output.type": "xml"}, "format.output.type", "must be one of csv, jsonl, json, avro, parquet"),
        ({"format.output.fields": "value,topic"}, "format.output.fields", "may only contain key, value"),
        ({"output_fields": "value,key", "format.output.envelope": "false"}, "format.output.envelope", "exactly one"),
        (
            {**REGISTRY, "format.output.type": "avro", "format.output.fields": "key"},
            "format.output.fields",
            "avro has the value alone",
        ),
        ({"file.compression.type": "lz4"}, "file.compression.type", "must be one of none, gzip"),
        ({"file.max.records": "many"}, "file.max.records", "is not a whole number"),
        ({"file.name.timestamp.source": "HEADER:at"}, "file.name.timestamp.source", "must be WALLCLOCK or EVENT"),
        ({"file.record.grouper.builder": "a.B"}, "file.record.grouper.builder", "does not run here"),
        ({"aws.sts.config.endpoint": "https://sts.example"}, "aws.sts.config.endpoint", "is not one of AWS"),
        ({"aws.s3.buket.name": "x"}, "aws.s3.buket.name", "Did you mean aws.s3.bucket.name?"),
        ({"file.name.timestamp.timezone": "Nowhere"}, "file.name.timestamp.timezone", "zone"),
        ({"aws.s3.part.size.bytes": "9999999999"}, "aws.s3.part.size.bytes", "Not a number of type INT"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_of_aivens_name(more: Mapping[str, str], name: str, said: str) -> None:
    """And of nothing else."""
    found = problems({**JSON, **more})
    assert list(found) == [name]
    assert said in found[name]


def test_properties_of_this_exporter_may_stand_beside() -> None:
    """They count, and the report says so."""
    made = loaded(file_max_records="500", flush_size="7", export_schedule="@daily")
    assert made.settings.limits.flush_size == 7
    [row] = [each for each in made.report if each.name == "file.max.records"]
    assert row.ignored
    assert "flush.size is set as well, and counts" in row.meaning


def test_a_file_counts_before_the_airflow_connection(tmp_path: Path) -> None:
    """And the connection before what Aiven's sink takes for granted."""
    keys = {"aws_access_key_id": "A", "aws_secret_access_key": "S"}
    path = write_properties(tmp_path / "orders.properties", {**LEAST, **keys})
    connection = {"aws_access_key_id": "B", "aws_secret_access_key": "T", "region_name": "eu-north-1"}
    made = load(path, lookups=Lookups(), aws_connection=connection, offline=True).settings
    assert (made.s3.access_key_id, made.s3.secret_access_key, made.s3.region) == ("A", "S", "eu-north-1")


def test_variables_are_resolved_and_their_values_hidden(tmp_path: Path) -> None:
    """Under Aiven's names as well."""
    keys = {"aws_access_key_id": "A", "aws_secret_access_key": "${env:KEY}"}
    path = write_properties(tmp_path / "orders.properties", {**LEAST, **keys, "aws.s3.bucket.name": "${env:BUCKET}"})
    made = load(path, lookups=Lookups(env={"BUCKET": "archive", "KEY": "very-secret"}), offline=True)
    assert (made.settings.s3.bucket, made.settings.s3.secret_access_key) == ("archive", "very-secret")
    assert not any("very-secret" in row.value or row.value == "archive" for row in made.report)


def test_a_plan_knows_what_its_objects_are() -> None:
    """Plans show this exporter's properties alone, and are read again by these."""
    made = settings(JSON, file_name_template="{{topic}}/{{partition}}-{{start_offset}}")
    assert made.resolved["connector.class"] == "io.confluent.connect.s3.S3SinkConnector"
    again = settings_from_plan(made.resolved, made.configuration_sha256, made)
    assert again is not None
    assert (again.layout, again.format) == (made.layout, made.format)


def test_airflow_sees_the_bucket_and_the_format(tmp_path: Path) -> None:
    """The outline of a DAG is made of the same properties."""
    seen = outline(write_properties(tmp_path / "orders.properties", dict(LEAST)))
    assert (seen.problems, seen.bucket, seen.format) == ((), "archive", "CsvFormat")


def test_validate_says_what_each_property_became(tmp_path: Path) -> None:
    """In one line that it is Aiven's; no secret is shown."""
    given = {**LEAST, "aws_access_key_id": "A", "aws_secret_access_key": "very-secret", "kafka.retry.backoff.ms": "5"}
    told = call("validate", write_properties(tmp_path / "orders.properties", given))
    assert told.exit_code == 0
    assert "Note: this is a configuration of Aiven's S3 sink" in told.output
    words = " ".join(told.output.split())
    assert "aws.s3.bucket.name archive connector file Read as s3.bucket.name." in words
    assert "kafka.retry.backoff.ms connector file ignored: requests to Kafka are retried by its client" in words
    assert "very-secret" not in told.output
