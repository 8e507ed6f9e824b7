"""Signatures over the documents of a log."""

from __future__ import annotations

import ast
import copy
import json
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_s3.signing import KEY_BYTES_MIN, NO_KEY, LogKey, Signed, is_signed, problem_of

ROOT = Path(__file__).parents[2]
OLD, NEW = b"o" * KEY_BYTES_MIN, b"n" * KEY_BYTES_MIN
AT = "_kafka_s3/orders/log/9999999999999999999.json"
DOCUMENT = b'{"sha256":"0","body":{"seq":0}}'


def test_a_document_is_signed_for_its_key() -> None:
    """A signed document is good under its own key, and nowhere else: number, connector and folder are in the key."""
    signed = LogKey((OLD,)).sign(AT, DOCUMENT)
    assert json.loads(signed) | {"hmac": ""} == json.loads(DOCUMENT) | {"hmac": ""}
    assert LogKey((OLD,)).check(AT, signed) is Signed.NOW
    others = [AT.replace("9.json", "8.json"), AT.replace("orders", "refunds"), AT.replace("/log/", "/plan/")]
    assert [LogKey((OLD,)).check(other, signed) for other in others] == [Signed.WRONG] * 3


def test_without_a_key_bytes_stay_as_they_are() -> None:
    """A connector without a key writes what it always wrote."""
    assert NO_KEY.sign(AT, DOCUMENT) == DOCUMENT
    assert NO_KEY.sign(AT, b"") == b""
    assert not is_signed(DOCUMENT)


def test_the_first_key_signs_and_all_verify() -> None:
    """Keys are changed by putting the new one in front; a document says whether the key in use has signed it."""
    before, during, after = LogKey((OLD,)), LogKey((NEW, OLD)), LogKey((NEW,))
    assert during.check(AT, before.sign(AT, DOCUMENT)) is Signed.EARLIER
    assert during.check(AT, during.sign(AT, DOCUMENT)) is Signed.NOW
    assert after.check(AT, during.sign(AT, DOCUMENT)) is Signed.NOW
    assert after.check(AT, before.sign(AT, DOCUMENT)) is Signed.WRONG


def test_an_empty_mark_is_signed_too() -> None:
    """A mark says something by being there: its content is then its signature."""
    signed = LogKey((OLD,)).sign(AT, b"")
    assert list(json.loads(signed)) == ["hmac"]
    assert LogKey((OLD,)).check(AT, signed) is Signed.NOW
    assert LogKey((OLD,)).check(AT, b"") is Signed.NOT


@given(st.data())
def test_no_changed_byte_goes_unseen(data: st.DataObject) -> None:
    """Whatever byte of a signed document is changed, left out or put in, it is not signed any more."""
    signed = LogKey((OLD,)).sign(AT, DOCUMENT)
    at = data.draw(st.integers(0, len(signed) - 1))
    other = data.draw(st.binary(max_size=2).filter(lambda piece: piece != signed[at : at + 1]))
    changed = signed[:at] + other + signed[at + 1 :]
    if changed != signed:
        assert LogKey((OLD,)).check(AT, changed) in (Signed.NOT, Signed.WRONG)


@given(st.binary(max_size=200))
def test_nothing_else_is_signed(data: bytes) -> None:
    """Bytes that no key has signed are never taken for signed ones."""
    assert LogKey((OLD,)).check(AT, data) in (Signed.NOT, Signed.WRONG)


def test_a_key_is_never_printed() -> None:
    """Neither a key's text nor what an error says of it holds a byte of it."""
    key = LogKey((b"s3cr3t" * 8,), "home/")
    assert "s3cr3t" not in f"{key!r} {key} {copy.copy(key)!r} {pickle.loads(pickle.dumps(key))!r}"
    assert "s3cr3t" not in (problem_of(["s3cr3t"]) or "")


@pytest.mark.parametrize(("text", "ok"), [("k" * 31, False), ("k" * 32, True), ("ä" * 16, True), ("", False)])
def test_short_keys_are_refused(text: str, ok: bool) -> None:
    """A key has at least as many bytes as the hash."""
    assert (problem_of([text]) is None) is ok


def test_every_log_is_given_the_key() -> None:
    """No part of the project opens a log without saying by which key it is signed: that would believe anything."""
    forgotten = []
    wanted = {"Log": 2, "open_log": 3}  # arguments before the key
    for folder in ("jobs", "plugins", "dags"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in wanted:
                    given_key = len(node.args) > wanted[node.func.id] or any(
                        word.arg == "log_key" for word in node.keywords
                    )
                    forgotten += [] if given_key else [f"{path.relative_to(ROOT)}:{node.lineno}"]
    assert forgotten == []


def test_log_documents_pass_the_log() -> None:
    """What is read of a log or written to it goes through `Log.get` and `Log.put`; who reads the store itself is
    known."""
    known = {
        "export/log.py",  # get, put and what they are made of
        "export/first_use.py",  # tries the store out with bytes that it only puts again
        "export/letters/redrive.py",  # compares its own bytes
        "export/letters/dead_letters.py",
        "export/uploads.py",  # data objects
        "export/confirmed.py",  # checks the signature of its own list
        "export/committed.py",  # data objects, by size and hash of their entry
        "export/reexport/copies.py",  # the same
    }
    found = set()
    home = ROOT / "jobs/kafka_s3"
    for path in sorted((home / "export").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and node.attr in ("get", "put_if_absent"):
                target = node.value
                name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
                if name.strip("_") == "store":
                    found.add(path.relative_to(home).as_posix())
    assert found <= known
