"""How the room of settings is built: one module for each topic, and arrows that only point down."""

from __future__ import annotations

import graphlib
import re
from pathlib import Path

import kafka_s3.settings
from kafka_s3.settings import catalogue
from tools.house import ROOT, engine, imported

ROOM = Path(kafka_s3.settings.__file__).parent
NAME = "kafka_s3.settings."


def imports() -> dict[str, set[str]]:
    """What each module of the room imports of the same room."""
    arrows = imported(engine(ROOT))
    stems = {name: name.removeprefix(NAME) for name in arrows if name.startswith(NAME)}
    return {stem: {stems[each] for each in arrows[name] & stems.keys()} for name, stem in stems.items()}


def test_the_topics_lie_between_properties_and_loading() -> None:
    """The modules can be put in an order in which each knows only earlier ones: `tests/house/test_layers.py` holds
    that no module imports itself over others, and that `settings/__init__` lists each."""
    order = list(graphlib.TopologicalSorter(imports()).static_order())
    assert order.index("properties") < order.index("validation") < order.index("catalogue") < order.index("loading")


def test_every_property_belongs_to_one_topic() -> None:
    """The catalogue is made of the topics' tables, and their modules alone make properties: `converters` has the tables
    of the registries as part of its own."""
    assert sum(map(len, catalogue.TOPICS.values())) == len(catalogue.PROPERTIES)
    makers = {path.stem for path in ROOM.glob("*.py") if re.search(r"\bProperty\(\n? *[\"f]", path.read_text())}
    arrows = imports()
    assert makers <= arrows["catalogue"] | arrows["converters"]
