"""Releases on the node: fetched, verified, unpacked beside the one that runs, switched to in one step (POOL-12.20).

    home/releases/<version>/   an unpacked release: our packages and their manifest
    home/releases/state.json   which one runs, which ran before, whether it is on trial
    home/releases/keys.json    the keys trusted: those the portal named when the node joined; those revoked since

Whatever fails (signature, length, disk, the release itself), the old one goes on and `problem` says why.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import psutil
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import ValidationError

from node_agent.files import read_json, write_json
from node_agent.protocol.fields import SUPPORTED
from node_agent.protocol.releases import (
    BUILTIN_PATH,
    MANIFEST,
    RELEASE_BYTES,
    Manifest,
    ReleaseKeys,
    signed_text,
)
from node_agent.protocol.sync import DesiredRelease

BUILTIN = ""
RELEASE_ENV = "WEIR_AGENT_RELEASE"
_UNPACKED_BYTES = 4 * RELEASE_BYTES
_UNREADABLE = (
    zipfile.BadZipFile, zlib.error, EOFError, ValidationError, KeyError, RuntimeError, NotImplementedError,
)  # fmt: skip

log = logging.getLogger("weir.agent")


class ReleaseRefused(Exception):
    """The release cannot be run here; the text says why."""


@dataclass(frozen=True, slots=True)
class State:
    """What the launcher starts. `version` "" is what is installed; `refused` is a digest that failed on trial."""

    version: str = BUILTIN
    previous: str = BUILTIN
    is_trial: bool = False
    attempts: int = 0
    problem: str = ""
    refused: str = ""
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class ReleaseStore:
    """The node's releases on disk. Methods raise OSError where the disk does."""

    home: Path
    folder: Path = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", self.home / "releases")

    # ---- which one runs ----

    @property
    def exists(self) -> bool:
        """Whether this node ever had a release."""
        return (self.folder / "state.json").is_file()

    def read(self) -> State:
        """The present state; what is installed runs where none can be read."""
        try:
            return State(**(read_json(self.folder / "state.json") or {}))
        except TypeError:
            return State()

    def write(self, state: State) -> None:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o755)
        write_json(self.folder / "state.json", asdict(state))

    def select(self, version: str, running: str, sha256: str) -> None:
        """Put a release on trial; the launcher starts it next."""
        self.write(State(version=version, previous=running, is_trial=True, sha256=sha256))

    def confirm(self) -> None:
        """The release on trial has reached the server: it stays."""
        state = self.read()
        if state.is_trial:
            self.write(replace(state, is_trial=False, attempts=0, problem=""))

    def attempt(self) -> State:
        """Count a start of the release on trial."""
        state = self.read()
        state = replace(state, attempts=state.attempts + 1)
        self.write(state)
        return state

    def roll_back(self, problem: str) -> None:
        """Go back to the release before; one that was confirmed meanwhile stays."""
        state = self.read()
        if not state.is_trial:
            return
        version = state.previous if self.is_whole(state.previous) else BUILTIN
        self.write(State(version=version, previous=version, problem=problem[:500], refused=state.sha256))
        log.error("release %s is rolled back: %s", state.version or "as installed", problem)

    def forgive(self) -> None:
        """Let what failed on trial be tried again."""
        self.write(replace(self.read(), refused=""))

    def give_up(self, problem: str) -> None:
        """The release that runs can no longer be used: the one before it, else what is installed."""
        state = self.read()
        is_good = state.previous != state.version and self.is_whole(state.previous)
        self.write(State(version=state.previous if is_good else BUILTIN, problem=problem[:500]))
        log.error("%s: going back to %s", problem, self.read().version or "what is installed")

    def path(self, version: str) -> Path:
        return self.folder / version

    def is_whole(self, version: str) -> bool:
        """Whether every file of an unpacked release is as its manifest says; what is installed always is."""
        if version == BUILTIN:
            return True
        try:
            manifest = Manifest.model_validate_json((self.path(version) / MANIFEST).read_bytes())
            found = {name: _digest(self.path(version) / name) for name in manifest.files}
        except (OSError, ValidationError):
            return False
        return found == manifest.files and manifest.version == version

    # ---- taking one in ----

    def keys(self) -> tuple[str, ...]:
        """The keys kept since the node joined."""
        return self._kept("keys")

    def revoked(self) -> tuple[str, ...]:
        """The keys that the portal has ever said are trusted no more."""
        return self._kept("revoked")

    def keys_follow(self, named: ReleaseKeys) -> None:
        """Keep the keys the portal named first; later ones never replace them. What it revokes is never trusted
        again: whoever speaks for the portal can take trust away, and cannot give it."""
        kept, revoked = self.keys(), self.revoked()
        first = () if kept or revoked else named.keys
        keys, gone = (*kept, *first), tuple(dict.fromkeys((*revoked, *named.revoked)))
        if (keys, gone) != (kept, revoked):
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o755)
            write_json(self.folder / "keys.json", {"keys": list(keys), "revoked": list(gone)})

    def _kept(self, name: str) -> tuple[str, ...]:
        found = (read_json(self.folder / "keys.json") or {}).get(name, [])
        return tuple(key for key in found if isinstance(key, str))

    def draft(self) -> Path:
        """Where a download may be written; what an earlier one left is removed."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o755)
        for rest in self.folder.glob(".*"):
            shutil.rmtree(rest) if rest.is_dir() else rest.unlink(missing_ok=True)
        return self.folder / ".download"

    def take(self, file: Path, desired: DesiredRelease, keys: Iterable[str]) -> None:
        """Verify a fetched file and unpack it under its version, whole or not at all. Raises ReleaseRefused."""
        signature_check(file, desired, keys)
        place, draft = self.path(desired.version), self.folder / f".{desired.version}"
        try:
            _unpack(file, desired.version, draft)
        except _UNREADABLE as error:
            raise ReleaseRefused(f"release {desired.version} is no release: {error}"[:400]) from error
        if place.exists():
            shutil.rmtree(place)
        draft.rename(place)
        _sync_folder(self.folder)

    def prune(self, keep: Iterable[str]) -> None:
        """Remove releases that are neither kept nor used by a process of this machine."""
        for path in self.folder.iterdir() if self.folder.is_dir() else ():
            places = (path, *(self.home / f"{kind}-{path.name}" for kind in ("lib", "session-lib")))
            if path.is_dir() and path.name not in keep and not any(map(_is_used, places)):
                for place in places:
                    shutil.rmtree(place, ignore_errors=True)


def signature_check(file: Path, desired: DesiredRelease, keys: Iterable[str]) -> None:
    """Raises ReleaseRefused unless the file is the one that is desired, signed by a trusted key."""
    trusted = tuple(keys)
    if not trusted:
        raise ReleaseRefused(
            "no key is trusted on this node (any more): set WEIR_AGENT_RELEASE_KEYS, or make one on the portal"
        )
    if _digest(file) != desired.sha256:
        raise ReleaseRefused(f"release {desired.version} is not what was announced: its digest differs")
    if not any(_is_signed(desired, key) for key in trusted):
        raise ReleaseRefused(f"release {desired.version} is not signed by a key that this node trusts")


def _is_signed(desired: DesiredRelease, key: str) -> bool:
    try:
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(key))
        public.verify(bytes.fromhex(desired.signature), signed_text(desired.version, desired.sha256))
    except (InvalidSignature, ValueError):
        return False
    return True


def _unpack(file: Path, version: str, draft: Path) -> None:
    shutil.rmtree(draft, ignore_errors=True)
    with zipfile.ZipFile(file) as packed:
        manifest = Manifest.model_validate_json(packed.read(MANIFEST))
        _manifest_check(manifest, version, packed)
        for name, digest in manifest.files.items():
            _write(draft / name, packed.read(name), digest)
        _write(draft / MANIFEST, packed.read(MANIFEST), None)


def _manifest_check(manifest: Manifest, version: str, packed: zipfile.ZipFile) -> None:
    if manifest.version != version:
        raise ReleaseRefused(f"release {version} calls itself {manifest.version}")
    if not set(manifest.protocols) & set(SUPPORTED):
        raise ReleaseRefused(f"release {version} speaks none of the protocols known here")
    if set(packed.namelist()) != {*manifest.files, MANIFEST}:
        raise ReleaseRefused(f"release {version} holds other files than its manifest names")
    if sum(entry.file_size for entry in packed.infolist()) > _UNPACKED_BYTES:
        raise ReleaseRefused(f"release {version} is larger than {_UNPACKED_BYTES} bytes when unpacked")


def _write(path: Path, data: bytes, digest: str | None) -> None:
    if digest is not None and hashlib.sha256(data).hexdigest() != digest:
        raise ReleaseRefused(f"{path.name} is not as the manifest says")
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    path.chmod(0o644)


def _sync_folder(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_used(path: Path) -> bool:
    """Whether a process takes its code from there: shims and sessions outlive the agent that started them."""
    environments = (process.info["environ"] or {} for process in psutil.process_iter(["environ"]))
    return any(str(path) in text for environment in environments for text in environment.values())


def running_release() -> str:
    """The release this process runs: "" for what is installed."""
    return os.environ.get(RELEASE_ENV, BUILTIN)


def is_desired_running(desired: DesiredRelease) -> bool:
    """Whether what runs is what is desired."""
    return running_release() == (BUILTIN if desired.path == BUILTIN_PATH else desired.version)
