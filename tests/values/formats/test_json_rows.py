"""Objects that are changed by their text become what their values become: the same lines, to the byte."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_s3.ports import Registries
from kafka_s3.records import ColumnBatch, Record
from kafka_s3.values.converters.record_converter import RecordConverter
from kafka_s3.values.converters.schemaless import NESTING_MAX
from kafka_s3.values.formats.json_members import members_of
from kafka_s3.values.rows import Filtered, Tombstone
from kafka_s3.values.transforms.chain import Chain
from tests.values.converters.test_schemaless import ODD, RAW
from tests.values.transforms.chains import AT_MS, KAFKA, PARTITION, configured
from tests.values.transforms.test_rows import chain

ROWS = 70
NAMES = ("a", "b", "user", "_offset", "ein.name", "größe", "a b", ":x", "x" * 20, "")
NUMBERS = (
    *("0", "-0", "-1", "7", "12345678", "123456789", "1234567890123456", "12345678901234567", "1234567890123456789"),
    *(
        "12.50",
        "12.5",
        "12.00",
        "12.0",
        "-12.30",
        "0.5",
        "0.05",
        "0.50",
        "0.0",
        "-0.0",
        "0.00",
        "1234567.8",
        "12345678.5",
    ),
    *("1e5", "1E-3", "1.0e2", "0.1234567890123", "1.234567890123456", "9.99999999999999", "99999.0000000001", "1e400"),
    *("100.0100", "1000000.10", "9007199254740993", "0.001", "0.0009", "1" * 30, "123456.7890"),
)
LISTS = ("[]", "[1,2]", '["a","b"]', "[1.50]", "[ 1]", '["a b"]', '[":"]', "[[1],[2.0]]", "[1e5]", "[-0]", "[{}]")
TEXTS = (
    '""',
    '"a"',
    '"größe"',
    '"a\\"b"',
    '"😀"',
    '":x"',
    '" :"',
    '","',
    '"a,b"',
    '"{"',
    '"\\u0041"',
    '"\x7f"',
    '"a\tb"',
)
SPACES = ("", "", "", " ", "  ", "\t", "\n", "\r")

scalars = st.sampled_from((*NUMBERS, *LISTS, *TEXTS, "true", "false", "null", '{"a":1}', '{"b":{"a":[]}}'))


@st.composite
def objects(draw: st.DrawFn, names: Sequence[str]) -> bytes:
    """Text of an object: mostly these names in this order and no spaces, sometimes not."""
    names = list(names)
    if draw(st.integers(0, 9)) == 0:
        names = draw(st.lists(st.sampled_from(NAMES), max_size=4))
    space = draw(st.sampled_from(SPACES)) if draw(st.integers(0, 5)) == 0 else ""
    at = draw(st.integers(0, 6))
    pieces = ["{"]
    for number, name in enumerate(names):
        gaps = [space if number == at % 3 and at == place else "" for place in range(4)]
        value = draw(scalars)
        key = json.dumps(name, ensure_ascii=False)
        pieces += [gaps[0], "," if number else "", gaps[1], key, gaps[2], ":", gaps[3], value]
    pieces += [space if at == 4 else "", "}", space if at == 5 else ""]
    return ((space if at == 6 else "") + "".join(pieces)).encode()


others = st.sampled_from([*(text.encode() for text in ODD), *(f'{{"a":{text}}}'.encode() for text in ODD), *RAW])


@st.composite
def batches(draw: st.DrawFn) -> list[bytes | None]:
    """A few different values, over and over; two shapes."""
    shapes = [draw(st.lists(st.sampled_from(NAMES[:4]), unique=True, max_size=4)) for _ in range(2)]
    some = draw(st.lists(st.one_of(objects(shapes[0]), objects(shapes[0]), objects(shapes[1])), min_size=1, max_size=8))
    found: list[bytes | None] = [some[row % len(some)] for row in range(ROWS)]
    for place in draw(st.lists(st.integers(0, ROWS - 1), max_size=3)):
        found[place] = draw(others)
    return found


@st.composite
def steps(draw: st.DrawFn) -> list[dict[str, str]]:
    made = []
    for number in range(draw(st.integers(1, 3))):
        if draw(st.booleans()):
            step = {"type": f"{KAFKA}.InsertField$Value", "static.field": "b", "static.value": 'grö"ße'}
            for what in draw(st.sets(st.sampled_from(("topic", "partition", "offset", "timestamp")))):
                step[f"{what}.field"] = draw(st.sampled_from((f"_{what}", "a", f"_{what}{number}!")))
        else:
            some = st.lists(st.sampled_from(NAMES[:5]), unique=True, max_size=2).map(",".join)
            step = {"type": f"{KAFKA}.ReplaceField$Value", "exclude": draw(some)}
            pairs = draw(st.lists(st.tuples(st.sampled_from(NAMES[:4]), st.sampled_from(NAMES[:4])), max_size=2))
            step["renames"] = ",".join(f"{old}:{new}" for old, new in {old: (old, new) for old, new in pairs}.values())
        if (predicate := draw(st.sampled_from(("", "", "", "marked", "empty")))) != "":
            step |= {"predicate": predicate, "negate": draw(st.sampled_from(("true", "false")))}
        made.append({name: text for name, text in step.items() if text})
    router = {"type": f"{KAFKA}.TimestampRouter", "topic.format": "orders-${timestamp}", "timestamp.format": "SSS"}
    return [*([router] if draw(st.integers(0, 3)) == 0 else []), *made]


def outcome(values: Sequence[bytes | None], properties: dict[str, str], no_time: bool) -> list[Any]:
    """Each record's line, or why it has none."""
    records = [
        Record(row, value, None, None if no_time and row == 9 else AT_MS + row, (("mark", b"1"),) if row % 3 else ())
        for row, value in enumerate(values)
    ]
    made = configured({**properties, "errors.tolerance": "all"})
    batch = Chain(made, Registries())(ColumnBatch(PARTITION, records))
    (rows,) = RecordConverter(made, Registries())(batch)
    found: list[Any] = []
    for row in range(len(values)):
        why = rows.excluded.get(row)
        reason = getattr(why, "reason", "").partition(": ")[2] if why is not None else ""
        found.append(rows.lines[row] if why is None else (type(why), reason))  # type: ignore[attr-defined]
    if not rows.excluded:
        assert rows.join(0, len(values), b"\n") == b"".join(line + b"\n" for line in found)  # type: ignore[attr-defined]
        assert rows.part(3, 7).lines == rows.lines[3:7]  # type: ignore[attr-defined]
    return found


@settings(deadline=None, max_examples=60)
@given(batches(), steps(), st.booleans())
def test_text_becomes_what_values_become(values: list[bytes | None], steps: Any, no_time: bool) -> None:
    """Whatever text and chains: with values made first the lines, and what is left out, are the same."""
    text, plain = (outcome(values, chain(steps, by_values=by_values), no_time) for by_values in (False, True))
    assert text == plain


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_become_what_values_become(number: str) -> None:
    """Each as the first member, the last, between others and in a list."""
    texts = [f'{{"a":{number}}}', f'{{"a":{number},"b":1}}', f'{{"b":1,"a":{number},"c":[{number}]}}']
    steps = [{"type": f"{KAFKA}.InsertField$Value", "offset.field": "o"}]
    for text in texts:
        values: list[bytes | None] = [text.encode()] * ROWS
        expected = outcome(values, chain(steps, by_values=True), False)
        assert outcome(values, chain(steps, by_values=False), False) == expected


def numeral(random: Random) -> str:
    """A number of JSON, of few digits and of many, with zeros where they matter, and with an exponent at times."""
    whole = "".join(random.choices("0019", k=random.randint(1, 19))).lstrip("0") or "0"
    point = "" if random.random() < 0.4 else "." + "".join(random.choices("00015", k=random.randint(1, 18)))
    power = (
        ""
        if random.random() < 0.9
        else random.choice("eE") + random.choice(("", "+", "-")) + str(random.randint(0, 330))
    )
    return random.choice(("", "-")) + whole + point + power


def hostile(random: Random, names: Sequence[str]) -> bytes:
    """An object of numbers, lists and texts; some of them damaged by one character, and still JSON."""
    values = [random.choice((numeral(random), numeral(random), *HOSTILE)) for _ in names]
    values = [f"[{each},{numeral(random)}]" if random.random() < 0.2 else each for each in values]
    members = [f'"{name}":{value}' for name, value in zip(names, values, strict=True)]
    text = "{" + ",".join([*members, *members[: random.random() < 0.03]]) + "}"
    at = random.randint(0, len(text))
    other = text[:at] + random.choice((*' \n\t\r,":{}[]0-.e\\é1', "\ufeff", "\\u0041", "😀", "\x7f")) + text[at:]
    return (other if random.random() < 0.1 and is_json(other) else text).encode()


HOSTILE = ("{}", "[{}]", "[{},1.50]", "[[],{}]", '"\u2028"', '"[1.50]"', '"}"', r'"\":"', "true", "null")

#: No JSON, or none that is read, and text that only one of the parsers takes.
BAD = [b"", b"{", b'{"a":"\xed\xa0\x80"}', b'\xef\xbb\xbf{"a":1}', b'{"a":NaN}', b'{"a":1e400}', rb'{"a":"\ud83d"}']


def is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except (ValueError, UnicodeError):
        return False
    return True


@pytest.mark.parametrize("seed", range(4))
def test_hostile_text_becomes_what_values_become(seed: int) -> None:
    """1,200 objects of four shapes: most of them stay text, and every line is what values become; with as many nulls
    as nested objects, and with bytes that are not JSON."""
    random = Random(seed)
    names = ["a", "b", "c", "k.1", "x" * 20]
    shapes = [random.sample(some, random.randint(1, 4)) for some in (names, [*names, ":x"])]
    plain = [json.dumps(dict.fromkeys(shape, 7), separators=(",", ":")).encode() for shape in shapes]
    values: list[bytes | None] = [*plain * 20, *(hostile(random, random.choice(shapes)) for _ in range(300))]
    assert sum(len(each.indexes) for each in members_of([each for each in values if each])) > 30
    values[7:7] = [None, b'{"a":{},"b":1.50}', b"null"]
    inserted = {"type": f"{KAFKA}.InsertField$Value", "offset.field": "o", "topic.field": "a"}
    renamed = {"type": f"{KAFKA}.ReplaceField$Value", "renames": "a:b,c:a", "exclude": ":x"}
    for steps in ([inserted], [renamed], [renamed, {**inserted, "predicate": "marked"}]):
        for bad in ([], BAD):
            given = [*values, *bad]
            expected = outcome(given, chain(steps, by_values=True), False)
            assert outcome(given, chain(steps, by_values=False), False) == expected


def test_batches_of_nothing() -> None:
    """No record at all, and nulls alone."""
    steps = [{"type": f"{KAFKA}.InsertField$Value", "offset.field": "o"}]
    for values in ([], [None] * ROWS, [b"null"] * ROWS):
        found = outcome(values, chain(steps, by_values=False), False) if values else []
        assert found == [(Tombstone, "")] * len(values)
    empty = Chain(configured(chain(steps, by_values=False)), Registries())(ColumnBatch(PARTITION, []))
    assert len(empty) == 0


@pytest.mark.parametrize("arrays", [NESTING_MAX - 2, NESTING_MAX - 1, NESTING_MAX])
def test_depth_is_refused_alike(arrays: int) -> None:
    """As many brackets as may be in each other, and one more, in a large batch and in a small one."""
    value: bytes = b'{"a":' + b"[" * arrays + b"]" * arrays + b"}"
    steps = [{"type": f"{KAFKA}.InsertField$Value", "static.field": "b", "static.value": "x"}]
    (alone,) = outcome([value], chain(steps, by_values=False), False)
    assert isinstance(alone, bytes) == (arrays < NESTING_MAX)
    assert outcome([value] * ROWS, chain(steps, by_values=False), False) == [alone] * ROWS


def test_plain_objects_stay_text() -> None:
    """What applications write most needs no values: fractions, lists, spaces within text."""
    value = b'{"id":%d,"user":"u 7","amount":%d.%02d,"tags":["a","b"],"ok":true,"at":1700000000000,"no":null}'
    values = [value % (row, row % 7 + 1, row % 100) for row in range(ROWS)]
    (found,) = members_of(values)
    assert found.indexes.tolist() == list(range(ROWS))
    for bad in (b'{"id":1e400}', b"null", b'{"id" :1}', b'{"a":{}}'):
        (found,) = members_of([*values, bad])
        assert found.indexes.tolist() == list(range(ROWS))


def test_what_a_filter_drops_is_left_out() -> None:
    """Of objects that are text, too."""
    steps = [
        {"type": f"{KAFKA}.Filter", "predicate": "marked"},
        {"type": f"{KAFKA}.InsertField$Value", "offset.field": "o"},
    ]
    found = outcome([b'{"a":%d}' % row for row in range(ROWS)], chain(steps, by_values=False), False)
    expected = [(Filtered, "") if row % 3 else b'{"a":%d,"o":%d}' % (row, row) for row in range(ROWS)]
    assert found == expected
