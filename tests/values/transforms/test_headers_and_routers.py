"""DropHeaders, InsertHeader, RegexRouter, TimestampRouter, Filter, and all predicates with and without `negate`.

Each case of headers and routers stands here with what it comes to, which Kafka's own classes say as well."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from kafka_s3.records import Headers
from kafka_s3.values.rows import Stage
from tests.values.transforms.chains import AT_MS, KAFKA, one, record, written
from tools.connect.transform_oracle import Question, ask

HEADERS = {"store.kafka.headers": "true", "headers.format.class": "io.confluent.connect.s3.format.json.JsonFormat"}
TOLERANT = {"errors.tolerance": "all"}
GIVEN: Headers = (("h", b"1"), ("k", b"2"), ("h", b"3"))
DROPS = [
    ("h", [("k", "2")]),
    ("k", [("h", "1"), ("h", "3")]),
    ("none,h", [("k", "2")]),
    ("H,none", [("h", "1"), ("k", "2"), ("h", "3")]),
]
LITERALS = [
    ("text", "text"),
    ("007", "7"),
    ("true", "true"),
    ("1.50", "1.5"),
    ('"007"', '"007"'),
    ("[1, 2]", "[1,2]"),
    ("2020-01-01", "2020-01-01"),
]
RENAMES = [
    ("(.*)", "all-$1", "all-orders"),
    ("ord(.*)", "$1", "ers"),
    ("(?<a>o)(r.*)", "${a}-$2", "o-rders"),
    ("orders", "returns", "returns"),
    ("(?s)(.*)", "all-$1", "all-orders"),
    ("(?i)ORD(.*)", "$1", "ers"),
    (r"[^\v]*", "x", "x"),
    ("order", "returns", "orders"),  # the whole name has to fit
    ("rders", "returns", "orders"),
    ("o|orders", "x", "xrders"),  # as replaceFirst: what is found first is replaced
]
TIMES: list[tuple[dict[str, str], str]] = [
    ({}, "orders-20160224"),
    ({"topic_format": "${timestamp}.${topic}"}, "20160224.orders"),
    ({"topic_format": "x-${timestamp}", "timestamp_format": "yyyy-MM-dd-HH-mm-ss-SSS"}, "x-2016-02-24-08-00-00-123"),
    ({"topic_format": "${topic}-${topic}"}, "orders-orders"),
]


def headers_of(more: dict[str, str], headers: Headers = GIVEN) -> list[tuple[str, str]]:
    """The headers of a record after transforms, as they are written."""
    outcome, objects = written({**HEADERS, **more}, [record(0, {"n": 0}, headers=headers)])
    assert not outcome.rejected, outcome.rejected
    (body,) = (body for key, body in objects.items() if ".headers." in key)
    return [(each["key"], each["value"]) for each in json.loads(body)["headers"]]


@pytest.mark.parametrize(("names", "left"), DROPS)
def test_headers_are_dropped_by_name(names: str, left: list[tuple[str, str]]) -> None:
    """Every header of each name, as it is spelt; the others keep their order."""
    assert headers_of(one("DropHeaders", headers=names)) == left


@pytest.mark.parametrize(("literal", "text"), LITERALS)
def test_a_header_is_inserted_behind_the_others(literal: str, text: str) -> None:
    """It is one more, even where there is one of its name; its value is what Connect makes of the literal."""
    made = headers_of(one("InsertHeader", header="h", value_literal=literal))
    assert made == [("h", "1"), ("k", "2"), ("h", "3"), ("h", text)]


def test_headers_change_for_chosen_records_alone() -> None:
    """Beside a predicate the other records keep their headers."""
    more = {
        **one("DropHeaders", headers="k", predicate="p"),
        "predicates": "p",
        "predicates.p.type": "HasHeaderKey",
        "predicates.p.name": "k",
    }
    assert headers_of(more) == [("h", "1"), ("h", "3")]
    assert headers_of({**more, "transforms.it.negate": "true"}) == [("h", "1"), ("k", "2"), ("h", "3")]


@pytest.mark.parametrize(("regex", "replacement", "folder"), RENAMES)
def test_topics_are_renamed_by_a_pattern(regex: str, replacement: str, folder: str) -> None:
    """If the whole name fits, and otherwise not; groups are those of Java."""
    _, objects = written(one("RegexRouter", regex=regex, replacement=replacement), [record(0, {"n": 0})])
    assert list(objects) == [f"topics/{folder}/partition=0/orders+0+0000000000.json"]


@pytest.mark.parametrize(("options", "folder"), TIMES)
def test_topics_are_renamed_by_the_records_time(options: dict[str, str], folder: str) -> None:
    """In UTC, as Kafka's class writes it; both placeholders as often as they stand there."""
    _, objects = written(one("TimestampRouter", **options), [record(0, {"n": 0}, timestamp_ms=AT_MS)])
    assert list(objects) == [f"topics/{folder}/partition=0/orders+0+0000000000.json"]


@pytest.mark.heavy
def test_kafkas_own_classes_say_the_same() -> None:
    """Of headers and topics: every case above, asked of Kafka's classes on the JVM."""
    asked = [
        *((_question("DropHeaders", headers=names), ("orders", left)) for names, left in DROPS),
        *(
            (_question("InsertHeader", header="h", value_literal=literal), ("orders", [*_texts(GIVEN), ("h", text)]))
            for literal, text in LITERALS
        ),
        *(
            (_question("RegexRouter", regex=regex, replacement=replacement), (folder, _texts(GIVEN)))
            for regex, replacement, folder in RENAMES
        ),
        *((_question("TimestampRouter", **options), (folder, _texts(GIVEN))) for options, folder in TIMES),
    ]
    answers = ask([question for question, _ in asked])
    said = [(answer["topic"], [tuple(each) for each in answer["headers"]]) for answer in answers]
    assert said == [expected for _, expected in asked]


def _question(type: str, **options: str) -> Question:
    given = {name.replace("_", "."): text for name, text in options.items()}
    value = b'{"schema":null,"payload":{"n":0}}'
    return Question(f"{KAFKA}.{type}", given, value, timestamp_ms=AT_MS, headers=tuple(_texts(GIVEN)))


def _texts(headers: Headers) -> list[tuple[str, str]]:
    return [(name, (value or b"").decode()) for name, value in headers]


def test_a_record_without_a_time_is_not_routed_by_it() -> None:
    """It is bad; those beside it are routed."""
    records = [record(0, {"n": 0}), record(1, {"n": 1}, timestamp_ms=None), record(2, {"n": 2})]
    outcome, objects = written({**one("TimestampRouter"), **TOLERANT}, records)
    assert [(each.offset, each.stage) for each in outcome.rejected] == [(1, Stage.TRANSFORMATION)]
    assert list(objects.values()) == [b'{"n": 0}\n{"n": 2}\n']


PREDICATES = [
    ("HasHeaderKey", {"name": "h"}, [0, 3]),
    ("HasHeaderKey", {"name": "H"}, []),
    ("RecordIsTombstone", {}, [2, 3]),
    ("TopicNameMatches", {"pattern": "ord.*"}, [0, 1, 2, 3]),
    ("TopicNameMatches", {"pattern": "ord"}, []),
]


@pytest.mark.parametrize("negate", [False, True])
@pytest.mark.parametrize(("type", "options", "holds"), PREDICATES)
@pytest.mark.parametrize("full", [False, True], ids=["short", "full"])
def test_filter_drops_what_its_predicate_says(
    type: str, options: dict[str, str], holds: Sequence[int], negate: bool, full: bool
) -> None:
    """Exactly these records are dropped, with `negate` exactly the others; tombstones are then ignored, not dropped."""
    more = {
        **one(f"{KAFKA}.Filter" if full else "Filter", predicate="p", negate=str(negate).lower()),
        "predicates": "p",
        "predicates.p.type": f"{KAFKA}.predicates.{type}" if full else type,
        **{f"predicates.p.{name}": text for name, text in options.items()},
        "behavior.on.null.values": "ignore",
    }
    with_header = {"headers": (("h", b"1"),)}
    records = [record(0, {"n": 0}, **with_header), record(1, {"n": 1}), record(2, None), record(3, None, **with_header)]
    outcome, objects = written(more, records)
    kept = [json.loads(line)["n"] for body in objects.values() for line in body.splitlines()]
    assert kept == [each for each in (0, 1) if (each in holds) is negate]
    assert not outcome.rejected


def test_predicates_see_the_topic_of_their_turn() -> None:
    """TopicNameMatches knows what a router before it made, and nothing of one behind it."""
    router = {"transforms.r.type": "RegexRouter", "transforms.r.regex": ".*", "transforms.r.replacement": "all"}
    more = {
        **router,
        "transforms.f.type": "Filter",
        "transforms.f.predicate": "p",
        "predicates": "p",
        "predicates.p.type": "TopicNameMatches",
        "predicates.p.pattern": "all",
    }
    assert written({**more, "transforms": "r,f"}, [record(0, {"n": 0})])[1] == {}
    assert list(written({**more, "transforms": "f,r"}, [record(0, {"n": 0})])[1]) == [
        "topics/all/partition=0/orders+0+0000000000.json"
    ]
