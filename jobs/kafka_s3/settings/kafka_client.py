"""Translates Kafka client properties, Java's names to librdkafka's, from every place they may come from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, assert_never

from kafka_s3.errors import ConfigurationError, Problem
from kafka_s3.settings import kafka_tokens as tokens
from kafka_s3.settings.client_checks import MECHANISMS, Client, check_login, order_backoffs, settle_tokens
from kafka_s3.settings.jaas import TokenLogin, parse_jaas
from kafka_s3.settings.kafka import ALIASES, EXCLUSIVE, JAVA, LOGIN, OF_LOGIN, OVERRIDE, SHOWN_NATIVE, Renamed, Special
from kafka_s3.settings.kafka_tokens import MSK_IAM, OAUTHBEARER
from kafka_s3.settings.key_stores import HTTPS_CA, KINDS, JavaStore, read_store
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
from kafka_s3.settings.reach import Reach
from kafka_s3.settings.validation import show
from kafka_s3.settings.variables import Given, Source

_STARTS: Final = {
    "earliest": "earliest",
    "smallest": "earliest",
    "beginning": "earliest",
    "latest": "latest",
    "largest": "latest",
    "end": "latest",
}
#: What a PEM store's properties are to librdkafka, and what a Java store becomes.
_PEM_TARGETS: Final = {
    "ssl.truststore.location": ("ssl.ca.location",),
    "ssl.truststore.certificates": ("ssl.ca.pem",),
    "ssl.keystore.location": ("ssl.certificate.location", "ssl.key.location"),
    "ssl.keystore.certificate.chain": ("ssl.certificate.pem",),
    "ssl.keystore.key": ("ssl.key.pem",),
}
_OF_STORE: Final = {"truststore": ("ssl.ca.pem",), "keystore": ("ssl.certificate.pem", "ssl.key.pem")}


@dataclass(frozen=True, slots=True)
class ClientLayer:
    """Kafka client properties from one place: by the client's name, the name as written and the text."""

    given: Mapping[str, tuple[str, Given]]
    native: bool = False  # librdkafka's own names are welcome


def translate(layers: Sequence[ClientLayer]) -> Client:
    """Merge the layers, the first one first. Values that hold an unresolved variable are left out, unchecked."""
    client = Client()
    taken: set[str] = set()
    effective = {
        ALIASES.get(name, name): layer.given[name] for layer in reversed(layers) for name in sorted(layer.given)
    }
    for layer in layers:
        translation = _Layer(client, layer, effective, taken)
        for name in sorted(layer.given):
            translation.add(name)
        # Taken only now: within one layer a certificate and its key do not exclude each other.
        taken |= translation.added
        for group in EXCLUSIVE:
            if group & translation.added:
                taken |= group | (OF_LOGIN if group is LOGIN else frozenset())
    client.signs = _signs(effective)
    settle_tokens(client)
    if not client.problems:
        check_login(client)
    order_backoffs(client.properties)
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


def read_stores(client: Client, reach: Reach) -> list[Problem]:
    """Put what is in Java's stores among the properties, as PEM; what cannot be read is a problem each."""
    problems = []
    for store in client.stores:
        if any(name.startswith((f"ssl.{store.side}.", "ssl.key.")) for name in client.unresolved):
            continue
        try:
            client.properties |= read_store(store, reach)
        except ConfigurationError as error:
            problems.append(Problem(store.written, None, error.what))
        if store.holds_key:  # the key is handed on without one
            client.properties.pop("ssl.key.password", None)
    return problems


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
        meaning = JAVA.get(ALIASES.get(name, name) if self.layer.native else name)
        if self.layer.native and self._is_native(name):
            self._native(name, given)
            return
        if name in LOGIN and not self._free(name, written, given, HIDDEN):
            return  # a login is one place's as a whole
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
                    self._special(ALIASES.get(name, name), written, given, meaning)
            case _:
                assert_never(meaning)

    def _is_native(self, name: str) -> bool:
        """Whether it is librdkafka's own property: one that Java does not know, or means something else by."""
        if name in ("ssl.keystore.location", "ssl.keystore.password"):
            return "ssl.keystore.type" not in self.layer.given
        if ALIASES.get(name, name) == "sasl.mechanism":
            return self.layer.given[name][1].text.strip() != MSK_IAM
        return name not in JAVA

    def _native(self, name: str, given: Given) -> None:
        if name.endswith("_cb"):
            self._ignored(name, given, "the exporter sets its own callbacks", shown="")
            return
        shown = show(name, given.text) if name in SHOWN_NATIVE else HIDDEN
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
                if text in (*MECHANISMS, OAUTHBEARER):
                    self._set("sasl.mechanism", text, written, given, shown)
                elif text == MSK_IAM:  # the same brokers take its tokens this way
                    self._set("sasl.mechanism", OAUTHBEARER, written, given, shown)
                else:
                    known = ", ".join((*MECHANISMS, OAUTHBEARER, MSK_IAM))
                    self._refuse(written, f"must be one of: {known}; librdkafka's Python package has no others")
            case "sasl.jaas.config":
                self._login(text, written, given)
            case "sasl.login.callback.handler.class" | "sasl.client.callback.handler.class":
                self._handler(text, written, given)
            case "sasl.oauthbearer.token.endpoint.url":
                if text.startswith(("http://", "https://")):
                    self._set(name, text, written, given, show(name, text))
                elif text:
                    self._refuse(written, "must be a URL of http or https: tokens in files are not read")
            case "sasl.oauthbearer.jwt.retriever.class":
                grant = tokens.grant_type(text)
                if grant is None:
                    self._refuse(written, f"is a Java class that is not known here; known: {tokens.known_retrievers()}")
                else:
                    self._set("sasl.oauthbearer.grant.type", grant, written, given, text)
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
        if isinstance(login, TokenLogin):
            self._tokens(login, written, given)
            return
        self._set("sasl.username", login.username, written, given, HIDDEN)
        self._set("sasl.password", login.password, written, given, None)

    def _handler(self, text: str, written: str, given: Given) -> None:
        """Java's class that gets tokens, or signs them."""
        if tokens.is_oidc(text):
            self._set("sasl.oauthbearer.method", "oidc", written, given, text)
        elif tokens.is_msk(text):
            self._row(written, given, "Kafka client", text)
        elif text:
            self._refuse(written, f"is a Java class that is not known here; known: {tokens.known_handlers()}")

    def _tokens(self, login: TokenLogin, written: str, given: Given) -> None:
        if MSK_IAM in login.mechanisms or _signs(self.effective):
            msk = tokens.msk_login(login.options)
            if isinstance(msk, str):
                self._refuse(written, msk)
            else:
                self.client.msk = msk
                self._row(written, given, "Kafka client", HIDDEN)
            return
        properties = tokens.oidc_properties(login.options)
        if isinstance(properties, str):
            self._refuse(written, properties)
            return
        self._row(written, given, "Kafka client", HIDDEN)
        for target, text in properties.items():
            self._set(target, text, written, given, None)
        place = login.options.get("ssl.truststore.location")
        if place and self._free(HTTPS_CA, written, given, None):
            password = login.options.get("ssl.truststore.password", "")
            shown = "the trust store in it" if given.variables else place
            store = JavaStore(written, place, shown, False, password, target=HTTPS_CA)
            self.client.stores.append(replace(store, is_operators=_is_operators(given)))

    def _store(self, name: str, text: str, written: str, given: Given, shown: str) -> None:
        """Key and trust stores: PEM is the client's own affair, Java's are read by `read_stores`."""
        side = "truststore" if "truststore" in name else "keystore"
        kind = (self._other(f"ssl.{side}.type") or "JKS").upper()
        if kind in KINDS:
            self._java_store(name, side, text, written, given, shown)
        elif kind == "PEM":
            self._pem_store(name, text, written, given, shown)
        elif name == f"ssl.{side}.type":
            kinds = ", ".join(("PEM", *KINDS))
            self._refuse(written, f"must be one of: {kinds}; others are for keytool -importkeystore to convert")

    def _java_store(self, name: str, side: str, text: str, written: str, given: Given, shown: str) -> None:
        if name not in (f"ssl.{side}.location", f"ssl.{side}.type", f"ssl.{side}.password"):
            self._refuse(written, f"holds PEM: set ssl.{side}.type=PEM")
        elif name != f"ssl.{side}.location":
            self._row(written, given, "Kafka client", shown)
        elif text and self._free(_OF_STORE[side][0], written, given, shown):
            self.added |= {*_OF_STORE[side]}
            key_password = self._other("ssl.key.password") if side == "keystore" else ""
            password = self._other(f"ssl.{side}.password", strip=False)
            named = f"the file of {', '.join(given.variables)}" if given.variables else text
            store = JavaStore(written, text, named, side == "keystore", password, key_password)
            self.client.stores.append(replace(store, is_operators=_is_operators(given)))
            self._row(written, given, f"Kafka client: {', '.join(_OF_STORE[side])}", shown)

    def _pem_store(self, name: str, text: str, written: str, given: Given, shown: str) -> None:
        if name.endswith((".certificates", ".chain", ".key")):
            text = pem(text)
        if name.endswith(".type"):
            self._row(written, given, "Kafka client", shown)
        elif name.endswith(".password"):
            self._ignored(written, given, "PEM stores have no password", shown=HIDDEN)
        # Only the first one gets a row: the others say the same.
        for target, row in zip(_PEM_TARGETS.get(name, ()), (shown, None), strict=False):
            self._set(target, text, written, given, row)

    def _other(self, name: str, *, strip: bool = True) -> str:
        """The effective text of another property, blank if it has none."""
        text = _text(self.effective, name)
        return text.strip() if strip else text

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


def _text(effective: Mapping[str, tuple[str, Given]], name: str) -> str:
    pair = effective.get(name)
    return pair[1].text if pair and pair[1].resolved else ""


def _signs(effective: Mapping[str, tuple[str, Given]]) -> bool:
    """Whether tokens for Amazon MSK are asked for: by the mechanism, or by Java's class that gets tokens."""
    login, other = (_text(effective, f"sasl.{whose}.callback.handler.class").strip() for whose in ("login", "client"))
    return _text(effective, "sasl.mechanism").strip() == MSK_IAM or tokens.is_msk(login or other)


def _is_operators(given: Given) -> bool:
    return given.source is Source.AIRFLOW


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
