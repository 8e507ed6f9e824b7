"""Inside an object: what is shown of its rows and schema, to whom, and what a hostile one costs."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import urllib.error
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka_s3.records import Record
from kafka_s3.settings.formats import Compression, Gzip, Zstd
from kafka_s3.settings.model import Settings
from tests.export.harness import MemoryExport
from tests.page.observed import BOUND_S, ObservedConnector
from tests.page.serving import Served, served
from tests.support import make_settings

pytestmark = pytest.mark.filterwarnings("ignore")

ON = {"KAFKA_S3_PAGE_SAMPLE_ROWS": "2"}
ROWS = [{"id": 1, "mail": "a@example.com"}, {"id": 2, "mail": "b@example.com"}, {"id": 3, "mail": "c@example.com"}]


def exported(folder: Path, settings: Settings | None = None) -> ObservedConnector:
    seen = ObservedConnector(folder, MemoryExport(settings=settings or make_settings()))
    for offset, row in enumerate(ROWS):
        seen.world.broker.append("orders", 0, Record(offset, json.dumps(row).encode(), timestamp_ms=1))
    seen.world.run()
    return seen


def sampled(seen: ObservedConnector, environment: dict[str, str] | None = None, place: int = 0) -> Any:
    from kafka_s3_airflow.page.inside import Inside, SampleWanted

    inside = Inside(seen.observer, {**ON, **(environment or {})})
    seen.later()
    answer = asyncio.run(_answer(inside, SampleWanted("orders", 1, place)))
    return answer.value if answer.value is not None else answer.error


async def _answer(inside: Any, wanted: Any) -> Any:
    for _ in range(BOUND_S):
        answer = await inside.answer(wanted)
        if answer.value is not None or answer.error is not None:
            return answer
    raise AssertionError("no answer")


def in_a_process(format: str, data: bytes, **more: Any) -> dict[str, Any]:
    import sys

    from kafka_s3_airflow.page.inside import in_a_process

    said = {"format": format, "compression": "none", "rows": 2, "hidden": [], "is_cut": False, "path": sys.path}
    return in_a_process({**said, **more}, data)


@pytest.mark.parametrize("compression", [None, Gzip(), Zstd()])
def test_the_first_rows_of_an_export(tmp_path: Path, compression: Compression | None) -> None:
    """As many rows as are allowed, of an object that a run wrote, compressed or not."""
    settings = make_settings() if compression is None else make_settings(compression=compression)
    found = sampled(exported(tmp_path, settings))
    assert [json.loads(each) for each in found["rows"]] == ROWS[:2]
    assert (found["why_not"], found["hidden"], found["schema"]) == (None, [], None)
    assert found["key"].startswith("topics/orders/partition=0/")


def test_avro_and_parquet_have_a_schema(tmp_path: Path) -> None:
    """Rows and the schema that the object has; of Avro also where only its beginning was read."""
    schema = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}
    avro, parquet = io.BytesIO(), io.BytesIO()
    fastavro.writer(avro, schema, [{"id": number} for number in range(5_000)], sync_interval=100)
    pq.write_table(pa.table({"id": [1, 2, 3], "raw": [b"a", b"\xff", b"c"]}), parquet)
    found = in_a_process("avro", avro.getvalue())
    assert (found["rows"], json.loads(found["schema"])["name"]) == (['{"id": 0}', '{"id": 1}'], "Order")
    assert in_a_process("avro", avro.getvalue()[:-500], is_cut=True, rows=20)["rows"][-1] == '{"id": 19}'
    found = in_a_process("parquet", parquet.getvalue())
    assert found["rows"] == ['{"id": 1, "raw": "base16:61"}', '{"id": 2, "raw": "base16:ff"}']
    assert "raw: binary" in found["schema"]


def test_hidden_fields_are_hidden(tmp_path: Path) -> None:
    """Fields that a transform masks or hashes, and those that the operator names, wherever they lie."""
    resolved = {
        "transforms.m.type": "org.apache.kafka.connect.transforms.MaskField$Value",
        "transforms.m.fields": "mail,card",
        "transforms.h.type": "io.aiven.kafka.connect.transforms.Hash$Value",
        "transforms.h.field.name": "person.tax",
        "transforms.r.type": "org.apache.kafka.connect.transforms.ReplaceField$Value",
        "transforms.r.exclude": "id",
    }
    seen = exported(tmp_path, replace(make_settings(), resolved=resolved))
    found = sampled(seen, {"KAFKA_S3_PAGE_SAMPLE_HIDDEN": "phone"})
    assert found["hidden"] == ["card", "mail", "phone", "tax"]
    assert json.loads(found["rows"][0]) == {"id": 1, "mail": "(hidden)"}
    assert "example.com" not in json.dumps(found)


@pytest.mark.parametrize("argument", ["SSECustomerKey", "SSEKMSKeyId"])
def test_nothing_of_what_is_encrypted_with_a_key(tmp_path: Path, argument: str) -> None:
    """Of a connector that encrypts with a key of the user's nothing is read."""
    plain = make_settings()
    seen = exported(tmp_path, replace(plain, s3=replace(plain.s3, put_arguments={argument: "k"})))
    found = sampled(seen)
    assert (found["rows"], found["schema"]) == ([], None)
    assert "encrypts" in found["why_not"]


def test_an_entry_names_no_object_of_others(tmp_path: Path) -> None:
    """An entry that somebody wrote names any key: what is no data key of the connector's topics is not read."""
    from msgspec.structs import replace as replaced

    from kafka_s3.log.documents import decode, encode
    from kafka_s3.log.entries import Entry

    seen = exported(tmp_path)
    store = seen.world.store
    store.put_if_absent("secrets/keys.json", b'{"password": "hunter22"}\n')
    key = seen.world.exporter.log.layout.log_key(1)
    entry = decode(Entry, key, store.contents()[key])
    (done,) = entry.ranges
    forged = replaced(done, objects=(replaced(done.objects[0], key="secrets/keys.json"),))
    store.overwrite(key, encode(replaced(entry, ranges=(forged,))))
    found = sampled(seen)
    assert isinstance(found, dict), found
    assert "does not name this object" in found["why_not"]
    assert "hunter22" not in json.dumps(found)


def bomb() -> bytes:
    return gzip.compress(b"[" * 200 * 1024 * 1024)


HOSTILE = {
    "a bomb": ("json", {"compression": "gzip"}, bomb),
    "deep JSON": ("json", {}, lambda: b"[" * 100_000 + b"]" * 100_000 + b"\n"),
    "deep rows": ("json", {}, lambda: b'{"a":' * 900 + b"1" + b"}" * 900 + b"\n"),
    "no JSON": ("json", {}, lambda: b"\xff\x00<script>\n"),
    "no gzip": ("json", {"compression": "gzip"}, lambda: b"plain"),
    "no Avro": ("avro", {}, lambda: b"Obj\x01" + b"\xff" * 1000),
    "Avro of itself": (
        "avro",
        {},
        lambda: _avro_of(b'{"type":"record","name":"a","fields":[{"name":"b","type":"a"}]}'),
    ),
    "no Parquet": ("parquet", {}, lambda: b"PAR1" + b"\xff" * 1000 + b"PAR1"),
    "nothing": ("parquet", {}, lambda: b""),
}


def _avro_of(schema: bytes) -> bytes:
    head = io.BytesIO()
    fastavro.schemaless_writer(head, {"type": "map", "values": "bytes"}, {"avro.schema": schema, "avro.codec": b"null"})
    return b"Obj\x01" + head.getvalue() + b"s" * 16 + b"\x02\x02\x00" + b"s" * 16


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_objects_are_one_sentence(name: str) -> None:
    """Whatever the bytes are, they are read in bounds, and what is said of them is a sentence without a traceback."""
    format, more, made = HOSTILE[name]
    found = in_a_process(format, made(), **more)
    assert len(json.dumps(found)) < 50_000
    assert "Traceback" not in json.dumps(found)
    if name not in ("deep rows",):
        assert found["error"].endswith(".")
        assert found["rows"] == []


def answer(page: Served, route: str, token: str) -> tuple[int, Any]:
    url = f"{page.url}/kafka-s3/api/connectors/orders/commits/1{route}"
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(request, timeout=60) as found:
            return found.status, json.load(found)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def test_off_by_default_and_for_who_may_edit(airflow_db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the setting there are no rows for anybody, with it there are for who may edit the DAG; a commit says
    whether the user may."""
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

    monkeypatch.delenv("KAFKA_S3_PAGE_SAMPLE_ROWS", raising=False)
    seen = exported(tmp_path)
    with served(seen.observer, monkeypatch) as page:
        editor = page.manager.generate_jwt(SimpleAuthManagerUser(username="editor", role="op"))
        off = [answer(page, route, editor) for route in ("/sample", "")]
        monkeypatch.setenv("KAFKA_S3_PAGE_SAMPLE_ROWS", "2")
        viewer = [answer(page, route, page.token) for route in ("/sample", "")]
        allowed = [answer(page, route, editor) for route in ("/sample", "", "/sample?place=9", "/sample?place=-1")]
    assert (off[0][0], off[1][1]["has_rows"]) == (404, False)
    assert (viewer[0][0], viewer[1][1]["has_rows"]) == (403, False)
    assert "example.com" not in json.dumps(viewer)
    assert (allowed[0][0], len(allowed[0][1]["rows"]), allowed[1][1]["has_rows"]) == (200, 2, True)
    assert allowed[2][1]["error"] == "Commit 1 has no object 9."
    assert allowed[3][0] == 422


def test_reasons_of_a_commit_are_grouped(tmp_path: Path) -> None:
    """The log's own reasons with how many records each has, without a letter being read."""
    from kafka_s3_airflow.page.observer import EntryWanted

    seen = ObservedConnector(tmp_path, MemoryExport(settings=make_settings(tolerate=True)))
    for offset in range(5):
        seen.world.broker.append("orders", 0, Record(offset, b"{" if offset % 2 else b"[", timestamp_ms=1))
    seen.world.run()
    seen.world.store.requests.clear()
    found: Any = asyncio.run(seen.observer.entry(EntryWanted("orders", 1), BOUND_S)).value
    assert sum(each["records"] for each in found["refusals"]["reasons"]) + found["refusals"]["others"] == 5
    assert found["refusals"]["reasons"][0]["stage"] == "VALUE_CONVERTER"
    assert not any("rejected/" in each.key for each in seen.world.store.requests)
