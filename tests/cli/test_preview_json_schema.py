"""`kafka-s3 preview` of JSON under JSON Schemas: those of a folder in the place of a registry."""

import base64
import json
from pathlib import Path
from uuid import UUID

from click.testing import Result

from tests.cli.command import PLAIN, call, write_properties

JSON_SCHEMA = {
    "value.converter": "io.confluent.connect.json.JsonSchemaConverter",
    "value.converter.schema.registry.url": "http://none:1",
}
ORDER = {"type": "object", "properties": {"n": {"type": "integer"}, "c": {"$ref": "shop/country.json"}}}
COUNTRY = {"type": "object", "properties": {"code": {"type": "string"}}}


def _preview(folder: Path, body: bytes, *more: object) -> Result:
    plain = {name: value for name, value in PLAIN.items() if not name.startswith("value.converter")}
    config = write_properties(folder / "orders.properties", plain | JSON_SCHEMA)
    records = folder / "records.jsonl"
    value = base64.b64encode(b"\0\0\0\0\x07" + body).decode()
    records.write_text(json.dumps({"offset": 0, "value_base64": value}) + "\n")
    return call("preview", config, "--records", records, *more)


def _schemas(folder: Path) -> Path:
    schemas = folder / "schemas"
    (schemas / "shop").mkdir(parents=True)
    (schemas / "7.json").write_text(json.dumps(ORDER))
    return schemas


def test_a_schema_with_a_reference(tmp_path: Path) -> None:
    """<id>.json is the schema of its id; what it refers to lies under its path in the same folder."""
    schemas = _schemas(tmp_path)
    (schemas / "shop" / "country.json").write_text(json.dumps(COUNTRY))
    result = _preview(tmp_path, b'{"n": 5, "c": {"code": "NZ"}}', "--schemas", schemas, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    body = (tmp_path / "out" / json.loads(result.stdout)["key"]).read_bytes()
    assert json.loads(body) == {"n": 5, "c": {"code": "NZ"}}


def test_a_schema_whose_reference_is_missing(tmp_path: Path) -> None:
    """The record is refused, and what is missing is named."""
    result = _preview(tmp_path, b"{}", "--schemas", _schemas(tmp_path))
    assert result.exit_code == 1
    assert "it refers to shop/country.json" in json.loads(result.stdout)["rejected"]["error"]


def test_a_schema_of_glue(tmp_path: Path) -> None:
    """<id of a version>.json is that version of AWS Glue; what reads it is Glue's converter, by its full name."""
    id = UUID(int=7)
    (tmp_path / f"{id}.json").write_text(json.dumps({"type": "object", "properties": {"n": {"type": "integer"}}}))
    glue = {"value.converter": "com.amazonaws.services.schemaregistry.kafkaconnect.jsonschema.JsonSchemaConverter"}
    plain = {name: value for name, value in PLAIN.items() if not name.startswith("value.converter")}
    config = write_properties(tmp_path / "orders.properties", plain | glue)
    records = tmp_path / "records.jsonl"
    value = base64.b64encode(b"\3\0" + id.bytes + b'{"n": 5}').decode()
    records.write_text(json.dumps({"offset": 0, "value_base64": value}) + "\n")
    result = call("preview", config, "--records", records, "--schemas", tmp_path, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "out" / json.loads(result.stdout)["key"]).read_bytes() == b'{"n":5.0}\n'


def test_schemas_that_are_not_given(tmp_path: Path) -> None:
    """Without a folder the command says what it needs; a file that is not JSON is refused by its name."""
    refused = _preview(tmp_path, b"")
    assert refused.exit_code == 2
    assert "Schemas are read by JsonSchemaConverter: give them as --schemas DIR with <id>.json." in refused.stderr
    (tmp_path / "7.json").write_text("{")
    broken = _preview(tmp_path, b"", "--schemas", tmp_path)
    assert "7.json is not JSON" in broken.stderr
    assert "Write an Avro schema" not in broken.stderr
