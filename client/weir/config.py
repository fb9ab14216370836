"""Where the client keeps the address of its centre and its token: one file only its user can read."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from weir.errors import NotSignedIn, WeirClientError


def config_path() -> Path:
    """`$WEIR_CONFIG`, else `weir/config.json` under the user's configuration folder."""
    given = os.environ.get("WEIR_CONFIG")
    base = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return Path(given) if given else base / "weir" / "config.json"


@dataclass(frozen=True, slots=True)
class Config:
    """An address, a token, and the tenant and role to act in ("" leaves the choice to the centre)."""

    url: str
    token: str
    tenant: str = ""
    role: str = ""

    @classmethod
    def load(cls) -> "Config":
        """From `WEIR_URL` and `WEIR_TOKEN`, else from the file. Raises NotSignedIn when there is neither."""
        url, token = os.environ.get("WEIR_URL", ""), os.environ.get("WEIR_TOKEN", "")
        if url and token:
            return cls(url, token, os.environ.get("WEIR_TENANT", ""), os.environ.get("WEIR_ROLE", ""))
        try:
            kept = json.loads(config_path().read_text())
            return cls(kept["url"], kept["token"], kept.get("tenant", ""), kept.get("role", ""))
        except FileNotFoundError as error:
            raise NotSignedIn("You are not signed in.", "Run `weir login`.") from error
        except (ValueError, KeyError, TypeError) as error:
            raise WeirClientError(f"{config_path()} is damaged.", "Run `weir login` again.") from error

    def save(self) -> None:
        """Write the file whole or not at all, readable by its user alone."""
        path = config_path()
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = path.with_suffix(".new")
        fresh.touch(mode=0o600)
        fresh.chmod(0o600)
        fresh.write_text(json.dumps(asdict(self)))
        fresh.replace(path)

    @staticmethod
    def forget() -> None:
        config_path().unlink(missing_ok=True)
