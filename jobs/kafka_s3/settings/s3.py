"""The bucket: how it is reached, and what every request to it carries."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote, urlsplit

from kafka_s3.settings import validators
from kafka_s3.settings.aws_connection import AwsConnection
from kafka_s3.settings.credentials import Chain, Credentials, build_credentials
from kafka_s3.settings.properties import REQUIRED, AppliesWhen, Choice, Ignored, Kind, Property, choices
from kafka_s3.settings.validation import ParsedConfig
from kafka_s3.settings.validators import with_scheme
from kafka_s3.settings.variables import Given

BUILT_IN_TAGS: Final = ("startOffset", "endOffset", "recordCount")  # s3.object.tagging, as the sink writes them
TAGS_MAX: Final = 10  # S3's own, per object
#: What S3 appends to the names of directory buckets, and of access points to them.
_DIRECTORY_BUCKETS: Final = ("--x-s3", "--xa-s3")
_PAIRS: Final = "s3.object.tagging.key.value.pairs"


@dataclass(frozen=True, slots=True)
class RetrySettings:
    """Full jitter: before retry n uniform in [0, min(24 h, backoff_ms * 2^(n-1))]."""

    retries: int  # s3.part.retries: after the first try; 0 is allowed
    backoff_ms: int  # s3.retry.backoff.ms


@dataclass(frozen=True, slots=True)
class Tagging:
    """`s3.object.tagging`: offsets and count as tags of every data object; `extra` wins over them.

    `required`: an object that cannot be tagged fails its range (`s3.object.behavior.on.tagging.error=fail`).
    """

    extra: tuple[tuple[str, str], ...] = ()
    required: bool = False


@dataclass(frozen=True, slots=True)
class S3Settings:
    """How to reach the bucket. Secrets print as [hidden].

    `access_key_id`, `secret_access_key`: used before `credentials`, except by a role and by a class of the user's
    own, which are given them.
    """

    bucket: str
    region: str
    endpoint_url: str | None = None  # store.url
    path_style: bool = True
    access_key_id: str | None = field(default=None, repr=False)
    secret_access_key: str | None = field(default=None, repr=False)
    session_token: str | None = field(default=None, repr=False)
    put_arguments: Mapping[str, str] = field(default_factory=dict, repr=False)  # boto3: ACL, ServerSideEncryption, …
    proxy_url: str | None = field(default=None, repr=False)
    expect_continue: bool = True
    retry: RetrySettings = RetrySettings(3, 200)
    credentials: Credentials = Chain.DEFAULT
    accelerate: bool = False  # s3.wan.mode
    send_digest: bool = False  # s3.send.digest: Content-MD5 with every body
    tagging: Tagging | None = None
    use_fips: bool | None = None  # None: as the environment says, as of the next
    use_dualstack: bool | None = None


_TAGS = AppliesWhen("s3.object.tagging", (True,))
PROPERTIES: Final[tuple[Property, ...]] = (
    Property(
        "storage.class",
        Kind.CLASS,
        REQUIRED,
        "Where objects are stored: S3.",
        choices=(Choice("io.confluent.connect.s3.storage.S3Storage"),),
    ),
    Property("s3.bucket.name", Kind.STRING, REQUIRED, "Bucket to write to.", check=validators.not_blank),
    Property("s3.region", Kind.STRING, "us-west-2", "Region of the bucket.", check=validators.not_blank),
    Property("store.url", Kind.STRING, None, "Endpoint of an S3 other than Amazon's.", check=validators.store_url),
    Property(
        "s3.path.style.access.enabled",
        Kind.BOOLEAN,
        True,
        "Put the bucket into the path of a URL, not into its host name.",
    ),
    Property("s3.wan.mode", Kind.BOOLEAN, False, "Use S3's accelerate endpoint."),
    Property(
        "s3.object.tagging",
        Kind.BOOLEAN,
        False,
        "Tag every data object with startOffset, endOffset and recordCount.",
    ),
    Property(
        "s3.object.tagging.key.value.pairs",
        Kind.LIST,
        (),
        "Additional tags, as key:value; they override built-in tags of the same key.",
        check=validators.tag,
        applies_when=_TAGS,
    ),
    Property(
        "s3.object.behavior.on.tagging.error",
        Kind.STRING,
        "ignore",
        "What to do if tagging fails. ignore: leave the object untagged. fail: fail its range.",
        choices=choices("ignore", "fail"),
        ignore_case=True,
        applies_when=_TAGS,
    ),
    Property(
        "s3.ssea.name",
        Kind.STRING,
        "",
        "Server-side encryption algorithm.",
        choices=choices("", "AES256", "aws:kms", "aws:kms:dsse"),
    ),
    Property(
        "s3.sse.customer.key",
        Kind.PASSWORD,
        None,
        "Customer-provided key for server-side encryption with AES256, in base64.",
        check=validators.customer_key,
    ),
    Property("s3.sse.kms.key.id", Kind.STRING, "", "KMS key for server-side encryption."),
    Property(
        "s3.acl.canned",
        Kind.STRING,
        None,
        "Canned ACL of every object.",
        choices=choices(
            "private",
            "public-read",
            "public-read-write",
            "authenticated-read",
            "aws-exec-read",
            "bucket-owner-read",
            "bucket-owner-full-control",
        ),
    ),
    Property("s3.part.retries", Kind.INT, 3, "Maximum number of retries of a request to S3.", minimum=0, maximum=1000),
    Property(
        "s3.retry.backoff.ms",
        Kind.LONG,
        200,
        "Longest delay before the first retry; it doubles with every retry.",
        minimum=0,
    ),
    Property("s3.proxy.url", Kind.STRING, "", "HTTP proxy for requests to S3.", check=validators.url),
    Property("s3.proxy.user", Kind.STRING, None, "User name for the proxy; overrides the one in its URL."),
    Property("s3.proxy.password", Kind.PASSWORD, None, "Password for the proxy; overrides the one in its URL."),
    Property("s3.http.send.expect.continue", Kind.BOOLEAN, True, "Send Expect: 100-continue before a request body."),
    Property(
        "s3.send.digest",
        Kind.BOOLEAN,
        False,
        "Send the MD5 digest of every request body for S3 to verify.",
    ),
    Property(
        "enable.conditional.writes",
        Kind.BOOLEAN,
        True,
        "Never overwrite an object.",
        Ignored("every write is conditional, which is what makes exports exactly-once"),
    ),
    Property(
        "max.files.scan.limit",
        Kind.INT,
        100,
        "How many names the sink tries after a conflict.",
        Ignored("if a name is taken by other bytes, the new object's name gets a suffix"),
    ),
    Property(
        "s3.elastic.buffer.enable",
        Kind.BOOLEAN,
        False,
        "Let upload buffers grow on demand.",
        Ignored("buffers always grow on demand"),
    ),
    Property(
        "s3.elastic.buffer.init.capacity",
        Kind.INT,
        131_072,
        "Initial size of an upload buffer that grows.",
        Ignored("buffers always grow on demand"),
        minimum=4096,
    ),
)


def apply_s3_rules(config: ParsedConfig) -> None:
    """What the sink and S3 itself have no room for."""
    wan = config.recognised["s3.wan.mode"] is True
    if wan and config.sure("s3.path.style.access.enabled") and config.flag("s3.path.style.access.enabled"):
        config.add_problem(
            "s3.wan.mode",
            "cannot be combined with s3.path.style.access.enabled, which is true by default: set it to false",
        )
    _bucket(config)
    _encryption(config)
    _proxy(config)
    if config.sure("s3.wan.mode") and config.flag("s3.wan.mode"):
        if config.is_set("store.url"):
            config.add_problem(
                "s3.wan.mode", "cannot be combined with store.url: only Amazon's S3 has an accelerate endpoint"
            )
        if config.sure("s3.bucket.name") and "." in config.text("s3.bucket.name"):
            config.add_problem(
                "s3.wan.mode", "requires a bucket name without dots, since it becomes part of a host name"
            )
    if config.sure(_PAIRS):
        keys = [pair.partition(":")[0].strip() for pair in config.listed(_PAIRS)]
        if len(set(keys)) < len(keys):
            config.add_problem(_PAIRS, "contains a tag twice")
        if len({*keys, *BUILT_IN_TAGS}) > TAGS_MAX:
            built_in = ", ".join(BUILT_IN_TAGS)
            config.add_problem(_PAIRS, f"S3 allows {TAGS_MAX} tags per object, {built_in} among them")


def _is_arn(bucket: str) -> bool:
    """Whether an access point is named, which has a host name of its own."""
    return bucket.startswith("arn:")


def _bucket(config: ParsedConfig) -> None:
    name = "s3.bucket.name"
    if not config.sure(name):
        return
    bucket = config.text(name)
    if bucket.endswith(_DIRECTORY_BUCKETS):
        message = (
            "names a directory bucket (S3 Express One Zone), which lists keys in no order: the newest entry of a log is"
            " found by the order of keys. Use a general purpose bucket"
        )
        config.add_problem(name, message)
    if _is_arn(bucket) and (config.is_set("store.url") or config.recognised["s3.wan.mode"] is True):
        config.add_problem(name, "names an access point, which has its own endpoint: remove store.url and s3.wan.mode")


def _encryption(config: ParsedConfig) -> None:
    if not config.sure("s3.ssea.name", "s3.sse.customer.key", "s3.sse.kms.key.id"):
        return
    kind = config.text("s3.ssea.name")
    if config.is_set("s3.sse.customer.key") and kind != "AES256":
        config.add_problem("s3.sse.customer.key", "requires s3.ssea.name=AES256")
    if kind.startswith("aws:kms") and not config.is_set("s3.sse.kms.key.id"):
        config.add_problem(
            "s3.sse.kms.key.id", f"is required by s3.ssea.name={kind}: without it the sink would not encrypt"
        )
    if not kind.startswith("aws:kms") and config.is_set("s3.sse.kms.key.id"):
        config.add_problem("s3.sse.kms.key.id", "requires s3.ssea.name=aws:kms")


def _proxy(config: ParsedConfig) -> None:
    for name in ("s3.proxy.user", "s3.proxy.password"):
        if config.is_set(name) and not config.is_set("s3.proxy.url"):
            config.add_problem(name, "requires s3.proxy.url")


def build_s3(config: ParsedConfig, session_token: Given | None, aws: AwsConnection) -> S3Settings:
    url = config.optional("store.url")
    return S3Settings(
        bucket=config.text("s3.bucket.name"),
        region=config.text("s3.region"),
        endpoint_url=with_scheme(url) if url else None,
        path_style=config.flag("s3.path.style.access.enabled") and not _is_arn(config.text("s3.bucket.name")),
        access_key_id=config.optional("aws.access.key.id"),
        secret_access_key=config.optional("aws.secret.access.key"),
        session_token=session_token.text if session_token else None,
        put_arguments=_put_arguments(config),
        proxy_url=_proxy_url(config),
        expect_continue=config.flag("s3.http.send.expect.continue"),
        retry=RetrySettings(config.number("s3.part.retries"), config.number("s3.retry.backoff.ms")),
        credentials=aws.role or build_credentials(config),
        accelerate=config.flag("s3.wan.mode"),
        send_digest=config.flag("s3.send.digest"),
        tagging=_tagging(config),
        use_fips=aws.use_fips,
        use_dualstack=aws.use_dualstack,
    )


def _tagging(config: ParsedConfig) -> Tagging | None:
    if not config.flag("s3.object.tagging"):
        return None
    pairs = (pair.partition(":") for pair in config.listed(_PAIRS))
    return Tagging(
        extra=tuple((key.strip(), value.strip()) for key, _, value in pairs),
        required=config.text("s3.object.behavior.on.tagging.error") == "fail",
    )


def _put_arguments(config: ParsedConfig) -> dict[str, str]:
    """boto3's arguments of a put.

    A customer's key is given in base64 together with its MD5: botocore sends both as they are.
    """
    arguments: dict[str, str] = {}
    acl, kind = config.optional("s3.acl.canned"), config.optional("s3.ssea.name")
    customer_key, kms_key = config.optional("s3.sse.customer.key"), config.optional("s3.sse.kms.key.id")
    if acl:
        arguments["ACL"] = acl
    if kind and customer_key:
        md5 = hashlib.md5(base64.b64decode(customer_key), usedforsecurity=False).digest()
        arguments["SSECustomerAlgorithm"] = kind
        arguments["SSECustomerKey"] = customer_key
        arguments["SSECustomerKeyMD5"] = base64.b64encode(md5).decode("ascii")
    elif kind:
        arguments["ServerSideEncryption"] = kind
        if kms_key:
            arguments["SSEKMSKeyId"] = kms_key
    return arguments


def _proxy_url(config: ParsedConfig) -> str | None:
    url = config.optional("s3.proxy.url")
    user, password = config.optional("s3.proxy.user"), config.optional("s3.proxy.password")
    if url is None or not (user or password):
        return url
    parts = urlsplit(url)
    user = quote(user, safe="") if user else parts.username or ""
    password = quote(password, safe="") if password else parts.password
    login = user if password is None else f"{user}:{password}"
    return f"{parts.scheme}://{login}@{parts.netloc.rpartition('@')[2]}"
