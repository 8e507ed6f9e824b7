"""JSONPath as the Java library of that name (com.jayway.jsonpath) reads it: names, places, `*`, and conditions.

    $.user.age    $['user']['age']    $.tags[0]    $.tags[*]    $[?(@.age > 18 && @.name =~ /a.*/i)]

A condition compares a path with a literal, or asks whether the path is there. What else the library knows is refused by
name: `..`, slices, lists of names or of places, functions, conditions within conditions, other operators.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Final

from kafka_s3.settings.transforms import regex


class NoPath(ValueError):
    """The text is not a path that can be used here, and why."""


@dataclass(frozen=True, slots=True)
class Name:
    """The field of this name."""

    name: str


@dataclass(frozen=True, slots=True)
class Place:
    """The element at this place, from the end if negative."""

    at: int


@dataclass(frozen=True, slots=True)
class Every:
    """Every field or element."""


@dataclass(frozen=True, slots=True)
class Where:
    """The elements that a condition holds for; an object, if it holds for that."""

    condition: Condition


Step = Name | Place | Every | Where


@dataclass(frozen=True, slots=True)
class Path:
    """Steps from the document, or from the element that a condition is about (`from_element`)."""

    steps: tuple[Step, ...]
    from_element: bool = False

    @property
    def is_definite(self) -> bool:
        """Whether it leads to one place at most."""
        return all(isinstance(step, Name | Place) for step in self.steps)


Literal = str | Decimal | bool | None


@dataclass(frozen=True, slots=True)
class There:
    """The path leads somewhere, be it to null; or it does not (`negated`)."""

    path: Path
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Compared:
    """`operator`: ==, !=, <, <=, >, >=."""

    path: Path
    operator: str
    literal: Literal


@dataclass(frozen=True, slots=True)
class Matched:
    """The whole text of it fits a pattern."""

    path: Path
    pattern: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Listed:
    """It is one of some literals, or none (`negated`)."""

    path: Path
    literals: tuple[Literal, ...]
    negated: bool


@dataclass(frozen=True, slots=True)
class All:
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Any:
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Not:
    condition: Condition


Condition = There | Compared | Matched | Listed | All | Any | Not

#: Conditions within parentheses.
_DEPTH_MAX: Final = 32
_NAME: Final = re.compile(r"[\w-]+")
_PLACE: Final = re.compile(r"-?[0-9]{1,9}")
_NUMBER: Final = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?")
_OPERATOR: Final = re.compile(r"===|!==|==|!=|<=|>=|=~|<|>|[A-Za-z]+")
_COMPARING: Final = frozenset({"==", "!=", "<", "<=", ">", ">="})
_WORDS: Final[dict[str, Literal]] = {"true": True, "false": False, "null": None}
_OPERATORS: Final = "==, !=, <, <=, >, >=, =~, in and nin"


@lru_cache(64)
def parse_path(text: str) -> Path:
    """`NoPath` with the reason if it is not a path, or none that is known here.

    >>> parse_path("$.a['b'][0]").steps
    (Name(name='a'), Name(name='b'), Place(at=0))
    """
    bare = text.strip()
    if not bare:
        raise NoPath("must not be blank")
    if bare.startswith("@"):
        raise NoPath("a path begins with $")
    reading = _Reading(bare if bare.startswith("$") else f"$.{bare}")
    path = reading.path()
    reading.end()
    return path


def problem(text: str) -> str | None:
    """What is wrong with a path."""
    try:
        parse_path(text)
    except NoPath as error:
        return str(error)
    return None


class _Reading:
    """A text, and how far it was read."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0

    def end(self) -> None:
        if self._at < len(self._text):
            raise self._unknown()

    def path(self) -> Path:
        begins = self._take("$", "@")
        steps: list[Step] = []
        while True:
            if self._next("."):
                self._at += 1
                if self._next("."):
                    raise NoPath(".. is not known here: name every step")
                if not self._next("["):
                    steps.append(self._named())
                    continue
            if not self._next("["):
                break
            self._at += 1
            steps.append(self._bracket())
        if self._next("("):
            raise NoPath("functions are not known here")
        return Path(tuple(steps), from_element=begins == "@")

    def _named(self) -> Step:
        if self._next("*"):
            self._at += 1
            return Every()
        name = self._match(_NAME)
        if name is None:
            raise self._unknown("a name; one with other characters is written ['like this']")
        return Name(name)

    def _bracket(self) -> Step:
        self._blanks()
        if self._next("?"):
            return self._where()
        if self._next("*"):
            self._at += 1
            step: Step = Every()
        elif self._next("'") or self._next('"'):
            step = Name(self._quoted())
        else:
            place = self._match(_PLACE)
            if place is None:
                raise self._unknown("a name in quotes, a place, * or ?(condition)")
            step = Place(int(place))
        self._blanks()
        if self._next(","):
            raise NoPath("a list of names or places is not known here")
        if self._next(":"):
            raise NoPath("slices are not known here")
        self._take("]")
        return step

    def _where(self) -> Where:
        if self._depth:
            raise NoPath("a condition within another is not known here")
        self._at += 1
        self._blanks()
        self._take("(")
        condition = self._any()
        self._blanks()
        self._take(")")
        self._blanks()
        self._take("]")
        return Where(condition)

    def _any(self) -> Condition:
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            raise NoPath(f"its conditions are nested in more than {_DEPTH_MAX} parentheses")
        found = [self._all()]
        while self._skipped("||"):
            found.append(self._all())
        self._depth -= 1
        return found[0] if len(found) == 1 else Any(tuple(found))

    def _all(self) -> Condition:
        found = [self._one()]
        while self._skipped("&&"):
            found.append(self._one())
        return found[0] if len(found) == 1 else All(tuple(found))

    def _one(self) -> Condition:
        self._blanks()
        negated = self._next("!")
        if negated:
            self._at += 1
            self._blanks()
        if self._next("("):
            self._at += 1
            inner = self._any()
            self._blanks()
            self._take(")")
            return Not(inner) if negated else inner
        if not (self._next("@") or self._next("$")):
            raise self._unknown("a path: @.field, and a literal behind the operator")
        path = self.path()
        if not path.is_definite:
            raise NoPath("a path of a condition has names and places alone")
        self._blanks()
        operator = self._match(_OPERATOR)
        if operator is None:
            if not path.from_element:  # the Java library looks for it in the element
                raise NoPath("a condition cannot ask whether a path from $ is there: write @, or compare it")
            return There(path, negated)
        if negated:
            raise NoPath("! stands before a path alone, or before parentheses")
        return self._compared(path, operator)

    def _compared(self, path: Path, operator: str) -> Condition:
        self._blanks()
        match operator.lower():
            case "=~":
                return Matched(path, self._pattern())
            case "in" | "nin" as word:
                return Listed(path, self._list(), word == "nin")
            case comparing if comparing in _COMPARING:
                return Compared(path, comparing, self._literal())
        raise NoPath(f"the operator {operator} is not known here; there are {_OPERATORS}")

    def _pattern(self) -> re.Pattern[str]:
        self._take("/")
        begin = self._at
        while not self._next("/"):
            if self._at >= len(self._text):
                raise NoPath("a pattern ends with /")
            self._at += 2 if self._next("\\") else 1
        text = self._text[begin : self._at].replace("\\/", "/")
        self._at += 1
        flags = self._match(re.compile("[A-Za-z]+")) or ""
        if flags not in ("", "i"):
            raise NoPath(f"the flags {flags} of a pattern are not known here; there is i")
        try:
            return regex.pattern(f"(?i){text}" if flags else text)
        except regex.NoPattern as error:
            raise NoPath(f"its pattern: {error}") from None

    def _list(self) -> tuple[Literal, ...]:
        self._take("[")
        found: list[Literal] = []
        self._blanks()
        while not self._next("]"):
            if found:
                self._take(",")
                self._blanks()
            literal = self._literal()
            if isinstance(literal, str) and (not literal or literal[0] in "$@[{'\""):
                raise NoPath("a text in a list begins with a character other than $, @, a bracket or a quote")
            found.append(literal)
            self._blanks()
        self._at += 1
        return tuple(found)

    def _literal(self) -> Literal:
        if self._next("'") or self._next('"'):
            return self._quoted()
        number = self._match(_NUMBER)
        if number is not None:
            return Decimal(number)
        word = self._match(_NAME)
        if word in _WORDS:
            return _WORDS[word]
        if self._next("@") or self._next("$"):
            raise NoPath("a path is compared with a literal, not with another path")
        raise self._unknown("a literal: 'text', a number, true, false or null")

    def _quoted(self) -> str:
        quote = self._take("'", '"')
        end = self._text.find(quote, self._at)
        if end < 0:
            raise NoPath("a quote has no partner")
        found = self._text[self._at : end]
        if "\\" in found:
            raise NoPath("a backslash within quotes is not known here")
        self._at = end + 1
        return found

    def _skipped(self, operator: str) -> bool:
        self._blanks()
        if not self._text.startswith(operator, self._at):
            return False
        self._at += len(operator)
        return True

    def _blanks(self) -> None:
        while self._next(" "):
            self._at += 1

    def _next(self, character: str) -> bool:
        return self._text[self._at : self._at + 1] == character

    def _take(self, *characters: str) -> str:
        found = self._text[self._at : self._at + 1]
        if found not in characters or not found:
            raise self._unknown(" or ".join(characters))
        self._at += 1
        return found

    def _match(self, pattern: re.Pattern[str]) -> str | None:
        found = pattern.match(self._text, self._at)
        if found is None:
            return None
        self._at = found.end()
        return found[0]

    def _unknown(self, expected: str = "") -> NoPath:
        rest = self._text[self._at : self._at + 20]
        what = f"{rest!r} at position {self._at}" if rest else "its end"
        return NoPath(f"cannot be read at {what}" + (f": expected {expected}" if expected else ""))
