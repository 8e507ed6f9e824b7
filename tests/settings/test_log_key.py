"""`export.log.key`: where it comes from, what is refused, and that nothing shows it."""

from __future__ import annotations

import pytest

from kafka_s3.settings import Lookups
from kafka_s3.signing import LogKey
from tests.settings.conftest import Load, Problems

NEW, OLD = "n" * 32, "o" * 40
LOOKUPS = Lookups(
    env={"LOG_KEY": NEW, "EMPTY": ""}, read_file=lambda _: f"key={NEW}\n", secrets=lambda _: f"{NEW}, {OLD}"
)


def test_without_a_key_nothing_is_signed(load_with: Load) -> None:
    """There is no key by default."""
    assert not load_with().settings.log_key


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        (NEW, [NEW]),
        (f" {NEW} , {OLD}", [NEW, OLD]),
        ("${env:LOG_KEY}", [NEW]),
        ("${file:/etc/keys:key}", [NEW]),
        ("${secrets:orders}", [NEW, OLD]),
    ],
)
def test_a_key_comes_from_every_place_for_secrets(load_with: Load, text: str, keys: list[str]) -> None:
    """From the file itself or any provider; several keys stand behind commas, the one in use first."""
    settings = load_with({"export.log.key": text}, lookups=LOOKUPS).settings
    assert settings.log_key == LogKey(tuple(key.encode() for key in keys), "_kafka_s3/orders/")


def test_a_key_comes_from_airflows_connection(load_with: Load) -> None:
    """The extra of the AWS connection may hold it; the connector's own comes before."""
    connection = {"export.log.key": OLD}
    assert load_with(aws_connection=connection).settings.log_key.secrets == (OLD.encode(),)
    both = load_with({"export.log.key": NEW}, aws_connection=connection)
    assert both.settings.log_key.secrets == (NEW.encode(),)


@pytest.mark.parametrize("text", ["k" * 31, f"{NEW},short", f"{NEW},", ",", "", "${env:EMPTY}"])
def test_a_short_or_blank_key_is_refused(problems_of: Problems, text: str) -> None:
    """A key that is too short, or a variable with nothing in it, would protect nothing, and nobody would notice."""
    message = problems_of({"export.log.key": text}, lookups=LOOKUPS, offline=False)["export.log.key"]
    assert "at least 32" in message or "blank" in message
    assert "short" not in message
    assert "k" * 31 not in message


def test_nothing_shows_the_key(load_with: Load) -> None:
    """Plans, the configuration's hash, reprs and what `validate` prints hold neither the key nor that there is one."""
    loaded, without = load_with({"export.log.key": NEW}), load_with()
    settings = loaded.settings
    assert settings.resolved == without.settings.resolved
    assert settings.configuration_sha256 == without.settings.configuration_sha256
    shown = f"{loaded!r} {settings!r} {loaded.report}"
    assert NEW not in shown
    assert [row.value for row in loaded.report if row.name == "export.log.key"] == ["[hidden]"]
