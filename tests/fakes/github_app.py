"""A GitHub App at the fake GitHub: it checks the App's signed token, and hands out tokens of its installations."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

LIFE_S = 3600
_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
PEM = _KEY.private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
).decode()


@dataclass
class FakeApp:
    """`installed`: repository -> number of the installation. `handed_out`: the tokens, in order."""

    app_id: str = "4711"
    slug: str = "hud-app"
    installed: dict[str, int] = field(default_factory=dict)
    handed_out: list[str] = field(default_factory=list)

    def answer(self, path: str, headers: dict[str, str]) -> tuple[int, dict[str, str], Any] | None:
        """Answer what concerns the App; None for all else."""
        is_installation = path.endswith("/installation")
        if not (path == "/app" or path.startswith("/app/") or is_installation):
            return None
        if not self._is_ours(headers.get("authorization", "")):
            return 401, {}, {"message": "A JSON web token could not be decoded"}
        if path == "/app":
            return 200, {}, {"slug": self.slug}
        if is_installation:
            number = self.installed.get(path.removeprefix("/repos/").removesuffix("/installation"))
            return (200, {}, {"id": number}) if number else (404, {}, {"message": "Not Found"})
        self.handed_out.append(f"ghs_{len(self.handed_out)}secretsecret")
        ends_at = datetime.fromtimestamp(int(time.time()) + LIFE_S, UTC).isoformat().replace("+00:00", "Z")
        return 201, {}, {"token": self.handed_out[-1], "expires_at": ends_at}

    def may_write(self, headers: dict[str, str]) -> bool:
        """The request carries a token of an installation."""
        return headers.get("authorization", "").removeprefix("Bearer ") in self.handed_out

    def _is_ours(self, header: str) -> bool:
        try:
            claims = jwt.decode(header.removeprefix("Bearer "), _KEY.public_key(), algorithms=["RS256"])
        except jwt.PyJWTError:
            return False
        return bool(claims["iss"] == self.app_id and claims["exp"] - claims["iat"] <= 600)
