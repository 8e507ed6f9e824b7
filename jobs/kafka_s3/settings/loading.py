"""From files to settings: the one way in, with every problem at once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from kafka_s3 import custom
from kafka_s3.errors import ConfigurationError, Problem
from kafka_s3.settings import connect, credential_names
from kafka_s3.settings.build import build_schedule, build_settings, settle, shown
from kafka_s3.settings.check import Checked, check, report_rows
from kafka_s3.settings.checks import REEXPORT_SUFFIX
from kafka_s3.settings.client import Client, translate
from kafka_s3.settings.content_rules import apply_producer_rules
from kafka_s3.settings.files import read
from kafka_s3.settings.model import ScheduleSettings, Settings
from kafka_s3.settings.properties import HIDDEN
from kafka_s3.settings.reach import CLASSES, Reach
from kafka_s3.settings.rules import apply_rules
from kafka_s3.settings.sources import Gathered, ResolvedProperty, gather
from kafka_s3.settings.value_schema import read_value_schema
from kafka_s3.settings.variables import Lookups

WORKER_FILE: Final = "worker.properties"
DAG_ID_CHARS_MAX: Final = 250

#: What a class of the user's own has to have, by the property that names it.
OWN_METHODS: Final = {
    "format.class": custom.FORMAT,
    "partitioner.class": custom.PARTITIONER,
    "timestamp.extractor": custom.EXTRACTOR,
    credential_names.CLASS: custom.CREDENTIALS_PROVIDER,
}


@dataclass(frozen=True, slots=True)
class Loaded:
    """A configuration that is right, and where each of its values came from."""

    settings: Settings
    report: tuple[ResolvedProperty, ...]


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
    owner: str | None = None
    tags: tuple[str, ...] = ()
    bucket: str = ""
    topics_dir: str = ""
    format: str = ""  # the name of the class, as the partitioner's
    partitioner: str = ""
    log_root: str = ""
    given: tuple[tuple[str, str], ...] = ()  # the properties that are set, secrets hidden
    reexports_max: int = 0  # windows at once; 0: there is no DAG for them


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

    Reads the connector file and the worker file, nothing else. Values that hold a variable are not checked.
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
    checked, client = _check(gathered, need_brokers=False)
    problems = _all(problems, gathered, checked, client)
    fallback = _broken(path, ())
    return Outline(
        name=checked.text("name") if checked.sure("name") else fallback.name,
        schedule=build_schedule(checked),
        topics=tuple(dict.fromkeys(checked.listed("topics"))),
        topics_regex=checked.optional("topics.regex"),
        kafka_conn_id=checked.optional("export.kafka.conn.id") or fallback.kafka_conn_id,
        aws_conn_id=checked.optional("export.aws.conn.id") or fallback.aws_conn_id,
        problems=tuple(problems),
        verify_schedule=checked.optional("export.verify.schedule"),
        schedule_assets=checked.listed("export.schedule.assets"),
        owner=checked.optional("export.owner"),
        tags=tuple(dict.fromkeys(checked.listed("export.tags"))),
        bucket=checked.text("s3.bucket.name"),
        topics_dir=checked.text("topics.dir"),
        format=checked.text("format.class").rpartition(".")[2],
        partitioner=checked.text("partitioner.class").rpartition(".")[2],
        log_root=checked.text("export.log.dir"),
        given=(*shown(checked), *((written, HIDDEN) for written, _ in gathered.client[0].given.values())),
        reexports_max=_reexports_max(checked),
    )


def _reexports_max(checked: Checked) -> int:
    enabled, at_once = "export.reexport.enable", "export.reexport.max.active.runs"
    wanted = checked.sure("name", enabled, at_once) and checked.flag(enabled)
    fits = wanted and len(checked.text("name")) + len(REEXPORT_SUFFIX) <= DAG_ID_CHARS_MAX
    return checked.number(at_once) if fits else 0


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
    checked, client = _check(gathered, need_brokers=not offline)
    _find_own_classes(checked, lookups.reach)
    read_value_schema(checked, folder, lookups.reach)
    problems = _all(problems, gathered, checked, client)
    if problems:
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        raise ConfigurationError(f"{origin} has {count}:", problems=problems)
    settle(checked)
    rows = sorted(gathered.rows + report_rows(checked) + checked.rows + client.rows, key=lambda row: row.name)
    made = build_settings(checked, client, gathered.session_token)
    kafka = replace(made.kafka, refused=tuple(gathered.refused_client))
    return Loaded(replace(made, kafka=kafka, hidden=gathered.hidden), tuple(rows))


def _check(gathered: Gathered, *, need_brokers: bool) -> tuple[Checked, Client]:
    failed = frozenset(problem.name for problem in gathered.problems)
    checked = check(gathered.properties, failed)
    apply_rules(checked)
    client = translate(gathered.client)
    apply_producer_rules(
        checked, {name: pair for layer in reversed(gathered.client) for name, pair in layer.given.items()}
    )
    known = "bootstrap.servers" in {*client.properties, *client.unresolved}
    known = known or any(name.endswith("bootstrap.servers") for name in failed)
    if need_brokers and not known:
        conn_id = checked.optional("export.kafka.conn.id") or "kafka_default"
        message = (
            f"is required and was found neither as {connect.OVERRIDE}bootstrap.servers in the connector file, nor in"
            f" the Airflow connection {conn_id}, nor in the worker file"
        )
        client.problems.append(Problem("bootstrap.servers", None, message))
    return checked, client


def _find_own_classes(checked: Checked, reach: Reach) -> None:
    """Look at classes of the user's own; only here, since Airflow's parse of a DAG must not import them."""
    for name, methods in OWN_METHODS.items():
        path = checked.text(name)
        if checked.sure(name) and custom.is_path(path):
            if not reach.has_class(path):
                if not reach.only_looks or name == credential_names.CLASS:  # the others make objects, and none is made
                    checked.complain(name, f"is not imported here: {CLASSES} does not allow it in this process")
                continue
            try:
                custom.find_class(path, *methods)
            except ConfigurationError as error:
                checked.complain(name, error.what.removeprefix(f"{path}: "))


def _all(problems: list[Problem], gathered: Gathered, checked: Checked, client: Client) -> list[Problem]:
    """Every problem once, in the order of names."""
    everything = [*problems, *gathered.problems, *checked.problems, *client.problems]
    return sorted(dict.fromkeys(everything), key=lambda problem: problem.name)
