"""What Airflow knows and the Spark driver needs: connections and secrets, handed over in one environment variable.

Never as an argument, a template field or Spark configuration: those are stored, listed and logged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, MutableMapping
from dataclasses import asdict, dataclass, field
from typing import Final

VARIABLE: Final = "KAFKA_S3_HANDOVER"


@dataclass(frozen=True, slots=True)
class DriverContext:
    """`kafka` and `aws` are connections as settings take them; `secrets` answers `${secrets:…}`."""

    kafka: Mapping[str, str] | None = field(default=None, repr=False)
    aws: Mapping[str, str] | None = field(default=None, repr=False)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)

    def to_environment(self) -> dict[str, str]:
        return {VARIABLE: json.dumps(asdict(self))}

    @classmethod
    def take(cls, environment: MutableMapping[str, str]) -> DriverContext:
        """Read the variable and remove it, so that no child of this process inherits it."""
        text = environment.pop(VARIABLE, None)
        return cls() if text is None else cls(**json.loads(text))
