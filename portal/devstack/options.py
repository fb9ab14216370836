"""What `make run` and `make serve` read from the environment, typed; a wrong value is refused by its name."""

from pathlib import Path
from typing import ClassVar

from pydantic import Field, FilePath, PostgresDsn, RedisDsn, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from portal.devstack.bootstrap import ROOT
from portal.devstack.errors import LocalError

# The kinds of centres that the demo can have, in the order in which they join.
CENTER_KINDS = ("local", "slurm", "ray")


class Options(BaseSettings):
    """The variables, all prefixed `WEIR_`; the servers named here are used instead of embedded ones."""

    model_config = SettingsConfigDict(env_prefix="WEIR_", extra="ignore")

    # Whether an empty centre is filled with the demo.
    is_demo: ClassVar[bool] = True

    port: int = Field(default=8000, ge=1, le=65535)
    host: str = "127.0.0.1"
    var_dir: Path = ROOT / "var"
    database_url: PostgresDsn | None = None
    redis_url: RedisDsn | None = None
    secret_key: SecretStr | None = None
    journey: bool = True
    nodes: int = Field(default=2, ge=0, le=16)
    node_devices: int = Field(default=2, ge=1, le=16)
    # One node more, whose cards of other vendors are simulated and say so; empty: none.
    simulate: str = "ascend:2:Ascend 910B:65536,cambricon:1:MLU370:49152"
    webs: int = Field(default=2, ge=1, le=16)
    workers: int = Field(default=1, ge=1, le=16)
    beats: int = Field(default=1, ge=1, le=16)
    schedulers: int = Field(default=1, ge=1, le=16)
    # Processes that watch the centres of the network.
    center_processes: int = Field(default=1, ge=0, le=16)
    # The demo's centres by kind, with commas between; nothing given: all that this machine has the programs of.
    centers: str | None = None
    worker_processes: int = Field(default=2, ge=1, le=64)
    tls_cert: FilePath | None = None
    tls_key: FilePath | None = None
    tls_ca: FilePath | None = None

    @field_validator("centers")
    @classmethod
    def _centers_known(cls, given: str | None) -> str | None:
        unknown = [name for name in _names(given or "") if name not in CENTER_KINDS]
        if unknown:
            raise ValueError(
                f"there is no kind of centre {', '.join(unknown)}: choose among {', '.join(CENTER_KINDS)}, "
                f"WEIR_CENTERS={','.join(CENTER_KINDS)} make run, or none by WEIR_CENTERS="
            )
        return given

    @property
    def centers_named(self) -> tuple[str, ...] | None:
        """The kinds that were chosen, each once; None where nothing was said."""
        if self.centers is None:
            return None
        named = _names(self.centers)
        return tuple(kind for kind in CENTER_KINDS if kind in named)


class EmptyOptions(Options):
    """A centre of its own: nothing is seeded, and no node joins unless it is asked for."""

    is_demo: ClassVar[bool] = False

    journey: bool = False
    nodes: int = Field(default=0, ge=0, le=16)
    simulate: str = ""


def _names(given: str) -> list[str]:
    return [name.strip() for name in given.split(",") if name.strip()]


def options_read(defaults: type[Options] = Options) -> Options:
    """The options of this process's environment.

    Raises:
        LocalError: one line for each wrong variable.
    """
    try:
        return defaults()
    except ValidationError as error:
        lines = (
            f"WEIR_{'_'.join(map(str, problem['loc'])).upper()}: {problem['msg'].removeprefix('Value error, ')}"
            for problem in error.errors()
        )
        raise LocalError("; ".join(lines)) from error
