"""Images built from a Containerfile, the whole way: the command, a real agent, runc, and work in what was made."""

import os
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest
from weir import Client

from portal.devstack.demo_order import Journey
from portal.devstack.servers.registry_server import PROGRAM as REGISTRY
from portal.devstack.stack import Stack
from tests.factories.archive import busybox_layer, docker_archive, layer
from tests.harness.portal import password_of

pytestmark = [
    pytest.mark.journey,
    pytest.mark.xdist_group("portal"),
    pytest.mark.skipif(os.geteuid() != 0, reason="containers are started by root alone"),
    pytest.mark.req("PLAT-ASSET-4", "POOL-8.2c", "PLAT-AICFG-14"),
]
_NEEDED = (REGISTRY, "skopeo", "runc", "umoci", "busybox")
WEIR = (sys.executable, "-m", "weir")
CONTAINERFILE = """FROM {base}
ENV KIND=built
WORKDIR /opt/app
COPY . .
RUN cp greeting.txt copied.txt && id -u > user && ls -a > listed
RUN mkdir -p /etc/mine && echo "$KIND" > /etc/mine/kind && rm /srv/old
LABEL made.by=weir
CMD pwd; cat copied.txt /etc/mine/kind; ls /srv; echo KIND $KIND; cat listed; echo looked; sleep 600
"""
Command = Callable[..., str]


@pytest.fixture
def weir(stack: Stack, tmp_path: Path) -> Command:
    """`weir` as alice; what it printed."""
    env = {**os.environ, "WEIR_CONFIG": str(tmp_path / "alice.json"), "WEIR_PASSWORD": password_of(stack)}

    def act(*words: str, code: int = 0) -> str:
        done = subprocess.run(
            [*WEIR, *words], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300
        )
        assert done.returncode == code, done.stdout
        return done.stdout

    act("login", f"http://127.0.0.1:{stack.options.port}", "-u", "alice")
    return act


@pytest.fixture
def base(weir: Command, journey: Journey, tmp_path: Path) -> str:
    """An image of alice's to begin with."""
    if missing := [name for name in _NEEDED if not shutil.which(name)]:
        pytest.skip(f"{', '.join(missing)} is not installed")
    name = f"base-{uuid4().hex[:6]}"
    folder = tarfile.TarInfo()
    folder.type, folder.mode = tarfile.DIRTYPE, 0o755
    below = (busybox_layer(), layer({"srv": folder, "srv/old": b"old", "srv/stays": b"stays"}))
    source = docker_archive(tmp_path / "box.tar", *below, entry_point=(), Env=["PATH=/bin"])
    journey.person("alice").volume_make(name, 64)
    assert "ready" in weir("image", "import", str(source), f"{name}:1", "--via", f"vol://{name}/")
    return f"{name}:1"


@pytest.fixture
def context(tmp_path: Path, base: str) -> Path:
    folder = tmp_path / "context"
    folder.mkdir()
    (folder / "greeting.txt").write_text("hello from the context\n")
    (folder / "Containerfile").write_text(CONTAINERFILE.format(base=base))
    (folder / "away").symlink_to("/etc/passwd")
    return folder


def test_an_image_is_built_and_work_runs_in_it(
    weir: Command, journey: Journey, base: str, context: Path
) -> None:
    alice, name = journey.person("alice"), f"{base.partition(':')[0]}-app"
    told = weir("image", "build", str(context), "-t", f"{name}:2")
    assert f"{name}:2 is ready" in told
    assert "weir: step 3 of 4, line 5: RUN cp greeting.txt" in told, "what its steps print is shown"
    (build,) = (row for row in alice.image_builds() if row["name"] == f"{name}:2")
    assert (build["state"], build["steps"], build["steps_before"]) == ("done", 4, 0)
    (version,) = next(row for row in alice.images(name) if row["name"] == name)["versions"]
    assert version["entry_point"][:2] == ["/bin/sh", "-c"]
    assert alice.workload(build["workload"])["state"] == "finished"
    assert alice.usage(build["workload"]), "its time is metered as that of any work"
    work = alice.workload_submit(name=name, compute_percent=10, memory_mib=512, image=f"{name}:2")
    try:
        journey.wait("its output", lambda: "looked" in alice.log(work["uid"])["text"])
        said = alice.log(work["uid"])["text"].splitlines()
        for line in ("/opt/app", "hello from the context", "built", "stays", "KIND built", "Containerfile"):
            assert line in said
        assert not {"old", "weir-metrics", "away"} & set(said)
    finally:
        alice.workload_stop(work["uid"])
    _again(weir, alice, context, name)


def _again(weir: Command, alice: Client, context: Path, name: str) -> None:
    """With a line more only that is run; the same tag is taken."""
    assert "there already" in weir("image", "build", str(context), "-t", f"{name}:2", code=1)
    file = context.parent / "more"
    file.write_text((context / "Containerfile").read_text() + "RUN echo more > /opt/more\n")
    told = weir("image", "build", str(context), "-t", f"{name}:3", "-f", str(file))
    assert "the first 4 of 5 steps are in an image of before" in told
    assert "RUN cp greeting.txt" not in told
    (build,) = (row for row in alice.image_builds() if row["name"] == f"{name}:3")
    assert (build["state"], build["steps_before"]) == ("done", 4)


def test_a_step_that_fails_is_named_by_its_line_with_what_it_said(
    weir: Command, journey: Journey, base: str, tmp_path: Path
) -> None:
    alice, name = journey.person("alice"), f"{base.partition(':')[0]}-bad"
    file = tmp_path / "Containerfile"
    file.write_text(f"FROM {base}\nRUN echo well > /srv/well\n\nRUN echo oh no; exit 3\n")
    told = weir("image", "build", str(tmp_path), "-t", f"{name}:1", code=1)
    # Told in the language of who built it.
    assert "Line 4 failed." in told or "第 4 行失败" in told
    (build,) = (row for row in alice.image_builds() if row["name"] == f"{name}:1")
    assert (build["state"], build["failed_line"]) == ("failed", 4)
    assert "oh no" in build["output"]
    (version,) = next(row for row in alice.images(name) if row["name"] == name)["versions"]
    assert (version["state"], version["problem"]) == ("refused", build["problem"])
    told = weir("image", "build", str(tmp_path), "-t", f"{name}:1", code=1)
    assert "there already" in told
    file.write_text(f"FROM {base}\nRUN --mount=type=secret,id=x true\nADD http://x/y /z\n")
    told = weir("image", "build", str(tmp_path), "-t", f"{name}:2", code=1)
    assert "RUN --mount" in told
    assert "http://x/y" in told


def test_steps_that_start_programs_without_end_or_have_none_are_ended(
    weir: Command, journey: Journey, base: str, tmp_path: Path
) -> None:
    alice, name = journey.person("alice"), f"{base.partition(':')[0]}-end"
    file = tmp_path / "Containerfile"
    file.write_text(f"FROM {base}\nRUN f() {{ f | f & }}; f; while true; do true; done\n")
    told = weir("image", "build", str(tmp_path), "-t", f"{name}:1", "--timeout", "15s", code=1)
    assert f"{name}:1 is failed" in told
    file.write_text(f"FROM {base}\nRUN sleep 1000\n")
    weir("image", "build", str(tmp_path), "-t", f"{name}:2", "--no-wait")
    (build,) = (row for row in alice.image_builds() if row["name"] == f"{name}:2")
    journey.wait("its step", lambda: "sleep 1000" in alice.log(build["workload"])["text"])
    assert "cancelled" in weir("image", "cancel", f"{name}:2")
    end_s = time.monotonic() + 60
    while alice.workload(build["workload"])["state"] != "finished":
        assert time.monotonic() < end_s
        time.sleep(0.3)
    assert alice.image_build_get(build["uid"])["state"] == "cancelled"
