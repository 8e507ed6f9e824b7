"""JsonConverter itself, on the JVM: what it takes, we take, and the JSON text is the same, byte for byte."""

from __future__ import annotations

import json
from random import Random
from struct import pack
from struct import unpack as struct_of
from typing import Any

import pytest

from kafka_s3.avro.model import Schema
from kafka_s3.settings.converters import Converter, ConverterSettings
from kafka_s3.settings.formats import DecimalFormat
from kafka_s3.values.converters.envelope import EnvelopeJson
from kafka_s3.values.formats.json_text import writer_for
from kafka_s3.values.rows import Tombstone, Unwritable
from tests.values.converters.envelopes import DATA, compact, envelope, random_case
from tools.connect.oracle import Answer, Question, ask


def struct(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


def field(kind: str, **more: Any) -> dict[str, Any]:
    return struct({"field": "a", "type": kind, **more})


def decimal(scale: int) -> dict[str, Any]:
    return {"type": "bytes", "name": f"{DATA}Decimal", "parameters": {"scale": str(scale)}}


INT8, TEXT = {"type": "int8"}, {"type": "string"}
PAIRS = {"type": "map", "keys": INT8, "values": TEXT}
#: Envelopes that both take, or both refuse.
SAME: list[bytes] = [
    *(
        envelope(field("int32"), payload)
        for payload in ("{}", '{"a":null}', '{"a":1,"b":2}', '{"a":1,"a":2}', "[]", "5")
    ),
    *(envelope(field("int32", optional=True, default=default), "{}") for default in (None, 3)),
    *(envelope(field("int32", default=default), '{"a":null}') for default in (None, 3)),
    *(envelope(field("array", items=INT8, default=[4]), payload) for payload in ("{}", '{"a":[]}')),
    *(
        envelope({"type": "double"}, number)
        for number in ("5", "1e10", "1e-5", "123456789.125", "-0.001", "1e7", "9999999.5", "1e-400", "0.00099")
    ),
    *(
        envelope({"type": "float"}, number)
        for number in ("0.1", "16777216", "1e7", "3.4028235e38", "1e-10", "0.3333333")
    ),
    *(
        envelope({"type": "int64"}, number)
        for number in ("1.0", "1e3", "9223372036854775807", "-9223372036854775808", "-0")
    ),
    *(
        envelope({"type": "bytes"}, text)
        for text in ('"AQ=="', '"AR=="', '"AQ"', '"!!"', '"A Q=="', '""', r'"AQ\u003d="')
    ),
    *(envelope(decimal(scale), '"MDk="') for scale in (0, 2, 20, 64, 70, -3)),
    *(
        envelope(decimal(2), text)
        for text in ('"AAE="', '"//8="', '""', '"AA=="', "1.25", "-0.01", '"x"', "true", "[]")
    ),
    *(envelope(decimal(8), text) for text in ('"AA=="', '"AQ=="', '"/w=="', '"DUpKSk0="', '"A+s="')),
    *(
        envelope({"type": "bytes", "name": f"{DATA}Decimal", **more}, '"AQ=="')
        for more in ({}, {"parameters": {"scale": "x"}})
    ),
    *(
        envelope({"type": "int32", "name": f"{DATA}Time"}, number)
        for number in ("0", "86400000", "86400001", "-1", '"x"')
    ),
    *(
        envelope({"type": "int32", "name": f"{DATA}Date"}, number)
        for number in ("0", "-719528", "2147483647", "2147483648", '"x"')
    ),
    *(
        envelope({"type": "int64", "name": f"{DATA}Timestamp"}, number)
        for number in ("0", "-5", "1700000000123", '"x"', "1.5")
    ),
    *(envelope(PAIRS, text) for text in ('[[7,"x"]]', '[[7,"x"],[7,"y"]]', "[[7]]", "{}", "[7]", '[[null,"x"]]', "[]")),
    *(
        envelope({"type": "map", "keys": {**TEXT, "optional": True}, "values": TEXT}, text)
        for text in ('{"a":"b"}', "[]")
    ),
    *(envelope({"type": "map", "keys": TEXT, "values": TEXT}, text) for text in ('{"a":null}', '{"a":"b"}', "[]")),
    *(envelope(None, text) for text in ("null", "5", '{"a":[1,2.5,null,"x",1e10,true]}', '"é"', "[]", "1e-5", "{}")),
    *(envelope({**INT8, "optional": optional}, "null") for optional in (True, False, "true", None)),
    *(
        envelope({**TEXT, "version": version, "name": name}, '"x"')
        for version in (1, 1.5, "1", None)
        for name in ("n", 5)
    ),
    *(
        envelope(schema, "1")
        for schema in ("int32", 5, [], {}, {"type": ["int32"]}, {"type": "date"}, {"type": "INT32"})
    ),
    *(envelope({"type": "int32", "parameters": parameters}, "1") for parameters in ({"a": 1}, {"a": "b"}, [], None)),
    *(
        envelope(schema, "[]")
        for schema in ({"type": "array"}, {"type": "array", "items": None}, {"type": "array", "items": INT8})
    ),
    *(
        envelope({"type": "map", "keys": keys, "values": values}, "{}")
        for keys in (TEXT, None)
        for values in (TEXT, None)
    ),
    *(envelope({"type": "struct", "fields": fields}, "{}") for fields in ([], [5], None, {}, [{"field": ""}], [INT8])),
    envelope(struct({"field": "a", **INT8}, {"field": "a", **INT8}), '{"a":1}'),
    envelope(TEXT, r'"\u001f\u000b\u0001\u007f/\u2028é\b\f\\u000b\\\u000b"'),
    *(envelope(INT8, text) for text in ("NaN", "", "'1'", "1,", "tru", "[1")),
    b'{"schema":{"type":"string"},"payload":"\xff"}',
    b'{"schema":{"type":"int32"},"payload":1,"x":2}',
    b'{"schema":{"type":"int32"},"payload":1,"payload":2}',
    b'{"payload":1,"schema":{"type":"int32"}}',
    b'\xef\xbb\xbf{"schema":{"type":"int32"},"payload":1}',
    *(b'{"schema":{"type":"int32"}}', b'{"payload":1}', b"[1]", b"1", b"", b" ", b"null", b"{}", b"x", b"{"),
]
OTHER_SCALES = ("1.5", "3", "1e2", "1.255")
#: What JsonConverter makes of values that we refuse, rather than change them in silence; ours where we know better.
CHANGED: list[tuple[bytes, str, str | None]] = [
    (envelope(field("int32"), '{"a":"x"}'), '{"a":0}', None),
    (envelope(field("int32"), '{"a":5.7}'), '{"a":5}', None),
    (envelope(field("int32"), '{"a":5000000000}'), '{"a":705032704}', None),
    (envelope(INT8, "300"), "44", None),
    (envelope({"type": "boolean"}, '"true"'), "false", None),
    (envelope(field("string", optional=True), '{"a":5}'), '{"a":null}', None),
    (envelope(field("array", items=INT8), '{"a":{"x":1}}'), '{"a":[1]}', None),
    (envelope({"type": "int64", "name": f"{DATA}Date"}, "1"), "1", None),
    (envelope({"type": "double"}, "1e999"), '"Infinity"', None),
    (envelope({"type": "float"}, "1e300"), '"Infinity"', None),
    (envelope({"type": "double"}, '"NaN"'), "0.0", '"NaN"'),
    (envelope({"type": "double"}, '"-Infinity"'), "0.0", '"-Infinity"'),
    (envelope({"type": "double"}, "-0.0"), "0.0", "-0.0"),
    (envelope(None, "99999999999999999999"), "7766279631452241919", None),
    (envelope(TEXT, r'"\ud800"'), r'"\uD800"', None),
    (envelope(INT8, "1") + b" x", "1", None),
    (envelope(INT8, "1}"), "1", None),
    (envelope(INT8, "01"), "1", None),
]


def ours(question: Question) -> Answer:
    fill = question.replace_null_with_default
    convert = EnvelopeJson(ConverterSettings(Converter.JSON, schemas_enable=True, replace_null_with_default=fill))
    rows = convert([question.envelope])
    match rows.excluded.get(0):
        case Tombstone():
            return Answer()
        case Unwritable(reason):
            return Answer(refused=reason)
    assert rows.schemas is None or isinstance(rows.schemas, Schema)
    return Answer(writer_for(rows.schemas, DecimalFormat(question.decimals))(rows.values(rows.schemas))[0])


def numbers() -> list[tuple[bytes, str]]:
    """Doubles and floats of random bits, and around the borders of Java's notations."""
    random = Random(1)
    found = []
    for kind, code, bits in (("double", "d", 64), ("float", "f", 32)):
        raw = [random.getrandbits(bits).to_bytes(bits // 8) for _ in range(1000)]
        made = [struct_of(f">{code}", each)[0] for each in raw]
        made += [random.choice([1, 9.5, 1.25]) * 10.0**power for power in range(-37, 38)]
        found += [(envelope({"type": kind}, repr(each)), kind) for each in made if each - each == 0]
    return found


pytestmark = pytest.mark.heavy  # a JVM with Kafka's own classes


@pytest.fixture(scope="module")
def answers() -> dict[Question, Answer]:
    """Everything that the tests below ask, asked at once: a JVM takes seconds to start."""
    cases = [random_case(Random(seed)).envelope for seed in range(1500)] + [value for value, _ in numbers()]
    cases += [envelope(decimal(2), number) for number in OTHER_SCALES]
    questions = [
        Question(value, decimals, fill)
        for value in [*SAME, *(value for value, _, _ in CHANGED), *cases]
        for decimals in ("BASE64", "NUMERIC")
        for fill in (True, False)
    ]
    return dict(zip(questions, ask(questions), strict=True))


def test_what_jsonconverter_writes_we_write(answers: dict[Question, Answer]) -> None:
    """Tables and random envelopes, decimals both ways, nulls with and without defaults."""
    apart = {value for value, _, _ in CHANGED} | {value for value, _ in numbers()}
    apart |= {envelope(decimal(2), number) for number in OTHER_SCALES}
    different = []
    for question, theirs in answers.items():
        if question.envelope not in apart:
            made = ours(question)
            if made.text != theirs.text or (made.refused is None) != (theirs.refused is None):
                different.append((question, made, theirs))
    assert not different, f"{len(different)} of {len(answers)}, the first: {different[:3]}"


def test_numbers_are_written_as_java_writes_them(answers: dict[Question, Answer]) -> None:
    """The same text; or, where a Java before 19 writes more digits than needed, the same number in fewer."""
    same = 0
    for value, kind in numbers():
        made, theirs = ours(Question(value)).text, answers[Question(value)].text
        assert made
        assert theirs
        same += made == theirs
        if made != theirs:
            code = ">d" if kind == "double" else ">f"
            assert pack(code, float(made)) == pack(code, float(theirs))
            assert len(made) <= len(theirs)
            assert (b"E" in made) == (b"E" in theirs)
    assert same > 0.9 * len(numbers())


def test_what_jsonconverter_would_change_is_refused(answers: dict[Question, Answer]) -> None:
    """Text in a number's place becomes 0 there, what does not fit is cut off: these are no values to write."""
    for value, theirs, expected in CHANGED:
        question = Question(value)
        assert (answers[question].text or b"").decode() == theirs
        made = ours(question)
        assert (made.text.decode() if made.text else None) == expected
        assert (made.refused is None) == (expected is not None)


def test_a_decimal_of_another_scale_keeps_its_value(
    answers: dict[Question, Answer],
) -> None:
    """JsonConverter takes it and cannot write it in base64: with us 1.5 is 1.50, 1.255 is refused."""
    asked = [Question(envelope(decimal(2), number)) for number in OTHER_SCALES]
    assert all(answers[each].refused for each in asked)
    numeric = [ours(Question(each.envelope, "NUMERIC")) for each in asked]
    assert [answer.text for answer in numeric] == [b"1.50", b"3.00", b"100.00", None]


def test_the_random_cases_are_what_jsonconverter_writes(answers: dict[Question, Answer]) -> None:
    """The generator's own expectation, which the fast tests stand on, is Connect's."""
    for seed in range(1500):
        case = random_case(Random(seed))
        assert answers[Question(case.envelope)].text == case.written.encode(), compact(json.loads(compact(case.schema)))
