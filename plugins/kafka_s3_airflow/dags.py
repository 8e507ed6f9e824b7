"""Connector files to DAGs. A file that is wrong becomes a DAG that says so, and touches no other.

Airflow marks every DAG of a file stale when one of them is invalid, and loses one of two with the same id without a
word: neither an exception nor an invalid DAG nor a duplicate id may leave this module.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from airflow.sdk import DAG, get_parsing_context

from kafka_s3.errors import ConfigurationError, Problem
from kafka_s3.settings import Outline
from kafka_s3.settings.files import SUFFIXES, read
from kafka_s3.settings.reach import FILE_ROOTS, reach_of
from kafka_s3.settings.validators import BROKEN_TAG, OPERATIONS_SUFFIX, REEXPORT_SUFFIX, VERIFY_SUFFIX
from kafka_s3_airflow.dag_docs import described
from kafka_s3_airflow.groups import GroupMember, group_dag, group_id, group_problems
from kafka_s3_airflow.operations import operations_dag, operations_id
from kafka_s3_airflow.reexport import reexport_dag, reexport_id
from kafka_s3_airflow.schedules import schedule_of
from kafka_s3_airflow.task_group import HOURLY, document_of, export_group, export_params, look_at, retries_of
from kafka_s3_airflow.verification import verify_dag, verify_id

WORKER_FILE: Final = "worker.properties"
START: Final = datetime(2020, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Connector:
    """A connector file, the id of its DAG, and everything wrong with it."""

    path: Path
    dag_id: str
    outline: Outline | None
    problems: tuple[str, ...]

    @property
    def group(self) -> str | None:
        """The group whose DAG exports it; one that is wrong has a DAG of its own, which says so."""
        return self.outline.group if self.outline is not None and not self.problems else None

    @property
    def runs_in(self) -> str:
        """The id of the DAG that exports it."""
        return self.dag_id if self.group is None else group_id(self.group)


@dataclass(frozen=True, slots=True)
class TaskArguments:
    """Airflow's arguments of tasks: of every connector's, and of one connector's, by its name, which come first."""

    default: Mapping[str, Any] = field(default_factory=dict)
    of_connector: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def of(self, connector: str) -> dict[str, Any]:
        return {**self.default, **self.of_connector.get(connector, {})}


def dags_of(
    folder: str | os.PathLike[str],
    environment: Mapping[str, str] = os.environ,
    *,
    default_args: Mapping[str, Any] | None = None,
    connector_args: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, DAG]:
    """The DAGs of every connector file in a folder, by DAG id; if Airflow asks for one of them, only that one.

    A whole DAG file: `from kafka_s3_airflow import dags_of` and `globals().update(dags_of("/opt/connectors"))`.

    `default_args`: Airflow's arguments of all connectors' tasks, such as queue, pool, executor_config,
    execution_timeout and callbacks. `connector_args`: those of one connector, by its name, which come first.
    """
    arguments = TaskArguments(default_args or {}, connector_args or {})
    wanted = get_parsing_context().dag_id
    alone = wanted is not None and _alone(Path(folder), wanted, environment)
    every = [alone] if alone else connectors_in(Path(folder), environment)
    connectors = [each for each in every if wanted in (None, *_ids(each.dag_id))]
    dags = [dag for each in connectors for dag in _dags_of(each, environment, arguments)]
    groups: dict[str, list[Connector]] = {}
    for each in every:
        if each.group is not None:
            groups.setdefault(each.group, []).append(each)
    for group, members in groups.items():
        if wanted in (None, group_id(group), *(each.dag_id for each in members)):  # what is wrong with it they say
            dags += _dags_of_group(group, members, environment, arguments)
    return {dag.dag_id: dag for dag in dags if wanted in (None, dag.dag_id)}


def connectors_in(folder: Path, environment: Mapping[str, str] = os.environ) -> list[Connector]:
    """The connectors of a folder, in the order of their file names, each with a DAG id of its own."""
    try:
        paths = sorted(path for path in folder.iterdir() if _is_connector(path))
    except OSError as error:
        problem = f"The connectors folder {folder} cannot be read: {error.strerror or type(error).__name__}."
        return [Connector(folder, "connectors", None, (f"{problem} KAFKA_S3_CONNECTORS names another one.",))]
    looked_at = [_look_within(path.absolute(), folder, environment) for path in paths]
    known = [each for each, _ in looked_at]
    # A name that two files claim belongs to neither: which of them owns the log is for their author to say.
    names = Counter(each.name for each, wrong in looked_at if each is not None and not wrong)
    problems = [wrong or _shared_name(each, names) for each, wrong in looked_at]
    right = [each for each, wrong in zip(known, problems, strict=True) if each is not None and not wrong]
    of_groups = group_problems(right)
    problems = [
        wrong if each is None or wrong or each.name not in of_groups else (str(of_groups[each.name]),)
        for each, wrong in zip(known, problems, strict=True)
    ]
    groups = {group_id(each.group) for each in right if each.group is not None}
    ids: dict[Path, str] = {}
    for path, each, wrong in sorted(zip(paths, known, problems, strict=True), key=lambda item: bool(item[2])):
        taken = frozenset(taken for known_id in ids.values() for taken in _ids(known_id))
        ids[path] = _free_id(path, each, taken | groups) if wrong else _name(each)
    return [Connector(path, ids[path], each, wrong) for path, each, wrong in zip(paths, known, problems, strict=True)]


def _alone(folder: Path, dag_id: str, environment: Mapping[str, str]) -> Connector | None:
    """The one connector that a DAG is of, as `connectors_in` has it, without reading the others: each task is a process
    that asks for one DAG. `None` where others matter: those of a group, or of one name; or where something is wrong."""
    name = dag_id.removesuffix(VERIFY_SUFFIX).removesuffix(REEXPORT_SUFFIX).removesuffix(OPERATIONS_SUFFIX)
    try:
        paths = [path for path in folder.iterdir() if _is_connector(path) and _may_be(name, path)]
    except OSError:
        return None
    if len(paths) != 1:
        return None
    known, problems = _look_within(paths[0].absolute(), folder, environment)
    if known is None or problems or known.group is not None or dag_id not in _ids(known.name):
        return None
    return Connector(paths[0], known.name, known, ())


def _may_be(name: str, path: Path) -> bool:
    """Whether a file may give a connector that name. Only one that has it somewhere, or may spell it otherwise, by
    escapes or a variable, is read as a configuration."""
    text = path.read_bytes()
    if name not in path.stem and not any(each in text for each in (name.encode(), b"\\", b"${")):
        return False
    try:
        found = read(path).properties.get("name", path.stem)
    except ConfigurationError:
        return False  # it is wrong, and takes no name from another
    return found.strip() == name or "${" in found


def _look_within(path: Path, folder: Path, environment: Mapping[str, str]) -> tuple[Outline | None, tuple[str, ...]]:
    """As `look_at`; nothing of a file to which a link leads out of the folder, unless the environment allows it."""
    allowed = reach_of(environment, only_looks=True)
    if allowed.file_roots is not None:
        allowed = replace(allowed, file_roots=(*allowed.file_roots, str(folder)))
    for each in (path, path.with_name(WORKER_FILE)):
        if each.is_file() and not allowed.has_file(str(each)):
            name = Problem(
                each.name, None, f"is a link that leads out of the folder, and {FILE_ROOTS} does not allow it"
            )
            return None, (str(name),)
    return look_at(path)


def _ids(connector: str) -> tuple[str, ...]:
    """The ids of every DAG that a connector may have."""
    return connector, verify_id(connector), reexport_id(connector), operations_id(connector)


def _is_connector(path: Path) -> bool:
    named_so = path.suffix.lower() in SUFFIXES and path.name != WORKER_FILE and not path.name.startswith(".")
    return named_so and path.is_file()


def _shared_name(known: Outline | None, names: Counter[str]) -> tuple[str, ...]:
    if known is None or names[known.name] == 1:
        return ()
    others = f"{names[known.name]} files have this name: each connector needs its own, for its DAG and its log"
    return (str(Problem("name", known.name, others)),)


def _name(known: Outline | None) -> str:
    return known.name if known is not None else ""


def _free_id(path: Path, known: Outline | None, taken: frozenset[str]) -> str:
    """The connector's name if it is legal and free, else the stem of its file, made legal and numbered."""
    name = _name(known)
    if re.fullmatch(r"[A-Za-z0-9_.-]{1,250}", name) and name not in taken:
        return name
    stem = re.sub(r"[^A-Za-z0-9_.-]", "_", path.stem)[:240] or "connector"
    numbered = (stem if number == 1 else f"{stem}-{number}" for number in range(1, len(taken) + 2))
    return next(candidate for candidate in numbered if candidate not in taken)


def _dags_of(connector: Connector, environment: Mapping[str, str], arguments: TaskArguments) -> list[DAG]:
    known = connector.outline
    if connector.problems or known is None:
        return [broken(connector, connector.problems)]
    try:
        retries = retries_of(environment)
        if known.owner is not None:
            retries["owner"] = known.owner
        retries |= arguments.of(connector.dag_id)
        dags, what = [], (connector.dag_id, connector.path, known)
        if connector.group is None:
            export = _dag(
                connector,
                (),
                schedule=schedule_of(known),
                topics=known.topics,
                tags=["kafka-s3", *known.tags],
                description=described(known),
                doc_md=document_of(connector.path, known, ()),
                default_args=retries,
            )
            export.validate()  # type: ignore[no-untyped-call]
            dags.append(export)
        if known.verify_schedule is not None:
            dags.append(verify_dag(*what, start=START, default_args=retries))
        beside = [make(*what, start=START, default_args=retries) for make in (reexport_dag, operations_dag)]
        return [*dags, *(dag for dag in beside if dag is not None)]
    # Whatever Airflow refuses about one DAG must not take the other DAGs of the file with it.
    except Exception as error:
        return [broken(connector, (str(error) or type(error).__name__,))]


def _dags_of_group(
    group: str, members: Sequence[Connector], environment: Mapping[str, str], arguments: TaskArguments
) -> list[DAG]:
    """The DAG of a group; if Airflow refuses it, each of its connectors says so."""
    try:
        return [
            group_dag(
                group,
                [GroupMember(str(each.path), each.outline) for each in members if each.outline is not None],
                start=START,
                params=export_params(),
                default_args=retries_of(environment) | arguments.of(group_id(group)),
            )
        ]
    # Whatever Airflow refuses about one DAG must not take the other DAGs of the file with it.
    except Exception as error:
        problems = (f"The DAG of its group {group} could not be made. {error or type(error).__name__}",)
        return [broken(replace(each, problems=problems), problems) for each in members]


def broken(connector: Connector, problems: Sequence[str]) -> DAG:
    """A DAG whose `plan` fails at once with everything that is wrong with its connector; hourly, so that it shows."""
    return _dag(
        connector,
        problems,
        schedule=HOURLY,
        tags=["kafka-s3", BROKEN_TAG],
        description=f"Cannot run: {connector.path.name} is wrong. Its documentation says what to correct.",
        doc_md=document_of(connector.path, None, problems),
        default_args={},
    )


def _dag(
    connector: Connector,
    problems: Sequence[str],
    *,
    schedule: Any,
    topics: Sequence[str] = (),
    default_args: dict[str, Any],
    **arguments: Any,
) -> DAG:
    with DAG(
        connector.dag_id,
        schedule=schedule,
        start_date=START,
        catchup=False,
        max_active_runs=1,
        auto_register=False,  # or Airflow would also take what fails to build below, beside its replacement
        params=export_params(),
        default_args=default_args,
        **arguments,
    ) as dag:
        export_group(connector.path, connector.dag_id, problems, topics=topics, default_args=default_args)
    return dag
