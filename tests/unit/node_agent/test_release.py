"""Releases on the node's disk: what is believed, and what is left behind when something goes wrong."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
from pathlib import Path

import pytest

from node_agent.config import AgentSettings
from node_agent.protocol.releases import ReleaseKeys
from node_agent.release import BUILTIN, ReleaseRefused, ReleaseStore
from node_agent.upgrade import Upgrade
from tests.unit.node_agent.releases import Maker, archive

pytestmark = [pytest.mark.req("POOL-12.20"), pytest.mark.req("POOL-12.22")]
FILES = {"node_agent/__init__.py": b"", "node_agent/deep/er.py": b"x = 1\n"}


@pytest.fixture
def store(tmp_path: Path) -> ReleaseStore:
    return ReleaseStore(tmp_path / "home")


@pytest.fixture
def maker() -> Maker:
    return Maker()


def take(store: ReleaseStore, maker: Maker, version: str, content: bytes, **change: object) -> None:
    file = store.draft()
    file.write_bytes(content)
    wish = maker.wish(version, content)
    store.take(file, wish.model_copy(update=change), [maker.key])


def test_a_good_release_is_unpacked_and_whole(store, maker):
    take(store, maker, "1.1", archive("1.1", FILES))
    assert store.is_whole("1.1")
    assert (store.path("1.1") / "node_agent/deep/er.py").read_bytes() == b"x = 1\n"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"no archive at all", "no release"),
        (archive("1.1", FILES)[:-40], "no release"),
        (archive("1.0", FILES), "calls itself 1.0"),
        (archive("1.1", FILES, protocols=[9]), "protocols"),
        (archive("1.1", FILES, files={"node_agent/__init__.py": "0" * 64}), "other files"),
        (archive("1.1", FILES, files=dict.fromkeys(FILES, "0" * 64)), "not as the manifest says"),
        (archive("1.1", {"../../escape.py": b""}), "no release"),
        (archive("1.1", {"/etc/escape": b""}), "no release"),
        (archive("1.1", {"os.py": b""}), "no release"),
        (archive("1.1", FILES, more=1), "no release"),
    ],
    ids=[
        "nonsense",
        "truncated",
        "other name",
        "protocol",
        "files",
        "digest",
        "climbs",
        "root",
        "top",
        "field",
    ],
)
def test_what_is_signed_but_no_release_is_refused_and_leaves_nothing(store, maker, content, says):
    with pytest.raises(ReleaseRefused, match=says):
        take(store, maker, "1.1", content)
    assert not store.path("1.1").exists()
    assert not list(store.home.parent.rglob("escape*"))


def test_what_is_not_signed_by_a_trusted_key_is_refused(store, maker):
    content = archive("1.1", FILES)
    with pytest.raises(ReleaseRefused, match="not signed"):
        take(store, maker, "1.1", content, signature=Maker().wish("1.1", content).signature)
    with pytest.raises(ReleaseRefused, match="not signed"):
        take(store, maker, "1.1", content, signature=maker.wish("1.2", content).signature)
    with pytest.raises(ReleaseRefused, match="digest"):
        take(store, maker, "1.1", content, sha256="0" * 64)
    file = store.draft()
    file.write_bytes(content)
    with pytest.raises(ReleaseRefused, match="no key is trusted"):
        store.take(file, maker.wish("1.1", content), [])


def test_a_full_disk_leaves_the_old_release_as_it_was(store, maker):
    take(store, maker, "1.1", archive("1.1", FILES))
    big = {"node_agent/__init__.py": b"", "node_agent/big.py": b"#" * 300_000}
    file = store.draft()
    content = archive("1.2", big)
    file.write_bytes(content)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(OSError):
            store.take(file, maker.wish("1.2", content), [maker.key])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert store.is_whole("1.1")
    assert not store.path("1.2").exists()
    store.draft()
    assert not list(store.folder.glob(".*"))


def test_a_trial_is_confirmed_or_rolled_back_and_a_confirmed_one_stays(store, maker):
    take(store, maker, "1.1", archive("1.1", FILES))
    store.select("1.1", BUILTIN, "a" * 64)
    store.confirm()
    store.roll_back("too late")
    assert (store.read().version, store.read().problem) == ("1.1", "")
    store.select("1.2", "1.1", "b" * 64)
    store.roll_back("it ended")
    state = store.read()
    assert (state.version, state.is_trial, state.problem, state.refused) == (
        "1.1",
        False,
        "it ended",
        "b" * 64,
    )
    store.forgive()
    assert store.read().refused == ""


def test_a_damaged_release_is_given_up_for_the_one_before_or_what_is_installed(store, maker):
    for version in ("1.1", "1.2"):
        take(store, maker, version, archive(version, FILES))
    store.select("1.1", BUILTIN, "a" * 64)
    store.confirm()
    store.select("1.2", "1.1", "b" * 64)
    store.confirm()
    (store.path("1.2") / "node_agent/deep/er.py").write_text("broken")
    assert not store.is_whole("1.2")
    store.give_up("damaged")
    assert store.read().version == "1.1"
    (store.path("1.1") / "node_agent/__init__.py").unlink()
    store.give_up("damaged too")
    assert store.read().version == BUILTIN


def test_keys_named_later_never_replace_the_first(store, maker):
    store.keys_follow(ReleaseKeys(keys=(maker.key,)))
    store.keys_follow(ReleaseKeys(keys=(Maker().key,)))
    assert store.keys() == (maker.key,)


def test_a_key_once_revoked_is_never_trusted_again_whatever_is_told_later(store, maker):
    store.keys_follow(ReleaseKeys(keys=(maker.key,)))
    store.keys_follow(ReleaseKeys(keys=(), revoked=(maker.key,)))
    for told in (ReleaseKeys(keys=(maker.key,)), ReleaseKeys(keys=(Maker().key,)), ReleaseKeys()):
        store.keys_follow(told)
        assert (store.keys(), store.revoked()) == ((maker.key,), (maker.key,))


class Portal:
    """Serves one release, and says which keys are its own."""

    def __init__(self) -> None:
        self.content, self.keys, self.revoked = b"", (), ()

    def fetch(self, path: str, file: Path) -> None:
        file.write_bytes(self.content)

    def release_keys(self) -> ReleaseKeys:
        return ReleaseKeys(keys=self.keys, revoked=self.revoked)


def test_the_first_keys_that_a_release_was_believed_by_stay_the_only_ones(tmp_path, maker):
    """The portal had none when the node joined; later it is not the portal any more."""
    settings, portal = AgentSettings(name="a", state_dir=tmp_path), Portal()

    def offered(upgrade: Upgrade, version: str, signer: Maker) -> str:
        portal.content = archive(version, FILES)
        upgrade.synced(signer.wish(version, portal.content))
        upgrade._thread.join(30)
        return upgrade.problem

    joined = Upgrade(settings, portal)
    offered(joined, "1.0", maker)
    portal.keys = (maker.key,)
    assert offered(joined, "1.1", maker) == ""
    stranger, restarted = Maker(), Upgrade(settings, portal)
    portal.keys = (stranger.key,)
    offered(restarted, "1.2", stranger)
    assert "not signed by a key that this node trusts" in offered(restarted, "1.2", stranger)
    assert ReleaseStore(settings.home).read().version == "1.1"


@pytest.mark.parametrize("is_pinned", [False, True])
def test_a_release_signed_by_a_revoked_key_is_refused_by_a_node_that_trusted_it(tmp_path, maker, is_pinned):
    pinned = {"release_keys": maker.key} if is_pinned else {}
    settings, portal = AgentSettings(name="a", state_dir=tmp_path, **pinned), Portal()
    portal.keys, portal.content = (maker.key,), archive("1.1", FILES)
    upgrade = Upgrade(settings, portal)
    upgrade.synced(None)
    upgrade._thread.join(30)
    portal.revoked = (maker.key,)
    upgrade.synced(maker.wish("1.1", portal.content))
    upgrade._thread.join(30)
    assert "no key is trusted" in upgrade.problem
    assert ReleaseStore(settings.home).read().version == BUILTIN
    # Whoever speaks for the portal now cannot take that back.
    portal.revoked, portal.content = (), archive("1.2", FILES)
    again = Upgrade(settings, portal)
    again.synced(None)
    again._thread.join(30)
    again.synced(maker.wish("1.2", portal.content))
    again._thread.join(30)
    assert "no key is trusted" in again.problem


def test_a_torn_state_means_what_is_installed(store):
    store.select("1.1", BUILTIN, "")
    (store.folder / "state.json").write_text('{"version": "1.')
    assert store.read().version == BUILTIN


def test_old_releases_are_removed_but_not_while_work_runs_from_them(store, maker):
    for version in ("1.1", "1.2", "1.3"):
        take(store, maker, version, archive(version, FILES))
        (store.home / f"lib-{version}").mkdir()
    environment = {**os.environ, "PYTHONPATH": str(store.home / "lib-1.1")}
    with subprocess.Popen(["sleep", "60"], env=environment) as work:
        store.prune({"1.3"})
        assert (store.is_whole("1.1"), store.is_whole("1.2"), store.is_whole("1.3")) == (True, False, True)
        assert not (store.home / "lib-1.2").exists()
        work.kill()
    store.prune({"1.3"})
    assert not store.path("1.1").exists()
