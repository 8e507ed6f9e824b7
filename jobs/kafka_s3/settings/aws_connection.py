"""An Airflow AWS connection: what of it goes beyond keys, region and endpoint, as a role and how AWS is reached."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kafka_s3.errors import Problem
from kafka_s3.settings.credentials import AssumeRole
from kafka_s3.settings.properties import near_match

#: Ways of the connection to assume a role, and which of them are here.
ASSUME: Final = "assume_role"
WEB_IDENTITY: Final = "assume_role_with_web_identity"
_TOKEN_FILE: Final = "assume_role_with_web_identity_token_file"  # noqa: S105  # the name of an extra
#: What STS takes beside the role itself, by its own names: the session's name, tags, policies, how long it lasts.
_ARGUMENTS: Final = (
    "DurationSeconds",
    "ExternalId",
    "Policy",
    "PolicyArns",
    "ProviderId",
    "RoleSessionName",
    "SourceIdentity",
    "Tags",
    "TransitiveTagKeys",
)
#: The names that `driver_context` hands on, beside those of keys, region and endpoint.
NAMES: Final = (
    "role_arn",
    "role_session_name",
    "external_id",
    "assume_role_method",
    "assume_role_kwargs",
    "assume_role_with_web_identity_federation",
    _TOKEN_FILE,
    "sts_endpoint_url",
    "use_fips_endpoint",
    "use_dualstack_endpoint",
)


@dataclass(frozen=True, slots=True)
class AwsConnection:
    """`role`: assumed with the connection's keys, or else the default chain. `None` of an endpoint: what the process's
    environment says (AWS_USE_FIPS_ENDPOINT, AWS_USE_DUALSTACK_ENDPOINT)."""

    role: AssumeRole | None = None
    use_fips: bool | None = None
    use_dualstack: bool | None = None
    problems: tuple[Problem, ...] = field(default=())


def read_connection(given: Mapping[str, str]) -> AwsConnection:
    """The connection behind the names above, and what is wrong with it."""
    problems: list[Problem] = []
    role = _role(given, problems) if given.get("role_arn") else None
    fips, dualstack = (_flag(given, f"use_{which}_endpoint", problems) for which in ("fips", "dualstack"))
    return AwsConnection(role, fips, dualstack, (*problems,))


def _role(given: Mapping[str, str], problems: list[Problem]) -> AssumeRole | None:
    method = given.get("assume_role_method", ASSUME)
    if method not in (ASSUME, WEB_IDENTITY):
        message = f"must be one of: {ASSUME}, {WEB_IDENTITY}; others need a class of your own"
        problems.append(Problem("assume_role_method", method, f"{message} (s3.credentials.provider.class)"))
    arguments = _arguments(given.get("assume_role_kwargs", "{}"), problems)
    federation = given.get("assume_role_with_web_identity_federation", "file")
    if method == WEB_IDENTITY and federation != "file":
        problems.append(Problem("assume_role_with_web_identity_federation", federation, "must be file"))
    if problems:
        return None
    return AssumeRole(
        given["role_arn"],
        arguments.pop("RoleSessionName", given.get("role_session_name", "kafka-s3")),
        arguments.pop("ExternalId", given.get("external_id")),
        endpoint=given.get("sts_endpoint_url"),
        arguments=json.dumps(arguments, sort_keys=True) if arguments else "",
        by_web_identity=method == WEB_IDENTITY,
        token_file=given.get(_TOKEN_FILE),
    )


def _arguments(text: str, problems: list[Problem]) -> dict[str, Any]:
    name = "assume_role_kwargs"
    try:
        arguments = json.loads(text)
    except (ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        problems.append(Problem(name, None, "must be a JSON object of arguments of AssumeRole"))
        return {}
    for unknown in sorted(arguments.keys() - {*_ARGUMENTS}):
        near = near_match(unknown, _ARGUMENTS)
        problems.append(Problem(name, None, f"{unknown} is not an argument that is handed to STS.{near}"))
    for text_of in ("ExternalId", "RoleSessionName"):
        if not isinstance(arguments.get(text_of, ""), str):
            problems.append(Problem(name, None, f"{text_of} must be a text: put it into quotes"))
    return arguments


def _flag(given: Mapping[str, str], name: str, problems: list[Problem]) -> bool | None:
    """A misspelt flag is a problem: as false it would turn off what somebody asked for."""
    text = given.get(name, "").strip().lower()
    if text not in ("", "true", "false"):
        problems.append(Problem(name, None, "must be either true or false"))
    return text == "true" if text else None
