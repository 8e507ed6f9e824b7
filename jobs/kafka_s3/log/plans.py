"""Plans in the bucket, a type for each state that one can be in.

    NewPlan         this program wrote it, or the task of its run that plans for it: nobody else has worked on it
    InheritedPlan   another driver may have worked on it, and left objects and open uploads
    ClosedPlan      an entry follows it: a commit, a void, or what gave it up

The first two are open. `Log.open_plan` finds an open plan without knowing whose it is; the run says that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from kafka_s3.log.entries import Entry, Plan
from kafka_s3.log.value_schema import ValueSchema


@dataclass(frozen=True, slots=True)
class StoredPlan:
    """A plan that is in the bucket, and the sha256 of its file."""

    plan: Plan
    sha256: str


@dataclass(frozen=True, slots=True)
class OpenPlan(StoredPlan):
    """A plan that the next entry closes."""


@dataclass(frozen=True, slots=True)
class NewPlan(OpenPlan):
    """An open plan that nobody but this run has worked on."""


@dataclass(frozen=True, slots=True)
class InheritedPlan(OpenPlan):
    """An open plan that another driver may have begun to execute."""

    @classmethod
    def of(cls, found: OpenPlan) -> InheritedPlan:
        return cls(found.plan, found.sha256)


@dataclass(frozen=True, slots=True)
class ClosedPlan(StoredPlan):
    """A plan that `entry` closed."""

    entry: Entry


def with_schemas(plan: Plan, schemas: Mapping[str, str], notes: Sequence[str]) -> Plan:
    """A plan that pins these schemas of topics' values, as Avro's JSON, with notes about them."""
    topics = {
        topic: msgspec.structs.replace(state, value_schema=ValueSchema.of(schemas[topic]))
        if topic in schemas
        else state
        for topic, state in plan.topics.items()
    }
    return msgspec.structs.replace(plan, topics=topics, notes=(*plan.notes, *notes))
