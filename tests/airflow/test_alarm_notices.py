"""What is told of alarms, and by the notifiers that the page shows: to a real mail server and a real webhook."""

from __future__ import annotations

import email
import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from kafka_s3_airflow.alarm_looks import Looked
from kafka_s3_airflow.alarm_notices import Comparison, Known, Notice, Silences, compare, known_of, stored_of
from kafka_s3_airflow.alarms import AlarmKind
from tests.house.pages import blocks, page

# All of Airflow runs in this process, with warnings of its own.
pytestmark = pytest.mark.filterwarnings("ignore")
NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
LAG = Looked({AlarmKind.LAG: "it lags."}, frozenset({AlarmKind.LAG}))
WELL = Looked({}, frozenset({AlarmKind.LAG}))
UNSEEN = Looked({AlarmKind.UNSEEN: "no answer."}, frozenset({AlarmKind.UNSEEN}))
TOLD = {"orders:lag": Known("it lags.")}


def compared(looked: Looked | None, known: dict[str, Known], silences: str = "", **more: Any) -> Comparison:
    looks = {} if looked is None else {"orders": looked}
    return compare(looks, known, Silences.parse(silences), NOW, {}, **more)


def test_what_could_not_be_judged_is_not_over() -> None:
    """An alarm ends by a look that shows it, and by no look that could not see."""
    assert [each.key for each in compared(WELL, TOLD).resolved] == ["orders:lag"]
    unseen = compared(UNSEEN, TOLD)
    assert [each.key for each in unseen.new] == ["orders:unseen"]
    assert unseen.resolved == []
    assert dict(unseen.kept) == TOLD


def test_a_connector_that_is_gone_is_said_to_be() -> None:
    """Its alarms are over as it is; but not because the folder could not be read."""
    [gone] = compared(None, TOLD).resolved
    assert "has no connector of this name any more" in gone.message
    assert compared(None, TOLD, is_whole=False).resolved == []
    assert dict(compared(None, TOLD, is_whole=False).kept) == TOLD


@pytest.mark.parametrize("name", ["orders", "orders:lag", "*", "*:lag"])
def test_a_silence_is_for_a_time(name: str) -> None:
    """A silenced alarm is kept silent; what lasts longer than its silence is told, again if it was told before."""
    later = json.dumps({name: (NOW + timedelta(hours=1)).isoformat()})
    silent = compared(LAG, TOLD, later)
    assert (silent.alarming, silent.new, silent.resolved) == ([], [], [])
    assert [each.key for each in silent.silent] == ["orders:lag"]
    assert [each.key for each in compared(LAG, dict(silent.kept)).new] == ["orders:lag"]
    assert [each.key for each in compared(WELL, dict(silent.kept), later).resolved] == ["orders:lag"]
    over = json.dumps({name: NOW.isoformat()})
    assert [each.key for each in compared(LAG, {}, over).new] == ["orders:lag"]


@pytest.mark.parametrize("text", ["{", "[]", '{"orders": 5}', '{"orders": "soon"}'])
def test_a_silence_that_is_wrong_silences_nothing(text: str) -> None:
    """It is said to be wrong, and the alarms are told."""
    assert Silences.parse(text).problem is not None
    assert len(compared(LAG, {}, text).new) == 1


def test_what_is_remembered_is_json() -> None:
    """Back again as it was; something else is as nothing."""
    known = {"orders:lag": Known("it lags.", silenced=True)}
    assert known_of(json.loads(json.dumps(stored_of(known)))) == known
    assert known_of(None) == known_of([1]) == known_of({"orders:lag": 3}) == {}


# The page's notifiers.


class Mail(socketserver.StreamRequestHandler):
    """As much of SMTP as takes one message."""

    def handle(self) -> None:
        self.wfile.write(b"220 here\r\n")
        for line in self.rfile:
            if line.upper().startswith(b"DATA"):
                self.wfile.write(b"354 go on\r\n")
                message = b"".join(iter(self.rfile.readline, b".\r\n"))
                self.server.got.append(message)  # type: ignore[attr-defined]
            if line.upper().startswith(b"QUIT"):
                self.wfile.write(b"221 bye\r\n")
                return
            self.wfile.write(b"250 ok\r\n")


class Hook(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append(json.loads(body))  # type: ignore[attr-defined]
        self.send_response(204)
        self.end_headers()


@contextmanager
def serving(server: Any) -> Iterator[Any]:
    server.got = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_the_pages_notifiers_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The DAG that the page shows is built, and its notifiers send what its templates say."""
    from kafka_s3_airflow.alarm_dag import _notify

    built: dict[str, Any] = {}
    exec(blocks(page("how-to/alarms.md"), "python")[0], built)
    assert built["dag"].task_ids == ["alarms"]
    new = Notice("orders", AlarmKind.LAG, "it <lags>.", "https://airflow.example.com/kafka-s3/?dag_id=orders")
    over = Notice("orders", AlarmKind.LAG, "it <lags>.", is_resolved=True)
    with (
        serving(socketserver.ThreadingTCPServer(("127.0.0.1", 0), Mail)) as mail,
        serving(HTTPServer(("127.0.0.1", 0), Hook)) as hook,
    ):
        extra = {"disable_tls": True, "disable_ssl": True}
        smtp = {"conn_type": "smtp", "host": "127.0.0.1", "port": mail.server_address[1], "extra": extra}
        url = f"http://127.0.0.1:{hook.server_address[1]}/alarm"
        monkeypatch.setenv("AIRFLOW_CONN_SMTP_DEFAULT", json.dumps(smtp))
        monkeypatch.setenv("AIRFLOW_CONN_ALARMS", json.dumps({"conn_type": "http", "host": url}))
        context: Any = {"dag": built["dag"]}
        wrong = [_notify(context, built[name], each) for name in ("email", "webhook") for each in (new, over)]
    assert wrong == [None] * 4
    assert [each["resolved"] for each in hook.got] == [False, True]
    assert hook.got[0]["text"] == new.message
    first, second = (email.message_from_bytes(each) for each in mail.got)
    assert [first["Subject"], second["Subject"]] == ["orders:lag", "orders:lag is over"]
    [body] = [part.get_payload(decode=True) for part in first.walk() if not part.is_multipart()]
    assert b"it &lt;lags&gt;." in body
