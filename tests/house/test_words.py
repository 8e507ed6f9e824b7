"""One word for one thing: names of modules and classes are made of the glossary's words."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = (ROOT / "docs/glossary.md").read_text()
#: The rooms whose names are held to the glossary. The others have the words of their format or library.
ROOMS = (
    *("adopt", "dead_letters", "gc", "reexport", "rewind", "sign", "verify"),
    *("bucket", "export", "log", "plan", "publish", "report", "write"),
)

#: Plain words of English and of computing: they mean what they mean everywhere.
PLAIN = frozenset(
    re.findall(
        r"\w+",
        """
    answers append back backward basis before blocked body bucket by change check checkable checked choice class
    closed compared end envelope finish future is next older open
    committed comparison configurations content contradicted copies copy count counted counting decide deleted
    continuity due ended event excluded exported failed file filter first found from group hashing held holes in
    kafka key kind known
    landings listing lists looks lost make member named names newest not nothing of offset oldest owned part
    partition periods picked planner port prefixes prepared publish questions ran read reading refuse request
    router said select selection sent site state stop store stored tail taken timestamp topic total traces
    uncounted unread unsent up verified version versioned wanted withdrawal write writer written
    """,
    )
)


def words(name: str) -> list[str]:
    """`KafkaSnapshot`, `dead_letter_marks`: the words of a name, in small letters."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def tables(header: str) -> set[str]:
    """The words in the first column of the glossary's tables with this header."""
    parts = re.findall(rf"^\| {re.escape(header)} \|.*\n\|[-|]+\n((?:\|.*\n)+)", GLOSSARY, re.M)
    cells = [line.split("|")[1] for part in parts for line in part.splitlines()]
    return {word for cell in cells for word in words(cell)}


VOCABULARY = tables("word | meaning")
BANNED = tables("word | instead")


def singulars(word: str) -> set[str]:
    """A word, and what it may be the plural of."""
    found = {word, word.removesuffix("s"), word.removesuffix("es")}
    return found | ({word.removesuffix("ies") + "y"} if word.endswith("ies") else set())


def names(*rooms: str) -> Iterator[tuple[Path, str]]:
    """Each module and class of these rooms; without any, of the whole engine and of the Airflow side."""
    folders = [ROOT / "jobs/kafka_s3" / room for room in rooms] or [ROOT / "jobs", ROOT / "plugins"]
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            if path.stem != "__init__":
                yield path.relative_to(ROOT), path.stem
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ClassDef):
                    yield path.relative_to(ROOT), node.name


def banned_in(name: str) -> set[str]:
    """The banned words of a name; "letters" only where they are not dead ones, "anything" where it is not Connect's."""
    found = words(name)
    pairs = set(itertools.pairwise(found))
    allowed = {("dead", "letters"), ("connect", "anything")} & pairs
    return (set(found) & BANNED) - {last for _, last in allowed}


def unknown_in(name: str) -> set[str]:
    """Words of a name that neither the glossary nor plain English has."""
    return {word for word in words(name) if not singulars(word) & (VOCABULARY | PLAIN)}


@pytest.mark.parametrize("room", ROOMS)
def test_names_are_made_of_the_glossarys_words(room: str) -> None:
    """Each word of a name in a public room is in the glossary, or in the short list of plain words."""
    unknown = {f"{path}: {name}": sorted(unknown_in(name)) for path, name in names(room) if name[0] != "_"}
    found = {name: words for name, words in unknown.items() if words}
    assert not found, f"say in docs/glossary.md what they mean, or use its words: {found}"


def test_banned_words_do_not_come_back() -> None:
    """No module and no class has a word that only this house understood."""
    assert not {f"{path}: {name}" for path, name in names() if banned_in(name)}


@pytest.mark.parametrize(
    ("name", "banned"),
    [("LetterFile", False), ("CommitLetters", True), ("DeadLettersUnsent", False), ("troubles", True), ("own", True)],
)
def test_a_banned_word_is_found(name: str, *, banned: bool) -> None:
    """The check can fail: it finds banned words, and lets dead letters pass."""
    assert bool(banned_in(name)) is banned


def test_a_word_that_nobody_knows_is_found() -> None:
    """The check can fail: a word of nobody's is named, a plural of the glossary's is not."""
    assert unknown_in("FlurbEntry") == {"flurb"}
    assert unknown_in("anomalies") == set()


def test_the_places_of_the_glossary_are_there() -> None:
    """Each path in the glossary's last column exists."""
    places = re.findall(r"\| (`[\w/]+\.py`(?:, `[\w/]+\.py`)*) \|$", GLOSSARY, re.M)
    assert len(places) > 60
    named = {path for cell in places for path in re.findall(r"`([\w/.]+)`", cell)}
    assert [path for path in sorted(named) if not (ROOT / "jobs/kafka_s3" / path).exists()] == []
