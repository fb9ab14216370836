"""Work with a requirements.txt, the whole way: from a file by the command line to a program that imports it."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from portal.devstack.demo_order import Journey
from portal.devstack.stack import Stack
from tests.harness.portal import password_of

pytestmark = [
    pytest.mark.journey,
    pytest.mark.xdist_group("portal"),
    pytest.mark.skipif(os.geteuid() != 0, reason="users of their own can be given to work by root alone"),
    pytest.mark.req("PLAT-CMP-10"),
]
WEIR = (sys.executable, "-m", "weir")


@pytest.fixture
def weir(stack: Stack, tmp_path: Path) -> Callable[..., str]:
    env = {**os.environ, "WEIR_CONFIG": str(tmp_path / "alice.json"), "WEIR_PASSWORD": password_of(stack)}

    def run(*words: str, code: int = 0) -> str:
        done = subprocess.run(
            [*WEIR, *words], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=180
        )
        assert done.returncode == code, done.stdout
        return done.stdout

    run("login", f"http://127.0.0.1:{stack.options.port}", "-u", "alice")
    return run


def test_a_file_of_requirements_travels_with_work_and_is_installed_once(
    journey: Journey, weir: Callable[..., str], tmp_path: Path
) -> None:
    alice, file = journey.person("alice"), tmp_path / "requirements.txt"
    file.write_text("# what it says\nGreeter==1.0\n")
    asked = ("submit", "--share", "10", "--memory", "512Mi", "--requirements", str(file), "--wait")
    spans = []
    for words in (("greet",), ("python", "-c", "import greeter; greeter.main()")):
        begun = time.monotonic()
        told = weir(*asked, *words)
        spans.append(time.monotonic() - begun)
        uid = _uid(told)
        assert "GREETS high" in journey.wait("its output", lambda uid=uid: alice.log(uid)["text"])
    print(f"first {spans[0]:.1f} s, then {spans[1]:.1f} s, each from the command to its end")
    assert alice.workload(uid)["requirements"] == ["greeter==1.0"]


def test_a_function_has_the_packages_that_are_named_with_it(
    stack: Stack, weir: Callable[..., str], tmp_path: Path
) -> None:
    script = tmp_path / "call.py"
    script.write_text("""
import weir


def says():
    import tone

    return tone.HIGH


asked = {"compute_percent": 10, "memory_mib": 512, "requirements": "greeter==1.0\\n"}
print("SAYS", weir.submit(says, **asked).result(timeout_s=120))
""")
    env = {**os.environ, "WEIR_CONFIG": str(tmp_path / "alice.json"), "WEIR_PASSWORD": password_of(stack)}
    command = [sys.executable, str(script)]
    assert "SAYS high" in subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout


def test_what_cannot_be_installed_is_told_by_its_line_and_tried_once(
    journey: Journey, weir: Callable[..., str], tmp_path: Path
) -> None:
    alice, file = journey.person("alice"), tmp_path / "requirements.txt"
    asked = ("submit", "--share", "10", "--memory", "512Mi", "--retries", "3", "--requirements", str(file))
    file.write_text("greeter\n-r other.txt\n")
    assert "Line 2: options such as -r are not taken" in weir(*asked, "greet", code=1)
    file.write_text("greeter\nnosuchthing==4\n")
    told = weir(*asked, "--wait", "greet", code=1)
    assert "the index has no wheel for 'nosuchthing==4'" in told
    work = alice.workload(_uid(told))
    assert (work["state"], work["reason_code"], work["attempt"]) == ("failed", "packages_failed", 1)
    assert "its packages could not be installed" in work["reason"]


def _uid(told: str) -> str:
    """Of the work that a command tells of."""
    found = re.search(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", told)
    assert found is not None, told
    return found[0]
