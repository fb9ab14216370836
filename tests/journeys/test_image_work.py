"""Work in a container, the whole way: an archive becomes an image, and what was submitted in the portal runs in it."""

import os
import pty
import select
import shutil
import subprocess
import sys
import tarfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from weir import Client
from weir.errors import ApiError

from portal.devstack.demo_order import Journey
from portal.devstack.servers.registry_server import PROGRAM as REGISTRY
from portal.devstack.stack import Stack
from tests.factories.archive import busybox_layer, docker_archive, layer, program_layer
from tests.harness.portal import password_of
from tests.harness.web_pages import SERVE_PAGE, Caller

pytestmark = [
    pytest.mark.journey,
    pytest.mark.xdist_group("portal"),
    pytest.mark.skipif(os.geteuid() != 0, reason="containers are started by root alone"),
    pytest.mark.req("POOL-8.2c", "PLAT-AICFG-14", "PLAT-CMP-10"),
]
_NEEDED = (REGISTRY, "skopeo", "runc", "umoci", "busybox", "perl")
WEIR = (sys.executable, "-m", "weir")
# It reads and writes the volume, says what it sees, and then serves its page.
LOOKS = rb"""
$| = 1;
open my $given, '<', '/mnt/set/given.txt' or die "no volume: $!"; print "GIVEN ", <$given>;
open my $made, '>', '/mnt/set/made.txt' or die "not written: $!"; print $made "made inside\n"; close $made;
open my $motd, '<', '/etc/motd'; print "SAYS ", <$motd>; print "VAR $ENV{FROM_IMAGE}\n";
"""


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    if missing := [name for name in _NEEDED if not shutil.which(name)]:
        pytest.skip(f"{', '.join(missing)} is not installed")
    layers = (busybox_layer(), program_layer("perl"), layer({"srv/serve.pl": LOOKS + SERVE_PAGE}))
    return docker_archive(
        tmp_path / "box.tar",
        *layers,
        entry_point=("/usr/bin/perl", "/srv/serve.pl"),
        Env=["FROM_IMAGE=yes", "PATH=/bin"],
        WorkingDir="/srv",
    )


def test_work_of_an_image_from_the_portal_to_its_pages_and_its_output(
    stack: Stack, journey: Journey, archive: Path, tmp_path: Path
) -> None:
    alice, name = journey.person("alice"), f"box-{uuid4().hex[:6]}"
    env = {**os.environ, "WEIR_CONFIG": str(tmp_path / "alice.json"), "WEIR_PASSWORD": password_of(stack)}

    def weir(*words: str) -> str:
        return subprocess.run(
            [*WEIR, *words], env=env, check=True, stdout=subprocess.PIPE, text=True, timeout=120
        ).stdout

    weir("login", f"http://127.0.0.1:{stack.options.port}", "-u", "alice")
    alice.volume_make(name, 64)
    (tmp_path / "given.txt").write_text("given outside\n")
    weir("cp", str(tmp_path / "given.txt"), f"vol://{name}/")
    assert "ready" in weir("image", "import", str(archive), f"{name}:1", "--via", f"vol://{name}/")
    asked = {"name": name, "compute_percent": 20, "memory_mib": 512, "web": True}
    asked |= {"image": f"{name}:1", "volumes": [f"{name}:/mnt/set"]}
    # Nodes look for the folder of volumes every few seconds, and this may be the first of all.
    journey.wait("a node that mounts volumes", lambda: _is_taken(alice, asked))
    work = alice.workload_submit(**asked)
    try:
        # By its page: a cookie for a ticket, and the first answer of the work's own.
        caller = Caller(stack, alice.workload_web(work["uid"])["url"])
        assert caller.ready(caller.cookie()).text == "of the image\n"
        said = journey.wait("its output", lambda: alice.log(work["uid"])["text"])
        for line in ("GIVEN given outside", "SAYS of the image", "VAR yes"):
            assert line in said
        told = weir(
            "exec", work["no"], "--", "sh", "-c", "cat /etc/motd /mnt/set/made.txt; ls -d /root /home || true"
        )
        assert told == "of the image\nmade inside\n", (
            "it sees the image and the volume, and nothing of the node"
        )
        code, shown = _typed(env, work["no"])
        assert (code, b"42-yes in /srv" in shown) == (5, True), shown
        weir("cp", f"vol://{name}/made.txt", str(tmp_path / "made.txt"))
        assert (tmp_path / "made.txt").read_text() == "made inside\n"
    finally:
        alice.workload_stop(work["uid"])


@pytest.mark.req("PLAT-ASSET-4")
def test_running_work_is_saved_as_an_image_and_new_work_of_that_has_its_files(
    stack: Stack, journey: Journey, tmp_path: Path
) -> None:
    if missing := [name for name in _NEEDED if not shutil.which(name)]:
        pytest.skip(f"{', '.join(missing)} is not installed")
    alice, name = journey.person("alice"), f"saved-{uuid4().hex[:6]}"
    env = {**os.environ, "WEIR_CONFIG": str(tmp_path / "alice.json"), "WEIR_PASSWORD": password_of(stack)}

    def weir(*words: str, code: int = 0) -> str:
        done = subprocess.run(
            [*WEIR, *words], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=180
        )
        assert done.returncode == code, done.stdout
        return done.stdout

    open_folder = tarfile.TarInfo()
    open_folder.type, open_folder.mode = tarfile.DIRTYPE, 0o777
    source = docker_archive(
        tmp_path / "box.tar",
        busybox_layer(),
        layer({"srv": open_folder, "srv/old": b"old"}),
        entry_point=("/bin/sh", "-c", "cd /srv; ls; cat new; echo looked; sleep 600"),
        Env=["PATH=/bin"],
    )
    weir("login", f"http://127.0.0.1:{stack.options.port}", "-u", "alice")
    alice.volume_make(name, 64)
    assert "ready" in weir("image", "import", str(source), f"{name}:1", "--via", f"vol://{name}/")
    asked = {"name": name, "compute_percent": 10, "memory_mib": 512, "image": f"{name}:1"}
    work = alice.workload_submit(**asked)
    try:
        assert "old" in _said(journey, alice, work["uid"])
        weir(
            "exec", work["no"], "--", "sh", "-c", "cd /srv; echo kept > new; rm old; echo gone > /tmp/passing"
        )
        assert f"{name}:2 is ready" in weir("image", "save", work["no"], f"{name}:2")
        assert "there already" in weir("image", "save", work["no"], f"{name}:2", code=1)
        (version,) = alice.images_saved(work["uid"])
        assert (version["tag"], version["source"], version["made_by"]) == ("2", work["no"], "alice")
        assert weir("exec", work["no"], "--", "cat", "/srv/new") == "kept\n", "it goes on"
    finally:
        alice.workload_stop(work["uid"])
    grown = alice.workload_submit(**asked | {"image": f"{name}:2"})
    try:
        said = _said(journey, alice, grown["uid"])
        assert ("kept" in said, "old" in said) == (True, False), said
        assert weir(
            "exec", grown["no"], "--", "sh", "-c", "echo more >> /srv/new; ls /tmp; cat /srv/new"
        ).endswith("kept\nmore\n")
    finally:
        alice.workload_stop(grown["uid"])


def _said(journey: Journey, client: Client, uid: str) -> str:
    """What work has printed once it has looked around."""
    journey.wait("its output", lambda: "looked" in client.log(uid)["text"])
    return client.log(uid)["text"]


def _is_taken(client: Client, asked: dict[str, Any]) -> bool:
    try:
        client.workload_dry_run(**asked)
    except ApiError as error:
        if "can mount volumes" in str(error):
            return False
        raise
    return True


def _typed(env: dict[str, str], no: str) -> tuple[int, bytes]:
    """A terminal in the container: its exit status, and what it showed."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(sys.executable, [*WEIR, "ssh", no], env | {"TERM": "xterm"})
    shown, end_s, is_typed = b"", time.monotonic() + 60, False
    with suppress(OSError):
        while time.monotonic() < end_s:
            if select.select([fd], [], [], 0.2)[0]:
                shown += os.read(fd, 4096)
            if b"$ " in shown and not is_typed:
                is_typed = bool(os.write(fd, b"cat /etc/motd; echo $((6*7))-$FROM_IMAGE in $(pwd); exit 5\n"))
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown
