"""Tests of exports play programs of histories too."""

from tests.scenario.conftest import this_release

__all__ = ["this_release"]
