"""Classes of transforms and predicates that do not run here: each with what was meant, or the way out."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafka_s3.errors import ConfigurationError, Problem

Problems = Callable[..., dict[str, str]]
KAFKA = "org.apache.kafka.connect.transforms"
WAY_OUT = "Write the transform in Python and name it as module:Class"


@pytest.mark.parametrize(
    ("type", "said"),
    [
        (f"{KAFKA}.InsertFeild$Value", f"Did you mean {KAFKA}.InsertField$Value?"),
        ("com.acme.InsertField$Value", f"Did you mean {KAFKA}.InsertField$Value?"),
        ("ReplaceFields$Key", "Did you mean ReplaceField$Key?"),
        ("io.debezium.transforms.ExtractNewRecordStat", "Did you mean io.debezium.transforms.ExtractNewRecordState?"),
        ("io.confluent.connect.transforms.Filtr$Value", "Did you mean io.confluent.connect.transforms.Filter$Value?"),
        (f"{KAFKA}.InsertField", "is a class for a part of records: InsertField$Key or InsertField$Value"),
        (
            "io.debezium.transforms.Filter",
            "runs scripts, which do not run here: io.confluent.connect.transforms.Filter$",
        ),
        ("io.debezium.transforms.ContentBasedRouter", "runs scripts, which do not run here"),
        ("io.debezium.transforms.outbox.EventRouter", "is for source connectors"),
        ("io.debezium.transforms.TimezoneConverter", f"this class is not built in. {WAY_OUT}"),
        ("com.acme.kafka.Anonymous$Value", f"Java code of your own does not run here. {WAY_OUT}"),
    ],
)
def test_a_class_that_does_not_run_here(type: str, said: str, problems_of: Problems) -> None:
    """A misspelling is pointed out by the class's own name, not by the package that it shares; else the way out."""
    problems = problems_of({"transforms": "t", "transforms.t.type": type})
    assert list(problems) == ["transforms.t.type"]
    assert said in problems["transforms.t.type"]
    assert said.startswith("Did you mean") == ("Did you mean" in problems["transforms.t.type"])


@pytest.mark.parametrize(
    ("more", "name", "said"),
    [
        ({"predicates.p.predicate": "p"}, "predicates.p.predicate", "a predicate has none of its own"),
        ({"transforms.t.predicate": "t"}, "transforms.t.predicate", "names no such one; it names p"),
        ({"predicates": "p,p"}, "predicates", "names one twice"),
        ({"predicates.p.type": "com.acme.Own"}, "predicates.p.type", "Write the predicate in Python"),
    ],
)
def test_predicates_lead_to_no_others(more: dict[str, str], name: str, said: str, problems_of: Problems) -> None:
    """Nor in circles: a transform names a predicate, and that names nothing."""
    given = {
        "transforms": "t",
        "transforms.t.type": f"{KAFKA}.Filter",
        "transforms.t.predicate": "p",
        "predicates": "p",
        "predicates.p.type": f"{KAFKA}.predicates.RecordIsTombstone",
    }
    assert said in problems_of({**given, **more})[name]


def test_what_holds_for_several_properties_is_said_once() -> None:
    """With the name and value of each."""
    sentence = "unknown class: Java code of your own does not run here"
    problems = [Problem("a.type", "x.A", sentence), Problem("flush.size", "0", "must be 1 or more")]
    error = ConfigurationError("3 problems:", problems=[*problems, Problem("b.type", None, sentence)])
    assert str(error).splitlines() == [
        "3 problems:",
        f"  a.type=x.A, b.type: {sentence}",
        "  flush.size=0: must be 1 or more",
    ]
