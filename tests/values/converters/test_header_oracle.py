"""Connect's converters of headers themselves, on the JVM: the same values of the same types, and the text of them."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from kafka_s3.settings.converters import Converter, ConverterSettings
from kafka_s3.values.converters.connect_text_parser import NESTING_MAX, parse_string
from kafka_s3.values.converters.header_texts import Text, simple_text, texts_for
from kafka_s3.values.rows import Unwritable
from tests.values.converters.envelopes import envelope, random_case
from tests.values.converters.typed_headers import as_ours, digits_apart, random_text, random_tokens, typed
from tools.connect.headers import HeaderAnswer, ask_headers

CASES = 12_000
SEED = 16
TEXTS = [
    *('"v"', "1.50", "true", " true ", "null", " null ", "[1,2]", '[1, "a"]', '{"a":1}', '{"a":"b","c":null}'),
    *("12:34", "12:34:56.789Z", "2020-01-02", "2020-01-02T03:04:05.678Z", "2020-1-02x", "", "  ", "  :x", "[1,"),
    *("[1,2]x", " [1,", "{a:1}", "1,2", "1x", "+5", "-", "1e400", "-1E-400", "1.0", "1.00000000000000000001", "3.4e39"),
    *('["2020-01-02",5]', '[5,"2020-01-02"]', '["2020-01-02",300000]', '["12:34:56.789Z",90000000]', '["a",null]'),
    *('[3000000000,"2020-01-02T03:04:05.678Z"]', '["2020-01-02",1.5]', '[1.5,"2020-01-02"]', "[0.1,3.4e39]", "[1,300]"),
    *(
        "[[1],[2]]",
        '[[1],["a"]]',
        '{"a":1,"a":2}',
        "{1:2,1.5:3}",
        "{[1]:2,[1]:3}",
        "{1:a}",
        "{null:1}",
        '{"a":1 "b":2}',
    ),
    *("1e2147483648", "1e-2147483648", "1e-2147483647", "0e-2147483647", "1e99999", "2020-13-45", "1582-10-10", "٣"),
    *(
        "9223372036854775808",
        "16777217.000000001",
        "0.1000000014901161193847656250001",
        '["a\\"b"]',
        '["a\\\\b"]',
        "\\1",
    ),
    *("\ufeff1", "1\u00a0", "\u00a0", "NaN", "-0.0", "007", ".5", "+.5", "5.", "1_000", "\U0001f6001", "1\U0001f600"),
]


@pytest.mark.heavy  # a JVM with Kafka's own classes
def test_text_is_parsed_as_connect_parses_it() -> None:
    """Of 12,000 texts that are values or almost: the same value of the same types, and the same text of it."""
    random = Random(SEED)
    texts = [random_text(random) if number % 4 else random_tokens(random) for number in range(CASES)]
    texts = [*TEXTS, *texts]
    answers = ask_headers([("simple", text.encode()) for text in texts])
    assert {answer.refused for answer in answers} == {None}
    made = [(digits_apart(simple_text(text.encode())), typed(parse_string(text))) for text in texts]
    theirs = [(digits_apart(each.text), as_ours(each.typed or "none null")) for each in answers]
    different = [case for case in zip(texts, made, theirs, strict=True) if case[1] != case[2]]
    assert different == []
    kinds = {each.typed.split(" ")[0] for each in answers if each.typed}
    assert {"string", "int8", "int16", "int32", "int64", "float32", "float64", "bytes", "boolean"} < kinds


def of_json(header: bytes, *, schemas: bool, fill: bool = True) -> Text:
    converter = ConverterSettings(Converter.JSON, schemas_enable=schemas, replace_null_with_default=fill)
    [text] = texts_for(converter)([header])
    return digits_apart(text) if isinstance(text, str) else text


def different_json(kind: str, headers: list[bytes]) -> list[tuple[bytes, Text, HeaderAnswer]]:
    """Those of which JsonConverter makes another text; a refusal is one, in whatever words."""
    answers = ask_headers([(kind, each) for each in headers])
    made = [of_json(each, schemas=kind == "json") for each in headers]
    return [
        (header, ours, theirs)
        for header, ours, theirs in zip(headers, made, answers, strict=True)
        if isinstance(ours, Unwritable) != (theirs.refused is not None)
        or (theirs.refused is None and ours != digits_apart(theirs.text))
    ]


@pytest.mark.heavy  # a JVM with Kafka's own classes
def test_headers_in_envelopes_are_jsonconverters() -> None:
    """1,500 random envelopes and the odd ones: the same text of the same value, a map in HashMap's order."""
    cases = [random_case(Random(seed)).envelope for seed in range(1500)]
    odd = [
        b"",
        b"null",
        b"1",
        b'{"a":1}',
        b"x",
        envelope(None, '{"b":[1.50,{"c":null}],"a":"\\""}'),
        envelope(None, "null"),
    ]
    longs = [[number, "x"] for number in (70, 7, -1, 16, 2**40, -(2**40))]
    for kind, pairs in (("int64", longs), ("int32", longs[:4])):
        odd.append(envelope({"type": "map", "keys": {"type": kind}, "values": {"type": "string"}}, json.dumps(pairs)))
    assert different_json("json", [*cases, *odd]) == []


@pytest.mark.heavy  # a JVM with Kafka's own classes
def test_headers_in_plain_json_are_jsonconverters() -> None:
    """Without schemas: integers, doubles, text, lists, and maps in HashMap's order."""
    random = Random(SEED)
    cases = [json.dumps(random_json(random)).encode() for _ in range(1500)]
    odd = [
        b"",
        b" ",
        b"null",
        b"x",
        b"1.50",
        b"1e5",
        b'"v"',
        b'["a\\"b"]',
        b'{"a":1,"a":2}',
        b"\xff",
        b'{"b":1,"a":2} ',
    ]
    assert different_json("plain json", [*cases, *odd]) == []


@pytest.mark.heavy
def test_json_integers_beyond_64_bits_are_refused() -> None:
    """JsonConverter cuts their upper bits off."""
    header = b"9223372036854775808"
    [theirs] = ask_headers([("plain json", header)])
    assert theirs.text == "-9223372036854775808"
    assert isinstance(of_json(header, schemas=False), Unwritable)


def random_json(random: Random, depth: int = 3) -> Any:
    match random.randrange(7 if depth else 5):
        case 0:
            return random.choice([None, True, False])
        case 1:
            return random.randint(-(2 ** random.randint(1, 63)), 2 ** random.randint(1, 63) - 1)
        case 2:
            return random.uniform(-1, 1) * 10.0 ** random.randint(-12, 12)
        case 3 | 4:
            return "".join(random.choice('ab"\\é\n\U0001f600 ') for _ in range(random.randrange(8)))
        case 5:
            return [random_json(random, depth - 1) for _ in range(random.randrange(4))]
        case _:
            names = ["".join(random.choice("abcé\U0001f600_") for _ in range(random.randint(1, 6))) for _ in range(40)]
            return {name: random_json(random, depth - 1) for name in names[: random.choice([1, 3, 12, 13, 30])]}


@pytest.mark.heavy
def test_bytes_that_are_no_text_are_replaced() -> None:
    """Bytes that are not UTF-8 become U+FFFD before the value is parsed."""
    values = [b"\xff", b"1\xff", b'["\xff"]', b"\xed\xa0\x80", b"1\xc3"]
    assert [each.text for each in ask_headers([("simple", each) for each in values])] == list(map(simple_text, values))


def test_lists_within_lists_have_a_limit() -> None:
    """Beyond it the text stays as it is; Connect goes on, and takes bytes where its stack ends."""
    good, deep = (f"{'[' * levels}1{']' * levels}" for levels in (NESTING_MAX, NESTING_MAX + 1))
    assert parse_string(good).schema != parse_string("a").schema
    assert parse_string(deep) == (parse_string("a").schema, deep)
    bomb = "[" * 1_000_000
    assert simple_text(bomb.encode()) == bomb
