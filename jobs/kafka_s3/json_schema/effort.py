"""What checking a value by a schema can take, counted before it is done: schemas are applied to schemas' schemas, and
to one place of a value by many ways at once.

A `State` is all that is applied to one place of a value, with how often. Schemas that refer to themselves by several
ways would be applied twice as often on each level: their states have no end, or are too heavy, and they are refused.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kafka_s3.json_schema.documents import Documents, NoReference, Place
from kafka_s3.json_schema.shapes import JsonSchemaError

#: How often schemas may be applied to one place of a value.
APPLIED_MAX: Final = 1_000
#: Schemas in all states together.
_STEPS_MAX: Final = 200_000
#: How often schemas may be applied to all places of one value; a million take about a tenth of a second.
CHECKS_MAX: Final = 10_000_000
_IN_PLACE: Final = ("not", "if", "then", "else")
_LISTS: Final = ("allOf", "anyOf", "oneOf")
_OF_NAMES: Final = ("dependentSchemas", "dependencies")
_OTHER_PROPERTIES: Final = ("additionalProperties", "unevaluatedProperties", "propertyNames")
_ITEMS: Final = ("items", "additionalItems", "contains", "unevaluatedItems")
_UNEVALUATED: Final = ("unevaluatedProperties", "unevaluatedItems")
#: Schemas within each other that are applied to one place.
_LEVELS_MAX: Final = 64
#: So many values of an enum count as one more schema.
_ENUM: Final = 100


@dataclass(eq=False, slots=True)
class State:
    """`applied`: how often schemas are. What holds for a property by name, for others, for each item."""

    applied: int
    named: dict[str, State] = field(default_factory=dict)
    other: State | None = None
    items: State | None = None


_NOTHING: Final = State(0)


class Effort:
    """Of one schema. `JsonSchemaError` where a value could take too much whatever its size."""

    def __init__(self, documents: Documents, *, ref_alone: bool) -> None:
        self._documents = documents
        self._ref_alone = ref_alone
        self._states: dict[tuple[tuple[int, int], ...], State] = {}
        self._steps = 0
        waiting: list[tuple[State, Counter[Place]]] = []
        self._root = self._state(Counter({documents.root: 1}), waiting)
        while waiting:
            self._extend(*waiting.pop(), waiting)
        self.applied_max = max(each.applied for each in self._states.values())

    def problem(self, payload: bytes, value: Any) -> str | None:
        """Why a value would take too much."""
        places = payload.count(b",") + payload.count(b"{") + payload.count(b"[") + 1
        if places * self.applied_max <= CHECKS_MAX or _checks(self._root, value) <= CHECKS_MAX:
            return None
        return f"to validate it takes more than {CHECKS_MAX} checks"

    def _state(self, applied: Counter[Place], waiting: list[tuple[State, Counter[Place]]]) -> State:
        """Of schemas, and of all that these apply to the same place."""
        whole: Counter[Place] = Counter()
        self._close(applied, whole, 0)
        key = tuple(sorted((id(place), times) for place, times in whole.items()))
        if key not in self._states:
            weight = sum(times * (1 + _enum(place.json) // _ENUM) for place, times in whole.items())
            if weight > APPLIED_MAX:
                raise JsonSchemaError(f"more than {APPLIED_MAX} schemas are applied to one place of a value")
            self._states[key] = State(weight)
            waiting.append((self._states[key], whole))
        return self._states[key]

    def _close(self, applied: Counter[Place], whole: Counter[Place], level: int) -> None:
        if level > _LEVELS_MAX:
            raise JsonSchemaError("a schema refers to itself, or is nested too deeply, in allOf and its like")
        for place, times in applied.items():
            self._steps += 1
            if self._steps > _STEPS_MAX or whole.total() > APPLIED_MAX:
                raise JsonSchemaError("it applies too many schemas to one value")
            whole[place] += times
            again = times * (
                2 if isinstance(place.json, dict) and any(each in place.json for each in _UNEVALUATED) else 1
            )
            inner: Counter[Place] = Counter()
            for each in self._in_place(place):
                inner[each] += again
            if inner:
                self._close(inner, whole, level + 1)

    def _in_place(self, place: Place) -> Iterator[Place]:
        json = place.json
        if not isinstance(json, dict):
            return
        for word in ("$dynamicRef", "$recursiveRef"):
            if word in json:
                raise JsonSchemaError(f"{word} is not known to validation here")
        if isinstance(json.get("$ref"), str):
            try:
                yield self._documents.find(json["$ref"], place.base)
            except NoReference as error:
                raise JsonSchemaError(str(error)) from None
            if self._ref_alone:
                return
        for word in _IN_PLACE:
            if isinstance(json.get(word), dict):
                yield self._documents.place(json[word], place.base)
        for word in _LISTS:
            if isinstance(json.get(word), list):
                yield from self._places(place, json[word])
        for word in _OF_NAMES:
            yield from self._places(place, _dict(json, word).values())

    def _places(self, place: Place, schemas: Iterable[Any]) -> Iterator[Place]:
        return (self._documents.place(each, place.base) for each in schemas if isinstance(each, dict))

    def _extend(self, state: State, whole: Counter[Place], waiting: list[tuple[State, Counter[Place]]]) -> None:
        """The states of properties and items."""
        names: set[str] = set()
        for place in whole:
            names.update(_dict(place.json, "properties"))
        named: dict[str, Counter[Place]] = {name: Counter() for name in names}
        other: Counter[Place] = Counter()
        items: Counter[Place] = Counter()
        for place, times in whole.items():
            if not isinstance(place.json, dict) or (self._ref_alone and "$ref" in place.json):
                continue
            for word in _OTHER_PROPERTIES:
                if isinstance(place.json.get(word), dict):
                    other[self._documents.place(place.json[word], place.base)] += times
            for each in self._places(place, _dict(place.json, "patternProperties").values()):
                other[each] += times
            for word in _ITEMS:
                if isinstance(place.json.get(word), dict):
                    items[self._documents.place(place.json[word], place.base)] += times
            for word in ("items", "prefixItems"):
                if isinstance(place.json.get(word), list):  # each is for one item: as if for all, which is more
                    for each in self._places(place, place.json[word]):
                        items[each] += times
            for name, inner in _dict(place.json, "properties").items():
                if isinstance(inner, dict):
                    named[name][self._documents.place(inner, place.base)] += times
        state.other = self._state(other, waiting) if other else None
        state.items = self._state(items, waiting) if items else None
        state.named = {name: self._state(each + other, waiting) for name, each in named.items()}


def _checks(state: State, value: Any) -> int:
    """How often schemas are applied to a value, all its places counted."""
    found, waiting = 0, [(state, value)]
    while waiting and found <= CHECKS_MAX:
        here, json = waiting.pop()
        found += here.applied
        if isinstance(json, dict):
            waiting += [(here.named.get(name, here.other) or _NOTHING, each) for name, each in json.items()]
        elif isinstance(json, list) and here.items is not None:
            waiting += [(here.items, each) for each in json]
    return found


def _dict(json: Any, word: str) -> Mapping[str, Any]:
    found = json.get(word) if isinstance(json, dict) else None
    return found if isinstance(found, dict) else {}


def _enum(json: Any) -> int:
    found = json.get("enum") if isinstance(json, dict) else None
    return len(found) if isinstance(found, list) else 0


_TOKEN: Final = re.compile(
    r"\\[pP]\{[^}]*\}|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|(?P<times>\{(?P<from>\d{1,9})(?P<to>,\d{0,9})?\})|(?P<sign>[()|?*+])|.",
    re.DOTALL,
)


def steps_of(pattern: str) -> int:
    """The length of a pattern whose repetitions are written out: what matching takes for each character, at most.

    >>> steps_of("^[A-Z]{2}$"), steps_of("(a|b){10}"), steps_of("a{2,}"), steps_of("(a{3}b){4}")
    (4, 20, 2, 16)
    """
    groups = [[0, 0]]  # of each open group: its length, and that of what is repeated next
    for token in _TOKEN.finditer(pattern):
        here = groups[-1]
        if token["times"]:
            most = max(int(token["from"]), int((token["to"] or ",0")[1:] or 0))
            here[0] += here[1] * max(most - 1, 0)
        elif token["sign"] == "(":
            groups.append([0, 0])
        elif token["sign"] == ")" and len(groups) > 1:
            length = groups.pop()[0]
            groups[-1][0] += length
            groups[-1][1] = length
        elif not token["sign"]:
            here[0] += 1
            here[1] = 1
    return sum(length for length, _ in groups)
