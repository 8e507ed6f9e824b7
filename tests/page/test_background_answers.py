"""Questions asked in the background: one at a time for each thing, and what is known is answered at once."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable

import pytest

from kafka_s3.errors import ConfigurationError, KafkaUnavailable
from tests.airflow.conftest import ROOT

pytestmark = pytest.mark.filterwarnings("ignore")

BOUND_S = 30


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + BOUND_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_everybody_waits_for_one_question() -> None:
    """Whoever looks while a question is open gets what is known, and asks nothing more; fresh answers are not asked
    for again, old ones are, behind the back of whoever looks."""
    from kafka_s3_airflow.page.background_answers import BackgroundAnswers, Limits

    clock, asked, gate = [0], Counter[str](), threading.Event()

    def question(about: str) -> int:
        asked[about] += 1
        assert gate.wait(BOUND_S)
        return asked[about]

    answers = BackgroundAnswers(question, fresh_ms=10, limits=Limits(2, 100, 10), now_ms=lambda: clock[0])
    first = [answers.look("a") for _ in range(5)]
    assert {(each.value, each.is_first, each.open_ms) for each in first} == {(None, True, 0)}
    gate.set()
    asyncio.run(answers.wait(["a"], BOUND_S))
    assert (answers.look("a").value, asked) == (1, {"a": 1})
    clock[0] = 10
    gate.clear()
    stale = answers.look("a")
    assert (stale.value, stale.at_ms, stale.open_ms) == (1, 0, 10)
    gate.set()
    until(lambda: answers.look("a").value == 2)
    assert asked == {"a": 2}


def test_a_question_that_waits_for_its_turn_is_not_asked_yet() -> None:
    """With one thread at a time the second question begins once the first is answered; its time counts from then."""
    from kafka_s3_airflow.page.background_answers import BackgroundAnswers, Limits

    clock, gates = [0], {"first": threading.Event(), "second": threading.Event()}

    def question(about: str) -> str:
        assert gates[about].wait(BOUND_S)
        return about

    answers = BackgroundAnswers(question, fresh_ms=10, limits=Limits(1, 100, 10), now_ms=lambda: clock[0])
    answers.look("first")
    until(lambda: answers.look("first").asked_ms == 0)
    answers.look("second")
    clock[0] = 16
    assert (answers.look("second").open_ms, answers.look("second").asked_ms) == (0, None)
    gates["first"].set()
    until(lambda: answers.look("second").asked_ms == 16)
    gates["second"].set()
    asyncio.run(answers.wait(["second"], BOUND_S))
    assert answers.look("second").asked_ms is None


def test_waiting_has_an_end() -> None:
    """Whoever waits for a first answer waits no longer than said; answers that are there already are not waited for."""
    from kafka_s3_airflow.page.background_answers import BackgroundAnswers, Limits

    gate = threading.Event()

    def question(about: str) -> str:
        assert about == "quick" or gate.wait(BOUND_S)
        return about

    answers = BackgroundAnswers(question, fresh_ms=10, limits=Limits(2, 100, 10), now_ms=lambda: 0)
    asyncio.run(answers.wait(["quick", "slow"], 0.05))
    until(lambda: answers.look("quick").value == "quick")
    assert answers.look("slow").is_first
    gate.set()
    asyncio.run(answers.wait(["slow"], BOUND_S))
    assert answers.look("slow").value == "slow"


def test_an_error_keeps_what_was_known() -> None:
    """An error stands beside the last good answer; one of the configuration is final, one that nobody expected is
    said in words that show nothing of it."""
    from kafka_s3_airflow.page.background_answers import UNEXPECTED, Answer, BackgroundAnswers, Limits

    raised: list[Exception] = []

    def question(about: str) -> str:
        if raised:
            raise raised[0]
        return about

    clock = [0]
    answers = BackgroundAnswers(question, fresh_ms=1, limits=Limits(1, 100, 10), now_ms=lambda: clock[0])

    def next_answer() -> Answer[str]:
        clock[0] += 1
        tried = clock[0]
        answers.look("a")
        until(lambda: answers.look("a").tried_ms == tried)
        return answers.look("a")

    assert next_answer().value == "a"
    told = []
    quiet = threading.excepthook
    threading.excepthook = lambda _: None
    try:
        for error in (KafkaUnavailable("No answer."), ConfigurationError("Wrong."), RuntimeError("password=secret")):
            raised[:] = [error]
            answer = next_answer()
            told.append((answer.value, answer.at_ms, answer.error, answer.is_final))
    finally:
        threading.excepthook = quiet
    assert told == [("a", 1, "No answer.", False), ("a", 1, "Wrong.", True), ("a", 1, UNEXPECTED, False)]
    raised.clear()
    assert next_answer().error is None


def test_memory_has_a_limit() -> None:
    """No more answers are kept than said; those not looked at for longest go."""
    from kafka_s3_airflow.page.background_answers import BackgroundAnswers, Limits

    answers = BackgroundAnswers(str, fresh_ms=10**9, limits=Limits(4, 100, 3), now_ms=lambda: 0)
    for number in range(10):
        asyncio.run(answers.wait([number], BOUND_S))
    answers.look(9)
    assert len(answers._answers) <= 4
    assert answers.look(9).value == "9"
    assert 0 not in answers._answers


def test_many_connectors_are_asked_about_in_turn() -> None:
    """Of 200 that are looked at every ten seconds so many are asked about again as a minute allows, the oldest first;
    after a while without visitors, all at once."""
    from kafka_s3_airflow.page.background_answers import BackgroundAnswers, Limits

    clock, asked = [0], list[int]()

    def question(about: int) -> int:
        asked.append(about)
        return about

    limits = Limits(4, 1_000, 1_000, per_minute=30)
    answers = BackgroundAnswers(question, fresh_ms=1_000, limits=limits, now_ms=lambda: clock[0])
    names = list(range(200))

    def look() -> list[int]:
        asked.clear()
        asyncio.run(answers.wait_over(names, 30, for_news=True))
        return sorted(asked)

    assert look() == names
    seen = []
    for _ in range(6):
        clock[0] += 10_000
        seen.append(look())
    assert [len(each) for each in seen] == [5] * 6
    assert len({each for some in seen for each in some}) == 30
    clock[0] += 11 * 60_000
    assert look() == names
    clock[0] += 10_000
    assert len(look()) == 5


def test_the_plugin_costs_nothing_heavy() -> None:
    """Every process of Airflow loads the plugin: it brings neither the web layer nor the engine's adapters with it."""
    code = (
        "import sys, airflow.plugins_manager, kafka_s3_airflow.schedules\n"
        "before = set(sys.modules)\n"
        "import kafka_s3_airflow.plugin\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120, cwd=ROOT
    )
    loaded = set(done.stdout.split())
    assert "kafka_s3_airflow.page.mount" in loaded
    ours = {name for name in loaded if name.startswith("kafka_s3")}
    assert ours == {f"kafka_s3_airflow.{name}" for name in ("plugin", "pools", "preload", "page", "page.mount")}
    parts = {name.partition(".")[0] for name in loaded}
    assert not parts & {"fastapi", "starlette", "boto3", "confluent_kafka", "pyarrow", "prometheus_client"}


def test_the_page_is_package_data() -> None:
    """What the browser gets is found as an installed package finds it, and names nothing that lies elsewhere."""
    from importlib.resources import files

    static = files("kafka_s3_airflow.page").joinpath("static")
    scripts = ("page.js", "list.js", "one.js", "data.js", "nodes.js")
    texts = {name: static.joinpath(name).read_text() for name in ("page.html", "page.css", *scripts)}
    assert '<script type="module" src="page.js"></script>' in texts["page.html"]
    assert "<style" not in texts["page.html"]
    assert not [name for name in scripts if "innerHTML" in texts[name]]
    for name, text in texts.items():
        addresses = [
            word for word in text.split() if "://" in word and "www.w3.org/2000/svg" not in word and "s3://" not in word
        ]
        assert addresses == [], name


def test_text_can_be_read() -> None:
    """In both themes every colour of text has the contrast that WCAG asks for, 4.5, on both grounds."""
    import re
    from importlib.resources import files

    css = files("kafka_s3_airflow.page").joinpath("static", "page.css").read_text()
    themes = [dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", each)) for each in css.split("color-scheme")[:2]]
    assert [len(theme) for theme in themes] == [14, 14]
    low = {
        (text, theme[text], ground)
        for theme in themes
        for text in ("text", "soft", "link", "good", "warn", "bad", "idle")
        for ground in ("ground", "raised")
        if contrast(theme[text], theme[ground]) < 4.5
    }
    assert low == set()


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
