"""The documents of the house say what is so: paths, places to die and links are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kafka_s3.crash_points import CrashPoint
from tests.house.pages import PAGES, ROOT, name_of

#: Where a path that a document names may begin. A row's later paths lie beside its first one, too.
ROOTS = (ROOT, ROOT / "jobs/kafka_s3", ROOT / "plugins/kafka_s3_airflow")


def rows(page: Path, header: str) -> list[list[str]]:
    """The cells of the table with this header."""
    table = re.search(rf"^\| {re.escape(header)} .*\n\|[-|]+\n((?:\|.*\n)+)", page.read_text(), re.M)
    assert table is not None, f"{page.name} has no table {header}"
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table[1].splitlines()]


def test_every_start_of_the_house_is_there() -> None:
    """Each path of "I want to… start in…" exists, and what stands behind it in brackets is in that file."""
    starts = rows(ROOT / "docs/house.md", "I want to…")
    assert len(starts) > 20
    for wish, *places in starts:
        for path, name in re.findall(r"`([\w/.<>]+)`(?: \(`(\w+)`\))?", " ".join(places)):
            if ("/" not in path and "." not in path) or "<" in path:
                continue
            found = [root / path for root in ROOTS if (root / path).exists()]
            assert found, f"{wish}: {path} is not there"
            assert name in (found[0].read_text() if name else ""), f"{wish}: {path} has no {name}"


def test_the_way_from_plan_to_commit_is_short() -> None:
    """Its files exist, none is an operation's, and together they have fewer lines than the page says."""
    page = ROOT / "docs/house.md"
    files = [ROOT / "jobs/kafka_s3" / row[0].strip("`") for row in rows(page, "file")]
    said = re.search(r"fewer than ([\d,]+) lines", page.read_text())
    assert said is not None
    assert files[0].name == "planner.py"
    assert files[-1].name == "store.py"
    assert {file.parent.name for file in files} == {"plan", "export", "write", "log"}
    assert sum(len(file.read_text().splitlines()) for file in files) < int(said[1].replace(",", ""))


def test_the_crash_table_has_every_crash_point() -> None:
    """The rows of the crash table are the crash points, in their order."""
    table = rows(ROOT / "docs/protocol.md", "crash point")
    assert [row[0] for row in table] == [f"`{point.name}`" for point in CrashPoint]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_links_of_documents_resolve(page: Path) -> None:
    """Each link from one document of the repository to another leads to a file, and to a title in it."""
    for target, title in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", page.read_text()):
        file = page.parent / target if target else page
        assert file.exists(), f"{page.name}: {target} is not there"
        if title:
            titles = re.findall(r"^#+ (.+)$", file.read_text(), re.M)
            slugs = {re.sub(r"[^a-z0-9 -]", "", each.lower()).replace(" ", "-") for each in titles}
            assert title in slugs, f"{page.name}: {target}#{title} is not there"
