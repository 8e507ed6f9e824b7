"""The examples in the docstrings of the Airflow package."""

import doctest
from types import ModuleType

import pytest


def modules() -> list[ModuleType]:
    from kafka_s3_airflow import driver_output, schedules

    return [driver_output, schedules]


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.__name__)
def test_examples(module: ModuleType) -> None:
    """What a docstring shows is what happens."""
    result = doctest.testmod(module)
    assert result.attempted
    assert not result.failed
