"""Strimzi's KafkaConnector manifests."""

import pytest
import yaml

from kafka_s3.errors import ConfigurationError
from kafka_s3.settings.manifests import parse_manifest

_MANIFEST = """
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaConnector
metadata:
  name: orders
  labels:
    strimzi.io/cluster: my-connect  # which workers run it
spec:
  class: io.confluent.connect.s3.S3SinkConnector
  tasksMax: 2
  autoRestart: {enabled: true}
  config:
    topics: orders
    flush.size: 0010
    rotate.schedule.interval.ms: 3600000
    s3.bucket.name: archive
    s3.path.style.access.enabled: True
    enhanced.avro.schema.support: on
    timezone: 'UTC'
    path.format: "'year'=YYYY"
    s3.region: ~
    aws.secret.access.key: ${env:SECRET}
    connector.class: io.confluent.connect.s3.S3SinkConnector
"""


def test_a_manifest_becomes_the_properties_its_operator_sends() -> None:
    """Name, class and tasks come from their places; booleans become true and false; numbers stay as written."""
    assert parse_manifest(_MANIFEST, "f") == (
        {
            "name": "orders",
            "connector.class": "io.confluent.connect.s3.S3SinkConnector",
            "tasks.max": "2",
            "topics": "orders",
            "flush.size": "0010",
            "rotate.schedule.interval.ms": "3600000",
            "s3.bucket.name": "archive",
            "s3.path.style.access.enabled": "true",
            "enhanced.avro.schema.support": "true",
            "timezone": "UTC",
            "path.format": "'year'=YYYY",
            "aws.secret.access.key": "${env:SECRET}",
        },
        (),
    )


def test_a_manifest_may_lie_among_other_documents() -> None:
    """What else a file of several documents holds is not read."""
    text = f"kind: KafkaConnect\nmetadata: {{name: cluster}}\n---\n{_MANIFEST}---\n"
    assert parse_manifest(text, "f") == parse_manifest(_MANIFEST, "f")


@pytest.mark.parametrize(
    ("config", "name", "said"),
    [
        ("{a: [1]}", "a", "must be a text, a number or true or false"),
        ("{a: {b: 1}}", "a", "must be a text, a number or true or false"),
        ("{a: 1, a: 2}", "a", "is given twice"),
        ("{[a]: 1}", "spec.config", "holds a key that is not a text"),
        ("{name: other}", "name", "in spec.config differs from 'x' outside of it"),
    ],
)
def test_what_is_wrong_with_one_property_is_a_problem(config: str, name: str, said: str) -> None:
    """Lists, mappings, duplicates and contradictions are problems of their property."""
    _, (problem,) = parse_manifest(f"kind: KafkaConnector\nmetadata: {{name: x}}\nspec: {{config: {config}}}", "f")
    assert (problem.name, problem.message) == (name, said)


def test_aliases_and_tags_make_nothing() -> None:
    """An alias that multiplies itself costs nothing, and a tag that names Python code runs none."""
    bomb = "a: &a [x, x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [*{chr(97 + n)}, *{chr(97 + n)}]\n" for n in range(24)
    )
    text = f"{bomb}kind: KafkaConnector\nspec: {{config: {{topics: !!python/object/apply:os.abort [], name: x}}}}"
    properties, (problem,) = parse_manifest(text, "f")
    assert properties == {"name": "x"}
    assert problem.name == "topics"


def test_a_manifest_that_is_none_is_refused() -> None:
    """A list at the top has no kind."""
    with pytest.raises(ConfigurationError, match="it holds 0"):
        parse_manifest(yaml.safe_dump([1, 2]), "f")
