"""How figures are printed."""

import statistics
import sys
from collections.abc import Sequence

from rich.console import Console

console = Console(highlight=False, width=None if sys.stdout.isatty() else 170)


def spread(found: Sequence[float], digits: int = 2) -> str:
    """min/median/max"""
    return "/".join(f"{each:,.{digits}f}" for each in (min(found), statistics.median(found), max(found)))
