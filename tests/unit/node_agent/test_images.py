"""Images on a node: unpacked under a bound that no image and no portal can talk it out of, and mounted in order."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from uuid import uuid4

import pytest

from node_agent.images import unpacking
from node_agent.images.store import ImageStore
from node_agent.images.transfers import ImageTransfers
from node_agent.images.unpacking import ImageFailed, unpack
from node_agent.protocol.images import IMAGE_PIECE_BYTES
from node_agent.protocol.slices import DesiredSlice
from tests.factories.archive import layer, oci_image

pytestmark = pytest.mark.req("POOL-8.2c")
# It fills its folder without an end, and so does what it starts.
FILLS = """#!/bin/sh
for rootfs; do :; done
mkdir -p "$rootfs/$(printf 'a/%.0s' $(seq 1500))"
while :; do head -c 262144 /dev/zero >> "$rootfs/more"; sleep 0.02; done &
while :; do head -c 262144 /dev/zero >> "$rootfs/big"; sleep 0.02; done
"""


class _Portal:
    """It has one image; `more` is added to each piece."""

    def __init__(self, *layers: bytes, more: bytes = b"") -> None:
        self.digest, self._files = oci_image(*layers, Env=["PATH=/bin"])
        self._more = more

    def image_manifest(self, version: str) -> bytes:
        return self._files[self.digest]

    def image_piece(self, version: str, digest: str, number: int) -> bytes:
        begin = number * IMAGE_PIECE_BYTES
        return self._files[digest][begin : begin + IMAGE_PIECE_BYTES] + self._more


@pytest.fixture
def margin(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(unpacking, "MARGIN_BYTES", 2**20)
    return 2**20


@pytest.fixture
def fills(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An unpacker that never ends."""
    program = tmp_path / "bin" / "umoci"
    program.parent.mkdir()
    program.write_text(FILLS)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")


def _fetched(portal: _Portal, home: Path, unpacked_bytes: int) -> str:
    """Why the portal's image is not on the node; "" where it is."""
    transfers = ImageTransfers(portal, ImageStore(home), frozenset)
    named = {
        "version": str(uuid4()),
        "digest": portal.digest,
        "name": "box:1",
        "unpacked_bytes": unpacked_bytes,
    }
    wanted = {"slice_uid": "s1", "generation": 1, "device_uid": "d1", "compute_percent": 20, "memory_mib": 256,
              "state": "running", "work": {"argv": ("sh",), "image": named}}  # fmt: skip
    transfers.fetch(DesiredSlice.model_validate(wanted))
    end_s = time.monotonic() + 30
    while time.monotonic() < end_s:
        for _wanted, problem in transfers.fetched():
            return problem
        time.sleep(0.02)
    raise AssertionError("nothing was said of it")


@pytest.mark.skipif(not shutil.which("umoci"), reason="umoci is not installed")
def test_an_image_larger_than_the_portal_counted_is_not_kept(margin: int, tmp_path: Path) -> None:
    portal = _Portal(layer({"srv/zeros": bytes(4 * margin)}))
    assert _fetched(portal, tmp_path / "images", 4 * margin) == ""
    assert len(list((tmp_path / "images").iterdir())) == 1
    problem = _fetched(portal, tmp_path / "others", 2 * margin)
    assert "more than the 2 MiB that the portal counted" in problem
    assert list((tmp_path / "others").iterdir()) == []


@pytest.mark.usefixtures("margin", "fills")
def test_an_unpacker_that_writes_on_and_on_is_ended_and_what_it_wrote_deleted(tmp_path: Path) -> None:
    problem = _fetched(_Portal(layer({"x": b"x"})), tmp_path / "images", 2**20)
    assert "more than the 1 MiB" in problem
    assert list((tmp_path / "images").iterdir()) == [], "however deep the folders are that it made"
    time.sleep(0.2)
    assert list((tmp_path / "images").iterdir()) == [], "nobody writes on"


@pytest.mark.usefixtures("fills")
def test_an_unpacker_is_ended_before_the_disk_is_full_or_when_it_takes_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ImageFailed, match="disk filled up"):
        unpack(tmp_path, tmp_path / "a", 2**40, floor_bytes=2**62)
    monkeypatch.setattr(unpacking, "UNPACK_S", 0)
    with pytest.raises(ImageFailed, match="not unpacked within"):
        unpack(tmp_path, tmp_path / "b", 2**40, floor_bytes=0)
    # Deeper than what clears the tests' folders goes.
    subprocess.run(["rm", "-rf", *tmp_path.iterdir()], check=True)


def test_a_file_larger_than_was_said_is_not_read_on(tmp_path: Path) -> None:
    problem = _fetched(_Portal(layer({"x": b"x"}), more=b"x"), tmp_path / "images", 2**20)
    assert "larger than was said" in problem
    assert list((tmp_path / "images").iterdir()) == []


MOUNTS = """
import sys
from pathlib import Path
from uuid import uuid4
from node_agent.runtime.isolation.image_root import ImageRoot
top = Path(sys.argv[1])
home = Path("/tmp/agent/home")
root = ImageRoot(image=top / "image", changes=top / "changes", own=((top / "home", home), (top / "tmp", Path("/tmp"))),
                 files=(), volumes=(), user=60000)
root.make()
root.build()
print((root.root / "tmp/agent/home/mine").read_text())
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="folders are mounted by root alone")
def test_a_home_below_the_containers_own_tmp_is_not_covered_by_it(tmp_path: Path) -> None:
    for name in ("image", "home", "tmp"):
        (tmp_path / name).mkdir()
    (tmp_path / "home" / "mine").write_text("kept")
    done = subprocess.run(
        [sys.executable, "-c", MOUNTS, str(tmp_path)], capture_output=True, text=True, check=False, timeout=30
    )
    assert (done.stdout.strip(), done.returncode) == ("kept", 0), done.stderr


PLAIN = """
import os, sys
from pathlib import Path
from node_agent.runtime.isolation import syscalls as sys_
from node_agent.runtime.isolation.image_root import ImageRoot
top = Path(sys.argv[1])
sys_.unshare(sys_.CLONE_NEWNS)
sys_.mount("none", "/", flags=sys_.MS_REC | sys_.MS_PRIVATE)
if sys.argv[2] != "here":
    sys_.mount("none", str(top / "image"), sys.argv[2])
(top / "image/file").write_text("of the image")
root = ImageRoot(image=top / "image", changes=top / "changes", own=((top / "home", Path("/tmp/home")),),
                 files=(), volumes=(), user=60000)
root.make()
root.build()
print(root.is_owned, os.stat(root.root / "file").st_uid, (root.root / "file").read_text())
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="folders are mounted by root alone")
@pytest.mark.parametrize(("kind", "told"), [("here", "True 60000"), ("ramfs", "False 0")])
def test_an_image_on_a_file_system_that_maps_no_users_is_read_as_it_is(
    tmp_path: Path, kind: str, told: str
) -> None:
    for name in ("image", "home"):
        (tmp_path / name).mkdir()
    done = subprocess.run(
        [sys.executable, "-c", PLAIN, str(tmp_path), kind],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert (done.stdout.strip(), done.returncode) == (f"{told} of the image", 0), done.stderr
