"""What both Kafka clients share: their configuration, and librdkafka's errors as ours."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException

from kafka_s3.adapters.msk import REFUSED, msk_tokens
from kafka_s3.errors import ConfigurationError, DataLoss, ExporterError, KafkaUnavailable, TopicMissing
from kafka_s3.settings.kafka import KafkaSettings

#: What a first, small answer may take: name look-up, TLS and login. A broker that is down is reported after it.
CONNECT_TIMEOUT_S: Final = 10.0
#: What each later answer may take, of a broker that has answered before.
REQUEST_TIMEOUT_S: Final = 30.0

GONE = {KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._LOG_TRUNCATION}
UNKNOWN_TOPIC = {
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError.UNKNOWN_TOPIC_ID,
    KafkaError.TOPIC_EXCEPTION,
}
NOT_ALLOWED = {
    KafkaError._AUTHENTICATION,
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.UNSUPPORTED_SASL_MECHANISM,
    KafkaError.ILLEGAL_SASL_STATE,
    KafkaError._SSL,
}
_WRONG_CONFIGURATION = {KafkaError._INVALID_ARG, KafkaError._CONFLICT, KafkaError.INVALID_CONFIG}
GROUP = {KafkaError.GROUP_AUTHORIZATION_FAILED, KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError.NOT_COORDINATOR}
VAGUE = {KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN}


#: What librdkafka says where there is no token, and what in it is final: the words of OAuth 2.0, and ours of AWS.
_NO_TOKEN: Final = "Failed to acquire SASL OAUTHBEARER token"  # noqa: S105
_TOKEN_REFUSED: Final = re.compile(
    r"invalid_\w+|unauthorized_client|unsupported_grant_type|access_denied|" + re.escape(REFUSED)
)
_LOGIN: Final = re.compile(r"://[^\s\"'/]*@")
#: TLS's own alerts of a broker that wants another certificate, or any: librdkafka takes them for a broken connection.
_CERTIFICATE_REFUSED: Final = re.compile(r"alert (bad|unsupported) certificate\b|alert (certificate \w+|unknown ca)\b")


def translate(error: KafkaError, doing: str) -> ExporterError:
    """The error of ours for one of librdkafka's; what is not known to be final is temporary."""
    code = error.code()
    text = f"{said(error)} ({error.name()})"
    if code in GONE:
        return DataLoss(
            f"Kafka does not have what was to be read while {doing}: {text}.",
            next="Retention, delete-records or a truncation removed it: `kafka-s3 status` shows where the log starts.",
        )
    if code in UNKNOWN_TOPIC:
        return DataLoss(f"Kafka does not know the topic or partition while {doing}: {text}.", next="Was it deleted?")
    if code == KafkaError._AUTHENTICATION and _NO_TOKEN in text and not _TOKEN_REFUSED.search(text):
        return KafkaUnavailable(
            f"Kafka's client got no token while {doing}: {text}.",
            next="Check sasl.oauthbearer.token.endpoint.url and that it answers; the next try goes on from here.",
        )
    if code in NOT_ALLOWED:
        return ConfigurationError(
            f"Kafka refused access while {doing}: {text}.",
            next="Check security.protocol, sasl.* and ssl.* and the ACLs (Describe and Read on the topics).",
        )
    if code in _WRONG_CONFIGURATION:
        return ConfigurationError(f"The Kafka client refuses its configuration while {doing}: {text}.")
    if "receive.message.max.bytes" in text:
        return ConfigurationError(
            f"A record is larger than this client accepts while {doing}: {text}.",
            next="Raise receive.message.max.bytes above the largest record, or leave it out: 100 MB is the default.",
        )
    if code == KafkaError._TRANSPORT and _CERTIFICATE_REFUSED.search(text):
        return ConfigurationError(
            f"Kafka does not take this client's certificate while {doing}: {text}.",
            next="Set ssl.keystore.* to a key whose certificate the brokers trust.",
        )
    return KafkaUnavailable(
        f"Kafka did not answer while {doing}: {text}.",
        next="Check bootstrap.servers, security.protocol and that the brokers are up; the next try goes on from here.",
    )


def missing(what: str) -> TopicMissing:
    return TopicMissing(f"{what}.", next="Create the topic, or correct `topics`; the client needs Describe on it.")


def said(error: KafkaError) -> str:
    """librdkafka's words, without the login that an address may hold."""
    return _LOGIN.sub("://[hidden]@", error.str().strip().rstrip("."))


def client_configuration(kafka: KafkaSettings, complain: Callable[[KafkaError], None]) -> dict[str, Any]:
    if not kafka.client.get("bootstrap.servers", "").strip():
        raise ConfigurationError("bootstrap.servers is not set.", next="Set it in the worker file.")
    # Who sets `debug` wants librdkafka's own log, which it writes to standard error.
    quiet = {} if kafka.client.get("debug") else {"log_level": 3, "logger": _Silence()}
    msk = {"oauth_cb": msk_tokens(kafka.msk)} if kafka.msk is not None else {}
    return {"client.id": "kafka-s3", **kafka.client, **quiet, **msk, "error_cb": complain}


class _Silence:
    """librdkafka logs every failed connection; what matters comes out as an error of ours."""

    def log(self, *_: object) -> None:
        return


class Complaints:
    """Remembers what librdkafka last said went wrong: on its own it goes on trying for ever."""

    def __init__(self) -> None:
        self.last: KafkaError | None = None

    def __call__(self, error: KafkaError) -> None:
        # _ALL_BROKERS_DOWN only says that the cause before it was met everywhere.
        if self.last is None or (error.code() != KafkaError._ALL_BROKERS_DOWN and not self.is_final()):
            self.last = error

    def is_final(self) -> bool:
        """Whether trying on cannot help: a refusal, a topic that is gone, a record that does not fit."""
        return self.last is not None and not isinstance(translate(self.last, ""), KafkaUnavailable)

    def clear(self) -> None:
        self.last = None


def bad_configuration(error: Exception) -> ConfigurationError:
    text = said(error.args[0]) if isinstance(error, KafkaException) else str(error)
    return ConfigurationError(
        f"The Kafka client refuses its configuration: {text}.",
        next="Correct the property in the worker file, in consumer.override.* or in the Airflow connection.",
    )
