"""Configuration files: Java's properties and Connect's JSON."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_s3.errors import ConfigurationError
from kafka_s3.settings.files import parse_json, parse_properties, read

_TEXT = st.text(st.characters(exclude_categories=["Cs"]))


def _write(properties: dict[str, str]) -> str:
    """A text in Java's syntax: everything that could mean something is escaped."""

    def escape(text: str) -> str:
        out = ""
        for character in text:
            if character.isascii() and character.isalnum():
                out += character
            elif (character.isascii() and character.isprintable()) or (ord(character) > 0x7F and ord(character) % 2):
                out += f"\\{character}" if character.isascii() else character
            else:
                raw = character.encode("utf-16-be")
                out += "".join(f"\\u{raw[at : at + 2].hex()}" for at in range(0, len(raw), 2))
        return out

    return "".join(f"{escape(key)}={escape(value)}\n" for key, value in properties.items())


@given(st.dictionaries(_TEXT.filter(bool), _TEXT))
def test_what_is_written_is_read_back(properties: dict[str, str]) -> None:
    """parse(write(properties)) is the properties, whatever characters are in them."""
    assert parse_properties(_write(properties), "f") == properties


@given(_TEXT)
def test_any_text_is_read_or_refused(text: str) -> None:
    """No text breaks the parser with anything but a ConfigurationError."""
    try:
        parse_properties(text, "f")
        parse_json(text, "f")
    except ConfigurationError:
        pass


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1\nb:2\nc 3\nd\n", {"a": "1", "b": "2", "c": "3", "d": ""}),
        ("  a \t=  1 \t\n", {"a": "1 \t"}),
        ("# one\n  ! two\n\na=#3\n", {"a": "#3"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=x,\\\n    y,\\\r\n\tz", {"a": "x,y,z"}),
        ("a=1\\\n# no comment\nb=2", {"a": "1# no comment", "b": "2"}),
        ("# no \\\na=1", {"a": "1"}),
        ("\\\n# comment\na=1", {"a": "1"}),
        ("a=1\\", {"a": "1"}),
        ("a=1\\\\\nb=2", {"a": "1\\", "b": "2"}),
        ("a=1\\\n\nb=2", {"a": "1", "b": "2"}),
        ("a\\=b\\:c\\ d=e", {"a=b:c d": "e"}),
        ("a==b", {"a": "=b"}),
        ("a = = b", {"a": "= b"}),
        ("separator=\\n", {"separator": "\n"}),
        ("separator=\\u0001\\t\\q", {"separator": "\x01\tq"}),
        ("a=\\ud83d\\ude00", {"a": "\U0001f600"}),
        ("a=\\\\u0041", {"a": "\\u0041"}),
        ("a=x\u2028y\x0bz\x85", {"a": "x\u2028y\x0bz\x85"}),
        ("a=1\rb=2", {"a": "1", "b": "2"}),
        ("", {}),
    ],
)
def test_javas_syntax(text: str, expected: dict[str, str]) -> None:
    """Comments, separators, continuation, escapes and blanks mean what java.util.Properties makes of them."""
    assert parse_properties(text, "f") == expected


@pytest.mark.parametrize("text", ["a=\\u12", "a=\\uzzzz", "a=\\ud83d", "\\u1=2"])
def test_a_broken_escape_is_refused_with_its_line(text: str) -> None:
    """A \\u escape that is not a character is an error that names file and line, not the text."""
    with pytest.raises(ConfigurationError, match="f line 2"):
        parse_properties(f"# first\n{text}", "f")


def test_connects_json_and_flat_json_are_the_same() -> None:
    """The form of Connect's REST interface and a flat object give the same texts; null is unset."""
    config = {"topics": "a", "tasks.max": 2, "s3.send.digest": False, "locale": None, "flush.size": "3"}
    expected = {"name": "n", "topics": "a", "tasks.max": "2", "s3.send.digest": "false", "flush.size": "3"}
    wrapped = json.dumps({"name": "n", "config": config, "tasks": []})
    assert parse_json(wrapped, "f").properties == expected
    assert parse_json(json.dumps({"name": "n", **config}), "f").properties == expected


def test_numbers_in_json_keep_their_text() -> None:
    """A number is the text it was written as, so that no digit is lost on the way."""
    text = '{"a": 9223372036854775807, "b": 1e3, "c": 0.10}'
    assert parse_json(text, "f").properties == {"a": "9223372036854775807", "b": "1e3", "c": "0.10"}


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        ('{"a": "1", "a": "2"}', "a", "given twice"),
        ('{"a": ["x"]}', "a", "must be a text"),
        ('{"a": {"b": 1}}', "a", "must be a text"),
        ('{"name": "x", "config": {"name": "y"}}', "name", "differs"),
        ('{"config": {"a": 1}, "topics": "t"}', "topics", "move it inside"),
    ],
)
def test_what_is_wrong_with_one_property_of_json_is_a_problem(text: str, name: str, said: str) -> None:
    """Duplicate keys, nested values and stray names are problems of a property, reported with all others."""
    (problem,) = parse_json(text, "f").problems
    assert problem.name == name
    assert said in problem.message


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.json", b'{"a": "canary" oops', "is not JSON: .* line 1"),
        ("a.json", b'["canary"]', "is not a JSON object"),
        ("a.json", b"[" * 200_000, "nested too deeply|is not JSON"),
        ("a.json", b"{}", "holds no property"),
        ("a.json", b"", "is not JSON"),
        ("a.properties", b"", "holds no property"),
        ("a.properties", b"# only this\n", "holds no property"),
        ("a.properties", b"a=canary\xff", "is not UTF-8 .at byte 8"),
        ("a.properties", b"a=" + b"canary" * 200_000, "larger than 1048576 bytes"),
        ("a.toml", b"a = 'canary'", "has to end in one of .properties, .json, .yaml, .yml"),
        ("a.yaml", b"a: canary", "one manifest of kind KafkaConnector; it holds 0"),
        ("a.yaml", b"", "it holds 0"),
        ("a.yml", b"kind: KafkaConnector\n---\nkind: KafkaConnector", "it holds 2.\\nWrite .*a file of its own"),
        ("a.yaml", b"kind: KafkaConnector", "holds no property"),
        ("a.yaml", b"a: *canary", "is not YAML: found undefined alias at line 1, column 4"),
        ("a.yaml", b"a: 'canary", "is not YAML: .* at line 1"),
        ("a.yaml", b"a: \x07canary", "a character that YAML does not allow"),
        ("a.yaml", b"[" * 5_000, "nested too deeply"),
        ("a.json", b'{"a": {"info": {"config": {}}}, "b": {"info": {"config": {}}}}', "holds 2 connectors: a, b"),
    ],
)
def test_a_file_that_is_none_is_refused_in_a_sentence(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    """A file that cannot be read as configuration is a ConfigurationError that names it and holds none of it."""
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=said) as raised:
        read(path)
    assert name in str(raised.value)
    assert "canary" not in repr(raised.value)
    assert raised.value.__context__ is None  # a traceback would print the library's error, a dump its document


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    """What cannot be opened is a ConfigurationError that says why."""
    with pytest.raises(ConfigurationError, match="cannot be read: No such file"):
        read(tmp_path / "none.json")
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read(tmp_path / "folder.json")


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path: Path) -> None:
    """A file saved with a byte order mark reads as one without."""
    path = tmp_path / "a.properties"
    path.write_bytes(b"\xef\xbb\xbfname=x\n")
    assert read(path).properties == {"name": "x"}


@pytest.mark.parametrize("suffix", [".properties", ".PROPERTIES", ".json", ".JSON", ".yaml", ".Yml"])
def test_a_suffix_may_be_in_capital_letters(tmp_path: Path, suffix: str) -> None:
    """The kind of a file goes by its suffix, whatever the case of its letters."""
    content = {
        "p": "name=x\n",
        "j": '{"name": "x"}',
        "y": "kind: KafkaConnector\nmetadata: {name: x}\n",
    }
    path = tmp_path / f"a{suffix}"
    path.write_text(content[suffix[1].lower()])
    assert read(path).properties == {"name": "x"}


@pytest.mark.parametrize(
    "text",
    [
        (
            '{"name": "x", "config": {"name": "x", "flush.size": 10}, "tasks": [{"connector": "x", "task": 0}],'
            ' "type": "sink"}'
        ),
        '{"x": {"info": {"name": "x", "config": {"name": "x", "flush.size": "10"}, "tasks": [], "type": "sink"}}}',
        (
            '{"x": {"status": {"name": "x", "connector": {"state": "RUNNING"}}, "info": {"config": {"name": "x",'
            ' "flush.size": "10"}}}}'
        ),
        '{"name": "x", "config": {"flush.size": 10}, "initial_state": "STOPPED"}',
        '{"name": "x", "flush.size": 10}',
    ],
    ids=["GET", "expand=info", "expand=info&expand=status", "POST", "PUT"],
)
def test_what_connects_rest_api_answers_is_a_connector_file(text: str) -> None:
    """A connector can be moved by saving any answer of Connect that has its configuration."""
    file = parse_json(text, "f")
    assert (file.properties, file.problems) == ({"name": "x", "flush.size": "10"}, ())


def test_a_flat_configuration_may_have_a_property_info() -> None:
    """Only objects under `info` make an answer to ?expand=info: nothing else is unwrapped."""
    assert parse_json('{"info": "a", "name": "x"}', "f").properties == {"info": "a", "name": "x"}
