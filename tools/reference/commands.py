"""Every command of `kafka-s3` with its options, from the command line itself."""

from __future__ import annotations

import inspect
import re
from importlib import import_module

import click

from kafka_s3.cli import COMMANDS


def reference() -> str:
    """A section for each command: how it is called, what it does, its options."""
    return "\n".join(_section(name, import_module(f"kafka_s3.cli.{name}").command) for name in COMMANDS)


def _section(name: str, command: click.Command) -> str:
    usage = " ".join(command.collect_usage_pieces(click.Context(command)))
    rows = [row for param in command.params if isinstance(param, click.Option) for row in _row(param)]
    options = f"\n| option | what it does |\n|---|---|\n{''.join(rows)}" if rows else ""
    return f"## kafka-s3 {name}\n`kafka-s3 {name} {usage}`\n\n{_text(command.help or '')}\n{options}"


def _text(text: str) -> str:
    """Help as Markdown: click's paragraphs that keep their lines (\\b) become blocks."""
    parts = re.split(r"\n\n", inspect.cleandoc(text))
    lines = []
    for part in parts:
        kept = part.startswith("\b")
        body = part.lstrip("\b\n")
        lines.append(f"```text\n{body}\n```" if kept else _plain(" ".join(body.split())))
    return "\n\n".join(each for each in lines if each)


def _row(option: click.Option) -> list[str]:
    if option.hidden:
        return []
    names = ", ".join(f"`{each}`" for each in (*option.opts, *option.secondary_opts))
    value = "" if option.is_flag or option.count else f" {_plain(_value_of(option))}"
    return [f"| {names}{value} | {_plain(option.help or '')} |\n"]


def _value_of(option: click.Option) -> str:
    if isinstance(option.type, click.Choice):
        return ", ".join(map(str, option.type.choices))
    return option.make_metavar(click.Context(click.Command("kafka-s3")))


def _plain(text: str) -> str:
    """Text that Markdown shows as it is."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
