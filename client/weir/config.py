"""Where the client keeps centres with their tokens, each under a name: one file only its user can read."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from weir.errors import NotSignedIn, WeirClientError

_NAME = re.compile(r"[\w.@:+/\[\]][\w.@:+/\[\]-]{0,99}")


def config_path() -> Path:
    """`$WEIR_CONFIG`, else `weir/config.json` under the user's configuration folder."""
    given = os.environ.get("WEIR_CONFIG")
    base = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return Path(given) if given else base / "weir" / "config.json"


@dataclass(frozen=True, slots=True)
class Config:
    """An address, a token, the tenant and role to act in ("" leaves the choice to the centre), and whose token it is
    ("" where that was not kept)."""

    url: str
    token: str
    tenant: str = ""
    role: str = ""
    user: str = ""

    @property
    def usual_name(self) -> str:
        """What it is called where nobody names it: `alice@weir.example.com/acme`."""
        host = self.url.partition("://")[2].partition("/")[0]
        name = f"{self.user}@{host}".removeprefix("@") + (f"/{self.tenant}" if self.tenant else "")
        return re.sub(r"[^\w.@:+/\[\]-]", "_", name).lstrip("-")[:100]

    @classmethod
    def load(cls, context: str = "") -> Config:
        """That of a name; without one from `WEIR_URL` and `WEIR_TOKEN`, else that which `WEIR_CONTEXT` names, else the
        one in use.

        Raises:
            NotSignedIn: nothing is kept, or none of it is in use.
            WeirClientError: the name is unknown, or the file is damaged.
        """
        return chosen(context)[1]


@dataclass(slots=True)
class Contexts:
    """What is kept, by name, and which name is in use: "" where none is."""

    in_use: str = ""
    named: dict[str, Config] = field(default_factory=dict)

    @classmethod
    def load(cls) -> Contexts:
        """What the file holds; nothing where there is none. A file with one nameless sign-in, as earlier clients
        wrote it, is that one under its usual name. Raises WeirClientError where it is damaged."""
        try:
            kept = json.loads(config_path().read_text())
        except FileNotFoundError:
            return cls()
        except ValueError as error:
            raise _damaged() from error
        try:
            if "contexts" not in kept:
                one = _config(kept)
                return cls(one.usual_name, {one.usual_name: one})
            named = {str(name): _config(found) for name, found in kept["contexts"].items()}
            return cls(kept["in_use"] if kept["in_use"] in named else "", named)
        except (KeyError, TypeError, AttributeError) as error:
            raise _damaged() from error

    def find(self, name: str) -> Config:
        """What has the name. Raises WeirClientError where nothing has."""
        if name in self.named:
            return self.named[name]
        known = ", ".join(sorted(self.named)) or "there is none yet: run `weir login`"
        raise WeirClientError(f"There is no context {name!r}.", f"Known: {known}.")

    def _write(self) -> None:
        """The file whole or not at all, readable by its user alone."""
        path = config_path()
        fresh = path.with_name(f"{path.name}.new")
        fresh.unlink(missing_ok=True)
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as stream:
            kept = {name: asdict(found) for name, found in self.named.items()}
            json.dump({"in_use": self.in_use, "contexts": kept}, stream, indent=1)
            stream.flush()
            os.fsync(stream.fileno())
        fresh.replace(path)


@contextmanager
def changing(*, mends: bool = False) -> Iterator[Contexts]:
    """What is kept, to be changed: written at the end, unless something goes wrong before. Whoever else changes it
    meanwhile waits, so that nobody's sign-in is lost. Where it `mends`, a damaged file is put aside first."""
    import fcntl

    path = config_path()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            found = Contexts.load()
        except WeirClientError:
            if not mends:
                raise
            path.replace(path.with_name(f"{path.name}.damaged"))
            found = Contexts()
        yield found
        found._write()
    finally:
        os.close(lock)


def chosen(context: str = "") -> tuple[str, Config]:
    """What a command acts in, with its name: "" where it is of `WEIR_URL` and `WEIR_TOKEN`. See `Config.load`."""
    url, token = os.environ.get("WEIR_URL", ""), os.environ.get("WEIR_TOKEN", "")
    if not context and url and token:
        return "", Config(url, token, os.environ.get("WEIR_TENANT", ""), os.environ.get("WEIR_ROLE", ""))
    kept = Contexts.load()
    if name := context or os.environ.get("WEIR_CONTEXT", ""):
        return name, kept.find(name)
    if kept.in_use:
        return kept.in_use, kept.named[kept.in_use]
    if kept.named:
        known = ", ".join(sorted(kept.named))
        raise NotSignedIn("No context is in use.", f"Run `weir context use NAME` with one of {known}.")
    raise NotSignedIn("You are not signed in.", "Run `weir login`.")


def keep(name: str, config: Config) -> None:
    """Keep a sign-in under a name, and use it from now on.

    Raises:
        WeirClientError: the name is none, or has another person's or another centre's, which would be lost.
    """
    name_check(name)
    with changing(mends=True) as kept:
        replaceable_check(name, kept.named.get(name), config.url, config.user)
        kept.named[name] = config
        kept.in_use = name


def replaceable_check(name: str, before: Config | None, url: str, user: str) -> None:
    """Whether a sign-in may take the place of what a name has. Raises WeirClientError where that would be lost."""
    if before is None or (before.url == url and before.user in ("", user)):
        return
    who = f"{before.user} at {before.url}".removeprefix(" at ")
    raise WeirClientError(
        f"The context {name} is {who}.",
        f"Give another name with --context, or rename it: `weir context rename {name} NEW`.",
    )


def name_check(name: str) -> None:
    """Raises WeirClientError where a name is none."""
    if not _NAME.fullmatch(name):
        raise WeirClientError(
            f"{name!r} is no name of a context.",
            "Write at most 100 letters, digits and .@:+/-_, without blanks and not beginning with -.",
        )


def _config(found: Any) -> Config:
    texts = [found[name] for name in ("url", "token")] + [
        found.get(name, "") for name in ("tenant", "role", "user")
    ]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("a value is no text")
    return Config(*texts)


def _damaged() -> WeirClientError:
    return WeirClientError(f"{config_path()} is damaged.", "Run `weir login` again: it is put aside then.")
