"""Other S3 sinks: refused with one problem, which says the same in this exporter's properties."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from kafka_s3.errors import ConfigurationError
from kafka_s3.settings import Lookups, from_mapping
from kafka_s3.settings.neighbours import translated
from kafka_s3.settings.paths import TemplatePartitioner

Problems = Callable[..., dict[str, str]]
LENSES = "io.lenses.streamreactor.connect.aws.s3.sink.S3SinkConnector"
OLDER = "com.datamountaineer.streamreactor.connect.aws.s3.sink.S3SinkConnector"
PLAIN = {
    "name": "orders",
    "topics": "orders",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}
SECRETS = {
    "aws.access.key.id": "AKIA-SECRET",
    "aws.secret.access.key": "very-SECRET",
    "connect.s3.aws.secret.key": "other-SECRET",
    "aws.secret.acess.key": "misspelt-SECRET",
    "consumer.override.sasl.jaas.config": "jaas-SECRET",
    "value.converter.schema.registry.url": "http://user:SECRET@registry:8081",
}


def words_of(connector: str, given: Mapping[str, str]) -> dict[str, str]:
    made = translated(connector, {**PLAIN, **given})
    assert made is not None
    return {name: text for name, text in made.words.items() if text != "..."}


@pytest.mark.parametrize("connector", [LENSES, OLDER])
def test_kcql_is_said_in_todays_words(connector: str) -> None:
    """Bucket, prefix, topic, format, limits and paths of a statement; what comes out loads."""
    kcql = (
        "INSERT INTO lake:raw/orders SELECT * FROM orders PARTITIONBY _value.region, _header.tenant, _key, day"
        " STOREAS `JSON` PROPERTIES ('flush.size'=1000000, 'flush.interval'=300, 'flush.count'=5000)"
    )
    words = words_of(connector, {"connect.s3.kcql": kcql, "connect.s3.aws.region": "eu-central-1"})
    assert words["export.path.template"] == "region={value.region}/tenant={header.tenant}/key={key}/day={value.day}"
    settings = from_mapping(words, offline=True).settings
    assert (settings.s3.bucket, settings.layout.topics_dir, settings.topics) == ("lake", "raw/orders", ("orders",))
    assert (settings.limits.flush_size, settings.limits.object_bytes_max) == (5000, 1_000_000)
    assert settings.limits.object_bytes_written
    assert isinstance(settings.partitioner, TemplatePartitioner)
    assert settings.schedule.interval_ms == 300_000


def test_older_kcql_and_what_has_no_words() -> None:
    """WITH_FLUSH_COUNT; several statements, other fields than *, and text that is not a statement are named."""
    words = words_of(
        OLDER, {"connect.s3.kcql": "insert into b:p select * from `*` STOREAS `TEXT` WITH_FLUSH_COUNT = 7"}
    )
    assert (words["flush.size"], words["topics"], words["format.bytearray.extension"]) == ("7", "orders", ".txt")
    for kcql, said in (
        ("insert into b select a from t", "only SELECT * has a meaning"),
        ("insert into b select * from t; insert into c select * from u", "the first of 2 statements"),
        ("upsert " + "x " * 20_000, "is not a statement that is understood"),
        ("insert into b select * from t STOREAS `CSV`", "there is no CSV"),
        ("insert into b select " + " " * 40_000 + "from" + " " * 40_000, "is not a statement that is understood"),
        ("insert into b select " + "a from t partitionby " * 4_000 + "!", "is not a statement that is understood"),
    ):
        made = translated(LENSES, {**PLAIN, "connect.s3.kcql": kcql})
        assert made is not None
        assert any(said in each for each in made.differs)


@pytest.mark.parametrize("connector", [LENSES, OLDER])
def test_validate_prints_it_beside_the_refusal(connector: str, problems_of: Problems) -> None:
    """As the one problem of the file, with no secret of it."""
    given = {"connector.class": connector, "connect.s3.kcql": "insert into b select * from t", **SECRETS}
    problems = problems_of(given)
    assert list(problems) == ["connector.class"]
    said = problems["connector.class"]
    assert "is another product, which does not run here" in said
    assert "\n    connector.class=io.confluent.connect.s3.S3SinkConnector\n" in said
    assert "SECRET" not in said


def test_what_a_variable_stands_for_is_not_printed() -> None:
    """It may be a secret, whatever property has it."""
    given = {**PLAIN, "connector.class": LENSES, "connect.s3.aws.region": "${env:REGION}"}
    with pytest.raises(ConfigurationError) as raised:
        from_mapping(given, lookups=Lookups(env={"REGION": "hidden-one"}), offline=True)
    assert "hidden-one" not in str(raised.value)
    assert "s3.region=${…}" in str(raised.value)
