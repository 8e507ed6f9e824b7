"""The settings that a plan's ranges are written under, out of what the plan says.

A plan comes out of the bucket, and whoever may write there may have written it. So nothing is imported, opened or asked
because a plan names it: of its configuration only what shapes objects is read, and a class of the user's own only if
today's configuration names the same one. How to reach Kafka, S3 and the registry is today's alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kafka_s3 import custom
from kafka_s3.errors import ConfigurationError
from kafka_s3.settings import catalogue
from kafka_s3.settings.build import READING
from kafka_s3.settings.loading import OWN_METHODS, from_mapping
from kafka_s3.settings.model import Settings
from kafka_s3.settings.properties import REQUIRED


def settings_of_plan(configuration: Mapping[str, str], sha256: str, now: Settings) -> Settings | None:
    """The settings behind a plan's configuration with that hash; `None` if this engine cannot make them again."""
    for name in OWN_METHODS:
        text = configuration.get(name, "")
        if custom.is_path(text) and text != now.resolved.get(name):
            return None
    required = (name for name, prop in catalogue.PROPERTIES.items() if prop.default is REQUIRED)
    given = {name: now.resolved[name] for name in required if name in now.resolved}
    given |= {name: text for name, text in configuration.items() if _shapes(name)}
    try:
        then = from_mapping(given, offline=True).settings
    except ConfigurationError:
        return None
    if then.configuration_sha256 != sha256:
        return None
    return replace(then, name=now.name, log_root=now.log_root, kafka=now.kafka, s3=now.s3, log_key=now.log_key)


def _shapes(name: str) -> bool:
    """Whether a property says how objects are made. An AvroConverter needs the registry's address, and asks nobody."""
    prop = catalogue.PROPERTIES.get(name)
    return name == READING or (prop is not None and (prop.shapes or name.endswith(".schema.registry.url")))
