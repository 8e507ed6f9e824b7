"""Whether what the Spark driver sends to its workers can be read on the way: tasks carry the connector's settings."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

#: This machine alone: `local`, `local[2]`, `local-cluster[…]`, and a Master that only this machine can reach.
_HERE: Final = re.compile(r"local\b.*|spark://(localhost|127\.[0-9.]+|\[::1\]):[0-9]+")


def in_clear(master: str, conf: Callable[[str], str | None]) -> str | None:
    """The warning for a Spark whose driver and workers talk in clear text over a network; `None` if they do not.

    `conf`: Spark's configuration by name. Encrypted is what `spark.network.crypto.enabled` encrypts, which takes
    `spark.authenticate`, or TLS (`spark.ssl.rpc.enabled`). On YARN and Kubernetes Spark makes the secret itself.

    >>> in_clear("local[2]", {}.get)
    >>> in_clear("yarn", {"spark.authenticate": "true", "spark.network.crypto.enabled": "true"}.get)
    >>> in_clear("spark://master:7077", {"spark.network.crypto.enabled": "true"}.get).partition(":")[0]
    'Warning'
    """
    if _HERE.fullmatch(master):
        return None
    authenticated, encrypted = conf("spark.authenticate"), conf("spark.network.crypto.enabled")
    if (_is(authenticated) and _is(encrypted)) or _is(conf("spark.ssl.rpc.enabled")):
        return None
    return (
        f"Warning: the connector's settings, passwords and keys among them, go to the workers of {master} in clear"
        f" text. Set spark.authenticate=true (it is {authenticated or 'not set'}) and spark.network.crypto.enabled=true"
        f" (it is {encrypted or 'not set'}), or spark.ssl.rpc.enabled=true; docs/trust-model.md says how."
    )


def _is(value: str | None) -> bool:
    return (value or "").strip().lower() == "true"
