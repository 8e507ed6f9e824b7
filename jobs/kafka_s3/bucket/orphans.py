"""Objects that no log entry lists, and which of them may be deleted.

Why that cannot race (docs/protocol.md#deletion). Let H be the newest entry that was read. An orphan may be deleted if
its name says

    a start offset below H's position of its partition, and H's generation of its topic; or
    an older generation than H's.

No entry after H can list it. An entry lists what was written for the plan in its own slot (or nothing). A plan in a
slot after H's names H, or a later entry, as the one before it, and is refused otherwise; so its ranges begin at or
above the positions of that entry, and its keys carry that entry's generation. From entry to entry a position only
rises, unless the generation of its topic rises too, and a generation never goes back. So every later plan makes keys
at or above H's positions in H's generation, or keys of a later generation. Entries up to H were read, every one, and
list it neither. What is written, planned, committed or rewound while somebody looks changes nothing of this: the rule
speaks of H alone, and age plays no part.

Objects of earlier plans that are still being written (their drivers have lost and do not know it yet) fall under the
rule as well: nobody can commit them any more.

Objects of windows that were exported again follow a rule of their own, which `bucket.window_leftovers` says.

What begins where the log says that records are lost may be their last copy: it waits until somebody asks for it, too
(`lost`).

Four things are left alone although no entry lists them: what an `adopt` entry took over (all of the generations
before its own, and below its positions), keys of topics that another connector owns, keys that another connector may
have made by routing (it exports the same topic under a `topics.dir` in a folder of ours, and a folder there has a
topic's name), and whatever is not exactly a key that one of the log's configurations makes.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kafka_s3.bucket.folders import Place, letters_place, prefixes
from kafka_s3.bucket.lost import LostRange
from kafka_s3.errors import LogDamaged, StoreRefused
from kafka_s3.log.documents import decode
from kafka_s3.log.entries import Entry, Owner
from kafka_s3.log.store import Log
from kafka_s3.naming import DataName
from kafka_s3.ports import ObjectStore, OpenUpload
from kafka_s3.ranges import TopicPartition

_TOLD_EVERY: Final = 1000
_TOPIC: Final = re.compile(r"[A-Za-z0-9._-]{1,249}", re.ASCII)


class Fate(enum.Enum):
    """What an object that no entry lists is, and so what may become of it."""

    BELOW = "below the position"
    OLDER = "of an older generation"
    AHEAD = "a run at work may still commit it"
    ADOPTED = "it was there before the log began"
    WINDOW = "its window is committed without it, or was withdrawn"
    WITHDRAWN = "a rewind withdrew it, and its offsets are exported again"
    LOST = "what Kafka lost before it was exported may be in it alone"

    @property
    def deletable(self) -> bool:
        return self in (Fate.BELOW, Fate.OLDER, Fate.WINDOW, Fate.WITHDRAWN)


def fate(name: DataName, head: Entry, adopted: Iterable[Entry], lost: Iterable[LostRange] = ()) -> Fate:
    """What a name says about an object that no entry up to `head` lists; `lost`: by what those entries say."""
    known = _fate(name, head, adopted)
    return Fate.LOST if known.deletable and any(each.holds(name) for each in lost) else known


def _fate(name: DataName, head: Entry, adopted: Iterable[Entry]) -> Fate:
    tp = TopicPartition(name.topic, name.partition)
    for entry in adopted:
        state = entry.topics.get(name.topic)
        if state is not None and (
            name.generation < state.generation
            or (name.generation == state.generation and name.start_offset < state.positions.get(name.partition, 0))
        ):
            return Fate.ADOPTED
    state = head.topics.get(name.topic)
    if state is None:
        return Fate.AHEAD
    if name.generation < state.generation:
        return Fate.OLDER
    position = head.position(tp)
    if name.generation == state.generation and position is not None and name.start_offset < position:
        return Fate.BELOW
    return Fate.AHEAD


@dataclass(frozen=True, slots=True)
class Orphan:
    """A data object, companion or object of dead letters that no entry lists."""

    key: str
    size: int
    fate: Fate

    @property
    def deletable(self) -> bool:
        """Whether no future plan can make this key."""
        return self.fate.deletable


@dataclass(frozen=True, slots=True)
class OwnedPrefixes:
    """The keys that are this connector's to look at. `others`: prefixes inside its own that somebody else owns;
    `other_dirs`: what somebody else calls `topics.dir`, inside one that transforms route records in; `routes`: what
    somebody else calls so inside a topic's own folder, where that topic's records may be routed to any name: the
    prefix, its delimiter and the topic."""

    places: tuple[tuple[Place, str], ...]
    others: tuple[str, ...]
    other_dirs: tuple[str, ...]
    notes: tuple[str, ...]
    prefixes: tuple[str, ...]
    routes: tuple[tuple[str, str, str], ...] = ()

    def names(self, key: str) -> list[DataName]:
        """Every way to read a key: none if it is not a key of ours, several where delimiters leave that open."""
        # What transforms put into another topic's folder is ours by the file's name, whoever owns that topic.
        places = [(place, topic) for place, topic in self.places if topic in key]
        if key.startswith(self.others):
            places = [(place, topic) for place, topic in places if place.layout.routed]
        if key.startswith(self.other_dirs):
            places = [(place, topic) for place, topic in places if not place.layout.routed]
        routed = {topic for prefix, delim, topic in self.routes if _is_routed(key, prefix, delim)}
        places = [(place, topic) for place, topic in places if place.layout.routed or topic not in routed]
        found = [(place.parse(topic, key), place.layout.directory_delim) for place, topic in places]
        return list(dict.fromkeys(name for name, delim in found if name is not None and not _is_nested(name, delim)))

    def fate(self, key: str, head: Entry, adopted: Sequence[Entry], lost: Sequence[LostRange] = ()) -> Fate | None:
        """What becomes of a key that nobody lists: to be deletable it has to be so however it is read."""
        fates = [fate(name, head, adopted, lost) for name in self.names(key)]
        return next((each for each in fates if not each.deletable), fates[0]) if fates else None


def _is_nested(name: DataName, delim: str) -> bool:
    """Whether a routed key may as well be that of another program, in its topic's own folder of a deeper `topics.dir`:
    topics/backup/orders/partition=0/orders+0+0000000000.json."""
    return name.folder is not None and name.topic in name.encoded_partition.split(delim)


def _is_routed(key: str, prefix: str, delim: str) -> bool:
    """Whether a key lies in a folder below the prefix that has the name of a topic."""
    return key.startswith(prefix) and _TOPIC.fullmatch(key[len(prefix) :].split(delim, 1)[0]) is not None


def survey(log: Log, head: Entry, places: Iterable[Place], *, topics: Sequence[str] | None = None) -> OwnedPrefixes:
    """Find out which topics are this connector's, by the owners in the bucket. Raises `LogDamaged`.

    `topics`: those to look at; all that the log knows unless given.
    """
    looked_at = sorted(head.topics) if topics is None else topics
    ours = Owner(connector=log.layout.connector, log=log.layout.name)
    owners = _owner_keys(log)
    mine: list[tuple[Place, str]] = []
    own: set[str] = set()
    notes: list[str] = []
    for place in sorted(places, key=repr):
        for topic in looked_at:
            key = log.layout.owner_key(place.layout.topics_dir, topic)
            if key not in owners:  # no plan ever had a range of it there
                continue
            owner = _owner(log, key)
            if owner != ours:
                notes.append(f"{place.layout.topic_prefix(topic)} was not looked at: it belongs to {owner.connector}")
                continue
            own.add(key)
            mine.append((place, topic))
    delims = {place.layout.directory_delim for place, _ in mine} | {"/"}
    foreign = _prefixes_of(log, owners - own, delims)
    routed_in = {place.layout.topics_dir for place, _ in mine if place.layout.routed}
    kept, others = [], set[str]()
    for place, topic in mine:
        prefix = place.layout.topic_prefix(topic)
        around = next((each for each in foreign if prefix != each and prefix.startswith(each)), None)
        if around is not None:
            notes.append(f"{prefix} was not looked at: it lies within {around}, which somebody else owns")
            continue
        kept.append((place, topic))
        others |= {each for each in foreign if each.startswith(prefix)}
    letters = letters_place(log.layout)
    kept += [(letters, topic) for topic in looked_at]
    dirs = _dirs_within(log, owners - own, routed_in, delims)
    routes = _routes_within(log, owners - own, mine, delims)
    told = tuple(dict.fromkeys(notes))
    return OwnedPrefixes(tuple(kept), tuple(sorted(others)), dirs, told, tuple(prefixes(kept)), routes)


def _owner_keys(log: Log) -> set[str]:
    return {info.key for info in log.store.list(log.layout.owner_key("", "x").removesuffix("x.json"))}


def _owner(log: Log, key: str) -> Owner:
    data = log.get(key)
    if data is None:
        raise LogDamaged(f"The owner {key} was listed and is gone.", next="Nothing was deleted; try again.")
    return decode(Owner, key, data)


def _dirs_within(log: Log, owner_keys: Iterable[str], dirs: Iterable[str], delims: Iterable[str]) -> tuple[str, ...]:
    """What all keys of owners begin with whose `topics.dir` lies within one of `dirs`, wherever they route to."""
    theirs = {folder for folder, _ in _folders_of(log, owner_keys)}
    within = ((each, own, delim) for each in theirs for own in dirs for delim in delims)
    return tuple(sorted({f"{each}{delim}" for each, own, delim in within if each.startswith(f"{own}{delim}")}))


def _routes_within(
    log: Log, owner_keys: Iterable[str], mine: Iterable[tuple[Place, str]], delims: Iterable[str]
) -> tuple[tuple[str, str, str], ...]:
    """Where somebody else may route the records of a topic within that topic's own folder of ours."""
    theirs = list(_folders_of(log, owner_keys))
    found = {
        (f"{folder}{delim}", delim, topic)
        for place, topic in mine
        for folder, theirs_topic in theirs
        for delim in delims
        if theirs_topic == topic and f"{folder}{delim}".startswith(place.layout.topic_prefix(topic))
    }
    return tuple(sorted(found))


def _folders_of(log: Log, owner_keys: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The `topics.dir` and the topic of owners."""
    root = log.layout.owner_key("", "x").removesuffix("x.json")
    for key in owner_keys:
        folder, _, topic = key.removeprefix(root).removesuffix(".json").rpartition("/")
        yield folder, topic


def _prefixes_of(log: Log, owner_keys: Iterable[str], delims: Iterable[str]) -> set[str]:
    """What the data keys of owners begin with; an owner does not say by which delimiter."""
    found = set()
    for folder, topic in _folders_of(log, owner_keys):
        for delim in delims:
            found.add(delim.join(part for part in (folder, topic) if part) + delim)
    return found


def find(
    log: Log,
    territory: OwnedPrefixes,
    listed: Container[str],
    head: Entry,
    adopted: Sequence[Entry],
    tell: Callable[[int], None] = lambda _: None,
    lost: Sequence[LostRange] = (),
    withdrawn: Container[str] = frozenset(),
) -> Iterator[Orphan]:
    """Every object that no entry lists, adopted ones left out. `head`: the newest entry of those that made `listed`.

    `tell`: how many keys were looked at, now and then.
    """
    looked_at = 0
    for prefix in territory.prefixes:
        for info in log.store.list(prefix):
            looked_at += 1
            if looked_at % _TOLD_EVERY == 0:
                tell(looked_at)
            if info.key in withdrawn and territory.names(info.key):
                yield Orphan(info.key, info.size, Fate.WITHDRAWN)
            if info.key in listed:
                continue
            found = territory.fate(info.key, head, adopted, lost)
            if found is not None and found is not Fate.ADOPTED:
                yield Orphan(info.key, info.size, found)


def open_uploads(
    store: ObjectStore, prefixes: Iterable[str], wanted: Callable[[str, str], bool]
) -> tuple[list[OpenUpload], str]:
    """Open uploads of which `wanted(key, prefix)` is so; and why they were not all looked for, if that is so.

    Listing them takes a permission of its own, which no export needs.
    """
    found: list[OpenUpload] = []
    try:
        for prefix in prefixes:
            found += [upload for upload in store.uploads(prefix) if wanted(upload.key, prefix)]
    except StoreRefused as error:
        return found, f"open uploads were not looked for: {error.what}"
    return found, ""


def keys_of(entry: Entry) -> Iterator[str]:
    """Every key that an entry lists: objects, what lies beside them, and dead letters."""
    for done in entry.ranges:
        for made in done.objects:
            yield made.key
            yield from (each.key for each in made.companions)
        if done.dead_letters is not None:
            yield done.dead_letters.key
