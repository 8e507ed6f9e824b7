"""Checks every property by itself against its row, and gives the effective values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never

from kafka_s3.errors import Problem
from kafka_s3.settings import catalogue
from kafka_s3.settings.properties import (
    HIDDEN,
    REQUIRED,
    Family,
    Honoured,
    Needless,
    NotYet,
    Property,
    Refused,
    Value,
    Wrong,
    parse,
    render,
)
from kafka_s3.settings.sources import ResolvedProperty
from kafka_s3.settings.variables import Given, Source


@dataclass(slots=True)
class Checked:
    """The effective value of every property, defaults included.

    `unsure` names those whose value is wrong, missing or not resolved: a rule about several properties is silent
    about them. `recognised` also holds classes and modes that are known but not built.
    """

    given: Mapping[str, Given] = field(repr=False)
    values: dict[str, Value] = field(default_factory=dict, repr=False)
    recognised: dict[str, Value] = field(default_factory=dict, repr=False)
    unsure: set[str] = field(default_factory=set)
    rows: list[ResolvedProperty] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def text(self, name: str) -> str:
        return render(self.values[name])

    def optional(self, name: str) -> str | None:
        """The text, or `None` if it is blank."""
        return self.text(name).strip() or None

    def number(self, name: str) -> int:
        value = self.values[name]
        assert isinstance(value, int), name
        return value

    def flag(self, name: str) -> bool:
        return self.values[name] is True

    def listed(self, name: str) -> tuple[str, ...]:
        value = self.values[name]
        assert isinstance(value, tuple), name
        return value

    def is_set(self, name: str) -> bool:
        """Whether somebody gave it a value that is not blank, be it right or wrong."""
        return name in self.given and self.given[name].text.strip() != ""

    def sure(self, *names: str) -> bool:
        return not self.unsure.intersection(names)

    def is_secret(self, name: str) -> bool:
        """Whether the value must not be shown: by its property's type or by the place it came from."""
        return catalogue.PROPERTIES[name].secret or (name in self.given and self.given[name].secret)

    def applies(self, prop: Property) -> bool:
        """Whether a property is read at all, under the values that others have."""
        if prop.only is None:
            return True
        other = catalogue.PROPERTIES[prop.only.name]
        return prop.only.applies(self.recognised[other.name]) and self.applies(other)

    def complain(self, name: str, message: str) -> None:
        """Add a problem, with the value as it may be shown."""
        given = self.given.get(name)
        shown = None if given is None else HIDDEN if self.is_secret(name) else show(name, given.text)
        self.problems.append(Problem(name, shown, message))


def show(name: str, text: str) -> str:
    """A text on one line, without a password in a URL.

    >>> show("s3.proxy.url", "http://user:pass@proxy:3128"), show("format.bytearray.separator", chr(10))
    ('http://[hidden]@proxy:3128', '\\\\n')
    """
    if name in ("s3.proxy.url", "store.url") and "@" in text:
        scheme, slashes, rest = text.rpartition("://") if "://" in text else ("", "", text)
        text = f"{scheme}{slashes}{HIDDEN}@{rest.rpartition('@')[2]}"
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")


def check(given: Mapping[str, Given], failed: frozenset[str]) -> Checked:
    """Parse every property that was given and fill in the defaults; `failed` had a value that is lost already."""
    checked = Checked(given)
    for name in given:
        if name not in catalogue.PROPERTIES:
            _check_member(name, checked)
    for name, prop in catalogue.PROPERTIES.items():
        if name in failed:
            checked.unsure.add(name)
        if name in given:
            _check_given(prop, given[name], checked)
        else:
            if prop.default is REQUIRED and name not in failed:
                checked.problems.append(Problem(name, None, f"is required and has no default. {prop.doc}"))
                checked.unsure.add(name)
            checked.values[name] = _default(prop)
    for name, value in checked.values.items():
        checked.recognised.setdefault(name, value)
    return checked


def _default(prop: Property) -> Value:
    return None if prop.default is REQUIRED else prop.default


def _check_member(name: str, checked: Checked) -> None:
    found = catalogue.find(name)
    if not isinstance(found, Family):
        # Never with the value: it may be a misspelt password.
        checked.problems.append(Problem(name or '""', None, catalogue.unknown(name)))
        return
    near = catalogue.near_member(name)
    source = checked.given[name].source.value
    match found.status:
        case Refused(reason, way_out):
            checked.problems.append(Problem(name, None, f"{reason}: {way_out}"))
        case Needless() if near:
            checked.problems.append(Problem(name, None, f"unknown property.{near}"))
        case Needless(reason):
            checked.rows.append(ResolvedProperty(name, HIDDEN, source, f"needless: {reason}"))
        case Honoured():
            return  # the rule about the family says who reads it
        case NotYet():
            raise AssertionError(f"{name}: a family has no values of its own")
        case _:
            assert_never(found.status)


def _check_given(prop: Property, given: Given, checked: Checked) -> None:
    name = prop.name
    checked.values[name] = _default(prop)
    if not given.resolved:
        checked.unsure.add(name)
        checked.values[name] = _stand_in(prop, given)
        return
    value = parse(prop, given.text)
    match prop.status:
        case Refused(reason, way_out):
            if value != prop.default:
                checked.problems.append(Problem(name, None, f"{reason}: {way_out}"))
            return
        case Honoured() | Needless() | NotYet():
            pass
        case _:
            assert_never(prop.status)
    if isinstance(value, Wrong):
        if given.text.strip() == "" and prop.default is None:
            return  # blank is unset where the default is unset
        checked.complain(name, value.message)
        checked.unsure.add(name)
        checked.recognised[name] = value.recognised
    elif isinstance(prop.status, NotYet) and value != prop.default:
        checked.complain(name, f"not supported yet: {prop.status.why}")
        checked.recognised[name] = value
    else:
        checked.values[name] = value


def _stand_in(prop: Property, given: Given) -> Value:
    """What takes the place of a value that is not known here: the variable itself where any text will do."""
    if prop.default is REQUIRED and not prop.choices:
        return given.text
    return _default(prop)


def report_rows(checked: Checked) -> list[ResolvedProperty]:
    """A row for every property that has an effect, and for every needless one that was given."""
    rows = []
    for name, value in checked.values.items():
        prop = catalogue.PROPERTIES[name]
        given = checked.given.get(name)
        if isinstance(prop.status, Needless) and given is not None:
            meaning = f"needless: {prop.status.reason}"
        elif prop.only is not None and not checked.applies(prop):
            if given is None:
                continue
            meaning = f"needless: {prop.only.reason}"
        elif isinstance(prop.status, Honoured):
            meaning = prop.doc
        else:
            continue
        source = given.source if given else Source.DEFAULT
        if checked.is_secret(name):
            shown = HIDDEN if given is not None else ""
        elif given is not None and not given.resolved:
            shown = show(name, given.text)
        else:
            shown = show(name, render(value))
        rows.append(ResolvedProperty(name, shown, source.value, meaning))
    return rows
