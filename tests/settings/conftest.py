"""The smallest configuration that loads, and a short way to its problems."""

from collections.abc import Callable, Mapping

import pytest

from kafka_s3.errors import ConfigurationError
from kafka_s3.settings import Loaded, from_mapping
from tests.support import MINIMAL

Load = Callable[..., Loaded]
Problems = Callable[..., dict[str, str]]


@pytest.fixture
def minimal() -> dict[str, str]:
    """A configuration with nothing but what has no default."""
    return dict(MINIMAL)


@pytest.fixture
def load_with(minimal: dict[str, str]) -> Load:
    """Load the smallest configuration with some properties more; `None` takes one away. Offline unless told."""

    def load_it(more: Mapping[str, str | None] | None = None, **options: object) -> Loaded:
        whole: dict[str, str | None] = {**minimal, **(more or {})}
        given = {name: text for name, text in whole.items() if text is not None}
        return from_mapping(given, **{"offline": True, **options})  # type: ignore[arg-type]

    return load_it


@pytest.fixture
def problems_of(load_with: Load) -> Problems:
    """The messages of all problems by the property they are about."""

    def problems(more: Mapping[str, str | None] | None = None, **options: object) -> dict[str, str]:
        with pytest.raises(ConfigurationError) as raised:
            load_with(more, **options)
        return {problem.name: problem.message for problem in raised.value.problems}

    return problems
