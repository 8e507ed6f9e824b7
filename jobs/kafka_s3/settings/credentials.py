"""Who asks S3: keys, roles, and the provider classes that the sink's users name, old and new."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from kafka_s3 import user_defined
from kafka_s3.errors import Problem
from kafka_s3.settings import validators
from kafka_s3.settings.properties import (
    HIDDEN,
    SUPPORTED,
    AppliesWhen,
    Choice,
    Kind,
    Property,
    PropertyPrefix,
    ResolvedProperty,
    near_match,
)
from kafka_s3.settings.validation import ParsedConfig
from kafka_s3.settings.variables import Given


class Chain(enum.Enum):
    """`s3.credentials.provider.class`: the machine's own credentials, wherever they are found or from one place."""

    DEFAULT = "the AWS default chain (environment, profile, role)"
    ENVIRONMENT = "the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)"
    PROFILE = "the profile (AWS_PROFILE, ~/.aws/config and credentials)"
    CONTAINER = "the container (ECS task role, EKS pod identity)"
    INSTANCE = "the EC2 instance's profile"
    CONTAINER_OR_INSTANCE = "the container or the EC2 instance's profile"
    WEB_IDENTITY = "the web identity (AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN)"


@dataclass(frozen=True, slots=True)
class Anonymous:
    """Requests are not signed."""


@dataclass(frozen=True, slots=True)
class AssumeRole:
    """A role that the configured keys, or else the default chain, may assume; asked for anew before it expires.

    `arguments`: more that STS is sent, as JSON (tags, policies, a duration). `by_web_identity`: with the token in
    `token_file`, or else in AWS_WEB_IDENTITY_TOKEN_FILE, read anew each time.
    """

    arn: str
    session_name: str
    external_id: str | None = field(default=None, repr=False)
    region: str | None = None  # of STS; unless set, the bucket's
    endpoint: str | None = None  # of STS, where it is not Amazon's own
    arguments: str = field(default="", repr=False)
    by_web_identity: bool = False
    token_file: str | None = None


@dataclass(frozen=True, slots=True)
class UserDefinedProvider:
    """A class of the user's own, as `module:Class`, and what it is made with: a `ports.CredentialsProvider`."""

    path: str
    options: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def secrets(self) -> Iterator[str]:
        """Any option may be one; what is too short to be is left readable."""
        yield from (value for _, value in self.options if len(value) > 3)


Credentials = Chain | Anonymous | AssumeRole | UserDefinedProvider
#: Aiven's Kafka Connect has this class: a pair of keys, under names of its own.
AIVEN: Final = "io.aiven.kafka.connect.util.AivenAWSCredentialsProvider"
_AWS1, _AWS2 = "com.amazonaws.auth", "software.amazon.awssdk.auth.credentials"

PREFIX: Final = "s3.credentials.provider."
CLASS: Final = f"{PREFIX}class"
ARN: Final = f"{PREFIX}sts.role.arn"
SESSION_NAME: Final = f"{PREFIX}sts.role.session.name"
EXTERNAL_ID: Final = f"{PREFIX}sts.role.external.id"
STS_REGION: Final = f"{PREFIX}sts.region"
DEFAULT: Final = f"{_AWS2}.DefaultCredentialsProvider"
ASSUME_ROLE: Final = "io.confluent.connect.s3.auth.AwsAssumeRoleCredentialsProvider"
ANONYMOUS: Final = f"{_AWS2}.AnonymousCredentialsProvider"
CHAINS: Final = {
    DEFAULT: Chain.DEFAULT,
    f"{_AWS2}.EnvironmentVariableCredentialsProvider": Chain.ENVIRONMENT,
    f"{_AWS2}.ProfileCredentialsProvider": Chain.PROFILE,
    f"{_AWS2}.ContainerCredentialsProvider": Chain.CONTAINER,
    f"{_AWS2}.InstanceProfileCredentialsProvider": Chain.INSTANCE,
    f"{_AWS1}.EC2ContainerCredentialsProviderWrapper": Chain.CONTAINER_OR_INSTANCE,
    f"{_AWS2}.WebIdentityTokenFileCredentialsProvider": Chain.WEB_IDENTITY,
}
#: What the first AWS SDK called them, where that is not the same under its own package.
_OLDER: Final = {
    DEFAULT: (
        f"{_AWS1}.DefaultAWSCredentialsProviderChain",
        "com.amazon.auth.DefaultAWSCredentialsProviderChain",
        AIVEN,
    ),
    f"{_AWS2}.ProfileCredentialsProvider": (f"{_AWS1}.profile.ProfileCredentialsProvider",),
    f"{_AWS2}.WebIdentityTokenFileCredentialsProvider": (f"{_AWS1}.WebIdentityTokenCredentialsProvider",),
}
CHOICES: Final = (
    *(Choice(name, _OLDER.get(name, (f"{_AWS1}.{name.rpartition('.')[2]}",))) for name in CHAINS),
    Choice(ANONYMOUS, (f"{_AWS1}.AnonymousAWSCredentials",)),
    Choice(ASSUME_ROLE),
    Choice(
        f"{_AWS2}.SystemPropertyCredentialsProvider",
        (f"{_AWS1}.SystemPropertiesCredentialsProvider",),
        refused="reads Java's system properties, and there is no Java here: set aws.access.key.id and"
        " aws.secret.access.key, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment",
    ),
)
_ROLE = AppliesWhen(CLASS, (ASSUME_ROLE,), user_defined=True)

_ROLE_PROPERTIES: Final[tuple[Property, ...]] = (
    Property(ARN, Kind.STRING, "", "ARN of the role to assume.", check=validators.role_arn, applies_when=_ROLE),
    Property(
        SESSION_NAME,
        Kind.STRING,
        "",
        "Session name of the role, as CloudTrail shows it.",
        check=validators.role_session_name,
        applies_when=_ROLE,
    ),
    Property(
        EXTERNAL_ID,
        Kind.STRING,
        "",
        "External ID that the role's trust policy requires; none is sent if blank.",
        check=validators.role_external_id,
        applies_when=_ROLE,
    ),
    Property(STS_REGION, Kind.STRING, "", "Region of STS; s3.region if blank.", applies_when=_ROLE),
)

PROPERTIES: Final[tuple[Property, ...]] = (
    Property(
        "s3.credentials.provider.class",
        Kind.CLASS,
        DEFAULT,
        "Where credentials come from if no keys are configured; a role is assumed with the configured keys.",
        choices=CHOICES,
        user_defined=True,
    ),
    *_ROLE_PROPERTIES,
    Property("aws.access.key.id", Kind.STRING, "", "Access key; requires aws.secret.access.key."),
    Property("aws.secret.access.key", Kind.PASSWORD, None, "Secret key; requires aws.access.key.id."),
    Property(
        "export.aws.conn.id",
        Kind.STRING,
        "aws_default",
        "Airflow connection for S3.",
        check=validators.not_blank,
    ),
)

PREFIXES: Final[tuple[PropertyPrefix, ...]] = (PropertyPrefix(PREFIX, SUPPORTED),)  # a class of the user's own reads it

#: The names that `AIVEN` reads, and the connector's own.
_AIVEN_KEYS: Final = {
    f"{PREFIX}access_key_id": "aws.access.key.id",
    f"{PREFIX}secret_access_key": "aws.secret.access.key",
}

_KNOWN = (CLASS, *(prop.name for prop in _ROLE_PROPERTIES))
_ENDINGS = tuple(name.removeprefix(PREFIX) for name in _KNOWN)


def translated(given: Mapping[str, Given]) -> dict[str, Given]:
    """What a connector file says, with the keys of Aiven's provider under the names that are read here."""
    named = given.get(CLASS)
    if named is None or named.text.strip() not in (AIVEN, AIVEN.rpartition(".")[2]):
        return dict(given)
    return {_AIVEN_KEYS.get(name, name): each for name, each in given.items()}


def apply_credential_rules(config: ParsedConfig) -> None:
    """What a role needs, and whose the `s3.credentials.provider.*` properties without a row of their own are."""
    if config.recognised[CLASS] == ASSUME_ROLE:
        for name in (ARN, SESSION_NAME):
            if config.sure(name) and not config.is_set(name):
                config.add_problem(name, "is required by AwsAssumeRoleCredentialsProvider")
    _keys(config)
    own = _user_defined_path(config)
    for name in _members(config):
        near = near_match(name.removeprefix(PREFIX), _ENDINGS)  # by what is behind the prefix they all share
        if own is None and near:
            config.problems.append(Problem(name, None, f"unknown property below {PREFIX}*.{near}"))
            continue
        meaning = f"Passed to {own}." if own else f"ignored unless {CLASS} is your own class"
        source = config.given[name].source.value
        config.rows.append(ResolvedProperty(name, HIDDEN, source, meaning, ignored=own is None))


def _keys(config: ParsedConfig) -> None:
    names = ("aws.access.key.id", "aws.secret.access.key")
    for one, other in (names, names[::-1]):
        if config.is_set(one) and not config.is_set(other) and config.sure(one, other):
            config.add_problem(other, f"must be set together with {one}")


def build_credentials(config: ParsedConfig) -> Credentials:
    own = _user_defined_path(config)
    if own is not None:
        given = {name: config.given[name] for name in config.given if name.startswith(PREFIX)}
        options = {name.removeprefix(PREFIX): each.text for name, each in given.items() if each.resolved}
        return UserDefinedProvider(
            own, tuple(sorted((name, text) for name, text in options.items() if name != "class"))
        )
    name = config.text(CLASS)
    if name == ASSUME_ROLE:
        return AssumeRole(
            config.text(ARN), config.text(SESSION_NAME), config.optional(EXTERNAL_ID), config.optional(STS_REGION)
        )
    return Anonymous() if name == ANONYMOUS else CHAINS[name]


def _user_defined_path(config: ParsedConfig) -> str | None:
    path = config.text(CLASS)
    return path if user_defined.is_path(path) else None


def _members(config: ParsedConfig) -> list[str]:
    return [name for name in config.given if name.startswith(PREFIX) and name not in _KNOWN]
