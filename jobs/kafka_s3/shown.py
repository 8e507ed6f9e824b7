"""Text that is safe to show.

Two things never reach a log, a terminal or a page: characters that are none to look at, and, unless the user asks for
it (`errors.log.include.messages`), what records hold. A reason quotes a record through `quoted` and in no other way
(tests/house/test_reasons.py holds every module to it). What is quoted stands between marks, so that a reason can pass
through other sentences on its way; the place where it is said decides by `said` whether the content stays.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

#: Of a reason: it goes into logs, entries, letters and messages.
REASON_CHARS_MAX: Final = 2000
_SHOWN_MAX: Final = 60
_QUOTED_MAX: Final = 300
#: What the standard library says of JSON. Whatever else it may say one day could quote the text.
_JSON_PROBLEMS: Final = frozenset(
    {
        "Expecting value",
        "Expecting property name enclosed in double quotes",
        "Expecting ':' delimiter",
        "Expecting ',' delimiter",
        "Unterminated string starting at",
        "Invalid control character at",
        "Invalid \\escape",
        "Invalid \\uXXXX escape",
        "Illegal trailing comma before end of object",
        "Illegal trailing comma before end of array",
        "Extra data",
    }
)
# Control characters: `printable` leaves none in what stands between them.
_BEGIN, _OR, _END = "\x02", "\x1f", "\x03"
_QUOTED: Final = re.compile(f"{_BEGIN}([^{_OR}{_END}]*)(?:{_OR}([^{_END}]*))?{_END}?")


def printable(text: str) -> str:
    """Without characters that would move the cursor, change colours, or turn the direction of what is read.

    >>> printable("a\\x1b[31mb\\u202ec")
    'a\\\\x1b[31mb\\\\u202ec'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def printable_lines(text: str) -> str:
    """The same of several lines: line feeds and tabs stay."""
    return (
        text
        if text.isprintable()
        else "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))
    )


def printable_json(value: Any, indent: int | None = None) -> str:
    """A value as JSON of readable text: what could be written in letters is, what `printable` escapes is escaped.

    >>> printable_json({"é": chr(0x9B)}) == '{"é": "%su009b"}' % chr(92)
    True
    """
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    if text.isprintable():
        return text
    return "".join(c if c == "\n" or c.isprintable() else json.dumps(c)[1:-1] for c in text)


def quoted(value: Any, text: str | None = None, *, kind: str | None = None) -> str:
    """What a record holds, within a reason: its kind and length, or `text` (else the value) where content is shown.

    >>> said(f"n: {quoted('4111')} is not int", content=False), said(f"n: {quoted('4111')} is not int", content=True)
    ('n: text of 4 characters is not int', "n: '4111' is not int")
    """
    shown = _text(value) if text is None else text
    shown = printable(shown[:_QUOTED_MAX]) + ("…" if len(shown) > _QUOTED_MAX else "")
    return f"{_BEGIN}{kind or kind_and_length(value)}{_OR}{shown}{_END}"


def said(reason: str, *, content: bool) -> str:
    """A reason as it may be shown: one line of bounded length, with what it quotes or only the kind of that."""
    whole = printable(_QUOTED.sub(lambda found: found[2] if content and found[2] else found[1], reason))
    return whole if len(whole) <= REASON_CHARS_MAX else f"{whole[: REASON_CHARS_MAX - 1]}…"


def plain(reason: str, *, content: bool = False) -> str:
    """The same sentence without marks, however long and of however many lines."""
    if _BEGIN not in reason:
        return reason
    return _QUOTED.sub(lambda found: found[2] if content and found[2] else found[1], reason)


class NoJsonNumber(ValueError):
    """NaN or an infinity, which JSON has not."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name if name in ("NaN", "Infinity", "-Infinity") else "it"


def json_problem(error: ValueError) -> str:
    """What is wrong with a text that `json.loads` refused, and where.

    >>> try: json.loads('["4111", 4111x]')
    ... except ValueError as error: print(json_problem(error))
    Expecting ',' delimiter: line 1 column 14 (char 13)
    """
    if isinstance(error, json.JSONDecodeError):
        what = error.msg if error.msg in _JSON_PROBLEMS else "Wrong"
        return f"{what}: line {error.lineno} column {error.colno} (char {error.pos})"
    if isinstance(error, NoJsonNumber):
        return f"{error.name} is not a JSON number"
    return "a number is too long"


def named(text: str) -> str:
    """A name from a schema or a configuration, which says where something is: short and printable.

    >>> named("price\\n")
    'price\\\\n'
    """
    return printable(text[:_SHOWN_MAX]) + ("…" if len(text) > _SHOWN_MAX else "")


def kind_and_length(value: Any) -> str:
    """
    >>> kind_and_length("ab"), kind_and_length(-12), kind_and_length([1]), kind_and_length(None)
    ('text of 2 characters', 'a whole number', 'a list of 1', 'null')
    """
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int():
            return "a whole number" if -(2**64) < value < 2**64 else "a very long number"
        case float():
            return "a number with a fraction"
        case str():
            return f"text of {len(value)} character{'' if len(value) == 1 else 's'}"
        case bytes():
            return f"{len(value)} byte{'' if len(value) == 1 else 's'}"
        case list() | tuple():
            return f"a list of {len(value)}"
        case dict():
            return f"an object of {len(value)} field{'' if len(value) == 1 else 's'}"
    return type(value).__name__


def _text(value: Any) -> str:
    match value:
        case str():
            return repr(value[: _SHOWN_MAX + 1])
        case bytes():
            return value[:_SHOWN_MAX].hex(" ")
        case int() if not -(10**_SHOWN_MAX) < value < 10**_SHOWN_MAX:
            return "a very long number"
        case list() | tuple() | dict():
            return kind_and_length(value)
    return str(value)
