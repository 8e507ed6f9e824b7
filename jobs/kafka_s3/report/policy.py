"""The least that AWS has to allow each command, as a policy of IAM: made of the settings alone, nobody is asked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kafka_s3.settings.credentials import AssumeRole
from kafka_s3.settings.glue import GlueSettings
from kafka_s3.settings.model import Settings

#: A policy's statement, and a policy, as JSON has them.
Statement = Mapping[str, Any]
Policy = Mapping[str, Any]

#: What is done with keys, and IAM's names for it. HEAD is a read; parts of an upload are writes.
_ACTIONS: Final = {
    "Read": ("s3:GetObject",),
    "Write": ("s3:PutObject",),
    "Delete": ("s3:DeleteObject",),
    "Abort": ("s3:AbortMultipartUpload",),
}
#: Of each command: what it does with the keys of which places, and the places that it lists. `rejected` and
#: `window_letters` are parts of `log`, and the only ones of it where anything is deleted.
_COMMANDS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "plan": {"Read": ("log",), "List": ("log",)},
    "run": {
        "Read": ("data", "log", "owners"),
        "Write": ("data", "log", "owners"),
        "Delete": ("data", "rejected"),
        "Abort": ("data", "log"),
        "List": ("data", "log", "owners"),
        "Uploads": ("data", "log"),
    },
    "status": {"Read": ("log",), "List": ("log",)},
    "verify": {"Read": ("data", "log", "owners"), "List": ("data", "log", "owners")},
    "sign": {"Read": ("log",), "Write": ("log",), "List": ("log",)},
    "gc": {
        "Read": ("log", "owners"),
        "Delete": ("data", "rejected", "windows", "window_letters"),
        "Abort": ("data", "log", "windows"),
        "List": ("data", "log", "owners", "windows"),
        "Uploads": ("data", "log"),
    },
    "adopt": {
        "Read": ("data", "log", "owners"),
        "Write": ("log", "owners"),
        "List": ("data", "log"),
    },
    "rewind": {"Read": ("log",), "Write": ("log",), "List": ("log",)},
    "redrive": {"Read": ("log",), "Write": ("log",), "List": ("log",)},
    "reexport": {
        "Read": ("data", "log", "owners", "windows"),
        "Write": ("log", "owners", "windows"),
        "Delete": ("windows", "window_letters"),
        "Abort": ("log", "windows"),
        "List": ("log", "owners", "windows"),
        "Uploads": ("windows",),
    },
}
#: Whose keys assume the role that all the other policies are for.
ASSUME: Final = "assume"
COMMANDS: Final = (*_COMMANDS, ASSUME)
#: Where which command makes data objects, which may have tags: a PUT with tags takes this right, too.
_TAGGED: Final = {"run": "data", "reexport": "windows"}
#: Commands that encode or decode records, for which registries are asked, and those that ask Kafka.
_WITH_SCHEMAS: Final = ("run", "reexport")
_WITHOUT_KAFKA: Final = ("sign", "gc")


def least_policy(settings: Settings, command: str) -> Policy:
    """The policy of a command. A role that is assumed is given all but that of `assume`, which its source needs."""
    statements = _assuming(settings) if command == ASSUME else _of_command(settings, command)
    return {"Version": "2012-10-17", "Statement": list(statements)}


def _of_command(settings: Settings, command: str) -> Iterator[Statement]:
    places, does = _places(settings), _COMMANDS[command]
    yield _listing(settings, [places[each] for each in does["List"]])
    if "Uploads" in does:  # IAM knows no prefix here
        yield _statement("ListUploads", ("s3:ListBucketMultipartUploads",), [_bucket(settings)])
    for verb, actions in _ACTIONS.items():
        if verb in does:
            with_acl = verb == "Write" and "ACL" in settings.s3.put_arguments
            allowed = (*actions, "s3:PutObjectAcl") if with_acl else actions
            yield _statement(verb, allowed, [_objects(settings, places[each]) for each in does[verb]])
    if settings.s3.tagging is not None and command in _TAGGED:
        yield _statement("Tag", ("s3:PutObjectTagging",), [_objects(settings, places[_TAGGED[command]])])
    yield from _key(settings, writes="Write" in does)
    if command in _WITH_SCHEMAS:
        yield from _glue(settings)
    if command not in _WITHOUT_KAFKA:
        yield from _msk(settings, command)


def _places(settings: Settings) -> dict[str, str]:
    """Prefixes of keys, by what lies there."""
    log = f"{settings.log_root}/{settings.name}/"
    data = settings.layout.topics_dir
    return {
        "data": f"{data}/" if data else "",
        "log": log,
        "rejected": f"{log}rejected/",
        "owners": f"{settings.log_root}/owners/",
        "windows": f"{settings.reexport_dir}/",
        "window_letters": f"{log}reexport/*/rejected/",
    }


def _partition(region: str) -> str:
    for prefix, partition in (("cn-", "aws-cn"), ("us-gov-", "aws-us-gov")):
        if region.startswith(prefix):
            return partition
    return "aws"


def _bucket(settings: Settings) -> str:
    bucket = settings.s3.bucket
    return bucket if bucket.startswith("arn:") else f"arn:{_partition(settings.s3.region)}:s3:::{bucket}"


def _objects(settings: Settings, prefix: str) -> str:
    between = "/object/" if settings.s3.bucket.startswith("arn:") else "/"
    return f"{_bucket(settings)}{between}{prefix}*"


def _statement(sid: str, actions: Sequence[str], resources: Sequence[str], **more: object) -> Statement:
    return {"Sid": sid, "Effect": "Allow", "Action": [*actions], "Resource": [*dict.fromkeys(resources)], **more}


def _listing(settings: Settings, prefixes: Sequence[str]) -> Statement:
    """`IfExists`: S3 says of a missing object that it is missing, and not that it is forbidden, to who may list."""
    condition = {"StringLikeIfExists": {"s3:prefix": [f"{prefix}*" for prefix in prefixes]}}
    return _statement("List", ("s3:ListBucket",), [_bucket(settings)], Condition=condition)


def _key(settings: Settings, *, writes: bool) -> Iterator[Statement]:
    """Of the KMS key: parts of an upload are decrypted when it is completed."""
    key = settings.s3.put_arguments.get("SSEKMSKeyId")
    if not key:
        return
    actions = ("kms:Decrypt", "kms:GenerateDataKey") if writes else ("kms:Decrypt",)
    if key.startswith("arn:") and ":alias/" not in key:
        yield _statement("Key", actions, [key])
        return
    region = settings.s3.region
    keys = f"arn:{_partition(region)}:kms:{region}:*:key/"
    alias = key.partition(":alias/")[2] if key.startswith("arn:") else key.removeprefix("alias/")
    if key.startswith(("arn:", "alias/")):
        # S3 asks by the key's own ARN, so a condition on the alias of the request would never hold.
        condition = {"ForAnyValue:StringEquals": {"kms:ResourceAliases": f"alias/{alias}"}}
        yield _statement("Key", actions, [f"{keys}*"], Condition=condition)
    else:
        yield _statement("Key", actions, [f"{keys}{key}"])


def _glue(settings: Settings) -> Iterator[Statement]:
    found = [settings.format.value.registry, settings.format.key.registry]
    registries = [each for each in found if isinstance(each, GlueSettings)]
    roles = sorted({each.role_arn for each in registries if each.role_arn})
    if roles:
        yield _statement("AssumeRoleForGlue", ("sts:AssumeRole",), roles)
    if any(each.role_arn is None for each in registries):  # a version is asked for by its id alone, which has no ARN
        yield _statement("Schemas", ("glue:GetSchemaVersion", "glue:ListSchemaVersions"), ["*"])


def _msk(settings: Settings, command: str) -> Iterator[Statement]:
    """Amazon MSK's: for whoever signs its tokens. Cluster and account are in no configuration."""
    kafka = settings.kafka
    if kafka.msk is None:
        return
    region = kafka.msk.region or settings.s3.region
    arn = f"arn:{_partition(region)}:kafka:{region}:*"
    topics = settings.topics if settings.topics_regex is None else ("*",)
    yield _statement("Connect", ("kafka-cluster:Connect", "kafka-cluster:DescribeCluster"), [f"{arn}:cluster/*/*"])
    reads = ("DescribeTopic", "DescribeTopicDynamicConfiguration", "ReadData")
    asked = [f"{arn}:topic/*/*/{topic}" for topic in topics]
    yield _statement("Topics", [f"kafka-cluster:{each}" for each in reads], asked)
    letters = settings.dead_letters.topic
    if letters and command in ("run", "redrive"):
        writes = ("CreateTopic", "DescribeTopic", "WriteData", "WriteDataIdempotently")
        into = [f"{arn}:topic/*/*/{letters}", *(asked if command == "redrive" else ())]
        where = [*into, f"{arn}:cluster/*/*"]
        yield _statement("DeadLetters", [f"kafka-cluster:{each}" for each in writes], where)
    groups = {"run": kafka.group, "adopt": f"connect-{settings.name}"}
    if group := groups.get(command):
        more = ("AlterGroup",) if command == "run" else ()
        of_group = [f"kafka-cluster:{each}" for each in ("DescribeGroup", *more)]
        yield _statement("Group", of_group, [f"{arn}:group/*/*/{group}"])


def _assuming(settings: Settings) -> Iterator[Statement]:
    roles: dict[str, list[str]] = {}
    role = settings.s3.credentials
    if isinstance(role, AssumeRole) and not role.by_web_identity:  # that takes the role's trust, and no policy
        arguments = json.loads(role.arguments) if role.arguments else {}
        roles[role.arn] = ["sts:AssumeRole", *(["sts:TagSession"] if arguments.get("Tags") else [])]
    if settings.kafka.msk is not None and settings.kafka.msk.role_arn:
        roles.setdefault(settings.kafka.msk.role_arn, ["sts:AssumeRole"])
    for number, (arn, actions) in enumerate(roles.items(), 1):
        yield _statement(f"Assume{number}", actions, [arn])
