"""The agent's settings, read once from the environment (prefix WEIR_AGENT_)."""

from __future__ import annotations

import platform
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, FilePath, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from node_agent.protocol.fields import Digest, LabelKey, LabelValue
from node_agent.reach import Network, Reach, networks_read, reach_read

_PLAN = re.compile(r"^(\d{1,3})(?:x(\d{1,4}))?(?::(\d{1,9}))?$")

_SIMULATED = re.compile(r"^([a-z][a-z0-9-]{0,31}):([1-9]\d?):([^:,]{1,100}):([1-9]\d{0,8})$")


@dataclass(frozen=True, slots=True)
class CpuPlan:
    """How the CPU is split: `count` devices of `cores` cores and `memory_mib` each (0: a fair share)."""

    count: int
    cores: int = 0
    memory_mib: int = 0

    @classmethod
    def parse(cls, text: str) -> Self:
        """From `<count>[x<cores>][:<memory MiB>]`, for example `2x1:4096`; `none` offers no CPU."""
        if text.strip() in ("", "none"):
            return cls(0)
        match = _PLAN.match(text.strip())
        if match is None:
            raise ValueError("write <count>x<cores>:<memory in MiB>, for example 2x1:4096, or none")
        return cls(*(int(part or 0) for part in match.groups()))


@dataclass(frozen=True, slots=True)
class SimulatedPlan:
    """`count` devices of a vendor that only pretend; their work runs on the CPU."""

    vendor: str
    count: int
    model: str
    memory_mib: int

    @classmethod
    def parse_all(cls, text: str) -> tuple[Self, ...]:
        """From `<vendor>:<count>:<model>:<memory MiB>`, with commas between them."""
        return tuple(cls._parse(part) for part in text.split(",") if part.strip())

    @classmethod
    def _parse(cls, text: str) -> Self:
        match = _SIMULATED.match(text.strip())
        if match is None:
            raise ValueError(
                "write <vendor>:<count>:<model>:<memory in MiB>, for example ascend:2:910B:65536"
            )
        vendor, count, model, memory_mib = match.groups()
        return cls(vendor, int(count), model.strip(), int(memory_mib))


class AgentSettings(BaseSettings):
    """Typed settings; a wrong one is refused at start with its name."""

    model_config = SettingsConfigDict(env_prefix="WEIR_AGENT_", frozen=True)

    server: str = "http://localhost:8000"
    join_token: SecretStr | None = None
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")] = platform.node() or "node"
    state_dir: Path | None = None
    # The certificate of who vouches for the portal's, where that is no public authority (POOL-8.1).
    ca: FilePath | None = None
    release_keys: Annotated[tuple[Digest, ...], NoDecode] = ()
    release_gate_s: Annotated[int, Field(ge=2, le=3600)] = 60
    meter_s: Annotated[int, Field(ge=1, le=300)] = 5
    devices: Annotated[CpuPlan, NoDecode] = CpuPlan(1)
    devices_file: Path | None = None
    simulate: Annotated[tuple[SimulatedPlan, ...], NoDecode] = ()
    address: Annotated[str, Field(pattern=r"^[A-Za-z0-9:._-]{0,200}$")] = ""
    hami_library: Path = Path("/usr/local/vgpu/libvgpu.so")
    detach_s: Annotated[int, Field(ge=1, le=86_400)] = 60
    labels: Annotated[dict[LabelKey, LabelValue], NoDecode] = {}
    work_uid_base: Annotated[int, Field(ge=0, le=2**31)] = 60_000
    users_dir: Path = Path("/var/lib/weir")
    # Where the portal's folder of volumes is on this node, as `WEIR_STORAGE_DIR` is there, and those of its storage
    # classes behind it.
    storage_dir: Annotated[tuple[Path, ...], NoDecode] = ()
    # Where packages for work come from: an index, or a folder of wheels on this node. None: none are installed.
    package_index: str = ""
    package_mib: Annotated[int, Field(ge=1, le=2**30)] = 10_240
    work_paths: Annotated[tuple[Path, ...], NoDecode] = ()
    allow_root_work: bool = False
    # "": a network of its own for each work, where this node can.
    work_network: Literal["", "private", "none", "node"] = ""
    work_network_allow: Annotated[tuple[Reach, ...], NoDecode] = ()
    work_network_deny: Annotated[tuple[Network, ...], NoDecode] = ()
    work_disk_mib: Annotated[int, Field(ge=1, le=2**30)] = 10_240
    # None: half of what the disk has for work when the agent starts.
    scratch_disk_mib: Annotated[int, Field(ge=0, le=2**40)] | None = None
    log_limit_mib: Annotated[int, Field(ge=1, le=4096)] = 16

    @field_validator("server")
    @classmethod
    def _server_is_http(cls, value: str) -> str:
        if urlsplit(value).scheme not in ("http", "https") or not urlsplit(value).hostname:
            raise ValueError("must be an http or https address, for example http://localhost:8000")
        return value.rstrip("/")

    @field_validator("package_index")
    @classmethod
    def _index_is_open(cls, value: str) -> str:
        parts = urlsplit(value)
        is_index = parts.scheme in ("http", "https") and parts.hostname
        if value and not is_index and not (value.startswith("/") and "\0" not in value):
            raise ValueError("write the address of an index, or the whole path of a folder of wheels")
        if parts.password or parts.username:
            raise ValueError("an index for work has no password in it: the work that installs would see it")
        return value.rstrip("/")

    @field_validator("release_keys", mode="before")
    @classmethod
    def _keys_from_text(cls, value: Any) -> Any:
        return tuple(filter(None, value.split(","))) if isinstance(value, str) else value

    @field_validator("work_network_allow", mode="before")
    @classmethod
    def _allowed_from_text(cls, value: Any) -> Any:
        try:
            return (
                tuple(map(reach_read, filter(str.strip, value.split(","))))
                if isinstance(value, str)
                else value
            )
        except ValueError as error:
            raise ValueError(
                f"{error}; write addresses, networks, or either with a port, with commas between them: "
                "10.1.2.3,127.0.0.1:3128,[fd00::1]:443"
            ) from error

    @field_validator("work_network_deny", mode="before")
    @classmethod
    def _denied_from_text(cls, value: Any) -> Any:
        try:
            return networks_read([*filter(str.strip, value.split(","))]) if isinstance(value, str) else value
        except ValueError as error:
            raise ValueError(
                f"{error}; write addresses or networks with commas between them: 10.1.0.0/16,fd00::/8"
            ) from error

    @field_validator("work_paths", mode="before")
    @classmethod
    def _paths_from_text(cls, value: Any) -> Any:
        paths = [Path(part) for part in value.split(":") if part] if isinstance(value, str) else value
        if not all(Path(path).is_absolute() for path in paths):
            raise ValueError("write whole paths with colons between them, for example /data:/mnt/models")
        return paths

    @field_validator("storage_dir", mode="before")
    @classmethod
    def _storage_from_text(cls, value: Any) -> Any:
        if isinstance(value, str):
            return [Path(part) for part in value.split(":") if part]
        return [value] if isinstance(value, Path) else value or ()

    @field_validator("devices", mode="before")
    @classmethod
    def _devices_from_text(cls, value: Any) -> Any:
        return CpuPlan.parse(value) if isinstance(value, str) else value

    @field_validator("simulate", mode="before")
    @classmethod
    def _simulated_from_text(cls, value: Any) -> Any:
        return SimulatedPlan.parse_all(value) if isinstance(value, str) else value

    @field_validator("labels", mode="before")
    @classmethod
    def _labels_from_text(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        pairs = [part.partition("=") for part in value.split(",") if part.strip()]
        if not all(separator for _, separator, _ in pairs):
            raise ValueError("write key=value pairs with commas between them, for example zone=a,rack=3")
        return {key.strip(): item.strip() for key, _, item in pairs}

    @model_validator(mode="before")
    @classmethod
    def _empty_is_unset(cls, data: Any) -> Any:
        return {key: item for key, item in data.items() if item != ""} if isinstance(data, dict) else data

    @property
    def home(self) -> Path:
        """The agent's folder, by default `var/agents/<name>`."""
        return (self.state_dir or Path("var/agents") / self.name).absolute()
