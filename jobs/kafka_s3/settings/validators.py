"""What is wrong with a single value, in one sentence that never repeats the value: it may be a secret."""

from __future__ import annotations

import base64
import binascii
import re
from urllib.parse import urlsplit

from kafka_s3.joda import JodaError
from kafka_s3.joda.zones import zone
from kafka_s3.signing import problem_of

_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,250}")
_MINUTE_MS = 60_000
#: What the ids of a connector's other DAGs end with: no connector's name may, or two DAGs had one id.
VERIFY_SUFFIX = "__verify"
REEXPORT_SUFFIX = "__reexport"
OPERATIONS_SUFFIX = "__operations"
#: What the id of a group's DAG ends with, for the same reason.
GROUP_SUFFIX = "__group"
#: The tag of the DAG of a connector that is wrong.
BROKEN_TAG = "broken"
_ASSET_URI_MAX = 1500
FOLDER_BYTES_MAX = 255
# What S3 and STS allow.
_TAG = re.compile(r"[\w +\-=.:/@]*")
_ROLE = re.compile(r"arn:[a-z0-9-]+:iam::[0-9]+:role/[\x21-\x7e]+")
_SESSION = re.compile(r"[A-Za-z0-9_+=,.@-]{2,64}")
_EXTERNAL = re.compile(r"[A-Za-z0-9_+=,.@:/-]{2,1224}")


def not_blank(text: str) -> str | None:
    return None if text.strip() else "must not be blank"


def topic(text: str) -> str | None:
    if text in (".", "..") or not _TOPIC.fullmatch(text):
        return "contains an invalid topic name: use 1 to 249 of a-z, A-Z, 0-9, '.', '_' and '-'"
    return None


def connector_name(text: str) -> str | None:
    """A connector's name is its DAG's id and the folder of its log, beside the folder `owners`."""
    if not _NAME.fullmatch(text) or text in (".", ".."):
        return "must be a valid Airflow DAG id: 1 to 250 of A-Z, a-z, 0-9, '_', '.' and '-'"
    if text == "owners":
        return "is reserved for a folder that all connectors share: choose another name"
    if text.endswith(VERIFY_SUFFIX):
        return f"must not end with {VERIFY_SUFFIX}, which is reserved for verification DAGs: choose another name"
    if text.endswith(REEXPORT_SUFFIX):
        return f"must not end with {REEXPORT_SUFFIX}, which is reserved for re-export DAGs: choose another name"
    if text.endswith(OPERATIONS_SUFFIX):
        return f"must not end with {OPERATIONS_SUFFIX}, which is reserved for DAGs of operations: choose another name"
    if text.endswith(GROUP_SUFFIX):
        return f"must not end with {GROUP_SUFFIX}, which is reserved for DAGs of groups: choose another name"
    return None


def group(text: str) -> str | None:
    """With an ending it is the id of the group's DAG."""
    longest = 250 - len(GROUP_SUFFIX)
    if text and (not _NAME.fullmatch(text) or len(text) > longest):
        return f"must be 1 to {longest} of A-Z, a-z, 0-9, '_', '.' and '-', for the DAG <group>{GROUP_SUFFIX}"
    return None


def log_keys(text: str) -> str | None:
    """One key, or several behind commas. One that is blank signs nothing, which nobody would notice."""
    keys = split_keys(text)
    return problem_of(keys) if all(keys) else "contains a blank key: remove the property to turn signing off"


def split_keys(text: str) -> list[str]:
    """The keys of `export.log.key`, which hold no commas."""
    return [key.strip() for key in text.split(",")]


def asset_uri(text: str) -> str | None:
    """What Airflow takes for an asset's URI."""
    if not text.isascii() or not text.isprintable() or " " in text or len(text) > _ASSET_URI_MAX:
        return f"contains an invalid asset URI: use at most {_ASSET_URI_MAX} ASCII characters without spaces"
    if "://" not in text or text.startswith("airflow:"):
        return "contains an invalid asset URI: use one like s3://bucket/key or x-kafka-s3://connector"
    if "@" in text.partition("://")[2].partition("/")[0]:
        return "must not contain a user name or password: asset URIs are stored and shown"
    return None


def owner(text: str) -> str | None:
    return None if text.isprintable() and len(text) <= 500 else "must be a name of at most 500 characters on one line"


def dag_tag(text: str) -> str | None:
    if text == BROKEN_TAG:
        return f"must not contain {BROKEN_TAG}, the tag of connectors that cannot run"
    if not text.isprintable() or not 0 < len(text) <= 100:
        return "contains an invalid tag: use 1 to 100 characters on one line"
    return None


def regular_expression(text: str) -> str | None:
    if not text:
        return None
    try:
        re.compile(text)
    except (re.error, RecursionError, OverflowError):
        return "is not a valid Python regular expression"
    return None


def timezone(text: str) -> str | None:
    """Blank, or a zone as Joda-Time knows them: Europe/Berlin, UTC, +02:00, PST."""
    try:
        zone(text or "UTC")
    except JodaError:
        return "The datetime zone id is not recognised; use one like UTC, Europe/Berlin or +02:00"
    return None


def schedule_interval(text: str) -> str | None:
    if 0 < int(text) < _MINUTE_MS:
        return f"must be at least {_MINUTE_MS} (one minute), or -1 for hourly"
    return None


def positive_or_unset(text: str) -> str | None:
    return "must be positive, or -1 for unset" if int(text) == 0 else None


def duration(text: str) -> str | None:
    return None if int(text) == -1 or int(text) > 0 else "Partition duration needs to be a positive."


def field_path(text: str) -> str | None:
    return None if all(part.strip() for part in text.split(".")) else "contains a blank field name"


def extension(text: str) -> str | None:
    if text and (not text.startswith(".") or "/" in text):
        return "must be empty, or begin with a dot and contain no '/', so that object names can be parsed"
    if set(text.split(".")) & {"keys", "headers", "index"}:
        return "must not contain .keys, .headers or .index: objects beside the data are called so"
    return None if text.isprintable() else "must not contain control characters"


def file_delim(text: str) -> str | None:
    if not text or any(character.isdigit() for character in text) or "/" in text:
        return "must not be blank or contain digits or '/': object names could not be parsed"
    return None


def data_folder(text: str) -> str | None:
    """`topics.dir`, blank or a prefix. Tools that make files of keys climb by `..`, and S3's own console by `//`."""
    parts = text.split("/")
    if text and not all(part and part.isprintable() and part not in (".", "..") for part in parts):
        return "must be a key prefix like topics or lake/raw, without blank parts, '.', '..' and control characters"
    return _too_long(text)


def _too_long(text: str) -> str | None:
    """A key has 1,024 bytes, of which a topic's name, twice, a path and a file's name need room."""
    size = len(text.encode("utf-8", "surrogatepass"))
    return (
        None
        if size <= FOLDER_BYTES_MAX
        else f"has {size} bytes: the limit is {FOLDER_BYTES_MAX}, which leaves room for the rest of a key"
    )


def folder(text: str) -> str | None:
    parts = text.split("/")
    if not all(re.fullmatch(r"[A-Za-z0-9!_.*'()=-]+", part) and part not in (".", "..") for part in parts):
        return "must be a key prefix like _kafka_s3 or logs/kafka: no blank part, no leading or trailing '/'"
    return _too_long(text)


def customer_key(text: str) -> str | None:
    try:
        key = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        key = b""
    return None if len(key) == 32 else "must be 32 bytes in base64"


def tag(text: str) -> str | None:
    """One tag as `key:value`; the value may hold colons, and be blank."""
    key, colon, value = (part.strip() for part in text.partition(":"))
    if not colon or not 0 < len(key) <= 128 or len(value) > 256:
        return "must be key:value pairs, with keys of 1 to 128 and values of 0 to 256 characters"
    if not _TAG.fullmatch(key) or not _TAG.fullmatch(value):
        return "contains characters that S3 does not allow in tags: use letters, digits, spaces and + - = . _ : / @"
    return None


def role_arn(text: str) -> str | None:
    return (
        None if not text or _ROLE.fullmatch(text) else "must be a role's ARN like arn:aws:iam::123456789012:role/name"
    )


def role_session_name(text: str) -> str | None:
    return None if not text or _SESSION.fullmatch(text) else "must be 2 to 64 of A-Z, a-z, 0-9 and _ + = , . @ -"


def role_external_id(text: str) -> str | None:
    return None if not text or _EXTERNAL.fullmatch(text) else "must be 2 to 1224 of A-Z, a-z, 0-9 and _ + = , . @ : / -"


def url(text: str) -> str | None:
    """An http or https URL; a blank one is unset."""
    if not text:
        return None
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        return "is not a URL"
    if parts.scheme not in ("http", "https") or not host or port == 0:
        return "must be a URL like http://host:port"
    return None


def registry_url(text: str) -> str | None:
    """As `url`, and never blank."""
    return url(text) if text else "contains a blank URL"


def user_info(text: str) -> str | None:
    return None if ":" in text else "must be user:password"


def file_name(text: str) -> str | None:
    return None if text.isprintable() else "is not a valid file name"


def envelope_prefix(text: str) -> str | None:
    return (
        None
        if re.fullmatch(r"(?:[A-Za-z_][A-Za-z0-9_]*)?", text)
        else "must begin a field name: use A-Z, a-z, 0-9 and '_', and no digit first"
    )


def fraction(text: str) -> str | None:
    return (
        None
        if re.fullmatch(r"0(?:\.[0-9]{1,15})?|1(?:\.0{1,15})?", text)
        else "must be between 0 and 1, for example 0.01"
    )


def path_parts(text: str) -> str | None:
    """A part of keys, or several with '/' between them."""
    if not text.strip("/ ") or any(part in ("", ".", "..") for part in text.split("/")):
        return "must be a part of a key: not blank, no '.' or '..', no leading or trailing '/'"
    return None


def replication(text: str) -> str | None:
    return None if int(text) == -1 or int(text) > 0 else "must be positive, or -1 for the broker's default"


def optional_topic(text: str) -> str | None:
    return topic(text) if text else None


def store_url(text: str) -> str | None:
    """As `url`; without a scheme, https is meant. Credentials in it would end up in logs."""
    if not text:
        return None
    whole = with_scheme(text)
    if "@" in (urlsplit(whole).netloc if url(whole) is None else ""):
        return "must not contain a user name or password: use aws.access.key.id and aws.secret.access.key"
    return url(whole)


def with_scheme(text: str) -> str:
    """
    >>> with_scheme("minio:9000"), with_scheme("http://minio:9000")
    ('https://minio:9000', 'http://minio:9000')
    """
    return text if "://" in text else f"https://{text}"
