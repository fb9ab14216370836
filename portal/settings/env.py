"""The environment, read once, typed; a wrong value is refused at start with its name."""

import sys
from functools import cache
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Literal

from pydantic import AnyHttpUrl, Field, PostgresDsn, RedisDsn, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from apps.centre.mail_address import mail_address

# As an example of ours had it for a while.
_EXAMPLE_KEY = "at-least-32-characters-from-a-generator"
# 32 characters of a generator have fewer different ones once in 10^10 keys of hexadecimal digits.
_KEY_LETTERS_MIN = 8
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
    # Below it each work that serves web pages has a host name of its own; empty: env.<tenant_domain>.
    web_domain: str = ""
    # Where clients of S3 reach the files of volumes; empty: s3.<tenant_domain>.
    s3_host: str = ""
    https: bool | None = None
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    metrics_token: SecretStr = SecretStr("")
    session_idle_min: int = Field(default=480, ge=1, le=7 * 1440)
    operator_session_idle_min: int = Field(default=60, ge=1, le=7 * 1440)
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    log_format: Literal["text", "json"] = "text"
    upload_max_mib: int = Field(default=10, ge=1, le=1024)
    attachments_total_mib: int = Field(default=10_240, ge=1)
    body_timeout_s: float = Field(default=60.0, gt=0, le=3600)
    bodies_total_mib: int = Field(default=256, ge=1, le=1024 * 1024)
    agent_sync_s: float = Field(default=1.0, gt=0, le=60)
    node_lost_after_s: int = Field(default=12, ge=3, le=600)
    node_upgrade_s: int = Field(default=75, ge=3, le=600)
    # Whether a centre may be joined whose address is of this machine or of its link.
    center_local_addresses: bool = False
    slice_lost_after_s: int = Field(default=900, ge=10, le=7 * 86400)
    # Where the archives of work folders lie on their way between nodes, and how large one may be.
    folders_dir: Path | None = None
    folder_limit_mib: int = Field(default=20_480, ge=1, le=131_072)
    # How large a folder may be that is sent along with work, and all those of one tenant together.
    upload_limit_mib: int = Field(default=2048, ge=1, le=20_480)
    uploads_total_mib: int = Field(default=20_480, ge=1, le=2**20)
    # Where the files of volumes lie: a folder of this machine, or one that several share.
    storage_dir: Path | None = None
    # How long the files of a volume are kept when the order that delivered it has ended.
    ended_volume_days: int = Field(default=7, ge=0, le=3650)
    # How long jobs over centres are kept when they have ended, and why each went where it did.
    ended_job_days: int = Field(default=365, ge=1, le=3650)
    job_decision_days: int = Field(default=30, ge=1, le=3650)
    # Where container images are kept, with name and password in the address; how large one may be unpacked.
    registry_url: AnyHttpUrl | None = None
    image_limit_mib: int = Field(default=40_960, ge=1, le=2**20)
    # For how long of running money is set aside at once; how long work goes on at zero; how near its end is told of.
    funds_hold_s: int = Field(default=3600, ge=60, le=30 * 86400)
    funds_grace_s: int = Field(default=600, ge=0, le=86400)
    storage_local_s3: bool = False
    webhook_local_addresses: bool = False
    unfunded_order_days: int = Field(default=7, ge=0, le=3650)
    funds_low_h: int = Field(default=24, ge=1, le=8760)
    backup_dir: Path | None = None
    backup_every_h: int = Field(default=24, ge=0, le=8760)
    backup_keep: int = Field(default=7, ge=1, le=1000)
    backup_passphrase: SecretStr = SecretStr("")
    email_url: str = ""
    email_from: str = "weir@localhost"

    @field_validator("secret_key")
    @classmethod
    def _made_by_a_generator(cls, key: SecretStr) -> SecretStr:
        text = key.get_secret_value()
        if len(set(text)) < _KEY_LETTERS_MIN or text == _EXAMPLE_KEY:
            raise ValueError("this can be guessed: make one with `openssl rand -base64 48`")
        return key

    @field_validator("email_url")
    @classmethod
    def _known_way(cls, url: str) -> str:
        mail_address(url)
        return url

    @property
    def object_host(self) -> str:
        """Where clients of S3 reach the files of volumes."""
        return (self.s3_host or f"s3.{self.tenant_domain}").lower()

    @property
    def web_pages_domain(self) -> str:
        """Below it each work that serves web pages has a host name."""
        return (self.web_domain or f"env.{self.tenant_domain}").lower()

    def cookie_names(self, *, is_https: bool) -> tuple[str, str]:
        """What the session's and the CSRF cookie are called.

        With `__Host-` a browser takes a cookie from this very host alone: a page of work, on a host below it, cannot
        set it. Browsers take such names by TLS only.
        """
        prefix = "__Host-" if is_https else ""
        return f"{prefix}sessionid", f"{prefix}csrftoken"

    def origins(self, *, is_https: bool) -> list[str]:
        """Where this portal's own forms are sent from."""
        return [
            f"{'https' if is_https else 'http'}://{host}{suffix}"
            for host in (*self.provider_hosts, f"*.{self.tenant_domain}")
            for suffix in ("", f":{self.port}")
        ]


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
