"""Names of folders in the bucket: what is not a key prefix is refused by `validate`, before any run writes."""

from __future__ import annotations

import pytest

from kafka_s3.errors import ConfigurationError
from kafka_s3.settings.validators import FOLDER_BYTES_MAX
from tests.settings.conftest import Load, Problems

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


ONE_FOLDER = {"partitioner.class": "kafka_s3.FieldAndTimePartitioner", "export.topic.folder": "false"}
ROUTED = {
    "transforms": "r",
    "transforms.r.type": "org.apache.kafka.connect.transforms.RegexRouter",
    "transforms.r.regex": ".*",
    "transforms.r.replacement": "all",
}
TEMPLATE = "file.name.template"
AIVENS = "{{topic}}-{{partition}}-{{start_offset}}"


@pytest.mark.parametrize("shared", [ONE_FOLDER, ROUTED])
@pytest.mark.parametrize(
    ("more", "name", "said"),
    [
        ({TEMPLATE: "{{topic}}1{{partition}}-{{start_offset}}"}, TEMPLATE, "two topics could have one name"),
        ({TEMPLATE: AIVENS, "file.delim": "-"}, "file.delim", "a character that no topic name can, such as '+'"),
        ({TEMPLATE: AIVENS, "file.delim": "_g."}, "file.delim", "two objects could have one name"),
    ],
)
def test_topics_in_one_folder_have_names_of_their_own(
    load_with: Load, problems_of: Problems, shared: dict[str, str], more: dict[str, str], name: str, said: str
) -> None:
    """Topic a and partition 12 are not a1 and 2; a second name of t-0-5 is not t-0's offset 1 of partition 5."""
    found = problems_of({**shared, **more})
    assert list(found) == [name]
    assert said in found[name]
    assert load_with({**more, "partitioner.class": "DefaultPartitioner"})


@pytest.mark.parametrize("shared", [ONE_FOLDER, ROUTED])
def test_delimiters_that_no_topic_holds_are_taken(load_with: Load, shared: dict[str, str]) -> None:
    """One such character is enough."""
    assert load_with({**shared, TEMPLATE: AIVENS, "file.delim": "-+"}).settings.layout.file_delim == "-+"


@pytest.mark.parametrize("width", ["0", "9"])
def test_the_sinks_names_tell_routed_topics_apart(load_with: Load, problems_of: Problems, width: str) -> None:
    """With `-` only where zeros show which number is the offset; where each topic has its folder, always."""
    given = {"file.delim": "-", "filename.offset.zero.pad.width": width}
    found = problems_of({**ROUTED, **given})
    assert list(found) == ["file.delim"]
    assert "two objects could have one name" in found["file.delim"]
    assert load_with(given)
    assert load_with({**ROUTED, **given, "file.delim": "-+"})
    assert load_with({**ROUTED, **given, "filename.offset.zero.pad.width": "10"})
