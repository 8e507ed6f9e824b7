"""What checking a value by a schema can take, counted before it is done: schemas are applied to schemas' schemas, and
to one place of a value by many ways at once; patterns are matched; items are compared.

A `State` is all that is applied to one place of a value, with how often. Schemas that refer to themselves by several
ways would be applied twice as often on each level: their states have no end, or are too heavy, and they are refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kafka_s3.json_schema.documents import Documents, NoReference, Place
from kafka_s3.json_schema.patterns import matching_of
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
#: What all patterns of all texts of one value may take, in steps of a byte; some 6 ns each.
MATCHING_MAX: Final = 100_000_000
#: Schemas within each other that are applied to one place.
_LEVELS_MAX: Final = 64
#: Of what a schema lists, how many count as one more schema; and how many schemas each object or list of an enum is.
_ENTRIES: Final = {
    **dict.fromkeys(("enum", *_LISTS), 100),
    **dict.fromkeys((*_OF_NAMES, "dependentRequired"), 10),
}
_NESTED: Final = 10


@dataclass(eq=False, slots=True)
class State:
    """`applied`: how often schemas are. `matching`: what patterns take for each byte of a text here, `names`: of a
    property's name here. `unique`: how often it is asked whether items are different. What holds for a property by
    name, for others, for each item."""

    applied: int
    matching: int = 0
    names: int = 0
    unique: int = 0
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
        states = self._states.values()
        self._applied_max = max(each.applied for each in states)
        self._unique_max = max(each.unique for each in states)
        self._matching_max = max(each.matching for each in states) + max(each.names for each in states)

    def problem(self, payload: bytes, value: Any) -> str | None:
        """Why a value would take too much."""
        places = payload.count(b",") + payload.count(b"{") + payload.count(b"[") + 1
        checks_at_most = places * (self._applied_max + places * self._unique_max)
        if checks_at_most <= CHECKS_MAX and len(payload) * self._matching_max <= MATCHING_MAX:
            return None
        checks, matching = _taken(self._root, value, CHECKS_MAX)
        if checks > CHECKS_MAX:
            return f"to validate it takes more than {CHECKS_MAX} checks"
        if matching > MATCHING_MAX:
            return "to validate it by patterns that repeat so much takes too long: set maxLength in their place"
        return None

    def checks(self, value: Any, most: int) -> int:
        """How many checks a value takes; not counted beyond so many."""
        return _taken(self._root, value, most)[0]

    def _state(self, applied: Counter[Place], waiting: list[tuple[State, Counter[Place]]]) -> State:
        """Of schemas, and of all that these apply to the same place."""
        whole: Counter[Place] = Counter()
        self._close(applied, whole, 0)
        key = tuple(sorted((id(place), times) for place, times in whole.items()))
        if key not in self._states:
            weight = sum(times * (1 + _entries(place.json)) for place, times in whole.items())
            if weight > APPLIED_MAX:
                raise JsonSchemaError(f"more than {APPLIED_MAX} schemas are applied to one place of a value")
            self._states[key] = State(
                weight,
                sum(times * matching_of(_pattern(place.json)) for place, times in whole.items()),
                sum(times * matching_of(_dict(place.json, "patternProperties")) for place, times in whole.items()),
                sum(times for place, times in whole.items() if _is_unique(place.json)),
            )
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
        of_names: Counter[Place] = Counter()
        for place, times in whole.items():
            if not isinstance(place.json, dict) or (self._ref_alone and "$ref" in place.json):
                continue
            for word in _OTHER_PROPERTIES:
                if isinstance(place.json.get(word), dict):
                    other[self._documents.place(place.json[word], place.base)] += times
            if isinstance(place.json.get("propertyNames"), dict):
                of_names[self._documents.place(place.json["propertyNames"], place.base)] += times
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
        state.names += self._state(of_names, waiting).matching if of_names else 0
        state.named = {name: self._state(each + other, waiting) for name, each in named.items()}


def _taken(state: State, value: Any, most: int) -> tuple[int, int]:
    """How many checks a value takes, and how many steps of its patterns, all its places counted; to the end where it
    takes no more than so many checks and MATCHING_MAX."""
    checks, matching, waiting = 0, 0, [(state, value)]
    while waiting and checks <= most and matching <= MATCHING_MAX:
        here, json = waiting.pop()
        checks += here.applied
        if isinstance(json, dict):
            if here.names:
                matching += here.names * sum(map(_bytes, json))
            waiting += [(here.named.get(name, here.other) or _NOTHING, each) for name, each in json.items()]
        elif isinstance(json, list):
            if here.unique:
                checks += here.unique * _compared(json)
            if here.items is not None:
                waiting += [(here.items, each) for each in json]
        elif here.matching and isinstance(json, str):
            matching += here.matching * _bytes(json)
    return checks, matching


def _bytes(text: str) -> int:
    return 1 + (len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass")))


def _compared(items: list[Any]) -> int:
    """How many values are looked at to see that no item comes twice.

    The library compares what it cannot tell apart by the texts and numbers within it: lists whose brackets alone are
    different are compared each with each.
    """
    looked_at = len(items)
    alike: dict[int, list[int]] = {}  # of those not told apart: how many, and how many values are within them
    for item in items:
        if isinstance(item, list | dict):
            leaves: list[int] = []
            size = _flat(item, leaves)
            looked_at += size
            group = alike.setdefault(hash(tuple(leaves)), [0, 0])
            group[0] += 1
            group[1] += size
    return looked_at + sum((count - 1) * size // 2 for count, size in alike.values())


def _flat(value: Any, leaves: list[int]) -> int:
    """How many values are in one, itself counted; `leaves` gets those that are neither lists nor objects."""
    if isinstance(value, list):
        return 1 + sum(_flat(each, leaves) for each in value)
    if isinstance(value, dict):
        size, entries = 1, []
        for name, each in value.items():
            inner: list[int] = []
            size += _flat(each, inner)
            entries.append((name, *inner))
        leaves.append(hash(frozenset(entries)))
        return size
    leaves.append(hash(value))
    return 1


def _dict(json: Any, word: str) -> Mapping[str, Any]:
    found = json.get(word) if isinstance(json, dict) else None
    return found if isinstance(found, dict) else {}


def _entries(json: Any) -> int:
    """How many schemas more a schema counts as for what it lists."""
    if not isinstance(json, dict):
        return 0
    lists = ((json.get(word), many) for word, many in _ENTRIES.items())
    enum = json.get("enum")
    values = [*(enum if isinstance(enum, list) else []), json.get("const")]
    nested = _NESTED * sum(isinstance(each, list | dict) for each in values)
    return nested + sum(len(found) // many for found, many in lists if isinstance(found, list | dict))


def _pattern(json: Any) -> list[str]:
    found = json.get("pattern") if isinstance(json, dict) else None
    return [found] if isinstance(found, str) else []


def _is_unique(json: Any) -> bool:
    return isinstance(json, dict) and json.get("uniqueItems") is True
