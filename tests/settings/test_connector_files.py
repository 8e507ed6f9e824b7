"""From files: connectors as they lie in a folder, and what the DAG factory sees of them."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_s3.errors import ConfigurationError
from kafka_s3.settings import Lookups, catalogue, from_mapping, kafka, load, outline
from kafka_s3.settings.formats import Gzip
from kafka_s3.settings.schedule import ScheduleSettings

Problems = Callable[..., dict[str, str]]
CONNECTORS = Path(__file__).parents[2] / "connectors"


_PREFIXES = ("consumer.override.", "producer.override.", "value.converter.schema.registry.")
_CHOICES = [choice.name for prop in catalogue.PROPERTIES.values() for choice in prop.choices]
_NAMES = st.sampled_from([*catalogue.PROPERTIES, *(f"{prefix}{name}" for prefix in _PREFIXES for name in kafka.JAVA)])
_TEXTS = st.one_of(
    st.text(max_size=20),
    st.sampled_from(_CHOICES),
    st.sampled_from(["", "0", "1", "-1", "true", "a.b", "${env:A}", "http://[", "http://a:x", "PEM", "SASL_SSL", "/"]),
)


@given(st.dictionaries(st.one_of(_NAMES, st.text(max_size=20)), _TEXTS, max_size=12))
def test_any_configuration_loads_or_is_refused(given_properties: dict[str, str]) -> None:
    """Whatever stands in a configuration, the answer is settings or a ConfigurationError with problems."""
    whole = {
        "name": "a",
        "topics": "t",
        "s3.bucket.name": "b",
        "storage.class": "S3Storage",
        "format.class": "JsonFormat",
        "flush.size": "1",
        **given_properties,
    }
    for offline in (True, False):
        try:
            from_mapping(whole, worker=given_properties, kafka_connection=given_properties, offline=offline)
        except ConfigurationError as error:
            assert error.problems  # noqa: PT017  # not raising is right as well


def test_the_examples_in_the_repository_load() -> None:
    """connectors/orders.properties with the worker file beside it is a runnable configuration."""
    loaded = load(CONNECTORS / "orders.properties", lookups=Lookups(env={"KAFKA_S3_BOOTSTRAP_SERVERS": "here:9092"}))
    assert loaded.settings.name == "orders"
    assert loaded.settings.format.file.compression == Gzip(None)
    assert loaded.settings.limits.flush_size == 20_000
    assert loaded.settings.kafka.client == {"bootstrap.servers": "here:9092"}
    with pytest.raises(ConfigurationError, match="KAFKA_S3_BOOTSTRAP_SERVERS"):
        load(CONNECTORS / "orders.properties", lookups=Lookups())


def test_the_name_is_the_files_unless_it_is_given(tmp_path: Path, minimal: dict[str, str]) -> None:
    """A connector without a name is called after its file; a worker file may be named."""
    del minimal["name"]
    path, worker = tmp_path / "clicks.json", tmp_path / "other.properties"
    path.write_text(json.dumps({"config": minimal, "tasks": []}))
    worker.write_text("bootstrap.servers=other:1\n")
    loaded = load(path, worker=worker, lookups=Lookups())
    assert loaded.settings.name == "clicks"
    assert loaded.settings.kafka.client["bootstrap.servers"] == "other:1"
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load(path, worker=tmp_path / "none.properties", lookups=Lookups())


def test_problems_of_a_json_file_are_reported_with_the_others(tmp_path: Path) -> None:
    """A duplicate key in JSON stands in the same list as a wrong value."""
    path = tmp_path / "a.json"
    path.write_text('{"flush.size": 0, "topics": "a", "topics": "b"}')
    with pytest.raises(ConfigurationError) as raised:
        load(path, lookups=Lookups())
    assert {"flush.size", "topics", "format.class"} <= {problem.name for problem in raised.value.problems}


def test_from_mapping_and_load_agree(tmp_path: Path, minimal: dict[str, str]) -> None:
    """The same properties give the same settings, whether from a file or a mapping."""
    path = tmp_path / "x.json"
    path.write_text(json.dumps(minimal))
    assert load(path, lookups=Lookups(), offline=True) == from_mapping(minimal, offline=True)


class TestOutline:
    """What the DAG factory sees."""

    def test_it_tells_name_schedule_topics_and_connections(self) -> None:
        """The outline of the example needs no environment and has no problems."""
        seen = outline(CONNECTORS / "orders.properties")
        assert (seen.name, seen.topics, seen.topics_regex) == ("orders", ("orders",), None)
        assert seen.schedule == ScheduleSettings(3_600_000, "UTC")
        assert (seen.kafka_conn_id, seen.aws_conn_id) == ("kafka_default", "aws_default")
        assert seen.problems == ()

    def test_variables_are_not_resolved_and_not_checked(self, tmp_path: Path, minimal: dict[str, str]) -> None:
        """A value that holds a variable is left alone, unless the DAG itself would need it."""
        more = {
            "flush.size": "${env:X}",
            "format.class": "${env:X}",
            "topics": "${env:X}",
            "aws.access.key.id": "${secrets:x}",
            "aws.secret.access.key": "${secrets:x}",
            "consumer.override.security.protocol": "SASL_SSL",
            "consumer.override.sasl.jaas.config": "${secrets:x}",
        }
        path = tmp_path / "x.json"
        path.write_text(json.dumps({**minimal, **more}))
        assert outline(path).problems == ()
        path.write_text(json.dumps({**minimal, "timezone": "${env:X}", "name": "${env:X}"}))
        broken = outline(path)
        assert [problem.name for problem in broken.problems] == ["name", "timezone"]
        assert broken.name == "x"

    @pytest.mark.parametrize(
        "content",
        ["", "{", "[]", '{"a": [1]}', '{"flush.size": 0}', '{"name": 5, "timezone": "x"}', "\x00", '{"topics": ","}'],
    )
    def test_it_never_raises_for_a_mistake(self, tmp_path: Path, content: str) -> None:
        """Whatever is in the file, there is an outline with a legal DAG id and the problems."""
        path = tmp_path / "my file.json"
        path.write_text(content)
        seen = outline(path)
        assert seen.problems
        assert seen.name in ("my_file", "5")

    def test_a_broken_worker_file_is_a_problem(self, tmp_path: Path) -> None:
        """Files that cannot be read are problems too."""
        assert "cannot be read" in outline(tmp_path / "none.json").problems[0].message
        (tmp_path / "worker.properties").write_bytes(b"\xff")
        (tmp_path / "a.json").write_text('{"flush.size": 1}')
        assert "worker.properties is not UTF-8" in outline(tmp_path / "a.json").problems[0].message


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("S3_SINK", "is Confluent Cloud's managed S3 sink"),
        ("io.debezium.connector.postgresql.PostgresConnector", "is a source connector"),
        ("io.confluent.connect.jdbc.JdbcSourceConnector", "is a source connector"),
        ("com.snowflake.kafka.connector.SnowflakeSinkConnector", "is another product"),
    ],
)
def test_a_file_of_another_product_has_one_problem(name: str, said: str, problems_of: Problems) -> None:
    """Its properties are its own: nine sentences about them would only hide the one that matters."""
    problems = problems_of({"connector.class": name, "output.data.format": "JSON", "flush.size": "x"})
    assert list(problems) == ["connector.class"]
    assert said in problems["connector.class"]


def test_a_misspelt_class_is_no_other_product(problems_of: Problems) -> None:
    """Whoever writes the sink's class with a slip is told so, and everything else that is wrong too."""
    name = "io.confluent.connect.s3.S3SinkConector"
    problems = problems_of({"connector.class": name, "flush.size": "x"})
    assert set(problems) == {"connector.class", "flush.size"}
    assert "Did you mean" in problems["connector.class"]
