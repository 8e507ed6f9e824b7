"""Where Java's stores of the tests lie."""

from pathlib import Path

STORES = Path(__file__).parent
