"""What the portal keeps is closed to the accounts that tenants' jobs run under."""

from pathlib import Path

import pytest

from portal import private_files
from portal.private_files import folders_close, log_rotate, private_log


def _mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_an_old_installations_open_folders_are_closed_with_all_in_them(tmp_path: Path) -> None:
    """S4: attachments of all tenants and the servers' logs could be read by every job of the host."""
    file, log = tmp_path / "media/acme/attachments/a", tmp_path / "log/web.log"
    for path in (file, log, tmp_path / "run/port", tmp_path / "agents/node-1/x"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("secret")
        path.chmod(0o644)
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.write_text("not ours")
    outside.chmod(0o644)
    (tmp_path / "media/link").symlink_to(outside)
    folders_close(tmp_path)
    for path in (tmp_path / "media", file.parent.parent, file.parent, log.parent, tmp_path / "mail"):
        assert _mode(path) == 0o700
    assert (_mode(file), _mode(log), file.read_text()) == (0o600, 0o600, "secret")
    assert (_mode(tmp_path), _mode(tmp_path / "run")) == (0o700 | _mode(tmp_path) & 0o011, 0o711)
    assert _mode(tmp_path / "agents/node-1") == 0o755
    assert _mode(outside) == 0o644


def test_a_log_is_its_owners(tmp_path: Path) -> None:
    """S4: a log that is new is as closed as one that was there."""
    for text in (b"one\n", b"two\n"):
        with private_log(tmp_path / "web.log") as log:
            log.write(text)
    assert _mode(tmp_path / "web.log") == 0o600
    assert (tmp_path / "web.log").read_bytes() == b"one\ntwo\n"


def test_a_log_is_cut_while_its_writer_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S24: logs grew without end; they were cut only when their process started again."""
    monkeypatch.setattr(private_files, "LOG_KEPT_BYTES", 1000)
    path = tmp_path / "worker.log"
    with private_log(path) as log:
        for number in range(300):
            log.write(b"line %d\n" % number)
            log.flush()
            log_rotate(path)
            assert path.stat().st_size <= 1000
        log.write(b"last\n")
    assert (tmp_path / "worker.log.1").read_bytes().startswith(b"line ")
    assert _mode(tmp_path / "worker.log.1") == 0o600
    assert path.read_bytes().endswith(b"last\n")
    assert b"\0" not in path.read_bytes()
