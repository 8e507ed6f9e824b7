"""Plans with the schemas that their values are written under, where these are inferred."""

from __future__ import annotations

from kafka_s3.export.exporter import Exporter
from kafka_s3.log.entries import Plan, Stop
from kafka_s3.log.store import Committed
from kafka_s3.plan.planner import failed_under


def with_schemas(exporter: Exporter, plan: Plan, head: Committed) -> Plan:
    """The plan with its schemas pinned. A topic of which ranges are planned again as they were keeps its schema, so
    that the same bytes come again; not where a record was to blame, which another schema may take."""
    failed = failed_under(exporter.settings, head.entry)
    return exporter.infer(plan, frozenset(each.topic for each in failed if each.stop is Stop.OTHER))
