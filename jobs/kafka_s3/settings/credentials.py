"""Where credentials come from: rules about the provider class and what it reads, and what it is in the settings."""

from __future__ import annotations

from kafka_s3 import custom
from kafka_s3.errors import Problem
from kafka_s3.settings import credential_names as names
from kafka_s3.settings.check import Checked
from kafka_s3.settings.model import Anonymous, AssumeRole, Chain, Credentials, OwnProvider
from kafka_s3.settings.properties import HIDDEN, near_match
from kafka_s3.settings.sources import ResolvedProperty

_KNOWN = (names.CLASS, *(prop.name for prop in names.PROPERTIES))
_ENDINGS = tuple(name.removeprefix(names.PREFIX) for name in _KNOWN)


def apply_credential_rules(checked: Checked) -> None:
    """What a role needs, and whose the `s3.credentials.provider.*` properties without a row of their own are."""
    if checked.recognised[names.CLASS] == names.ASSUME_ROLE:
        for name in (names.ARN, names.SESSION_NAME):
            if checked.sure(name) and not checked.is_set(name):
                checked.complain(name, "is required by AwsAssumeRoleCredentialsProvider")
    own = _own_path(checked)
    for name in _members(checked):
        near = near_match(name.removeprefix(names.PREFIX), _ENDINGS)  # by what is behind the prefix they all share
        if own is None and near:
            checked.problems.append(Problem(name, None, f"unknown property below {names.PREFIX}*.{near}"))
            continue
        meaning = f"Handed to {own}." if own else "needless: only a provider class of your own reads it"
        checked.rows.append(ResolvedProperty(name, HIDDEN, checked.given[name].source.value, meaning))


def build_credentials(checked: Checked) -> Credentials:
    own = _own_path(checked)
    if own is not None:
        given = {name: checked.given[name] for name in checked.given if name.startswith(names.PREFIX)}
        options = {name.removeprefix(names.PREFIX): each.text for name, each in given.items() if each.resolved}
        return OwnProvider(own, tuple(sorted((name, text) for name, text in options.items() if name != "class")))
    match checked.text(names.CLASS):
        case names.ASSUME_ROLE:
            return AssumeRole(
                checked.text(names.ARN),
                checked.text(names.SESSION_NAME),
                checked.optional(names.EXTERNAL_ID),
                checked.optional(names.STS_REGION),
            )
        case names.ANONYMOUS:
            return Anonymous()
        case name:
            chain: Chain = names.CHAINS[name]
            return chain


def _own_path(checked: Checked) -> str | None:
    path = checked.text(names.CLASS)
    return path if custom.is_path(path) else None


def _members(checked: Checked) -> list[str]:
    return [name for name in checked.given if name.startswith(names.PREFIX) and name not in _KNOWN]
