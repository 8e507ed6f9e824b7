"""Header values as the oracle tells them, and generated texts that look like values."""

from __future__ import annotations

import base64
import re
from decimal import Decimal
from random import Random
from typing import Any

from kafka_s3.values.converters.connect_schema import ConnectSchema
from kafka_s3.values.converters.connect_text_parser import Parsed, float32_or_infinite
from kafka_s3.values.converters.connect_types import Entries, Float32, Moment
from kafka_s3.values.formats.java_numbers import java_double, java_float

_JAVA_INTS = re.compile(r"\b(Byte|Short|Integer|Long):")
_JAVA_FLOAT = re.compile(r"\b(Float|Double):([^,\]}=]+)")
_SCIENTIFIC = re.compile(r"\d\.\d+E-?\d+")
_JAVA_TYPES = {"float": "float32", "double": "float64"}


def as_ours(typed: str) -> str:
    """What the oracle said, without how wide the integers are (a value of ours has its width in its schema), and with
    the floating-point digits of Java 19: the one that runs it may be older, and write more than it needs."""
    return _JAVA_FLOAT.sub(_newest_digits, _JAVA_INTS.sub("int:", typed))


def _newest_digits(found: re.Match[str]) -> str:
    number = float(found[2].replace("Infinity", "inf"))
    return f"{found[1]}:{java_float(float32_or_infinite(number)) if found[1] == 'Float' else java_double(number)}"


def digits_apart(text: str | None) -> str | None:
    """A header's text with each number in scientific notation as a float of 32 bits: see `as_ours`."""
    return text and _SCIENTIFIC.sub(lambda found: f"<{float32_or_infinite(float(found[0]))}>", text)


def typed(parsed: Parsed) -> str:
    return f"{_schema(parsed.schema)} {_value(parsed.value)}"


def _schema(schema: ConnectSchema | None) -> str:
    if schema is None:
        return "none"
    name = "" if schema.name is None else f" {schema.name.rpartition('.')[2]}"
    scale = f" {schema.parameters['scale']}" if schema.parameters else ""
    inner = ""
    if schema.type == "array":
        inner = f"<{_schema(schema.items)}>"
    if schema.type == "map":
        inner = f"<{_schema(schema.keys)},{_schema(schema.items)}>"
    return f"{_JAVA_TYPES.get(schema.type, schema.type)}{'?' if schema.optional else ''}{name}{scale}{inner}"


def _value(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return f"Boolean:{str(value).lower()}"
        case str():
            return f"String:{base64.b64encode(value.encode()).decode()}"
        case bytes():
            return f"bytes:{base64.b64encode(value).decode()}"
        case Moment():
            return f"Date:{int(value)}"
        case int():
            return f"int:{value}"
        case Float32():
            return f"Float:{java_float(float(value))}"
        case float():
            return f"Double:{java_double(value)}"
        case Decimal():
            sign, digits, exponent = value.as_tuple()
            unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
            assert isinstance(exponent, int)
            return f"BigDecimal:{unscaled}/{-exponent}"
        case Entries():
            return f"{{{','.join(f'{_value(key)}={_value(each)}' for key, each in value)}}}"
        case _:
            return f"[{','.join(map(_value, value))}]"


_WORDS = ["null", "true", "false", "a", "é", "x y", "TRUE", "nulls", "NaN", "Infinity", "\U0001f600", "٣", "-", "+"]
_NUMBERS = ["0", "1", "-1", "127", "128", "-129", "32768", "2147483648", "9223372036854775807", "9223372036854775808"]
_BLANKS = ["", "", "", " ", "  ", "\t", "\n", "\u00a0"]
_DATES = [
    "2020-01-02",
    "1969-12-31",
    "1582-10-10",
    "0001-01-01",
    "2020-13-45",
    "2020- 1-02",
    "2020-1-2xx",
    "999999-1-1",
]
_TIMES = ["12:34:56.789Z", "00:00:00.000Z", "25:61:61.999Z", "12:34:56.7890", "1:1:1.123456Z", "12:34:56.78"]
_PARTS = [":", ",", "{", "}", "[", "]", '"', "\\", "\\:", '\\"', "\\\\"]


def random_number(random: Random) -> str:
    match random.randrange(6):
        case 0:
            return random.choice(_NUMBERS)
        case 1:
            return str(random.randint(-(10 ** random.randint(1, 25)), 10 ** random.randint(1, 25)))
        case 2:
            return repr(random.uniform(-1, 1) * 10 ** random.randint(-50, 50))
        case 3:
            return f"{random.randint(0, 10**9)}.{random.randint(0, 10**12)}"
        case 4:
            sign, power = random.choice(["", "+", "-"]), random.randint(-400, 400)
            return f"{sign}{random.randint(0, 99)}{random.choice('eE')}{power}"
        case _:
            return f"{random.randint(0, 999)}{random.choice(['.', 'f', 'd', '_1', 'L', '..1', '.0', '.00', 'e', 'e+'])}"


def _blank(random: Random) -> str:
    return random.choice(_BLANKS)


def random_text(random: Random, depth: int = 3) -> str:
    """Text that is a value, or almost one."""
    kind = random.randrange(12)
    if kind < 3:
        made = random_number(random)
    elif kind == 3:
        made = random.choice(_WORDS)
    elif kind == 4:
        made = random.choice(_DATES)
    elif kind == 5:
        made = random.choice(_TIMES)
    elif kind == 6:
        made = f"{random.choice(_DATES)}T{random.choice(_TIMES)}"
    elif kind == 7:
        made = f'"{random.choice([random_text(random, 0), random.choice(_WORDS)])}"'
    elif not depth:
        made = f'"{random.choice(_WORDS)}"'
    elif kind < 10:
        items = [random_text(random, depth - 1) for _ in range(random.randrange(4))]
        made = f"[{','.join(items)}]"
    else:
        entries = [
            f"{random.choice([random_text(random, 0), repr(random.choice(_WORDS)).replace(chr(39), chr(34))])}"
            f"{_blank(random)}:{random_text(random, depth - 1)}"
            for _ in range(random.randrange(4))
        ]
        made = f"{{{','.join(entries)}}}"
    if random.random() < 0.08:
        at = random.randint(0, len(made))
        made = made[:at] + random.choice(_PARTS) + made[at + random.randrange(2) :]
    return f"{_blank(random)}{made}{_blank(random)}"


def random_tokens(random: Random) -> str:
    """Anything at all, of the signs that mean something."""
    return "".join(random.choice([*_PARTS, *_WORDS, *_NUMBERS, *_BLANKS]) for _ in range(random.randrange(1, 9)))
