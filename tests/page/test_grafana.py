"""deploy/grafana: every query asks for what a real scrape has, every alert fires for what it is about, and not else."""

from __future__ import annotations

import asyncio
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from kafka_s3.errors import StoreUnavailable
from kafka_s3.records import Record
from tests.export.harness import MemoryExport
from tests.page.observed import BOUND_S, CONNECTOR, ObservedConnector
from tests.support import HOUR_MS, make_settings
from tools.parts import promrules

pytestmark = pytest.mark.filterwarnings("ignore")

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "grafana"
DASHBOARD = json.loads((FOLDER / "dashboard.json").read_text())
RULES = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"][0]["rules"]
#: Prometheus' own, of each scrape.
OWN = {"up": {"job", "instance"}}
Series = dict[tuple[str, frozenset[tuple[str, str]]], float]


def series(seen: ObservedConnector) -> Series:
    from kafka_s3_airflow.page.scrape import scraped

    shown = seen.observer.connectors()
    asyncio.run(seen.observer.await_news(shown, BOUND_S))
    families = text_string_to_metric_families(scraped(shown, seen.observer).decode())
    return {(each.name, frozenset(each.labels.items())): each.value for every in families for each in every.samples}


def well(folder: Path) -> ObservedConnector:
    """A connector that has exported, with a record that waits and retention far ahead."""
    folder.mkdir(parents=True, exist_ok=True)
    seen = ObservedConnector(folder, MemoryExport(settings=make_settings(tolerate=True)))
    seen.world.produce(0, 4)
    seen.world.run()
    seen.world.broker.set_retention("orders", 30 * 24 * HOUR_MS)
    seen.world.broker.append("orders", 0, Record(4, b"{}", timestamp_ms=seen.now_ms - 1_000))
    return seen


def expressions() -> list[str]:
    """The dashboard's queries, its variables filled in as Grafana does it."""
    found = [each["expr"] for panel in DASHBOARD["panels"] for each in panel.get("targets", ())]
    found += [each["expr"] for each in DASHBOARD["annotations"]["list"]]
    return [each.replace("$connector", ".*") for each in found]


def test_the_rules_say_what_and_what_to_do() -> None:
    """Each has a summary, a severity and a page of the documentation that is there, with its heading."""
    names = [each["alert"] for each in RULES]
    assert len(set(names)) == len(names) >= 10
    for rule in RULES:
        assert rule["annotations"]["summary"].endswith(".")
        assert rule["labels"]["severity"] in ("critical", "warning")
        path, _, heading = rule["annotations"]["runbook"].partition("#")
        text = (ROOT / path).read_text()
        headings = {
            re.sub(r"[^a-z0-9 -]", "", each.lower()).replace(" ", "-") for each in re.findall(r"^#+ (.+)$", text, re.M)
        }
        assert not heading or heading in headings, rule["alert"]


def test_queries_ask_for_what_a_scrape_has(tmp_path: Path) -> None:
    """Prometheus' own parser reads every query and rule; each metric and label of them is in a real scrape."""
    reason = promrules.available()
    if reason is not None:
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    scraped = series(well(tmp_path))
    labels: dict[str, set[str]] = dict(OWN)
    states = {value for _, pairs in scraped for name, value in pairs if name == "state"}
    for name, pairs in scraped:
        labels.setdefault(name, {"job", "instance"}).update(label for label, _ in pairs)
    problems, queries = promrules.read_rules(FOLDER / "alerts.yml", expressions())
    assert problems == []
    assert len(queries) == len(RULES) + len(expressions())
    for query in queries:
        assert query.error is None, query
        assert query.selectors
        for name, matched in query.selectors:
            assert name in labels, query
            assert set(matched) <= labels[name], query
            assert matched.get("state", "ok") in states, query
    assert {name for query in queries for name, _ in query.selectors} >= set(labels), "a metric that nobody looks at"


def test_the_parser_finds_what_is_wrong(tmp_path: Path) -> None:
    """A rule that Prometheus would refuse is named."""
    if promrules.available() is not None:
        pytest.skip(str(promrules.available()))
    wrong = "groups: [{name: a, rules: [{alert: B, expr: 'sum(kafka_s3_state'}]}]"
    (tmp_path / "alerts.yml").write_text(wrong)
    problems, _ = promrules.read_rules(tmp_path / "alerts.yml")
    assert "unclosed left parenthesis" in problems[0]


def fires(scraped: Series, now_s: float) -> set[str]:
    """The alerts whose bound a scrape passes; of those that compare one metric, or its age, with a number."""
    found = set()
    for rule in RULES:
        first = rule["expr"].partition(" and ")[0]
        shape = r"(time\(\) - )?(\w+)(?:\{state=\"(\w+)\"\})? (<|>|==) ([0-9.]+)"
        parsed = re.fullmatch(shape, first)
        if parsed is None:
            assert rule["alert"] == "KafkaS3NotScraped", "an expression that nothing tries"
            continue
        age, name, state, sign, bound = parsed.groups()
        values = [each for (metric, pairs), each in scraped.items() if metric == name and _is_of(pairs, state)]
        values = [now_s - each for each in values] if age else values
        holds = {"<": lambda a, b: a < b, ">": lambda a, b: a > b, "==": lambda a, b: a == b}[sign]
        if any(holds(each, float(bound)) for each in values):
            found.add(rule["alert"])
    return found


def _is_of(pairs: frozenset[tuple[str, str]], state: str | None) -> bool:
    return state is None or ("state", state) in pairs


def test_each_alert_fires_for_what_it_is_about(tmp_path: Path) -> None:
    """None for a connector that is well; each of the others in a situation of its own."""
    seen = well(tmp_path / "well")
    assert fires(series(seen), seen.now_ms / 1000) == set()
    seen.later(3 * HOUR_MS)
    assert "KafkaS3Overdue" in fires(series(seen), seen.now_ms / 1000)
    seen.world.broker.set_retention("orders", 4 * HOUR_MS)
    seen.later()
    assert "KafkaS3RetentionNear" in fires(series(seen), seen.now_ms / 1000)
    seen.kafka_is_up = False
    seen.later(2 * HOUR_MS)
    found = fires(series(seen), seen.now_ms / 1000)
    assert {"KafkaS3KafkaDown", "KafkaS3NumbersOld"} <= found

    bad = well(tmp_path / "bad")
    bad.world.broker.append("orders", 1, Record(0, b"{poison", timestamp_ms=1))
    bad.world.run()
    assert "KafkaS3Rejected" in fires(series(bad), bad.now_ms / 1000)

    stopped = ObservedConnector(_made(tmp_path / "stopped"))
    stopped.world.broker.append("orders", 1, Record(0, b"{poison", timestamp_ms=1))
    stopped.world.run()
    assert {"KafkaS3Failed", "KafkaS3PartitionsFailed"} <= fires(series(stopped), stopped.now_ms / 1000)

    gone = ObservedConnector(_made(tmp_path / "gone"))
    (gone.folder / "broken.properties").write_text(CONNECTOR.replace("flush.size=100", "flush.size=many"))
    for _ in range(10):
        gone.world.store.fail_next("ListObjectsV2", StoreUnavailable("S3 did not answer."))
    assert {"KafkaS3LogUnreadable", "KafkaS3ConfigurationBroken"} <= fires(series(gone), gone.now_ms / 1000)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_the_dashboard_is_one() -> None:
    """Panels have ids of their own, do not overlap, and take their connector and data source from the variables."""
    panels: list[dict[str, Any]] = DASHBOARD["panels"]
    assert len({each["id"] for each in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells
    assert all('connector=~"$connector"' in each["expr"] for panel in panels for each in panel.get("targets", ()))
    assert {each["name"] for each in DASHBOARD["templating"]["list"]} == {"datasource", "connector", "airflow"}
