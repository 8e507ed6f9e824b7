"""`kafka-s3 preview` of Protobuf: schemas of a folder in the place of a registry."""

import base64
import json
from pathlib import Path
from uuid import UUID

from click.testing import Result

from tests.cli.command import PLAIN, call, write_properties

PROTOBUF = {
    "value.converter": "io.confluent.connect.protobuf.ProtobufConverter",
    "value.converter.schema.registry.url": "http://none:1",
}
ORDER = 'syntax = "proto3"; package shop; import "shop/country.proto"; message Order { int32 n = 1; Country c = 2; }'
COUNTRY = 'syntax = "proto3"; package shop; message Country { string code = 1; }'


def _preview(folder: Path, body: bytes, *more: object, converter: dict[str, str] = PROTOBUF) -> Result:
    plain = {name: value for name, value in PLAIN.items() if not name.startswith("value.converter")}
    config = write_properties(folder / "orders.properties", plain | converter)
    records = folder / "records.jsonl"
    value = base64.b64encode(b"\0\0\0\0\x07\0" + body).decode()
    records.write_text(json.dumps({"offset": 0, "value_base64": value}) + "\n")
    return call("preview", config, "--records", records, *more)


def test_a_proto_with_an_import(tmp_path: Path) -> None:
    """<id>.proto is the schema of its id; what it imports lies under its path in the same folder."""
    schemas = tmp_path / "schemas"
    (schemas / "shop").mkdir(parents=True)
    (schemas / "7.proto").write_text(ORDER)
    (schemas / "shop" / "country.proto").write_text(COUNTRY)
    result = _preview(tmp_path, b"\x08\x05\x12\x04\x0a\x02NZ", "--schemas", schemas, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    body = (tmp_path / "out" / json.loads(result.stdout)["key"]).read_bytes()
    assert body == b'{"n":5,"c":{"code":"NZ"}}\n'


def test_a_proto_of_glue(tmp_path: Path) -> None:
    """<id of a version>.proto is that version of AWS Glue; what reads it is Glue's converter."""
    id = UUID(int=7)
    (tmp_path / f"{id}.proto").write_text(COUNTRY)
    glue = {"value.converter": "com.amazonaws.services.schemaregistry.kafkaconnect.protobuf.ProtobufSchemaConverter"}
    plain = {name: value for name, value in PLAIN.items() if not name.startswith("value.converter")}
    config = write_properties(tmp_path / "orders.properties", plain | glue)
    records = tmp_path / "records.jsonl"
    value = base64.b64encode(b"\3\0" + id.bytes + b"\0\x0a\x02NZ").decode()
    records.write_text(json.dumps({"offset": 0, "value_base64": value}) + "\n")
    result = call("preview", config, "--records", records, "--schemas", tmp_path, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "out" / json.loads(result.stdout)["key"]).read_bytes() == b'{"code":"NZ"}\n'


def test_a_proto_whose_import_is_missing(tmp_path: Path) -> None:
    """The record is refused, and the import is named."""
    schemas = tmp_path / "schemas"
    schemas.mkdir()
    (schemas / "7.proto").write_text(ORDER)
    result = _preview(tmp_path, b"", "--schemas", schemas)
    assert result.exit_code == 1
    assert (
        "it imports shop/country.proto, which is not among its references"
        in json.loads(result.stdout)["rejected"]["error"]
    )


def test_schemas_that_are_not_given(tmp_path: Path) -> None:
    """Without a folder the command says what it needs; two schemas of one id are refused."""
    refused = _preview(tmp_path, b"")
    assert refused.exit_code == 2
    assert "Schemas are read by ProtobufConverter: give them as --schemas DIR with <id>.proto." in refused.stderr
    (tmp_path / "7.proto").write_text(COUNTRY)
    (tmp_path / "7.avsc").write_text('"int"')
    twice = _preview(tmp_path, b"", "--schemas", tmp_path)
    assert "7.proto has the id of another schema, 7." in twice.stderr
