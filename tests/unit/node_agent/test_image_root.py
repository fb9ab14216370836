"""Where work of an image may begin: by the image's word, which may be a hostile one."""

from pathlib import Path

import pytest

from node_agent.runtime.isolation.image_root import ImageRoot
from node_agent.runtime.isolation.view import Mounted


@pytest.mark.req("POOL-8.2c")
@pytest.mark.parametrize(
    ("named", "is_taken"),
    [
        ("/", True),
        ("/srv/app", True),
        ("/srv/app/x", False),
        ("/srv/none", False),
        ("/link", False),
        ("/link/app", False),
        ("/srv/../srv/app", False),
        ("srv/app", False),
        ("/proc/self/fd/7", False),
        ("/dev", False),
        ("/sys/fs", False),
        ("/mnt/set", False),
        ("/mnt/set/below", False),
        ("/home/work", False),
    ],
)
def test_work_begins_in_a_folder_of_the_image_alone(tmp_path: Path, named: str, is_taken: bool) -> None:
    for folder in ("srv/app", "proc/self/fd/7", "dev", "sys/fs", "mnt/set/below", "home/work"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "srv/app/x").touch()
    (tmp_path / "link").symlink_to("srv")
    volume = Mounted(tmp_path / "volume", Path("/mnt/set"), False)
    own = ((tmp_path / "own", Path("/home/work")),)
    root = ImageRoot(tmp_path, tmp_path / "changes", own, (), (volume,), 60_000)
    assert root.has_folder(Path(named)) is is_taken
