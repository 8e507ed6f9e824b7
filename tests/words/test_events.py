"""What a run tells is a closed union of types; each has a sentence, and a line of JSON for another process."""

from __future__ import annotations

import json
import typing
from typing import Any, Literal, get_args

import pytest

from kafka_s3 import events
from kafka_s3.events import Event, IntervalQuiet, ProblemReported, from_line, to_line
from kafka_s3.sentences import sentence

KINDS: tuple[Any, ...] = get_args(Event)


def value(of: Any) -> Any:
    """Of a field's type, a value that is told apart from others in a sentence."""
    if typing.get_origin(of) is Literal:
        return get_args(of)[0]
    if type(None) in get_args(of):
        return value(next(each for each in get_args(of) if each is not type(None)))
    return {int: 4711, str: "é of\norders\u202e"}[of]


def sample(kind: Any) -> Event:
    made: Event = kind(**{name: value(of) for name, of in typing.get_type_hints(kind).items()})
    return made


def test_every_event_is_of_the_union() -> None:
    """A type that is not in it could be told, and would have neither a sentence nor a reader."""
    declared = {each for each in vars(events).values() if isinstance(each, type) and issubclass(each, events._Event)}
    assert declared - {events._Event} == set(KINDS)


def test_every_event_has_a_tag_of_its_own() -> None:
    """In a line it is its type."""
    tags = [kind.__struct_config__.tag for kind in KINDS]
    assert len(set(tags)) == len(tags) > 30


@pytest.mark.parametrize("kind", KINDS)
def test_an_event_has_a_sentence(kind: Any) -> None:
    """It is not empty, and has no character that would move a cursor or turn the direction of what is read."""
    said = sentence(sample(kind))
    assert said
    assert "\u202e" not in said


@pytest.mark.parametrize("kind", KINDS)
def test_an_event_comes_through_a_line(kind: Any) -> None:
    """The line is one line of ASCII with a marker and a version; what is read is what was written."""
    event = sample(kind)
    line = to_line(event)
    assert line.isascii()
    assert line.isprintable()
    assert json.loads(line)["kafka_s3"] == 1
    assert from_line(line) == event
    assert from_line(f"{line}\n") == event


@pytest.mark.parametrize("kind", KINDS)
def test_an_event_cannot_be_changed(kind: Any) -> None:
    """What hears of it gets what was told."""
    event = sample(kind)
    with pytest.raises(AttributeError):
        setattr(event, next(iter(typing.get_type_hints(kind))), None)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "26/11/22 09:00:00 WARN Utils: Service could not bind",
        '{"message": "of another program"}',
        '{"kafka_s3": 2, "event": "interval_quiet", "seq": 7}',
        '{"kafka_s3": true, "event": "interval_quiet", "seq": 7}',
        '{"kafka_s3": "1", "event": "interval_quiet", "seq": 7}',
        '{"kafka_s3": 1, "event": "of_a_later_release", "seq": 7}',
        '{"kafka_s3": 1, "event": "interval_quiet", "seq": "7"}',
        '{"kafka_s3": 1, "event": "interval_quiet"}',
        '{"kafka_s3": 1, "event": "interval_q26/11/22 09:00:00 WARN',
        '{"kafka_s3": ' + "[" * 100_000,
        to_line(IntervalQuiet(seq=7))[1:],
    ],
)
def test_other_lines_are_no_events(line: str) -> None:
    """Of another program, of a later version or release, or broken: whoever shows lines shows them as they are."""
    assert from_line(line) is None


def test_a_field_of_a_later_release_is_passed_over() -> None:
    """A reader needs no more than what it knows."""
    line = '{"kafka_s3": 1, "event": "problem_reported", "what": "a loss", "since": 3}'
    assert from_line(line) == ProblemReported(what="a loss")
