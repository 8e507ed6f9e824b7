"""`kafka-s3 preview`: one JSON line an object and a rejected record, to the letter."""

import base64
import gzip
import json
from pathlib import Path

import pytest
from click.testing import Result

from tests.cli.command import PLAIN, call, call_process, write_properties


def _preview(folder: Path, lines: list[object], *more: object, **properties: str) -> Result:
    config = write_properties(
        folder / "orders.properties", PLAIN | {name.replace("_", "."): value for name, value in properties.items()}
    )
    records = folder / "records.jsonl"
    records.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return call("preview", config, "--records", records, *more)


def _body(folder: Path, value: object) -> bytes:
    """The body of the object that one record makes, through ByteArrayFormat: the value's exact bytes and \\n."""
    result = _preview(
        folder,
        [value],
        "--out",
        folder / "out",
        format_class="io.confluent.connect.s3.format.bytearray.ByteArrayFormat",
        value_converter="org.apache.kafka.connect.converters.ByteArrayConverter",
    )
    assert result.exit_code == 0, result.output
    return (folder / "out" / json.loads(result.stdout)["key"]).read_bytes()


def test_the_lines_of_a_preview(tmp_path: Path) -> None:
    """A golden file: one JSON line an object, with Connect's keys, in the order of closing, then of opening."""
    lines: list[object] = [{"offset": offset, "value": {"n": offset}} for offset in range(4)]
    lines.insert(1, {"offset": 10, "partition": 2, "value": {"n": 10}})
    result = _preview(tmp_path, lines)
    assert result.exit_code == 0
    assert result.stderr == ""
    keys = "topics/orders/partition={0}/orders+{0}+{1:010d}.json"
    assert [json.loads(line) for line in result.stdout.splitlines()] == [
        {
            "key": keys.format(0, 0),
            "records": 3,
            "first_offset": 0,
            "last_offset": 2,
            "bytes": 24,
            "closed_by": "flush.size",
        },
        {
            "key": keys.format(2, 10),
            "records": 1,
            "first_offset": 10,
            "last_offset": 10,
            "bytes": 9,
            "closed_by": "end_of_range",
        },
        {
            "key": keys.format(0, 3),
            "records": 1,
            "first_offset": 3,
            "last_offset": 3,
            "bytes": 8,
            "closed_by": "end_of_range",
        },
    ]


def test_out_holds_the_bodies_under_their_keys(tmp_path: Path) -> None:
    """--out writes each object as the bucket would hold it; `bytes` is its size."""
    result = _preview(tmp_path, [{"offset": 0, "value": [1, 2]}], "--out", tmp_path / "out", s3_compression_type="gzip")
    made = json.loads(result.stdout)
    assert made["key"] == "topics/orders/partition=0/orders+0+0000000000.json.gz"
    body = (tmp_path / "out" / made["key"]).read_bytes()
    assert gzip.decompress(body) == b"[1,2]\n"
    assert made["bytes"] == len(body)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('{"offset": 0, "value": {"a": [1, 2.50, "x y"]}}', b'{"a":[1,2.50,"x y"]}'),
        ('{"offset": 0, "value": "text"}', b'"text"'),
        ('{"offset": 0, "value": 1e400}', b"1e400"),
        ('{"offset": 0, "value": "\\u00e9 é"}', '"\\u00e9 é"'.encode()),
        ('{"offset": 0, "value": false}', b"false"),
        ({"offset": 0, "value_base64": base64.b64encode(b"\xff\x00{").decode()}, b"\xff\x00{"),
        ({"offset": 0, "value_base64": ""}, b""),
        ({"offset": 0, "value_base64": "bnVsbA=="}, b"null"),
    ],
)
def test_a_value_is_its_compact_serialisation_or_exact_bytes(tmp_path: Path, value: object, expected: bytes) -> None:
    """Any JSON becomes its bytes without white space, digits and escapes as written; base64 is taken as it is."""
    assert _body(tmp_path, value) == expected + b"\n"


@pytest.mark.parametrize("record", [{"offset": 4}, {"offset": 4, "value": None}])
def test_null_and_absent_are_tombstones(tmp_path: Path, record: object) -> None:
    """A record without a value is a tombstone: passed over where that is allowed, refused where it is not."""
    ignored = _preview(tmp_path, [record], behavior_on_null_values="ignore")
    assert (ignored.exit_code, ignored.stdout) == (0, "")
    refused = _preview(tmp_path, [record])
    assert refused.exit_code == 1
    assert json.loads(refused.stdout)["rejected"]["offset"] == 4


def test_every_field_of_a_record_is_taken(tmp_path: Path) -> None:
    """Topic, partition, timestamp, key and headers are accepted in all their forms."""
    full = {
        "offset": 7,
        "topic": "other",
        "partition": 3,
        "timestamp": 1767225600000,
        "key": {"id": 1},
        "value": 1,
        "headers": [["a", "b"], ["c", None], ["d", {"e": 1}]],
    }
    result = _preview(
        tmp_path, [full, {"offset": 1, "timestamp": None, "key_base64": "AA==", "value": 2}], topics="a,other"
    )
    assert [json.loads(line)["key"] for line in result.stdout.splitlines()] == [
        "topics/other/partition=3/other+3+0000000007.json",
        "topics/a/partition=0/a+0+0000000001.json",
    ]


def test_a_bad_record_ends_with_status_1_and_one_line(tmp_path: Path) -> None:
    """errors.tolerance=none: what precedes is printed, the record is named on stderr in one line, exit status 1."""
    lines = [{"offset": 0, "value": 1}, {"offset": 1, "value_base64": "ew=="}, {"offset": 2, "value": 3}]
    result = _preview(tmp_path, list(lines))
    assert result.exit_code == 1
    made, refused = (json.loads(line) for line in result.stdout.splitlines())
    assert (made["records"], made["closed_by"]) == (1, "end_of_range")
    assert refused["rejected"].keys() == {"topic", "partition", "offset", "error"}
    assert (refused["rejected"]["topic"], refused["rejected"]["offset"]) == ("orders", 1)
    assert len(result.stderr.splitlines()) == 1
    assert "topic orders partition 0 offset 1" in result.stderr


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["{"], "line 1"),
        (["[]"], "line 1"),
        ([{"value": 1}], "offset"),
        ([{"offset": -1}], "offset -1"),
        ([{"offset": 2**63}], "line 1"),
        ([{"offset": "0"}], "line 1"),
        ([{"offset": 1, "vlaue": 1}], "vlaue"),
        ([{"offset": 1}, {"offset": 1}], "line 2: offset 1 of orders-0 comes after 1"),
        ([{"offset": 5}, "", {"offset": 4}], "line 3"),
        ([{"offset": 0, "partition": -1}], "partition -1"),
        ([{"offset": 0, "topic": "another"}], "'another' is not one of the connector's"),
        ([{"offset": 0, "value": 1, "value_base64": ""}], "both value and value_base64"),
        ([{"offset": 0, "key_base64": "=="}], "key_base64 is not base64"),
        ([{"offset": 0, "headers": ["a"]}], "line 1"),
        (['{"offset": 0, "value": NaN}'], "line 1"),
        (['{"offset": 0, "value": ' + "[" * 100_000 + "]" * 100_000 + "}"], "line 1"),
        (["\x00"], "line 1"),
        (['{"offset": 0, "value": "\\ud800"}'], "line 1: \\ud800 is half a surrogate pair"),
        (['{"offset": 0, "key": "\\ud83d\\ude00", "value": ["\\udC00x"]}'], "line 1: \\udC00 is half a surrogate pair"),
        (['{"offset": 0, "topic": "\\ud83d\\ud83d\\ude00"}'], "line 1: \\ud83d is half a surrogate pair"),
        (['{"offset": 0, "value": "\\\\ud800"'], "truncated"),
    ],
)
def test_bad_input_is_status_2_and_names_the_line(tmp_path: Path, lines: list[object], said: str) -> None:
    """A line that is not a record is a usage error with its number; nothing is printed or written."""
    result = _preview(tmp_path, lines, "--out", tmp_path / "out", behavior_on_null_values="ignore")
    assert result.exit_code == 2, result.output
    assert said in result.stderr
    assert result.stdout == ""
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("topics_dir", ["..", "../..", "a/../../b", "/tmp/absolute"])
def test_no_key_leads_out_of_the_folder(tmp_path: Path, topics_dir: str) -> None:
    """A configuration whose keys climb out of --out writes nothing and says which key."""
    out = tmp_path / "deep" / "out"
    result = _preview(tmp_path, [{"offset": 0, "value": 1}], "--out", out, topics_dir=topics_dir)
    assert result.exit_code == 1
    assert "orders+0+0000000000.json" in result.stderr or "topics.dir" in result.stderr
    assert not out.exists()
    assert sorted(path.name for path in tmp_path.rglob("*.json")) == []


def test_no_link_leads_out_of_the_folder(tmp_path: Path) -> None:
    """A link that lies in --out is not followed to another place."""
    (tmp_path / "out").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out" / "topics").symlink_to(tmp_path / "elsewhere")
    result = _preview(tmp_path, [{"offset": 0, "value": 1}], "--out", tmp_path / "out")
    assert result.exit_code == 1
    assert "link" in result.stderr
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_records_may_come_from_standard_input(tmp_path: Path) -> None:
    """--records - reads the records from standard input."""
    config = write_properties(tmp_path / "orders.properties", PLAIN)
    result = call("preview", config, "--records", "-", input='{"offset": 0, "value": 1}\n')
    assert json.loads(result.stdout)["records"] == 1


def test_preview_needs_nothing_but_files(tmp_path: Path) -> None:
    """As a process: no broker, bucket, variable or Spark is needed, and the options of later settings are taken."""
    config = write_properties(tmp_path / "orders.properties", {**PLAIN, "store.url": "${env:NOT_SET}"})
    (tmp_path / "records.jsonl").write_text('{"offset": 0, "value": 1}\n')
    (tmp_path / "schemas").mkdir()
    result = call_process(
        *("preview", config, "--records", tmp_path / "records.jsonl"),
        *("--at", "2026-03-01T13:00:00+01:00", "--schemas", tmp_path / "schemas"),
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert json.loads(result.stdout)["records"] == 1
