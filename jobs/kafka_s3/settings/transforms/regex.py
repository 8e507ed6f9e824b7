"""Java's regular expressions as Python's, where both mean the same; the rest is refused by name."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final


class NoPattern(ValueError):
    """The text is not a regular expression that can be used here, and why."""


#: What stands for classes of characters that Python has no name for; Java's are ASCII unless asked otherwise.
_CLASSES: Final = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": r"\x00-\x7F",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": r"!-/:-@\[-`{-~",
    "Graph": "!-~",
    "Print": " -~",
    "Blank": r" \t",
    "Cntrl": r"\x00-\x1F\x7F",
    "XDigit": "0-9a-fA-F",
    "Space": r" \t\n\x0B\f\r",
}
_ESCAPED: Final = re.compile(
    r"\\Q(?P<quoted>.*?)(?:\\E|$)|\\p\{(?:Is)?(?P<class>\w+)\}|\\(?P<letter>[hvzZGRXKkNP]|p\{)|\\(?P<other>.)"
    r"|\(\?(?P<flags>[A-Za-z]*(?:-[A-Za-z]*)?)(?=[:)])"
    r"|\(\?<(?P<named>[A-Za-z][A-Za-z0-9]*)>|(?P<bracket>\[\^?\]?)|(?P<close>\])|(?P<intersection>&&)|(?P<dot>\.)",
    re.DOTALL,
)
_HORIZONTAL: Final = r" \t\xA0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000"
_VERTICAL: Final = r"\n\x0B\f\r\x85\u2028\u2029"
_DOT_IS_ANY: Final = re.compile(r"\(\?(?:s|is|si)\)")


@lru_cache(256)
def pattern(text: str) -> re.Pattern[str]:
    """The pattern of a Java regular expression. `NoPattern` with the reason if it is none, or none that we know.

    >>> pattern("(?<name>.*)-\\\\p{Digit}+").fullmatch("orders-12")["name"]
    'orders'
    """
    depth = 0
    # In front of all else (?s) is about the whole pattern; elsewhere it is refused.
    any_char = _DOT_IS_ANY.match(text)
    flags = re.ASCII | (re.IGNORECASE if any_char and "i" in any_char[0] else 0)

    def translated(found: re.Match[str]) -> str:
        nonlocal depth
        if found["quoted"] is not None:
            return re.escape(found["quoted"])
        if (known := found["class"]) is not None:
            if known not in _CLASSES:
                raise NoPattern(f"\\p{{{known}}} is not known here: write the characters instead")
            return _CLASSES[known] if depth else f"[{_CLASSES[known]}]"
        if (letter := found["letter"]) is not None:
            if letter == "h":
                return _HORIZONTAL if depth else f"[{_HORIZONTAL}]"
            if letter == "v":
                return _VERTICAL if depth else f"[{_VERTICAL}]"
            if letter == "z":
                return r"\Z"
            if letter == "Z":
                return r"(?=\n?\Z)"
            if letter == "k":
                return r"\k"
            raise NoPattern(f"\\{letter} of Java is not known here")
        if found["other"] is not None:
            return found[0]
        if (asked := found["flags"]) is not None:
            if not depth and asked.strip("-i"):
                raise NoPattern(f"(?{asked}) of Java is not known here: of flags there is i, and (?s) at the beginning")
            return found[0]
        if (name := found["named"]) is not None:
            return f"(?P<{name}>"
        if found["bracket"] is not None:
            if depth:
                raise NoPattern("a class of characters within another is not known here")
            depth = 1
            return found[0]
        if found["close"] is not None:
            depth = 0
            return "]"
        if found["intersection"] is not None:
            if depth:
                raise NoPattern("&& in a class of characters is not known here")
            return "&&"
        return "." if depth else r"[\s\S]" if any_char else r"[^\n\r\x85\u2028\u2029]"

    made = _ESCAPED.sub(translated, text[any_char.end() :] if any_char else text)
    made = re.sub(r"\\k<([A-Za-z][A-Za-z0-9]*)>", r"(?P=\1)", made)
    try:
        return re.compile(made, flags)
    except (re.error, ValueError, OverflowError, RecursionError) as error:
        raise NoPattern(f"is not a valid regular expression: {error}") from None


def problem(text: str) -> str | None:
    """What is wrong with a regular expression of Java."""
    try:
        pattern(text)
    except NoPattern as error:
        return str(error)
    return None


_REFERENCE: Final = re.compile(r"\\(.)|\$\{([A-Za-z][A-Za-z0-9]*)\}|\$(\d+)|(\$|\\)", re.DOTALL)
Replace = Callable[[re.Match[str]], str]


def replacement(text: str, of: re.Pattern[str]) -> Replace:
    """What `Matcher.replaceFirst` puts in the place of a match: `$1` and `${name}` are groups, a backslash quotes.

    `NoPattern` if the text names a group that the pattern does not have.

    >>> replacement("$2_$1", re.compile("(a)(b)"))(re.match("(a)(b)", "ab"))
    'b_a'
    """
    pieces: list[str | int] = []
    at = 0
    for found in _REFERENCE.finditer(text):
        pieces.append(text[at : found.start()])
        quoted, name, digits, wrong = found.groups()
        rest = ""
        if wrong is not None:
            raise NoPattern(f"a {wrong!r} that stands for itself is written \\{wrong}")
        if quoted is not None:
            pieces.append(quoted)
        elif name is not None:
            if name not in of.groupindex:
                raise NoPattern(f"the pattern has no group called {name}")
            pieces.append(of.groupindex[name])
        else:
            number, rest = int(digits[0]), digits[1:]
            # Java takes as many digits as still name a group.
            while rest and number * 10 + int(rest[0]) <= of.groups:
                number, rest = number * 10 + int(rest[0]), rest[1:]
            if number > of.groups:
                raise NoPattern(f"the pattern has no group {number}")
            pieces += [number, rest]
        at = found.end()
    pieces.append(text[at:])

    def made(match: re.Match[str]) -> str:
        return "".join(each if isinstance(each, str) else match[each] or "" for each in pieces)

    return made
