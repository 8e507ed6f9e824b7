"""Inside an object: its schema and its first rows, where the operator allows it. Off unless KAFKA_S3_PAGE_SAMPLE_ROWS.

Who may edit a connector's DAG sees them, and nobody else. Nothing is shown of objects that are encrypted with a key of
the user's, of dead letters, of keys and headers, and of fields that a transform masks or hashes.
"""

import contextlib
import json
import logging
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import as_file, files
from typing import Annotated, Any, Final

from airflow.api_fastapi.core_api.security import GetUserDep
from fastapi import APIRouter, Depends, HTTPException, Query, Request, Response

from kafka_s3.errors import ConfigurationError, StoreUnavailable
from kafka_s3.naming import parse_data_key
from kafka_s3.ports import ObjectStore
from kafka_s3.settings.formats import FileSettings, Format
from kafka_s3.settings.model import Settings
from kafka_s3_airflow.page import access
from kafka_s3_airflow.page.at_hand import PAGE_WAIT_S, ObserverDep, OneDep, ThreadsDep, answered, authenticated, seq_of
from kafka_s3_airflow.page.background_answers import Answer, BackgroundAnswers, Limits
from kafka_s3_airflow.page.observer import SETTINGS_FRESH_MS, Observer
from kafka_s3_airflow.page.views import OBJECTS_MAX

ROWS_VARIABLE: Final = "KAFKA_S3_PAGE_SAMPLE_ROWS"
HIDDEN_VARIABLE: Final = "KAFKA_S3_PAGE_SAMPLE_HIDDEN"
ROWS_MAX: Final = 20
BEGIN_BYTES_MAX: Final = 512 * 1024
WHOLE_BYTES_MAX: Final = 16 * 1024 * 1024  # of Parquet, whose description is at its end
TIME_MAX_S: Final = 30
#: Transforms that hide what a field holds.
_HIDING: Final = ("Mask", "Hash", "Encrypt", "Cipher", "Redact")
_FORMATS: Final = {
    Format.JSON: "json",
    Format.BYTE_ARRAY: "lines",
    Format.CSV: "lines",
    Format.AVRO: "avro",
    Format.PARQUET: "parquet",
}
_LIMITS: Final = Limits(at_once=1, waiting=12, kept=50, of_one_at_once=1, of_one_waiting=3)

log = logging.getLogger(__name__)
routes = APIRouter(dependencies=[Depends(authenticated)])


@dataclass(frozen=True, slots=True)
class SampleWanted:
    """The object of a commit, by its place in the entry."""

    dag_id: str
    seq: int
    place: int


def rows_wanted(environment: Mapping[str, str]) -> int:
    """How many rows are shown; 0: none, nor any schema.

    >>> rows_wanted({}), rows_wanted({"KAFKA_S3_PAGE_SAMPLE_ROWS": "5"}), rows_wanted({ROWS_VARIABLE: "many"})
    (0, 5, 0)
    """
    text = environment.get(ROWS_VARIABLE, "0").strip()
    return min(ROWS_MAX, int(text)) if text.isascii() and text.isdigit() else 0


def hidden_fields(settings: Settings, environment: Mapping[str, str]) -> list[str]:
    """Fields that no sample shows: what transforms mask or hash, and what the operator names."""
    found = {each.strip() for each in environment.get(HIDDEN_VARIABLE, "").split(",")}
    for name, kind in settings.resolved.items():
        if name.startswith("transforms.") and name.endswith(".type") and any(each in kind for each in _HIDING):
            of = name.removesuffix("type")
            for option in ("fields", "field.name", "field"):
                paths = settings.resolved.get(f"{of}{option}", "").split(",")
                found |= {path.strip().rpartition(".")[2] for path in paths}
    return sorted(found - {""})


class Inside:
    """Samples of objects, one after the other. Threads: 1; memory: WHOLE_BYTES_MAX and 50 answers of 50 KB."""

    def __init__(self, observer: Observer, environment: Mapping[str, str] = os.environ) -> None:
        self._observer = observer
        self._environment = environment
        self._answers: BackgroundAnswers[SampleWanted, dict[str, object]] = BackgroundAnswers(
            self._read,
            fresh_ms=SETTINGS_FRESH_MS,
            limits=_LIMITS,
            now_ms=observer.now_ms,
            owner_of=lambda each: each.dag_id,
        )

    @property
    def is_on(self) -> bool:
        return rows_wanted(self._environment) > 0

    async def answer(self, wanted: SampleWanted) -> Answer[dict[str, object]]:
        await self._answers.wait([wanted], PAGE_WAIT_S)
        return self._answers.look(wanted)

    def _read(self, wanted: SampleWanted) -> dict[str, object]:
        loaded = self._observer.loaded(wanted.dag_id)
        entry = self._observer.history(loaded).entry(wanted.seq)
        objects = [(done.topic, made) for done in entry.ranges for made in done.objects] if entry is not None else []
        if wanted.place >= len(objects):
            raise ConfigurationError(f"Commit {wanted.seq} has no object {wanted.place}.")
        topic, made = objects[wanted.place]
        settings = loaded.settings
        hidden = hidden_fields(settings, self._environment)
        why_not = _why_not(settings, topic, made.key, bool(hidden))
        found: dict[str, object] = {"key": made.key, "hidden": hidden, "rows": [], "schema": None}
        if why_not is not None:
            return {**found, "why_not": why_not}
        data, is_cut = _beginning(loaded.store, made.key, settings.format.file)
        if is_cut and settings.format.file.format is Format.PARQUET:
            large = (
                f"Objects of Parquet are read as a whole, up to {WHOLE_BYTES_MAX // 1024**2} MiB: this one is larger."
            )
            return {**found, "why_not": large}
        said = {
            "format": _FORMATS[Format(settings.format.file.format)],
            "compression": type(settings.format.file.compression).__name__.lower().replace("nocompression", "none"),
            "rows": rows_wanted(self._environment),
            "hidden": hidden,
            "is_cut": is_cut,
            "path": sys.path,
        }
        sampled = in_a_process(said, data)
        return {**found, "rows": sampled["rows"], "schema": sampled["schema"], "why_not": sampled["error"]}


def _why_not(settings: Settings, topic: str, key: str, is_hidden: bool) -> str | None:
    """Why nothing of an object is shown."""
    file = settings.format.file
    if {"SSECustomerKey", "SSEKMSKeyId"} & settings.s3.put_arguments.keys():
        return "The connector encrypts its objects with a key of yours: the page shows nothing of them."
    if not settings.exports(topic) or parse_data_key(settings.layout, topic, key) is None:
        return "Today's configuration does not name this object: the page shows nothing of it."
    if not isinstance(file.format, Format) or file.format not in _FORMATS or file.json_array:
        return "Objects of this format are not shown: JSON, Avro, Parquet, bytes and CSV are, JSON not as an array."
    if is_hidden and _FORMATS[file.format] == "lines":
        return "Some fields are hidden, and lines of this format have no names of fields: nothing is shown of them."
    return None


def _beginning(store: ObjectStore, key: str, file: FileSettings) -> tuple[bytes, bool]:
    """The first bytes of an object, and whether there are more."""
    limit = WHOLE_BYTES_MAX if file.format is Format.PARQUET else BEGIN_BYTES_MAX
    data = bytearray()
    chunks: Any = store.read(key)
    with contextlib.closing(chunks):
        for chunk in chunks:
            data += chunk
            if len(data) > limit:
                return bytes(data[:limit]), True
    return bytes(data), False


def in_a_process(said: Mapping[str, object], data: bytes) -> dict[str, Any]:
    """What `sample_process` finds. A reader that breaks, or takes too much, takes nothing of the api-server with it."""
    with as_file(files("kafka_s3_airflow.page").joinpath("sample_process.py")) as program:
        try:
            run = subprocess.run(  # noqa: S603  # this Python, this file
                [sys.executable, "-I", "-S", "-B", str(program)],
                input=json.dumps(said).encode() + b"\n" + data,
                capture_output=True,
                timeout=TIME_MAX_S,
                env={"PATH": os.defpath, "LANG": "C.UTF-8"},
                cwd="/",
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise StoreUnavailable(f"The object could not be read within {TIME_MAX_S} s.") from None
    try:
        found: dict[str, Any] = json.loads(run.stdout)
    except ValueError:
        return {"rows": [], "schema": None, "error": "The object cannot be read within the limits of a sample."}
    return found


async def inside_of(request: Request) -> Inside:
    inside: Inside = request.app.state.inside
    return inside


InsideDep = Annotated[Inside, Depends(inside_of)]


@routes.get("/api/connectors/{dag_id}/commits/{seq}/sample")
async def sample(
    request: Request,
    shown: OneDep,
    user: GetUserDep,
    observer: ObserverDep,
    threads: ThreadsDep,
    inside: InsideDep,
    seq: int,
    place: Annotated[int, Query(ge=0, lt=OBJECTS_MAX)] = 0,
) -> Response:
    """The first rows of an object of a commit."""
    if not inside.is_on:
        raise HTTPException(404, f"Rows are not shown: {ROWS_VARIABLE} is not set for the api-server.")
    if not await threads.run(access.may_edit, shown.runs_in, user):
        raise HTTPException(403, "You may not see rows of this connector: that takes the permission to edit its DAG.")
    wanted = SampleWanted(shown.dag_id, seq_of(seq), place)
    log.info("%s looks at rows of %s, commit %d, object %d", user.get_name(), shown.dag_id, seq, place)
    return await threads.run(answered, request, await inside.answer(wanted), dict, shown, observer)
