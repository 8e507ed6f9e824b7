"""The documentation says what is so: its commands, its keys and the tests that it names exist."""

import json
import re
from pathlib import Path

import pytest

from kafka_s3.bucket.window import of_window
from kafka_s3.dead_letter import reported_key
from kafka_s3.log.entries import Interval
from kafka_s3.naming import DataName, KeyLayout, LogLayout, format_data_key, format_epoch, marker_key
from tests.cli.command import call
from tests.house.pages import PAGES, ROOT, blocks, name_of, page
from tests.support import MINIMAL, make_settings

README = (ROOT / "README.md").read_text()
GUARANTEES = page("reference/guarantees.md")


def test_readme_is_short() -> None:
    """README stays below 150 lines; the rest is in docs/."""
    assert len(README.splitlines()) < 150


def test_the_make_targets_of_the_pages_exist() -> None:
    """Every `make` command that a page names is a target of the Makefile."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    texts = [each.read_text() for each in PAGES]
    written = [*texts, *(f"`{line}" for text in texts for block in blocks(text, "sh") for line in block.splitlines())]
    named = {name for text in written for name in re.findall(r"`make ([a-z-]+)", text)}

    assert {"demo", "test", "test-all", "ui"} <= named
    assert named <= targets


def test_the_table_of_commands_is_the_command_line() -> None:
    """The table of commands lists exactly the commands of `kafka-s3`, and each has help."""
    from kafka_s3.cli import COMMANDS

    named = set(re.findall(r"^\| `kafka-s3 ([a-z]+)", page("reference/commands.md"), re.M))

    assert named == set(COMMANDS)
    for name in named:
        assert f"Usage: main {name} " in call(name, "--help").stdout


def test_the_keys_of_the_bucket_are_those_of_the_code() -> None:
    """The page's keys, with its placeholders filled in, are the keys that the naming functions make."""
    table = page("concepts/bucket.md")
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


def test_the_reference_is_that_of_the_code() -> None:
    """The reference is what the code says now; `python -m tools.reference` writes it anew."""
    from tools.reference import stale

    assert [str(path) for path in stale()] == []


def test_the_sinks_properties_are_in_the_reference() -> None:
    """Each of the sink's 68 has one importance and a row here; what differs is named of its properties alone."""
    from kafka_s3.settings.catalogue import PROPERTIES
    from tools.reference import sink

    names = [*sink.HIGH, *sink.MEDIUM, *sink.LOW]
    assert len(names) == len(set(names)) == 68
    assert set(names) <= PROPERTIES.keys()
    assert sink.DIFFERENCES.keys() <= set(names)


def test_the_pages_own_classes_are_what_the_engine_asks_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The classes that the page shows are found by their path, have the methods, and make paths, times and bytes."""
    from kafka_s3.adapters.s3.credentials import session_for
    from kafka_s3.ranges import TopicPartition
    from kafka_s3.records import ColumnBatch, Record
    from kafka_s3.settings import from_mapping
    from kafka_s3.settings.formats import NoCompression
    from kafka_s3.settings.loading import USER_DEFINED_METHODS
    from kafka_s3.user_defined import find_class
    from kafka_s3.values.formats.user_defined import UserDefinedFormat
    from kafka_s3.values.partitioners.user_defined import UserDefinedPaths, UserDefinedTimes
    from kafka_s3.values.rows import Lines

    [code] = blocks(page("how-to/classes.md"), "python")
    (tmp_path / "pages_own.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    classes = dict(re.findall(r"^class (\w+):  # ([\w.]+)", code, re.M))
    assert set(classes.values()) == USER_DEFINED_METHODS.keys()
    for name, property_name in classes.items():
        assert find_class(f"pages_own:{name}", *USER_DEFINED_METHODS[property_name])
    records = [
        Record(0, b"abc", key=b"17", timestamp_ms=7),
        Record(1, b"", key=b"../x", timestamp_ms=8),
        Record(2, b""),
    ]
    batch, rows = ColumnBatch(TopicPartition("t", 0), records), Lines([b"abc", b"", b""])
    paths = UserDefinedPaths("pages_own:ByCustomer", {})(batch, rows)
    assert (paths.each, set(paths.bad)) == (["customer=17", "", ""], {1, 2})
    assert UserDefinedTimes("pages_own:OrderTime", {})(batch, rows).each[:2] == [7, 8]
    encoder = UserDefinedFormat("pages_own:Framed", NoCompression()).open(None)
    assert encoder.encode(Lines([b"abc"]), 0, 1)[0] == b"\0\0\0\x03abc"
    keys = {"id": "ours", "secret": "s", "token": None, "expires_at": "2999-01-01T00:00:00+00:00"}
    (file := tmp_path / "keys.json").write_text(json.dumps(keys))
    own = {"s3.credentials.provider.class": "pages_own:KeysOfFile", "s3.credentials.provider.keys.file": str(file)}
    given = session_for(from_mapping({**MINIMAL, **own}, offline=True).settings.s3).get_credentials()
    assert given is not None
    assert given.access_key == "ours"


def test_the_connector_of_the_page_of_formats_loads() -> None:
    """The configuration that the page shows is right as it stands, and nothing in it goes unread."""
    from kafka_s3.settings import from_mapping

    given = dict(line.split("=", 1) for line in blocks(page("how-to/formats.md"), "properties")[0].splitlines())
    loaded = from_mapping(given, offline=True)
    assert [row for row in loaded.report if row.name in given and row.ignored] == []


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_the_tests_that_a_page_names_exist(path: Path) -> None:
    """Each test file that a page names exists and holds the test that it names."""
    for file, test in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", path.read_text()):
        assert not test or f"def {test}(" in (ROOT / file).read_text(), f"{file}::{test}"
        assert (ROOT / file).exists(), file


def test_every_guarantee_names_a_test() -> None:
    """No numbered guarantee stands without proof, and no number is missing."""
    numbered = re.findall(r"^\d+\. (.*?)(?=^\d+\. |\Z)", GUARANTEES, re.M | re.S)

    counted = [int(number) for number in re.findall(r"^(\d+)\. ", GUARANTEES, re.M)]
    assert counted == list(range(1, len(numbered) + 1))
    assert len(numbered) >= 8
    assert all(re.search(r"`tests/[\w/]+\.py::\w+`", each) for each in numbered)
