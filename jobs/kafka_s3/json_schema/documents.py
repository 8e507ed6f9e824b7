"""A schema and those it refers to, as JSON values, and what a `$ref` names among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote, urldefrag, urljoin

from kafka_s3.shown import named

#: Levels of a document that are searched for `$id` and `$anchor`.
_LEVELS_MAX: Final = 100
#: An `$id`, a `$ref` or the name of a reference may have this many characters, also joined with what it is relative to.
ADDRESS_CHARS_MAX: Final = 2_048
#: Under which a schema without a name of its own stands, so that names are relative to something.
_NOWHERE: Final = "file:///"


class NoReference(ValueError):
    """A `$ref` that names nothing, and why, for people."""


@dataclass(frozen=True, eq=False, slots=True)
class Place:
    """A schema within a document: its JSON, and the address that names in it are relative to."""

    json: Any
    base: str


class Documents:
    """`names`: what each of `documents` is called where it is referred to. `id_word`: `$id`, or `id` of draft 4."""

    def __init__(self, root: Any, documents: Mapping[str, Any], id_word: str = "$id") -> None:
        self._id_word = id_word
        self._named: dict[str, Place] = {}
        self._places: dict[int, Place] = {}
        self._searched: dict[int, dict[str, Place]] = {}
        self.root = self.place(root, _NOWHERE)
        self._named[_NOWHERE] = self.root
        self._named.setdefault(self.root.base, self.root)
        for name, json in documents.items():
            joined = _joined(self.root.base, name)
            for address in (name, joined):
                self._named.setdefault(_whole(address), self.place(json, joined))
        for place in list(self._named.values()):
            self._named.setdefault(place.base, place)

    def place(self, json: Any, base: str) -> Place:
        """A schema below one whose names are relative to `base`; the same one for the same JSON."""
        known = self._places.get(id(json))
        if known is None or known.json is not json:
            own = json.get(self._id_word) if isinstance(json, dict) else None
            if isinstance(own, str) and not own.startswith("#"):
                base = _whole(_joined(base, own))
            known = Place(json, base)
            if isinstance(json, dict):
                self._places[id(json)] = known
        return known

    def find(self, reference: str, base: str) -> Place:
        """What a `$ref` names; `NoReference` if that is nothing here."""
        address, fragment = _parted(_joined(base, reference))
        if reference.startswith("#"):  # names of some kinds (urn:) cannot be joined with anything
            address = base
        document = self._named.get(address) or self._named.get(_whole(reference)) or self._inside(address)
        if document is None:
            raise NoReference(f"it refers to {named(reference)}, which the registry does not have under that name")
        if not fragment:
            return document
        found = self._pointed(document, fragment) if fragment.startswith("/") else self._anchored(document, fragment)
        if found is None:
            raise NoReference(f"it refers to {named(reference)}, which does not exist")
        return found

    def _pointed(self, document: Place, pointer: str) -> Place | None:
        here = document
        for step in pointer.split("/")[1:]:
            name = unquote(step).replace("~1", "/").replace("~0", "~")
            json = here.json
            if isinstance(json, dict) and name in json:
                here = self.place(json[name], here.base)
            elif isinstance(json, list) and name.isascii() and name.isdigit() and int(name[:9]) < len(json):
                here = self.place(json[int(name[:9])], here.base)
            else:
                return None
        return here

    def _anchored(self, document: Place, anchor: str) -> Place | None:
        return self._names_in(document).get(f"#{anchor}")

    def _inside(self, address: str) -> Place | None:
        """A schema inside one of the documents that has this address by an `$id` of its own."""
        for document in list(self._named.values()):
            if found := self._names_in(document).get(address):
                return found
        return None

    def _names_in(self, document: Place) -> Mapping[str, Place]:
        if id(document.json) not in self._searched:
            self._searched[id(document.json)] = dict(self._own_names(document, _LEVELS_MAX))
        return self._searched[id(document.json)]

    def _own_names(self, here: Place, levels: int) -> Iterator[tuple[str, Place]]:
        json = here.json
        if levels and isinstance(json, dict):
            own, anchor = json.get(self._id_word), json.get("$anchor")
            if isinstance(own, str):
                yield (own if own.startswith("#") else here.base), here
            if isinstance(anchor, str):
                yield f"#{anchor}", here
        if levels and isinstance(json, dict | list):
            for each in json.values() if isinstance(json, dict) else json:
                yield from self._own_names(self.place(each, here.base), levels - 1)


def _joined(base: str, name: str) -> str:
    try:
        joined = name if len(name) > ADDRESS_CHARS_MAX else urljoin(base, name)
    except ValueError:  # an address with half a bracket
        raise NoReference(f"{named(name)} is not a valid address") from None
    if len(joined) > ADDRESS_CHARS_MAX:
        raise NoReference(f"{named(name)} is an address of more than {ADDRESS_CHARS_MAX} characters")
    return joined


def _whole(address: str) -> str:
    return _parted(address)[0]


def _parted(address: str) -> tuple[str, str]:
    """The address of a document, and the fragment."""
    try:
        whole, fragment = urldefrag(address)
    except ValueError:
        raise NoReference(f"{named(address)} is not a valid address") from None
    return whole, fragment
