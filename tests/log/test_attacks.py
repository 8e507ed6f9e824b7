"""What somebody gains who may write below the log's prefix and has no key: with a key nothing, without one no more.

Each attack is made on a connector with a key (refused, by name) and on one without (it reaches nothing that today's
configuration does not name).
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from kafka_s3.adapters.memory import MemoryDeadLetters, MemoryStore
from kafka_s3.bucket.folders import NOTHING_NAMED, Configurations, Named
from kafka_s3.dead_letters.redrive import Redriven, Wanted, redrive
from kafka_s3.errors import ConfigurationError, LogDamaged, NotSigned, TooLarge
from kafka_s3.gc.gc import Garbage, collect, delete
from kafka_s3.log.documents import encode
from kafka_s3.log.entries import Kind, Owner, Plan, PlannedRange, RunPlan, TopicState
from kafka_s3.log.store import Log
from kafka_s3.ranges import TopicPartition
from kafka_s3.settings.files import read_limited, read_text
from kafka_s3.signing import NO_KEY
from kafka_s3.verify.verify import Verified, verify
from tests.dead_letters.letters import commit_letters, letter
from tests.log.logs import HandMade, settings_of

KEY = "k" * 40
TP = TopicPartition("refunds", 0)
JOBS = Path(__file__).parents[2] / "jobs"


@dataclass
class Scene:
    """A connector with a log, beside another one whose objects lie under `archive/`; and a stranger in the bucket."""

    key: str | None = None
    store: MemoryStore = field(default_factory=MemoryStore)

    def __post_init__(self) -> None:
        signed = {} if self.key is None else {"export_log_key": self.key}
        self.orders = HandMade(settings_of(**signed), store=self.store)
        self.orders.begin({"orders": 1})
        self.orders.commit([("orders", 0, 0, 10)])
        self.refunds = HandMade(settings_of(name="refunds", topics="refunds", topics_dir="archive"), store=self.store)
        self.refunds.begin({"refunds": 1})
        self.refunds.commit([("refunds", 0, 0, 10)])
        self.before = self.data()

    def data(self) -> set[str]:
        return {key for key in self.store.contents() if not key.startswith("_kafka_s3/")}

    def stranger(self) -> HandMade:
        """Writes to the first connector's log as the exporter would, without the key."""
        settings = replace(self.orders.settings, log_key=NO_KEY)
        return HandMade(settings, store=self.store, topics=dict(self.orders.topics), head=self.orders.head)

    def claim_the_others_objects(self) -> None:
        """A plan, an entry and an owner by which the other's objects are this connector's, and garbage."""
        stranger = self.stranger()
        others = replace(self.refunds.settings, log_key=NO_KEY)
        owner = stranger.log.layout.owner_key("archive", "refunds")
        self.store.overwrite(owner, encode(Owner(connector="orders", log=stranger.log.layout.log_prefix)))
        stranger.settings = replace(
            stranger.settings,
            layout=others.layout,
            resolved={**others.resolved, "name": "orders"},
            configuration_sha256=others.configuration_sha256,
        )
        stranger.topics["refunds"] = TopicState(topic_id="id-of-refunds", positions={0: 50})
        stranger.put(Kind.CHECKPOINT)
        planned = stranger.plan([])
        stranger.put(Kind.COMMIT, plan_sha256=planned.sha256)

    def collect(self, named: Named = NOTHING_NAMED) -> Garbage | None:
        return collect(self.orders.settings, self.orders.log, named=named)

    def verify(self) -> Verified:
        return verify(self.orders.settings, self.orders.log, None, tell=lambda _: None)


def test_gc_of_a_forged_log_without_a_key() -> None:
    """A forged plan, entry and owner make gc delete nothing of another connector; it says what it left alone."""
    scene = Scene()
    scene.claim_the_others_objects()
    garbage = scene.collect()
    assert garbage is not None
    assert garbage.objects == ()
    assert any(note.startswith("archive/ was not looked at") for note in garbage.notes)
    assert any(note.startswith("topic refunds was not looked at") for note in garbage.notes)
    delete(scene.orders.log, garbage)
    assert scene.data() == scene.before


def test_gc_of_a_forged_log_with_a_key() -> None:
    """With a key the forged entry is named, and nothing is looked at."""
    scene = Scene(KEY)
    scene.claim_the_others_objects()
    with pytest.raises(LogDamaged, match="is not signed") as raised:
        scene.collect()
    assert scene.orders.log.layout.log_key(3) in str(raised.value)
    assert scene.data() == scene.before


def test_gc_goes_where_a_person_points() -> None:
    """The same plan moves gc where --prefix and --topic name it: so the attack would work without that rule."""
    scene = Scene()
    scene.claim_the_others_objects()
    garbage = scene.collect(Named(("archive/",), ("refunds",)))
    assert garbage is not None
    assert {orphan.key for orphan in garbage.objects} == {key for key in scene.before if key.startswith("archive/")}


def test_a_rewritten_log_is_refused_with_a_key() -> None:
    """A log that is rewritten so that committed objects are listed nowhere is damaged for gc and verify alike."""
    scene = Scene(KEY)
    stranger = HandMade(replace(scene.orders.settings, log_key=NO_KEY))
    stranger.begin({"orders": 1})
    stranger.gap(("orders", 0, 0, 10))
    for seq in range(2):
        key = stranger.log.layout.log_key(seq)
        scene.store.overwrite(key, stranger.store.contents()[key])
    verified = scene.verify()
    assert not verified.ok
    assert all("is not signed" in str(finding) for finding in verified.findings)
    with pytest.raises(LogDamaged, match="is not signed"):
        scene.collect()
    assert scene.data() == scene.before


def test_without_a_key_verify_says_whom_it_trusts() -> None:
    """Where nothing is signed, a rewritten log may look sound: verify says so, and by which permissions it is not."""
    scene = Scene()
    stranger = HandMade(scene.orders.settings)
    stranger.begin({"orders": 1})
    stranger.gap(("orders", 0, 0, 10))
    for seq in range(2):
        key = stranger.log.layout.log_key(seq)
        scene.store.overwrite(key, stranger.store.contents()[key])
    verified = scene.verify()
    assert verified.ok, "the rewritten log is a sound log: nothing in the bucket tells it from the true one"
    assert "not signed" in verified.trust
    assert "_kafka_s3/orders/" in verified.trust
    assert "_kafka_s3/owners/" in verified.trust
    assert "export.log.key" in verified.trust
    assert "signed" in Scene(KEY).verify().trust
    assert "not signed" not in Scene(KEY).verify().trust


def _redrive(scene: Scene, sink: MemoryDeadLetters, **wanted: str) -> Redriven:
    to = wanted.pop("to", None)
    return redrive(
        scene.orders.log,
        Wanted(**wanted),  # type: ignore[arg-type]
        exports=scene.orders.settings.exports,
        to=to,
        again=False,
        sink=sink,
        at_ms=0,
        tell=lambda _: None,
    )


def test_forged_dead_letters_reach_no_topic_of_others() -> None:
    """Letters that an entry lists for a topic which the connector does not export are not sent, and said to be left."""
    scene, sink = Scene(), MemoryDeadLetters()
    commit_letters(scene.stranger().log, letter(3, TopicPartition("payments", 0)), letter(30))
    done = _redrive(scene, sink)
    assert [each.topic for each in sink.sent] == ["orders"]
    assert done.foreign == {"payments": 1}
    assert _redrive(scene, sink, topic="payments").sent == {"payments": 1}, "a person may name it"


def test_forged_dead_letters_are_refused_with_a_key() -> None:
    """With a key no letter of an entry that nobody signed is sent, of the connector's own topics neither."""
    scene, sink = Scene(KEY), MemoryDeadLetters()
    commit_letters(scene.stranger().log, letter(30))
    with pytest.raises(NotSigned):
        _redrive(scene, sink)
    assert sink.sent == []


# A plan's configuration.


def _plan(scene: Scene, **configuration: str) -> Plan:
    given = {**scene.orders.settings.resolved, **{name.replace("_", "."): text for name, text in configuration.items()}}
    return Plan(
        seq=2,
        connector="orders",
        previous_sha256="",
        engine="1",
        cluster_id="c",
        isolation_level="read_committed",
        configuration_sha256="ab" * 32,
        configuration=given,
        run=RunPlan(run_id="r", interval=None, ends={}),
        interval=None,
        topics={"orders": TopicState(topic_id="i")},
        ranges=(PlannedRange("orders", 0, 10, 20),),
    )


@pytest.mark.parametrize("name", ["format_class", "partitioner_class", "timestamp_extractor"])
def test_no_module_that_a_plan_names_is_imported(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A class that only a plan names is not looked for: importing it would run whatever is on the path."""
    (tmp_path / "planted.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    scene = Scene()
    configurations = Configurations(scene.orders.settings)
    assert configurations.of(_plan(scene, **{name: "planted:Evil"})) is None
    assert configurations.unknown() == 1
    assert "planted" not in sys.modules


def test_no_file_that_a_plan_names_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a plan names as a file is never opened, whatever it is."""

    def opened(*_: object) -> str:
        raise AssertionError("a file was opened")

    monkeypatch.setattr("kafka_s3.settings.converters.read_limited", opened)
    scene = Scene()
    plain = {"value_converter": "JsonConverter", "value_converter_schemas_enable": "false"}
    plan = _plan(scene, **plain, export_value_schema_file="/dev/zero")
    Configurations(scene.orders.settings).of(plan)


def test_a_pipe_holds_nobody(tmp_path: Path) -> None:
    """A file that a configuration names has to be a regular one: a pipe is an error at once, and no wait for ever."""
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    code = (
        "import sys; from pathlib import Path; from kafka_s3.settings.files import read_limited, read_text\n"
        "for read in (lambda: read_limited(Path(sys.argv[1])), lambda: read_text(sys.argv[1])):\n"
        "    try: read()\n"
        "    except Exception as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(pipe)],
        capture_output=True,
        timeout=60,
        check=True,
        env={**os.environ, "PYTHONPATH": str(JOBS)},
    )
    assert done.stdout.count(b"it is not a regular file") == 2


def test_regular_files_are_read_as_before(tmp_path: Path) -> None:
    """A link to a regular file is one, as secrets are mounted."""
    (tmp_path / "a").write_text("x=1")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert read_limited(tmp_path / "b") == read_text(str(tmp_path / "b")) == "x=1"


# Sizes.


def test_a_huge_entry_is_refused_unread() -> None:
    """An entry of more bytes than a log may hold costs one request and no memory; key, size and limit are named."""
    scene = Scene()
    key = scene.orders.log.layout.log_key(2)
    scene.store.overwrite(key, b"x" * 2000)
    log = Log(_Small(scene.store), scene.orders.log.layout)
    with pytest.raises(TooLarge, match=rf"{key} has 2000 bytes; at most 1999 are read\.") as raised:
        log.newest()
    assert "Nothing of it was read" in str(raised.value)


class _Small(MemoryStore):
    """A store whose documents may have 1,999 bytes, so that a test need not make large ones."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__()
        self._objects = store._objects

    def get(self, key: str, *, limit: int = 0) -> bytes | None:
        return super().get(key, limit=1999)


def test_an_entry_that_could_not_be_read_again_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer refuses what every reader would: with the way out, before anything is put."""
    scene = Scene()
    monkeypatch.setattr("kafka_s3.log.signed_documents.GET_BYTES_MAX", 500)
    before = scene.store.contents()
    with pytest.raises(ConfigurationError, match=r"(?s)at most 500 can be read again.*raise flush\.size"):
        scene.orders.put(Kind.CHECKPOINT)
    assert scene.store.contents() == before
