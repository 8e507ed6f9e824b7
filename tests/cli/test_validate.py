"""`kafka-s3 validate`."""

import json
import re
from pathlib import Path

import pytest

from tests.cli.command import PLAIN, call, call_process, write_properties

CANARY = "canary-of-a-secret"


def test_a_good_file_shows_value_source_and_meaning(tmp_path: Path) -> None:
    """Every property that is set is a row with its value, where it comes from and what it means; exit status 0."""
    config = write_properties(tmp_path / "orders.properties", PLAIN)
    result = call("validate", config)
    assert result.exit_code == 0, result.output
    rows = [line for line in result.stdout.splitlines() if line.startswith("flush.size ")]
    words = "flush.size 3 connector file Maximum number of records per object."
    assert [row.split() for row in rows] == [words.split()]
    assert f"{config} is valid" in result.stdout


def test_defaults_are_shown_when_asked_for(tmp_path: Path) -> None:
    """Without --all the table has what the files set; the last line counts the rest. No line ends in blanks."""
    config = write_properties(tmp_path / "orders.properties", PLAIN)
    short, whole = call("validate", config).stdout, call("validate", config, "--all").stdout
    assert "topics.dir" not in short
    assert "\ntopics.dir " in whole
    rows = [line for line in whole.splitlines() if "  default  " in line]
    assert f", {len(rows)} of them by default (--all shows them)." in short
    assert "--all" not in whole
    assert not [line for line in (short + whole).splitlines() if line != line.rstrip()]


def test_ignored_properties_are_listed_with_their_reason(tmp_path: Path) -> None:
    """What Connect knows and nobody needs here is accepted, and the table says why."""
    config = write_properties(tmp_path / "orders.properties", {**PLAIN, "s3.elastic.buffer.enable": "true"})
    result = call("validate", config)
    assert result.exit_code == 0
    ignored = result.stdout.partition("Accepted, without effect")[2]
    assert "s3.elastic.buffer.enable" in ignored
    assert "s3.elastic.buffer.enable" not in result.stdout.partition("Accepted, without effect")[0]


def test_a_bad_file_shows_every_problem(tmp_path: Path) -> None:
    """All problems at once, each with property and value, on stderr; exit status 1."""
    wrong = {**PLAIN, "flush.size": "none", "flush.sze": "3", "s3.part.size": "7"}
    del wrong["s3.bucket.name"]
    result = call("validate", write_properties(tmp_path / "orders.properties", wrong))
    assert result.exit_code == 1
    assert result.stdout == ""
    for part in ("flush.size=none", "flush.sze", "s3.part.size=7", "s3.bucket.name"):
        assert part in result.stderr


def test_json_is_for_machines(tmp_path: Path) -> None:
    """--json gives the rows of a good file, and the problems of a bad one, as JSON on stdout."""
    good = json.loads(call("validate", write_properties(tmp_path / "a.properties", PLAIN), "--json").stdout)
    assert good["valid"] is True
    flush = next(row for row in good["properties"] if row["property"] == "flush.size")
    assert (flush["value"], flush["source"]) == ("3", "connector file")
    bad = call("validate", write_properties(tmp_path / "b.properties", {**PLAIN, "flush.size": "0"}), "--json")
    assert bad.exit_code == 1
    problems = json.loads(bad.stdout)["problems"]
    assert [(each["property"], each["value"]) for each in problems] == [("flush.size", "0")]


def test_brokers_and_variables_may_be_known_elsewhere(tmp_path: Path) -> None:
    """Without brokers or a variable's value a file is valid with a note, and with --complete it is not."""
    config = write_properties(tmp_path / "orders.properties", {**PLAIN, "store.url": "${env:NOT_SET_HERE}"})
    result = call("validate", config)
    assert result.exit_code == 0
    assert "bootstrap.servers is not in these files" in result.stdout
    assert "no value here: store.url" in result.stdout
    complete = call("validate", config, "--complete")
    assert complete.exit_code == 1
    assert "bootstrap.servers" in complete.stderr
    assert "NOT_SET_HERE" in complete.stderr


def test_the_worker_file_is_found_or_named(tmp_path: Path) -> None:
    """worker.properties beside the connector counts, unless --worker names another file."""
    config = write_properties(tmp_path / "orders.properties", PLAIN)
    write_properties(tmp_path / "worker.properties", {"bootstrap.servers": "beside:9092"})
    other = write_properties(tmp_path / "other.properties", {"bootstrap.servers": "named:9092"})
    assert "beside:9092" in call("validate", config).stdout
    assert "named:9092" in call("validate", config, "--worker", other).stdout


def test_no_secret_is_printed(tmp_path: Path) -> None:
    """Secrets by value, environment, file and JAAS line appear nowhere, in a good file nor in a bad one."""
    write_properties(tmp_path / "secrets.properties", {"key": f"{CANARY}-file"})
    jaas = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="{CANARY}-jaas";'
    properties = {
        **PLAIN,
        "aws.access.key.id": "AKIA",
        "aws.secret.access.key": f"{CANARY}-value",
        "s3.proxy.url": f"http://user:{CANARY}-url@proxy:3128",
        "s3.proxy.password": "${file:" + str(tmp_path / "secrets.properties") + ":key}",
        "consumer.override.security.protocol": "SASL_PLAINTEXT",
        "consumer.override.sasl.mechanism": "PLAIN",
        "consumer.override.sasl.jaas.config": jaas,
        "consumer.override.bootstrap.servers": "broker:9092",
    }
    for extra in ({}, {"flush.size": "0"}, {"aws.access.key.id": ""}):
        config = write_properties(tmp_path / "orders.properties", {**properties, **extra})
        for more in ((), ("--json",), ("--complete",)):
            result = call("validate", config, *more)
            assert CANARY not in result.output, result.output
    assert call("validate", write_properties(tmp_path / "orders.properties", properties)).exit_code == 0


def test_a_missing_file_is_an_error_without_a_traceback(tmp_path: Path) -> None:
    """A file that is not there is named, with exit status 1; `run` says 78, so that nobody retries it."""
    for command, status in (("validate", 1), ("status", 1), ("run", 78)):
        result = call_process(command, tmp_path / "none.properties")
        assert result.returncode == status
        assert "none.properties cannot be read" in result.stderr
        assert "Traceback" not in result.stderr


def test_validate_imports_nothing_heavy(tmp_path: Path) -> None:
    """validate and --help start no boto3, confluent_kafka, pyspark or pyarrow."""
    import subprocess
    import sys

    from tests.cli.command import ROOT

    config = write_properties(tmp_path / "orders.properties", PLAIN)
    for arguments in (["validate", str(config)], ["--help"]):
        code = (
            "import sys\nfrom kafka_s3.cli import main\n"
            f"main({arguments!r}, standalone_mode=False)\n"
            "heavy = {'boto3', 'botocore', 'confluent_kafka', 'pyspark', 'pyarrow', 'airflow'} & set(sys.modules)\n"
            "sys.exit(f'imported {heavy}' if heavy else 0)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONPATH": str(ROOT / "jobs")}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr


def test_help_and_version() -> None:
    """--help names every command, each command has help, --version says which."""
    from kafka_s3 import __version__
    from kafka_s3.cli import COMMANDS

    listed = call("--help").stdout
    for command in COMMANDS:
        assert command in listed
        assert {"bundle": "FILE", "airflow": "init"}.get(command, "CONFIG") in call(command, "--help").stdout
    assert call("--version").stdout.split()[-1] == __version__


def test_a_wrong_call_is_status_2(tmp_path: Path) -> None:
    """Unknown commands and options, and contradictory ones, are usage errors."""
    config = write_properties(tmp_path / "orders.properties", {**PLAIN, "consumer.override.bootstrap.servers": "x:1"})
    assert call("nonsense").exit_code == 2
    assert call("validate").exit_code == 2
    assert call("validate", config, "--nonsense").exit_code == 2
    assert call("run", config, "--until-now", "--interval", "2026-01-01", "2026-01-02").exit_code == 2
    assert call("run", config, "--interval", "2026-01-02", "2026-01-01").exit_code == 2
    assert call("plan", config, "--interval", "yesterday", "2026-01-01").exit_code == 2


_TIME_BASED = {
    "partitioner.class": "io.confluent.connect.storage.partitioner.TimeBasedPartitioner",
    "path.format": "'year'=YYYY/'month'=MM",
    "partition.duration.ms": "86400000",
    "locale": "fr-FR",
    "timezone": "Europe/Paris",
    "timestamp.extractor": "Record",
}


def _table(text: str) -> dict[str, list[str]]:
    """The rows of a printed table by their first cell; two blanks or more part the cells."""
    rows = [re.split(r" {2,}", line.strip()) for line in text.splitlines() if line.strip()]
    return {first: rest for first, *rest in rows}


def test_a_time_based_file_shows_what_applies(tmp_path: Path) -> None:
    """Values, sources and meanings; what only another partitioner or the sink itself reads is listed with why."""
    ignored = {"partition.field.name": "f", "timestamp.field": "at", "rotate.file.on.partition.change": "false"}
    config = write_properties(tmp_path / "orders.properties", {**PLAIN, **_TIME_BASED, **ignored})
    write_properties(tmp_path / "worker.properties", {"bootstrap.servers": "b:9092", "offset.storage.topic": "o"})
    result = call("validate", config, "--all")
    assert result.exit_code == 0, result.output
    effective, _, others = result.stdout.partition("Accepted, without effect")
    rows = _table(effective)
    assert rows["path.format"] == ["'year'=YYYY/'month'=MM", "connector file", "Joda-Time pattern of the path."]
    assert rows["partition.duration.ms"][:2] == ["86400000", "connector file"]
    assert rows["timezone"] == ["Europe/Paris", "connector file", "Time zone of the schedule and of paths."]
    assert rows["locale"][:2] == ["fr-FR", "connector file"]
    assert rows["timestamp.extractor"][:2] == ["Record", "connector file"]
    assert rows["rotate.interval.ms"][:2] == ["-1", "default"]
    assert rows["rotate.schedule.interval.ms"][:2] == ["3600000", "default"]
    assert _table(others)["partition.field.name"] == [
        "connector file",
        "ignored unless partitioner.class is FieldPartitioner or your own class",
    ]
    assert _table(others)["timestamp.field"] == [
        "connector file",
        "ignored unless timestamp.extractor is RecordField or your own class",
    ]
    assert _table(others)["offset.storage.topic"] == ["worker file", "ignored: only a Connect worker uses it"]
    assert "rotate.file.on.partition.change" in _table(others)
    assert rows.keys().isdisjoint({"partition.field.name", "timestamp.field", "rotate.file.on.partition.change"})
    assert "Note: a record of 2024-02-29T13:46:57.678Z has the path year=2024/month=02\n" in result.stdout


@pytest.mark.parametrize(
    ("path_format", "path"),
    [("%Y/%m/%d", "%2024/%0/%29"), ("'at='mm", "at=00"), ("'at='MM", "at=02"), ("EEEE", "jeudi")],
)
def test_the_path_of_a_sample_shows_what_a_pattern_means(tmp_path: Path, path_format: str, path: str) -> None:
    """A pattern of another language, or minutes for months, is legal: what comes of it is in plain sight."""
    config = write_properties(tmp_path / "orders.properties", {**PLAIN, **_TIME_BASED, "path.format": path_format})
    assert f" has the path {path}\n" in call("validate", config).stdout
    assert json.loads(call("validate", config, "--json").stdout)["notes"][0].endswith(f" has the path {path}")


def test_five_mistakes_are_five_lines(tmp_path: Path) -> None:
    """None hides another: zone, language, pattern, duration and extractor are wrong at the same time."""
    wrong = {
        "path.format": "year=YYYY",
        "partition.duration.ms": "1h",
        "locale": "klingon",
        "timezone": "Europe/Pariss",
        "timestamp.extractor": "Recordfield",
    }
    config = write_properties(tmp_path / "orders.properties", {**PLAIN, **_TIME_BASED, **wrong})
    result = call("validate", config)
    assert (result.exit_code, result.stdout) == (1, "")
    first, *lines = result.stderr.splitlines()
    assert first.endswith("orders.properties has 5 problems:")
    assert [line.strip().partition(":")[0] for line in lines] == [
        "locale=klingon",
        "partition.duration.ms=1h",
        "path.format=year=YYYY",
        "timestamp.extractor=Recordfield",
        "timezone=Europe/Pariss",
    ]
    for line, said in zip(
        lines,
        (
            "use a language tag like en, fr-FR or pt-BR",
            "Not a number of type LONG",
            "Illegal pattern component: r. Letters that are meant as text stand in single quotes",
            "or a class of your own as module:Class. Did you mean RecordField?",
            "use one like UTC, Europe/Berlin or +02:00",
        ),
        strict=True,
    ):
        assert said in line


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "orders.json is not JSON: Expecting value at line 1, column 1."),
        ("{}", "orders.json holds no property."),
        ("[1]", "orders.json is not a JSON object."),
        ('{"topics": "a",\n}', "at line 2, column 1."),
        ('{"config": {"config": {"topics": "a"}}}', "config: must be a text, a number or true or false"),
        ('{"config": {}, "topics": "a"}', 'topics: stands beside "config": move it inside'),
        ('{"config": {"transforms": {"a": 1}}}', "transforms: must be a text, a number or true or false"),
        ('{"": "archive"}', '"": a property without a name'),
    ],
)
def test_json_that_is_no_configuration_is_said(tmp_path: Path, text: str, said: str) -> None:
    """What is wrong with the file itself, with the place or the property; no traceback."""
    config = tmp_path / "orders.json"
    config.write_text(text)
    result = call("validate", config)
    assert result.exit_code == 1
    assert said in result.stderr


def test_a_file_that_its_group_contradicts(tmp_path: Path) -> None:
    """Beside a member that asks Spark for something else the later by name is refused, and the first is valid; a broken
    file and another group's stop neither."""
    asks = "export.spark.conf.spark.executor.memory"
    for name, group, memory in (("a", "nightly", "1g"), ("b", "nightly", "2g"), ("c", "hourly", "3g")):
        given = {**PLAIN, "name": name, "topics": name, "export.group": group, asks: memory}
        write_properties(tmp_path / f"{name}.properties", given)
    write_properties(tmp_path / "0.properties", {**PLAIN, "name": "0", "export.group": "nightly", "flush.size": "x"})
    assert [call("validate", tmp_path / f"{name}.properties").exit_code for name in "abc"] == [0, 1, 0]
    said = call("validate", tmp_path / "b.properties").stderr
    assert f"{asks}=2g: cannot be had: b is in the group nightly with a, which has 1g" in said
