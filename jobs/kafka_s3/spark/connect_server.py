"""Where a Spark Connect server is, and how one gets in: `sc://HOST:PORT/;use_ssl=true;token=…`, as Spark writes it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Final, Self
from urllib.parse import quote, unquote, urlsplit

from kafka_s3.errors import ConfigurationError

SCHEME: Final = "sc://"
#: What hands a server over to the driver: it has the token, so it is never an argument.
VARIABLE: Final = "KAFKA_S3_SPARK_CONNECT"
#: Spark's own variable for a token.
TOKEN_VARIABLE: Final = "SPARK_CONNECT_AUTHENTICATE_TOKEN"  # noqa: S105  # its name
PORT: Final = 15002
_SHAPE: Final = "sc://HOST:PORT/;use_ssl=true"
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}", re.ASCII)
_HERE: Final = re.compile(r"localhost|127\.[0-9.]+|::1")


@dataclass(frozen=True, slots=True)
class ConnectServer:
    """`params` are Spark's own (`token`, `use_ssl`, `user_id`) and headers of each request. `conf`: what a connector
    asks of Spark (`export.spark.conf.*`)."""

    host: str
    port: int = PORT
    params: Mapping[str, str] = field(default_factory=dict, repr=False)
    conf: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        """Without what may be secret."""
        return f"{SCHEME}{self._address}"

    @property
    def url(self) -> str:
        """What Spark's client takes, the token included."""
        given = "".join(f";{name}={quote(value, safe='')}" for name, value in self.params.items())
        return f"{SCHEME}{self._address}/{given}"

    @property
    def token(self) -> str | None:
        return self.params.get("token")

    def warning(self, environment: Mapping[str, str]) -> str | None:
        """Of a server to which secrets go in clear text; Spark's client takes TLS wherever there is a token."""
        is_tls = self.params.get("use_ssl") == "true" or "token" in self.params or TOKEN_VARIABLE in environment
        if is_tls or _HERE.fullmatch(self.host):
            return None
        return (
            f"Warning: the connector's settings, passwords and keys among them, go to {self} in clear text. Put TLS in"
            " front of the server, and use_ssl=true into the connection; docs/trust-model.md says how."
        )

    @property
    def _address(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def to_environment(self) -> dict[str, str]:
        given = {"host": self.host, "port": self.port, "params": dict(self.params), "conf": dict(self.conf)}
        return {VARIABLE: json.dumps(given)}

    @classmethod
    def take(cls, environment: MutableMapping[str, str]) -> Self:
        """Read the variable and remove it, so that no child of this process inherits it."""
        return cls(**json.loads(environment.pop(VARIABLE)))

    @classmethod
    def parse(cls, text: str, conf: Mapping[str, str] | None = None) -> Self:
        """Raise `ConfigurationError`, which shows no parameter's value.

        >>> server = ConnectServer.parse("sc://spark:443/;use_ssl=true;token=a%3Db")
        >>> str(server), server.token, server.url
        ('sc://spark:443', 'a=b', 'sc://spark:443/;use_ssl=true;token=a%3Db')
        """
        place, _, rest = text.removeprefix(SCHEME).partition("/")
        try:
            parts = urlsplit(f"//{place}")
            host, port = parts.hostname, parts.port
        except ValueError:
            raise _wrong("it has no host, or a port that is none") from None
        if not text.startswith(SCHEME) or not host or parts.netloc != place or "@" in place or ";" in place:
            raise _wrong("it does not begin with a host and a port")
        if rest and not rest.startswith(";"):
            raise _wrong("parameters begin with /;")
        return cls(host, port or PORT, dict(_params(rest)), conf or {})


def _params(text: str) -> Iterator[tuple[str, str]]:
    for each in filter(None, text.split(";")):
        name, equals, value = each.partition("=")
        yield param(name, unquote(value) if equals else "")


def param(name: str, value: str) -> tuple[str, str]:
    """One parameter, as Spark's client and gRPC take it."""
    name = name.lower()
    if not _NAME.fullmatch(name):
        raise _wrong("a parameter's name has letters, digits, '.', '_' and '-'")
    if not value or not value.isascii() or not value.isprintable():
        raise _wrong(f"{name} has no value, or one that cannot be sent")
    if name == "session_id":
        raise _wrong("session_id is not for an export, which has a session of its own")
    if name == "use_ssl":
        value = value.lower()
        if value not in ("true", "false"):
            raise _wrong("use_ssl is either true or false")
    return name, value


def _wrong(why: str) -> ConfigurationError:
    return ConfigurationError(f"The address of the Spark Connect server is wrong: {why}.", next=f"Write {_SHAPE}.")
