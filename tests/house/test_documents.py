"""README says what is so: its commands, its keys and the tests that it names exist."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_s3.bucket.window import of_window
from kafka_s3.dead_letter import reported_key
from kafka_s3.log.entries import Interval
from kafka_s3.naming import DataName, KeyLayout, LogLayout, format_data_key, format_epoch, marker_key
from tests.support import make_settings

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def section(title: str) -> str:
    """The text of one section of README."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", README, re.M | re.S)
    assert found is not None, f"README has no section {title}"
    return found[1]


def test_the_make_targets_of_readme_exist() -> None:
    """Every `make` command that README names is a target of the Makefile."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    named = set(re.findall(r"(?:`|^    )make ([a-z-]+)", README, re.M))

    assert {"demo", "test", "test-all", "ui"} <= named
    assert named <= targets


def test_the_table_of_commands_is_the_command_line() -> None:
    """README's table of commands lists exactly the commands of `kafka-s3`, and each has help."""
    from kafka_s3.cli import COMMANDS

    named = set(re.findall(r"^\| `kafka-s3 ([a-z]+)", section("Commands"), re.M))

    assert named == set(COMMANDS)
    for name in named:
        command = [sys.executable, "-m", "kafka_s3.cli", name, "--help"]
        assert "Usage:" in subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_the_keys_of_the_bucket_are_those_of_the_code() -> None:
    """README's keys, with its placeholders filled in, are the keys that the naming functions make."""
    table = section("The bucket")
    layout, log = KeyLayout(), LogLayout("_kafka_s3", "c", format_epoch(0, "0" * 16))
    again = of_window(make_settings(name="c"), Interval(0, 1000))
    made = {
        format_data_key(layout, DataName("t", "partition=3", 3, 42, ".json")): (
            "<topics.dir>/<topic>/<encoded partition>/<topic>+<kafka partition>+<start offset, 10 digits><extension>"
        ),
        log.epoch_key(0): "_kafka_s3/<connector>/epoch/<seq>.json",
        log.plan_key(0): "_kafka_s3/<connector>/plan/<epoch>/<seq>.json",
        log.log_key(0): "_kafka_s3/<connector>/log/<epoch>/<seq>.json",
        reported_key(log, 0): "_kafka_s3/<connector>/reported/<epoch>/<seq>.json",
        log.announced_key(0): "_kafka_s3/<connector>/announced/<epoch>/<seq>",
        marker_key(layout, "t", "partition=3"): "<topics.dir>/<topic>/<encoded partition>/_COMPLETE.json",
        log.complete_key(0): "_kafka_s3/<connector>/complete/<epoch>/<seq>.json",
        log.owner_key("topics", "t"): "_kafka_s3/owners/<topics.dir>/<topic>.json",
        f"{again.layout.topic_prefix('t')}partition=3/…": "reexport/<window>/<topic>/<encoded partition>/…",
        f"{again.log_root}/{again.name}/plan/…": "_kafka_s3/<connector>/reexport/<window>/plan/…",
    }
    values = {
        "<topics.dir>": "topics",
        "<topic>": "t",
        "<encoded partition>": "partition=3",
        "<kafka partition>": "3",
        "<start offset, 10 digits>": "0000000042",
        "<extension>": ".json",
        "<connector>": "c",
        "<epoch>": log.epoch,
        "<seq>": "9" * 19,
        "<window>": again.name,
    }
    for key, written in made.items():
        assert f"`{written}`" in table
        for placeholder, value in values.items():
            written = written.replace(placeholder, value)
        assert written == key


def test_the_reference_of_properties_is_that_of_the_tables() -> None:
    """README's tables are what the engine's say now; `python -m tools.reference` writes them anew."""
    from tools.reference import replaced

    assert replaced(README) == README


def test_readmes_own_classes_are_what_the_engine_asks_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The classes that README shows are found by their path, have the methods, and make paths, times and bytes."""
    from kafka_s3.ranges import TopicPartition
    from kafka_s3.records import ColumnBatch, Record
    from kafka_s3.settings.formats import NoCompression
    from kafka_s3.settings.loading import USER_DEFINED_METHODS
    from kafka_s3.user_defined import find_class
    from kafka_s3.values.formats.user_defined import UserDefinedFormat
    from kafka_s3.values.partitioners.user_defined import UserDefinedPaths, UserDefinedTimes
    from kafka_s3.values.rows import Lines

    found = re.search(r"```python\n(.*?)```", section("Classes of your own"), re.S)
    assert found is not None
    (tmp_path / "readmes_own.py").write_text(found[1])
    monkeypatch.syspath_prepend(str(tmp_path))
    classes = dict(re.findall(r"^class (\w+):  # ([\w.]+)", found[1], re.M))
    assert set(classes.values()) == USER_DEFINED_METHODS.keys()
    for name, property_name in classes.items():
        assert find_class(f"readmes_own:{name}", *USER_DEFINED_METHODS[property_name])
    batch = ColumnBatch(TopicPartition("t", 0), [Record(0, b"abc", timestamp_ms=7), Record(1, None, timestamp_ms=8)])
    rows = Lines([b"abc", b""])
    assert UserDefinedPaths("readmes_own:ByCustomer", {})(batch, rows).each == ["bytes=3", ""]
    assert UserDefinedTimes("readmes_own:OrderTime", {})(batch, rows).each == [7, 8]
    encoder = UserDefinedFormat("readmes_own:Framed", NoCompression()).open(None)
    assert encoder.encode(Lines([b"abc"]), 0, 1)[0] == b"\0\0\0\x03abc"


def test_readmes_connector_loads() -> None:
    """The configuration that README shows is right as it stands, and nothing in it goes unread."""
    from kafka_s3.settings import from_mapping

    found = re.search(r"```properties\n(.*?)```", README, re.S)
    assert found is not None
    given = dict(line.split("=", 1) for line in found[1].splitlines())
    loaded = from_mapping(given, offline=True)
    assert [row for row in loaded.report if row.name in given and row.ignored] == []


def guarantees() -> list[tuple[str, str]]:
    """Every test file and test that the sections name."""
    text = "".join(map(section, ("Guarantees", "Backfills and re-exports", "Knowing that an hour is complete")))
    return re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text)


@pytest.mark.parametrize(("path", "test"), guarantees())
def test_every_guarantee_names_a_test_that_exists(path: str, test: str) -> None:
    """Each guarantee's test file exists and holds the test that it names."""
    assert test, f"{path}: name the test"
    assert f"def {test}(" in (ROOT / path).read_text()


def test_every_guarantee_names_a_test() -> None:
    """No numbered guarantee stands without proof."""
    numbered = re.findall(r"^\d+\. (.*?)(?=^\d+\. |\Z)", section("Guarantees"), re.M | re.S)

    assert len(numbered) >= 8
    assert all("`tests/" in each for each in numbered)
