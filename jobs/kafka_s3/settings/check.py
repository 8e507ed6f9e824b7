"""Checks every property by itself against its row, and gives the effective values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never

from kafka_s3.errors import Problem
from kafka_s3.settings import block_gzip, catalogue
from kafka_s3.settings.content import Converter, Format
from kafka_s3.settings.properties import (
    HIDDEN,
    REQUIRED,
    Family,
    Honoured,
    Needless,
    Only,
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
    about them. `recognised` also holds classes and modes that are known and refused.
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
        return prop.only is None or self._holds(prop.only)

    def reads(self, name: str) -> bool:
        """As `applies`, by name."""
        return self.applies(catalogue.PROPERTIES[name])

    def _holds(self, only: Only) -> bool:
        holds = only.applies(self.recognised[only.name]) and self.reads(only.name)
        holds = holds and (only.both is None or self._holds(only.both))
        return holds or (only.either is not None and self._holds(only.either))

    def in_effect(self, name: str) -> Value:
        """The value, or the default where it is not read: what nobody reads makes no settings differ."""
        prop = catalogue.PROPERTIES[name]
        return self.values[name] if self.applies(prop) else _default(prop)

    def settle(self, name: str, value: Value) -> None:
        """Put what an unset value means in its place."""
        self.values[name] = self.recognised[name] = value

    def complain(self, name: str, message: str) -> None:
        """Add a problem under the name that was written, with the value as it may be shown."""
        name = block_gzip.written(self.given).get(name, name)
        given = self.given.get(name)
        shown = None if given is None else HIDDEN if self.is_secret(name) else show(name, given.text)
        self.problems.append(Problem(name, shown, message))

    def complain_hidden(self, name: str, message: str) -> None:
        """As `complain`, never with the value: it may be anything."""
        self.problems.append(Problem(name, None, message))


def show(name: str, text: str) -> str:
    """A text on one line, without a password in a URL.

    >>> show("s3.proxy.url", "http://user:pass@proxy:3128"), show("format.bytearray.separator", chr(10))
    ('http://[hidden]@proxy:3128', '\\\\n')
    """
    if name.endswith("schema.registry.url") and "@" in text:
        text = f"{HIDDEN}@{text.rpartition('@')[2]}"  # of several, all but the last: a password may hold a comma
    elif name in ("s3.proxy.url", "store.url", "s3.endpoint") and "@" in text:
        scheme, slashes, rest = text.rpartition("://") if "://" in text else ("", "", text)
        text = f"{scheme}{slashes}{HIDDEN}@{rest.rpartition('@')[2]}"
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")


def check(given: Mapping[str, Given], failed: frozenset[str]) -> Checked:
    """Parse every property that was given and fill in the defaults; `failed` had a value that is lost already."""
    checked = Checked(block_gzip.translated(given))
    given = checked.given
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
    fill_in(checked)
    _forget_unread(checked)
    for name in given:
        if name not in catalogue.PROPERTIES:
            _check_member(name, checked)
    return checked


def fill_in(checked: Checked) -> None:
    """What converters are where they are unset: that hangs on the formats, and much hangs on it."""
    if checked.sure("value.converter") and checked.optional("value.converter") is None:
        as_bytes = checked.recognised["format.class"] in (Format.BYTE_ARRAY.value, Format.BLOCK_GZIP.value)
        checked.settle("value.converter", (Converter.BYTE_ARRAY if as_bytes else Converter.JSON).value)
        if not checked.is_set("value.converter.schemas.enable"):
            checked.settle("value.converter.schemas.enable", False)
    if checked.sure("key.converter") and checked.optional("key.converter") is None:
        stored = checked.recognised["store.kafka.keys"] is True
        as_bytes = stored and checked.recognised["keys.format.class"] == Format.BYTE_ARRAY.value
        checked.settle("key.converter", (Converter.BYTE_ARRAY if as_bytes else Converter.STRING).value)


def _forget_unread(checked: Checked) -> None:
    """What is wrong with an option of a converter that nobody asks is no problem."""
    lenient = {name for name, prop in catalogue.PROPERTIES.items() if prop.lenient and not checked.applies(prop)}
    checked.problems = [problem for problem in checked.problems if problem.name not in lenient]
    checked.unsure -= lenient


def _default(prop: Property) -> Value:
    return None if prop.default is REQUIRED else prop.default


def _check_member(name: str, checked: Checked) -> None:
    found = catalogue.find(name)
    if not isinstance(found, Family):
        # Never with the value: it may be a misspelt password.
        checked.problems.append(Problem(name or '""', None, catalogue.unknown(name)))
        return
    converter = catalogue.PROPERTIES.get(f"{name.partition('.')[0]}.converter")
    near = "" if converter is not None and not checked.applies(converter) else catalogue.near_member(name)
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
        case Honoured() | Needless():
            pass
        case _:
            assert_never(prop.status)
    if isinstance(value, Wrong):
        if given.text.strip() == "" and prop.default is None:
            return  # blank is unset where the default is unset
        checked.complain(name, value.message)
        checked.unsure.add(name)
        checked.recognised[name] = value.recognised
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
