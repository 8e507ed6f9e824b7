"""How the bucket is reached: rules about several of the sink's S3 properties, and what they are in the settings."""

from __future__ import annotations

import base64
import hashlib
from typing import Final
from urllib.parse import quote, urlsplit

from kafka_s3.settings.check import Checked
from kafka_s3.settings.checks import with_scheme
from kafka_s3.settings.credentials import build_credentials
from kafka_s3.settings.model import BUILT_IN_TAGS, RetrySettings, S3Settings, Tagging
from kafka_s3.settings.variables import Given

TAGS_MAX: Final = 10  # S3's own, per object
_PAIRS: Final = "s3.object.tagging.key.value.pairs"


def apply_s3_rules(checked: Checked) -> None:
    """What S3 itself has no room for."""
    if checked.sure("s3.wan.mode") and checked.flag("s3.wan.mode"):
        if checked.is_set("store.url"):
            checked.complain("s3.wan.mode", "excludes store.url: only Amazon's S3 has an accelerate endpoint")
        if checked.sure("s3.bucket.name") and "." in checked.text("s3.bucket.name"):
            checked.complain("s3.wan.mode", "needs a bucket without dots in its name: its name becomes a host's")
    if checked.sure(_PAIRS):
        keys = [pair.partition(":")[0].strip() for pair in checked.listed(_PAIRS)]
        if len(set(keys)) < len(keys):
            checked.complain(_PAIRS, "names a tag twice")
        if len({*keys, *BUILT_IN_TAGS}) > TAGS_MAX:
            built_in = ", ".join(BUILT_IN_TAGS)
            checked.complain(_PAIRS, f"S3 has {TAGS_MAX} tags per object, and {built_in} are three of them")


def build_s3(checked: Checked, session_token: Given | None) -> S3Settings:
    url = checked.optional("store.url")
    return S3Settings(
        bucket=checked.text("s3.bucket.name"),
        region=checked.text("s3.region"),
        endpoint_url=with_scheme(url) if url else None,
        path_style=checked.flag("s3.path.style.access.enabled"),
        access_key_id=checked.optional("aws.access.key.id"),
        secret_access_key=checked.optional("aws.secret.access.key"),
        session_token=session_token.text if session_token else None,
        put_arguments=_put_arguments(checked),
        proxy_url=_proxy_url(checked),
        expect_continue=checked.flag("s3.http.send.expect.continue"),
        retry=RetrySettings(checked.number("s3.part.retries"), checked.number("s3.retry.backoff.ms")),
        credentials=build_credentials(checked),
        accelerate=checked.flag("s3.wan.mode"),
        send_digest=checked.flag("s3.send.digest"),
        tagging=_tagging(checked),
    )


def _tagging(checked: Checked) -> Tagging | None:
    if not checked.flag("s3.object.tagging"):
        return None
    pairs = (pair.partition(":") for pair in checked.listed(_PAIRS))
    return Tagging(
        extra=tuple((key.strip(), value.strip()) for key, _, value in pairs),
        required=checked.text("s3.object.behavior.on.tagging.error") == "fail",
    )


def _put_arguments(checked: Checked) -> dict[str, str]:
    """boto3's arguments of a put.

    A customer's key is given in base64 together with its MD5: botocore sends both as they are.
    """
    arguments: dict[str, str] = {}
    acl, kind = checked.optional("s3.acl.canned"), checked.optional("s3.ssea.name")
    customer_key, kms_key = checked.optional("s3.sse.customer.key"), checked.optional("s3.sse.kms.key.id")
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


def _proxy_url(checked: Checked) -> str | None:
    url = checked.optional("s3.proxy.url")
    user, password = checked.optional("s3.proxy.user"), checked.optional("s3.proxy.password")
    if url is None or not (user or password):
        return url
    parts = urlsplit(url)
    user = quote(user, safe="") if user else parts.username or ""
    password = quote(password, safe="") if password else parts.password
    login = user if password is None else f"{user}:{password}"
    return f"{parts.scheme}://{login}@{parts.netloc.rpartition('@')[2]}"
