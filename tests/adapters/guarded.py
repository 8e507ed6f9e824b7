"""A broker that lets nobody in without a login, by certificates, SCRAM over TLS or tokens."""

from __future__ import annotations

from collections.abc import Sequence

from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from kafka_s3.ranges import TopicPartition
from kafka_s3.settings import from_mapping
from kafka_s3.settings.kafka import KafkaSettings
from tests.adapters.stores import STORES
from tests.adapters.test_kafka_errors import broker, read
from tests.adapters.token_endpoint import AUDIENCE, TokenEndpoint
from tests.support import MINIMAL
from tools.parts.kafka import KafkaBroker as KafkaPart
from tools.parts.process import HOST, ReservedPort

PASSWORD = "store-password"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
_OAUTH = "org.apache.kafka.common.security.oauthbearer"
OAUTH_MODULE = f"{_OAUTH}.OAuthBearerLoginModule"
OAUTH_HANDLER = f"{_OAUTH}.OAuthBearerLoginCallbackHandler"
LISTENERS = {"MTLS": "SSL", "SCRAM": "SASL_SSL", "OAUTH": "SASL_PLAINTEXT"}


class GuardedPart(KafkaPart):
    """A broker with listeners for certificates (MTLS), SCRAM over TLS and tokens (OAUTH), and rules; PLAINTEXT is
    root's. A connection ends where its token ends and no newer one came."""

    def __init__(self) -> None:
        self.endpoint = TokenEndpoint()
        self._ports = {name: ReservedPort() for name in LISTENERS}
        store = {"location": str(STORES / "server.p12"), "password": PASSWORD, "type": "PKCS12"}
        trusted = {"location": str(STORES / "trust.p12"), "password": PASSWORD, "type": "PKCS12"}
        protocols = {"PLAINTEXT": "PLAINTEXT", "CONTROLLER": "PLAINTEXT", **LISTENERS}
        super().__init__(
            {
                "listener.security.protocol.map": ",".join(f"{name}:{kind}" for name, kind in protocols.items()),
                **{f"ssl.keystore.{name}": text for name, text in store.items()},
                **{f"ssl.truststore.{name}": text for name, text in trusted.items()},
                "listener.name.mtls.ssl.client.auth": "required",
                "listener.name.scram.sasl.enabled.mechanisms": "SCRAM-SHA-512",
                "listener.name.scram.scram-sha-512.sasl.jaas.config": f"{SCRAM} required;",
                "listener.name.oauth.sasl.enabled.mechanisms": "OAUTHBEARER",
                "listener.name.oauth.oauthbearer.sasl.jaas.config": f"{OAUTH_MODULE} required;",
                "listener.name.oauth.oauthbearer.sasl.server.callback.handler.class": (
                    f"{_OAUTH}.OAuthBearerValidatorCallbackHandler"
                ),
                "listener.name.oauth.oauthbearer.connections.max.reauth.ms": "3600000",
                "sasl.oauthbearer.jwks.endpoint.url": self.endpoint.keys_url,
                "sasl.oauthbearer.expected.audience": AUDIENCE,
                "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
                "super.users": "User:ANONYMOUS",
            }
        )

    def at(self, listener: str) -> str:
        return f"{HOST}:{self._ports[listener].number}"

    def _addresses(self) -> dict[str, str]:
        more = "".join(f",{name}://{self.at(name)}" for name in LISTENERS)
        return {
            name: value + more if name.endswith("listeners") else value for name, value in super()._addresses().items()
        }

    def _command(self, log_level: str, *arguments: str) -> list[str]:
        java, *rest = super()._command(log_level, *arguments)
        return [java, f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={self.endpoint.keys_url}", *rest]

    def stop(self) -> None:
        super().stop()
        self.endpoint.stop()
        for port in self._ports.values():
            port.close()

    def add_user(self, name: str, password: str) -> None:
        credentials = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        change = UserScramCredentialUpsertion(name, credentials, password.encode())
        admin = self.admin()
        for future in admin.alter_user_scram_credentials([change]).values():
            future.result(30)

    def allow(
        self, principal: str, name: str, *operations: AclOperation, kind: ResourceType = ResourceType.TOPIC
    ) -> None:
        literal, allow = ResourcePatternType.LITERAL, AclPermissionType.ALLOW
        rules = [AclBinding(kind, name, literal, f"User:{principal}", "*", each, allow) for each in operations]
        admin = self.admin()
        for future in admin.create_acls(rules).values():
            future.result(30)

    def settings(self, listener: str, given: dict[str, str], **own: int) -> KafkaSettings:
        """What a connector's file with Java's properties comes to; `own`: the exporter's, `_` for `.`."""
        client = {"bootstrap.servers": self.at(listener), **given}
        more = {f"export.{name.replace('_', '.')}": str(number) for name, number in own.items()}
        overrides = {f"consumer.override.{name}": text for name, text in client.items()}
        return from_mapping({**MINIMAL, **overrides, **more}).settings.kafka


def works(kafka: KafkaSettings, topic: str, offsets: Sequence[int] = (0, 1)) -> bool:
    """Whether a run can plan over the topic and read it."""
    tp = TopicPartition(topic, 0)
    planned = broker(kafka, topic).offsets([tp])[tp].last_stable
    return planned == len(offsets) and read(kafka, topic, 0, planned) == list(offsets)
