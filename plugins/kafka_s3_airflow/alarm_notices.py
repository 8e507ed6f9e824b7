"""What is told of alarms: each that is new, and each that is over, once; unless somebody silenced it. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote, urlencode

from kafka_s3_airflow.alarm_looks import Looked
from kafka_s3_airflow.alarms import AlarmKind
from kafka_s3_airflow.page.mount import PREFIX

EVERY: Final = "*"
TEXT_MAX: Final = 500  # of an alarm, as far as it is remembered


@dataclass(frozen=True, slots=True)
class Notice:
    """An alarm as notifiers get it, in the context of their templates as `alarm`.

    `connector`: its name, or the id of a group's DAG. `text` says what is wrong and what to do. `key` is the same as
    long as the alarm is.
    """

    connector: str
    kind: AlarmKind
    text: str
    link: str | None = None
    is_resolved: bool = False

    @property
    def key(self) -> str:
        return f"{self.connector}:{self.kind.value}"

    @property
    def message(self) -> str:
        over = "RESOLVED, was: " if self.is_resolved else ""
        return f"{self.connector}: {self.kind.value}: {over}{self.text}" + (f" {self.link}" if self.link else "")


@dataclass(frozen=True, slots=True)
class Known:
    """An alarm of an earlier look. `silenced`: it was not told since, and is once that is over."""

    text: str
    silenced: bool = False


@dataclass(frozen=True, slots=True)
class Silences:
    """Until when what is silent: by a connector's name, or `*`, and perhaps a kind behind a colon."""

    until: Mapping[str, datetime]
    problem: str | None = None

    @classmethod
    def parse(cls, text: str | None) -> Silences:
        """Of the Airflow variable's JSON. What cannot be read silences nothing, and is an alarm of its own."""
        if text is None or not text.strip():
            return cls({})
        until, wrong = {}, []
        try:
            given = json.loads(text)
        except (ValueError, RecursionError):
            given = None
        if not isinstance(given, dict):
            return cls({}, "it is not a JSON object.")
        for name, value in given.items():
            try:
                at = datetime.fromisoformat(value)
            except (TypeError, ValueError):
                wrong.append(name)
                continue
            until[name] = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
        return cls(until, f"the time of {', '.join(wrong)} is not like 2026-12-01T08:00Z." if wrong else None)

    def covers(self, notice: Notice, now: datetime) -> bool:
        names = (notice.connector, notice.key, EVERY, f"{EVERY}:{notice.kind.value}")
        return any(now < self.until[name] for name in names if name in self.until)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The alarms now beside those of the look before. `kept`: what is remembered if nothing can be told."""

    alarming: Sequence[Notice]
    silent: Sequence[Notice]
    new: Sequence[Notice]
    resolved: Sequence[Notice]
    kept: Mapping[str, Known]


def compare(
    looks: Mapping[str, Looked],
    known: Mapping[str, Known],
    silences: Silences,
    now: datetime,
    links: Mapping[tuple[str, AlarmKind], str],
    *,
    is_whole: bool = True,
) -> Comparison:
    """What is new and what is over. An alarm of a kind that this look could not judge stays what it was.

    `is_whole`: whether the looks are of all connectors that there are; without, one that is missing is not gone.
    """
    every = [
        Notice(name, kind, text, links.get((name, kind)))
        for name, looked in looks.items()
        for kind, text in looked.alarms.items()
    ]
    silent = [each for each in every if silences.covers(each, now)]
    kept = {each.key: Known(each.text, silenced=True) for each in silent if each.key in known}
    alarming = [each for each in every if each not in silent]
    new = [each for each in alarming if each.key not in known or known[each.key].silenced]
    kept |= {each.key: known[each.key] for each in alarming if each.key in known}
    resolved = []
    now_keys = {each.key for each in every}
    for key, earlier in known.items():
        name, _, kind = key.rpartition(":")
        if key in now_keys or kind not in set(AlarmKind):
            continue
        over = AlarmKind(kind)
        kept[key] = earlier
        if over not in looks[name].judged if name in looks else not is_whole:
            continue
        gone = "" if name in looks else "the folder has no connector of this name any more; it was: "
        resolved.append(Notice(name, over, f"{gone}{earlier.text}", links.get((name, over)), is_resolved=True))
    return Comparison(alarming, silent, new, resolved, kept)


def known_of(stored: object) -> dict[str, Known]:
    """What an earlier look remembered. What is not of that form is as nothing."""
    if not isinstance(stored, dict):
        return {}
    return {
        str(key): Known(str(value.get("text", "")), bool(value.get("silenced")))
        for key, value in stored.items()
        if isinstance(value, dict)
    }


def stored_of(known: Mapping[str, Known]) -> dict[str, dict[str, Any]]:
    """The same as JSON."""
    return {key: {"text": each.text[:TEXT_MAX], "silenced": each.silenced} for key, each in known.items()}


def page_link(base_url: str, dag_id: str) -> str:
    """The page of a connector."""
    return f"{base_url.rstrip('/')}{PREFIX}/?{urlencode({'dag_id': dag_id})}"


def run_link(base_url: str, dag_id: str, run_id: str) -> str:
    """A run in Airflow's UI."""
    return f"{base_url.rstrip('/')}/dags/{quote(dag_id, safe='')}/runs/{quote(run_id, safe='')}"
