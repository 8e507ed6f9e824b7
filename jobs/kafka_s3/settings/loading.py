"""From files to settings: the one way in, with every problem at once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from kafka_s3 import user_defined
from kafka_s3.errors import ConfigurationError, Problem
from kafka_s3.settings import (
    block_gzip,
    catalogue,
    completeness,
    connect,
    converters,
    credentials,
    formats,
    inference,
    kafka,
    paths,
    registry,
    run,
    s3,
    schedule,
    spark,
    values,
)
from kafka_s3.settings.client_checks import Client
from kafka_s3.settings.files import read
from kafka_s3.settings.kafka_client import read_stores, translate
from kafka_s3.settings.model import Settings, build_settings, settle, shown
from kafka_s3.settings.properties import HIDDEN, REQUIRED, ResolvedProperty
from kafka_s3.settings.reach import CLASSES, Reach
from kafka_s3.settings.schedule import ScheduleSettings, build_schedule
from kafka_s3.settings.sources import Gathered, gather
from kafka_s3.settings.spark import NO_SPARK_CONF, SparkSettings
from kafka_s3.settings.transforms import rules as transforms
from kafka_s3.settings.validation import ParsedConfig, report_rows
from kafka_s3.settings.validators import OPERATIONS_SUFFIX, REEXPORT_SUFFIX
from kafka_s3.settings.variables import Lookups

WORKER_FILE: Final = "worker.properties"
DAG_ID_CHARS_MAX: Final = 250

#: What a class of the user's own has to have, by the property that names it.
USER_DEFINED_METHODS: Final = {
    "format.class": user_defined.FORMAT,
    "partitioner.class": user_defined.PARTITIONER,
    "timestamp.extractor": user_defined.EXTRACTOR,
    credentials.CLASS: user_defined.CREDENTIALS_PROVIDER,
}


@dataclass(frozen=True, slots=True)
class Loaded:
    """A configuration that is right, and where each of its values came from."""

    settings: Settings
    report: tuple[ResolvedProperty, ...]
    is_aivens: bool = False  # it was written for Aiven's S3 sink
    unresolved: tuple[Problem, ...] = ()  # `offline`: which variables have no value here, and why


@dataclass(frozen=True, slots=True)
class Outline:
    """What a connector's DAG needs while Airflow builds it. With `problems`, the rest is the best that is known."""

    name: str
    schedule: ScheduleSettings
    topics: tuple[str, ...]
    topics_regex: str | None
    kafka_conn_id: str
    aws_conn_id: str
    problems: tuple[Problem, ...]
    verify_schedule: str | None = None  # a cron expression or Airflow's name for one
    schedule_assets: tuple[str, ...] = ()
    group: str | None = None
    owner: str | None = None
    tags: tuple[str, ...] = ()
    bucket: str = ""
    topics_dir: str = ""
    format: str = ""  # the name of the class, as the partitioner's
    partitioner: str = ""
    log_root: str = ""
    given: tuple[tuple[str, str], ...] = ()  # the properties that are set, secrets hidden
    spark: SparkSettings = NO_SPARK_CONF  # what holds a variable is not among its properties
    reexports_max: int = 0  # windows at once; 0: there is no DAG for them
    has_operations: bool = False  # whether there is a DAG for them


def load(
    path: Path,
    *,
    worker: Path | None = None,
    lookups: Lookups,
    kafka_connection: Mapping[str, object] | None = None,
    aws_connection: Mapping[str, str] | None = None,
    offline: bool = False,
) -> Loaded:
    """The configuration in a connector file, or a `ConfigurationError` with everything that is wrong with it.

    `worker`: the worker file; unless given, `worker.properties` beside the connector file if there is one.
    `kafka_connection`: the extra of an Airflow connection, librdkafka's names or Java's.
    `aws_connection`: aws_access_key_id, aws_secret_access_key, aws_session_token, region_name, endpoint_url,
    export.log.key.
    `offline`: neither Kafka nor S3 will be reached, so brokers need not be known, and variables of properties that
    shape no bytes need no value.
    """
    connector, worker_given, problems = _read_files(path, worker)
    return _load(
        {"name": path.stem, **connector},
        worker_given,
        problems,
        lookups,
        kafka_connection,
        aws_connection,
        offline,
        str(path),
        path.parent,
    )


def from_mapping(
    connector: Mapping[str, str],
    *,
    worker: Mapping[str, str] | None = None,
    lookups: Lookups | None = None,
    kafka_connection: Mapping[str, object] | None = None,
    aws_connection: Mapping[str, str] | None = None,
    offline: bool = False,
    origin: str = "The configuration",
) -> Loaded:
    """As `load`, from the properties themselves; the name has no default, relative paths are the process's own."""
    return _load(
        connector, worker or {}, [], lookups or Lookups(), kafka_connection, aws_connection, offline, origin, Path()
    )


def outline(path: Path, worker: Path | None = None) -> Outline:
    """What is known of a connector without resolving a variable; never raises for what is in the files.

    Reads the connector file and the worker file, nothing else. Values that hold a variable are not config.
    """
    try:
        connector, worker_given, problems = _read_files(path, worker)
    except ConfigurationError as error:
        return _broken(path, error.problems or (Problem(path.name, None, error.what),))
    gathered = gather(
        {"name": path.stem, **connector},
        worker_given,
        lookups=None,
        kafka_connection=None,
        aws_connection=None,
        offline=True,
    )
    config, client = _check(gathered, need_brokers=False)
    problems = _all(problems, gathered, config, client)
    fallback = _broken(path, ())
    return Outline(
        name=config.text("name") if config.sure("name") else fallback.name,
        schedule=build_schedule(config),
        topics=tuple(dict.fromkeys(config.listed("topics"))),
        topics_regex=config.optional("topics.regex"),
        kafka_conn_id=config.optional("export.kafka.conn.id") or fallback.kafka_conn_id,
        aws_conn_id=config.optional("export.aws.conn.id") or fallback.aws_conn_id,
        problems=tuple(problems),
        verify_schedule=config.optional("export.verify.schedule"),
        schedule_assets=config.listed("export.schedule.assets"),
        group=config.optional("export.group"),
        owner=config.optional("export.owner"),
        tags=tuple(dict.fromkeys(config.listed("export.tags"))),
        bucket=config.text("s3.bucket.name"),
        topics_dir=config.text("topics.dir"),
        format=config.text("format.class").rpartition(".")[2],
        partitioner=config.text("partitioner.class").rpartition(".")[2],
        log_root=config.text("export.log.dir"),
        given=(*shown(config), *((written, HIDDEN) for written, _ in gathered.client[0].given.values())),
        spark=spark.build_spark(config),
        reexports_max=_reexports_max(config),
        has_operations=_has_dag(config, "export.operations.enable", OPERATIONS_SUFFIX),
    )


def _reexports_max(config: ParsedConfig) -> int:
    enabled, at_once = "export.reexport.enable", "export.reexport.max.active.runs"
    wanted = config.sure(at_once) and _has_dag(config, enabled, REEXPORT_SUFFIX)
    return config.number(at_once) if wanted else 0


def _has_dag(config: ParsedConfig, enabled: str, suffix: str) -> bool:
    """Whether a DAG beside the connector's is wanted, and its id has room."""
    wanted = config.sure("name", enabled) and config.flag(enabled)
    return wanted and len(config.text("name")) + len(suffix) <= DAG_ID_CHARS_MAX


def _broken(path: Path, problems: Sequence[Problem]) -> Outline:
    """The outline of a file of which nothing is known but its name, made a legal DAG id."""
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", path.stem)[:250].strip(".") or "connector"
    return Outline(name, ScheduleSettings(), (), None, "kafka_default", "aws_default", tuple(problems))


def _read_files(path: Path, worker: Path | None) -> tuple[dict[str, str], dict[str, str], list[Problem]]:
    beside = path.parent / WORKER_FILE
    if worker is None and beside.is_file():
        worker = beside
    file = read(path)
    problems = list(file.problems)
    if worker is None:
        return dict(file.properties), {}, problems
    worker_file = read(worker)
    return dict(file.properties), dict(worker_file.properties), problems + list(worker_file.problems)


def _load(
    connector: Mapping[str, str],
    worker: Mapping[str, str],
    problems: list[Problem],
    lookups: Lookups,
    kafka_connection: Mapping[str, object] | None,
    aws_connection: Mapping[str, str] | None,
    offline: bool,
    origin: str,
    folder: Path,
) -> Loaded:
    gathered = gather(
        connector,
        worker,
        lookups=lookups,
        kafka_connection=kafka_connection,
        aws_connection=aws_connection,
        offline=offline,
    )
    config, client = _check(gathered, need_brokers=not offline)
    if not offline:
        _read_stores(gathered, config, client, lookups.reach)
    _find_user_defined(config, lookups.reach)
    spark.check_reach(config, lookups.reach)
    converters.read_value_schema(config, folder, lookups.reach)
    problems = _all(problems, gathered, config, client)
    if problems:
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        raise ConfigurationError(f"{origin} has {count}:", problems=problems)
    settle(config)
    rows = sorted(gathered.rows + report_rows(config) + config.rows + client.rows, key=lambda row: row.name)
    made = build_settings(config, client, gathered.session_token, gathered.aws)
    kafka = replace(made.kafka, refused=tuple(gathered.refused_client))
    found = replace(made, kafka=kafka, hidden=gathered.hidden)
    return Loaded(found, tuple(rows), gathered.aivens is not None, tuple(gathered.unresolved))


def _read_stores(gathered: Gathered, config: ParsedConfig, client: Client, reach: Reach) -> None:
    """Read Java's key and trust stores. A process that only looks at connectors asks no registry, and without one that
    it cannot read it does not ask Kafka either."""
    problems = read_stores(client, reach)
    if reach.only_looks:
        gathered.refused_client += map(str, problems)
        return
    client.problems += problems
    registry.read_registry_stores(config, reach)


def _check(gathered: Gathered, *, need_brokers: bool) -> tuple[ParsedConfig, Client]:
    failed = frozenset(problem.name for problem in gathered.problems)
    config = catalogue.validate(gathered.properties, failed, gathered.aivens)
    _apply_rules(config)
    client = translate(gathered.client)
    kafka.apply_producer_rules(
        config, {name: pair for layer in reversed(gathered.client) for name, pair in layer.given.items()}
    )
    known = "bootstrap.servers" in {*client.properties, *client.unresolved}
    known = known or any(name.endswith("bootstrap.servers") for name in failed)
    if need_brokers and not known:
        conn_id = config.optional("export.kafka.conn.id") or "kafka_default"
        message = (
            f"is required and was found neither as {kafka.OVERRIDE}bootstrap.servers in the connector file nor in the"
            f" worker file. Airflow's tasks also read the connection {conn_id}; kafka-s3 does not"
        )
        client.problems.append(Problem("bootstrap.servers", None, message))
    return config, client


def _apply_rules(config: ParsedConfig) -> None:
    """Add every problem that only several properties together have; a rule is silent where one is wrong by itself.

    Paths come after the schedule: what they miss they take for wrong, and both need a zone.
    """
    connect.apply_connector_rules(config)
    values.apply_value_rules(config)
    formats.apply_format_rules(config)
    converters.apply_converter_rules(config)
    inference.apply_inference_rules(config)
    transforms.apply_transform_rules(config)
    block_gzip.apply_block_gzip_rules(config)
    registry.apply_registry_rules(config)
    schedule.apply_schedule_rules(config)
    s3.apply_s3_rules(config)
    credentials.apply_credential_rules(config)
    paths.apply_path_rules(config)
    run.apply_limit_rules(config)
    spark.apply_spark_rules(config)
    completeness.apply_completeness_rules(config)


def _find_user_defined(config: ParsedConfig, reach: Reach) -> None:
    """Look at classes of the user's own; only here, since Airflow's parse of a DAG must not import them."""
    named = {name: (config.text(name), methods) for name, methods in USER_DEFINED_METHODS.items() if config.sure(name)}
    for name, path in transforms.own_classes(config).items():
        is_predicate = name.startswith(f"{transforms.PREDICATES}.")
        named[name] = path, user_defined.PREDICATE if is_predicate else user_defined.TRANSFORM
    for name, (path, methods) in named.items():
        if user_defined.is_path(path):
            if not reach.has_class(path):
                if not reach.only_looks or name == credentials.CLASS:  # the others make objects, and none is made
                    config.add_problem(name, f"is not imported here: {CLASSES} does not allow it in this process")
                continue
            try:
                user_defined.find_class(path, *methods)
            except ConfigurationError as error:
                config.add_quoting_problem(name, error.what.removeprefix(f"{path}: "))


def _all(problems: list[Problem], gathered: Gathered, config: ParsedConfig, client: Client) -> list[Problem]:
    """Every problem once, in the order of names; of a file for another product that alone."""
    other = connect.another_product(config)
    if other is not None:
        return [other]
    everything = [*problems, *gathered.problems, *config.problems, *client.problems]
    return sorted(dict.fromkeys(everything), key=lambda problem: problem.name)


def settings_from_plan(configuration: Mapping[str, str], sha256: str, now: Settings) -> Settings | None:
    """The settings behind a plan's configuration with that hash; `None` if this engine cannot make them again.

    A plan comes out of the bucket, and whoever may write there may have written it. So nothing is imported, opened or
    asked because a plan names it: of its configuration only what shapes objects is read, and a class of the user's own
    only if today's configuration names the same one. How to reach Kafka, S3 and the registry is today's alone.
    """
    own = [name for name in configuration if transforms.is_member(name) and name.endswith(".type")]
    for name in (*USER_DEFINED_METHODS, *own):
        text = configuration.get(name, "")
        if user_defined.is_path(text) and text != now.resolved.get(name):
            return None
    required = (name for name, prop in catalogue.PROPERTIES.items() if prop.default is REQUIRED)
    given = {name: now.resolved[name] for name in required if name in now.resolved}
    given |= {name: text for name, text in configuration.items() if _shapes(name)}
    try:
        then = from_mapping(given, offline=True).settings
    except ConfigurationError:
        return None
    if then.configuration_sha256 != sha256:
        return None
    return replace(then, name=now.name, log_root=now.log_root, kafka=now.kafka, s3=now.s3, log_key=now.log_key)


def _shapes(name: str) -> bool:
    """Whether a property says how objects are made. An AvroConverter needs the registry's address, and asks nobody."""
    prop = catalogue.PROPERTIES.get(name)
    if transforms.is_member(name):
        return True
    return name == kafka.READING or (prop is not None and (prop.shapes or name.endswith(".schema.registry.url")))
