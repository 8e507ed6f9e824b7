"""Instants as a pattern prints them, many at once: what lies in one short block has one text, made once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kafka_s3.joda.patterns import Run, compile_pattern, parse_pattern
from kafka_s3.joda.zones import Zone

CACHED_MAX: Final = 100_000
_QUARTER_MS: Final = 900_000
#: Within how many milliseconds a letter may change; every other one stays for a quarter of an hour, if it is the same
#: at both ends of that and the zone has no change in it.
_STEP_MS: Final = {"m": 60_000, "s": 1_000, "S": 1}


class Printed:
    """What a pattern makes of instants. Memory: CACHED_MAX texts.

    >>> from kafka_s3.joda.zones import zone
    >>> Printed("yyyy-MM-dd HH", zone("Asia/Kathmandu"), "en").all([0, 1_800_000])
    ['1970-01-01 05', '1970-01-01 06']
    """

    def __init__(self, pattern: str, zone: Zone, locale: str) -> None:
        self._print = compile_pattern(pattern, zone, locale)
        self._zone = zone
        letters = {token.letter for token in parse_pattern(pattern) if isinstance(token, Run)}
        self._block_ms = min((_STEP_MS.get(letter, _QUARTER_MS) for letter in letters), default=_QUARTER_MS)
        self._known: dict[int, str | None] = {}

    def __call__(self, at_ms: int) -> str:
        return self._print(at_ms)

    def all(self, instants: Sequence[int]) -> list[str]:
        """The text of each instant, in order."""
        block_ms, known = self._block_ms, self._known
        blocks = [at_ms // block_ms for at_ms in instants]
        new = set(blocks) - known.keys()
        if len(new) + len(known) > CACHED_MAX:
            known.clear()
            new = set(blocks)
        for block in new:
            known[block] = self._text_of(block)
        texts = [known[block] for block in blocks]
        if None not in texts:
            return texts  # type: ignore[return-value]  # none of them is None
        return [self._print(at_ms) if text is None else text for at_ms, text in zip(instants, texts, strict=True)]

    def _text_of(self, block: int) -> str | None:
        """The text of every instant of a block; `None` if they have several."""
        first_ms = block * self._block_ms
        last_ms = first_ms + self._block_ms - 1
        text = self._print(first_ms)
        if first_ms == last_ms:
            return text
        if self._zone.changes_between(first_ms, last_ms) or self._print(last_ms) != text:
            return None
        return text
