"""What the pages tell a reader to type: every command of `kafka-s3`, over real parts, in the order of the pages."""

from __future__ import annotations

import shlex
from importlib import import_module
from pathlib import Path

import duckdb
import pytest

from tests.cli.command import call
from tests.cli.conftest import ConnectorFile
from tests.house.pages import DOCS, blocks, page

FIRST = "tutorials/first-export.md"
MOVING = "tutorials/connect.md"
#: Pages whose commands need a connector that has exported something.
OVER_AN_EXPORT = sorted(
    str(path.relative_to(DOCS))
    for path in DOCS.rglob("*.md")
    if any(line.startswith("kafka-s3 ") for block in blocks(path.read_text(), "sh") for line in block.splitlines())
    and str(path.relative_to(DOCS)) not in (FIRST, MOVING)
)
#: Calls that end with 1: what is asked for is not needed in an export that is well, or something is found and shown.
FINDS = {"rewind --accept": "nothing is wrong with it", "sign": "--head "}


def commands(path: str) -> list[list[str]]:
    """The calls of `kafka-s3` that a page shows, without their comments."""
    lines = [line for block in blocks(page(path), "sh") for line in block.splitlines()]
    return [
        shlex.split(line.replace("<its SHA-256>", "SHA256"), comments=True)[1:]
        for line in lines
        if line.startswith("kafka-s3 ")
    ]


@pytest.fixture
def exported(connector: ConnectorFile) -> ConnectorFile:
    """Five records and two in the bucket, committed."""
    connector.produce(5)
    connector.produce(2, partition=1)
    assert call("run", connector.config, "--until-now", env=connector.env).exit_code == 0
    return connector


def run_of_page(exported: ConnectorFile, command: list[str]) -> None:
    """The command with this test's names in place of the page's; it has to do what the page says it does."""
    name, file, *options = command
    assert Path(file).stem in ("orders", "CONFIG"), command
    here = [each.replace("orders", exported.topic) if each.startswith("orders") else each for each in options]
    here = [each.replace("=1200", "=2") for each in here]
    if "--spark" in here:  # the clusters have tests of their own: here the call has to be right
        import_module(f"kafka_s3.cli.{name}").command.make_context(name, [str(exported.config), *here])
        return
    if name == "adopt":  # as the page has it: data without a log
        for key in exported.keys("_kafka_s3/"):
            exported.client.delete_object(Bucket=exported.bucket, Key=key)
    if name == "sign":
        text = exported.config.read_text()
        exported.config.write_text(
            text + "export.log.key=a-key-of-the-pages-that-is-long-enough\n" * ("log.key" not in text)
        )
        if "SHA256" in here:
            shown = call("sign", exported.config, env=exported.env).stdout.split("--head ")[1].split()[0]
            here = [shown if each == "SHA256" else each for each in here]
    done = call(name, exported.config, *here, env=exported.env, input="y\n")
    finds = FINDS.get(" ".join([name, *(each for each in options if each.startswith("--"))]))
    assert (done.exit_code == 0) == (finds is None), (command, done.output)
    assert finds is None or finds in done.output, (command, done.output)


@pytest.mark.parametrize("path", OVER_AN_EXPORT)
def test_the_commands_of_a_page_run(exported: ConnectorFile, path: str) -> None:
    """Every call of `kafka-s3` on a page works in the order of the page."""
    for command in commands(path):
        if command and command[0] != "--version":
            run_of_page(exported, command)


def test_the_first_tutorial_ends_as_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its connector is valid, its records become objects, and DuckDB finds the table that the page shows."""
    monkeypatch.chdir(tmp_path)
    text = page(FIRST)
    (tmp_path / "orders.properties").write_text(blocks(text, "properties")[0])
    (tmp_path / "orders.jsonl").write_text(blocks(text, "json")[0])
    for command in commands(FIRST):
        done = call(*command)
        assert done.exit_code == 0, done.output
    rows = [" | ".join(map(str, row)) for row in duckdb.connect().execute(blocks(text, "sql")[0]).fetchall()]
    assert rows
    assert all(f"| {row} |" in text for row in rows)


def test_the_move_from_connect_goes_as_it_says(
    exported: ConnectorFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer of Connect's REST API is a valid connector, and what follows adopts and runs."""
    monkeypatch.chdir(tmp_path)
    answer, records = blocks(page(MOVING), "json")
    (tmp_path / "orders.json").write_text(answer)
    (tmp_path / "records.jsonl").write_text(records)
    asked, previewed, *moved = commands(MOVING)
    for command in (asked, previewed):
        done = call(*command, "--worker", tmp_path / "worker.properties")
        assert done.exit_code == 0, done.output
    for command in moved:
        run_of_page(exported, command)
