"""What a property is: its type, default and allowed values by Connect's rules, and what it does here."""

from __future__ import annotations

import difflib
import enum
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from kafka_s3 import user_defined

HIDDEN: Final = "[hidden]"

Value = str | int | bool | tuple[str, ...] | None


class Kind(enum.Enum):
    """Connect's ConfigDef types."""

    STRING = "STRING"
    INT = "INT"
    LONG = "LONG"
    BOOLEAN = "BOOLEAN"
    LIST = "LIST"
    CLASS = "CLASS"
    PASSWORD = "PASSWORD"  # noqa: S105  # the name of a type


class Required(enum.Enum):
    """The default of a property that has none."""

    REQUIRED = "required"


REQUIRED: Final = Required.REQUIRED


@dataclass(frozen=True, slots=True)
class Supported:
    """It has its effect."""


@dataclass(frozen=True, slots=True)
class Ignored:
    """It is checked and accepted, and has no effect here because of `reason`."""

    reason: str


@dataclass(frozen=True, slots=True)
class Refused:
    """It is never accepted because of `reason`; `way_out` says what to do instead."""

    reason: str
    way_out: str


Status = Supported | Ignored | Refused
SUPPORTED: Final = Supported()


@dataclass(frozen=True, slots=True)
class UserDefined:
    """A class of the user's own, as `module:Class`."""

    path: str


@dataclass(frozen=True, slots=True)
class Choice:
    """One allowed value; a class may also be called by its last name part or by the `others` (older packages).

    `refused`: it is known and never accepted, with the reason and the way out.
    """

    name: str
    others: tuple[str, ...] = ()
    refused: str = ""

    @property
    def short(self) -> str:
        return self.name.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class AppliesWhen:
    """A property is read only under certain values of another one, and ignored otherwise.

    `values`: of a list one element is enough; `None` stands for any value that is set. `text`: the condition in words,
    where it is not just names and values. `user_defined`: a class of the user's own there reads it too. `both`: that
    has to hold as well. `either`: that is enough too.
    """

    name: str
    values: tuple[Value, ...] | None
    text: str = ""
    user_defined: bool = False
    both: AppliesWhen | None = None
    either: AppliesWhen | None = None

    def applies(self, value: Value) -> bool:
        """Whether this value of the other property is one of those."""
        if self.values is None:
            return bool(value)
        if isinstance(value, tuple):
            return any(element in self.values for element in value)
        return value in self.values or (self.user_defined and isinstance(value, str) and user_defined.is_path(value))

    def condition(self) -> str:
        """What has to hold, behind the word "unless".

        >>> AppliesWhen("a.class", ("of.Avro",), either=AppliesWhen("b", (True,))).condition()
        'a.class=Avro or b=true'
        >>> AppliesWhen("partitioner.class", ("Daily", "Hourly"), user_defined=True).condition()
        'partitioner.class is Daily, Hourly or your own class'
        """
        if self.text:
            return self.text
        parts = [self._own_part()]
        parts += [f"and {self.both.condition()}"] if self.both is not None else []
        parts += [f"or {self.either.condition()}"] if self.either is not None else []
        return " ".join(parts)

    def _own_part(self) -> str:
        if self.values is None:
            return f"{self.name} is set"
        names = list(dict.fromkeys(render(value).rpartition(".")[2] for value in self.values))
        names += ["your own class"] if self.user_defined else []
        if len(names) == 1:
            return f"{self.name}={names[0]}"
        return f"{self.name} is {', '.join(names[:-1])} or {names[-1]}"


@dataclass(frozen=True, slots=True)
class Property:
    """One row of a property table.

    `check` sees the trimmed text (of a list: each element) and says what is wrong with it, without repeating it:
    the value may be a secret. `shapes`: the value shapes the bytes, names or contents of objects, so that another
    value means another plan. `untrimmed`: Connect reads the value with its surrounding white space.
    `quiet`: at its default no plan shows it, so that the hash of a configuration is what it was before there was such a
    property.
    `user_defined`: beside the choices, a class of the user's own is one, as `module:Class`. `lenient`: what is wrong
    with it matters only where it is read, as with the options of a converter that nobody asks.
    """

    name: str
    kind: Kind
    default: Value | Required
    doc: str
    status: Status = SUPPORTED
    choices: tuple[Choice, ...] = ()
    ignore_case: bool = False
    minimum: int | None = None
    maximum: int | None = None
    out_of_range: str = ""
    check: Callable[[str], str | None] | None = None
    shapes: bool = False
    quiet: bool = False
    untrimmed: bool = False
    user_defined: bool = False
    applies_when: AppliesWhen | None = None
    lenient: bool = False

    @property
    def secret(self) -> bool:
        return self.kind is Kind.PASSWORD


@dataclass(frozen=True, slots=True)
class PropertyPrefix:
    """All properties that begin with `prefix` and have no row of their own; `doc` says what supported ones do."""

    prefix: str
    status: Status
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Wrong:
    """A text that is not a value of its property; `recognised` is set if it names something known but not built."""

    message: str
    recognised: Value = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class ResolvedProperty:
    """One row of what `validate` prints: the value is hidden if it is a secret."""

    name: str
    value: str
    source: str
    meaning: str
    ignored: bool = False  # it is accepted, and has no effect


def choices(*names: str) -> tuple[Choice, ...]:
    return tuple(Choice(name) for name in names)


_BITS: Final = {Kind.INT: 31, Kind.LONG: 63}


def parse(prop: Property, text: str) -> Value | Wrong:
    """The value behind a text by the rules of Connect's ConfigDef: trimmed, booleans in any case, lists by comma."""
    text = text if prop.untrimmed else text.strip()
    match prop.kind:
        case Kind.BOOLEAN:
            if text.lower() not in ("true", "false"):
                return Wrong("Expected value to be either true or false")
            return text.lower() == "true"
        case Kind.INT | Kind.LONG:
            return _parse_number(prop, text)
        case Kind.LIST:
            elements = tuple(part.strip() for part in text.split(",")) if text else ()
            return _checked(prop, elements, elements)
        case Kind.STRING | Kind.CLASS | Kind.PASSWORD:
            if prop.choices:
                return _parse_choice(prop, text)
            return _checked(prop, text, (text,))


def _parse_number(prop: Property, text: str) -> int | Wrong:
    top = 1 << _BITS[prop.kind]
    # The length is checked first: a number of a million digits takes Python minutes.
    if not re.fullmatch(r"[+-]?[0-9]{1,40}", text) or not -top <= int(text) < top:
        return Wrong(f"Not a number of type {prop.kind.value}")
    number = int(text)
    if prop.minimum is not None and number < prop.minimum:
        return Wrong(prop.out_of_range or f"Value must be at least {prop.minimum}")
    if prop.maximum is not None and number > prop.maximum:
        return Wrong(prop.out_of_range or f"Value must be no more than {prop.maximum}")
    message = prop.check(str(number)) if prop.check else None
    return Wrong(message) if message else number


def _parse_choice(prop: Property, text: str) -> Value | Wrong:
    def same(name: str) -> bool:
        return name == text or (prop.ignore_case and name.lower() == text.lower())

    for choice in prop.choices:
        names = [choice.name, *choice.others]
        if prop.kind is Kind.CLASS:
            names += [name.rpartition(".")[2] for name in names]
        if any(same(name) for name in names):
            if choice.refused:
                return Wrong(choice.refused, choice.name)
            return choice.name
    if prop.user_defined and user_defined.is_path(text):
        return text
    if prop.kind is Kind.CLASS or prop.user_defined:
        known = ", ".join(choice.name for choice in prop.choices if not choice.refused)
        own = ", or a class of your own as module:Class" if prop.user_defined else ""
        near = near_match(text, [name for choice in prop.choices for name in (choice.short, choice.name)])
        what = "unknown class" if text else "must not be blank"
        return Wrong(f"{what}; known: {known}{own}{near and f'.{near}'}")
    return Wrong(f"Value must be one of: [{', '.join(choice.name for choice in prop.choices if not choice.refused)}]")


def _checked(prop: Property, value: Value, texts: Iterable[str]) -> Value | Wrong:
    for text in texts:
        message = prop.check(text) if prop.check else None
        if message:
            return Wrong(message)
    return value


def render(value: Value) -> str:
    """A value as its text in a configuration file.

    >>> render(True), render(("a", "b")), render(None), render(7)
    ('true', 'a,b', '', '7')
    """
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case tuple():
            return ",".join(value)
        case _:
            return str(value)


def near_match(name: str, known: Iterable[str], *, cutoff: float = 0.75) -> str:
    """The sentence that points a misspelling at what was probably meant, or an empty one."""
    matches = difflib.get_close_matches(name, list(known), n=1, cutoff=cutoff)
    return f" Did you mean {matches[0]}?" if matches else ""
