"""The environments our processes run in: the server's with its secrets, a node agent's without."""

import json
import os
import secrets
import sys
from collections.abc import Iterable
from pathlib import Path

import psutil

from portal.devstack.bootstrap import ROOT
from portal.devstack.options import Options
from portal.devstack.servers.processes import text_write
from portal.devstack.servers.registry_server import registry_url
from portal.devstack.servers.servers import Servers, Urls

# Where the local portal keeps what `/metrics` is asked with.
METRICS_TOKEN = "metrics.token"


def server_environment(options: Options, servers: Servers) -> dict[str, str]:
    """Weir's variables; embedded servers are started only for an address that is not given.

    Raises:
        LocalError: a server cannot be started.
    """
    given = Urls(str(options.database_url or ""), str(options.redis_url or ""))
    found = given if given.database and given.redis else servers.start()
    urls = Urls(given.database or found.database, given.redis or found.redis)
    return {
        **urls.environment(),
        "WEIR_PORT": str(options.port),
        **tls_environment(options),
        **mail_environment(options),
        "WEIR_VAR_DIR": str(options.var_dir.resolve()),
        "WEIR_SECRET_KEY": options.secret_key.get_secret_value()
        if options.secret_key
        else _kept_secret(options.var_dir, "secret.key"),
        **registry_environment(options),
        "WEIR_METRICS_TOKEN": os.environ.get("WEIR_METRICS_TOKEN")
        or _kept_secret(options.var_dir, METRICS_TOKEN),
        "DJANGO_SETTINGS_MODULE": os.environ.get("DJANGO_SETTINGS_MODULE", "portal.settings.dev"),
        "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'client'}",
        "PYTHONUNBUFFERED": "1",
    }


def registry_environment(options: Options) -> dict[str, str]:
    """Where container images are kept; nothing where there is no registry."""
    url = os.environ.get("WEIR_REGISTRY_URL") or registry_url(options.var_dir)
    return {"WEIR_REGISTRY_URL": url} if url else {}


def mail_environment(options: Options) -> dict[str, str]:
    """The demo's mail becomes files in its folder, unless a mail server is named."""
    if not options.is_demo or "WEIR_EMAIL_URL" in os.environ:
        return {}
    return {"WEIR_EMAIL_URL": (options.var_dir.resolve() / "mail").as_uri()}


def tls_environment(options: Options) -> dict[str, str]:
    """What makes the portal serve by TLS, where a certificate is given."""
    if options.tls_cert is None or options.tls_key is None:
        return {}
    given = {"WEIR_TLS_CERT": options.tls_cert, "WEIR_TLS_KEY": options.tls_key}
    return {"WEIR_HTTPS": "true", **{name: str(path.resolve()) for name, path in given.items()}}


def tls_authority(options: Options) -> Path | None:
    """Whose signature on the portal's certificate is believed; a certificate alone vouches for itself."""
    if options.tls_cert is None or options.tls_key is None:
        return None
    return (options.tls_ca or options.tls_cert).resolve()


def agent_environment(options: Options, name: str, state_dir: Path, join_token: str = "") -> dict[str, str]:
    """What a node agent gets: no secret of the server's, whatever this process was started with."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("WEIR_", "DJANGO_"))}
    return {
        **kept,
        **_devices(options, name),
        **{key: value for key, value in os.environ.items() if key.startswith("WEIR_AGENT_")},
        "WEIR_AGENT_SERVER": agent_server(options),
        "WEIR_AGENT_NAME": name,
        "WEIR_AGENT_STORAGE_DIR": os.environ.get("WEIR_STORAGE_DIR") or str(options.var_dir / "storage"),
        "WEIR_AGENT_STATE_DIR": str(state_dir),
        "WEIR_AGENT_JOIN_TOKEN": join_token,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "WEIR_AGENT_CA": str(tls_authority(options) or ""),
        "PYTHONPATH": str(ROOT),
        "PYTHONUNBUFFERED": "1",
    }


def engine_environment() -> dict[str, str]:
    """What an engine beside the portal gets: no secret of the server's, whatever this process was started with."""
    kept = {
        key: value for key, value in os.environ.items() if not key.startswith(("WEIR_", "DJANGO_", "SLURM_"))
    }
    return {**kept, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}


def center_environment(kinds: Iterable[str]) -> dict[str, str]:
    """Lets centres of this machine join, where the demo starts engines beside the portal; what was said stays."""
    said = "WEIR_CENTER_LOCAL_ADDRESSES"
    return {said: os.environ.get(said, "true")} if set(kinds) - {"local"} else {}


def agent_server(options: Options) -> str:
    """The address under which local agents know this portal."""
    return f"http{'s' if tls_authority(options) else ''}://127.0.0.1:{options.port}"


def has_joined(options: Options, state_dir: Path) -> bool:
    """Whether the agent of this folder holds a credential for this portal at this address."""
    try:
        kept = json.loads((state_dir / "credential.json").read_text())
    except (OSError, ValueError):
        return False
    return isinstance(kept, dict) and kept.get("server") == agent_server(options)


def simulated_node(options: Options) -> str:
    """The node whose cards are simulated: the one after the last, "" for none."""
    return f"node-{options.nodes + 1}" if options.simulate else ""


def _devices(options: Options, name: str) -> dict[str, str]:
    if name == simulated_node(options):
        return {"WEIR_AGENT_DEVICES": "none", "WEIR_AGENT_SIMULATE": options.simulate}
    return {"WEIR_AGENT_DEVICES": _fair_share(options.nodes, options.node_devices)}


def _fair_share(nodes: int, devices: int) -> str:
    """CPU accelerators for each node, so that all nodes together offer about what this machine has."""
    count = max(1, nodes) * devices
    cores = max(1, len(os.sched_getaffinity(0)) // count)
    memory_mib = psutil.virtual_memory().total // 2**20 // 2 // count
    return f"{devices}x{cores}:{memory_mib}"


def _kept_secret(var_dir: Path, name: str) -> str:
    """A secret of the installation: made once, kept with its data."""
    path = var_dir / "run" / name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        text_write(path, secrets.token_urlsafe(48))
    return path.read_text()
