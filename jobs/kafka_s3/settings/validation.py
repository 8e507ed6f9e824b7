"""A configuration whose values were looked at, each by itself: the effective values, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, assert_never

from kafka_s3.errors import Problem
from kafka_s3.settings.properties import (
    HIDDEN,
    REQUIRED,
    AppliesWhen,
    Ignored,
    Property,
    Refused,
    ResolvedProperty,
    Supported,
    Value,
    Wrong,
    parse,
    render,
)
from kafka_s3.settings.variables import Given, Source


@dataclass(slots=True)
class ParsedConfig:
    """The effective value of every property, defaults included.

    `properties`: all that there are, by name. `written_as`: older names under which some of them were given, and
    `originals` what was written under these where it was translated.
    `unsure` names those whose value is wrong, missing or not resolved: a rule about several properties is silent
    about them. `recognised` also holds classes and modes that are known and refused. `made`: what a module's rules
    made of what was given, by the module's name, for those that read it more than once.
    """

    given: Mapping[str, Given] = field(repr=False)
    properties: Mapping[str, Property] = field(repr=False)
    written_as: Mapping[str, str] = field(default_factory=dict)
    originals: Mapping[str, Given] = field(default_factory=dict, repr=False)
    values: dict[str, Value] = field(default_factory=dict, repr=False)
    recognised: dict[str, Value] = field(default_factory=dict, repr=False)
    unsure: set[str] = field(default_factory=set)
    rows: list[ResolvedProperty] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    made: dict[str, Any] = field(default_factory=dict, repr=False)

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
        prop = self.properties.get(name)  # the options of a transform have no row
        return (prop is not None and prop.secret) or (name in self.given and self.given[name].secret)

    def applies(self, prop: Property) -> bool:
        """Whether a property is read at all, under the values that others have."""
        return prop.applies_when is None or self._holds(prop.applies_when)

    def reads(self, name: str) -> bool:
        """As `applies`, by name."""
        return self.applies(self.properties[name])

    def _holds(self, condition: AppliesWhen) -> bool:
        holds = condition.applies(self.recognised[condition.name]) and self.reads(condition.name)
        holds = holds and (condition.both is None or self._holds(condition.both))
        return holds or (condition.either is not None and self._holds(condition.either))

    def in_effect(self, name: str) -> Value:
        """The value, or the default where it is not read: what nobody reads makes no settings differ."""
        prop = self.properties[name]
        return self.values[name] if self.applies(prop) else _default(prop)

    def text_in_effect(self, name: str) -> str:
        return render(self.in_effect(name))

    def number_in_effect(self, name: str) -> int:
        value = self.in_effect(name)
        assert isinstance(value, int), name
        return value

    def settle(self, name: str, value: Value) -> None:
        """Put what an unset value means in its place."""
        self.values[name] = self.recognised[name] = value

    def add_problem(self, name: str, message: str) -> None:
        """Add a problem under the name that was written, with the value as it may be shown."""
        ours, name = name, self.written_as.get(name, name)
        given = self.given.get(name, self.given.get(ours))
        if ours in self.written_as:
            given = self.originals.get(name, given)
        is_secret = self.is_secret(name) or self.is_secret(ours)
        shown = None if given is None else HIDDEN if is_secret else show(ours, given.text)
        self.problems.append(Problem(name, shown, message))

    def add_quoting_problem(self, name: str, message: str) -> None:
        """As `add_problem`, of a message that says where a file or a class is: without what a variable stood for."""
        self.add_problem(name, without(self.given[name].found if name in self.given else (), message))

    def add_hidden_problem(self, name: str, message: str) -> None:
        """As `add_problem`, never with the value: it may be anything."""
        self.problems.append(Problem(name, None, message))


def without(found: Iterable[str], message: str) -> str:
    """A message without what variables stood for."""
    for each in sorted(found, key=len, reverse=True):
        message = message.replace(each, HIDDEN) if each.strip() else message
    return message


def show(name: str, text: str) -> str:
    """A text on one line, without a password in a URL.

    >>> show("s3.proxy.url", "http://user:pass@proxy:3128"), show("format.bytearray.separator", chr(10))
    ('http://[hidden]@proxy:3128', '\\\\n')
    """
    if name.endswith("schema.registry.url") and "@" in text:
        text = f"{HIDDEN}@{text.rpartition('@')[2]}"  # of several, all but the last: a password may hold a comma
    elif name.endswith(("s3.proxy.url", "store.url", ".endpoint", "token.endpoint.url")) and "@" in text:
        scheme, slashes, rest = text.rpartition("://") if "://" in text else ("", "", text)
        text = f"{scheme}{slashes}{HIDDEN}@{rest.rpartition('@')[2]}"
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")


def parse_all(config: ParsedConfig, failed: frozenset[str]) -> None:
    """Parse every property that was given and fill in the defaults; `failed` had a value that is lost already."""
    given = config.given
    for name, prop in config.properties.items():
        if name in failed:
            config.unsure.add(name)
        if name in given:
            _check_given(prop, given[name], config)
        else:
            if prop.default is REQUIRED and name not in failed:
                config.problems.append(Problem(name, None, f"is required and has no default. {prop.doc}"))
                config.unsure.add(name)
            config.values[name] = _default(prop)
    for name, value in config.values.items():
        config.recognised.setdefault(name, value)


def forget_unread(config: ParsedConfig) -> None:
    """What is wrong with an option of a converter that nobody asks is no problem."""
    lenient = {name for name, prop in config.properties.items() if prop.lenient and not config.applies(prop)}
    config.problems = [problem for problem in config.problems if problem.name not in lenient]
    config.unsure -= lenient


def _default(prop: Property) -> Value:
    return None if prop.default is REQUIRED else prop.default


def _check_given(prop: Property, given: Given, config: ParsedConfig) -> None:
    name = prop.name
    config.values[name] = _default(prop)
    if not given.resolved:
        config.unsure.add(name)
        config.values[name] = _stand_in(prop, given)
        return
    value = parse(prop, given.text)
    match prop.status:
        case Refused(reason, way_out):
            if value != prop.default:
                config.problems.append(Problem(name, None, f"{reason}: {way_out}"))
            return
        case Supported() | Ignored():
            pass
        case _:
            assert_never(prop.status)
    if isinstance(value, Wrong):
        if given.text.strip() == "" and prop.default is None:
            return  # blank is unset where the default is unset
        config.add_problem(name, value.message)
        config.unsure.add(name)
        config.recognised[name] = value.recognised
    else:
        config.values[name] = value


def _stand_in(prop: Property, given: Given) -> Value:
    """What takes the place of a value that is not known here: the variable itself where any text will do."""
    if prop.default is REQUIRED and not prop.choices:
        return given.text
    return _default(prop)


def report_rows(config: ParsedConfig) -> list[ResolvedProperty]:
    """A row for every property that has an effect, and for every ignored one that was given."""
    rows = []
    for name, value in config.values.items():
        prop = config.properties[name]
        given = config.given.get(name)
        if isinstance(prop.status, Ignored) and given is not None:
            meaning, ignored = f"ignored: {prop.status.reason}", True
        elif prop.applies_when is not None and not config.applies(prop):
            if given is None:
                continue
            meaning, ignored = f"ignored unless {prop.applies_when.condition()}", True
        elif isinstance(prop.status, Supported):
            meaning, ignored = prop.doc, False
        else:
            continue
        source = given.source if given else Source.DEFAULT
        if config.is_secret(name):
            shown = HIDDEN if given is not None else ""
        elif given is not None and not given.resolved:
            shown = show(name, given.text)
        else:
            shown = show(name, render(value))
        rows.append(ResolvedProperty(name, shown, source.value, meaning, ignored))
    return rows
