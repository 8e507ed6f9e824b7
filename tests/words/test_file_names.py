"""`file.name.template`: names that tell objects apart, and are read back as they were made."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kafka_s3.file_template import TemplateError, parse_file_template
from kafka_s3.naming import DataName, KeyLayout, format_data_key, parse_data_key
from kafka_s3.settings.validators import topic

AIVENS = "{{topic}}-{{partition}}-{{start_offset}}"
NUMBERS = ("{{partition}}", "{{partition:padding=true}}", "{{start_offset}}", "{{ start_offset : padding = true }}")
text = st.text("ab0-_+. é", max_size=4)


@st.composite
def templates(draw: st.DrawFn) -> str:
    partition, offset = draw(st.sampled_from(NUMBERS[:2])), draw(st.sampled_from(NUMBERS[2:]))
    slots = draw(st.permutations(["{{topic}}", partition, offset]))
    return "".join(draw(text) + slot for slot in slots)


names = st.builds(
    DataName,
    st.sampled_from(["orders", "0-1", "a.b_c", "5"]),
    st.sampled_from(["", "partition=3", "a/orders-1-2", "0-1", "x+g1"]),
    st.integers(0, 2**31 - 1),
    st.integers(0, 2**63 - 1),
    st.sampled_from(["", ".json", ".keys.json.gz", ".index.json"]),
    st.integers(0, 12),
    st.integers(0, 12),
)


TIMES = ("", "2024", "01", "15", "23")


@given(st.permutations(["{{topic}}-", "{{partition}}-", "{{start_offset}}-"]), st.integers(0, 3), names, names)
def test_times_stand_in_names(slots: list[str], at: int, name: DataName, other: DataName) -> None:
    """Behind the folders in a record's path, and anywhere in the name; they are read back as they were."""
    units = "".join(f"{{{{timestamp:unit={unit}}}}}" for unit in ("yyyy", "MM", "dd"))
    template = "".join([*slots[:at], f"{units}-", *slots[at:]]) + "{{timestamp:unit=HH}}"
    layout = layout_of(template)
    parts = [name.encoded_partition, *TIMES[1:]] if name.encoded_partition else list(TIMES[1:])
    name = replace(name, encoded_partition="/".join(parts))
    key = format_data_key(layout, name)
    assert "20240115-" in key
    assert parse_data_key(layout, name.topic, key) == name
    other = replace(other, encoded_partition="/".join([*parts[:-1], "22"]))
    assert format_data_key(layout, other) != key


def layout_of(template: str, delim: str = "+") -> KeyLayout:
    return KeyLayout(file_delim=delim, file_template=parse_file_template(template))


@given(templates(), names, names, st.sampled_from(["+", "-", "_g"]))
def test_a_name_is_read_back_as_it_was_made(template: str, name: DataName, other: DataName, delim: str) -> None:
    """Whatever template is not refused: format and parse are inverse, so two objects never have one name."""
    try:
        layout = layout_of(template, delim)
    except TemplateError:
        assume(False)
    key = format_data_key(layout, name)
    assert parse_data_key(layout, name.topic, key) == name
    assert (format_data_key(layout, other) == key) == (other == name)


def test_names_are_those_of_aivens_sink() -> None:
    """With its widths of padding, in our folders."""
    name = DataName("orders", "partition=3", 3, 42, ".json.gz")
    assert format_data_key(layout_of(AIVENS), name) == "topics/orders/partition=3/orders-3-42.json.gz"
    padded = "{{topic}}-{{partition:padding=true}}-{{start_offset:padding=true}}"
    assert format_data_key(layout_of(padded), name).endswith("/orders-0000000003-00000000000000000042.json.gz")
    again = DataName("orders", "", 3, 42, ".json", generation=2, collision=1)
    assert format_data_key(layout_of(AIVENS), again) == "topics/orders/orders-3-42+g2+1.json"


def test_a_key_of_another_template_is_nobodys() -> None:
    """So that it is neither counted nor deleted."""
    key = "topics/orders/partition=3/orders-3-42.json"
    assert parse_data_key(layout_of(AIVENS), "orders", key) is not None
    for other in ("{{topic}}-{{partition}}-{{start_offset:padding=true}}", "{{topic}}.{{partition}}-{{start_offset}}"):
        assert parse_data_key(layout_of(other), "orders", key) is None
    assert parse_data_key(KeyLayout(), "orders", key) is None


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{topic}}-{{start_offset}}", "needs {{partition}} once"),
        ("{{partition}}-{{start_offset}}", "needs {{topic}} once"),
        ("{{topic}}-{{partition}}", "needs {{start_offset}} once"),
        (f"{AIVENS}-{{{{partition}}}}", "needs {{partition}} once"),
        ("{{topic}}-{{partition}}{{start_offset}}", "begins with no digit between numbers"),
        ("{{topic}}-{{partition}}7{{start_offset}}", "begins with no digit between numbers"),
        ("{{partition}}{{topic}}-{{start_offset}}", "begins with no digit between numbers"),
        (f"{AIVENS}.gz", "has to end with {{start_offset}} or {{partition}}"),
        (f"a/{AIVENS}", "must not contain '/'"),
        (f"_{AIVENS}", "must not begin with '_' or '.'"),
        (f"{AIVENS[:-1]}", "contains a brace"),
        ("{{key}}", "write {key} in export.path.template"),
        ("{{timestamp:yyyy}}", "write {timestamp:yyyy-MM-dd} in export.path.template"),
        ("{{topic}}-{{partition}}-{{start_offset}}{{timestamp:unit=dd}}", "begins with no digit between numbers"),
        ("{{topic}}-{{timestamp:unit=dd}}{{partition}}-{{start_offset}}", "begins with no digit between numbers"),
        ("{{topic}}-{{timestamp:unit=yyyy}}1{{partition}}-{{start_offset}}", "not a number behind a year"),
        ("{{topic}}-{{timestamp:unit=yyyy}}{{timestamp:unit=dd}}1{{partition}}-{{start_offset}}", "behind a year"),
        ("{{offset}}", "is not a placeholder; known placeholders: topic, partition"),
    ],
)
def test_what_does_not_tell_objects_apart_is_refused(template: str, said: str) -> None:
    """By name, with what to do."""
    with pytest.raises(TemplateError) as raised:
        parse_file_template(template)
    assert said in str(raised.value)


SHARED = "{{topic}}-{{partition}}-{{start_offset}}"


def shared(folders: str = "", topics_dir: str = "", template: str = SHARED) -> KeyLayout:
    parts = parse_file_template(template, shared=True)
    return KeyLayout(topics_dir=topics_dir, file_template=parts, topic_folder=False, folders=folders)


@given(names, names, st.sampled_from(["", "lake/raw"]))
def test_topics_in_one_folder_are_told_apart_by_names(name: DataName, other: DataName, topics_dir: str) -> None:
    """Whatever the topics are called: a key is read for no topic but its own."""
    layout = shared("[^/]+" if "/" not in name.encoded_partition and name.encoded_partition else "", topics_dir)
    name = replace(name, encoded_partition=name.encoded_partition if layout.folders else "")
    key = format_data_key(layout, name)
    assert parse_data_key(layout, name.topic, key) == name
    if other.topic != name.topic:
        assert parse_data_key(layout, other.topic, key) is None


def test_only_folders_of_the_configuration_are_ours() -> None:
    """Others may have objects of such names beside them."""
    layout = shared("day=[^/]+", "lake")
    assert parse_data_key(layout, "orders", "lake/day=1/orders-0-7.json") is not None
    for key in ("lake/orders-0-7.json", "lake/old/day=1/orders-0-7.json", "lake/hour=1/orders-0-7.json"):
        assert parse_data_key(layout, "orders", key) is None
    assert parse_data_key(shared(), "orders", "orders-0-7") is not None
    assert parse_data_key(shared(), "orders", "backup/orders-0-7") is None


def test_a_topic_with_a_folder_need_not_be_in_names() -> None:
    """The folder says which topic it is."""
    layout = KeyLayout(file_template=parse_file_template("{{partition}}-{{start_offset}}", topic_folder=True))
    name = DataName("orders", "", 3, 42, ".json")
    assert format_data_key(layout, name) == "topics/orders/3-42.json"
    assert parse_data_key(layout, "orders", "topics/orders/3-42.json") == name


@pytest.mark.parametrize(
    "template", ["{{topic}}{{partition}}-{{start_offset}}", "{{topic}}7{{partition}}-{{start_offset}}"]
)
def test_a_number_behind_the_topic_is_refused_where_topics_meet(template: str) -> None:
    """Topic a10 with partition 5 would be topic a1 with partition 05."""
    assert parse_file_template(template)
    with pytest.raises(TemplateError) as raised:
        parse_file_template(template, shared=True)
    assert "two topics could have one name" in str(raised.value)


@pytest.mark.parametrize("behind", ["", "{{timestamp:unit=MM}}", "0", "{{timestamp:unit=MM}}00"])
def test_a_topic_behind_a_year_is_refused_where_topics_meet(behind: str) -> None:
    """Year 2024 and topic 1a would be year 20241 and topic a."""
    template = f"{{{{timestamp:unit=yyyy}}}}{behind}{{{{topic}}}}-{{{{partition}}}}-{{{{start_offset}}}}"
    assert parse_file_template(template)
    with pytest.raises(TemplateError) as raised:
        parse_file_template(template, shared=True)
    assert "two objects could have one name" in str(raised.value)
    assert parse_file_template(template.replace("{{topic}}", "0-{{topic}}"), shared=True)


between = st.sampled_from(["-", "_0", "a", "+", ".1", "g1-"])


@given(
    st.permutations(["{{topic}}", *NUMBERS[:3:2]]), between, between, names, st.sampled_from(["+", "-+", "+g", "g+"])
)
def test_a_name_is_no_other_topics_where_topics_meet(
    slots: list[str], one: str, two: str, name: DataName, delim: str
) -> None:
    """Whatever part of a name is taken for a topic: with a delimiter that no topic holds, names tell topics apart."""
    assume(slots[-1] != "{{topic}}")
    parts = parse_file_template(f"{slots[0]}{one}{slots[1]}{two}{slots[2]}", shared=True)
    layout = KeyLayout(topics_dir="", file_delim=delim, file_template=parts, topic_folder=False)
    key = format_data_key(layout, replace(name, encoded_partition=""))
    for start in range(key.index(name.topic) + 2):
        for end in range(start + 1, len(key) + 1):
            if key[start:end] != name.topic and topic(key[start:end]) is None:
                assert parse_data_key(layout, key[start:end], key) is None
