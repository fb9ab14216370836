"""Whether this node installs packages for work, and what it installs them by."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import platform
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Packages:
    """`index`: the address of an index, or a folder of wheels; `home`: the folder of what is installed, of `most_mib`
    at the most; `pip`: the folder of the installer. `problem`: why this node installs nothing."""

    index: str
    home: Path
    most_mib: int
    pip: str = ""
    problem: str = ""

    @property
    def version(self) -> str:
        """For which Python packages are installed outside of images; "" where none are."""
        return "" if self.problem else ".".join(platform.python_version_tuple()[:2])

    @property
    def sentence(self) -> str:
        """The log's line."""
        if self.problem:
            return f"no packages are installed for work here: {self.problem}"
        return f"packages for work are installed from {self.index}, {self.most_mib} MiB of them at the most"

    def key(self, owner: str, requirements: Sequence[str], image: str) -> str:
        """What is installed once: for each owner, text, index, and Python; `image` is the digest of the image whose own
        Python it is, "" for this node's."""
        python = image or f"{sys.executable} {sys.implementation.cache_tag} {sysconfig.get_platform()}"
        said = json.dumps([owner, list(requirements), self.index, python])
        return hashlib.sha256(said.encode()).hexdigest()


def packages_find(index: str, home: Path, most_mib: int, *, is_walled: bool) -> Packages:
    """What this node can do. `is_walled`: work stands in namespaces of its own, in which alone packages are installed
    and seen."""
    found = importlib.util.find_spec("pip")
    pip = str(Path(found.origin).parent) if found is not None and found.origin else ""
    problem = ""
    if not index:
        problem = "no index of packages is set: WEIR_AGENT_PACKAGE_INDEX"
    elif not is_walled:
        problem = "packages are installed only where work is walled off, and this node cannot"
    elif not pip:
        problem = "pip is not installed for the agent's Python"
    elif index.startswith("/") and not Path(index).is_dir():
        problem = f"WEIR_AGENT_PACKAGE_INDEX names {index}, which is no folder of this node"
    return Packages(index, home, most_mib, pip, problem)
