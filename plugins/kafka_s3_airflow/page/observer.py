"""What the page knows: asked in the background by a few threads, and kept for a moment.

Nothing here waits for Kafka, and for a bucket only as long as the caller says. All of it is of this process alone.
Threads: the sum of `at_once` below, 29, whatever is asked; charts and samples have three more.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar, cast

from kafka_s3.bucket.dead_letter_objects import read_letters
from kafka_s3.errors import ConfigurationError, ExporterError, KafkaUnavailable
from kafka_s3.export.diagnosis import JUDGED_ENTRIES, DeadLettersUnsent, Problem, of_log
from kafka_s3.log.store import Log, open_log
from kafka_s3.ports import Broker, ObjectStore
from kafka_s3.reexport import windows
from kafka_s3.report.health import Health, look
from kafka_s3.settings.model import Settings
from kafka_s3_airflow.page.background_answers import Answer, BackgroundAnswers, Limits
from kafka_s3_airflow.page.folder import Folder
from kafka_s3_airflow.page.hiding import concealed
from kafka_s3_airflow.page.history import History, Page, Rows
from kafka_s3_airflow.page.lags import Lag, Lags
from kafka_s3_airflow.page.model import AirflowFacts, Connector, JudgedBy, LogView
from kafka_s3_airflow.page.remembered_entries import EntriesKept, RememberedEntries
from kafka_s3_airflow.page.views import commit_detail, letter_view, window_view

T = TypeVar("T")

LOOK_EVERY_MS: Final = 30_000  # a page that is open asks more often than this, and an answer takes a moment
SOON_MS: Final = 15_000  # what takes longer to answer may never do so
NEWS_WAIT_S: Final = 0.5  # where there is an earlier answer, which is shown with its age
LOG_FRESH_MS: Final = 3_000
KAFKA_FRESH_MS: Final = 20_000
AIRFLOW_FRESH_MS: Final = 5_000
#: For so long a connection or a secret that was changed in Airflow is not seen; where something failed, it is at once.
SETTINGS_FRESH_MS: Final = 300_000
WINDOWS_FRESH_MS: Final = 15_000  # it lists every key of theirs
CONNECTORS_MAX: Final = 1_000
LOG_ENTRIES: Final = 10  # of the newest, to find a commit among checkpoints and voids
HEALTH_ENTRIES: Final = 20
LETTERS_MAX: Final = 100
WINDOWS_MAX: Final = 50
LETTERS_BYTES_MAX: Final = 16 * 1024 * 1024  # of one object, compressed
# Few at once: what they compute, the api-server's answers wait for. Of these there are as many as connectors.
# `per_minute` bounds what a list that is open costs, however many there are: `python -m bench.open_page`.
_LOGS: Final = Limits(at_once=4, waiting=CONNECTORS_MAX, kept=CONNECTORS_MAX, per_minute=60)
_BROKERS: Final = Limits(at_once=8, waiting=CONNECTORS_MAX, kept=CONNECTORS_MAX, per_minute=20)  # one that hangs keeps
_FACTS: Final = Limits(at_once=1, waiting=1, kept=1)
# Of these a user may think up any number, for each connector that they may read.
_READS: Final = Limits(at_once=6, waiting=48, kept=200, of_one_at_once=2, of_one_waiting=12)
_LETTERS: Final = Limits(at_once=2, waiting=24, kept=200, of_one_at_once=1, of_one_waiting=6)
_WINDOWS: Final = Limits(at_once=2, waiting=24, kept=200)


@dataclass(frozen=True, slots=True)
class CommitsWanted:
    """A page of commits: those before one, or those of a run that was at work in a span of time."""

    dag_id: str
    before: int | None = None
    run_id: str | None = None
    span_ms: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class EntryWanted:
    dag_id: str
    seq: int


@dataclass(slots=True, repr=False)
class Loaded:
    """A connector's settings, secrets among them, and its bucket, since when."""

    connector: Connector
    settings: Settings
    store: ObjectStore
    at_ms: int
    log: Log | None = None  # its log, once it is begun


class Observer:
    """Every connector of a folder: their logs, their brokers, and what Airflow's database says of them."""

    def __init__(
        self,
        folder: Folder,
        *,
        load: Callable[[Connector], Settings],
        make_store: Callable[[Settings], ObjectStore],
        make_broker: Callable[[Settings], Broker],
        find_facts: Callable[[Iterable[Connector]], dict[str, AirflowFacts]],
        now_ms: Callable[[], int],
    ) -> None:
        self._folder = folder
        self._load = load
        self._make_store = make_store
        self._make_broker = make_broker
        self._find_facts = find_facts
        self.now_ms = now_ms
        self._lock = threading.Lock()
        self._loaded: dict[str, Loaded] = {}
        self._rows = Rows()
        self.lags = Lags()
        self._entries_kept = EntriesKept()
        self._logs: BackgroundAnswers[str, LogView] = BackgroundAnswers(
            self._read_anew_after_errors(self._look_at_log), fresh_ms=LOG_FRESH_MS, limits=_LOGS, now_ms=now_ms
        )
        self._kafka: BackgroundAnswers[str, Health] = BackgroundAnswers(
            self._read_anew_after_errors(self._ask_kafka), fresh_ms=KAFKA_FRESH_MS, limits=_BROKERS, now_ms=now_ms
        )
        self._facts: BackgroundAnswers[None, dict[str, AirflowFacts]] = BackgroundAnswers(
            self._ask_airflow, fresh_ms=AIRFLOW_FRESH_MS, limits=_FACTS, now_ms=now_ms
        )
        self._pages: BackgroundAnswers[CommitsWanted, Page] = BackgroundAnswers(
            self._read_page, fresh_ms=LOG_FRESH_MS, limits=_READS, now_ms=now_ms, owner_of=_dag_of
        )
        self._entries: BackgroundAnswers[EntryWanted, dict[str, object]] = BackgroundAnswers(
            self._read_entry, fresh_ms=SETTINGS_FRESH_MS, limits=_READS, now_ms=now_ms, owner_of=_dag_of
        )
        self._windows: BackgroundAnswers[str, dict[str, object]] = BackgroundAnswers(
            self._list_windows, fresh_ms=WINDOWS_FRESH_MS, limits=_WINDOWS, now_ms=now_ms
        )
        self._letters: BackgroundAnswers[EntryWanted, dict[str, object]] = BackgroundAnswers(
            self._read_letters, fresh_ms=SETTINGS_FRESH_MS, limits=_LETTERS, now_ms=now_ms, owner_of=_dag_of
        )

    # What is asked for.

    def connectors(self) -> list[Connector]:
        return self._folder.connectors()

    def connector(self, dag_id: str) -> Connector | None:
        """The connector that a DAG belongs to: its own, or one beside it such as `<connector>__verify`."""
        known = {each.dag_id: each for each in self.connectors()}
        return known.get(dag_id) or known.get(dag_id.rpartition("__")[0])

    def log(self, connector: Connector) -> Answer[LogView]:
        return self._logs.look(connector.dag_id) if not connector.problems else Answer()

    def kafka(self, connector: Connector) -> Answer[Health]:
        return self._kafka.look(connector.dag_id) if not connector.problems else Answer()

    def facts(self, connector: Connector) -> AirflowFacts:
        return (self._facts.look(None).value or {}).get(connector.dag_id, AirflowFacts())

    def known_log(self, connector: Connector) -> Answer[LogView]:
        """What is known of a log; nothing is asked."""
        return self._logs.peek(connector.dag_id)

    def known_kafka(self, connector: Connector) -> Answer[Health]:
        return self._kafka.peek(connector.dag_id)

    async def look_over(self, connectors: Iterable[Connector], seconds: float, *, for_news: bool = False) -> None:
        """Ask about many at a time: what was never asked, and of the rest what is oldest, so many a minute.

        Waits for first answers of logs; `for_news`: for everything that is asked now.
        """
        well = [each.dag_id for each in connectors if not each.problems]
        self._facts.look(None)
        if for_news:
            waits = (
                self._kafka.wait_over(well, seconds, for_news=True),
                self._logs.wait_over(well, seconds, for_news=True),
            )
            await asyncio.gather(*waits)
        else:
            self._kafka.look_over(well)
            await self._logs.wait_over(well, seconds)

    def ages_max(self, count: int) -> dict[str, int]:
        """How old what is shown of so many connectors may be, in milliseconds, before it counts as old."""
        return {
            "log": _LOGS.interval_ms(LOG_FRESH_MS, count) + LOOK_EVERY_MS,
            "kafka": _BROKERS.interval_ms(KAFKA_FRESH_MS, count) + LOOK_EVERY_MS,
        }

    def awaits_news(self, connectors: Collection[Connector]) -> bool:
        """Whether something old is shown whose next answer may come any moment: it is worth asking again soon."""
        ages, now_ms = self.ages_max(len(connectors)), self.now_ms()
        answers: list[tuple[str, Answer[Any]]] = [("log", self.known_log(each)) for each in connectors]
        answers += [("kafka", self.known_kafka(each)) for each in connectors]
        return any(
            answer.open_ms is not None
            and now_ms - answer.open_ms < SOON_MS
            and (answer.at_ms is None or now_ms - answer.at_ms > ages[kind])
            for kind, answer in answers
        )

    async def await_log(self, connector: Connector, seconds: float) -> None:
        """Ask about one connector, and wait for its log; Kafka is not waited for."""
        self._facts.look(None)
        if not connector.problems:
            self._kafka.look(connector.dag_id)
            await self._logs.wait_for_news([connector.dag_id], seconds)

    async def await_first(self, connectors: Iterable[Connector], seconds: float) -> None:
        """Give logs that were never looked at a chance to answer; Kafka is asked, and not waited for."""
        well = [each.dag_id for each in connectors if not each.problems]
        self._facts.look(None)
        for dag_id in well:
            self._kafka.look(dag_id)
        await self._logs.wait(well, seconds)

    async def await_news(self, connectors: Iterable[Connector], seconds: float) -> None:
        """Wait for everything that is asked about some connectors now, their brokers included."""
        well = [each.dag_id for each in connectors if not each.problems]
        waits = (self._kafka.wait_for_news(well, seconds), self._logs.wait_for_news(well, seconds))
        await asyncio.gather(*waits)

    async def commits(self, wanted: CommitsWanted, seconds: float) -> Answer[Page]:
        is_known = self._pages.known(wanted) is not None
        await self._pages.wait_for_news([wanted], min(seconds, NEWS_WAIT_S) if is_known else seconds)
        return self._pages.look(wanted)

    async def entry(self, wanted: EntryWanted, seconds: float) -> Answer[dict[str, object]]:
        await self._entries.wait([wanted], seconds)
        return self._entries.look(wanted)

    async def letters(self, wanted: EntryWanted, seconds: float) -> Answer[dict[str, object]]:
        await self._letters.wait([wanted], seconds)
        return self._letters.look(wanted)

    async def windows(self, dag_id: str, seconds: float) -> Answer[dict[str, object]]:
        is_known = self._windows.known(dag_id) is not None
        await self._windows.wait_for_news([dag_id], min(seconds, NEWS_WAIT_S) if is_known else seconds)
        return self._windows.look(dag_id)

    def conceal(self, connector: Connector, content: Any) -> Any:
        """What is said about a connector without what nobody is shown."""
        with self._lock:
            loaded = self._loaded.get(connector.dag_id)
        return concealed(content, self._folder.path.absolute(), loaded.settings.hidden if loaded is not None else ())

    def reached(self, dag_id: str) -> tuple[Settings, ObjectStore, Broker]:
        """A connector's settings, bucket and broker, for a question of somebody else's."""
        loaded = self.loaded(dag_id)
        return loaded.settings, loaded.store, self._make_broker(loaded.settings)

    # How it is found out, in the threads.

    def _ask_airflow(self, _: None) -> dict[str, AirflowFacts]:
        return self._find_facts(self.connectors())

    def _read_anew_after_errors(self, question: Callable[[str], T]) -> Callable[[str], T]:
        """A wrong connection or secret may have been corrected by the next time."""

        def ask(dag_id: str) -> T:
            try:
                return question(dag_id)
            except ExporterError:
                with self._lock:
                    self._loaded.pop(dag_id, None)
                raise

        return ask

    def _look_at_log(self, dag_id: str) -> LogView:
        """Where nothing new was committed it costs a LIST, and a GET of the plan that may be open."""
        loaded = self.loaded(dag_id)
        history = self.history(loaded)
        page = history.page(None, LOG_ENTRIES)
        newest = page.rows[0] if page.rows else None
        known = self._logs.known(dag_id)
        committed = known.committed if known is not None and known.rows[:1] == page.rows[:1] else None
        if committed is None and newest is not None:
            committed = history.log.newest()
            known = None
        planned = history.log.open_plan(committed) if committed is not None else None
        bucket = loaded.settings.s3.bucket
        return LogView(
            bucket=bucket,
            where=f"s3://{bucket}/{history.log.where}",
            committed=committed,
            open_plan=planned.plan if planned is not None else None,
            rows=page.rows,
            problems=self._problems(loaded, history.log, known if committed is not None else None),
            judged_by=_judged_by(loaded.settings),
        )

    @staticmethod
    def _problems(loaded: Loaded, log: Log, known: LogView | None) -> tuple[Problem, ...]:
        """What the log says needs attention: of one that was looked at already only dead letters may be sent since."""
        is_same = known is not None and known.judged_by == _judged_by(loaded.settings)
        if known is not None and is_same and not any(isinstance(each, DeadLettersUnsent) for each in known.problems):
            return known.problems
        return tuple(of_log(loaded.settings, log, list(itertools.islice(log.entries(), JUDGED_ENTRIES))))

    def _ask_kafka(self, dag_id: str) -> Health:
        """Raises where Kafka did not answer, so that its last answer is kept, with its age."""
        loaded = self.loaded(dag_id)
        if loaded.settings.kafka.refused:
            raise ConfigurationError(" ".join(loaded.settings.kafka.refused))
        health = look(
            loaded.settings,
            self._remembered(loaded),
            lambda: self._make_broker(loaded.settings),
            at_ms=self.now_ms(),
            entries_max=HEALTH_ENTRIES,
        )
        if health.status.kafka_error is not None and health.status.is_kafka_silent:
            raise KafkaUnavailable(health.status.kafka_error)
        if health.lag_records is not None:
            self.lags.add(dag_id, Lag(health.at_ms, health.lag_records, health.lag_ms))
        return health

    def _read_page(self, wanted: CommitsWanted) -> Page:
        history = self.history(self.loaded(wanted.dag_id))
        if wanted.run_id is None:
            return history.page(wanted.before)
        newest = history.log.newest()
        return history.of_run(wanted.run_id, wanted.span_ms, newest.entry.seq if newest is not None else -1)

    def _read_entry(self, wanted: EntryWanted) -> dict[str, object]:
        loaded = self.loaded(wanted.dag_id)
        committed = _log(loaded).entry(wanted.seq)
        if committed is None:
            raise ConfigurationError(f"The log has no entry {wanted.seq}.")
        return commit_detail(committed.entry, loaded.settings.s3.bucket)

    def _read_letters(self, wanted: EntryWanted) -> dict[str, object]:
        """The first refused records of a commit. Memory: what `read_letters` says."""
        log = _log(self.loaded(wanted.dag_id))
        committed = log.entry(wanted.seq)
        found: list[dict[str, object]] = []
        too_large = 0
        for done in committed.entry.ranges if committed is not None else ():
            if done.dead_letters is None or len(found) == LETTERS_MAX:
                continue
            if done.dead_letters.size > LETTERS_BYTES_MAX:
                too_large += 1
                continue
            letters = read_letters(log, done)
            found += [letter_view(letter) for letter in itertools.islice(letters, LETTERS_MAX - len(found))]
        return {"letters": found, "letters_max": LETTERS_MAX, "too_large": too_large}

    def _list_windows(self, dag_id: str) -> dict[str, object]:
        loaded = self.loaded(dag_id)
        found = windows(loaded.settings, loaded.store, WINDOWS_MAX)
        return {"windows": [window_view(each) for each in found], "windows_max": WINDOWS_MAX}

    def history(self, loaded: Loaded) -> History:
        """The log's commits, a page at a time; for a thread."""
        s3 = loaded.settings.s3
        return History(self._remembered(loaded), self._rows, f"{s3.endpoint_url or s3.region} {s3.bucket}")

    def _remembered(self, loaded: Loaded) -> Log:
        """The log for one look, which reads what an earlier one did not."""
        log, s3 = _log(loaded), loaded.settings.s3
        where = f"{s3.endpoint_url or s3.region} {s3.bucket}"
        store = RememberedEntries(log.store, where, log.layout.log_prefix, self._entries_kept)
        return replace(log, store=cast("ObjectStore", store))

    def loaded(self, dag_id: str) -> Loaded:
        """A connector's settings and bucket; `ConfigurationError` with everything that is wrong."""
        connector = self._folder.named(dag_id)
        if connector is None:
            raise ConfigurationError(f"{dag_id} is not a connector any more.")
        with self._lock:
            known = self._loaded.get(dag_id)
        now_ms = self.now_ms()
        if known is not None and known.connector == connector and now_ms - known.at_ms < SETTINGS_FRESH_MS:
            return known
        settings = self._load(connector)
        with self._lock:
            same = (each.store for each in self._loaded.values() if each.settings.s3 == settings.s3)
            store = next(same, None)
        loaded = Loaded(connector, settings, store or self._make_store(settings), now_ms)
        with self._lock:
            self._loaded[dag_id] = loaded
        return loaded


def _log(loaded: Loaded) -> Log:
    """Found once for a while: a log that is begun anew is shown when the settings are read again."""
    settings = loaded.settings
    log = loaded.log or open_log(loaded.store, settings.log_root, settings.name, settings.log_key)
    if log.claims is None:
        loaded.log = log
    return log


def _dag_of(wanted: CommitsWanted | EntryWanted) -> str:
    return wanted.dag_id


def _judged_by(settings: Settings) -> JudgedBy:
    return settings.dead_letters, settings.topics, settings.topics_regex
