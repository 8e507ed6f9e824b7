"""Names of folders in the bucket: what is no key prefix is refused by `validate`, before any run writes."""

from __future__ import annotations

import pytest

from kafka_s3.errors import ConfigurationError
from kafka_s3.settings.validators import FOLDER_BYTES_MAX
from tests.settings.conftest import Load

FOLDERS = ("topics.dir", "export.log.dir", "export.reexport.topics.dir")
LONG = "a" * (FOLDER_BYTES_MAX + 1)


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize(
    "value", ["../x", "a/../b", "a/./b", "..", "a//b", "/a", "a/", "a\x00b", "a\x1b[31mb", "a\tb", LONG]
)
def test_folders_that_are_refused(load_with: Load, name: str, value: str) -> None:
    """Parts that are blank, `.` or `..`, control characters, and what leaves no room for the rest of a key."""
    with pytest.raises(ConfigurationError) as caught:
        load_with({name: value})
    assert [problem.name for problem in caught.value.problems] == [name]


@pytest.mark.parametrize("value", ["", "lake/raw", "a.b/..c", "größe", "with blank", "a" * FOLDER_BYTES_MAX])
def test_folders_of_data_that_are_taken(load_with: Load, value: str) -> None:
    """Everything else is as Connect takes it."""
    assert load_with({"topics.dir": value}).settings.layout.topics_dir == value
