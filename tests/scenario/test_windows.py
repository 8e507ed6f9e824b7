"""Windows that are asked for at any moment of a history: during backlogs, after rewinds, restarts and losses, among
zombies and collections, withdrawn and exported once more. `tests.scenario.windows` says what always holds."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule, run_state_machine_as_test

from tests.scenario.machine import REACHED, Histories, maybe
from tests.scenario.processes import Fate
from tests.scenario.windows import Reexporting

EXAMPLES = 200  # an empty window is rare, and what is drawn depends on what else a process has imported
STEPS = 20
EVERYTHING = (
    *("a window with records", "an empty window", "a window copied"),
    *("a window withdrawn", "a window exported once more"),
)
backs = st.sampled_from([0, 0, 1, 2, 4])
lengths = st.sampled_from([1, 1, 2, 4, 30])


class WithWindows(Histories):
    """The same histories, with windows."""

    world: Reexporting
    world_type = Reexporting

    @rule(back=backs, minutes=lengths, fate=maybe, anew=st.booleans())
    def reexport(self, back: int, minutes: int, fate: list[Fate], anew: bool) -> None:
        if self.has_a_bed(fate):
            self.world.reexport(self.world.window(back, minutes), fate, anew=anew)

    @rule(back=backs, minutes=lengths)
    def reexport_undisturbed(self, back: int, minutes: int) -> None:
        self.world.reexport(self.world.window(back, minutes))

    @precondition(lambda self: self.world.windows)
    @rule(which=st.integers(0, 5), fate=maybe, anew=st.booleans())
    def reexport_once_more(self, which: int, fate: list[Fate], anew: bool) -> None:
        windows = self.world.windows
        if self.has_a_bed(fate):
            self.world.reexport(windows[which % len(windows)], fate, anew=anew)

    @precondition(lambda self: self.world.windows)
    @rule(which=st.integers(0, 5), fate=maybe)
    def withdraw(self, which: int, fate: list[Fate]) -> None:
        windows = self.world.windows
        if self.has_a_bed(fate):
            self.world.withdraw(windows[which % len(windows)], fate)

    @rule(back=backs, minutes=lengths, fate=maybe, fate_of_gc=maybe)
    def export_and_withdraw(self, back: int, minutes: int, fate: list[Fate], fate_of_gc: list[Fate]) -> None:
        """And once more, while garbage is collected."""
        window = self.world.window(back, minutes)
        self.world.reexport(window)
        self.world.check()
        self.world.withdraw(window)
        if self.has_a_bed(fate):
            self.world.reexport(window, fate)
        if self.has_a_bed(fate_of_gc):
            self.world.collect(fate_of_gc)
        self.world.check()
        self.world.reexport(window)

    @rule(dated=st.booleans())
    def date(self, dated: bool) -> None:
        self.world.dated = dated

    @rule(small_batch=st.booleans())
    def batch(self, small_batch: bool) -> None:
        """Backlogs are worked off in more batches, or fewer."""
        self.world.batch_records_max = 2 if small_batch else 9


def test_a_window_holds_what_was_there_whenever_it_is_asked() -> None:
    """Every record of its time that the export held and Kafka showed when it was asked, once; and the histories come to
    windows with and without records, copied ones, and such that were withdrawn and exported once more."""
    REACHED.clear()
    run_state_machine_as_test(
        WithWindows,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            derandomize=True,
            database=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        ),
    )
    rare = {name: REACHED[name] for name in EVERYTHING if not REACHED[name]}
    assert not rare, REACHED
