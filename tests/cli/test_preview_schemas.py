"""`kafka-s3 preview` of JSON whose schema is inferred: what it shows, and the file that it writes."""

import json
from pathlib import Path

import fastavro
from click.testing import Result

from tests.cli.command import PLAIN, call, write_properties

INFER = {"format.class": "io.confluent.connect.s3.format.avro.AvroFormat", "export.value.schema": "infer"}
LINES = [{"offset": 0, "value": {"id": 1}}, {"offset": 1, "value": {"id": 2, "name": "a"}}]


def _preview(folder: Path, lines: list[dict[str, object]], *more: object, **properties: str) -> Result:
    given = {name.replace("_", "."): value for name, value in properties.items()}
    config = write_properties(folder / "orders.properties", {**PLAIN, **INFER, **given})
    records = folder / "records.jsonl"
    records.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return call("preview", config, "--records", records, *more)


def test_the_schema_comes_first(tmp_path: Path) -> None:
    """One line a topic with its schema, then the objects, which are written under it."""
    result = _preview(tmp_path, LINES, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    first, second = (json.loads(line) for line in result.stdout.splitlines())
    assert first["topic"] == "orders"
    assert [each["name"] for each in first["schema"]["fields"]] == ["id", "name", "_rest"]
    with (tmp_path / "out" / second["key"]).open("rb") as body:
        assert list(fastavro.reader(body)) == [
            {"id": 1, "name": None, "_rest": None},
            {"id": 2, "name": "a", "_rest": None},
        ]


def test_a_written_schema_can_be_used(tmp_path: Path) -> None:
    """--write-schema makes a file for export.value.schema.file, by which the same records are read."""
    file = tmp_path / "orders.avsc"
    assert _preview(tmp_path, LINES, "--write-schema", file).exit_code == 0
    assert [each["name"] for each in json.loads(file.read_text())["fields"]] == ["id", "name"]
    config = {"export.value.schema": "", "export.value.schema.file": "orders.avsc"}
    given = {name.replace(".", "_"): value for name, value in config.items()}
    result = _preview(tmp_path, LINES, **given)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["records"] == 2


def test_write_schema_is_for_one(tmp_path: Path) -> None:
    """Without inference there is no schema to write, and of several topics there are several."""
    two = [*LINES, {"offset": 0, "topic": "refunds", "value": {"id": 1}}]
    result = _preview(tmp_path, two, "--write-schema", tmp_path / "x", topics="orders,refunds")
    assert result.exit_code == 2
    assert "the records are of 2 topics" in result.stderr
    result = _preview(tmp_path, LINES, "--write-schema", tmp_path / "x", export_value_schema="")
    assert result.exit_code == 2
    assert "needs export.value.schema=infer" in result.stderr
