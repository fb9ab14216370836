"""The folders of volumes of a node: the portal's own and those of its storage classes, each known by its mark."""

from pathlib import Path

import pytest

from node_agent.config import AgentSettings
from node_agent.protocol.slices import VolumeMount
from node_agent.protocol.storage import STORAGE_MARK
from node_agent.runtime.volumes.folders import Volumes

pytestmark = pytest.mark.req("PLAT-ASSET-6")
KEY = "acme/00000000-0000-4000-8000-000000000007"


def folder(tmp_path: Path, name: str, mark: str) -> Path:
    made = tmp_path / name
    made.mkdir()
    if mark:
        (made / STORAGE_MARK).write_text(mark)
    return made


def test_a_volume_lies_where_its_storage_is_seen(tmp_path: Path) -> None:
    own, far = folder(tmp_path, "own", "a" * 32), folder(tmp_path, "far", "b" * 32)
    node = Volumes([own, far])
    assert node.mark() == f"{'a' * 32} {'b' * 32}"
    assert node.place(VolumeMount(key=KEY, path="/data")) == own / KEY / "files"
    assert node.place(VolumeMount(key=KEY, path="/data", storage="b" * 32)) == far / KEY / "files"
    assert node.place(VolumeMount(key=KEY, path="/data", storage="c" * 32)) is None


def test_a_folder_without_a_mark_is_none_and_a_node_may_have_none(tmp_path: Path) -> None:
    assert Volumes([folder(tmp_path, "empty", ""), tmp_path / "gone"]).mark() == ""
    assert Volumes(()).mark() == ""
    assert Volumes(()).place(VolumeMount(key=KEY, path="/data")) is None


def test_an_agent_that_knows_one_folder_alone_is_told_of_no_mark() -> None:
    assert "storage" not in VolumeMount(key=KEY, path="/data").model_dump()
    assert VolumeMount(key=KEY, path="/data", storage="b" * 32).model_dump()["storage"] == "b" * 32


def test_the_setting_names_one_folder_or_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEIR_AGENT_SERVER", "http://localhost:8000")
    for text, found in (("/a", (Path("/a"),)), ("/a:/b", (Path("/a"), Path("/b"))), ("", ())):
        monkeypatch.setenv("WEIR_AGENT_STORAGE_DIR", text)
        assert AgentSettings().storage_dir == found
