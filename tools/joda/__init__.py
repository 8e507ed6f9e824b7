"""Joda-Time itself, as the oracle of the tests in tests/joda: `python -m tools.joda` writes their tables."""
