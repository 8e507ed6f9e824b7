"""Values into lines: what is taken, what is refused, and that a record's line is its own affair."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafka_s3.settings.converters import Converter, ConverterSettings
from kafka_s3.settings.formats import FileSettings, Format
from kafka_s3.values.converters.build import converter_for
from kafka_s3.values.converters.text import JsonLines, bytes_to_json, strings_to_json, take_bytes
from kafka_s3.values.rows import Lines, Tombstone, Unwritable

MARK = b"\xef\xbb\xbf"

numbers = st.one_of(
    st.integers(),
    st.integers(-(10**400), 10**400),
    st.floats(allow_nan=False, allow_infinity=False),
).map(json.dumps)
odd_numbers = st.sampled_from(
    [
        "1e999",
        "-1e999",
        "1E-400",
        "-0",
        "0.1e+5",
        "9" * 4300,
        "9" * 4301,
        "0." + "1" * 5000,
        "1e400000",
        "01",
        "1.",
        "-",
    ]
)
odd_words = st.sampled_from(["NaN", "Infinity", "-Infinity", "nul", "True", "null", "true", "false", "", "'a'"])
odd_strings = st.sampled_from(
    [
        r'"\ud800"',
        r'"\ude00\ud83d"',
        r'"\ud83d\ude00"',
        r'"\u0000"',
        r'"\/"',
        r'"\x"',
        r'"\u12"',
        '"\t"',
        '"\x7f"',
        '"\u2028"',
        '"\n"',
        '"',
        '"null"',
        '"' + "7" * 5000 + '"',
        r'"\\"',
        '"[{"',
    ]
)
space = st.text(" \t\n\r", max_size=3) | st.sampled_from(["\x0b", "\x0c", "\xa0", "\x00"])
leaves = numbers | odd_numbers | odd_words | odd_strings | st.text(max_size=8).map(json.dumps)


def _spaced(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(lambda before, text, after: before + text + after, st.just("") | space, inner, st.just("") | space)


def _containers(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Arrays and objects over `inner`, with white space, duplicate keys, and now and then a comma too many."""
    items = st.lists(_spaced(inner), max_size=4)
    pairs = st.lists(st.tuples(st.sampled_from(['"a"', '"b"', r'"\u0061"', "a"]), _spaced(inner)), max_size=4)
    return st.one_of(
        items.map(lambda each: f"[{','.join(each)}]"),
        pairs.map(lambda each: "{" + ",".join(f"{key}:{value}" for key, value in each) + "}"),
        items.map(lambda each: f"[{','.join([*each, ''])}]"),
    )


json_texts = _spaced(st.recursive(leaves, _containers, max_leaves=12))
json_bytes = json_texts.map(lambda text: text.encode("utf-8", "surrogatepass"))
values = st.one_of(
    json_bytes,
    json_bytes.map(lambda value: MARK + value),
    st.binary(max_size=12),
    st.text(max_size=8).map(lambda text: b'"' + text.encode("utf-8", "surrogatepass") + b'"'),
    st.sampled_from([b"1,2", b"[1", b"2]", b'{"a":', b"1}", b'"a', b'b"', b"1\n2", b"/*", b"*/", b"", b" ", b"null"]),
    st.sampled_from([b'"\xed\xa0\x80"', b'"\xc0\x80"', b'"\xff"', b'{"\xff":1}', MARK, b"\xff\xfe1\x00"]),
    st.tuples(st.integers(0, 900), st.sampled_from([("[", "]"), ('{"a":', "}")])).map(
        lambda deep: (deep[1][0] * deep[0] + "1" + deep[1][1] * deep[0]).encode()
    ),
)


def loads(value: bytes) -> object:
    """What JSON is here: json.loads over strict UTF-8 (a byte order mark allowed), without NaN, 800 levels deep."""

    def refuse(name: str) -> float:
        raise ValueError(name)

    return json.loads(value.removeprefix(MARK).decode("utf-8"), parse_constant=refuse)


def is_json(value: bytes) -> bool:
    try:
        loads(value)
    except (ValueError, RecursionError):
        return False
    return _nesting(value) <= 800


def _nesting(value: bytes) -> int:
    """Of the nested values above, which put no bracket into strings but balanced or few ones."""
    return max(value.count(b"[") + value.count(b"{"), 0)


def outcome(rows: Lines, index: int) -> object:
    return rows.excluded.get(index, rows.lines[index])


@given(values)
@example(b"1e999\n")
@example(b'\n["\\ud800", 1e999, {"a": 1, "a": 2.50}]')
@example(b"[" * 800 + b"]" * 800)
@example(b"[" * 801 + b"]" * 801)
@example(b"[" * 100_000)
@example(MARK + b"[1]")
@example(MARK + b" null ")
def test_a_value_is_taken_exactly_if_json_loads_takes_it(value: bytes) -> None:
    """Accepted: what json.loads accepts; on one line it goes out byte for byte, else on one line with equal content."""
    rows = JsonLines()([value])
    made = outcome(rows, 0)
    if not is_json(value):
        assert isinstance(made, Unwritable)
        assert made.reason.startswith("not JSON: ")
    elif loads(value) is None:
        assert made == Tombstone()
    else:
        assert isinstance(made, bytes)
        assert b"\n" not in made
        assert b"\r" not in made
        # repr keeps apart what == does not: 1 and 1.0, the order and number of keys
        assert _pairs(made) == _pairs(value)
        if b"\n" not in value and b"\r" not in value:
            assert made == value.removeprefix(MARK)
        if rows.joined is not None:
            assert rows.joined == made


def _pairs(value: bytes) -> str:
    return repr(json.loads(value.removeprefix(MARK), object_pairs_hook=list, parse_float=str))


@given(st.lists(values | st.none(), min_size=1, max_size=6))
@example([b"1,2", b"3"])
@example([b"[1", b"2]"])
@example([b'"a', b'b"'])
@example([b"{", b"}"])
@example([b"1", b"[" * 801 + b"]" * 801])
@example([b"[" * 800 + b"]" * 800, b"1\n"])
@example([b'"' + b"[" * 900 + b'"', b"1"])
@example([b'"\xc3', b'\xa9"'])
@example([b"null", None, b"1"])
def test_neighbours_do_not_change_a_record(batch: list[bytes | None]) -> None:
    """A record becomes the same line, or is refused for the same reason, alone and in whatever batch it comes."""
    convert = JsonLines()
    rows = convert(batch)
    alone = [outcome(convert([value]), 0) for value in batch]
    assert [outcome(rows, index) for index in range(len(batch))] == alone
    if not rows.excluded:
        lines = [line for line in alone if isinstance(line, bytes)]
        assert rows.join(0, len(batch), b"\n") == b"".join(line + b"\n" for line in lines)
        assert rows.join(1, len(batch), b"\n") == b"\n".join(lines[1:]) + b"\n"


def test_nesting_does_not_depend_on_the_caller() -> None:
    """800 levels pass and 801 do not, however deep the stack is that asks."""

    def ask(depth: int, value: bytes) -> object:
        return ask(depth - 1, value) if depth else outcome(JsonLines()([value]), 0)

    fine, deep = b"[" * 800 + b"]" * 800, b"[" * 801 + b"]" * 801
    assert [ask(depth, fine) for depth in (0, 60)] == [fine, fine]
    assert ask(0, deep) == ask(60, deep) == Unwritable("not JSON: nested too deeply (more than 800 levels)")
    brackets_in_a_string = b'["' + b"[{" * 1000 + b'\\"[{"]'
    assert ask(0, brackets_in_a_string) == brackets_in_a_string


@pytest.mark.parametrize("value", [None, b"null", b" null\t", b"null\n", b"\r\nnull", MARK + b"null"])
def test_null_is_a_tombstone(value: bytes | None) -> None:
    """No value and the JSON value null are the same to Connect's JsonConverter, so to us."""
    assert outcome(JsonLines()([value]), 0) == Tombstone()
    assert outcome(JsonLines()([b"1", value, b"2"]), 1) == Tombstone()


@pytest.mark.parametrize("value", [b'"null"', b'{"a":null}', b"[null]", b"nulll"])
def test_null_inside_a_value_is_none(value: bytes) -> None:
    """Only a value that is null as a whole is a tombstone."""
    assert outcome(JsonLines()([value, b"1"]), 0) != Tombstone()


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"", "not JSON: the value is empty"),
        (b" \n", "not JSON: the value is empty"),
        (b'{"a": NaN}', "not JSON: NaN is not a JSON number"),
        (b"-Infinity", "not JSON: -Infinity is not a JSON number"),
        (b'"\xff"', "not JSON: not UTF-8 at byte 1"),
        (b'{"a": }', "not JSON: Expecting value: line 1 column 7 (char 6)"),
        (b"1,2", "not JSON: Extra data: line 1 column 2 (char 1)"),
    ],
)
def test_a_refusal_says_why_and_where(value: bytes, reason: str) -> None:
    """The reason names what is wrong, and the place in the value where there is one."""
    assert outcome(JsonLines()([value]), 0) == Unwritable(reason)


# The other converters.


@given(st.lists(st.none() | st.binary(max_size=20), min_size=1, max_size=5))
def test_bytes_pass_through_bytes(batch: list[bytes | None]) -> None:
    """ByteArrayConverter into ByteArrayFormat changes nothing, and only a missing value is a tombstone."""
    rows = take_bytes(batch)
    assert [outcome(rows, i) for i in range(len(batch))] == [Tombstone() if v is None else v for v in batch]


@given(st.lists(st.none() | st.binary(max_size=20), min_size=1, max_size=5))
def test_bytes_into_json_are_base64(batch: list[bytes | None]) -> None:
    """ByteArrayConverter into JsonFormat: a JSON string that decodes to the bytes."""
    rows = bytes_to_json(batch)
    for index, value in enumerate(batch):
        made = outcome(rows, index)
        if isinstance(made, bytes):
            assert base64.b64decode(json.loads(made), validate=True) == value
        else:
            assert (made, value) == (Tombstone(), None)


@given(st.lists(st.text(), min_size=1, max_size=5))
def test_strings_into_json_are_themselves(texts: list[str]) -> None:
    """StringConverter into JsonFormat: one line each, which reads back as the string, line breaks included."""
    rows = strings_to_json([text.encode() for text in texts])
    assert [json.loads(line) for line in rows.lines] == texts
    assert not any(b"\n" in line or b"\r" in line for line in rows.lines)


# Made with java.lang.String of OpenJDK 17; one U+FFFD is shown as "?".
JAVA: Sequence[tuple[bytes, str]] = [
    (b"a\xffb", "a?b"),
    (b"\xc3", "?"),
    (b"\xc0\x80", "??"),
    (b"\xe2\x82", "?"),
    (b"\xe2\x82A", "?A"),
    (b"\xe0\x80\x80", "???"),
    (b"\xed\xa0\x80", "?"),
    (b"\xed\xa0\xbd\xed\xb8\x80", "??"),
    (b"\xed\xa0", "?"),
    (b"\xed\xa0A", "?A"),
    (b"\xed\x9f\xbf", "\ud7ff"),
    (b"\xf0\x9f\x98", "?"),
    (b"\xf0\x80\x80\x80", "????"),
    (b"\xf4\x90\x80\x80", "????"),
    (b"\xf8\x88\x80\x80\x80", "?????"),
]


@pytest.mark.parametrize(("value", "expected"), JAVA)
def test_bytes_that_are_no_utf8_become_what_java_makes_of_them(value: bytes, expected: str) -> None:
    """StringConverter is `new String(bytes, UTF_8)`: as many replacement characters, in the same places."""
    made = strings_to_json([value]).lines[0]
    assert json.loads(made) == expected.replace("?", "\ufffd")


def test_every_converter_has_its_lines() -> None:
    """converter_for answers for each pair that the settings allow."""

    def convert(converter: Converter, format: Format) -> bytes:
        return converter_for(ConverterSettings(converter), FileSettings(format))([b"[1, 2]"]).lines[0]

    assert convert(Converter.JSON, Format.JSON) == b"[1, 2]"
    assert convert(Converter.STRING, Format.JSON) == b'"[1, 2]"'
    assert convert(Converter.BYTE_ARRAY, Format.JSON) == b'"WzEsIDJd"'
    assert convert(Converter.BYTE_ARRAY, Format.BYTE_ARRAY) == b"[1, 2]"
