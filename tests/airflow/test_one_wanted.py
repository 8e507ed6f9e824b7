"""A task's process asks for one DAG: it is what all of them have, and made of its own file alone where that can be."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.airflow.test_integrity import dags_of, healthy, serialized, write

pytestmark = pytest.mark.filterwarnings("ignore")
REEXPORT, VERIFY = "export.reexport.enable=true\n", "export.verify.schedule=@daily\n"


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are read as connectors, in turn."""
    from kafka_s3_airflow import dags

    found: list[str] = []
    look = dags.look_at

    def note(path: Path) -> Any:
        found.append(path.name)
        return look(path)

    monkeypatch.setattr(dags, "look_at", note)
    return found


def wanted(dag_id: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    from kafka_s3_airflow import dags

    with monkeypatch.context() as patched:
        patched.setattr(dags, "get_parsing_context", lambda: SimpleNamespace(dag_id=dag_id))
        return dags_of(folder)


def test_others_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looked_at: list[str]) -> None:
    """Of a connector by itself: its own file, whatever that is called, among those of names that contain its name."""
    write(tmp_path, "x.properties", "orders", REEXPORT + VERIFY)
    write(tmp_path, "orders-eu.properties", "orders-eu")
    write(tmp_path, "y.properties", "eu.orders", "export.description=like\\\n orders\n")
    every = dags_of(tmp_path)
    for dag_id in ("orders", "orders__verify", "orders__reexport"):
        looked_at.clear()
        made = wanted(dag_id, tmp_path, monkeypatch)
        assert set(made) == {dag_id}
        assert serialized(made[dag_id]) == serialized(every[dag_id])
        assert looked_at == ["x.properties"]


@pytest.mark.parametrize(
    ("file", "name", "is_healthy"),
    [
        ("b.properties", "orders", False),
        ("b.properties", r"or\u0064ers", False),
        ("orders.properties", "${env:NAME}", True),  # such a file is wrong, and takes no name
    ],
)
def test_a_name_that_two_files_claim(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, name: str, is_healthy: bool
) -> None:
    """Neither has it, in a task as in the scheduler, however the other spells it."""
    write(tmp_path, "a.properties", "orders")
    write(tmp_path, file, name)
    every = dags_of(tmp_path)
    made = wanted("orders", tmp_path, monkeypatch)
    assert set(made) == {"orders"} & set(every)
    assert [healthy(dag) for dag in made.values()] == [healthy(every[dag_id]) for dag_id in made]
    assert ("orders" in every and healthy(every["orders"])) is is_healthy


def test_what_is_wrong_is_made_of_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is wrong has the id that it has beside the others; a member of a group is in its group's DAG."""
    write(tmp_path, "orders.properties", "a", "flush.size=x\n")
    write(tmp_path, "1.properties", "orders")
    write(tmp_path, "2.properties", "b", "export.group=nightly\n")
    every = dags_of(tmp_path)
    assert {dag_id: healthy(dag) for dag_id, dag in every.items()} == {
        "a": False,
        "orders": True,
        "nightly__group": True,
    }
    for dag_id in every:
        made = wanted(dag_id, tmp_path, monkeypatch)
        assert (set(made), healthy(made[dag_id])) == ({dag_id}, healthy(every[dag_id]))
    assert wanted("b", tmp_path, monkeypatch) == {}
