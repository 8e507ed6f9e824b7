"""The routes of charts: each answer is made of the log in the background, and kept for a moment.

How far back a log is read is bounded by each question. What was read is kept as a few numbers a commit, so that the
next question reads on where this one ended.
"""

import zoneinfo
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Depends, HTTPException, Query, Request, Response

from kafka_s3_airflow.page.at_hand import PAGE_WAIT_S, ObserverDep, OneDep, ThreadsDep, answered, authenticated
from kafka_s3_airflow.page.background_answers import Answer, BackgroundAnswers, Limits
from kafka_s3_airflow.page.charts import TIME_MAX_MS, charted, lag_points, window_of
from kafka_s3_airflow.page.commit_facts import CHUNK, FactsKept, read_facts
from kafka_s3_airflow.page.observer import NEWS_WAIT_S, Observer

FRESH_MS: Final = 10_000
#: Commits that one question reads of those that no earlier one read: what a press of "read more" adds.
NEW_MAX: Final = 1_000
#: How far back whoever asks may ask to go.
COMMITS_MAX: Final = 100_000
ZONE_MAX: Final = 64
_LIMITS: Final = Limits(at_once=2, waiting=24, kept=100, of_one_at_once=1, of_one_waiting=6)

routes = APIRouter(dependencies=[Depends(authenticated)])


@dataclass(frozen=True, slots=True)
class ChartsWanted:
    """Bars of a connector; without times the newest. `commits`: how many are read for them, at most."""

    dag_id: str
    per: str
    zone: str
    from_ms: int | None
    to_ms: int | None
    commits: int


class Charts:
    """Answers to such questions. Threads: 2; memory: `FactsKept` and 100 answers of 200 bars."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._kept = FactsKept()
        self._answers: BackgroundAnswers[ChartsWanted, dict[str, object]] = BackgroundAnswers(
            self._read, fresh_ms=FRESH_MS, limits=_LIMITS, now_ms=observer.now_ms, owner_of=lambda each: each.dag_id
        )

    async def answer(self, wanted: ChartsWanted) -> Answer[dict[str, object]]:
        is_known = self._answers.known(wanted) is not None
        await self._answers.wait_for_news([wanted], NEWS_WAIT_S if is_known else PAGE_WAIT_S)
        return self._answers.look(wanted)

    def _read(self, wanted: ChartsWanted) -> dict[str, object]:
        window = window_of(wanted.per, _zone(wanted.zone) or UTC, wanted.from_ms, wanted.to_ms, self._observer.now_ms())
        assert window is not None, "the route asks for no other"
        history = self._observer.history(self._observer.loaded(wanted.dag_id))
        return charted(read_facts(history, self._kept, window.from_ms, wanted.commits, NEW_MAX), window)


async def charts_of(request: Request) -> Charts:
    charts: Charts = request.app.state.charts
    return charts


Time = Annotated[int | None, Query(ge=0, le=TIME_MAX_MS)]


@routes.get("/api/connectors/{dag_id}/charts")
async def charts(
    request: Request,
    shown: OneDep,
    observer: ObserverDep,
    threads: ThreadsDep,
    made: Annotated[Charts, Depends(charts_of)],
    per: Literal["hour", "day", "month"] = "hour",
    zone: Annotated[str, Query(max_length=ZONE_MAX)] = "UTC",
    from_ms: Time = None,
    to_ms: Time = None,
    commits: Annotated[int, Query(ge=1, le=COMMITS_MAX)] = CHUNK,
) -> Response:
    """A connector's commits over time, and what waited as often as Kafka was asked."""
    wanted = ChartsWanted(shown.dag_id, per, zone, from_ms, to_ms, commits)
    if not await threads.run(_is_shown, wanted, observer.now_ms()):
        raise HTTPException(422, f"There are no bars, or too many, per {per} from {from_ms} to {to_ms} in that zone.")
    lags = lag_points(observer.lags.of(shown.dag_id))

    def show(found: dict[str, Any]) -> dict[str, object]:
        return {**found, "zone": zone, "lags": lags}

    return await threads.run(answered, request, await made.answer(wanted), show, shown, observer)


def _is_shown(wanted: ChartsWanted, now_ms: int) -> bool:
    zone = _zone(wanted.zone)
    return zone is not None and window_of(wanted.per, zone, wanted.from_ms, wanted.to_ms, now_ms) is not None


def _zone(name: str) -> tzinfo | None:
    try:
        return zoneinfo.ZoneInfo(name)
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        return None
