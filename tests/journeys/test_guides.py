"""The guides' commands and pages, as their readers would go through them: each fenced block of a document, in order,
in one shell."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from portal.devstack.stack import Stack
from tests.harness.portal import password_of

pytestmark = [pytest.mark.journey, pytest.mark.xdist_group("portal"), pytest.mark.req("ELA-101")]
DOCS = Path(__file__).resolve().parents[2] / "docs"
# ```sh is run; ```page ADDRESS is opened, filled in and sent; ```… file=NAME is written; anything else is only shown.
_BLOCK = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    language: str
    more: str
    text: str

    @property
    def file(self) -> str:
        return self.more.removeprefix("file=") if self.more.startswith("file=") else ""


def blocks(name: str) -> list[Block]:
    text = (DOCS / name).read_text()
    return [Block(language, more.strip(), body) for language, more, body in _BLOCK.findall(text)]


def script_of(found: list[Block], portal: str) -> str:
    """One shell script of a guide's commands and pages, each shown before it is run; the first that fails ends it."""
    # What a guide starts beside itself ends with it.
    lines = ["set -euo pipefail", "trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT"]
    for block in found:
        text = block.text
        if block.language == "page":
            text = f"python -m tests.harness.guide_pages {block.more} <<'FIELDS'\n{text}FIELDS"
        elif block.language != "sh":
            continue
        lines += ["set -x", text.replace("localhost:8000", portal).rstrip(), "{ set +x; } 2>/dev/null"]
    return "\n".join(lines) + "\n"


def gone_through(guide: str, folder: Path, portal: str, **more: str) -> str:
    """What the guide's commands and pages print, gone through in a folder at a portal; all of them must work."""
    found = blocks(guide)
    for block in found:
        if block.file:
            (folder / block.file).write_text(block.text)
    env = {
        **os.environ,
        "HOME": str(folder),
        "WEIR_CONFIG": str(folder / "config.json"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join((str(DOCS.parent), str(DOCS.parent / "client"))),
        **more,
    }
    done = subprocess.run(
        ["bash", "-c", script_of(found, portal)],
        cwd=folder, env=env, capture_output=True, text=True, timeout=400,
    )  # fmt: skip
    told = done.stdout + done.stderr
    assert done.returncode == 0, told
    return told


@pytest.mark.req("POOL-12.4", "POOL-7.1b")
def test_the_example_of_several_devices_trains_from_node_to_node(stack: Stack, tmp_path: Path):
    pytest.importorskip("torch", reason="the remote accelerator is for PyTorch, which is not installed here")
    portal = f"127.0.0.1:{stack.options.port}"
    login = {"WEIR_PASSWORD": password_of(stack), "WEIR_CONFIG": str(tmp_path / "config.json")}
    subprocess.run(
        [sys.executable, "-m", "weir", "login", f"http://{portal}", "-u", "alice"],
        env={**os.environ, **login}, check=True, capture_output=True,
    )  # fmt: skip
    told = gone_through("remote-accelerator.md", tmp_path, portal, **login)
    losses = re.findall(r"rank (\d) of 2 on weir:\1: loss (\d+\.\d+)", told)
    assert [rank for rank, _loss in sorted(losses)] == ["0", "1"], told
    assert len({loss for _rank, loss in losses}) == 1


@pytest.mark.parametrize(
    ("guide", "says"),
    [
        (
            "engineers-first-hour.md",
            [
                "step 1 of 2 with 20 % of a device",
                "hello from a module",
                "2 jobs are in the queue",
                "the area is 42",
            ],
        ),
        (
            "coming-from.md",
            [
                "running with 2 arguments: --lr 0.1",
                "told on your page",
                "hello from a Job with a secret",
                "hello from a task",
            ],
        ),
    ],
)
def test_the_commands_of_a_guide_work(stack: Stack, tmp_path: Path, guide: str, says: list[str]):
    portal = f"127.0.0.1:{stack.options.port}"
    told = gone_through(guide, tmp_path, portal, WEIR_PASSWORD=password_of(stack))
    assert [words for words in says if words not in told] == [], told
