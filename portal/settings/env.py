"""The environment, read once, typed; a wrong value is refused at start with its name."""

import sys
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field, PostgresDsn, RedisDsn, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from portal.settings.mail import email_settings

ROOT = Path(__file__).resolve().parents[2]


class Env(BaseSettings):
    """Every variable the server reads, all prefixed `WEIR_`."""

    model_config = SettingsConfigDict(env_prefix="WEIR_", extra="ignore")

    database_url: PostgresDsn
    redis_url: RedisDsn
    secret_key: SecretStr = Field(min_length=32)
    secret_key_fallbacks: tuple[SecretStr, ...] = ()
    debug: bool = False
    version: str = ""
    port: int = Field(default=8000, ge=1, le=65535)
    var_dir: Path = ROOT / "var"
    provider_hosts: tuple[str, ...] = ("localhost", "127.0.0.1")
    tenant_domain: str = "localhost"
    https: bool = False
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    upload_max_mib: int = Field(default=10, ge=1, le=1024)
    agent_sync_s: float = Field(default=1.0, gt=0, le=60)
    node_lost_after_s: int = Field(default=12, ge=3, le=600)
    node_upgrade_s: int = Field(default=75, ge=3, le=600)
    slice_lost_after_s: int = Field(default=900, ge=10, le=7 * 86400)
    backup_dir: Path | None = None
    backup_every_h: int = Field(default=24, ge=0, le=8760)
    backup_keep: int = Field(default=7, ge=1, le=1000)
    backup_passphrase: SecretStr = SecretStr("")
    email_url: str = ""
    email_from: str = "weir@localhost"

    @field_validator("email_url")
    @classmethod
    def _known_way(cls, url: str) -> str:
        email_settings(url, ROOT)
        return url


@cache
def env() -> Env:
    """The environment, or exit with one line for each wrong variable."""
    try:
        return Env()
    except ValidationError as error:
        for problem in error.errors():
            name = "WEIR_" + "_".join(str(part) for part in problem["loc"]).upper()
            print(f"{name}: {problem['msg']}", file=sys.stderr)
        sys.exit(2)
