"""The guides' commands, as their readers would type them: each fenced block of a document, in order, in one shell."""

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
# ```sh is run; ```… file=NAME is written; anything else is only shown.
_BLOCK = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    language: str
    file: str
    text: str


def blocks(name: str) -> list[Block]:
    text = (DOCS / name).read_text()
    return [
        Block(language, more.strip().removeprefix("file="), body)
        for language, more, body in _BLOCK.findall(text)
    ]


def script_of(found: list[Block], url: str) -> str:
    """One shell script of a guide's commands, each shown before it is run; the first that fails ends it."""
    lines = ["set -euo pipefail"]
    for block in found:
        if block.language == "sh":
            lines += [
                "set -x",
                block.text.replace("http://localhost:8000", url).rstrip(),
                "{ set +x; } 2>/dev/null",
            ]
    return "\n".join(lines) + "\n"


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
                "hello from a Job",
                "hello from a task",
            ],
        ),
    ],
)
def test_the_commands_of_a_guide_work(stack: Stack, tmp_path: Path, guide: str, says: list[str]):
    found = blocks(guide)
    for block in found:
        if block.file:
            (tmp_path / block.file).write_text(block.text)
    env = {
        **os.environ,
        "HOME": str(tmp_path),
        "WEIR_CONFIG": str(tmp_path / "config.json"),
        "WEIR_PASSWORD": password_of(stack),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    done = subprocess.run(
        ["bash", "-c", script_of(found, f"http://127.0.0.1:{stack.options.port}")],
        cwd=tmp_path, env=env, capture_output=True, text=True, timeout=400,
    )  # fmt: skip
    told = done.stdout + done.stderr
    assert done.returncode == 0, told
    assert [words for words in says if words not in told] == [], told
