"""Makes in the S3 server of docker-compose.yml what the connectors need: their buckets, a user for Airflow and for the
command line, and for that user the least that `kafka-s3 iam` prints for each command over each connector.

Nothing else has the server's own keys. It changes nothing that is there already but the user's secret and the policies,
so it is run again when a connector was added: `docker compose run --rm store`.
"""

import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import boto3
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.httpsession import URLLib3Session

from kafka_s3.errors import ConfigurationError
from kafka_s3.report.policy import ASSUME, COMMANDS, least_policy
from kafka_s3.settings import Settings, load, lookups_of
from kafka_s3.settings.files import SUFFIXES
from kafka_s3.settings.loading import WORKER_FILE


def main(environment: Mapping[str, str]) -> int:
    """Exit status 1 if the server refuses something; a connector that is wrong is left out, and its DAG says why."""
    endpoint, region, user = (environment[name] for name in ("S3_ENDPOINT", "S3_REGION", "S3_ACCESS_KEY"))
    root = environment["S3_ROOT_ACCESS_KEY"], environment["S3_ROOT_SECRET_KEY"]
    make_user(endpoint, region, root, user, environment["S3_SECRET_KEY"])
    buckets: dict[str, list[Settings]] = {}
    for path in sorted(Path(environment["KAFKA_S3_CONNECTORS"]).iterdir()):
        if path.suffix.lower() not in SUFFIXES or path.name == WORKER_FILE:
            continue
        try:
            settings = load(path, lookups=lookups_of(environment), offline=True).settings
        except ConfigurationError as error:
            sys.stderr.write(f"{path.name} is left out. {error}\n")
            continue
        buckets.setdefault(settings.s3.bucket, []).append(settings)
    client = boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name=region,
        aws_access_key_id=root[0],
        aws_secret_access_key=root[1],
        config=Config(s3={"addressing_style": "path"}),
    )
    there = {bucket["Name"] for bucket in client.list_buckets()["Buckets"]}
    for bucket, connectors in buckets.items():
        if bucket not in there:
            client.create_bucket(Bucket=bucket)
        client.put_bucket_policy(Bucket=bucket, Policy=policy(user, connectors))
        names = ", ".join(settings.name for settings in connectors)
        sys.stdout.write(f"{bucket}: for {names}\n")
    return 0


def policy(user: str, connectors: Iterable[Settings]) -> str:
    """What all commands need over all connectors of a bucket. The server reads no conditions, so there are none."""
    resources: dict[tuple[str, ...], set[str]] = {}
    for settings in connectors:
        for command in COMMANDS:
            if command == ASSUME:
                continue
            for statement in least_policy(settings, command)["Statement"]:
                actions = tuple(statement["Action"])
                if all(action.startswith("s3:") for action in actions):
                    resources.setdefault(actions, set()).update(statement["Resource"])
    statements: list[dict[str, Any]] = [
        {"Effect": "Allow", "Principal": {"AWS": [user]}, "Action": list(actions), "Resource": sorted(found)}
        for actions, found in sorted(resources.items())
    ]
    return json.dumps({"Version": "2012-10-17", "Statement": statements})


def make_user(endpoint: str, region: str, root: tuple[str, str], name: str, secret: str) -> None:
    """A user who may do nothing yet; of one who is there, the secret is made this one."""
    account = f"<Account><Access>{escape(name)}</Access><Secret>{escape(secret)}</Secret><Role>user</Role></Account>"
    status, said = ask(f"{endpoint}/create-user", region, root, account)
    if status == 409:
        change = f"<MutableProps><Secret>{escape(secret)}</Secret></MutableProps>"
        status, said = ask(f"{endpoint}/update-user?access={name}", region, root, change)
    if status >= 400:
        raise SystemExit(f"The S3 server did not take the user: {status} {said}")


def ask(url: str, region: str, root: tuple[str, str], body: str) -> tuple[int, str]:
    """A request of versitygw's own interface, signed as S3's are."""
    request = AWSRequest("PATCH", url, data=body.encode())
    S3SigV4Auth(Credentials(*root), "s3", region).add_auth(request)
    answer = URLLib3Session().send(request.prepare())
    return answer.status_code, answer.text


if __name__ == "__main__":
    sys.exit(main(os.environ))
