"""Translates Kafka client properties, Java's names to librdkafka's, from every place they may come from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, assert_never

from kafka_s3.errors import Problem
from kafka_s3.settings.kafka import ALIASES, EXCLUSIVE, JAVA, OVERRIDE, SHOWN_NATIVE, Renamed, Special
from kafka_s3.settings.properties import (
    HIDDEN,
    Ignored,
    Kind,
    Property,
    Refused,
    ResolvedProperty,
    Wrong,
    near_match,
    parse,
    render,
)
from kafka_s3.settings.variables import Given, Source

_JAAS: Final = "sasl.jaas.config"
_STARTS: Final = {
    "earliest": "earliest",
    "smallest": "earliest",
    "beginning": "earliest",
    "latest": "latest",
    "largest": "latest",
    "end": "latest",
}
_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


@dataclass(frozen=True, slots=True)
class ClientLayer:
    """Kafka client properties from one place: by the client's name, the name as written and the text."""

    given: Mapping[str, tuple[str, Given]]
    native: bool = False  # librdkafka's own names are welcome


@dataclass(slots=True)
class Client:
    """librdkafka's properties; what decides what a reader sees stands beside them, since the reader sets it."""

    properties: dict[str, str] = field(default_factory=dict, repr=False)
    isolation_level: str = "read_committed"
    start: str = "earliest"
    rows: list[ResolvedProperty] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    unresolved: set[str] = field(default_factory=set)


def translate(layers: Sequence[ClientLayer]) -> Client:
    """Merge the layers, the first one first. Values that hold an unresolved variable are left out, unchecked."""
    client = Client()
    taken: set[str] = set()
    effective = {name: pair for layer in reversed(layers) for name, pair in layer.given.items()}
    for layer in layers:
        translation = _Layer(client, layer, effective, taken)
        for name in sorted(layer.given):
            translation.add(name)
        # Taken only now: within one layer a certificate and its key do not exclude each other.
        taken |= translation.added
        for group in EXCLUSIVE:
            if group & translation.added:
                taken |= group
    if not client.problems:
        _check_login(client)
    _order_backoffs(client.properties)
    for name, value in (("isolation.level", client.isolation_level), ("auto.offset.reset", client.start)):
        if name not in taken and name not in client.unresolved:
            client.rows.append(ResolvedProperty(OVERRIDE + name, value, Source.DEFAULT.value, "Kafka client"))
    return client


def translate_stores(layer: ClientLayer) -> Client:
    """Key and trust stores of another server than Kafka, which is configured by the same names."""
    client = Client()
    translation = _Layer(client, layer, dict(layer.given), set())
    for name in sorted(layer.given):
        if isinstance(JAVA.get(name), Renamed | Special | Ignored):
            translation.add(name)
        else:
            message = f"is not a known TLS property: OpenSSL's defaults apply.{near_match(name, JAVA)}"
            client.problems.append(Problem(layer.given[name][0], None, message))
    client.rows = [replace(row, meaning=row.meaning.replace("Kafka client", "Registry client")) for row in client.rows]
    return client


def _order_backoffs(properties: dict[str, str]) -> None:
    """Raise a largest pause that is below the smallest one, as Java does; librdkafka refuses it."""
    for name, default, default_max in (("reconnect.backoff", 100, 10_000), ("retry.backoff", 100, 1000)):
        smallest = int(properties.get(f"{name}.ms", default))
        if int(properties.get(f"{name}.max.ms", default_max)) < smallest:
            properties[f"{name}.max.ms"] = str(smallest)


def _check_login(client: Client) -> None:
    given = client.properties
    if not given.get("security.protocol", "").upper().startswith("SASL_") or client.unresolved:
        return
    mechanism = given.get("sasl.mechanism", "")
    if not mechanism:
        message = f"must be set with security.protocol={given['security.protocol']}: one of {', '.join(_MECHANISMS)}"
        client.problems.append(Problem("sasl.mechanism", None, message))
    elif mechanism in _MECHANISMS and not given.get("sasl.username"):
        client.problems.append(Problem(_JAAS, None, f"must contain username and password for {mechanism}"))


@dataclass(slots=True)
class _Layer:
    """The translation of one layer into `client`, past what is `taken` by the layers before it."""

    client: Client
    layer: ClientLayer
    effective: dict[str, tuple[str, Given]]
    taken: set[str]
    added: set[str] = field(default_factory=set)

    def add(self, name: str) -> None:
        written, given = self.layer.given[name]
        meaning = JAVA.get(name)
        if self.layer.native and self._is_native(name):
            self._native(name, given)
            return
        match meaning:
            case None:
                near = near_match(name, JAVA)
                self._refuse(written, f"is not a known Kafka consumer property.{near}")
            case Refused(reason, way_out):
                if name == "interceptor.classes" and _is_monitoring(given.text):
                    self._ignored(written, given, "Confluent's monitoring is not used", shown="")
                else:
                    self._refuse(written, f"{reason}: {way_out}")
            case Ignored(reason):
                self._ignored(written, given, reason, shown=HIDDEN if "password" in name else given.text)
            case Renamed() | Special():
                if not given.resolved:
                    self.client.unresolved.add(name)
                    self._row(written, given, "not resolved here", shown=HIDDEN if meaning.secret else given.text)
                elif isinstance(meaning, Renamed):
                    self._renamed(name, written, given, meaning)
                else:
                    self._special(name, written, given, meaning)
            case _:
                assert_never(meaning)

    def _is_native(self, name: str) -> bool:
        """Whether it is librdkafka's own property: one that Java does not know, or means something else by."""
        if name in ("ssl.keystore.location", "ssl.keystore.password"):
            return "ssl.keystore.type" not in self.layer.given
        return name not in JAVA or name == "sasl.mechanism"

    def _native(self, name: str, given: Given) -> None:
        if name.endswith("_cb"):
            self._ignored(name, given, "the exporter sets its own callbacks", shown="")
            return
        shown = given.text if name in SHOWN_NATIVE else HIDDEN
        self._set(ALIASES.get(name, name), given.text, name, given, shown)

    def _renamed(self, name: str, written: str, given: Given, meaning: Renamed) -> None:
        text = given.text.strip()
        if meaning.choices:
            found = [choice for choice in meaning.choices if choice.lower() == text.lower()]
            if not found:
                self._refuse(written, f"must be one of: {', '.join(meaning.choices)}")
                return
            text = found[0]
        if meaning.kind is not Kind.STRING:
            value = parse(Property(name, meaning.kind, None, ""), text)
            if isinstance(value, Wrong):
                self._refuse(written, value.message)
                return
            if isinstance(value, int) and not isinstance(value, bool):
                value = min(max(value, meaning.minimum), meaning.maximum)
            text = render(value)
        if text:
            self._set(meaning.to, text, written, given, HIDDEN if meaning.secret else text)

    def _special(self, name: str, written: str, given: Given, meaning: Special) -> None:
        text = given.text.strip()
        shown = HIDDEN if meaning.secret else text
        match name:
            case "isolation.level" | "auto.offset.reset":
                self._reading(name, text, written, given)
            case "sasl.mechanism":
                if text in _MECHANISMS:
                    self._set("sasl.mechanism", text, written, given, shown)
                else:
                    self._refuse(written, f"must be one of: {', '.join(_MECHANISMS)}; others are not supported yet")
            case "sasl.jaas.config":
                self._login(text, written, given)
            case "ssl.endpoint.identification.algorithm":
                if text.lower() in ("https", "", "none"):
                    self._set(name, text.lower() or "none", written, given, text)
                else:
                    self._refuse(written, "must be https, or blank to turn verification off")
            case _:
                self._store(name, text, written, given, shown)

    def _reading(self, name: str, text: str, written: str, given: Given) -> None:
        """What decides what is read is kept apart from the client's own properties."""
        allowed = _STARTS if name == "auto.offset.reset" else {v: v for v in ("read_committed", "read_uncommitted")}
        if text not in allowed:
            known = "earliest, latest" if name == "auto.offset.reset" else ", ".join(allowed)
            self._refuse(written, f"must be one of: {known}")
        elif self._free(name, written, given, text):
            if name == "auto.offset.reset":
                self.client.start = allowed[text]
            else:
                self.client.isolation_level = text
            self._row(written, given, "Kafka client", text)

    def _login(self, text: str, written: str, given: Given) -> None:
        login = parse_jaas(text)
        if isinstance(login, str):
            self._refuse(written, login)
            return
        mechanism = self._other("sasl.mechanism")
        if mechanism and mechanism not in login.mechanisms:
            self._refuse(written, f"contains a login for {' or '.join(login.mechanisms)}, not for sasl.mechanism")
            return
        self._set("sasl.username", login.username, written, given, HIDDEN)
        self._set("sasl.password", login.password, written, given, None)

    def _store(self, name: str, text: str, written: str, given: Given, shown: str) -> None:
        """Key and trust stores: PEM, and PKCS12 for keys."""
        side = "truststore" if "truststore" in name else "keystore"
        kind = (self._other(f"ssl.{side}.type") or "JKS").upper()
        allowed = ("PEM",) if side == "truststore" else ("PEM", "PKCS12")
        if name == f"ssl.{side}.type" or kind not in allowed:
            if kind not in allowed and not (name.endswith("password") or self._reported(side)):
                message = f"a {side} of Java's type {kind} cannot be read yet: convert it and set ssl.{side}.type=PEM"
                self._refuse(written, message)
            elif kind in allowed:
                self._row(written, given, "Kafka client", shown)
            return
        targets = {
            "ssl.truststore.location": ("ssl.ca.location",),
            "ssl.truststore.certificates": ("ssl.ca.pem",),
            "ssl.keystore.certificate.chain": ("ssl.certificate.pem",),
            "ssl.keystore.key": ("ssl.key.pem",),
            "ssl.keystore.password": ("ssl.keystore.password",) if kind == "PKCS12" else (),
            "ssl.keystore.location": ("ssl.keystore.location",)
            if kind == "PKCS12"
            else ("ssl.certificate.location", "ssl.key.location"),
        }[name]
        if name in ("ssl.truststore.certificates", "ssl.keystore.certificate.chain", "ssl.keystore.key"):
            text = pem(text)
        # Only the first one gets a row: the others say the same.
        for target, show in zip(targets, (shown, None), strict=False):
            self._set(target, text, written, given, show)

    def _reported(self, side: str) -> bool:
        return any(f"a {side} of Java's type" in problem.message for problem in self.client.problems)

    def _other(self, name: str) -> str:
        """The effective text of another property, blank if it has none."""
        pair = self.effective.get(name)
        return pair[1].text.strip() if pair and pair[1].resolved else ""

    def _free(self, target: str, written: str, given: Given, shown: str | None) -> bool:
        if target not in self.taken:
            self.added.add(target)
            return True
        if shown is not None:
            self._row(written, given, "overridden", shown)
        return False

    def _set(self, target: str, text: str, written: str, given: Given, shown: str | None) -> None:
        """Set librdkafka's `target` unless a higher layer did; `shown=None` adds no row."""
        if self._free(target, written, given, shown):
            self.client.properties[target] = text
            if shown is not None:
                self._row(written, given, f"Kafka client: {target}", shown)

    def _row(self, written: str, given: Given, meaning: str, shown: str) -> None:
        value = HIDDEN if given.secret else shown
        self.client.rows.append(ResolvedProperty(written, value, given.source.value, meaning))

    def _ignored(self, written: str, given: Given, reason: str, shown: str) -> None:
        value = HIDDEN if given.secret else shown
        row = ResolvedProperty(written, value, given.source.value, f"ignored: {reason}", ignored=True)
        self.client.rows.append(row)

    def _refuse(self, written: str, message: str) -> None:
        # Never with the value: whatever a misspelt property holds may be a password.
        self.client.problems.append(Problem(written, None, message))


def pem(text: str) -> str:
    """PEM with its lines restored: OpenSSL wants them, Java does without, and continued lines have lost them."""

    def block(match: re.Match[str]) -> str:
        label, body = match.groups()
        if ":" in body:  # headers of the old encrypted form, whose lines have a meaning
            return match.group()
        flat = "".join(body.split())
        lines = [flat[at : at + 64] for at in range(0, len(flat), 64)]
        return "\n".join([f"-----BEGIN {label}-----", *lines, f"-----END {label}-----", ""])

    return re.sub(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----\s*", block, text, flags=re.DOTALL)


def _is_monitoring(text: str) -> bool:
    return all(part.strip().startswith("io.confluent.monitoring.") for part in text.split(","))


# `sasl.jaas.config`, Java's way to hold a user name and password.

_MODULES: Final = {"PlainLoginModule": ("PLAIN",), "ScramLoginModule": ("SCRAM-SHA-256", "SCRAM-SHA-512")}
_TOKEN = re.compile(r"""\s*(?:"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|([=;])|([^\s=;"']+))""", re.DOTALL)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "b": "\b"}
_SHAPE: Final = '<login module> required username="…" password="…";'


@dataclass(frozen=True, slots=True)
class Login:
    """Who logs in, and the mechanisms that this may be for."""

    username: str
    password: str = field(repr=False)
    mechanisms: tuple[str, ...]


def parse_jaas(text: str) -> Login | str:
    """The user name and password, or what is wrong with the text, without any part of it that could be a secret."""
    tokens = _tokens(text)
    if tokens is None or len(tokens) < 3 or tokens[-1] != (";", True) or (";", True) in tokens[:-1]:
        return f"is not of the form {_SHAPE}"
    module = tokens[0][0].rpartition(".")[2]
    if module not in _MODULES:
        return f"names a login module that is not supported; supported: {', '.join(_MODULES)}"
    if tokens[1][0].lower() not in ("required", "requisite", "sufficient", "optional"):
        return f"is not of the form {_SHAPE}"
    options: dict[str, str] = {}
    pairs = tokens[2:-1]
    if len(pairs) % 3:
        return f"is not of the form {_SHAPE}"
    for at in range(0, len(pairs), 3):
        (name, _), equals, (value, _) = pairs[at : at + 3]
        if equals != ("=", True):
            return f"is not of the form {_SHAPE}"
        options[name] = value
    if options.get("tokenauth", "false").lower() == "true":
        return "logs in with a delegation token, which is not supported yet"
    if not options.get("username") or "password" not in options:
        return "must contain both username and password"
    return Login(options["username"], options["password"], _MODULES[module])


def _tokens(text: str) -> list[tuple[str, bool]] | None:
    """Words of the text, each with whether it is punctuation; `None` if a quote is left open."""
    tokens: list[tuple[str, bool]] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            return None
        double, single, mark, word = match.groups()
        quoted = double if double is not None else single
        if quoted is not None:
            tokens.append((re.sub(r"\\(.)", _unescape, quoted, flags=re.DOTALL), False))
        else:
            tokens.append((mark or word, mark is not None))
        at = match.end()
    return tokens


def _unescape(match: re.Match[str]) -> str:
    return _ESCAPES.get(match.group(1), match.group(1))
