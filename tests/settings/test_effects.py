"""Every property has an effect that a test sees: in keys, bytes, requests or errors. A row without one fails here."""

from __future__ import annotations

import ast
import contextlib
import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path

import pytest

from kafka_s3.adapters.memory import MemoryBroker, MemoryStore
from kafka_s3.errors import ConfigurationError
from kafka_s3.export.exporter import Exporter
from kafka_s3.export.run import run
from kafka_s3.export.task import RangeTask, export_range
from kafka_s3.json_schema.options import Options as JsonSchemaOptions
from kafka_s3.plan.results import RangeResult
from kafka_s3.protobuf.options import Options
from kafka_s3.ranges import TopicPartition
from kafka_s3.records import Record
from kafka_s3.report.preview import preview
from kafka_s3.settings import Loaded, catalogue
from kafka_s3.settings.properties import Supported
from tests.settings import test_content_effects
from tests.support import request

Load = Callable[..., Loaded]

ROOT = Path(__file__).resolve().parents[2]
AT_MS = 1_699_999_200_000  # 2023-11-14T22:00:00Z
TIME_BASED = {
    "partitioner.class": "TimeBasedPartitioner",
    "path.format": "YYYY-MM-dd-HHmm",
    "partition.duration.ms": "60000",
    "locale": "en",
    "timezone": "UTC",
    "timestamp.extractor": "Record",
}
HOURLY = {**TIME_BASED, "partitioner.class": "HourlyPartitioner"}
NULLS = "behavior.on.null.values"

Objects = dict[str, bytes]


def made(load_with: Load, more: Mapping[str, str | None]) -> Objects:
    """What a configuration makes of seven records, two a minute, the last one a tombstone."""
    values = [json.dumps({"f": "xy"[n % 2], "at": n * 86_400_000}).encode() for n in range(6)]
    records = [Record(n, value, timestamp_ms=AT_MS + n * 30_000) for n, value in enumerate([*values, None])]
    bodies: Objects = {}
    settings = load_with({"flush.size": "10", NULLS: "ignore", **more}).settings
    result = preview(settings, [(TopicPartition("orders", 3), each) for each in records], bodies.__setitem__)
    if result.stopped:
        bodies["stopped"] = str(result.stopped[0].offset).encode()
    return bodies


def keys(objects: Objects) -> list[str]:
    return sorted(objects)


def paths(objects: Objects) -> list[str]:
    """The encoded partitions."""
    return sorted(key.removeprefix("topics/orders/").rpartition("/")[0] for key in objects)


def lines(objects: Objects) -> list[int]:
    """How many records each object holds."""
    return [body.count(b"\n") for body in objects.values()]


def unpacked(objects: Objects) -> list[int]:
    return [gzip.decompress(body).count(b"\n") for body in objects.values()]


def types(objects: Objects) -> set[type]:
    return {type(json.loads(line)) for body in objects.values() for line in body.splitlines()}


BYTES = {"format.class": "ByteArrayFormat"}
BY_F = {"partitioner.class": "FieldPartitioner", "partition.field.name": "f"}
BY_FIELD_TIME = {**TIME_BASED, "path.format": "D", "timestamp.extractor": "RecordField"}
AT_AND_F = [f"at={n * 86_400_000}/f={'xy'[n % 2]}" for n in range(6)]
DEFAULT_KEY = "topics/orders/partition=3/orders+3+0000000000"

#: Property: the configuration around it, its value, what is looked at, what is then seen and not without it.
SEEN: dict[str, tuple[Mapping[str, str], str, Callable[[Objects], object], object]] = {
    "flush.size": ({}, "4", lines, [4, 2]),
    "filename.offset.zero.pad.width": ({}, "3", keys, ["topics/orders/partition=3/orders+3+000.json"]),
    "topics.dir": ({}, "a/b", keys, ["a/b/orders/partition=3/orders+3+0000000000.json"]),
    "directory.delim": ({}, "|", keys, ["topics|orders|partition=3|orders+3+0000000000.json"]),
    "file.delim": ({}, "-", keys, ["topics/orders/partition=3/orders-3-0000000000.json"]),
    "file.name.template": (
        {},
        "{{topic}}-{{partition}}-{{start_offset}}",
        keys,
        ["topics/orders/partition=3/orders-3-0.json"],
    ),
    "s3.compression.type": ({}, "gzip", unpacked, [6]),
    "format.class": ({}, "ByteArrayFormat", keys, [f"{DEFAULT_KEY}.bin"]),
    "format.bytearray.extension": (BYTES, ".log", keys, [f"{DEFAULT_KEY}.log"]),
    "format.bytearray.separator": (BYTES, "§", lambda o: [b.count("§".encode()) for b in o.values()], [6]),
    "value.converter": ({}, "org.apache.kafka.connect.storage.StringConverter", types, {str}),
    NULLS: ({}, "fail", lambda o: o.get("stopped"), b"6"),
    "s3.schema.partition.affix.type": ({}, "PREFIX", paths, ["schema_name=null/partition=3"]),
    "partitioner.class": (HOURLY, "DailyPartitioner", paths, ["year=2023/month=11/day=14"]),
    "partition.field.name": (BY_F, "at,f", paths, sorted(AT_AND_F)),
    "path.format": (TIME_BASED, "'at'-mm", paths, ["at-00", "at-01", "at-02"]),
    "export.path.template": (
        {"partitioner.class": "FieldAndTimePartitioner"},
        "{f}-{partition}",
        paths,
        ["x-3", "y-3"],
    ),
    "partition.duration.ms": (TIME_BASED, "120000", paths, ["2023-11-14-2200", "2023-11-14-2202"]),
    "timezone": (HOURLY, "Asia/Kolkata", paths, ["year=2023/month=11/day=15/hour=03"]),
    "locale": ({**TIME_BASED, "path.format": "EEEE"}, "pt-BR", paths, ["terça-feira"]),
    "timestamp.extractor": (HOURLY, "Wallclock", paths, ["year=1970/month=01/day=01/hour=00"]),
    "timestamp.field": (BY_FIELD_TIME, "at", paths, ["1", "2", "3", "4", "5", "6"]),
    "rotate.interval.ms": (HOURLY, "60000", lines, [2, 2, 2]),
    "export.object.bytes.max": ({}, "1", lines, [1] * 6),
    "partitioner.max.open.files": (BY_F, "1", lines, [1] * 6),
}


@pytest.mark.parametrize("name", SEEN)
def test_the_effect_of_a_property_on_objects(load_with: Load, name: str) -> None:
    """Seen in keys or bytes, and not seen without it."""
    around, value, look, wanted = SEEN[name]
    assert look(made(load_with, {**around, name: value})) == wanted
    with contextlib.suppress(ConfigurationError, OSError, ValueError):  # nothing like it is there to be looked at
        assert look(made(load_with, around)) != wanted


#: Property: the tests that see what it does, where objects alone do not show it.
LOADING = "tests/settings/test_loading.py"
REGISTRY = "tests/settings/test_registry.py"
PROTOBUF = "tests/settings/test_protobuf.py"
JSON_SCHEMA = "tests/settings/test_json_schema.py"
OLDER = "tests/settings/test_block_gzip.py"
TABLES = "tests/settings/test_tables.py"
REQUESTS = "tests/adapters/test_s3_requests.py"
CREDENTIALS = "tests/adapters/test_s3_credentials.py"
POLICIES = "tests/export/test_policies.py"
COMPLETENESS = "tests/publish/test_completeness.py"
PLANNING = "tests/plan/test_batch.py"
INFERRED = "tests/export/test_inferred_schemas.py"
LETTERS = "tests/export/test_dead_letters.py"
ATTENTION = "tests/report/test_attention.py"
LETTER_TOPIC = "tests/adapters/test_letter_topic.py"
ROLE = "s3.credentials.provider.sts"
SHOWN: dict[str, str] = {
    "name": "tests/airflow/test_integrity.py::test_one_broken_among_four_good_ones",
    "connector.class": f"{LOADING}::test_what_is_wrong_is_a_problem_of_its_property",
    "tasks.max": "tests/spark/test_spark_job.py::test_tasks_get_about_the_same_work",
    "export.spark.records.min": "tests/airflow/test_small_plans.py::test_a_large_plan_goes_to_spark",
    "topics": "tests/cli/test_real_parts.py::test_a_topic_that_is_missing_is_said",
    "topics.regex": "tests/contract/test_kafka_questions.py::test_topics_by_regex",
    "value.converter.encoding": f"{TABLES}::test_a_wrong_value_is_refused_in_the_words_of_the_sink",
    "storage.class": f"{TABLES}::test_a_wrong_value_is_refused_in_the_words_of_the_sink",
    "rotate.schedule.interval.ms": "tests/airflow/test_boundaries.py::test_boundaries_are_the_ends_of_data_intervals",
    "s3.compression.level": "tests/values/formats/test_compression.py::test_an_explicit_level_is_zlibs",
    "s3.bucket.name": "tests/cli/test_real_parts.py::test_a_bucket_that_is_missing_is_said",
    "s3.part.size": "tests/export/test_run.py::test_one_put_per_object_below_the_part_size",
    "s3.region": f"{REQUESTS}::test_region",
    "store.url": f"{REQUESTS}::test_path_style_at_another_store",
    "s3.path.style.access.enabled": f"{REQUESTS}::test_hosts",
    "s3.wan.mode": f"{REQUESTS}::test_hosts",
    "s3.proxy.url": f"{REQUESTS}::test_proxy_with_credentials",
    "s3.proxy.user": f"{REQUESTS}::test_proxy_with_credentials",
    "s3.proxy.password": f"{REQUESTS}::test_proxy_with_credentials",
    "s3.part.retries": f"{REQUESTS}::test_retries",
    "s3.retry.backoff.ms": "tests/adapters/test_retry.py::test_bounds_of_the_wait_double",
    "s3.acl.canned": f"{REQUESTS}::test_acl",
    "s3.ssea.name": f"{REQUESTS}::test_encryption",
    "s3.sse.kms.key.id": f"{REQUESTS}::test_encryption",
    "s3.sse.customer.key": f"{REQUESTS}::test_customers_key",
    "s3.send.digest": f"{REQUESTS}::test_digest",
    "s3.http.send.expect.continue": "tests/adapters/test_s3_answers.py::test_expect_continue",
    "s3.object.tagging": f"{REQUESTS}::test_tags",
    "s3.object.tagging.key.value.pairs": f"{REQUESTS}::test_tags",
    "s3.object.behavior.on.tagging.error": "tests/write/test_uploads.py::test_a_put_that_is_refused_for_its_tags",
    "s3.credentials.provider.class": f"{CREDENTIALS}::test_a_class_of_the_sdk_takes_its_own_place_and_no_other",
    f"{ROLE}.role.arn": "tests/adapters/test_s3_roles.py::test_assume_role",
    f"{ROLE}.role.session.name": "tests/adapters/test_s3_roles.py::test_assume_role",
    f"{ROLE}.role.external.id": "tests/adapters/test_s3_roles.py::test_assume_role",
    f"{ROLE}.region": "tests/adapters/test_s3_roles.py::test_assume_role",
    "aws.access.key.id": f"{CREDENTIALS}::test_configured_keys_come_before_the_machines",
    "aws.secret.access.key": f"{CREDENTIALS}::test_configured_keys_come_before_the_machines",
    "export.log.dir": "tests/settings/test_effects.py::test_where_the_log_lies",
    "export.log.key": "tests/sign/test_signed_log.py::test_all_that_a_log_holds_is_signed",
    "export.range.records.max": f"{PLANNING}::test_cuts_have_a_fixed_size",
    "export.batch.records.max": f"{PLANNING}::test_a_batch_is_bounded_by_records",
    "export.batch.bytes.max": f"{PLANNING}::test_a_batch_is_bounded_by_bytes",
    "export.object.bytes.of": "tests/write/test_object_sizes.py::test_an_object_ends_when_it_is_as_large_as_that",
    "export.catchup.batches.max": "tests/export/test_catching_up.py::test_older_boundaries_share_the_first_batch",
    "export.on.data.loss": f"{POLICIES}::test_a_loss_that_is_recorded_is_a_gap_in_the_log",
    "export.on.topic.recreated": f"{POLICIES}::test_a_topic_created_again_begins_anew_beside_the_old_one",
    "export.schedule": "tests/airflow/test_schedules.py::test_a_cron_expression",
    "export.schedule.assets": "tests/airflow/test_schedules.py::test_assets",
    "export.group": "tests/airflow/test_groups.py::test_a_group_is_one_dag",
    "export.owner": "tests/airflow/test_integrity.py::test_owner_and_tags",
    "export.tags": "tests/airflow/test_integrity.py::test_owner_and_tags",
    "export.verify.schedule": "tests/airflow/test_verification.py::test_what_the_dag_is",
    "export.reexport.enable": "tests/airflow/test_reexport.py::test_what_the_dag_is",
    "export.reexport.max.active.runs": "tests/airflow/test_reexport.py::test_what_the_dag_is",
    "export.operations.enable": "tests/airflow/test_operations.py::test_what_the_dag_is",
    "export.reexport.topics.dir": "tests/reexport/test_beside.py::test_where_windows_lie",
    "export.timestamps.enable": "tests/reexport/test_beside.py::test_who_looks_at_timestamps",
    "export.completeness.marker.enable": f"{COMPLETENESS}::test_an_hour_is_marked_when_its_run_has_ended",
    "export.completeness.lateness.ms": f"{COMPLETENESS}::test_lateness",
    "export.consumer.group.commit": "tests/wiring/test_group.py::test_a_group_shows_what_is_committed",
    "export.consumer.group.id": "tests/wiring/test_group.py::test_a_group_with_members_is_left_alone",
    "export.read.timeout.ms": "tests/adapters/test_kafka_rights.py::test_broker_that_falls_silent",
    "export.kafka.conn.id": "tests/airflow/test_connections.py::test_connections_by_name",
    "export.aws.conn.id": "tests/airflow/test_connections.py::test_connections_by_name",
    "export.spark.conn.id": "tests/airflow/test_spark_conf.py::test_each_connector_has_its_own_spark",
    "s3.bucket": f"{OLDER}::test_it_loads_as_it_is",
    **dict.fromkeys(
        ("s3.prefix", "s3.endpoint", "s3.path_style"), f"{OLDER}::test_its_properties_reach_their_settings"
    ),
    **{
        f"{side}.converter.{name}": f"{REGISTRY}::test_what_the_registrys_client_gets"
        for side in ("value", "key")
        for name in (
            "schema.registry.url",
            "basic.auth.credentials.source",
            "basic.auth.user.info",
            "schema.registry.basic.auth.user.info",
            "bearer.auth.credentials.source",
            "bearer.auth.token",
            "bearer.auth.logical.cluster",
            "bearer.auth.identity.pool.id",
        )
    },
    **{
        f"{side}.converter.{name}": f"tests/adapters/test_glue.py::{test}"
        for side in ("value", "key")
        for name, test in {
            "region": "test_what_the_request_is",
            "endpoint": "test_versions_by_their_ids_at_moto",
            "registry.name": "test_the_driver_asks_for_a_topics_versions",
            "schemaName": "test_the_driver_asks_for_a_topics_versions",
            "assumeRoleArn": "test_a_role_for_glue",
            "assumeRoleSessionName": "test_a_role_for_glue",
        }.items()
    },
    **dict.fromkeys(
        ("value.converter.value.subject.name.strategy", "key.converter.key.subject.name.strategy"),
        "tests/values/converters/test_avro.py::test_the_version_is_that_of_the_subject",
    ),
    **{
        f"{side}.converter.{each.name.replace('_', '.')}": f"{PROTOBUF}::test_an_option_reaches_the_converter"
        for side in ("value", "key")
        for each in fields(Options)
    },
    **dict.fromkeys(
        ("export.record.fields", "export.csv.value.encoding"),
        "tests/values/formats/test_record_fields.py::test_csv_is_that_of_aivens_own_writers",
    ),
    "export.record.wrapped": "tests/values/formats/test_record_fields.py::test_a_single_field_may_stand_alone",
    **dict.fromkeys(
        ("export.topic.folder", "export.file.extension"),
        "tests/settings/test_aiven.py::test_keys_are_those_of_the_template",
    ),
    **{
        f"{side}.converter.{each.name.replace('_', '.')}": f"{JSON_SCHEMA}::test_an_option_reaches_the_converter"
        for side in ("value", "key")
        for each in fields(JsonSchemaOptions)
    },
    "export.value.schema.file": "tests/settings/test_content.py::test_a_schema_in_a_file_is_what_the_plan_holds",
    "export.value.schema.infer.misfit": f"{INFERRED}::test_a_misfit_stops_if_it_is_to",
    "export.value.schema.infer.records": f"{INFERRED}::test_a_later_plan_widens_it",
    "export.value.schema.infer.bytes": f"{INFERRED}::test_bytes_limit_a_sample",
    "errors.deadletterqueue.topic.name": "tests/cli/test_dead_letters.py::test_from_a_bad_record_to_its_second_try",
    "errors.deadletterqueue.topic.replication.factor": f"{LETTER_TOPIC}::test_too_many_replicas",
    "errors.deadletterqueue.context.headers.enable": f"{LETTER_TOPIC}::test_connects_headers",
    "errors.log.enable": f"{LETTERS}::test_the_log_names_them",
    "errors.log.include.messages": "tests/pairs/test_secrets.py::test_what_is_quoted_is_asked_for",
    "export.errors.fraction.max": f"{LETTERS}::test_more_bad_records_than_are_tolerated",
    "export.errors.fraction.attention": f"{ATTENTION}::test_a_commit_of_rejected_records_is_not_ok_anywhere",
    "report.null.values.to.dlq": f"{LETTERS}::test_ignored_tombstones_that_nobody_wants_to_hear_of",
    "transforms": "tests/values/transforms/test_chain.py::test_transforms_apply_in_their_order",
    "predicates": "tests/values/transforms/test_chain.py::test_a_predicate_says_which_records",
    "key.converter.encoding": f"{TABLES}::test_a_wrong_value_is_refused_in_the_words_of_the_sink",
}


def test_every_row_is_shown_or_refused() -> None:
    """Walks the table: what is honoured has a test that sees its effect; what is not, says so by its status."""
    honoured = {name for name, prop in catalogue.PROPERTIES.items() if isinstance(prop.status, Supported)}
    shown = [*SEEN, *test_content_effects.SEEN, *SHOWN]
    assert sorted(honoured - set(shown)) == [], "honoured, and no test shows what it does"
    assert sorted(set(shown) - honoured) == []
    assert len(shown) == len(set(shown)), "shown in two ways"


@pytest.mark.parametrize("test", sorted(set(SHOWN.values())))
def test_the_tests_that_show_them_exist(test: str) -> None:
    path, _, name = test.partition("::")
    tree = ast.parse((ROOT / path).read_text())
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_where_the_log_lies(load_with: Load) -> None:
    """`export.log.dir` and the connector's name are where plans, log and owners are written, and nothing else."""
    settings = load_with({"name": "mine", "export.log.dir": "logs/kafka"}).settings
    store, broker = MemoryStore(), MemoryBroker()
    broker.create_topic("orders", 1)
    broker.append("orders", 0, Record(0, b"{}", timestamp_ms=0))

    def execute(tasks: Sequence[RangeTask]) -> list[RangeResult]:
        return [export_range(settings, task, store, broker) for task in tasks]

    run(Exporter(settings, store, broker), request(), execute, lambda _: None)
    folders = {key.rpartition("/")[0] for key in store.contents() if not key.startswith("topics/orders/")}
    (epoch,) = {folder.rpartition("/")[2] for folder in folders if folder.startswith("logs/kafka/mine/log/")}
    mine = {f"logs/kafka/mine/{folder}" for folder in ("epoch", f"plan/{epoch}", f"log/{epoch}")}
    assert folders == {*mine, "logs/kafka/owners/topics"}
