"""Variables in values."""

from pathlib import Path

import pytest

from kafka_s3.settings import read_text
from kafka_s3.settings.variables import Given, Lookups, Source, resolve


def _read_file(path: str) -> str:
    if path != "/run/s3.properties":
        raise FileNotFoundError(2, "No such file or directory")
    return "key=from file\nother=x"


LOOKUPS = Lookups(
    env={"HOME_TOWN": "from env", "BLANK": ""},
    read_file=_read_file,
    secrets={"aws/key": "from secrets", "nested": "${env:HOME_TOWN}"}.get,
)


def _given(text: str) -> Given:
    return Given(text, Source.CONNECTOR)


@pytest.mark.parametrize(
    ("text", "expected", "secret"),
    [
        ("plain", "plain", False),
        ("${env:HOME_TOWN}", "from env", True),
        ("<${env:BLANK}>", "<>", True),
        ("${file:/run/s3.properties:key}", "from file", True),
        ("${secrets:aws/key}", "from secrets", True),
        ("a ${env:HOME_TOWN}, ${secrets:aws/key}", "a from env, from secrets", True),
        ("$HOME ${} ${novariable} $", "$HOME ${} ${novariable} $", False),
        ("${secrets:nested}", "${env:HOME_TOWN}", True),
    ],
)
def test_variables_are_replaced_by_what_they_stand_for(text: str, expected: str, secret: bool) -> None:
    """Each kind has its own place; what was looked up is a secret; nothing is looked up twice."""
    resolved = resolve(_given(text), LOOKUPS)
    assert isinstance(resolved, Given)
    assert (resolved.text, resolved.secret, resolved.resolved) == (expected, secret, True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("${env:NONE}", "the variable ${env:NONE} has no value: the environment variable is not set"),
        ("${file:/none:key}", "the variable ${file:/none:key} has no value: the file cannot be read"),
        ("${file:/run/s3.properties:none}", "the file has no such key"),
        ("${file:/run/s3.properties}", "names no key"),
        ("${secrets:none}", "the variable ${secrets:none} has no value"),
        ("${vault:none}", "of an unknown kind; known: ${env:NAME}, ${file:path:key}, ${secrets:name}"),
    ],
)
def test_a_variable_without_a_value_is_named(text: str, said: str) -> None:
    """A variable that stands for nothing is named, with the place where it was looked for."""
    sentence = resolve(_given(text), LOOKUPS)
    assert isinstance(sentence, str)
    assert said in sentence


def test_without_a_backend_secrets_are_refused() -> None:
    """Without a backend for secrets that is said; a backend that raises KeyError has no such secret."""
    assert "no backend for secrets" in str(resolve(_given("${secrets:x}"), Lookups()))
    assert "no such name" in str(resolve(_given("${secrets:x}"), Lookups(secrets={"other": "x"}.__getitem__)))


def test_files_on_the_machine_are_read_by_read_text(tmp_path: Path) -> None:
    """`read_text` is what an entry point passes to look up `${file:…}`."""
    path = tmp_path / "s3.properties"
    path.write_text("key=value\n")
    resolved = resolve(_given(f"${{file:{path}:key}}"), Lookups(read_file=read_text))
    assert isinstance(resolved, Given)
    assert resolved.text == "value"


def test_without_lookups_variables_stay_as_they_are() -> None:
    """While Airflow builds a DAG, nothing is looked up: the value is marked as unresolved."""
    resolved = resolve(_given("${env:HOME_TOWN}"), None)
    assert isinstance(resolved, Given)
    assert not resolved.resolved


def test_neither_values_nor_lookups_print_what_they_hold() -> None:
    """The repr of a value, or of the places values come from, shows none of them."""
    assert "canary" not in repr(_given("canary"))
    assert "canary" not in repr(Lookups(env={"A": "canary"}))
