"""A token endpoint on this machine, which signs what it gives, and the keys that a broker checks that by."""

from __future__ import annotations

import base64
import json
import time
from urllib.parse import parse_qs

from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256

from tests.adapters.loopback import ScriptedServer, Seen, answer

CLIENT, SECRET = "exporter", "client-secret"
AUDIENCE = "kafka"


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class TokenEndpoint:
    """Tokens for `exporter` and its secret, or for an assertion; each lives for `lifetime_s`. `given` counts them."""

    def __init__(self) -> None:
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.lifetime_s = 3600
        self.given = 0
        self.server = ScriptedServer(self._answer)
        self.url = f"{self.server.url}/token"
        self.keys_url = f"{self.server.url}/keys"

    def forms(self) -> list[dict[str, str]]:
        return [
            {name: values[0] for name, values in parse_qs(seen.body.decode()).items()}
            for seen in self.server.seen
            if seen.path == "/token"
        ]

    def token(self) -> tuple[str, float]:
        """A token, and when it expires."""
        self.given += 1
        now = time.time()
        expires = int(now + self.lifetime_s)
        claims = {"sub": CLIENT, "aud": AUDIENCE, "iss": self.url, "iat": int(now), "exp": expires, "scope": "read"}
        parts = ({"alg": "RS256", "typ": "JWT", "kid": "one"}, claims)
        signed = ".".join(_encoded(json.dumps(part).encode()) for part in parts)
        signature = self._key.sign(signed.encode(), padding.PKCS1v15(), SHA256())
        return f"{signed}.{_encoded(signature)}", float(expires)

    def stop(self) -> None:
        self.server.stop()

    def _answer(self, seen: Seen) -> bytes:
        if seen.path == "/keys":
            return self._json(200, {"keys": [self._public()]})
        form = {name: values[0] for name, values in parse_qs(seen.body.decode()).items()}
        basic = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        if seen.headers.get("authorization") != f"Basic {basic}" and "assertion" not in form:
            return self._json(401, {"error": "invalid_client", "error_description": "who are you?"})
        token, _ = self.token()
        return self._json(200, {"access_token": token, "token_type": "Bearer", "expires_in": self.lifetime_s})

    def _public(self) -> dict[str, str]:
        numbers = self._key.public_key().public_numbers()
        parts = {"n": numbers.n, "e": numbers.e}
        encoded = {name: _encoded(each.to_bytes((each.bit_length() + 7) // 8, "big")) for name, each in parts.items()}
        return {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "one", **encoded}

    def _json(self, status: int, value: object) -> bytes:
        return answer(status, json.dumps(value).encode(), **{"Content-Type": "application/json"})
