"""`kafka-s3 iam`: the least that AWS has to allow a command."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from kafka_s3.cli.common import configured, load_configuration, print_json
from kafka_s3.errors import ConfigurationError
from kafka_s3.report.policy import COMMANDS, least_policy
from kafka_s3.settings import Loaded, catalogue, kafka
from kafka_s3.settings.kafka_tokens import OAUTHBEARER
from kafka_s3.settings.properties import Property

#: What says where a service is and who asks, which a policy does not hold.
_ANYHOW: Final = (
    "aws.access.key.id",
    "store.url",
    "s3.endpoint",
    "s3.proxy.url",
    "s3.proxy.user",
    "schema.registry.url",
    "bearer.auth.identity.pool.id",
    "bearer.auth.logical.cluster",
    "role.external.id",
    "role.session.name",
)


@click.command("iam", short_help="The least IAM policy for each command, as JSON.")
@configured
@click.option(
    "--for",
    "command_",
    type=click.Choice(COMMANDS),
    default="run",
    show_default=True,
    help="The command that the policy allows; assume: for the keys that assume the configured role.",
)
def command(config: Path, worker: Path | None, command_: str) -> None:
    """Print the least IAM policy that lets a command work on CONFIG, as JSON.

    It allows S3 by prefix, and KMS, Glue, STS and Amazon MSK where they are configured. `run` is what a DAG needs. It
    reads files and the environment, not Airflow's connections. What a bucket policy or a key policy denies is not
    seen.
    """
    loaded = load_configuration(config, worker, offline=True)
    missing = [each for each in loaded.unresolved if _matters(each.name, loaded)]
    if missing:
        raise ConfigurationError(
            f"The policy of {config} depends on variables that have no value here:",
            problems=missing,
            next="Set them for this command: it reads files and the environment, not Airflow's connections.",
        )
    print_json(least_policy(loaded.settings, command_))


def _matters(name: str, loaded: Loaded) -> bool:
    """Whether a policy may depend on a property: it does on names, keys and roles, and on no password or address."""
    if name.startswith(kafka.OVERRIDE) or catalogue.find(name) is None:
        client = loaded.settings.kafka
        match name.removeprefix(kafka.OVERRIDE).removeprefix("consumer."):
            case "bootstrap.servers":  # in MSK's names is the region
                return client.msk is not None
            case "sasl.jaas.config":
                return client.client.get("sasl.mechanism") == OAUTHBEARER
            case "sasl.mechanism" | "sasl.login.callback.handler.class" | "sasl.client.callback.handler.class":
                return True
        return False
    prop = catalogue.find(name)
    return isinstance(prop, Property) and not prop.secret and not name.endswith(_ANYHOW)
