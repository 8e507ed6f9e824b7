"""How a registry is reached: the options of AvroConverter, for values and keys alike."""

from collections.abc import Callable, Mapping

import pytest

from kafka_s3.settings import Loaded, Lookups
from kafka_s3.settings.converters import ConverterSettings

Load = Callable[..., Loaded]
Problems = Callable[..., dict[str, str]]
CANARY = "canary-4711"
USER_INFO = {"basic.auth.credentials.source": "USER_INFO"}
TOKEN = {"bearer.auth.credentials.source": "STATIC_TOKEN", "bearer.auth.token": CANARY}
PEM = "schema.registry.ssl.truststore.type"

#: What `value.converter.` or `key.converter.` is given, and what the registry's client gets of it.
REACHED: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "nothing more": ({}, {"url": "http://r:8081"}),
    "several": ({"schema.registry.url": "http://a:1/x , https://b"}, {"url": "http://a:1/x,https://b"}),
    "login in the URL": (
        {"schema.registry.url": "http://a:1,https://u%40x:p%3Aw@b/y", "basic.auth.credentials.source": "URL"},
        {"url": "http://a:1,https://b/y", "basic.auth.user.info": "u@x:p:w"},
    ),
    "one login in several URLs": (
        {"schema.registry.url": "http://u:p@a,http://u:p@b"},
        {"url": "http://a,http://b", "basic.auth.user.info": "u:p"},
    ),
    "login beside different ones": (
        {**USER_INFO, "basic.auth.user.info": "u:p", "schema.registry.url": "http://a:b@r,http://c:d@s"},
        {"url": "http://r,http://s", "basic.auth.user.info": "u:p"},
    ),
    "login beside it": (
        {**USER_INFO, "basic.auth.user.info": "u:p", "schema.registry.url": "http://a:b@r"},
        {"url": "http://r", "basic.auth.user.info": "u:p"},
    ),
    "login by its older name": (
        {**USER_INFO, "schema.registry.basic.auth.user.info": "u:p"},
        {"url": "http://r:8081", "basic.auth.user.info": "u:p"},
    ),
    "login that is not asked for": ({"basic.auth.user.info": "u:p"}, {"url": "http://r:8081"}),
    "token": (
        {
            **TOKEN,
            "bearer.auth.logical.cluster": "lsrc-1",
            "bearer.auth.identity.pool.id": "pool-1",
            "schema.registry.url": "http://u:p@r",
        },
        {
            "url": "http://r",
            "bearer.auth.credentials.source": "STATIC_TOKEN",
            "bearer.auth.token": CANARY,
            "bearer.auth.logical.cluster": "lsrc-1",
            "bearer.auth.identity.pool.id": "pool-1",
        },
    ),
    "token of a registry without clusters": (
        TOKEN,
        {
            "url": "http://r:8081",
            "bearer.auth.credentials.source": "STATIC_TOKEN",
            "bearer.auth.token": CANARY,
            "bearer.auth.logical.cluster": "",
        },
    ),
    "TLS": (
        {
            PEM: "PEM",
            "schema.registry.ssl.truststore.location": "/ca.pem",
            "schema.registry.ssl.truststore.password": "x",
            "schema.registry.ssl.keystore.type": "PEM",
            "schema.registry.ssl.keystore.location": "/key.pem",
            "schema.registry.ssl.key.password": "p",
            "schema.registry.ssl.endpoint.identification.algorithm": "https",
        },
        {
            "url": "http://r:8081",
            "ssl.ca.location": "/ca.pem",
            "ssl.certificate.location": "/key.pem",
            "ssl.key.location": "/key.pem",
            "ssl.key.password": "p",
        },
    ),
    "certificates written out": (
        {
            PEM: "PEM",
            "schema.registry.ssl.truststore.certificates": "ca",
            "schema.registry.ssl.keystore.type": "PEM",
            "schema.registry.ssl.keystore.certificate.chain": "chain",
            "schema.registry.ssl.keystore.key": "key p%3Aw",
        },
        {"url": "http://r:8081", "ssl.ca.pem": "ca", "ssl.certificate.pem": "chain", "ssl.key.pem": "key p%3Aw"},
    ),
}


def _avro(side: str, options: Mapping[str, str]) -> dict[str, str]:
    given = {"schema.registry.url": "http://r:8081", **options}
    around = {"store.kafka.keys": "true"} if side == "key" else {}
    return {
        **around,
        f"{side}.converter": "AvroConverter",
        **{f"{side}.converter.{name}": text for name, text in given.items()},
    }


@pytest.mark.parametrize("side", ["value", "key"])
@pytest.mark.parametrize("name", REACHED)
def test_what_the_registrys_client_gets(load_with: Load, name: str, side: str) -> None:
    """Addresses without a login, the login that is asked for, and files for TLS; the worker's are as good."""
    options, client = REACHED[name]
    for loaded in (load_with(_avro(side, options)), load_with(worker=_avro(side, options))):
        converter: ConverterSettings = getattr(loaded.settings.format, side)
        assert converter.registry is not None
        assert converter.registry.client == client


@pytest.mark.parametrize("side", ["value", "key"])
@pytest.mark.parametrize(
    ("options", "name", "said"),
    [
        ({"schema.registry.url": ""}, "schema.registry.url", "is required by AvroConverter"),
        (
            {"schema.registry.url": f"http://u:{CANARY}@a,http://v:{CANARY}@b"},
            "schema.registry.url",
            "different logins",
        ),
        ({"schema.registry.url": "r:8081"}, "schema.registry.url", "must be a URL"),
        ({"schema.registry.url": "http://r,"}, "schema.registry.url", "blank"),
        (USER_INFO, "basic.auth.user.info", "is required by basic.auth.credentials.source=USER_INFO"),
        ({**USER_INFO, "basic.auth.user.info": CANARY}, "basic.auth.user.info", "must be user:password"),
        ({"basic.auth.credentials.source": "SASL_INHERIT"}, "basic.auth.credentials.source", "set USER_INFO"),
        ({"bearer.auth.credentials.source": "STATIC_TOKEN"}, "bearer.auth.token", "is required by"),
        ({"bearer.auth.credentials.source": "CUSTOM"}, "bearer.auth.credentials.source", "STATIC_TOKEN"),
        (
            {**TOKEN, **USER_INFO, "basic.auth.user.info": "u:p"},
            "bearer.auth.credentials.source",
            "cannot be combined with basic.auth.credentials.source=USER_INFO",
        ),
        (
            {"schema.registry.ssl.keystore.location": "/x", "schema.registry.ssl.keystore.type": "BCFKS"},
            "schema.registry.ssl.keystore.type",
            "must be one of: PEM, JKS, PKCS12",
        ),
        (
            {"schema.registry.ssl.key.password": CANARY},
            "schema.registry.ssl.keystore.location",
            "must contain the certificate",
        ),
        (
            {"schema.registry.ssl.endpoint.identification.algorithm": ""},
            "schema.registry.ssl.endpoint.identification.algorithm",
            "always verified",
        ),
        ({"schema.registry.ssl.protocol": "TLSv1.3"}, "schema.registry.ssl.protocol", "OpenSSL's defaults apply"),
        ({"schema.registry.ssl.truststore.locatoin": "x"}, "schema.registry.ssl.truststore.locatoin", "Did you mean"),
        ({"schema.registry.ulr": "x"}, "schema.registry.ulr", "schema.registry.url?"),
    ],
)
def test_what_is_wrong_with_a_registry(
    problems_of: Problems, side: str, options: dict[str, str], name: str, said: str
) -> None:
    """Each mistake is a problem of its property, with the way out, and without a secret."""
    found = problems_of(_avro(side, options))
    assert said in found[f"{side}.converter.{name}"]
    assert CANARY not in str(found)


def test_a_registry_is_no_part_of_what_shapes_objects(load_with: Load) -> None:
    """Another address, login or certificate makes no other plan, and plans show the address alone."""
    one = load_with(_avro("value", {"schema.registry.url": f"http://u:{CANARY}@a:1/x"})).settings
    other = load_with(_avro("value", {**USER_INFO, "basic.auth.user.info": f"u:{CANARY}", PEM: "PEM"})).settings
    assert one.configuration_sha256 == other.configuration_sha256
    assert one.resolved["value.converter.schema.registry.url"] == "http://a:1/x"
    assert not [name for name in other.resolved if "auth" in name or "ssl" in name]


@pytest.mark.parametrize("name", REACHED)
def test_no_login_shows(load_with: Load, name: str) -> None:
    """Neither a report nor a repr nor a plan holds a password, a token or a URL's user, whoever gave it."""
    options = {
        key: text.replace("u:p", f"u:{CANARY}").replace("p%3Aw", CANARY) for key, text in REACHED[name][0].items()
    }
    secret = {"schema.registry.url": "${secrets:url}", **USER_INFO, "basic.auth.user.info": "${secrets:login}"}
    lookups = Lookups(secrets={"url": f"http://{CANARY}:1", "login": f"u:{CANARY}"}.get)
    for given in (options, secret):
        loaded = load_with(_avro("value", given), lookups=lookups)
        shown = [repr(loaded), repr(loaded.settings.format), str(loaded.settings.resolved), str(loaded.report)]
        assert CANARY not in "".join(shown)


def test_a_preview_needs_no_registry(load_with: Load) -> None:
    """Offline, an address or a password that is not known here is left out; nothing that shapes objects is."""
    given = _avro("value", {"schema.registry.url": "${env:NONE}", **USER_INFO, "basic.auth.user.info": "${env:NONE}"})
    assert load_with(given).settings.format.value.registry is not None
