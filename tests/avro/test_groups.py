"""What records are written under as they come: the sink's sequences, without an object for each flip."""

from __future__ import annotations

from itertools import groupby, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_s3.avro.compatibility import Incompatible, compare
from kafka_s3.avro.groups import GROUPS_MAX, Groups, _size
from kafka_s3.avro.model import Compatibility, Schema, schema_of
from kafka_s3.avro.project import projector
from tests.avro.evolution import evolved, is_valid
from tests.avro.strategies import avro_schemas, values_of


def version(number: int | None, *fields: str, name: str = "n.R") -> Schema:
    """Fields called in small letters are optional, in capitals required."""
    made = [
        {"name": each, "type": "int"} if each.isupper() else {"name": each, "type": ["null", "int"], "default": None}
        for each in fields
    ]
    return schema_of({"type": "record", "name": name, "fields": made}, version=number)


V1, V2, V3 = version(1, "A"), version(2, "A", "w"), version(3, "A", "w", "x")
STRICT = version(2, "A", "B")
OTHER = version(1, "A", name="n.S")
SIZE = _size(version(9, "A", "b", "C", "d"))  # more than the others here


def written(mode: Compatibility, *schemas: Schema | None) -> list[Any]:
    groups = Groups(mode)
    return [groups.target("p", each) for each in schemas]


def test_backward_goes_on_to_the_newest() -> None:
    """The sink's sequence of v1 and v2: it made four objects of these seven records, here they fill two."""
    assert written(Compatibility.BACKWARD, V1, V2, V1, V2, V1, V2, V1) == [V1, V2, V2, V2, V2, V2, V2]


def test_full_is_backward() -> None:
    """One code path in the sink."""
    assert written(Compatibility.FULL, V1, V2, V1, V3, V2, V1) == [V1, V2, V2, V3, V3, V3]


def test_forward_stays_with_the_oldest() -> None:
    """The same stream from its second record: one object with w, one without for all that follows."""
    assert written(Compatibility.FORWARD, V2, V1, V2, V1, V2, V1) == [V2, V1, V1, V1, V1, V1]


def test_none_projects_nothing() -> None:
    """Each schema is its own target, and the versions of one text are two."""
    again = Schema(V1.text, version=9)
    assert written(Compatibility.NONE, V1, V2, V1, again, V2) == [V1, V2, V1, again, V2]


def test_what_cannot_be_projected_stands_beside() -> None:
    """A newer version with a required field more takes no older records: each has its own object, and keeps it."""
    assert written(Compatibility.BACKWARD, V1, STRICT, V1, STRICT) == [V1, STRICT, V1, STRICT]
    assert written(Compatibility.BACKWARD, V1, OTHER, V2, OTHER, V1) == [V1, OTHER, V2, OTHER, V2]
    # Forward the older takes the newer's records: what is too much is dropped.
    assert written(Compatibility.FORWARD, V1, STRICT, V1, STRICT) == [V1, V1, V1, V1]


def test_groups_are_mended_after_a_new_target() -> None:
    """What no longer fits the newer target of its group has a group of its own from then on."""
    middle = schema_of(
        {
            "type": "record",
            "name": "n.R",
            "fields": [{"name": "A", "type": "int"}, {"name": "B", "type": "int", "default": 1}],
        },
        version=2,
    )
    last = version(3, "A", "B")
    assert written(Compatibility.BACKWARD, V1, middle, V1, last, V1, middle, last) == [
        V1,
        middle,
        middle,
        last,
        V1,
        last,
        last,
    ]


def test_values_without_a_schema_are_a_group() -> None:
    """They go beside the others, in every mode."""
    for mode in Compatibility:
        assert written(mode, None, V1, None, V1) == [None, V1, None, V1]


def test_a_schema_without_a_version_is_refused() -> None:
    """As in the sink, from the first record on; in mode NONE it is not."""
    bare = version(None, "A")
    first, second = written(Compatibility.BACKWARD, bare, V1)
    assert isinstance(first, Incompatible)
    assert second == V1
    assert written(Compatibility.NONE, bare) == [bare]


def test_groups_of_a_name_are_bounded() -> None:
    """The group forgotten is the oldest one; its schema begins another."""
    groups = Groups(Compatibility.BACKWARD)
    many = [version(number, f"F{number}") for number in range(GROUPS_MAX + 1)]
    for schema in many:
        assert groups.target("p", schema) == schema
    newer = version(99, "F0", "w")
    assert groups.target("p", newer) == newer
    assert groups.target("p", many[0]) == newer
    assert len(groups._paths["p"].targets["n.R"]) == GROUPS_MAX


@pytest.mark.parametrize("mode", Compatibility)
def test_a_schema_for_each_record_is_compared_with_few(mode: Compatibility, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many came before it; and with none where each is kept by itself."""
    compared = 0

    def counting(*asked: Any) -> Any:
        nonlocal compared
        compared += 1
        return compare(*asked)

    monkeypatch.setattr("kafka_s3.avro.groups.compare", counting)
    written(mode, *(version(number, f"G{number}") for number in range(300)))
    assert compared <= (0 if mode is Compatibility.NONE else 300 * GROUPS_MAX)


def test_none_keeps_nothing_in_mind() -> None:
    """However many paths there are."""
    groups = Groups(Compatibility.NONE)
    for number in range(10):
        groups.target(f"f={number}", V1)
    assert groups.targets(["a", "b"], V2) == {"a": V2, "b": V2}
    assert not groups._paths


def test_the_path_whose_records_are_longest_ago_is_forgotten() -> None:
    """Not the one that came first: its older version would begin an object of its own."""
    groups = Groups(Compatibility.BACKWARD, size_max=2 * SIZE)
    for path in "aba":
        assert groups.target(path, V2) == V2
    groups.target("c", V2)
    assert groups.target("a", V1) == V2
    assert groups.target("b", V1) == V1


def test_what_is_kept_in_mind_is_bounded() -> None:
    """Names, paths and schemas, made up without end."""
    groups = Groups(Compatibility.FORWARD, size_max=20 * SIZE)
    for number in range(500):
        made = version(number, f"F{number}", name=f"n.R{number % 100}")
        path = f"f={number % 7 and number}"
        assert groups.target(path, made) == made
        groups.target(path, version(1000 + number, f"F{number}", "w", name=f"n.R{number % 100}"))
        held = [each for here in groups._paths.values() for alike in here.targets.values() for each in alike]
        known = [each for here in groups._paths.values() for each in here.known]
        assert sum(map(_size, held)) == groups._size <= 20 * SIZE
        assert sum(map(_size, known)) == groups._known_size <= 20 * SIZE


fields = st.lists(st.sampled_from(["a", "b", "C", "D"]), max_size=3, unique_by=str.lower)
schemas = st.none() | st.builds(
    lambda number, names, name: version(number, *names, name=name),
    st.integers(1, 4),
    fields,
    st.sampled_from(["n.R", "n.R", "n.S"]),
)


@given(st.lists(schemas, min_size=2, max_size=2), st.lists(st.booleans(), max_size=12), st.sampled_from(Compatibility))
def test_two_schemas_make_two_targets_at_most(
    pair: list[Schema | None], flips: list[bool], mode: Compatibility
) -> None:
    """However two producers take turns, and the target of a schema changes once at most."""
    targets = written(mode, *(pair[flip] for flip in flips))
    assert len(set(targets)) <= 2
    for which in (False, True):
        own = [target for flip, target in zip(flips, targets, strict=True) if flip is which]
        assert sum(one != other for one, other in pairwise(own)) <= 1


@given(st.lists(schemas, max_size=12), st.sampled_from(Compatibility))
def test_repetition_makes_no_difference(sequence: list[Schema | None], mode: Compatibility) -> None:
    """Asked once per run of records or for each, the answers are the same; what is remembered changes none."""
    runs = [schema for schema, _ in groupby(sequence)]
    by_run = iter(written(mode, *runs))
    once = [target for _, run in groupby(sequence) for target in [next(by_run)] * len(list(run))]
    assert written(mode, *sequence) == once
    forgetful = Groups(mode)
    answers = []
    for schema in sequence:
        for here in forgetful._paths.values():
            forgetful._forget_known(here)
        answers.append(forgetful.target("p", schema))
    assert answers == once


@given(
    st.lists(st.tuples(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=6), schemas), max_size=8),
    st.sampled_from(Compatibility),
    st.integers(1, 6),
)
def test_paths_asked_for_together_are_asked_for_in_turn(
    batches: list[tuple[list[str], Schema | None]], mode: Compatibility, paths_max: int
) -> None:
    """What one answer for all says is what each record would have got, also of what is forgotten later."""
    together, in_turn = Groups(mode, paths_max * SIZE), Groups(mode, paths_max * SIZE)
    for paths, schema in batches:
        each = [in_turn.target(path, schema) for path in paths]
        targets = together.targets(paths, schema)
        assert each == [together.target(path, schema) if targets is None else targets[path] for path in paths]
        assert list(together._paths) == list(in_turn._paths)


@given(st.data())
def test_every_target_takes_the_values(data: st.DataObject) -> None:
    """Whatever schemas come in whatever order, a value of each can be projected to what it is written under."""
    first = data.draw(avro_schemas(record=True, recursive=True))
    versions = [
        Schema(each.text, version=data.draw(st.integers(1, 3)))
        for each in [first, *(data.draw(evolved(first)) for _ in range(3))]
    ]
    groups = Groups(data.draw(st.sampled_from(Compatibility)))
    for schema in data.draw(st.lists(st.sampled_from(versions), max_size=8)):
        target = groups.target("p", schema)
        assert isinstance(target, Schema)
        assert is_valid(projector(schema, target)(data.draw(values_of(schema))), target)
