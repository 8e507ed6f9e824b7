"""`transforms`, `predicates` and all that begins with these: what is wrong with it, and the chain that it makes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from kafka_s3 import user_defined
from kafka_s3.settings import block_gzip
from kafka_s3.settings.file_names import PAD_WIDTH_MIN, tells_topics_apart
from kafka_s3.settings.path_template import KeyField, WholeKey
from kafka_s3.settings.properties import (
    HIDDEN,
    REQUIRED,
    Kind,
    Property,
    PropertyPrefix,
    ResolvedProperty,
    Supported,
    Value,
    Wrong,
    near_match,
    parse,
    render,
)
from kafka_s3.settings.template_rules import FILE_TEMPLATE, TEMPLATE, TOPIC_FOLDER, template_parts
from kafka_s3.settings.transforms import catalogue
from kafka_s3.settings.transforms.chain import ChainSettings, PredicateSettings, TransformSettings
from kafka_s3.settings.transforms.classes import TransformClass
from kafka_s3.settings.validation import ParsedConfig, show, without

TRANSFORMS: Final = "transforms"
PREDICATES: Final = "predicates"
PROPERTIES: Final[tuple[Property, ...]] = (
    Property(
        TRANSFORMS,
        Kind.LIST,
        (),
        "Single message transforms, in the order in which records go through them.",
        shapes=True,
    ),
    Property(PREDICATES, Kind.LIST, (), "Conditions under which transforms apply.", shapes=True),
)
_MEANT: Final = "Options of a single message transform, `type` its class (docs/transforms.md)."
PREFIXES: Final = (
    PropertyPrefix("transforms.", Supported(), _MEANT),
    PropertyPrefix("predicates.", Supported(), "Options of a predicate, `type` its class (docs/transforms.md)."),
)
_NEGATE: Final = Property("negate", Kind.BOOLEAN, False, "Apply where the predicate does not hold.")


def is_member(name: str) -> bool:
    """Whether a property is an option of a transform or a predicate, and so shapes objects."""
    return name.startswith(tuple(prefix.prefix for prefix in PREFIXES))


@dataclass(slots=True)
class _Reading:
    """One look at the configuration: what was found, and what is wrong."""

    config: ParsedConfig
    used: set[str] = field(default_factory=set)
    faults: list[tuple[str, str]] = field(default_factory=list)
    rows: list[ResolvedProperty] = field(default_factory=list)
    classes: dict[str, str] = field(default_factory=dict)  # of the user's own, by the property that names them
    members: dict[str, str] = field(default_factory=dict)  # what shapes objects, in effect
    unsure: bool = False

    def text(self, name: str) -> str | None:
        """What was set; `None` if nothing was, or if a variable of it is not known here."""
        self.used.add(name)
        given = self.config.given.get(name)
        if given is None:
            return None
        if not given.resolved:
            self.unsure = True
            return None
        return given.text

    def fault(self, name: str, message: str) -> None:
        self.faults.append((name, message))

    def member(self, name: str, value: Value, doc: str) -> None:
        """A value in effect: it goes into the report and, unless it is a secret, into plans."""
        given = self.config.given.get(name)
        secret = given is not None and given.secret
        if not secret and value is not None:
            self.members[name] = render(value)
        source = "default" if given is None else given.source.value
        self.rows.append(ResolvedProperty(name, HIDDEN if secret else show(name, render(value)), source, doc))


def apply_transform_rules(config: ParsedConfig) -> None:
    """Add every problem of transforms and predicates, and what `validate` prints of them."""
    reading, chain = _read(config)
    stood_for = {each for name, given in config.given.items() if is_member(name) for each in _parts(given.found)}
    for name, message in reading.faults:
        config.add_hidden_problem(name, without(stood_for, message))
    config.rows += reading.rows
    if chain.routes:
        _routing(config)
    if any(isinstance(part, KeyField | WholeKey) for part in template_parts(config)):
        _keys_in_paths(config, chain)


def _parts(found: Iterable[str]) -> Iterator[str]:
    """What variables stood for, and the members of lists that it may have been."""
    for each in found:
        yield from (each, *(part for part in re.split(r"[,:\s]+", each) if len(part) > 3))


def _routing(config: ParsedConfig) -> None:
    """Folders are those of topics that are not known before a record is read: keys have to show where one ends."""
    if config.sure("connector.class") and block_gzip.is_meant(config.given):
        config.add_problem(TRANSFORMS, "give records other topics, and BlockGzipFormat has no folders of topics")
        return
    if config.sure("topics.dir") and not config.text("topics.dir"):
        config.add_problem("topics.dir", "must not be blank where transforms give records other topics")
    if config.sure("directory.delim") and re.fullmatch(r"[A-Za-z0-9._-]*", config.text("directory.delim")):
        message = "must not be a character of topic names where transforms give records other topics"
        config.add_problem("directory.delim", message)
    delim, width = "file.delim", "filename.offset.zero.pad.width"
    by_template = config.sure(FILE_TEMPLATE) and config.text(FILE_TEMPLATE) != ""  # has a rule of its own
    apart = not config.sure(delim, width) or tells_topics_apart(config.text(delim), config.number(width))
    if not by_template and not apart:
        config.add_problem(
            delim,
            f"must contain a character that no topic name can, such as '+', or {width} must be {PAD_WIDTH_MIN} or more:"
            " transforms give records other topics, and two objects could have one name",
        )
    if config.sure(TOPIC_FOLDER) and not config.flag(TOPIC_FOLDER):
        config.add_problem(TOPIC_FOLDER, "false cannot be combined with transforms that give records other topics")
    marker = "export.completeness.marker.enable"
    if config.sure(marker) and config.flag(marker):
        message = "markers lie in the topic's own folder, and transforms give records other topics: set it to false"
        config.add_problem(marker, message)


def _keys_in_paths(config: ParsedConfig, chain: ChainSettings) -> None:
    """`{key}` of a path is the key that Kafka has: a transform that may make another one would be overlooked."""
    for each in chain.transforms:
        found = catalogue.find(each.type)
        if user_defined.is_path(each.type) or (not isinstance(found, str) and found.of.may_change_keys(found.name)):
            message = f"has {{key}}, which is Kafka's own key, and transforms.{each.alias} may change it: use a field"
            config.add_problem(TEMPLATE, message)
            return


def build_chain(config: ParsedConfig) -> ChainSettings:
    return _read(config)[1]


def members(config: ParsedConfig) -> Mapping[str, str]:
    """What shapes objects: every option in effect, as text."""
    return _read(config)[0].members


def own_classes(config: ParsedConfig) -> Mapping[str, str]:
    """The classes of the user's own, by the properties that name them."""
    return _read(config)[0].classes


def _read(config: ParsedConfig) -> tuple[_Reading, ChainSettings]:
    """What is configured; read once, since nothing that is read here changes after that."""
    if __name__ not in config.made:
        config.made[__name__] = _read_once(config)
    reading, chain = config.made[__name__]
    return reading, chain


def _read_once(config: ParsedConfig) -> tuple[_Reading, ChainSettings]:
    reading = _Reading(config)
    if not config.sure(TRANSFORMS, PREDICATES):
        return reading, ChainSettings()
    names, conditions = config.listed(TRANSFORMS), config.listed(PREDICATES)
    for name, aliases in ((TRANSFORMS, names), (PREDICATES, conditions)):
        if len(set(aliases)) < len(aliases):
            reading.fault(name, "names one twice")
        if "" in aliases:
            reading.fault(name, "contains a blank name")
    predicates = {alias: _predicate(reading, alias) for alias in dict.fromkeys(conditions) if alias}
    made = []
    routes = drops = False
    for alias in dict.fromkeys(names):
        if alias:
            transform, of = _transform(reading, alias, predicates)
            made.append(transform)
            is_own = of is None and user_defined.is_path(transform.type)  # it may do anything
            routes = routes or is_own or (of is not None and of.may_route(transform.options))
            drops = drops or is_own or (of is not None and of.drops)
    for name in sorted(set(config.given) - reading.used):
        if is_member(name):
            _unused(reading, name, {TRANSFORMS: names, PREDICATES: conditions})
    return reading, ChainSettings(tuple(made), routes, drops)


def _transform(
    reading: _Reading, alias: str, predicates: Mapping[str, PredicateSettings]
) -> tuple[TransformSettings, TransformClass | None]:
    prefix = f"{TRANSFORMS}.{alias}."
    type, of, options = _configured(reading, prefix, is_predicate=False)
    name = reading.text(f"{prefix}predicate")
    negate = reading.text(f"{prefix}negate")
    predicate = None
    if name is not None:
        reading.member(f"{prefix}predicate", name.strip(), "The predicate that says which records it is for.")
        predicate = predicates.get(name.strip())
        if predicate is None:
            known = ", ".join(predicates) or "none"
            reading.fault(f"{prefix}predicate", f"predicates names no such one; it names {known}")
    elif negate is not None and not reading.unsure:
        reading.fault(f"{prefix}negate", f"there is no {prefix}predicate to negate")
    negated = parse(_NEGATE, negate) if negate is not None else False
    if isinstance(negated, Wrong):
        reading.fault(f"{prefix}negate", negated.message)
    elif negate is not None:
        reading.member(f"{prefix}negate", negated, _NEGATE.doc)
    return TransformSettings(alias, type, options, predicate, negated is True), of


def _predicate(reading: _Reading, alias: str) -> PredicateSettings:
    type, _, options = _configured(reading, f"{PREDICATES}.{alias}.", is_predicate=True)
    return PredicateSettings(alias, type, options)


def _configured(
    reading: _Reading, prefix: str, *, is_predicate: bool
) -> tuple[str, TransformClass | None, Mapping[str, Value]]:
    """The class and the options behind an alias."""
    name = f"{prefix}type"
    text = reading.text(name)
    if text is None:
        if name not in reading.config.given:
            reading.fault(name, "is required: the class")
        reading.used.update(_of(reading, prefix))
        return "", None, {}
    text = text.strip()
    if user_defined.is_path(text):
        reading.classes[name] = text
        reading.member(name, text, "A class of your own.")
        return text, None, dict(_own_options(reading, prefix))
    found = catalogue.find(text, predicate=is_predicate)
    if isinstance(found, str):
        reading.fault(name, found)
        reading.used.update(_of(reading, prefix))
        return "", None, {}
    reading.member(name, found.name, "The class.")
    return found.name, found.of, _options(reading, prefix, found)


def _of(reading: _Reading, prefix: str) -> Iterator[str]:
    return (name for name in reading.config.given if name.startswith(prefix))


def _own_options(reading: _Reading, prefix: str) -> Iterator[tuple[str, Value]]:
    """Whatever a class of the user's own may read."""
    for name in sorted(_of(reading, prefix)):
        short = name.removeprefix(prefix)
        if short not in ("type", "predicate", "negate"):
            text = reading.text(name)
            if text is not None:
                reading.member(name, text, "An option of your own class.")
                yield short, text


def _options(reading: _Reading, prefix: str, found: catalogue.Found) -> Mapping[str, Value]:
    of = found.of
    values: dict[str, Value] = {}
    wrong = reading.unsure
    older = {today: was for was, today in of.older.items()}
    for option in of.options:
        name = f"{prefix}{option.name}"
        if option.name in older and name not in reading.config.given:
            was = f"{prefix}{older[option.name]}"
            name = was if was in reading.config.given else name
        text = reading.text(name)
        if text is None:
            wrong = wrong or name in reading.config.given
            if option.default is REQUIRED and name not in reading.config.given:
                reading.fault(name, f"is required and has no default. {option.doc}")
                wrong = True
            values[option.name] = None if option.default is REQUIRED else option.default
            continue
        value = parse(option, text)
        if isinstance(value, Wrong):
            reading.fault(name, value.message)
            wrong = True
            continue
        values[option.name] = value
        reading.member(name, value, option.doc)
    if not wrong:
        for short, message in found.of.faults(found.name, values):
            reading.fault(f"{prefix}{short}", message)
    return values


def _unused(reading: _Reading, name: str, aliases: Mapping[str, tuple[str, ...]]) -> None:
    """An option that nobody reads: Connect passes over it; a misspelling is pointed out."""
    kind, _, rest = name.partition(".")
    alias = next((each for each in aliases[kind] if rest.startswith(f"{each}.")), None)
    source = reading.config.given[name].source.value
    if alias is None:
        near = near_match(rest.partition(".")[0], aliases[kind])
        reason = f"{kind} does not name {rest.partition('.')[0]}"
        if near:
            reading.fault(name, f"{reason}.{near}")
            return
        reading.rows.append(ResolvedProperty(name, HIDDEN, source, f"ignored: {reason}", ignored=True))
        return
    text = reading.text(f"{kind}.{alias}.type") or ""
    found = catalogue.find(text.strip(), predicate=kind == PREDICATES)
    if isinstance(found, str):
        return
    if kind == PREDICATES and rest == f"{alias}.predicate":
        reading.fault(name, "a predicate has none of its own: name each at the transforms that it is for")
        return
    known = [option.name for option in found.of.options] + ([] if kind == PREDICATES else ["predicate", "negate"])
    near = near_match(rest.removeprefix(f"{alias}."), known)
    reason = f"{found.of.short} has no such option"
    if near:
        reading.fault(name, f"{reason}.{near}")
    else:
        reading.rows.append(ResolvedProperty(name, HIDDEN, source, f"ignored: {reason}", ignored=True))
