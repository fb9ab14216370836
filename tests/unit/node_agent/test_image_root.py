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
        ("//proc/self/fd/7", False),
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


def test_it_begins_where_an_earlier_program_has_put_nothing_else(tmp_path: Path) -> None:
    """A service is started again over what its program has written."""
    (tmp_path / "image/srv/app").mkdir(parents=True)
    root = ImageRoot(
        tmp_path / "image", tmp_path / "changes", ((tmp_path, Path("/home/work")),), (), (), 60_000
    )
    assert root.has_folder(Path("/srv/app"))
    (root.files_changed / "srv").mkdir(parents=True)
    assert root.has_folder(Path("/srv/app"))
    (root.files_changed / "srv/app").symlink_to("/proc/self/fd/7")
    assert not root.has_folder(Path("/srv/app"))


@pytest.mark.parametrize(
    ("called", "owner"),
    [
        ("", (0, 0)),
        ("root", (0, 0)),
        ("app", (1000, 100)),
        ("1000", (1000, 100)),
        ("77", (77, 0)),
        ("nobody-here", (0, 0)),
        ("broken", (0, 0)),
        (str(2**40), (2**31 - 1, 0)),
    ],
)
def test_whose_files_are_the_works_own_is_what_the_image_says(
    tmp_path: Path, called: str, owner: tuple
) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").write_text(
        "root:x:0:0::/:/bin/sh\napp:x:1000:100::/:/bin/sh\nbroken:x:-1\n\n\xff:\n"
    )
    root = ImageRoot(tmp_path, tmp_path / "changes", (), (), (), 60_000, called=called)
    assert root.owner == owner
