"""Strimzi's `KafkaConnector`: the YAML manifest of a connector, read as the properties that its operator sends on.

Only the tree of nodes is made, never Python objects: an alias costs nothing, a tag runs nothing, and a number stays as
it is written. The operator's rules: `metadata.name`, `spec.class` and `spec.tasksMax` become `name`,
`connector.class` and `tasks.max`; what else stands in `spec` is the operator's own business.
"""

from __future__ import annotations

import re
from typing import Final

import yaml

from kafka_s3.errors import ConfigurationError, Problem

_SPEC: Final = {"class": "connector.class", "tasksMax": "tasks.max"}
_TAGS: Final = "tag:yaml.org,2002:"
_QUOTED: Final = re.compile(r"[ ,]*['\"`<].*", re.DOTALL)  # what PyYAML quotes of the text: it may be a secret
_BOOLEANS: Final = {"yes": "true", "true": "true", "on": "true", "no": "false", "false": "false", "off": "false"}


def parse_manifest(text: str, origin: str) -> tuple[dict[str, str], tuple[Problem, ...]]:
    """The properties of the one KafkaConnector in a text of YAML documents, and what is wrong with single ones."""
    # Raised after the handlers, so that no error drags the file's contents along as its context.
    documents, wrong = [], ""
    try:
        documents = [node for node in yaml.compose_all(text, yaml.SafeLoader) if node is not None]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
        wrong = f"{_QUOTED.sub('', error.problem or error.context or 'it cannot be parsed')}{where}"
    except yaml.YAMLError:
        wrong = "it holds a character that YAML does not allow"
    except RecursionError:
        wrong = "it is nested too deeply"
    if wrong:
        raise ConfigurationError(f"{origin} is not YAML: {wrong}.")
    manifests = [node for node in documents if _scalar(_child(node, "kind")) == "KafkaConnector"]
    if len(manifests) != 1:
        raise ConfigurationError(
            f"{origin} must hold one manifest of kind KafkaConnector; it holds {len(manifests)}.",
            next="Write each connector into a file of its own.",
        )
    return _properties(manifests[0])


def _properties(manifest: yaml.Node) -> tuple[dict[str, str], tuple[Problem, ...]]:
    problems: list[Problem] = []
    spec = _child(manifest, "spec")
    found = {"name": _scalar(_child(_child(manifest, "metadata"), "name"))}
    found |= {ours: _scalar(_child(spec, theirs)) for theirs, ours in _SPEC.items()}
    outer = {name: text for name, text in found.items() if text is not None}
    config = _child(spec, "config")
    inner: dict[str, str] = {}
    for key, value in config.value if isinstance(config, yaml.MappingNode) else ():
        name = _scalar(key)
        if name is None:
            problems.append(Problem("spec.config", None, "holds a key that is not a text"))
        elif name in inner:
            problems.append(Problem(name, None, "is given twice"))
        elif not isinstance(value, yaml.ScalarNode):
            problems.append(Problem(name, None, "must be a text, a number or true or false"))
        elif (text := _scalar(value)) is not None:
            inner[name] = text
    for name in sorted(outer.keys() & inner.keys()):
        if outer[name] != inner[name]:
            problems.append(Problem(name, None, f"in spec.config differs from {outer[name]!r} outside of it"))
    return {**outer, **inner}, tuple(problems)


def _child(node: yaml.Node | None, name: str) -> yaml.Node | None:
    """The value of a mapping's key; of several with one name the last."""
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return next((value for key, value in reversed(pairs) if _scalar(key) == name), None)


def _scalar(node: yaml.Node | None) -> str | None:
    """The text of a scalar, booleans as true and false; None for null, for a list and for a mapping."""
    if not isinstance(node, yaml.ScalarNode) or node.tag == f"{_TAGS}null":
        return None
    return _BOOLEANS[node.value.lower()] if node.tag == f"{_TAGS}bool" else str(node.value)
