"""The rows about credentials: the provider classes that the sink's users name, old and new, and what they read."""

from __future__ import annotations

from typing import Final

from kafka_s3.settings import checks
from kafka_s3.settings.model import Chain
from kafka_s3.settings.properties import Choice, Kind, Only, Property

_AWS1, _AWS2 = "com.amazonaws.auth", "software.amazon.awssdk.auth.credentials"

PREFIX: Final = "s3.credentials.provider."
CLASS: Final = f"{PREFIX}class"
ARN: Final = f"{PREFIX}sts.role.arn"
SESSION_NAME: Final = f"{PREFIX}sts.role.session.name"
EXTERNAL_ID: Final = f"{PREFIX}sts.role.external.id"
STS_REGION: Final = f"{PREFIX}sts.region"

DEFAULT: Final = f"{_AWS2}.DefaultCredentialsProvider"
ASSUME_ROLE: Final = "io.confluent.connect.s3.auth.AwsAssumeRoleCredentialsProvider"
ANONYMOUS: Final = f"{_AWS2}.AnonymousCredentialsProvider"
CHAINS: Final = {
    DEFAULT: Chain.DEFAULT,
    f"{_AWS2}.EnvironmentVariableCredentialsProvider": Chain.ENVIRONMENT,
    f"{_AWS2}.ProfileCredentialsProvider": Chain.PROFILE,
    f"{_AWS2}.ContainerCredentialsProvider": Chain.CONTAINER,
    f"{_AWS2}.InstanceProfileCredentialsProvider": Chain.INSTANCE,
    f"{_AWS1}.EC2ContainerCredentialsProviderWrapper": Chain.CONTAINER_OR_INSTANCE,
    f"{_AWS2}.WebIdentityTokenFileCredentialsProvider": Chain.WEB_IDENTITY,
}
#: What the first AWS SDK called them, where that is not the same under its own package.
_OLDER: Final = {
    DEFAULT: (f"{_AWS1}.DefaultAWSCredentialsProviderChain", "com.amazon.auth.DefaultAWSCredentialsProviderChain"),
    f"{_AWS2}.ProfileCredentialsProvider": (f"{_AWS1}.profile.ProfileCredentialsProvider",),
    f"{_AWS2}.WebIdentityTokenFileCredentialsProvider": (f"{_AWS1}.WebIdentityTokenCredentialsProvider",),
}

CHOICES: Final = (
    *(Choice(name, _OLDER.get(name, (f"{_AWS1}.{name.rpartition('.')[2]}",))) for name in CHAINS),
    Choice(ANONYMOUS, (f"{_AWS1}.AnonymousAWSCredentials",)),
    Choice(ASSUME_ROLE),
    Choice(
        f"{_AWS2}.SystemPropertyCredentialsProvider",
        (f"{_AWS1}.SystemPropertiesCredentialsProvider",),
        refused="reads Java's system properties, and there is no Java here: set aws.access.key.id and"
        " aws.secret.access.key, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment",
    ),
)

_ROLE = Only(CLASS, (ASSUME_ROLE,), "only AwsAssumeRoleCredentialsProvider reads it")

#: What AwsAssumeRoleCredentialsProvider reads.
PROPERTIES: Final[tuple[Property, ...]] = (
    Property(ARN, Kind.STRING, "", "The role to assume.", check=checks.role_arn, only=_ROLE),
    Property(
        SESSION_NAME,
        Kind.STRING,
        "",
        "Name of the role's sessions, as CloudTrail shows it.",
        check=checks.role_session_name,
        only=_ROLE,
    ),
    Property(
        EXTERNAL_ID,
        Kind.STRING,
        "",
        "External id that the role's trust policy asks for; blank sends none.",
        check=checks.role_external_id,
        only=_ROLE,
    ),
    Property(STS_REGION, Kind.STRING, "", "Region of STS; blank is s3.region.", only=_ROLE),
)
