"""Which shell a terminal finds in an image: by the image's own links, never by this machine's."""

from pathlib import Path

import pytest

from node_agent.web.terminal_device import shell_find


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "image").mkdir()
    return tmp_path / "image"


def shell(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!")


def test_an_absolute_link_begins_at_the_image_s_root(root: Path) -> None:
    (root / "bin").symlink_to("/weir-usr/bin")
    shell(root / "weir-usr/bin/bash")
    assert shell_find(root) == "/bin/bash"


def test_what_only_this_machine_has_is_no_shell_of_the_image(root: Path) -> None:
    shell(root.parent / "here/bash")
    (root / "bin").symlink_to(root.parent / "here")
    assert shell_find(root) == "/bin/sh"
    (root / "bin").unlink()
    (root / "bin").symlink_to("../here")
    assert shell_find(root) == "/bin/sh"


def test_a_link_to_the_shell_itself_leads_within_the_image(root: Path) -> None:
    shell(root / "bin/busybox")
    (root / "bin/bash").symlink_to("../../../bin/busybox")
    assert shell_find(root) == "/bin/bash"
    (root / "bin/bash").unlink()
    (root / "bin/bash").symlink_to("/nowhere")
    assert shell_find(root) == "/bin/sh"


def test_links_in_a_circle_are_no_shell(root: Path) -> None:
    (root / "bin").symlink_to("bin")
    assert shell_find(root) == "/bin/sh"
