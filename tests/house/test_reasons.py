"""How reasons are made: what a record holds gets into one through `quoted` alone. Read off the source itself."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_s3.cli.common import echo, print_json, print_table
from kafka_s3.shown import named, plain, printable, printable_lines, quoted, said

ENGINE = Path(__file__).parents[2] / "jobs" / "kafka_s3"
#: Where records are read and reasons are made.
ROOMS = ("values", "avro", "json_schema", "protobuf", "joda/timestamps.py", "write/routing.py", "write/writer.py")
#: What makes a reason of its arguments.
MAKERS = {
    "ColumnsError",
    "JodaError",
    "Missing",
    "NoField",
    "NoIndexes",
    "NotADatum",
    "NotAMessage",
    "NotTyped",
    "UserCodeFailed",
    "Incompatible",
    "ProtoError",
    "JsonSchemaError",
    "NoReference",
    "_NoValue",
    "InvalidSchema",
    "SchemaError",
    "Unfit",
    "Unpartitionable",
    "Unwritable",
    "OutOfRange",
    "TransformError",
    "ValueError",
    "fail",
    "_TooMany",
    "_at",
    "_refused",
}
#: Functions whose answers hold nothing of a record that is not quoted.
SAFE_CALLS = {"kind_and_length", "json_problem", "len", "named", "quoted", "type_of"}
#: What is looked up or counted, and names of schemas and configurations: each was looked at. A value's own numbers and
#: texts are never among them.
SAFE_NAMES = {
    *(
        "bytes_max",
        "heaviest",
        "nesting_max",
        "precision",
        "scale",
        "digits_max",
        "position",
        "start",
        "low",
        "high",
        "unit",
        "bits",
        "size",
        "room",
    ),  # limits, places
    *("full", "name", "word", "wanted", "where", "path", "logical", "kind"),  # of schemas and configurations
    *("letter", "part", "purpose", "shown", "source", "target", "type"),  # of options, and of Connect's types
    *("what", "why", "reason", "text", "found", "told", "which", "error", "problem"),  # made of these, or reasons
}
SAFE_CODE = {
    "'.'.join(path)",
    "_LOGICAL[name]",
    "_at(path)",
    "_kind(parsed)",
    "datum.end - datum.position",
    "datum.end - start",
    "datum.position",
    "datum.position - 1",
    "datum.position - begin",
    "error.start",
    "f', {why}' if why else ''",
    "here.described",
    "json['type']",
    "json_problem(error) if isinstance(error, ValueError) else 'nested too deeply'",
    "kind_of(value)",
    "mode.value",
    "more[0]",
    "node.kind",
    "node.name",
    "node.size",
    "path or 'the value'",
    "position - bytes_max",
    "self._name",
    "self._size",
    "self._word",
    "self.step",
    "self.end",
    "source.size",
    "target.size",
    "type(error).__name__",
    "why.reason",
    "', '.join(self._names)",
    "asked.field",
    "asked.struct",
    "each.name",
    "each.what",
    "field.name",
    "found.name",
    "inserted.name",
    "inserted.what",
    "java.type_of(value)",
    "part.value",
    "self._back.get(shown, shown)",
    "self._name or f'the {self._side.value}'",
    "self._path",
    "self._side.value",
    "shown[name]",
    "type or 'Date'",
    "zone.id",
}
#: Functions of a module that quote what they are given.
QUOTING = {"_listed", "_said", "_say", "_shown", "shown"}


def made_of(root: Path) -> Iterator[tuple[str, str]]:
    """Every expression that is put into a reason, and where."""
    for room in ROOMS:
        for file in sorted((root / room).rglob("*.py")) if (root / room).is_dir() else [*root.glob(room)]:
            for node in ast.walk(ast.parse(file.read_text())):
                called = node.func if isinstance(node, ast.Call) else None
                if getattr(called, "id", getattr(called, "attr", "")) in MAKERS:
                    for each in ast.walk(node):
                        if isinstance(each, ast.FormattedValue):
                            yield f"{room}: {file.name}:{node.lineno}", ast.unparse(each.value)


def is_safe(code: str) -> bool:
    expression = ast.parse(code, mode="eval").body
    if isinstance(expression, ast.Call) and isinstance(expression.func, ast.Name):
        return expression.func.id in SAFE_CALLS | QUOTING or code in SAFE_CODE
    if isinstance(expression, ast.Name):
        return code.isupper() or code.strip("_").isupper() or code in SAFE_NAMES
    return code in SAFE_CODE


def test_reasons_are_made_of_what_may_be_said() -> None:
    """Whatever stands in a reason is a limit, a place, a length, a name of a schema or a configuration, or quoted."""
    found = list(made_of(ENGINE))
    assert len(found) > 100
    assert [f"{where} {code}" for where, code in found if not is_safe(code)] == []


def test_a_new_way_into_a_reason_is_found(tmp_path: Path) -> None:
    """Planted: a value as it is, and the text of a library's exception."""
    room = tmp_path / "values"
    room.mkdir()
    (room / "new.py").write_text(
        "def f(value):\n    raise Incompatible(f'{value!r} is bad: {str(value)[:3]} {len(value)}')"
    )
    unsafe = [code for _, code in made_of(tmp_path) if not is_safe(code)]
    assert unsafe == ["value", "str(value)[:3]"]


def test_quotes_are_kind_and_length() -> None:
    """By default; with content it is escaped and has an end. No value can end its own quotation."""
    for value in ("4111\x03 and more \x02", b"4111", 4111, {"4111": 1}, ["4111"], 4111.5, 10**5000):
        reason = f"f is {quoted(value)}, which is none"
        assert "4111" not in said(reason, content=False)
        assert said(reason, content=False).startswith("f is ")
        assert said(reason, content=False).endswith(", which is none")
        assert said(reason, content=True).isprintable()
        assert plain(reason) == said(reason, content=False)
    assert len(said("x" * 5000, content=False)) == 2000
    assert len(said(quoted("x" * 5000), content=True)) < 400


def test_nothing_moves_the_cursor() -> None:
    """Escape sequences, line feeds, halves of surrogate pairs and marks of direction are shown as what they are."""
    for text in ("\x1b[2J", "a\nb", "\ud800", "\u202ereversed", "\x00", "\x9b31m"):
        assert printable(text).isprintable()
        assert named(text).isprintable()
    assert printable_lines("a\tb\n\x1b[0m") == "a\tb\n\\x1b[0m"


def raw_prints(root: Path) -> list[str]:
    """Places of the command line and the driver that print what nobody has made safe."""
    found = []
    for file in [*sorted((root / "cli").glob("*.py")), *root.glob("spark.py")]:
        safe: set[ast.AST] = set()
        for node in ast.walk(ast.parse(file.read_text())):  # a call comes before what is called
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("click.echo", "print"):
                given = node.args[0] if node.args else None
                called = given.func.id if isinstance(given, ast.Call) and isinstance(given.func, ast.Name) else ""
                if given is None or called in ("printable_lines", "printable_json"):
                    safe.add(node.func)
            if isinstance(node, ast.expr) and ast.unparse(node) in ("click.echo", "print") and node not in safe:
                found.append(f"{file.name}:{node.lineno}")
    return found


def test_whatever_is_printed_is_printable(tmp_path: Path) -> None:
    """Each place that prints goes through the one function; a new one that does not is found."""
    assert raw_prints(ENGINE) == []
    (tmp_path / "cli").mkdir()
    (tmp_path / "cli" / "new.py").write_text(
        "click.echo(key)\nclick.echo()\nclick.echo(printable_lines(key))\nrun(tell=click.echo)\n"
    )
    assert sorted(raw_prints(tmp_path)) == ["new.py:1", "new.py:4"]


def test_the_command_line_shows_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    """Of a name from a bucket: in sentences and tables, and in JSON as JSON has them."""
    name = "a\x1b[2Jb\u202e\x9b"
    echo(f"orphan {name}\nand a second line")
    print_json({"key": name})
    print_table("title", ["key"], [[name]])
    out = capsys.readouterr().out
    assert all(each.isprintable() for each in out.splitlines())
    assert r"orphan a\x1b[2Jb\u202e\x9b" in out
    assert json.loads(out[out.index("{") : out.index("}") + 1]) == {"key": name}
