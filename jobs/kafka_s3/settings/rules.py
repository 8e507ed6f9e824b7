"""Rules about several properties at once. Each is silent where one of its properties is wrong by itself."""

from __future__ import annotations

from typing import Final

from kafka_s3.joda import JodaError
from kafka_s3.joda.patterns import compile_pattern
from kafka_s3.joda.zones import zone
from kafka_s3.naming import leads_out
from kafka_s3.settings import storage
from kafka_s3.settings.build import time_buckets
from kafka_s3.settings.check import Checked
from kafka_s3.settings.checks import REEXPORT_SUFFIX, VERIFY_SUFFIX
from kafka_s3.settings.completeness import apply_completeness_rules
from kafka_s3.settings.content_rules import apply_content_rules
from kafka_s3.settings.credentials import apply_credential_rules
from kafka_s3.settings.s3_side import apply_s3_rules

_EXAMPLES: Final = {
    "locale": "locale=en, say",
    "timezone": "timezone=UTC, say",
    "path.format": "'year'=YYYY/'month'=MM/'day'=dd, say",
}


def apply_rules(checked: Checked) -> None:
    """Add every problem that only several properties together have."""
    _topics(checked)
    _folders(checked)
    apply_content_rules(checked)
    _sink_rules(checked)
    _schedule(checked)
    _verify_dag(checked)
    _reexport(checked)
    _keys(checked)
    _encryption(checked)
    _proxy(checked)
    _time(checked)
    apply_completeness_rules(checked)
    apply_s3_rules(checked)
    apply_credential_rules(checked)


def _topics(checked: Checked) -> None:
    if not checked.sure("topics", "topics.regex"):
        return
    if checked.is_set("topics") and checked.is_set("topics.regex"):
        checked.complain("topics.regex", "topics and topics.regex exclude each other: set one of them")
    elif not checked.is_set("topics") and not checked.is_set("topics.regex"):
        checked.complain("topics", "either topics or topics.regex must be set")


def _folders(checked: Checked) -> None:
    if not checked.sure("topics.dir", "directory.delim", "file.delim", "export.log.dir"):
        return
    topics_dir, log_dir = checked.text("topics.dir"), checked.text("export.log.dir")
    if f"{topics_dir}/".startswith(f"{log_dir}/") or (not topics_dir and log_dir in checked.listed("topics")):
        checked.complain("export.log.dir", "the data of topics.dir would lie among the logs: choose another folder")
    if checked.text("directory.delim") in checked.text("file.delim"):
        checked.complain("file.delim", "must not hold directory.delim: names could not be read back")


def _sink_rules(checked: Checked) -> None:
    """What the sink checks itself, in its words."""
    wan = checked.recognised["s3.wan.mode"] is True
    if wan and checked.sure("s3.path.style.access.enabled") and checked.flag("s3.path.style.access.enabled"):
        checked.complain("s3.wan.mode", "excludes s3.path.style.access.enabled, whose default is true")
    by_field = checked.recognised["partitioner.class"] == storage.FIELD_PARTITIONER
    if by_field and checked.sure("partition.field.name") and not checked.listed("partition.field.name"):
        checked.complain(
            "partition.field.name", "Partition field name cannot be null or empty when using FieldPartitioner."
        )


def _schedule(checked: Checked) -> None:
    if not checked.sure("rotate.schedule.interval.ms", "timezone"):
        return
    if checked.number("rotate.schedule.interval.ms") > 0 and checked.optional("export.schedule") is not None:
        checked.complain(
            "export.schedule", "excludes rotate.schedule.interval.ms, which says when runs are due as well: set one"
        )
    if checked.number("rotate.schedule.interval.ms") > 0 and not checked.text("timezone"):
        checked.complain("timezone", "timezone configuration must be set when using rotate.schedule.interval.ms")


def _verify_dag(checked: Checked) -> None:
    """The id of its DAG is the connector's name with an ending, and Airflow takes 250 characters."""
    if checked.sure("name", "export.verify.schedule") and checked.optional("export.verify.schedule") is not None:
        longest = 250 - len(VERIFY_SUFFIX)
        if len(checked.text("name")) > longest:
            message = f"needs a shorter name: at most {longest} characters, for a DAG called <name>{VERIFY_SUFFIX}"
            checked.complain("export.verify.schedule", message)


def _reexport(checked: Checked) -> None:
    wanted = checked.sure("name", "export.reexport.enable") and checked.is_set("export.reexport.enable")
    if wanted and checked.flag("export.reexport.enable"):  # by default there is just none
        longest = 250 - len(REEXPORT_SUFFIX)
        if len(checked.text("name")) > longest:
            message = f"needs a shorter name: at most {longest} characters, for a DAG called <name>{REEXPORT_SUFFIX}"
            checked.complain("export.reexport.enable", message)
    if not checked.sure("topics.dir", "export.log.dir", "export.reexport.topics.dir"):
        return
    again, log_dir = checked.text("export.reexport.topics.dir"), checked.text("export.log.dir")
    topics_dir = checked.text("topics.dir")
    if again == topics_dir or (not topics_dir and again.partition("/")[0] in checked.listed("topics")):
        message = "windows would lie among the live data of topics.dir: choose another folder"
        checked.complain("export.reexport.topics.dir", message)
    elif f"{again}/".startswith(f"{log_dir}/"):
        checked.complain("export.reexport.topics.dir", "windows would lie among the logs: choose another folder")


def _keys(checked: Checked) -> None:
    names = ("aws.access.key.id", "aws.secret.access.key")
    for one, other in (names, names[::-1]):
        if checked.is_set(one) and not checked.is_set(other) and checked.sure(one, other):
            checked.complain(other, f"must be set together with {one}")


def _encryption(checked: Checked) -> None:
    if not checked.sure("s3.ssea.name", "s3.sse.customer.key", "s3.sse.kms.key.id"):
        return
    kind = checked.text("s3.ssea.name")
    if checked.is_set("s3.sse.customer.key") and kind != "AES256":
        checked.complain("s3.sse.customer.key", "has an effect only with s3.ssea.name=AES256")
    if kind.startswith("aws:kms") and not checked.is_set("s3.sse.kms.key.id"):
        checked.complain("s3.sse.kms.key.id", f"must be set with s3.ssea.name={kind}: the sink would not encrypt")
    if not kind.startswith("aws:kms") and checked.is_set("s3.sse.kms.key.id"):
        checked.complain("s3.sse.kms.key.id", "has an effect only with s3.ssea.name=aws:kms")


def _proxy(checked: Checked) -> None:
    for name in ("s3.proxy.user", "s3.proxy.password"):
        if checked.is_set(name) and not checked.is_set("s3.proxy.url"):
            checked.complain(name, "has an effect only with s3.proxy.url")


def _time(checked: Checked) -> None:
    """What a time-based partitioner needs, in the sink's words; its pattern is tried."""
    if checked.recognised["partitioner.class"] not in storage.TIME_BASED:
        return
    for name in ("locale", "timezone"):
        if checked.sure(name) and not checked.text(name).strip():
            checked.complain(name, f"{name.capitalize()} cannot be empty. Time-based paths need it: {_EXAMPLES[name]}")
            checked.unsure.add(name)
    if checked.recognised["partitioner.class"] == storage.TIME_PARTITIONER:
        if checked.sure("path.format") and checked.text("path.format").strip() in ("", checked.text("directory.delim")):
            checked.complain("path.format", f"Path format cannot be empty. Give one: {_EXAMPLES['path.format']}")
            checked.unsure.add("path.format")
        if checked.sure("partition.duration.ms") and checked.number("partition.duration.ms") <= 0:
            checked.complain(
                "partition.duration.ms",
                "Partition duration needs to be a positive. One hour is 3600000, a day 86400000.",
            )
    if checked.sure("path.format", "directory.delim"):
        _pattern(checked)


def _pattern(checked: Checked) -> None:
    """The pattern is tried, in another zone and language if those are wrong themselves."""
    in_zone = zone(checked.text("timezone") if checked.sure("timezone") else "UTC")
    locale = checked.text("locale").strip() if checked.sure("locale") else "en"
    try:
        path = compile_pattern(time_buckets(checked)[1], in_zone, locale)(0)
    except JodaError as error:
        checked.complain("path.format", str(error))
        return
    if leads_out(path, checked.text("directory.delim")):
        checked.complain("path.format", "no part of a path may be '.' or '..': keys would lead out of their folder")
